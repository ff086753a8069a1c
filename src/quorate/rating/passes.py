"""One pass over the scores: leave-one-out belief propagation that returns sums per rater and stores nothing per answer.

Model: y_tw = a_w + b_w q_t + e, e ~ N(0, s_w²), q_t ~ N(mu, tau²). For every answer the pass forms the posterior of
q_t from the *other* raters of the task (`cavity_mean`, `cavity_variance`), and the rater's line (a, b) without that
answer (a rank-one downdate of its 2 × 2 precision). A rater's line is therefore regressed on the posterior from the
other raters: a rater's own answers cannot confirm it, and the slope is not attenuated, because the regressor is a
posterior mean.

The answers of one cell (a rater, or a group of raters, on one task) are left out together; their information is
divided by 1 + rho·(answers in the cell - 1).

The posteriors of tasks that `task_posteriors` returns are on the standardised scale and without correlated errors;
`quorate.rating.task_scores` makes the final table of scores with their intervals from them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks import kernels
from quorate.blocks.block import Block, Sums
from quorate.blocks.numpy_kernels import answers_of

# Columns of the table that a pass reads and adds to: one row per rater.
BIAS = 0
SCALE = 1
NOISE_VARIANCE = 2
# Precision of (bias, scale) with the prior, and precision times mean.
P11 = 3
P12 = 4
P22 = 5
H1 = 6
H2 = 7
SUM_1, SUM_M, SUM_MM, SUM_Y, SUM_YM, SUM_NOISE, SUM_SQUARE, SUM_FOURTH = range(8, 16)
N_INPUTS = 8
N_COLUMNS = 16
# Totals of a pass.
T_NM, T_M, T_MM, T_V, T_FLOOR, T_FLOOR_WEIGHT, T_PAIR, T_PAIR_FIT, T_N_PAIRS, T_LOO = range(10)
N_TOTALS = 10
# How answers of a task are put into cells.
BY_RATER = 0
BY_GROUP = 1
BY_ANSWER = 2
# Answers that numpy handles at a time: arrays of 64 KB stay in the cache, and below malloc's mmap threshold.
PIECE_ANSWERS = 1 << 13
PIECE_RATERS = 1  # minimum answers per rater of a piece, so that adding to the tables costs no more than the answers
MIN_DETERMINANT = 1e-12  # of a rater's precision matrix after the downdate; standardised scores


@dataclass(frozen=True)
class CrowdParameters:
    """The hyperparameters that a pass needs, in addition to the table of raters; standardised scores."""

    mean: float  # mu
    variance: float  # tau²
    bias_variance: float  # V_a
    scale_variance: float  # V_b
    rho: float  # correlation of errors within a cell
    is_first: bool = False  # the table has starting values, which contain no answers yet

    def numbers(self) -> FloatArray:
        """Return the parameters as the array that the kernel takes."""
        return np.array(
            [
                self.mean,
                1 / self.variance,
                1 / self.bias_variance,
                1 / self.scale_variance,
                self.rho,
                float(self.is_first),
            ]
        )


def rating_sums(
    blocks: Iterable[Block], values: FloatArray, raters: FloatArray, numbers: FloatArray, group: IntArray, cells: int
) -> Sums:
    """Return the sums over blocks for the next estimates of raters and crowd.

    Args:
        blocks: blocks of whole tasks; a label is an index of `values`.
        values: the standardised score behind each label.
        raters: raters × `N_INPUTS`.
        numbers: `CrowdParameters.numbers`.
        group: the group of each rater; used with `BY_GROUP` only.
        cells: `BY_RATER`, `BY_GROUP` or `BY_ANSWER`.

    Returns the eight sums of each rater, raters × 8, and the totals.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> raters = np.tile([0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0], (2, 1))
    >>> numbers = CrowdParameters(0.0, 1.0, 1.0, 1.0, 0.0, True).numbers()
    >>> sums, totals = rating_sums([block], np.array([-1.0, 1.0]), raters, numbers, np.arange(2), BY_RATER)
    >>> sums[:, 0].round(3).tolist(), float(totals[T_M])  # 1/d, d = 1 + 1/(1 + 1)
    ([0.667, 0.667], 0.0)
    """
    sums = _PassSums.zero(values, raters, numbers, group, cells)
    for block in blocks:
        sums.add(block)
    return sums.table[:, N_INPUTS:].copy(), sums.totals


def task_posteriors(
    block: Block, values: FloatArray, raters: FloatArray, numbers: FloatArray, group: IntArray, cells: int
) -> tuple[FloatArray, float]:
    """Return the posterior of each task of a block: mean, variance, Σ noise²/s² of its answers; tasks × 3.

    The second value is the sum of the log predictive densities of the answers, each given all others.
    """
    sums = _PassSums.zero(values, raters, numbers, group, cells)
    posteriors = np.zeros((block.n_tasks, 3))
    sums.add(block, posteriors)
    return posteriors, float(sums.totals[T_LOO])


@dataclass(frozen=True)
class _PassSums:
    """Inputs of a pass, and its sums, which change as blocks are added."""

    values: FloatArray
    table: FloatArray  # inputs of the raters, and their sums; raters × `N_COLUMNS`
    numbers: FloatArray
    totals: FloatArray
    group: IntArray
    cells: int

    @classmethod
    def zero(
        cls, values: FloatArray, raters: FloatArray, numbers: FloatArray, group: IntArray, cells: int
    ) -> "_PassSums":
        """Return the inputs with all sums at zero."""
        table = np.zeros((len(raters), N_COLUMNS))
        table[:, :N_INPUTS] = raters
        return cls(values, table, numbers, np.zeros(N_TOTALS), group, cells)

    def add(self, block: Block, posteriors: FloatArray | None = None) -> None:
        """Add a block to the sums, and write the posteriors of its tasks to `posteriors`, if given."""
        if kernels.native is None:
            for piece in small_pieces([block], len(self.table)):
                first = piece.first - block.first
                out = None if posteriors is None else posteriors[first : first + piece.n_tasks]
                plain_pass(piece, self, out)
            return
        largest = int(block.per_task.max(initial=0))
        n_groups = int(self.group.max(initial=-1)) + 1
        kernels.native.rating(
            block.start,
            block.worker,
            block.label,
            self.values,
            self.table,
            self.numbers,
            self.totals,
            np.ascontiguousarray(self.group, np.int32),
            posteriors,
            self.cells,
            largest,
            n_groups,
        )


def small_pieces(blocks: Iterable[Block], n_raters: int) -> Iterator[Block]:
    """Yield blocks divided into pieces whose numpy arrays stay in the cache."""
    for block in blocks:
        yield from block.pieces(max(PIECE_ANSWERS, PIECE_RATERS * n_raters))


def scored_answers(block: Block, values: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the task (within the block), the rater and the score of each answer."""
    task, worker, label = answers_of(block)
    return task, worker, values[label]


def first_of_rater(task: IntArray, worker: IntArray) -> BoolArray:
    """Return a mask of the first answer of each rater to each task; answers are sorted by task, then by rater."""
    is_first = np.ones(len(task), bool)
    is_first[1:] = (task[1:] != task[:-1]) | (worker[1:] != worker[:-1])
    return is_first


def plain_pass(block: Block, sums: _PassSums, posteriors: FloatArray | None) -> None:
    """Add a block to the sums of a pass in numpy; the kernel `rating` in C is tested against it."""
    table = sums.table
    totals = sums.totals
    n_tasks = block.n_tasks
    n_raters = len(table)
    per_task = block.per_task
    task, worker, y = scored_answers(block, sums.values)
    mean, prior_precision, bias_precision, scale_precision, rho, is_first = sums.numbers
    cell, task_of_cell, cell_size = cells_of(block, sums.group, sums.cells)
    thinning = 1.0 if cell_size is None else 1 / (1 + rho * (cell_size - 1))
    columns = np.ascontiguousarray(table[:, :N_INPUTS].T)
    a, b, noise, p11, p12, p22, h1, h2 = (column[worker] for column in columns)

    def cavity(precision: FloatArray, shift: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return precision and shift of each task, and mean and variance per answer without its own cell."""
        own_precision = precision
        own_shift = shift
        if cell_size is None:
            task_precision = prior_precision + np.bincount(task, precision, n_tasks)
            task_shift = mean * prior_precision + np.bincount(task, shift, n_tasks)
        else:
            cell_precision: FloatArray = thinning * np.bincount(cell, precision, len(cell_size)).astype(np.float64)
            cell_shift: FloatArray = thinning * np.bincount(cell, shift, len(cell_size)).astype(np.float64)
            task_precision = prior_precision + np.bincount(task_of_cell, cell_precision, n_tasks)
            task_shift = mean * prior_precision + np.bincount(task_of_cell, cell_shift, n_tasks)
            own_precision = cell_precision[cell]
            own_shift = cell_shift[cell]
        without = np.maximum(task_precision[task] - own_precision, prior_precision)
        return task_precision, task_shift, (task_shift[task] - own_shift) / without, 1 / without

    # First with the current lines, then with each rater's line without the present answer. The sums of a line get the
    # terms that the next pass subtracts, so that at the limit the line without an answer is exact. With the second
    # posterior in the sums, 15 of 80 panels of 4 to 8 tasks and little noise had their order reversed.
    _, _, cavity_mean, cavity_variance = cavity(b * b / noise, b * (y - a) / noise)
    over_d = 1 / (noise + b * b * cavity_variance)
    m_over_d = cavity_mean * over_d
    line_summands = (over_d, m_over_d, cavity_mean * m_over_d, y * over_d, y * m_over_d)
    if not is_first:
        p11 = np.maximum(p11 - over_d, float(bias_precision))
        p12 = p12 - m_over_d
        p22 = np.maximum(p22 - cavity_mean * m_over_d, float(scale_precision))
        h1 = h1 - y * over_d
        h2 = h2 - y * m_over_d
    determinant = np.maximum(p11 * p22 - p12 * p12, MIN_DETERMINANT)
    line_bias = (p22 * h1 - p12 * h2) / determinant
    line_scale = (p11 * h2 - p12 * h1) / determinant
    line_variance = (p22 - 2 * cavity_mean * p12 + cavity_mean * cavity_mean * p11) / determinant
    answer_variance = noise + np.maximum(line_variance, 0.0)
    precision, shift, cavity_mean, cavity_variance = cavity(
        line_scale * line_scale / answer_variance, line_scale * (y - line_bias) / answer_variance
    )
    task_mean = shift / precision
    task_variance = 1 / precision
    # The error of the prediction from the others, and the part of it that is the rater's noise.
    error = y - line_bias - line_scale * cavity_mean
    predictive = answer_variance + line_scale * line_scale * cavity_variance
    noise_part = noise / predictive
    noise_square = noise_part * (noise_part * error * error + (predictive - noise))
    square = error * error
    summands = (*line_summands, noise_square, square, square * square)
    for column, summand in zip(range(SUM_1, N_COLUMNS), summands, strict=True):
        table[:, column] += np.bincount(worker, summand, n_raters)
    totals[T_NM] += per_task @ task_mean
    rated = per_task > 0
    totals[T_M] += task_mean[rated].sum()
    totals[T_MM] += task_mean[rated] @ task_mean[rated]
    totals[T_V] += task_variance[rated].sum()
    residual = (y - a - b * mean) * b
    totals[T_FLOOR] += _pairs_between(residual, task, cell, task_of_cell, cell_size, n_tasks)
    totals[T_FLOOR_WEIGHT] += _pairs_between(b * b, task, cell, task_of_cell, cell_size, n_tasks)
    if cell_size is not None:
        standard = np.sqrt(noise)
        totals[T_PAIR] += _pairs_within(error / standard, cell, len(cell_size))
        totals[T_PAIR_FIT] += _pairs_within(line_scale * np.sqrt(cavity_variance) / standard, cell, len(cell_size))
        totals[T_N_PAIRS] += (cell_size * (cell_size - 1)).sum()
    if posteriors is not None:
        posteriors[:, 0] = task_mean
        posteriors[:, 1] = task_variance
        posteriors[:, 2] = np.bincount(task, noise_square / noise, n_tasks)
        totals[T_LOO] -= 0.5 * (np.log(2 * np.pi * predictive) + error**2 / predictive).sum()


def cells_of(block: Block, group: IntArray, cells: int) -> tuple[IntArray, IntArray, FloatArray | None]:
    """Return the cell of each answer, the task of each cell, and the answers per cell; None if each cell has one.

    >>> block = Block(np.array([0, 3]), np.array([0, 1, 1]), np.array([0, 0, 0]), n_workers=2, n_classes=1)
    >>> cells_of(block, np.arange(2), BY_RATER)[0].tolist()
    [0, 1, 1]
    """
    empty = np.zeros(0, np.int64)
    if cells == BY_ANSWER:
        return empty, empty, None
    task, worker, _ = answers_of(block)
    if cells == BY_GROUP:
        key = task * (int(group.max(initial=0)) + 1) + group[worker]
        _, first, cell = np.unique(key, return_index=True, return_inverse=True)
        task_of_cell = task[first]
    else:
        begins = first_of_rater(task, worker)
        if begins.all():
            return empty, empty, None
        cell = np.cumsum(begins) - 1
        task_of_cell = task[begins]
    size = np.bincount(cell, minlength=len(task_of_cell)).astype(np.float64)
    return cell, task_of_cell, size


def _pairs_between(
    x: FloatArray,
    task: IntArray,
    cell: IntArray,
    task_of_cell: IntArray,
    cell_size: FloatArray | None,
    n_tasks: int,
) -> float:
    """Return the sum of x_i x_j over ordered pairs of answers to one task in different cells."""
    total = np.bincount(task, x, n_tasks)
    within = x if cell_size is None else np.bincount(cell, x, len(cell_size))
    return float(total @ total - within @ within)


def _pairs_within(x: FloatArray, cell: IntArray, n_cells: int) -> float:
    """Return the sum of x_i x_j over ordered pairs of different answers in one cell."""
    total = np.bincount(cell, x, n_cells)
    return float(total @ total - x @ x)
