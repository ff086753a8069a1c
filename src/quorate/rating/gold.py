"""Known scores of some tasks -> every task's score on their scale, and the error that all raters share.

gold = line(panel score) + Σ_w (level_w + effect_w residual_tw)/n_t + shared error, where the residual is an answer
minus its prediction from the panel score. Levels and effects of raters are estimated by ridge regression, with at least
20 known scores; the variances of effects and of the shared error are averaged over a grid by marginal likelihood. The
interval is that of Student's t with G - 2 degrees of freedom, G the number of known scores.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse, special

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block
from quorate.rating.fit import RatingFit
from quorate.rating.passes import scored_answers
from quorate.rating.scores import ScoreBlocks

MIN_KNOWN = 3  # known scores; fewer are not used for calibration
MIN_KNOWN_FOR_RESIDUALS = 20  # known scores
MAX_KNOWN = 1500  # known scores in the G × G systems; more add almost nothing to a line and a variance
SHARED_GRID = np.geomspace(0.003, 2, 10)  # of the variance of the known scores
RESIDUAL_GRID = (0.0, 0.1, 0.3, 1.0, 3.0)  # variance of effects, in variances of the known scores
RESIDUAL_PENALTY = 2.0  # subtracted from the log likelihood for two more variances (Akaike criterion)
MIN_GRID_WEIGHT = 0.005  # of a grid point that is used
LINE_LEVEL_VARIANCE = 1e3  # prior variance of the level of the line, in variances of the known scores
TINY = 1e-12


@dataclass(frozen=True)
class GoldFit:
    """Mean and variance of each task on the scale of the known scores, in standardised units."""

    mean: FloatArray
    variance: FloatArray
    df: float
    shared_variance: float
    n_known: int
    uses_residuals: bool


@dataclass(frozen=True)
class _Point:
    """A grid point: its weight, variances, and the solved system.

    A is the covariance of the known scores given the line, which is estimated by generalised least squares; so the flat
    prior of the line is not part of an inverted matrix.
    """

    weight: float
    shared: float  # variance of the shared error
    effect: float  # variance of the effects of residuals, in variances of the known scores
    line: FloatArray  # level and slope, posterior mean
    line_covariance: FloatArray  # 2 × 2
    inverse: FloatArray  # A⁻¹
    projected: FloatArray  # X A⁻¹, 2 × known
    residual: FloatArray  # A⁻¹ (known - line)


def to_gold(
    table: ScoreBlocks,
    fit: RatingFit,
    mean: FloatArray,
    variance: FloatArray,
    known_task: IntArray,
    known: FloatArray,
    tie_break: IntArray,
) -> GoldFit:
    """Return the posteriors on the scale of the known scores.

    Args:
        table: the scores.
        fit: raters and hyperparameters.
        mean: posterior mean of each task.
        variance: posterior variance of each task.
        known_task: tasks with a known score, ascending.
        known: these scores, standardised like the answers.
        tie_break: a hash of each known task; the `MAX_KNOWN` smallest are used.
    """
    chosen = np.arange(len(known_task))
    if len(chosen) > MAX_KNOWN:
        chosen = np.sort(np.argsort(tie_break, kind="stable")[:MAX_KNOWN])
    tasks = known_task[chosen]
    z = known[chosen]
    n_known = len(tasks)
    line = fit.raters.line
    deviation = _residual_deviation(table, line, mean)
    rows = sparse.vstack(
        list(table.blocks.map(rater_features, table.values, line, mean, deviation, tasks, len(table.worker_ids)))
    ).tocsr()
    tau2 = fit.raters.variance
    reference = max(float(np.var(z)), 1e-3 * tau2)
    slope = np.sqrt(reference / tau2)
    centre = mean[tasks].mean()
    x = np.stack([np.ones(n_known), mean[tasks] - centre])
    prior_variance = np.array([LINE_LEVEL_VARIANCE * reference, slope**2])
    kernel = np.asarray((rows @ rows.T).todense())  # covariance of the effects, up to their variance
    residual = z - z.mean() - slope * x[1]
    uses_residuals = n_known >= MIN_KNOWN_FOR_RESIDUALS
    effects = RESIDUAL_GRID if uses_residuals else (0.0,)
    points = _grid(x, prior_variance, kernel, slope**2 * variance[tasks], residual, reference, effects)
    arguments = (
        table.values,
        line,
        mean,
        variance,
        deviation,
        rows,
        points,
        centre,
        slope,
        z.mean(),
        reference,
    )
    parts = list(table.blocks.map(predict_gold, *arguments))
    new_mean = np.concatenate([part[0] for part in parts])
    new_variance = np.concatenate([part[1] for part in parts])
    new_mean[known_task] = known
    new_variance[known_task] = 0.0
    shared = sum(point.weight * point.shared for point in points)
    return GoldFit(new_mean, new_variance, max(n_known - 2.0, 2.0), float(shared), len(known_task), uses_residuals)


def _residual_deviation(table: ScoreBlocks, line: FloatArray, mean: FloatArray) -> float:
    sums = np.zeros(3)
    for part in table.blocks.map(residual_sums, table.values, line, mean):
        sums += part
    n, total, square = sums
    return float(np.sqrt(max(square / n - (total / n) ** 2, 0.0))) + TINY


def residual_sums(block: Block, values: FloatArray, line: FloatArray, mean: FloatArray) -> FloatArray:
    """Return number, sum and sum of squares of the residuals of a block."""
    residual = _residuals(block, values, line, mean)[2]
    return np.array([len(residual), residual.sum(), residual @ residual])


def _residuals(
    block: Block, values: FloatArray, line: FloatArray, mean: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    task, worker, y = scored_answers(block, values)
    return task, worker, y - line[0, worker] - line[1, worker] * mean[block.tasks][task]


def _features(
    block: Block, values: FloatArray, line: FloatArray, mean: FloatArray, deviation: float, n_raters: int
) -> sparse.csr_matrix:
    """Return per task 1/n_t for the level of each rater, and residual/n_t for its effect; (tasks, 2·raters)."""
    task, worker, residual = _residuals(block, values, line, mean)
    share = 1.0 / np.maximum(block.per_task, 1)[task]
    data = np.concatenate([share, share * residual / deviation])
    row = np.concatenate([task, task])
    column = np.concatenate([worker, worker + n_raters])
    return sparse.csr_matrix((data, (row, column)), shape=(block.n_tasks, 2 * n_raters))


def rater_features(
    block: Block,
    values: FloatArray,
    line: FloatArray,
    mean: FloatArray,
    deviation: float,
    tasks: IntArray,
    n_raters: int,
) -> sparse.csr_matrix:
    """Return the features of the known tasks of a block, in their order."""
    within = block.tasks
    tasks_of_block = tasks[(tasks >= within.start) & (tasks < within.stop)] - within.start
    return _features(block, values, line, mean, deviation, n_raters)[tasks_of_block]


def _grid(
    x: FloatArray,
    prior_variance: FloatArray,
    kernel: FloatArray,
    panel_variance: FloatArray,
    residual: FloatArray,
    reference: float,
    effects: tuple[float, ...],
) -> tuple[_Point, ...]:
    """Return the points of the grid of variances with their weights by marginal likelihood, without negligible ones."""
    points = []
    scores = []
    for shared in reference * SHARED_GRID:
        for effect in effects:
            covariance = np.diag(panel_variance + shared) + effect * reference * kernel
            inverse = np.asarray(np.linalg.inv(covariance), np.float64)
            projected = x @ inverse
            precision = np.diag(1 / prior_variance) + projected @ x.T
            line_covariance = np.asarray(np.linalg.inv(precision), np.float64)
            shift = projected @ residual
            line = line_covariance @ shift
            solved = inverse @ (residual - x.T @ line)
            log_determinant = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(precision)[1]
            fitted = residual @ inverse @ residual - shift @ line
            scores.append(-0.5 * (fitted + log_determinant) - RESIDUAL_PENALTY * (effect > 0))
            points.append(_Point(0.0, float(shared), float(effect), line, line_covariance, inverse, projected, solved))
    weight = special.softmax(scores)
    kept = np.flatnonzero(weight > MIN_GRID_WEIGHT)
    weight = weight / weight[kept].sum()
    return tuple(replace(points[k], weight=float(weight[k])) for k in kept)


def predict_gold(
    block: Block,
    values: FloatArray,
    line: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    deviation: float,
    rows: sparse.csr_matrix,
    points: tuple[_Point, ...],
    centre: float,
    slope: float,
    level: float,
    reference: float,
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of each task of a block on the scale of the known scores."""
    n_raters = line.shape[1]
    features = _features(block, values, line, mean, deviation, n_raters)
    task_mean = mean[block.tasks]
    design = np.stack([np.ones(len(task_mean)), task_mean - centre])
    kernel = np.asarray((features @ rows.T).todense())
    task_kernel = np.asarray(features.multiply(features).sum(axis=1)).ravel()
    panel = slope**2 * variance[block.tasks]
    offset = np.zeros((len(points), len(task_mean)))
    point_variance = np.zeros((len(points), len(task_mean)))
    weight = np.array([point.weight for point in points])
    for k, point in enumerate(points):
        cross = point.effect * reference * kernel
        offset[k] = point.line @ design + cross @ point.residual
        of_line = design - point.projected @ cross.T
        point_variance[k] = np.einsum("it,ij,jt->t", of_line, point.line_covariance, of_line) + panel + point.shared
        point_variance[k] += point.effect * reference * task_kernel - np.einsum(
            "ij,ij->i", cross @ point.inverse, cross
        )
    average = weight @ offset
    between = weight @ (offset - average) ** 2
    return level + slope * design[1] + average, np.maximum(weight @ point_variance + between, TINY)
