"""Fit the model: start, passes over the blocks, safeguarded Anderson steps until the state no longer changes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Sums
from quorate.progress import report
from quorate.rating.hyperparameters import START_NOISE_DF, START_SCALE_VARIANCE, Design, Raters, update
from quorate.rating.passes import rating_sums, scored_answers, small_pieces, task_posteriors
from quorate.rating.scores import ScoreBlocks

N_START_SWEEPS = 8  # alternating means of tasks and raters
MAX_RANK_ONE_SWEEPS = 30
RANK_ONE_TOLERANCE = 1e-2  # relative; low, because the passes improve the start
RANK_ONE_RIDGE = 2.0  # pseudo-pairs at the mean scale, so that a rater who shares few tasks has a finite start
SCALE_BOUNDS = (-0.5, 2.0)  # of the starting scales
MAX_HISTORY = 10  # states that an Anderson step combines; InstEval takes 60 passes with 4, 23 with 10 or 15
N_PLAIN_PASSES = 5  # before the first accelerated step, which may diverge to another optimum from a distant start
MAX_STEP = 2.0  # change of a line, log noise or log hyperparameter in an accelerated step; standardised scores
MAX_RESIDUAL_GROWTH = 2.0  # factor from pass to pass, above which the history is dropped
RELAX_AFTER = 30  # passes without a smaller residual, after which steps are halved
MIN_RELAXATION = 1 / 16
TINY = 1e-12


@dataclass(frozen=True)
class RatingFit:
    """Raters and hyperparameters at the end of the fit; standardised scores."""

    raters: Raters
    design: Design
    converged: bool
    passes: int
    residual: float  # largest change of a line, a log noise or a log hyperparameter in the last pass


def fit(table: ScoreBlocks, design: Design, *, passes: int, tol: float, start: Raters | None = None) -> RatingFit:
    """Run passes until no line, log noise or log hyperparameter changes by more than `tol`.

    The map of one pass is iterated with Anderson's acceleration over the last `MAX_HISTORY` states. If the residual
    grows, the history is dropped; if it does not shrink for `RELAX_AFTER` passes, steps are halved, which stops cycles
    (in small crowds with scores at one end of the scale).
    """
    raters = start_values(table, design) if start is None else start
    history: list[tuple[FloatArray, FloatArray]] = []  # images and residuals
    best = np.inf
    best_pass = 0
    relaxation = 1.0
    residual = np.inf
    # Weights of the residual's components: lines and log noises by answers, then the hyperparameters.
    by_rater = np.sqrt(design.n_answers / design.n_answers.sum())
    weights = np.concatenate([by_rater, by_rater, by_rater, np.ones(7)])
    best_state = raters
    for number in range(1, passes + 1):
        numbers = raters.crowd().numbers()
        sums, totals = table.blocks.sum(
            rating_sums, table.values, raters.table(design), numbers, table.group, table.cells
        )
        image = update(raters, sums, totals, design)
        if raters.is_first:
            raters = image
            continue
        before = raters.vector()
        after = image.vector()
        change = after - before
        n_compared = len(weights)
        residual = float(np.abs(change[:n_compared]).max())
        report("estimating scores", number, passes)
        if residual < tol:
            return RatingFit(image, design, True, number, residual)
        if residual < best:
            best = residual
            best_pass = number
            best_state = image
        elif number - best_pass >= RELAX_AFTER:
            relaxation = max(relaxation / 2, MIN_RELAXATION)
            best_pass = number
            history.clear()
        if history and residual > MAX_RESIDUAL_GROWTH * np.abs(history[-1][1][:n_compared]).max():
            history.clear()
        if number > N_PLAIN_PASSES:
            history.append((before, change))
            del history[:-MAX_HISTORY]
        else:
            history[:] = [(before, change)]
        raters = _next_state(image, history, weights, relaxation)
    return RatingFit(best_state, design, False, passes, residual)


def _next_state(
    image: Raters, history: list[tuple[FloatArray, FloatArray]], weights: FloatArray, relaxation: float
) -> Raters:
    """Return the combination of the last states with the smallest predicted residual [Anderson 1965]."""
    before, change = history[-1]
    step = before + relaxation * change
    if len(history) > 1:
        n = len(weights)
        residuals = np.stack([weights * entry[1][:n] for entry in history], axis=1)
        differences = residuals[:, -1:] - residuals[:, :-1]
        gram = differences.T @ differences
        ridge = 1e-10 * np.trace(gram) + 1e-300
        try:
            gamma = np.linalg.solve(gram + ridge * np.eye(len(gram)), differences.T @ residuals[:, -1])
        except np.linalg.LinAlgError:
            gamma = np.zeros(len(gram))
        if np.isfinite(gamma).all():
            for (older, older_change), coefficient in zip(history[:-1], gamma, strict=True):
                step = step - coefficient * (before - older + relaxation * (change - older_change))
        largest = float(np.abs(step - before)[:n].max())
        if largest > MAX_STEP:
            step = before + (step - before) * (MAX_STEP / largest)
    accelerated = image.with_vector(step)
    if accelerated is not None:
        return accelerated
    plain = image.with_vector(before + relaxation * change)
    return image if plain is None else plain


def start_values(table: ScoreBlocks, design: Design) -> Raters:
    """Return the start: biases by alternating means, scales by rank-one completion of the raters' covariance."""
    n_raters = len(design.n_answers)
    bias = np.zeros(n_raters)
    if design.bias_is_free:
        for _ in range(N_START_SWEEPS):
            (residual_sums,) = table.blocks.sum(level_sums, table.values, bias)
            bias = residual_sums / (design.n_answers + 1)
    moments = table.blocks.sum(task_moments, table.values, bias)[0]
    n_tasks, mean_sum, square_sum, residual_sum, n_answers = moments
    variance = max(square_sum / n_tasks - (mean_sum / n_tasks) ** 2, 0.01)
    scale = np.ones(n_raters)
    if design.has_free_scales:
        g = rank_one(table, bias + residual_sum / n_answers)
        if g is not None:
            variance = max(float(np.average(g, weights=design.n_answers)) ** 2, 0.01)
            free = np.clip(g / np.sqrt(variance), *SCALE_BOUNDS)
            scale = np.where(design.scale_is_free, free, 1.0)
    level = max(1 - variance - bias.var(), 0.05)
    return Raters(
        line=np.stack([bias, scale]),
        sums=np.zeros((5, n_raters)),
        noise=np.full(n_raters, level),
        mean=0.0,
        variance=variance,
        bias_variance=max(float(bias.var()), 1e-3),
        scale_variance=START_SCALE_VARIANCE,
        noise_level=level,
        noise_df=START_NOISE_DF,
        is_first=True,
    )


def level_sums(blocks: Iterable[Block], values: FloatArray, bias: FloatArray) -> Sums:
    """Return, per rater, the sum of y - q_t; q_t is the shrunk mean of the task's answers minus the raters' biases."""
    sums = np.zeros(len(bias))
    for block in small_pieces(blocks, len(bias)):
        task, worker, y = scored_answers(block, values)
        level = np.bincount(task, y - bias[worker], block.n_tasks) / (block.per_task + 1)
        sums += np.bincount(worker, y - level[task], len(bias))
    return (sums,)


def task_moments(blocks: Iterable[Block], values: FloatArray, bias: FloatArray) -> Sums:
    """Return the number of tasks, sum and sum of squares of the tasks' shrunk levels, sum of residuals, n answers."""
    out = np.zeros(5)
    for block in blocks:
        task, worker, y = scored_answers(block, values)
        residual = y - bias[worker]
        level = np.bincount(task, residual, block.n_tasks) / (block.per_task + 1)
        out += np.array([block.n_tasks, level.sum(), level @ level, residual.sum(), len(y)])
    return (out,)


def rank_one(
    table: ScoreBlocks,
    level: FloatArray,
    *,
    sweeps: int = MAX_RANK_ONE_SWEEPS,
    tolerance: float = RANK_ONE_TOLERANCE,
    ridge: float = RANK_ONE_RIDGE,
) -> FloatArray | None:
    """Return g_w with cov(r_w, r_v) = g_w g_v for w != v, g = b tau, by least squares in coordinate sweeps [Ma20].

    Linear in the answers: Σ_v C_wv g_v over the pairs of a rater is a sum over its tasks of r_w (Σ r g - r_w g_w).
    None if no task has two raters.
    """
    n_raters = len(level)
    g = np.ones(n_raters)
    _, _, peers, covariance, square = table.blocks.sum(rank_one_sums, table.values, level, g)
    if peers.sum() == 0:
        return None
    start = max(covariance[0] / peers.sum(), 1e-3 * square[0] / table.blocks.n_answers + TINY)
    g = np.full(n_raters, np.sqrt(start))
    weight = peers + TINY
    for _ in range(sweeps):
        products, squares, *_ = table.blocks.sum(rank_one_sums, table.values, level, g)
        middle = np.average(g, weights=weight)
        solution = (products + ridge * middle**3) / (squares + ridge * middle**2 + TINY)
        new = 0.5 * (g + solution)
        change = np.abs(new - g).max()
        g = new
        if change < tolerance * np.abs(g).max():
            break
    return g if np.average(g, weights=weight) >= 0 else -g


def rank_one_sums(blocks: Iterable[Block], values: FloatArray, level: FloatArray, g: FloatArray) -> Sums:
    """Return per rater Σ r_w (Σ_v r_v g_v), Σ_v g_v², number of peers' answers; then Σ r_w r_v over pairs and Σ r²."""
    products = np.zeros(len(g))
    squares = np.zeros(len(g))
    peers = np.zeros(len(g))
    covariance = np.zeros(1)
    square = np.zeros(1)
    for block in small_pieces(blocks, len(g)):
        task, worker, y = scored_answers(block, values)
        r = y - level[worker]
        rg = r * g[worker]
        gg = g[worker] ** 2
        by_task = np.bincount(task, rg, block.n_tasks)
        squares_by_task = np.bincount(task, gg, block.n_tasks)
        products += np.bincount(worker, r * (by_task[task] - rg), len(g))
        squares += np.bincount(worker, squares_by_task[task] - gg, len(g))
        peers += np.bincount(worker, block.per_task[task] - 1, len(g))
        total = np.bincount(task, r, block.n_tasks)
        covariance += total @ total - r @ r
        square += r @ r
    return products, squares, peers, covariance, square


def posteriors(table: ScoreBlocks, fitted: RatingFit) -> tuple[FloatArray, float]:
    """Return posterior mean, variance and Σ noise²/s² of every task, and the mean log predictive density per answer."""
    raters = fitted.raters
    parts = []
    density = 0.0
    arguments = (table.values, raters.table(fitted.design), raters.crowd().numbers(), table.group, table.cells)
    for part, log_density in table.blocks.map(task_posteriors, *arguments):
        parts.append(part)
        density += log_density
    return np.concatenate(parts), density / fitted.design.n_answers.sum()
