"""What a worker costs: the wrong answers that a usual worker would not have given."""

import numpy as np

from quorate.arrays import FloatArray
from quorate.result import Result
from quorate.voting.vote import accuracy

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
    order = known[np.argsort(right[known], kind="stable")]
    half = np.cumsum(result.roster.per_worker[order])
    return float(right[order[np.searchsorted(half, half[-1] / 2)]])


def below_usual(result: Result, cost: FloatArray) -> list[int]:
    """Return the workers whose whole interval of accuracy lies below the usual, and who cost enough to be talked to.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> below_usual(result, costs(result))
    [3]
    """
    high = accuracy(result.intervals.high, result.roster.n_classes)
    chosen: list[int] = np.flatnonzero((high < usual_accuracy(result)) & (cost >= WORTH_A_TALK)).tolist()
    return chosen
