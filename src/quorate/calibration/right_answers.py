"""Right answers: how often each worker is right on the tasks that it answered, by their calibrated posterior.

(The share of right labels among the tasks is in `share_right.py`.)

The expected share of right answers of a worker is the mean probability of the answers that it gave. It depends on the
tasks: if one class is frequent, a worker who always gives this class is often right, with any skill. Its variance has
two parts: that of the true classes given the posterior, and that of the calibration, which changes all probabilities
together. A calibration with a share of right labels of S instead of s changes a probability p in proportion to its
distance from a guess, by (S - s) (p - 1/M)/(s - 1/M).
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Counted
from quorate.arrays import FloatArray, IntArray
from quorate.calibration.share_right import ShareEstimate
from quorate.statistics import Z_90, Z_95

MIN_VALIDITY = 0.05  # lower limit of s - 1/M, by which the change is divided


@dataclass(frozen=True, eq=False)
class RightAnswers:
    """Expected share of right answers of each worker, with a 95 % interval; NaN for a worker without answers."""

    share: FloatArray
    low: FloatArray
    high: FloatArray


def right_answers(answers: Counted, chances: FloatArray, wrong: ShareEstimate) -> RightAnswers:
    """Return the expected share of right answers of each worker.

    Args:
        answers: how many answers each worker gave.
        chances: `quorate.voting.vote.Vote.chances` of these answers, by the calibrated posterior.
        wrong: share of wrong labels, with its interval.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 4, 4, skills=[0.8, 0.8, 0.8, 0.0], seed=0)
    >>> result = quorate.aggregate(crowd.answers)
    >>> right_answers(crowd.answers, result.vote.chances(crowd.answers), result.share_wrong()).share.round(1).tolist()
    [0.9, 0.8, 0.9, 0.5]
    """
    guess = 1 / max(answers.n_classes, 1)
    n = np.where(answers.per_worker > 0, answers.per_worker, np.nan)
    share = chances[:, 0] / n
    variance = chances[:, 1] / n**2
    slope = (share - guess) / max(1 - wrong.mean - guess, MIN_VALIDITY)
    variance = variance + (slope * (wrong.high - wrong.low) / (2 * Z_90)) ** 2
    half = Z_95 * np.sqrt(variance)
    return RightAnswers(share, np.clip(share - half, 0.0, 1.0), np.clip(share + half, 0.0, 1.0))


def weighted_median(values: FloatArray, n: IntArray) -> float:
    """Return the smallest value such that at least half of the answers have it or less; n: answers of each value.

    >>> weighted_median(np.array([0.2, 0.9, 0.5]), np.array([1, 1, 5]))
    0.5
    """
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(n[order])
    return float(values[order[np.searchsorted(cumulative, cumulative[-1] / 2)]])
