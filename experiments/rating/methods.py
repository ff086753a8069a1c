"""Other methods for scores: truth discovery (CRH, CATD, GTM) and the rejection of ITU-R BT.500."""

from collections.abc import Callable

import numpy as np
from scipy import stats

from experiments.rating.data import Answers
from quorate.arrays import FloatArray
from quorate.rating.methods import SCORE_METHODS, ScoreEstimate
from quorate.rating.rate import rate

SWEEPS = 20


def _weighted(answers: Answers, weight: FloatArray, score: FloatArray | None = None) -> FloatArray:
    y = answers.score if score is None else score
    total = np.bincount(answers.task, weight, answers.n_tasks)
    return np.bincount(answers.task, weight * y, answers.n_tasks) / np.maximum(total, 1e-12)


def _loss(answers: Answers, level: FloatArray) -> FloatArray:
    """Return for each rater the sum of squared deviations, each divided by the variance of the task."""
    n = np.maximum(np.bincount(answers.task, minlength=answers.n_tasks), 1)
    centre = np.bincount(answers.task, answers.score, answers.n_tasks) / n
    square = np.bincount(answers.task, (answers.score - centre[answers.task]) ** 2, answers.n_tasks) / n
    spread = np.sqrt(np.maximum(square, 1e-6 * answers.score.var()))
    deviation = ((answers.score - level[answers.task]) / spread[answers.task]) ** 2
    return np.bincount(answers.rater, deviation, answers.n_raters).astype(np.float64)


def crh(answers: Answers) -> FloatArray:
    """CRH [Li et al. 2014]: weights -log of each rater's part of the loss."""
    level = _weighted(answers, np.ones(len(answers.score)))
    n = np.maximum(np.bincount(answers.rater, minlength=answers.n_raters), 1)
    for _ in range(SWEEPS):
        loss = _loss(answers, level) / n
        weight = -np.log(np.maximum(loss / loss.sum(), 1e-9))
        level = _weighted(answers, np.maximum(weight, 1e-6)[answers.rater])
    return level


def catd(answers: Answers) -> FloatArray:
    """CATD [Li et al. 2015]: weights from the upper end of the interval of each rater's variance."""
    level = _weighted(answers, np.ones(len(answers.score)))
    n = np.bincount(answers.rater, minlength=answers.n_raters)
    quantile = stats.chi2.ppf(0.025, np.maximum(n, 1))
    for _ in range(SWEEPS):
        weight = quantile / np.maximum(_loss(answers, level), 1e-9)
        level = _weighted(answers, weight[answers.rater])
    return level


def gtm(answers: Answers) -> FloatArray:
    """GTM [Zhao and Han 2012]: normal noise per rater, inverse gamma prior (10, 10), standardised scores."""
    middle = answers.score.mean()
    unit = answers.score.std()
    y = (answers.score - middle) / unit
    n = np.bincount(answers.rater, minlength=answers.n_raters)
    variance = np.ones(answers.n_raters)
    level = np.zeros(answers.n_tasks)
    for _ in range(SWEEPS):
        weight = 1 / variance[answers.rater]
        total = np.bincount(answers.task, weight, answers.n_tasks) + 1
        level = np.bincount(answers.task, weight * y, answers.n_tasks) / total
        square = np.bincount(answers.rater, (y - level[answers.task]) ** 2, answers.n_raters)
        variance = (2 * 10 + square) / (2 * (10 + 1) + n)
    return np.asarray(level * unit + middle, np.float64)


def bt500(answers: Answers) -> FloatArray:
    """Mean after the rejection of raters by ITU-R BT.500: often far from the task's mean, equally on both sides."""
    n = np.maximum(np.bincount(answers.task, minlength=answers.n_tasks), 1)
    centre = np.bincount(answers.task, answers.score, answers.n_tasks) / n
    deviation = answers.score - centre[answers.task]
    second = np.bincount(answers.task, deviation**2, answers.n_tasks) / n
    fourth = np.bincount(answers.task, deviation**4, answers.n_tasks) / n
    kurtosis = fourth / np.maximum(second**2, 1e-12)
    limit = np.where((kurtosis >= 2) & (kurtosis <= 4), 2, np.sqrt(20)) * np.sqrt(second * n / np.maximum(n - 1, 1))
    above = np.bincount(answers.rater, deviation >= limit[answers.task], answers.n_raters)
    below = np.bincount(answers.rater, deviation <= -limit[answers.task], answers.n_raters)
    count = np.maximum(np.bincount(answers.rater, minlength=answers.n_raters), 1)
    both = above + below
    balanced = np.abs(above - below) / np.maximum(both, 1) < 0.3
    kept = ~((both / count > 0.05) & balanced)
    return _weighted(answers, np.where(kept[answers.rater], 1.0, 1e-9))


def _of_package(name: str) -> Callable[[Answers], ScoreEstimate]:
    def run(answers: Answers) -> ScoreEstimate:
        return _complete(answers, SCORE_METHODS[name](answers.scores()))

    return run


def _complete(answers: Answers, estimate: ScoreEstimate) -> ScoreEstimate:
    """Return estimates for all tasks, from those of the tasks with answers."""
    rated = np.unique(answers.task)

    def placed(values: FloatArray | None) -> FloatArray | None:
        if values is None:
            return None
        out = np.full(answers.n_tasks, np.nan)
        out[rated] = values
        return out

    score = placed(estimate.score)
    assert score is not None
    return ScoreEstimate(score, placed(estimate.se), placed(estimate.low), placed(estimate.high))


def same_scale(answers: Answers) -> ScoreEstimate:
    """`rate` with all scales held at 1."""
    found = rate(answers.scores(), same_scale=True).tasks
    return _complete(answers, ScoreEstimate(found.score, found.se, found.low, found.high))


def _plain(run: Callable[[Answers], FloatArray]) -> Callable[[Answers], ScoreEstimate]:
    return lambda answers: ScoreEstimate(run(answers), None)


METHODS: dict[str, Callable[[Answers], ScoreEstimate]] = {
    "mean": _of_package("mean"),
    "median": _of_package("median"),
    "z-score": _of_package("z-score"),
    "bias-removed": _of_package("bias-removed"),
    "BT.500": _plain(bt500),
    "CRH": _plain(crh),
    "CATD": _plain(catd),
    "GTM": _plain(gtm),
    "P.910": _of_package("p910"),
    "same scale": same_scale,
    "rate": _of_package("rate"),
}
