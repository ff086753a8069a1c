"""What a worker costs: the wrong answers that a usual worker would not have given."""

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.diagnosis.discovery import LEVEL, adjusted
from quorate.result import Result
from quorate.voting.vote import accuracy

FAR = (
    3.7  # times the median distance from the median: two and a half standard deviations of a bell curve, the usual rule
)
WORTH_A_TALK = 10  # wrong answers more than usual, below which nobody is talked to; a judgement, not a measurement


def wrong_answers(result: Result) -> FloatArray:
    """Return how many answers of each worker should be wrong; NaN where its skill is not determined.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> int(wrong_answers(result).argmax())
    3
    """
    wrong: FloatArray = result.roster.per_worker * (1 - accuracy(result.skills, result.roster.n_classes))
    return wrong


def costs(result: Result) -> FloatArray:
    """Return how many more answers of each worker should be wrong than of a usual one who gives as many.

    A usual worker has the crowd's median accuracy, each answer counted once: most answers are by such or better. Of a
    worker with one answer it is less than one, whatever that answer was; of an undetermined one it is nothing.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> bool(costs(result)[3] > 80), bool(abs(costs(result)[:3]).max() < 20)
    (True, True)
    """
    right = accuracy(result.skills, result.roster.n_classes)
    usual = usual_accuracy(result)
    cost: FloatArray = np.where(np.isnan(right), 0.0, result.roster.per_worker * (usual - right))
    return cost


def usual_accuracy(result: Result) -> float:
    """Return the accuracy that half of the answers are at or below, by what is known of their workers.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> round(usual_accuracy(result), 1)
    0.9
    """
    right = accuracy(result.skills, result.roster.n_classes)
    known = np.flatnonzero(~np.isnan(right) & (result.roster.per_worker > 0))
    if len(known) == 0:
        return 1 / max(result.roster.n_classes, 1)
    return _middle(right[known], result.roster.per_worker[known])


def below_usual(result: Result, cost: FloatArray) -> list[int]:
    """Return the workers who are surely less often right than workers of this crowd are, and cost enough to be told.

    Half of any crowd is below its median, so that is no reason to talk to anyone. Whoever is named lies outside of what
    is usual, FAR times the usual distance from the median below it (each answer counted once), by more than errors of
    estimation explain, as many workers being looked at as there are (Benjamini and Hochberg).

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> below_usual(result, costs(result))
    [3]
    """
    from scipy.special import ndtr

    m = result.roster.n_classes
    right, usual = accuracy(result.skills, m), usual_accuracy(result)
    known = ~np.isnan(right) & (result.roster.per_worker > 0)
    if not known.any():
        return []
    apart = _middle(np.abs(right[known] - usual), result.roster.per_worker[known])
    error = result.intervals.standard_error * (m - 1) / m
    p = np.full(len(right), np.nan)
    p[known] = ndtr((right - (usual - FAR * apart))[known] / np.maximum(error[known], 1e-9))
    chosen: list[int] = np.flatnonzero((adjusted(p) <= LEVEL) & (cost >= WORTH_A_TALK)).tolist()
    return chosen


def _middle(values: FloatArray, n: IntArray) -> float:
    """Return the value that half of the answers are at or below."""
    order = np.argsort(values, kind="stable")
    half = np.cumsum(n[order])
    return float(values[order[np.searchsorted(half, half[-1] / 2)]])
