"""Means over all tasks from known labels of some tasks and a guess for every task: prediction-powered inference.

With y known on a random sample and a guess f for every task, mean(f over all) + mean(y - f over the sample) is unbiased
for the mean of y, for any quality of the guess; the same holds with lambda·f instead of f [Angelopoulos23]. The best
lambda is the slope of y on f; for each known task it is computed from the other known tasks, so that the estimate stays
unbiased. The interval is a score interval (`score_ends`), which keeps its coverage if shares are near 0 or 1 and if
there are few known labels.

The population is finite (these tasks): if every label is known, the interval has width zero.

Score intervals of `score_ends`: Wilson's interval for a share [Wilson27] contains every share p that lies within z
standard errors of the observed one, where the standard error uses the variance p(1-p). For other bounded values, the
distribution with mean u is the empirical one, exponentially tilted: each value has weight exp(eta·value), with eta
chosen so that the mean is u. Its variance replaces p(1-p). A small weight at each end of the range represents
unobserved values; for values 0 and 1 the interval is Wilson's.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray

# Pseudo-observations at each end of the range. The intervals depend little on this number, as
# `python -m experiments.runner estimates` shows.
PSEUDO_OBSERVATIONS = 0.05
MAX_TILT = 60.0  # largest eta times the range: nearly all weight is then at one end
HALVINGS = 27  # bisection steps of the range of eta, 2 * MAX_TILT: the error is then about 1e-6


def score_ends(
    values: FloatArray,
    lowest: FloatArray,
    highest: FloatArray,
    *,
    weights: FloatArray | None = None,
    shrink: FloatArray | float = 1.0,
    z: float = 1.959963984540054,
    unseen: float = PSEUDO_OBSERVATIONS,
    least: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the interval for the mean of each row.

    Args:
        values: rows × observations.
        lowest: smallest possible value of each row; shape (rows,).
        highest: largest possible value of each row; shape (rows,).
        weights: of the observations; equal by default.
        shrink: factor of the variance of the mean: (N-n)/(N-1) for a sample of n from a population of N.
        z: the quantile of the normal distribution.
        unseen: pseudo-observations at each end of the range.
        least: smallest variance of one observation, if that of the tilted distribution is smaller.

    >>> yes = np.array([[1.0] * 26 + [0.0] * 4])
    >>> [round(float(end[0]), 3) for end in score_ends(yes, np.zeros(1), np.ones(1))]  # Wilson's
    [0.703, 0.947]
    """
    n = values.shape[1]
    weights = np.ones(n) if weights is None else weights * (n / weights.sum())
    scale = z * np.sqrt(shrink * (weights**2).sum()) / n
    points = np.concatenate([values, lowest[:, None], highest[:, None]], axis=1)
    base = np.concatenate([weights, [unseen, unseen]])
    middle = values @ weights / n
    span = np.maximum(highest - lowest, np.finfo(np.float64).tiny)
    left, right = (_end(points, base, middle, span, side, scale, least) for side in (-1.0, 1.0))
    return np.minimum(left, middle), np.maximum(right, middle)


def _end(
    points: FloatArray,
    base: FloatArray,
    middle: FloatArray,
    span: FloatArray,
    side: float,
    scale: FloatArray | float,
    least: FloatArray | float,
) -> FloatArray:
    """Return one end of the interval of each row: the mean at which the test begins to reject, by bisection of eta."""
    inner, outside = (np.full(len(points), end) for end in (-MAX_TILT, MAX_TILT))
    mean = middle
    for _ in range(HALVINGS):
        tilt = (inner + outside) / 2  # eta times the range
        exponent = side * (tilt / span)[:, None] * points
        probability = base * np.exp(exponent - exponent.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        mean = (probability * points).sum(axis=1)
        deviation = np.sqrt(np.maximum((probability * (points - mean[:, None]) ** 2).sum(axis=1), least))
        inside = side * (mean - middle) <= scale * deviation
        inner = np.where(inside, tilt, inner)
        outside = np.where(inside, outside, tilt)
    return mean


INTERVAL_TOLERANCE = 1e-6  # numerical error of the intervals
MIN_GUESS_VARIANCE = 1e-9  # variance of the guesses that counts as zero


@dataclass(frozen=True)
class KnownSample:
    """The tasks with known labels, and the probability with which each was drawn."""

    rows: IntArray  # the known tasks
    probability: FloatArray  # inclusion probability of each; 1 for those that were chosen, not drawn
    n_tasks: int

    @staticmethod
    def random(rows: IntArray, n_tasks: int) -> "KnownSample":
        """Return the known tasks as a simple random sample."""
        return KnownSample(rows, np.full(len(rows), len(rows) / max(n_tasks, 1)), n_tasks)

    @cached_property
    def is_drawn(self) -> BoolArray:
        """Which known tasks were drawn at random; all, if every task is known; one entry per row of `rows`.

        Their known labels represent all tasks that could have been drawn.
        """
        is_random: BoolArray = self.probability < 1
        return np.ones(len(self.rows), dtype=bool) if len(self.rows) == self.n_tasks else is_random

    @cached_property
    def is_chosen(self) -> BoolArray:
        """Which of all tasks were chosen with inclusion probability 1; one entry per task, known or not.

        They represent no other tasks: their known labels are added to the estimate for the tasks that could be drawn.
        """
        chosen = np.zeros(self.n_tasks, dtype=bool)
        chosen[self.rows[~self.is_drawn]] = True
        return chosen

    @property
    def n_drawn(self) -> int:
        """Number of known tasks for which `is_drawn` is true: the size of the random sample."""
        return int(self.is_drawn.sum())

    def within(self, tasks: BoolArray) -> "KnownSample":
        """Return the sample restricted to some tasks, which are numbered from 0: it is a random sample of them."""
        is_within = tasks[self.rows]
        number = np.cumsum(tasks) - 1
        return KnownSample(number[self.rows[is_within]], self.probability[is_within], int(tasks.sum()))


@dataclass(frozen=True)
class MeanEstimates:
    """Estimates of means, one per row, and the intervals from the known labels alone."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    known_low: FloatArray
    known_high: FloatArray
    power: FloatArray  # mean factor of the guess (lambda); 0 where the known labels alone are more precise


def ppi_mean(
    y: FloatArray,
    guess: FloatArray,
    sample: KnownSample,
    *,
    lowest: float | FloatArray = 0.0,
    highest: float | FloatArray = 1.0,
    z: float,
    is_count: bool = False,
    unseen: float = PSEUDO_OBSERVATIONS,
) -> MeanEstimates:
    """Estimate the mean over all tasks of each row.

    Args:
        y: true values, rows × known tasks.
        guess: guessed values, rows × all tasks, computed without y.
        sample: the known tasks.
        lowest: smallest possible value.
        highest: largest possible value.
        z: the quantile of the normal distribution.
        is_count: whether the values are 0 and 1, so that the sum over the tasks is a whole number.
        unseen: pseudo-observations at each end of the range; see `score_ends`.

    >>> rng = np.random.default_rng(0)
    >>> true = (rng.random(1000) < 0.3).astype(float)
    >>> sample = KnownSample.random(rng.permutation(1000)[:50], 1000)
    >>> result = ppi_mean(true[None, sample.rows], 0.8 * true[None] + 0.1, sample, z=1.96)
    >>> bool(result.high[0] - result.low[0] < 0.5 * (result.known_high[0] - result.known_low[0]))
    True
    """
    is_drawn = sample.is_drawn
    rest = guess[:, ~sample.is_chosen]
    bottom, top = (np.broadcast_to(np.asarray(end, np.float64), len(y)) for end in (lowest, highest))
    estimates = ppi_rows(
        y[:, is_drawn],
        guess[:, sample.rows[is_drawn]],
        Guesses.of(rest),
        lowest=bottom,
        highest=top,
        weights=1 / sample.probability[is_drawn],
        z=z,
        unseen=unseen,
    )
    return over_all(estimates, y[:, ~is_drawn].sum(axis=1), rest.shape[1], sample.n_tasks, is_count=is_count)


@dataclass(frozen=True)
class Guesses:
    """Mean and range of the guesses over all tasks from which the known ones were drawn; one entry per row."""

    mean: FloatArray
    least: FloatArray
    most: FloatArray
    n_tasks: int

    @staticmethod
    def of(guess: FloatArray) -> "Guesses":
        """Return mean and range of each row of guesses, rows × tasks."""
        return Guesses(guess.mean(axis=1), guess.min(axis=1), guess.max(axis=1), guess.shape[1])

    def repeated(self, times: int) -> "Guesses":
        """Return the guesses with each row repeated."""
        rows = (np.repeat(column, times) for column in (self.mean, self.least, self.most))
        mean, least, most = rows
        return Guesses(mean, least, most, self.n_tasks)


def ppi_rows(
    y: FloatArray,
    f: FloatArray,
    guesses: Guesses,
    *,
    lowest: FloatArray,
    highest: FloatArray,
    weights: FloatArray | None = None,
    z: float,
    unseen: float = PSEUDO_OBSERVATIONS,
) -> MeanEstimates:
    """Estimate the mean of each row over the tasks from which the known ones were drawn.

    Rows may have different known tasks.

    Args:
        y: true values, rows × known tasks.
        f: guessed values, rows × known tasks.
        guesses: for all tasks that could have been drawn.
        lowest: smallest possible value of each row.
        highest: largest possible value of each row.
        weights: one over the inclusion probability of each known task; equal by default.
        z: the quantile of the normal distribution.
        unseen: see `score_ends`.

    >>> y, f = np.array([[0.0, 1.0] * 10]), np.array([[0.1, 0.9] * 10])
    >>> mean = ppi_rows(y, f, Guesses.of(np.array([[0.1, 0.9] * 50])), lowest=np.zeros(1), highest=np.ones(1), z=2)
    >>> float(mean.value[0].round(9)), float(mean.power[0].round(9))
    (0.5, 1.0)
    """
    n = y.shape[1]
    weights = np.ones(n) if weights is None else weights * (n / weights.sum())
    shrink = (guesses.n_tasks - n) / max(guesses.n_tasks - 1, 1)
    factor = tuning_factors(y, f, weights)
    values = y - factor * (f - guesses.mean[:, None])
    used = factor @ weights / n
    bottom = np.minimum(lowest - used * (guesses.most - guesses.mean), values.min(axis=1))
    top = np.maximum(highest - used * (guesses.least - guesses.mean), values.max(axis=1))
    value = values @ weights / n
    # A distribution tilted to one side has too little variance if the errors are on the other side: the variance is at
    # least that of the observations.
    observed_variance = (values - value[:, None]) ** 2 @ weights / n
    low, high = score_ends(
        values, bottom, top, weights=weights, shrink=shrink, z=z, unseen=unseen, least=observed_variance
    )
    alone_low, alone_high = score_ends(y, lowest, highest, weights=weights, shrink=shrink, z=z, unseen=unseen)
    # If the guesses have no information, estimating lambda makes the interval wider: use the known labels alone.
    alone = high - low >= alone_high - alone_low - INTERVAL_TOLERANCE
    low, high = (
        np.clip(np.where(alone, by_known, by_both), lowest, highest)
        for by_known, by_both in ((alone_low, low), (alone_high, high))
    )
    # The value is always that with the guesses: choosing between two values by their width would bias it.
    value = np.clip(value, low, high)
    return MeanEstimates(value, low, high, alone_low, alone_high, np.where(alone, 0.0, used))


def over_all(
    estimates: MeanEstimates, certain: FloatArray | float, n_rest: int, n_tasks: int, *, is_count: bool
) -> MeanEstimates:
    """Return the means over all tasks, from the tasks with inclusion probability 1 and the estimates for the others.

    Args:
        estimates: means over the other tasks.
        certain: the sum over the tasks with inclusion probability 1.
        n_rest: the number of other tasks.
        n_tasks: the number of all tasks.
        is_count: whether the sum over the tasks is a whole number; the ends of the intervals are then rounded to one.

    >>> half = np.array([0.51])
    >>> float(over_all(MeanEstimates(half, half, half, half, half, half), 0.0, 10, 10, is_count=True).high[0])
    0.6
    """

    def mean(part: FloatArray, side: int = 0) -> FloatArray:
        total = certain + n_rest * part
        if is_count and side:
            off = INTERVAL_TOLERANCE * n_rest
            total = np.ceil(total - off) if side > 0 else np.floor(total + off)
        share: FloatArray = total / n_tasks + 0.0  # + 0.0 turns -0.0 into 0.0
        return share

    low = mean(estimates.low, -1)
    high = mean(estimates.high, 1)
    known_low = mean(estimates.known_low, -1)
    known_high = mean(estimates.known_high, 1)
    wider = high - low > known_high - known_low  # possible by one task, because of the rounding
    low = np.where(wider, known_low, low)
    high = np.where(wider, known_high, high)
    return MeanEstimates(np.clip(mean(estimates.value), low, high), low, high, known_low, known_high, estimates.power)


def tuning_factors(y: FloatArray, f: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the factor of the guess (lambda of [Angelopoulos23]) for each known task.

    It is the slope of y on f over the other known tasks, clipped to 0 to 1.

    Args:
        y: true values, rows × known tasks.
        f: guessed values, rows × known tasks.
        weights: of the tasks.

    >>> tuning_factors(np.array([[0.0, 1.0, 0.0, 1.0]]), np.array([[0.2, 0.7, 0.2, 0.7]]), np.ones(4)).round(3).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """

    def sum_of_others(values: FloatArray) -> FloatArray:
        weighted_values: FloatArray = weights * values
        rest: FloatArray = weighted_values.sum(axis=-1, keepdims=True) - weighted_values
        return rest

    total = sum_of_others(np.ones_like(y))
    mean_y = sum_of_others(y) / total
    mean_f = sum_of_others(f) / total
    covariance = sum_of_others(y * f) / total - mean_y * mean_f
    variance = sum_of_others(f**2) / total - mean_f**2
    slope = np.divide(covariance, variance, out=np.zeros_like(covariance), where=variance > MIN_GUESS_VARIANCE)
    return np.clip(slope, 0.0, 1.0)
