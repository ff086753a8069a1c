"""How often workers are right: shares, wrong answers, and the typical worker they are compared with."""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray
from quorate.calibration.right_answers import RightAnswers, weighted_median
from quorate.result import Result
from quorate.voting.vote import accuracy


def wrong_answers(result: Result) -> FloatArray:
    """Return the expected number of wrong answers of each worker; NaN where the skill is not determined.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> int(wrong_answers(result).argmax())
    3
    """
    wrong: FloatArray = result.info.per_worker * (1 - share_of_right_answers(result).share)
    return wrong


def share_of_right_answers(result: Result) -> RightAnswers:
    """Return the share right of each worker, with a 95 % interval; NaN where the skill is not determined.

    It follows from the posterior of the labels or, if the method has none, from the skill alone. It is stored with the
    result, because the text of every finding needs it.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> share_of_right_answers(result).share.round(1).tolist()
    [0.9, 0.9, 0.9, 0.5]
    """
    cache: dict[str, RightAnswers] = result.__dict__
    if "_shares" not in cache:
        cache["_shares"] = _shares(result)
    return cache["_shares"]


def _shares(result: Result) -> RightAnswers:
    estimated = result.right_answers
    if estimated is None:
        skill = np.stack([result.skills, result.intervals.low, result.intervals.high])
        return RightAnswers(*accuracy(skill, result.info.n_classes))
    is_unknown = np.isnan(result.skills)
    return RightAnswers(
        share=np.where(is_unknown, np.nan, estimated.share),
        low=np.where(is_unknown, np.nan, estimated.low),
        high=np.where(is_unknown, np.nan, estimated.high),
    )


def extra_wrong_answers(result: Result) -> FloatArray:
    """Return the expected number of wrong answers of each worker in excess of a typical worker with as many answers.

    It is below zero for workers better than the typical one, and zero for workers whose skill is not determined.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> bool(extra_wrong_answers(result)[3] > 80), bool(abs(extra_wrong_answers(result)[:3]).max() < 20)
    (True, True)
    """
    right = share_of_right_answers(result).share
    usual = typical_share(result)
    cost: FloatArray = np.where(np.isnan(right), 0.0, result.info.per_worker * (usual - right))
    return cost


def typical_share(result: Result) -> float:
    """Return the share of right answers of a typical worker: the median, each worker weighted by its answers.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> round(typical_share(result), 1)
    0.9
    """
    cache: dict[str, float] = result.__dict__
    if "_typical_share" not in cache:
        cache["_typical_share"] = _typical(result, share_of_right_answers(result).share)
    return cache["_typical_share"]


def typical_accuracy(result: Result) -> float:
    """Return the accuracy of a typical worker, by skill: the median, each worker weighted by its answers.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> round(typical_accuracy(result), 1)
    0.9
    """
    return _typical(result, accuracy(result.skills, result.info.n_classes))


def _typical(result: Result, right: FloatArray) -> float:
    known = np.flatnonzero(~np.isnan(right) & (result.info.per_worker > 0))
    if len(known) == 0:
        return 1 / max(result.info.n_classes, 1)
    return weighted_median(right[known], result.info.per_worker[known])


def shows_agreement_only(result: Result) -> BoolArray:
    """Whether each worker is a language model without known labels: its skill shows agreement, not the share right."""
    agreement = result.skill_estimates.agreement
    if agreement is None:
        return np.zeros(result.info.n_workers, dtype=bool)
    return ~np.isnan(agreement)


def is_language_model(result: Result, worker: int) -> bool:
    """Whether a worker is a language model, by the log format, its name, or a declaration.

    >>> import quorate
    >>> is_language_model(quorate.aggregate(quorate.simulate.crowd(50, 4, 4, seed=0).answers), 0)
    False
    """
    is_model = result.answers.is_model if isinstance(result.info, Answers) else None
    if is_model is not None and bool(is_model[worker]):
        return True
    basis = result.confidence_basis
    return basis is not None and 0 < basis.n_models == basis.n_workers
