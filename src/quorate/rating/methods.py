"""Common methods to combine scores, for comparison: mean, median, z-score, bias-removed mean, ITU-T P.910, rate."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray
from quorate.io.read_table import Source
from quorate.io.scores import Scores
from quorate.rating.rate import rate

N_BIAS_SWEEPS = 20
MAX_P910_SWEEPS = 100  # of the alternating projection of ITU-T P.910 (2022), section 10
P910_TOLERANCE = 1e-8  # change of a level, in standard deviations of the scores
TINY = 1e-12


@dataclass(frozen=True)
class ScoreEstimate:
    """A score per task, and its standard error if the method states one."""

    score: FloatArray  # NaN for a task without answers
    se: FloatArray | None
    low: FloatArray | None = None
    high: FloatArray | None = None


def _by_task(scores: Scores, x: FloatArray) -> FloatArray:
    return np.bincount(scores.task, x, scores.n_tasks).astype(np.float64)


def _n(scores: Scores) -> FloatArray:
    counts: FloatArray = np.bincount(scores.task, minlength=scores.n_tasks).astype(np.float64)
    return counts


def mean(scores: Scores) -> ScoreEstimate:
    """Return the mean of each task's scores, with the standard error of the mean."""
    return _mean_of(scores, scores.score)


def _mean_of(scores: Scores, y: FloatArray) -> ScoreEstimate:
    n = _n(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = _by_task(scores, y) / n
        variance = _by_task(scores, (y - centre[scores.task]) ** 2) / (n - 1)
        return ScoreEstimate(centre, np.sqrt(variance / n))


def median(scores: Scores) -> ScoreEstimate:
    """Return the median of each task's scores."""
    order = np.lexsort([scores.score, scores.task])
    y = scores.score[order]
    n = _n(scores).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(n)[:-1]])
    medians = np.full(scores.n_tasks, np.nan)
    has_answers = n > 0
    low = start[has_answers] + (n[has_answers] - 1) // 2
    high = start[has_answers] + n[has_answers] // 2
    medians[has_answers] = (y[low] + y[high]) / 2
    return ScoreEstimate(medians, None)


def z_score(scores: Scores) -> ScoreEstimate:
    """Return the mean of scores standardised per rater, on the scale of all scores."""
    worker = scores.worker
    score = scores.score
    n_raters = scores.answers.n_workers
    n_answers = np.maximum(np.bincount(worker, minlength=n_raters), 1)
    level = np.bincount(worker, score, n_raters) / n_answers
    residual = score - level[worker]
    deviation = np.sqrt(np.bincount(worker, residual**2, n_raters) / n_answers)
    deviation = np.where(deviation > 0, deviation, 1.0)
    standardised = residual / deviation[worker]
    return _mean_of(scores, score.mean() + score.std() * standardised)


def bias_removed_mean(scores: Scores) -> ScoreEstimate:
    """Return the mean of scores minus each rater's bias, by least squares for tasks and raters."""
    bias, _ = additive(scores)
    return _mean_of(scores, scores.score - bias[scores.worker])


def additive(scores: Scores) -> tuple[FloatArray, FloatArray]:
    """Return the least-squares bias of each rater (mean 0 over the answers) and level of each task."""
    worker = scores.worker
    n_raters = scores.answers.n_workers
    answers_per_task = np.maximum(_n(scores), 1)
    answers_per_rater = np.maximum(np.bincount(worker, minlength=n_raters), 1)
    bias = np.zeros(n_raters)
    level = np.zeros(scores.n_tasks)
    for _ in range(N_BIAS_SWEEPS):
        level = _by_task(scores, scores.score - bias[worker]) / answers_per_task
        bias = np.bincount(worker, scores.score - level[scores.task], n_raters) / answers_per_rater
        bias = bias - np.average(bias, weights=answers_per_rater)
    return bias, level


def p910(scores: Scores) -> ScoreEstimate:
    """Return scores by ITU-T P.910 / P.913: bias and inconsistency of raters by alternating projection."""
    worker = scores.worker
    n_raters = scores.answers.n_workers
    n_answers = np.maximum(np.bincount(worker, minlength=n_raters), 1)
    level = mean(scores).score
    weight = np.ones(len(scores.score))
    for _ in range(MAX_P910_SWEEPS):
        residual = scores.score - level[scores.task]
        bias = np.bincount(worker, residual, n_raters) / n_answers
        inconsistency = np.bincount(worker, (residual - bias[worker]) ** 2, n_raters) / n_answers
        weight = 1 / np.maximum(inconsistency, TINY)[worker]
        total = np.maximum(_by_task(scores, weight), TINY)
        new_level = _by_task(scores, weight * (scores.score - bias[worker])) / total
        change = np.nanmax(np.abs(new_level - level))
        level = new_level
        if change < P910_TOLERANCE * scores.score.std():
            break
    total = _by_task(scores, weight)
    with np.errstate(divide="ignore"):
        se = 1 / np.sqrt(total)
    return ScoreEstimate(np.where(total > 0, level, np.nan), se)


def rate_estimate(scores: Scores, gold: Source = None) -> ScoreEstimate:
    """Return the scores of `quorate.rate`, which may use known scores."""
    tasks = rate(scores, gold=gold).tasks
    return ScoreEstimate(tasks.score, tasks.se, tasks.low, tasks.high)


SCORE_METHODS: dict[str, Callable[[Scores], ScoreEstimate]] = {
    "mean": mean,
    "median": median,
    "z-score": z_score,
    "bias-removed": bias_removed_mean,
    "p910": p910,
    "rate": rate_estimate,
}
NEED_WORKERS = ("z-score", "bias-removed", "p910")
