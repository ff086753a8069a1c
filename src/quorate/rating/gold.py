"""Known scores of some tasks -> every task's score on their scale, and the error that all raters share.

gold = line(panel score) + Σ_w (level_w + pull_w leftover_tw)/n_t + shared error. Levels and pulls of raters are ridge
regressions, used from 20 known scores on; the variances of pulls and of the shared error are averaged over a grid by
marginal likelihood. The interval is that of Student's t with G - 2 degrees of freedom.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block
from quorate.rating.fit import Fit
from quorate.rating.scores import ScoreBlocks

MIN_KNOWN = 3  # known scores, below which they are not used
MIN_KNOWN_FOR_PULLS = 20
MAX_KNOWN = 1500  # known scores that enter the G × G solves; more say nothing new of a line and a variance
SHARED_GRID = np.geomspace(0.003, 2, 10)  # of the variance of the known scores
PULL_GRID = (0.0, 0.1, 0.3, 1.0, 3.0)
PULL_PENALTY = 2.0  # of the log likelihood: two more variances, as the Akaike criterion counts them
SMALLEST_WEIGHT = 0.005  # of a grid point that is used
LINE_LEVEL_VARIANCE = 1e3  # prior variance of the level of the line, in variances of the known scores
TINY = 1e-12


@dataclass(frozen=True)
class GoldFit:
    """Scores on the scale of the known ones; standardised scores of the answers."""

    mean: FloatArray
    variance: FloatArray
    df: float
    shared_variance: float
    n_known: int
    uses_pulls: bool


@dataclass(frozen=True)
class _Point:
    """A grid point: its weight, variances, and the solved system."""

    weight: float
    shared: float
    pull: float
    solve: FloatArray  # V⁻¹ r
    inverse: FloatArray  # V⁻¹


def to_gold(
    table: ScoreBlocks,
    fit: Fit,
    mean: FloatArray,
    variance: FloatArray,
    known_task: IntArray,
    known: FloatArray,
    tie_break: IntArray,
) -> GoldFit:
    """Calibrate posteriors by known scores.

    Args:
        table: the scores.
        fit: raters and hyperparameters.
        mean: posterior mean of each task.
        variance: posterior variance of each task.
        known_task: tasks with a known score, ascending.
        known: those scores, standardised as the answers are.
        tie_break: a hash of each known task, by which `MAX_KNOWN` of them are chosen.
    """
    used = np.arange(len(known_task))
    if len(used) > MAX_KNOWN:
        used = np.sort(np.argsort(tie_break, kind="stable")[:MAX_KNOWN])
    tasks = known_task[used]
    z = known[used]
    g = len(tasks)
    line = fit.raters.line
    deviation = _leftover_deviation(table, line, mean)
    rows = sparse.vstack(
        list(table.blocks.each(rater_features, table.values, line, mean, deviation, tasks, len(table.worker_ids)))
    ).tocsr()
    tau2 = fit.raters.variance
    reference = max(float(np.var(z)), 1e-3 * tau2)
    slope = np.sqrt(reference / tau2)
    centre = mean[tasks].mean()
    x = np.stack([np.ones(g), mean[tasks] - centre])
    flat = np.array([LINE_LEVEL_VARIANCE * reference, slope**2])
    base = (x.T * flat) @ x
    near = np.asarray((rows @ rows.T).todense())
    residual = z - z.mean() - slope * x[1]
    uses_pulls = g >= MIN_KNOWN_FOR_PULLS
    points = _grid(base, near, slope**2 * variance[tasks], residual, reference, PULL_GRID if uses_pulls else (0.0,))
    arguments = (
        table.values,
        line,
        mean,
        variance,
        deviation,
        rows,
        points,
        x,
        flat,
        centre,
        slope,
        z.mean(),
        reference,
    )
    parts = list(table.blocks.each(predict_gold, *arguments))
    new_mean = np.concatenate([part[0] for part in parts])
    new_variance = np.concatenate([part[1] for part in parts])
    new_mean[known_task] = known
    new_variance[known_task] = 0.0
    shared = sum(point.weight * point.shared for point in points)
    return GoldFit(new_mean, new_variance, max(g - 2.0, 2.0), float(shared), len(known_task), uses_pulls)


def _leftover_deviation(table: ScoreBlocks, line: FloatArray, mean: FloatArray) -> float:
    sums = np.zeros(3)
    for part in table.blocks.each(leftover_sums, table.values, line, mean):
        sums += part
    n, total, square = sums
    return float(np.sqrt(max(square / n - (total / n) ** 2, 0.0))) + TINY


def leftover_sums(block: Block, values: FloatArray, line: FloatArray, mean: FloatArray) -> FloatArray:
    """Return number, sum and sum of squares of the residuals of a block."""
    left = _leftovers(block, values, line, mean)[2]
    return np.array([len(left), left.sum(), left @ left])


def _leftovers(
    block: Block, values: FloatArray, line: FloatArray, mean: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    inside = block.answers
    task = np.repeat(np.arange(block.n_tasks), block.per_task)
    worker = block.worker[inside]
    left = values[block.label[inside]] - line[0, worker] - line[1, worker] * mean[block.tasks][task]
    return task, worker, left


def _features(
    block: Block, values: FloatArray, line: FloatArray, mean: FloatArray, deviation: float, n_raters: int
) -> sparse.csr_matrix:
    """Per task 1/n_t for the level of each rater, and leftover/n_t for its pull; tasks × 2·raters."""
    task, worker, left = _leftovers(block, values, line, mean)
    share = 1.0 / np.maximum(block.per_task, 1)[task]
    data = np.concatenate([share, share * left / deviation])
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
    inside = tasks[(tasks >= within.start) & (tasks < within.stop)] - within.start
    return _features(block, values, line, mean, deviation, n_raters)[inside]


def _grid(
    base: FloatArray,
    near: FloatArray,
    panel_variance: FloatArray,
    residual: FloatArray,
    reference: float,
    pulls: tuple[float, ...],
) -> tuple[_Point, ...]:
    """Weigh the grid of variances by marginal likelihood, and solve those that matter."""
    systems = []
    for shared in reference * SHARED_GRID:
        for pull in pulls:
            covariance = base + np.diag(panel_variance + shared) + pull * reference * near
            factor = np.linalg.cholesky(covariance)
            white = np.linalg.solve(factor, residual)
            score = -0.5 * white @ white - np.log(np.diag(factor)).sum() - PULL_PENALTY * (pull > 0)
            systems.append((score, shared, pull, covariance))
    weight = special.softmax([system[0] for system in systems])
    kept = weight > SMALLEST_WEIGHT
    points = []
    for share, (_, shared, pull, covariance), is_kept in zip(weight / weight[kept].sum(), systems, kept, strict=True):
        if is_kept:
            inverse = np.asarray(np.linalg.inv(covariance), np.float64)
            points.append(_Point(float(share), float(shared), float(pull), inverse @ residual, inverse))
    return tuple(points)


def predict_gold(
    block: Block,
    values: FloatArray,
    line: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    deviation: float,
    rows: sparse.csr_matrix,
    points: tuple[_Point, ...],
    x: FloatArray,
    flat: FloatArray,
    centre: float,
    slope: float,
    level: float,
    reference: float,
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of each task of a block on the scale of the known scores."""
    n_raters = line.shape[1]
    own = _features(block, values, line, mean, deviation, n_raters)
    here = mean[block.tasks]
    design = np.stack([np.ones(len(here)), here - centre])
    line_cross = (design.T * flat) @ x
    near = np.asarray((own @ rows.T).todense())
    own_square = np.asarray(own.multiply(own).sum(axis=1)).ravel()
    line_square = design.T**2 @ flat
    total = np.zeros(len(here))
    square = np.zeros(len(here))
    for point in points:
        cross = line_cross + point.pull * reference * near
        prediction = level + slope * design[1] + cross @ point.solve
        spread = line_square + point.pull * reference * own_square - np.einsum("ij,ij->i", cross @ point.inverse, cross)
        total += point.weight * prediction
        square += point.weight * (spread + slope**2 * variance[block.tasks] + point.shared + prediction**2)
    return total, np.maximum(square - total**2, TINY)
