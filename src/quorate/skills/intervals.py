"""Score intervals for skills: all skills at which a worker's answers are within z standard errors (Wilson's principle).

Given its peers' skills, a worker's answers give a raw estimate r of its skill. If its skill were u, the variance of r
would be a quadratic, alpha + beta u - gamma u². The interval is the set of u with (r - u)² <= z² f (alpha + beta u -
gamma u²) + z² v (u² - x²). The variance is computed at u, not at the estimate x, so that the interval of a worker with
three right answers out of three is not a point. f >= 1 is the variance inflation by the errors of the peers' skills at
x, and v u² is what these errors add at another skill: the variance of their relative error times u²
(`quorate.skills.variance_inflation`).

The ends are then multiplied by the range of the common scale of the skills. The interval is extended to contain the
estimate x, because x is shrunk and r is not, and the skill that is stated, if it was changed after the fit.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args

import numpy as np

from quorate.arrays import BoolArray, FloatArray
from quorate.errors import check_level, unknown_name_error
from quorate.statistics import normal_quantile

if TYPE_CHECKING:
    from quorate.skills.gold_counts import GoldCounts
    from quorate.skills.weak_identification import WeakIdentification

LEVEL = 0.95
IntervalKind: TypeAlias = Literal["auto", "full", "fast", "none"]
KINDS: tuple[str, ...] = get_args(IntervalKind)
AUTO_FULL = 1_000_000  # maximum number of answers, gold included, for which the full interval is the default
# The same limit for workers, gold included, with skills from centred answers. Above it workers have at most ten answers
# on average, and the errors of their peers add almost nothing: intervals without them have the same coverage and width.
# For rank-one this is not so: if all skills are low, intervals without them cover only 73 % of such workers.
AUTO_FULL_WORKERS = 100_000
DRAWS = 60  # number of draws of random signs for f
# Upper bound of f: the greater of this and the f with which the variance at skill zero is one; the interval is then as
# wide as the range of skills. If the only answer of a worker contributes zero to its score, f has no bound by itself.
MAX_INFLATION = 25.0
MAX_VARIANCE = 1.0


@dataclass(frozen=True, eq=False)
class PeerError:
    """What the errors of the peers' skills add to the variance of each raw estimate; one entry per worker."""

    inflation: FloatArray  # f: factor of the variance at the estimated skill
    relative_variance: FloatArray  # var(E), of the relative error of the peers' skills

    def bounded(self, alpha: FloatArray) -> "PeerError":
        """Return the peer error with f limited to a value with which the interval is as wide as the range of skills.

        Args:
            alpha: variance of each worker's raw estimate at skill zero.

        >>> PeerError(np.array([1e30, 1e30, 3.0]), np.zeros(3)).bounded(np.array([0.5, 0.001, 0.5])).inflation.tolist()
        [25.0, 1000.0, 3.0]
        """
        largest = np.divide(MAX_VARIANCE, alpha, out=np.zeros(len(alpha)), where=alpha > 0)
        return PeerError(np.minimum(self.inflation, np.maximum(largest, MAX_INFLATION)), self.relative_variance)


@dataclass(frozen=True, eq=False)
class WorkerScore:
    """Raw estimate of each skill and its variance for fixed skills of the peers."""

    raw: FloatArray  # r, not clipped to the range of skills
    alpha: FloatArray  # coefficients of the variance of r if the skill is u: alpha + beta u - gamma u²
    beta: FloatArray
    gamma: FloatArray

    def with_peer_error(self, error: PeerError, x: FloatArray) -> "WorkerScore":
        """Return the score with the variance f (alpha + beta u - gamma u²) + v (u² - x²); x are the estimates.

        At u = 0 the errors of the peers have no effect, so the variance there is at least alpha.
        """
        f = error.inflation
        v = error.relative_variance
        n = len(f)  # one less than in the score if that includes gold, which is last, and the error does not
        alpha = np.maximum(f * self.alpha[:n] - v * np.nan_to_num(x[:n]) ** 2, self.alpha[:n])
        return WorkerScore(self.raw[:n], alpha, f * self.beta[:n], f * self.gamma[:n] - v)

    def variance(self, u: FloatArray) -> FloatArray:
        """Return the variance of the raw estimate if the skills were u."""
        return np.maximum(self.alpha + self.beta * u - self.gamma * u * u, 0.0)

    def z_at_zero(self) -> FloatArray:
        """Return the raw estimate over its standard error at skill zero; NaN where the peers have no information."""
        is_known = ~np.isnan(self.raw) & (self.alpha > 0)
        error = np.sqrt(np.where(is_known, self.alpha, 1.0))
        return np.where(is_known, self.raw / error, np.nan)

    def possible(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest skill whose variance is not negative."""
        gamma = np.maximum(self.gamma, 1e-12)  # a worker of one answer, or large errors of peers: not above zero
        root = np.sqrt(self.beta**2 + 4 * self.alpha * gamma)
        return (self.beta - root) / (2 * gamma), (self.beta + root) / (2 * gamma)


class Inference(Protocol):
    """An estimate with its score; the last worker may be gold, which has no interval."""

    @property
    def skills(self) -> FloatArray:
        """The estimate; NaN where it is not determined."""

    @property
    def n_classes(self) -> int:
        """M."""

    @property
    def n_answers(self) -> int:
        """Number of answers, gold included; weighted by their cost."""

    @property
    def needs_peer_error(self) -> bool:
        """Whether the errors of the peers' skills can matter in addition to the errors of a worker's own answers."""

    def score(self) -> WorkerScore:
        """Return the score of each worker."""

    def peer_error(self, *, draws: int, seed: int) -> PeerError:
        """Return what the errors of the peers' skills add to the variance of the score."""

    def weak(self, n_workers: int) -> "WeakIdentification":
        """Return which of the first workers are only weakly identified, and which skills are possible for them."""

    def scale_range(self) -> tuple[float, float]:
        """Return the least and the greatest plausible factor on the common scale of all skills."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """An interval for every skill: one entry per worker, NaN where the skill is not determined."""

    low: FloatArray
    high: FloatArray
    standard_error: FloatArray  # of the raw estimate, at the estimated skill; NaN where peers have no information
    peer_error: PeerError  # f and v; 1 and 0 where the peers' errors are ignored
    level: float
    kind: str  # "full"; "fast", which assumes f = 1; or "none": all NaN
    scale: tuple[float, float] = (1.0, 1.0)  # least and greatest plausible factor on the common scale of all skills

    @property
    def width(self) -> FloatArray:
        """Length of each interval."""
        return self.high - self.low

    @property
    def inflation(self) -> FloatArray:
        """f, by which the errors of the peers' skills multiply the variance at the estimated skill."""
        return self.peer_error.inflation


@dataclass(frozen=True)
class IntervalChoice:
    """The requested intervals, which are computed on first use."""

    level: float = LEVEL
    kind: str = "auto"


def interval_kind(inference: Inference | None, kind: str) -> str:
    """Return the kind of interval that will be computed: full, fast or none.

    Args:
        inference: the estimate; None where no skill is estimated.
        kind: the requested kind; ``auto`` is full up to the limits `AUTO_FULL` and `AUTO_FULL_WORKERS`, else fast.

    Raises:
        UnknownNameError: there is no such kind.

    >>> interval_kind(None, "auto")
    'none'
    """
    if kind not in KINDS:
        raise unknown_name_error(kind, KINDS, "intervals= (--intervals)")
    if inference is None or inference.n_classes < 2:
        return "none"
    if kind == "auto":
        return "full" if inference.n_answers <= AUTO_FULL and inference.needs_peer_error else "fast"
    return kind


def skill_intervals(
    inference: Inference | None,
    n_workers: int,
    *,
    level: float = LEVEL,
    kind: str = "auto",
    draws: int = DRAWS,
    seed: int = 0,
    gold_counts: "GoldCounts | None" = None,
    weak: "WeakIdentification | None" = None,
    stated_skills: FloatArray | None = None,
) -> Intervals:
    """Return an interval for the skill of each of the first ``n_workers`` workers.

    Args:
        inference: the estimate; None where no skill is estimated.
        n_workers: number of workers, without gold.
        level: coverage probability under the model.
        kind: ``full``; ``fast``, which treats the peers' skills as known; ``none``; or ``auto``, see `interval_kind`.
        draws: number of draws of random signs, for the variance inflation of full intervals.
        seed: of the draws.
        gold_counts: skills by answers to tasks of known label, with which the estimates were averaged.
        weak: weakly identified workers; their interval is extended to the set of their possible skills.
        stated_skills: skills that differ from the estimate (of copying workers, or by known labels); their interval is
            extended to contain them. NaN where not determined.

    Raises:
        OptionError: the level does not lie between 0 and 1, or there is no such kind.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(500, 10, 5, seed=0)
    >>> intervals = quorate.aggregate(crowd.answers, "rank-one").intervals
    >>> intervals.kind, bool(np.mean((intervals.low <= crowd.skills) & (crowd.skills <= intervals.high)) >= 0.8)
    ('full', True)
    """
    z = normal_quantile((1 + check_level(level)) / 2)
    kind = interval_kind(inference, kind)
    if inference is None or kind == "none":
        unknown_values = np.full(n_workers, np.nan)
        no_error = PeerError(unknown_values, unknown_values)
        return Intervals(unknown_values, unknown_values, unknown_values, no_error, level, "none")
    score = inference.score()
    lowest = -1 / (inference.n_classes - 1)
    x = np.clip(inference.skills, lowest, 1.0)
    peers = PeerError(np.ones(len(score.raw)), np.zeros(len(score.raw)))
    if kind == "full":
        peers = inference.peer_error(draws=draws, seed=seed)
        peers = peers.bounded(score.alpha[: len(peers.inflation)])
        score = score.with_peer_error(peers, x)
    low, high = invert(score, z, lowest)
    error = np.sqrt(score.variance(x))
    least, greatest = inference.scale_range()
    low = np.clip(low * np.where(low > 0, least, greatest), lowest, 1.0)
    high = np.clip(high * np.where(high > 0, greatest, least), lowest, 1.0)
    no_information = np.isnan(score.raw)  # all peers of skill zero: any skill fits
    low = np.where(no_information, lowest, low)
    high = np.where(no_information, 1.0, high)
    low = np.fmin(low, inference.skills)
    high = np.fmax(high, inference.skills)
    is_undetermined = np.isnan(inference.skills)
    low, high, error, f, v = (
        np.where(is_undetermined, np.nan, values)[:n_workers]
        for values in (low, high, error, peers.inflation, peers.relative_variance)
    )
    if weak is not None:
        low, high = weak.widen(low, high, z, lowest)
    if gold_counts is not None:
        low, high = gold_counts.ends(low, high, z, lowest)
        error = gold_counts.standard_error(error)
    if stated_skills is not None:
        has_interval = ~np.isnan(low)
        low = np.where(has_interval, np.fmin(low, stated_skills), low)
        high = np.where(has_interval, np.fmax(high, stated_skills), high)
    return Intervals(low, high, error, PeerError(f, v), level, kind, (least, greatest))


def invert(score: WorkerScore, z: float, lowest: float, highest: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the solutions u of (r - u)² <= z² (alpha + beta u - gamma u²), within [lowest, highest].

    If gamma is so far below zero that every large u is a solution, the solutions may be two half-lines; the half-line
    that contains r is returned.

    >>> half, none, ninth = np.array([0.5]), np.array([0.0]), np.array([1 / 9])
    >>> low, high = invert(WorkerScore(half, ninth, none, ninth), 1.96, -1.0)  # nine answers, two classes
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([-0.146], [0.847])
    """
    low, high, fits = _roots(score.raw, score, z)
    # A raw estimate far outside the range may fit no skill: then invert the nearest possible estimate.
    least, most = score.possible()
    nearest = np.clip(score.raw, np.maximum(least, lowest), np.minimum(most, highest))
    fits &= (low <= highest) & (high >= lowest)
    for_low, for_high, _ = _roots(nearest, score, z)
    low = np.where(fits, low, for_low)
    high = np.where(fits, high, for_high)
    return np.clip(low, lowest, highest), np.clip(high, lowest, highest)


def _roots(raw: FloatArray, score: WorkerScore, z: float) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the ends of the solutions of a u² - 2b u + c <= 0 around the raw estimate, and whether there are any.

    a = 1 + z² gamma, b = r + z² beta / 2, c = r² - z² alpha.
    """
    a = 1 + z * z * score.gamma
    b = raw + z * z * score.beta / 2
    under = b * b - a * (raw * raw - z * z * score.alpha)
    root = np.sqrt(np.maximum(under, 0.0))
    is_bounded = a > 0
    divisor = np.where(np.abs(a) > 1e-12, a, 1e-12)
    one = (b - root) / divisor
    two = (b + root) / divisor
    is_above = raw >= np.maximum(one, two)
    is_below = raw <= np.minimum(one, two)
    low = np.where(is_bounded, one, np.where(is_above & (under >= 0), np.maximum(one, two), -np.inf))
    high = np.where(is_bounded, two, np.where(is_below & (under >= 0), np.minimum(one, two), np.inf))
    return low, high, (under >= 0) | ~is_bounded
