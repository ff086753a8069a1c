"""Scores of the tasks with their intervals, on the scale of the answers or of the known scores: the table of `rate`.

The standardised posteriors of the tasks come from `quorate.rating.passes.task_posteriors`.
"""

import numpy as np
from scipy.special import stdtr, stdtrit

from quorate.arrays import FloatArray, IntArray
from quorate.rating.fit import RatingFit
from quorate.rating.gold import GoldFit
from quorate.rating.hyperparameters import unit_variance
from quorate.rating.rating import TaskScores
from quorate.rating.scores import ScoreBlocks, component_of_tasks

MIN_TREND_TASKS = 20  # tasks with two answers, to estimate how disagreement depends on the score
DISAGREEMENT_BOUNDS = (0.1, 10.0)  # of a task's noise variance relative to that of its raters
DISAGREEMENT_DF_BOUNDS = (3.0, 1e3)
TREND_RIDGE = (1e-9, 5.0, 5.0)  # pseudo-answers without a trend; the constant is not shrunk
MIN_INTERVAL_DF = 3.0  # degrees of freedom of Student's t


def task_disagreement(posterior: FloatArray, per_task: IntArray, fitted: RatingFit) -> tuple[FloatArray, FloatArray]:
    """Return the noise variance of each task relative to its raters', by its score and its answers, shrunk.

    It is used for intervals only; inside the passes it raised the likelihood and made scores worse.

    Returns:
        The ratio, and the factor of the tasks' variances. In the factor the trend over scores is at least 1:
        raters agree more near the ends of a scale because answers are cut there, which does not make scores more
        precise. With the plain ratio, 95 % intervals of 5-point scores were narrowest at the ends and covered 53 %
        there (more than 1.5 standard deviations from the mean).
    """
    raters = fitted.raters
    n = per_task.astype(np.float64)
    if (n >= 2).sum() < MIN_TREND_TASKS:
        return np.ones(len(n)), np.ones(len(n))
    position = (posterior[:, 0] - raters.mean) / np.sqrt(raters.variance)
    noise_sum = posterior[:, 2]
    regressors = np.stack([np.ones(len(n)), position, position**2], axis=1)
    weighted = (regressors.T * n) @ regressors + np.diag(TREND_RIDGE)
    trend = np.linalg.solve(weighted, regressors.T @ noise_sum)
    expected = np.clip(regressors @ trend, *DISAGREEMENT_BOUNDS)
    several = n >= 3
    excess = 0.0
    if several.any():
        ratio = noise_sum[several] / n[several] / expected[several]
        excess = float(np.mean((ratio - 1) ** 2) - np.mean(2 / (raters.tails * n[several])))
    df = float(np.clip(2 / max(excess, 1e-3), *DISAGREEMENT_DF_BOUNDS))
    n_normal = raters.tails * n
    ratio = (df * expected + raters.tails * noise_sum) / (df + n_normal)
    at_least_one = np.maximum(expected, 1.0)
    inflation = (df + raters.tails * noise_sum / expected) / (df + n_normal) * at_least_one
    return np.asarray(ratio, np.float64), np.asarray(inflation, np.float64)


def task_scores(
    table: ScoreBlocks,
    fitted: RatingFit,
    panel: tuple[FloatArray, FloatArray],
    variance: FloatArray,
    disagreement: FloatArray,
    known: tuple[IntArray, FloatArray] | None,
    known_fit: GoldFit | None,
    *,
    level: float,
    cut: float | None,
    bounds: tuple[float, float] | None,
) -> TaskScores:
    """Return the scores of all tasks with their intervals.

    Args:
        table: the answers.
        fitted: raters and hyperparameters.
        panel: posterior mean and variance of each task, without correlated errors; standardised scores.
        variance: of each task, with correlated errors.
        disagreement: noise variance of each task relative to that of its raters.
        known: tasks with a known score, and these scores; None for none.
        known_fit: means and variances on the scale of the known scores; None if there are too few.
        level: of the intervals.
        cut: as in `quorate.rate`.
        bounds: as in `quorate.rate`.
    """
    per_task = table.per_task
    mean = panel[0]
    df = np.maximum(per_task - 1 + fitted.raters.noise_df, MIN_INTERVAL_DF)
    is_known = np.zeros(len(mean), bool)
    score = mean * table.unit + table.middle
    unit_part = unit_variance(fitted.raters, fitted.design) * (mean - fitted.raters.mean) ** 2
    se = np.sqrt(variance + unit_part) * table.unit
    if known_fit is not None:
        unit_part = np.zeros(len(mean))
        score = known_fit.mean * table.unit + table.middle
        se = np.sqrt(known_fit.variance) * table.unit
        df = np.full(len(mean), known_fit.df)
    if known is not None:
        is_known[known[0]] = True
        score[known[0]] = known[1]
        se[known[0]] = 0.0
    distinct, inverse = np.unique(df, return_inverse=True)
    half = stdtrit(distinct, 0.5 + level / 2)[inverse] * se
    low = score - half
    high = score + half
    above = None
    if cut is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(se > 0, stdtr(df, (score - cut) / se), (score > cut).astype(np.float64))
    if bounds is not None:
        score, low, high = (np.where(is_known, values, np.clip(values, *bounds)) for values in (score, low, high))
    component = np.zeros(len(mean), np.int64)
    if table.has_workers:
        component = np.concatenate(list(table.blocks.map(component_of_tasks, table.graph[0])))
    has_answers = per_task > 0
    return TaskScores(
        score=np.where(has_answers, score, np.nan),
        se=se,
        low=low,
        high=high,
        df=df,
        n_answers=per_task,
        disagreement=disagreement,
        component=np.where(has_answers, component, -1),
        mean=table.means,
        panel_score=panel[0] * table.unit + table.middle,
        panel_variance=panel[1] * table.unit**2,
        unit_variance=unit_part * table.unit**2,
        is_known=is_known,
        above=above,
    )
