"""The calibration law: distribution of the calibration of posteriors over comparable crowds.

The calibrated posterior of a task is p = v softmax(b log q) + (1 - v)/M, with q the posterior, b the temperature (b < 1
makes it less certain) and v the validity: with probability 1 - v the label is no better than a guess. Over crowds of
people log b ~ N(0, sd²) and 1 - v has an exponential distribution. Over panels of models both have a greater spread,
and the mean of 1 - v decreases with the agreement of the panel (Krippendorff's alpha). Confidence is p averaged over
the law. Gold labels multiply the law by their likelihood.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.task_tables import averaged_powers
from quorate.calibration.share_right import SHARE_LEVEL, ShareEstimate
from quorate.voting.posterior import FLOOR

# Grid of temperatures: STEPS_PER_OCTAVE steps of one size, then the same number of twice the size, and so on up to 7; 1
# is one of them. A posterior averaged over the grid is within .0001 (people) and .007 (models) of the integral over the
# law, and powers of q are products of q^FIRST_STEP and its squares.
FIRST_STEP = 1 / 36
STEPS_PER_OCTAVE = 4
N_OCTAVES = 6
TEMPERATURES = FIRST_STEP * np.cumsum(np.repeat(2.0 ** np.arange(N_OCTAVES), STEPS_PER_OCTAVE))
N_VALIDITIES = 121  # points of the grid
MIN_VALIDITY = -0.5  # labels worse than chance; with M classes at least -1/(M-1)
MIN_RATIO = 1e-45  # of a probability to the largest, so that its powers are normal numbers, which are fast to compute
MIN_WEIGHT = 1e-6  # temperatures of less weight are left out
MIN_LIKELIHOOD = 1e-6  # of one gold label, so that no single label decides on the law
MAX_SUMMED_ROWS = 100  # classes up to which numpy sums rows of classes faster than rows of tasks; for speed alone
CACHED_CELLS = 1 << 15  # probabilities whose powers fit into the cache of a core (256 KB); speed alone depends on it


@dataclass(frozen=True)
class LawConstants:
    """Parameters of a law; fitted by `python -m experiments.default_method.fit_law`."""

    log_b_mean: float
    log_b_sd: float
    failure: float  # mean of 1 - v at alpha 0
    failure_decay: float = 0.0  # log of the ratio of this mean at alpha 0 to that at alpha 1


# `PUBLIC_CROWDS` and `PUBLIC_PANELS` in confidence.py say from how many crowds and panels these were fitted.
# For people the log-loss is flat for log_b_sd from .3 to .5 (within .001); the largest gives the widest interval.
PEOPLE = LawConstants(log_b_mean=0.0, log_b_sd=0.5, failure=0.02)
# For models log_b_sd is 1.5 times the fitted value, because panels of one repository are similar.
MODELS = LawConstants(log_b_mean=-0.48, log_b_sd=1.19, failure=0.59, failure_decay=4.4)


@dataclass(frozen=True, eq=False)
class CalibrationLaw:
    """Weights over temperatures and validities.

    >>> law = calibration_law(PEOPLE, 2)
    >>> law.calibrated(np.array([[0.9, 0.1]])).round(2).tolist()
    [[0.88, 0.12]]
    """

    validity: FloatArray  # v, ascending
    weights: FloatArray  # temperatures × validities, sum 1
    n_classes: int

    @property
    def temperature_weights(self) -> FloatArray:
        """Weight of the posterior at each temperature; the remainder to one is spread equally over the classes."""
        weights = self.weights @ self.validity
        return np.where(weights > MIN_WEIGHT, weights, 0.0)

    def calibrated(self, posterior: FloatArray) -> FloatArray:
        """Return the posterior averaged over the law."""
        weights = self.temperature_weights
        last = int(np.flatnonzero(weights).max(initial=0))
        rest = (1 - weights.sum()) / self.n_classes
        return averaged_powers(
            posterior, weights[: last + 1], rest, step=FIRST_STEP, per_octave=STEPS_PER_OCTAVE, least=MIN_RATIO
        )

    def updated(self, posterior: FloatArray, label: IntArray) -> "CalibrationLaw":
        """Return the law updated by the true classes of tasks; their posterior must not depend on these classes."""
        rows = np.arange(len(label))
        p = np.stack([power[label, rows] / total for power, total in _powers(posterior)])
        logs = np.log(self.weights + FLOOR)
        for k, v in enumerate(self.validity):
            likelihood = np.maximum(p * v + (1 - v) / self.n_classes, MIN_LIKELIHOOD)
            logs[:, k] += np.log(likelihood).sum(axis=1)
        weights = np.exp(logs - logs.max())
        return replace(self, weights=weights / weights.sum())

    def top_sums(self, posterior: FloatArray) -> FloatArray:
        """Return the sum over tasks of the largest probability, for each temperature; input of `share_right`."""
        top = np.empty((len(TEMPERATURES), len(posterior)))
        step = max(CACHED_CELLS // posterior.shape[1], 1)
        for start in range(0, len(posterior), step):
            rows = slice(start, start + step)
            for k, (_, total) in enumerate(_powers(posterior[rows])):
                top[k, rows] = 1 / total  # the largest power is one
        sums: FloatArray = top.sum(axis=1)
        return sums

    def share_right(self, top_sums: FloatArray, n_tasks: int) -> ShareEstimate:
        """Return the expected share of right labels of n tasks, with its interval over comparable crowds."""
        by_temperature = top_sums / max(n_tasks, 1)
        share = by_temperature[:, None] * self.validity + (1 - self.validity) / self.n_classes
        share = np.clip(share, 0.0, 1.0).ravel()
        weights = self.weights.ravel()
        order = np.argsort(share, kind="stable")
        cumulated = np.cumsum(weights[order])
        ends = np.searchsorted(cumulated, [(1 - SHARE_LEVEL) / 2, (1 + SHARE_LEVEL) / 2])
        low, high = share[order][np.minimum(ends, len(order) - 1)]
        return ShareEstimate(float(share @ weights), float(low), float(high))


def calibration_law(constants: LawConstants, n_classes: int, alpha: float = 0.0) -> CalibrationLaw:
    """Return the law over comparable crowds, on the grids of temperatures and validities.

    Args:
        constants: PEOPLE or MODELS.
        n_classes: M.
        alpha: Krippendorff's alpha of the panel; used only if the constants have a decay.
    """
    validity = np.linspace(max(MIN_VALIDITY, -1 / max(n_classes - 1, 1)), 1.0, N_VALIDITIES)
    failure = constants.failure * np.exp(-constants.failure_decay * alpha)
    log_b = np.log(TEMPERATURES)
    cells = np.diff((TEMPERATURES[1:] + TEMPERATURES[:-1]) / 2, prepend=0.0, append=TEMPERATURES[-1])
    logs = -0.5 * ((log_b - constants.log_b_mean) / constants.log_b_sd) ** 2 + np.log(cells / TEMPERATURES)
    logs = logs[:, None] - (1 - validity) / failure
    weights = np.exp(logs - logs.max())
    return CalibrationLaw(validity, weights / weights.sum(), n_classes)


def mixed_law(one: CalibrationLaw, other: CalibrationLaw, share: float) -> CalibrationLaw:
    """Return the mixture of two laws of the same classes; ``share`` is the weight of the second.

    For a crowd of people and models, it is the share of the answers that models gave.
    """
    return replace(one, weights=(1 - share) * one.weights + share * other.weights)


def no_calibration(n_classes: int) -> CalibrationLaw:
    """Return the law that leaves every posterior unchanged.

    >>> no_calibration(2).calibrated(np.array([[0.9, 0.1]])).round(9).tolist()
    [[0.9, 0.1]]
    """
    weights = np.zeros((len(TEMPERATURES), 1))
    weights[np.argmin(np.abs(TEMPERATURES - 1))] = 1.0
    return CalibrationLaw(np.ones(1), weights, n_classes)


def _powers(posterior: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield (q / max q)^b, classes × tasks, and its sums over the classes, for every temperature b."""
    q = posterior.T
    if len(q) <= MAX_SUMMED_ROWS:
        q = np.ascontiguousarray(q)
    step = np.maximum(q / q.max(axis=0, initial=FLOOR), MIN_RATIO) ** FIRST_STEP
    power = np.ones_like(step)
    for _ in range(N_OCTAVES):
        for _ in range(STEPS_PER_OCTAVE):
            power *= step
            yield power, power.sum(axis=0)
        step *= step
