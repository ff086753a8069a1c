"""Kernels: blocks and worker-sized parameters -> worker-sized sums, in one pass; in C if that was built.

A kernel takes some blocks and returns their sums. So every thread or partition has its own tables; `Blocks.sum` adds
them. Kernels that return a value per task take one block.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks import native_kernels, numpy_kernels
from quorate.blocks.block import Block, Sums
from quorate.blocks.worker_rows import ObservedRows, RowNumbers, WorkerRows, dense, observed_rows, rows_at

native: ModuleType | None = native_kernels()
LINE_NUMBERS = 8  # float64 numbers per cache line
Passes: TypeAlias = Sequence[Callable[[], None]]


def _prepared(name: str, block: Block, *arguments: Any) -> Callable[[], None]:
    """Bind a kernel, by its name, to a block and its arrays; C and numpy take the same arrays."""
    if native is None:
        return partial(getattr(numpy_kernels, name), block, *arguments)
    return partial(getattr(native, name), block.start, block.worker, block.label, *arguments)


def _run(name: str, block: Block, *arguments: Any) -> None:
    _prepared(name, block, *arguments)()


def centred_products(
    blocks: Iterable[Block], x: FloatArray, frequency: FloatArray, second_moment: FloatArray | None = None
) -> Sums:
    """Return the sums of omega z_i·z_j x_j and of omega x_j² over each worker's peers j.

    z is an answer minus the response bias of its worker, and omega = 1/(R - 1) for a task with R answers.

    Args:
        blocks: blocks of tasks.
        x: skill of each worker.
        frequency: response bias f, workers × classes.
        second_moment: number of each worker that is summed over the peers instead of x².

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> [sums.tolist() for sums in centred_products([block], np.ones(2), np.full((2, 2), 0.5))]
    [[0.5, 0.5], [1.0, 1.0]]
    """
    return centred_passes(blocks, frequency).sums(x, second_moment)


@dataclass(frozen=True, eq=False)
class CentredPasses:
    """The sums of `centred_products` for several x: a table that is made once, and a prepared pass for each block.

    A row of the table has, for one worker: x, the two sums, x² or the second moment, and the response bias f.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> passes = centred_passes([block], np.full((2, 2), 0.5))
    >>> [sums.tolist() for sums in passes.sums(np.ones(2))]
    [[0.5, 0.5], [1.0, 1.0]]
    """

    table: FloatArray
    passes: Passes  # one for each block, in their order

    def sums(self, x: FloatArray, second_moment: FloatArray | None = None) -> Sums:
        """Return what `centred_products` returns."""
        _set_columns(self.table, x, None, None, x * x if second_moment is None else second_moment)
        for add in self.passes:
            add()
        signed, squares = _columns(self.table, 1, 2)
        return signed, squares


def centred_passes(blocks: Iterable[Block], frequency: FloatArray) -> CentredPasses:
    """Prepare the sums of `centred_products` for several x."""
    table = _centred_table(frequency)
    passes = [_prepared("centred", block, table, table.shape[1], frequency.shape[1]) for block in blocks]
    return CentredPasses(table, passes)


def _centred_table(frequency: FloatArray) -> FloatArray:
    n, m = frequency.shape
    table = _aligned(n, -(-(m + 4) // LINE_NUMBERS) * LINE_NUMBERS)
    table[:, 4 : 4 + m] = frequency
    return table


def agreement_products(blocks: Iterable[Block], x: FloatArray, n_classes: int) -> Sums:
    """Return (N∘C) x and N x² of some blocks.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> [sums.tolist() for sums in agreement_products([block], np.array([0.5, 0.25]), 2)]
    [[0.25, 0.5], [0.0625, 0.25]]
    """
    table = _aligned(len(x), 4)
    _set_columns(table, x)
    for block in blocks:
        _run("agreement", block, table, n_classes)
    signed, squares = _columns(table, 1, 2)
    return signed, squares


def power_sums(blocks: Iterable[Block], x: FloatArray, known: FloatArray, even: bool) -> Sums:
    """Return six sums over the peers of each worker, (6, workers); `quorate.blocks.numpy_kernels.powers` lists them.

    Args:
        blocks: blocks of tasks.
        x: the skill of each worker.
        known: another number of each worker, to be summed over the peers.
        even: whether every task has weight one; otherwise 1/(R - 1).

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> power_sums([block], np.array([0.5, 0.25]), np.zeros(2), True)[0][0].tolist()
    [0.0625, 0.25]
    """
    table = _aligned(len(x), LINE_NUMBERS)
    _set_columns(table, x, known)
    for block in blocks:
        _run("powers", block, table, int(even))
    return (_columns(table, 2, 6),)


def e_step(
    blocks: Iterable[Block],
    log_theta: WorkerRows,
    log_prior: FloatArray,
    clamp_gold: bool = True,
    likelihood: bool = False,
) -> Sums:
    """E-step of Dawid and Skene: the posterior of each task, and the expected counts that the M-step normalises.

    Args:
        blocks: blocks of tasks.
        log_theta: workers × answers × classes.
        log_prior: of the classes.
        clamp_gold: clamp the gold that the blocks carry.
        likelihood: whether to return the log-likelihood as well.

    Returns the expected answers, workers × answers × classes, and the expected tasks of each class. Of the expected
    answers only the observed rows are stored if that takes fewer bytes.

    >>> block = Block(np.array([0, 2]), np.array([0, 0]), np.array([0, 1]), n_workers=1, n_classes=2)
    >>> counts, total = e_step([block], np.log([[[3.0, 1.0], [1.0, 1.0]]]), np.zeros(2))
    >>> counts[0, 0].round(9).tolist(), total.round(9).tolist()
    ([0.75, 0.25], [0.75, 0.25])
    """
    shape = log_theta.shape
    m = shape[2]
    numbers = observed_rows(blocks, shape, always=isinstance(log_theta, ObservedRows))
    if isinstance(numbers, RowNumbers):
        blocks = numbers.blocks
        rows = rows_at(log_theta, numbers.observed)
    else:
        blocks = numbers
        rows = dense(log_theta).reshape(-1, m)
    table = _aligned(len(rows), 2 * m)
    table[:, :m] = rows
    total = np.zeros(m + 1)
    for block in blocks:
        _run("em", block, table, log_prior, block.gold if clamp_gold else None, total, m)
    counts = _worker_rows(numbers, table[:, m:].copy(), shape)
    return (counts, total[:m], total[m:]) if likelihood else (counts, total[:m])


def _worker_rows(
    numbers: RowNumbers | Iterable[Block], values: FloatArray, shape: tuple[int, ...]
) -> FloatArray | ObservedRows:
    """Return a table of workers × answers × classes from all of its rows, or from the observed ones."""
    return ObservedRows(numbers.observed, values, shape) if isinstance(numbers, RowNumbers) else values.reshape(shape)


def one_coin_e_step(
    blocks: Iterable[Block],
    log_right: FloatArray,
    log_wrong: FloatArray,
    log_prior: FloatArray,
    clamp_gold: bool = True,
) -> Sums:
    """E-step with one accuracy per worker: expected right answers, tasks of each class, log-likelihood.

    Args:
        blocks: blocks of tasks.
        log_right: log-probability of each worker's right answer.
        log_wrong: log-probability of each wrong class.
        log_prior: of the classes.
        clamp_gold: clamp the gold that the blocks carry.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> right, total, value = one_coin_e_step([block], np.log([0.75]), np.log([0.25]), np.zeros(2))
    >>> right.round(9).tolist(), total.round(9).tolist()
    ([0.75], [0.75, 0.25])
    """
    m = len(log_prior)
    table = _aligned(len(log_right), 4)
    _set_columns(table, log_right - log_wrong, log_wrong)
    total = np.zeros(m + 1)
    for block in blocks:
        _run("one_coin", block, table, log_prior, block.gold if clamp_gold else None, total, m)
    (right,) = _columns(table, 2, 1)
    return right, total[:m], total[m:]


def equal_answers(block: Block, label: IntArray) -> FloatArray:
    """Count the answers of each worker that equal the label of their task.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> equal_answers(block, np.array([1])).tolist()
    [0.0, 1.0]
    """
    out = np.zeros(block.n_workers)
    _run("equal", block, np.ascontiguousarray(label, np.int64), out)
    return out


def add_chances(block: Block, posterior: FloatArray, table: FloatArray) -> None:
    """Add to a table of workers × 2 the sum of the probabilities p of each worker's answers, and that of p (1 - p).

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> table = np.zeros((2, 2))
    >>> add_chances(block, np.array([[0.75, 0.25]]), table)
    >>> table.tolist()
    [[0.75, 0.1875], [0.25, 0.1875]]
    """
    _run("chances", block, np.ascontiguousarray(posterior), table, posterior.shape[1])


def peer_table(x: FloatArray, other: FloatArray, frequency: FloatArray) -> FloatArray:
    """Return the table for the kernels of intervals; a row has the skill, another number, and the label frequencies.

    >>> peer_table(np.array([0.5]), np.array([0.25]), np.array([[0.75, 0.25]])).tolist()
    [[0.5, 0.25, 0.75, 0.25]]
    """
    return np.ascontiguousarray(np.column_stack([x, other, frequency]), dtype=np.float64)


def answer_pulls(
    blocks: Iterable[Block], table: FloatArray, weights: FloatArray, even: bool, n_answers: int
) -> FloatArray:
    """Return psi of each answer, omega (z_i·(Y - x_i z_i) b - r_i sum x_j²) over the others j of its task.

    Args:
        blocks: parts of one block of all tasks.
        table: as `peer_table` returns it; r is the other number.
        weights: a and b; only b is used here.
        even: whether every task has weight one; otherwise 1/(R - 1).
        n_answers: number of answers in all blocks.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table = peer_table(np.array([0.5, 1.0]), np.zeros(2), np.full((2, 2), 0.5))
    >>> answer_pulls([block], table, np.array([0.0, 2.0]), True, 2).tolist()
    [1.0, 0.5]
    """
    psi = np.zeros(n_answers)
    for block in blocks:
        _run("pulls", block, table, weights, psi, block.n_classes, int(even))
    return psi


def signed_sums(block: Block, psi: FloatArray, signs: NDArray[np.int8], sums: FloatArray) -> None:
    """Add psi of each answer, times the sign of its task in each draw, to its worker's row of `sums` (workers, draws).

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> sums = np.zeros((2, 1))
    >>> signed_sums(block, np.array([3.0, 4.0]), np.array([[-1]], np.int8), sums)
    >>> sums.tolist()
    [[-3.0], [-4.0]]
    """
    _run("signed_sums", block, psi, signs, sums, signs.shape[1])


def peer_products(
    blocks: Iterable[Block], table: FloatArray, weights: FloatArray, even: bool, v: FloatArray
) -> FloatArray:
    """Return the sum of (a x_i x_j + b z_i·z_j) v_j over the peers j of each worker i, for each column of v.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table = peer_table(np.array([0.5, 1.0]), np.zeros(2), np.full((2, 2), 0.5))
    >>> peer_products([block], table, np.array([1.0, 2.0]), True, np.array([[1.0], [10.0]])).tolist()
    [[15.0], [1.5]]
    """
    v = np.ascontiguousarray(v)
    out = np.zeros_like(v)
    for block in blocks:
        _run("peers", block, table, weights, v, out, block.n_classes, v.shape[1], int(even))
    return out


def peer_matrix(blocks: Iterable[Block], table: FloatArray, weights: FloatArray, even: bool) -> FloatArray:
    """Return the matrix of `peer_products`, workers × workers; its diagonal is zero.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table = peer_table(np.array([0.5, 1.0]), np.zeros(2), np.full((2, 2), 0.5))
    >>> peer_matrix([block], table, np.array([1.0, 2.0]), True).tolist()
    [[0.0, 1.5], [1.5, 0.0]]
    """
    matrix = np.zeros((len(table), len(table)))
    for block in blocks:
        _run("peer_pairs", block, table, weights, matrix, block.n_classes, int(even), len(table))
    if native is not None and len(matrix):  # the pass in C sums the upper triangle
        native.mirror_upper(matrix, *matrix.shape)
    return matrix


def response_counts(blocks: Iterable[Block], n_workers: int, n_classes: int) -> Sums:
    """Count the answers of each worker by class, and the tasks in which each class leads, ties split evenly.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> [sums.tolist() for sums in response_counts([block], 2, 2)]
    [[[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]]
    """
    label_counts = np.zeros((n_workers, n_classes))
    leading = np.zeros(n_classes)
    for block in blocks:
        _run("responses", block, label_counts, leading, n_classes)
    return label_counts, leading


def add_pooled_counts(block: Block, q: FloatArray, counts: FloatArray) -> None:
    """Add the expected counts of the answers of all workers under a posterior; counts are answers × classes, in place.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> counts = np.zeros((2, 2))
    >>> add_pooled_counts(block, np.array([[0.75, 0.25]]), counts)
    >>> counts.tolist()
    [[1.5, 0.5], [0.0, 0.0]]
    """
    of_one_worker = replace(block, worker=np.zeros_like(block.worker), n_workers=1)
    _run("expected", of_one_worker, counts, np.ascontiguousarray(q), block.n_classes)


def expected_counts(blocks: Iterable[Block], q: FloatArray) -> Sums:
    """Return the expected counts of answers under a posterior (tasks, classes), in the form that `e_step` returns.

    >>> block = Block(np.array([0, 2]), np.array([0, 0]), np.array([0, 0]), n_workers=1, n_classes=2)
    >>> expected_counts([block], np.array([[0.75, 0.25]]))[0].tolist()
    [[[1.5, 0.5], [0.0, 0.0]]]
    """
    m = q.shape[1]
    rest = iter(blocks)
    first = next(rest)  # at least one block, possibly empty
    shape = (first.n_workers, m, m)
    numbers = observed_rows(chain([first], rest), shape)
    if isinstance(numbers, RowNumbers):
        blocks = numbers.blocks
        rows = np.zeros((len(numbers.observed), m))
    else:
        blocks = numbers
        rows = np.zeros((shape[0] * m, m))
    for block in blocks:
        _run("expected", block, rows, np.ascontiguousarray(q[block.tasks]), m)
    return (_worker_rows(numbers, rows, shape),)


def task_scores(block: Block, log_theta: WorkerRows, log_prior: FloatArray) -> FloatArray:
    """Return log P(answers, class) of each task of a block, from log matrices (workers, answers, classes).

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> task_scores(block, np.array([[[3.0, 1.0], [1.0, 1.0]]]), np.zeros(2)).tolist()
    [[3.0, 1.0]]
    """
    m = log_theta.shape[2]
    out = np.empty((block.n_tasks, m))
    if not isinstance(log_theta, np.ndarray):
        numbers = observed_rows([block], log_theta.shape, always=isinstance(log_theta, ObservedRows))
        if isinstance(numbers, RowNumbers):
            block = numbers.blocks[0]
            log_theta = rows_at(log_theta, numbers.observed)
        else:
            log_theta = dense(log_theta)
    _run("scores", block, np.ascontiguousarray(log_theta).reshape(-1, m), log_prior, out, m)
    return out


def vote_sums(block: Block, weights: FloatArray) -> FloatArray:
    """Return the total weight of the workers who gave each class, (tasks, classes).

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> vote_sums(block, np.array([2.0, 3.0])).tolist()
    [[2.0, 3.0]]
    """
    out = np.empty((block.n_tasks, block.n_classes))
    _run("tally", block, np.ascontiguousarray(weights, dtype=np.float64), out, block.n_classes)
    return out


def coincidences(blocks: Iterable[Block], n_classes: int) -> Sums:
    """Count pairs of answers to one task, for Krippendorff's alpha.

    Returns the numbers of pairs that agree and that disagree; the sum over tasks of twice the disagreeing pairs divided
    by R - 1; and the number of answers of each class on tasks with at least two answers.

    >>> block = Block(np.array([0, 3]), np.array([0, 1, 2]), np.array([0, 0, 1]), n_workers=3, n_classes=2)
    >>> [sums.tolist() for sums in coincidences([block], 2)]
    [[1.0, 2.0], [2.0], [2.0, 1.0]]
    """
    out = np.zeros(3 + n_classes)
    for block in blocks:
        _run("coincidences", block, out, n_classes)
    return out[:2], out[2:3], out[3:]


def add_residuals(block: Block, rows: FloatArray, weight: FloatArray, products: FloatArray, scales: FloatArray) -> None:
    """Add, for each task, its weight times the sum of products of residuals over the ordered pairs of its answers.

    Args:
        block: block of tasks.
        rows: (answers, classes), for each answer the probabilities of all classes; the residual of an answer is the
            unit vector of its class minus its row.
        weight: weight of each task.
        products: [tasks], to which the sums of r_i·r_j are added.
        scales: [tasks], to which the sums of the products of their standard deviations are added.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> products, scales = np.zeros(1), np.zeros(1)
    >>> add_residuals(block, np.full((2, 2), 0.5), np.ones(1), products, scales)
    >>> products.tolist(), scales.round(9).tolist()
    ([1.0], [1.0])
    """
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    _run("residuals", block, rows, weight, products, scales, rows.shape[1])


def tetrad_sums(block: Block, frequency: FloatArray, u: FloatArray) -> FloatArray:
    """Return the sums of z_i·z_j, u_i z_i·z_j and u_i u_j z_i·z_j over the ordered pairs of each task, over R - 1.

    Args:
        block: block of tasks.
        frequency: response bias f, workers × classes; z is the unit vector of an answer's class minus f.
        u: a number of each answer of the block.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> tetrad_sums(block, np.full((2, 2), 0.5), np.array([1.0, 3.0])).tolist()
    [[1.0, 2.0, 3.0]]
    """
    out = np.empty((block.n_tasks, 3))
    frequency = np.ascontiguousarray(frequency, dtype=np.float64)
    u = np.ascontiguousarray(u, dtype=np.float64)
    _run("tetrads", block, frequency, u, out, frequency.shape[1])
    return out


def component_roots(blocks: Iterable[Block], n_workers: int, is_kept: BoolArray | None = None) -> IntArray:
    """Return the root of each worker i and of its copy i + n in the double cover of the interaction graph.

    Args:
        blocks: blocks of tasks.
        n_workers: W.
        is_kept: workers whose answers count; all by default.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> component_roots([block], 2).tolist()
    [0, 1, 1, 0]
    """
    parent = np.arange(2 * n_workers, dtype=np.int32)
    for block in blocks:
        _run("joined", block, parent, is_kept, n_workers)
    return parent


def peer_bits(blocks: Iterable[Block], low: int, high: int, n_workers: int) -> NDArray[np.uint64]:
    """Return the peers of workers low to high - 1, each including itself, as a bit per worker; rows of 64-bit words.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> peer_bits([block], 0, 2, 2).tolist()
    [[3], [3]]
    """
    words = -(-n_workers // 64)
    bits = np.zeros((high - low, words), np.uint64)
    for block in blocks:
        _run("mark_peers", block, bits, low, high, words)
    return bits


def peer_counts(block: Block) -> IntArray:
    """Count the peers of each worker, itself included, task by task; needs the kernels in C.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=3, n_classes=2)
    >>> peer_counts(block).tolist() if native is not None else [2, 2, 0]
    [2, 2, 0]
    """
    assert native is not None
    task = np.repeat(np.arange(block.n_tasks, dtype=np.int32), block.per_task)
    task = task[np.argsort(block.worker, kind="stable")]
    first = np.concatenate([[0], np.cumsum(np.bincount(block.worker, minlength=block.n_workers))])
    stamp = np.zeros(block.n_workers, np.int32)
    out = np.zeros(block.n_workers, np.int64)
    native.count_peers(block.start, block.worker, block.label, task, first, stamp, out, block.n_workers)
    return out


def _set_columns(table: FloatArray, *columns: FloatArray | None) -> None:
    """Set the first four columns of a table; zero for None and for columns that are left out."""
    columns += (None,) * (4 - len(columns))
    if native is None:
        for k, column in enumerate(columns):
            table[:, k] = 0.0 if column is None else column
    else:
        arrays = [None if column is None else np.ascontiguousarray(column, np.float64) for column in columns]
        native.set_columns(table, *arrays, *table.shape)


def _columns(table: FloatArray, first: int, n: int) -> FloatArray:
    """Return copies of some columns of a table, as the rows of an array."""
    if native is None:
        return np.ascontiguousarray(table[:, first : first + n].T)
    out = np.empty((n, len(table)))
    native.get_columns(table, out, *table.shape, first, n)
    return out


def pair_counts(block: Block, low: int, high: int) -> NDArray[np.uint64]:
    """Count the tasks that workers low to high - 1 share with workers of higher codes; needs the kernels in C.

    Returns one number per pair, (high - low, workers): the shared tasks, plus 2^32 times those with equal answers.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> pair_counts(block, 0, 1).tolist() if native is not None else [[0, 1 + 2**32]]
    [[0, 4294967297]]
    """
    assert native is not None
    counts = np.zeros((high - low, block.n_workers), np.uint64)
    native.pair_counts(block.start, block.worker, block.label, counts, low, high, block.n_workers)
    return counts


def _aligned(rows: int, columns: int) -> FloatArray:
    """Return a table of zeros that begins at a cache line, so that rows of 4 or 8 numbers lie within one line."""
    room = np.zeros(rows * columns + LINE_NUMBERS)
    skip = (-room.ctypes.data // LINE_NUMBERS) % LINE_NUMBERS
    table: FloatArray = room[skip : skip + rows * columns].reshape(rows, columns)
    return table
