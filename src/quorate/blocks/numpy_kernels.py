"""The kernels in numpy: the same sums as those of `native.c`, one pass over a block each.

They are used where the extension was not built, and as the reference in tests of the kernels in C. Each adds to arrays
that the caller passes, as its counterpart in C does.
"""

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, sums_of
from quorate.blocks.block import Block

if TYPE_CHECKING:
    from scipy import sparse

MAX_PAIRS_PER_ANSWER = 5  # pairs of answers are formed up to this mean; above it, sums by class are used
CHUNK_ENTRIES = 1 << 21  # pairs × classes multiplied at a time: 16 MB
MAX_CELLS_PER_ANSWER = 50  # tasks × classes per answer; above it, sorting the answers costs less than a full table
MAX_COLUMNS_ONE_BY_ONE = 8  # a table of at most so many columns is reduced column by column


def centred(block: Block, table: FloatArray, stride: int, n_classes: int) -> None:
    """Add omega z_i·(Y - x_i z_i) to signed and omega sum x² over the peers to squares, with Y = sum_j x_j z_j.

    `stride` is the number of columns of the table; only the kernel in C uses it.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table = np.array([[1.0, 0, 0, 1.0, 0.5, 0.5]] * 2)  # x, signed, squares, x², f
    >>> centred(block, table, 6, 2)
    >>> table[:, 1:3].tolist()
    [[0.5, 1.0], [0.5, 1.0]]
    """
    task, worker, label = answers_of(block)
    x = table[worker, 0]
    omega = _omega(block)[task]
    second = table[worker, 3]
    agreed = np.zeros(len(task))
    for c in range(n_classes):
        z = (label == c) - table[worker, 4 + c]
        agreed += z * (_by_task(block, x * z)[task] - x * z)
    table[:, 1] += np.bincount(worker, omega * agreed, len(table))
    table[:, 2] += np.bincount(worker, omega * (_by_task(block, second)[task] - second), len(table))


def agreement(block: Block, table: FloatArray, n_classes: int) -> None:
    """Add sum_j a_ijt x_j to signed and sum_j x_j² to squares, over a task's other workers.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table = np.array([[0.5, 0.0, 0.0, 0.0], [0.25, 0.0, 0.0, 0.0]])  # x, signed, squares, padding
    >>> agreement(block, table, 2)
    >>> table[:, 1:3].tolist()
    [[0.25, 0.0625], [0.5, 0.25]]
    """
    m = n_classes
    task, worker, label = answers_of(block)
    x = table[worker, 0]
    same_class = np.bincount(task * m + label, x, block.n_tasks * m)[task * m + label]
    agreed = (m * same_class - _by_task(block, x)[task]) / (m - 1) - x
    table[:, 1] += np.bincount(worker, agreed, len(table))
    table[:, 2] += np.bincount(worker, _by_task(block, x * x)[task] - x * x, len(table))


def powers(block: Block, table: FloatArray, even: int) -> None:
    """Add six sums, with q_r = sum of x_j^r over the other workers j of a task and omega the weight of the task.

    They are omega q_2, omega² q_2, omega² q_3, omega² q_4, omega² q_2², and omega times the sum of the
    second column over the other workers.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table = np.array([[0.5, 0, 0, 0, 0, 0, 0, 0], [0.25, 1, 0, 0, 0, 0, 0, 0]])
    >>> powers(block, table, 1)
    >>> table[0, 2:].tolist()
    [0.0625, 0.0625, 0.015625, 0.00390625, 0.00390625, 1.0]
    """
    task, worker, _ = answers_of(block)
    omega = (np.where(block.per_task > 1, 1.0, 0.0) if even else _omega(block))[task]
    x = table[worker, 0]
    second_column = table[worker, 1]
    q2, q3, q4, peer_sum = (_by_task(block, values)[task] - values for values in (x**2, x**3, x**4, second_column))
    omega2 = omega * omega
    sums = (omega * q2, omega2 * q2, omega2 * q3, omega2 * q4, omega2 * q2 * q2, omega * peer_sum)
    for k, values in enumerate(sums):
        table[:, 2 + k] += np.bincount(worker, values, len(table))


def em(
    block: Block,
    theta_and_counts: FloatArray,
    log_prior: FloatArray,
    known: IntArray | None,
    class_counts: FloatArray,
    n_classes: int,
) -> None:
    """Add q = softmax(log_prior + sum of log theta) of each task to the counts of its answers, and to the class counts.

    Where the class of a task is known, q is one for it. A row of `theta_and_counts` belongs to a worker and an answer
    class: log theta, then the counts. The last entry of `class_counts` is the log-likelihood of the answers and the
    known classes.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> theta_and_counts, class_counts = np.array([[np.log(3.0), 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]), np.zeros(3)
    >>> em(block, theta_and_counts, np.zeros(2), None, class_counts, 2)
    >>> theta_and_counts[0, 2:].round(9).tolist(), class_counts.round(9).tolist()
    ([0.75, 0.25], [0.75, 0.25, 1.386294361])
    """
    q = np.empty((block.n_tasks, n_classes))
    scores(block, np.ascontiguousarray(theta_and_counts[:, :n_classes]), log_prior, q, n_classes)
    value = _clamped_softmax(q, known)
    class_counts[:n_classes] += q.sum(axis=0)
    class_counts[n_classes] += value.sum()
    counts = np.zeros((len(theta_and_counts), n_classes))
    expected(block, counts, q, n_classes)
    theta_and_counts[:, n_classes:] += counts


def one_coin(
    block: Block, table: FloatArray, log_prior: FloatArray, known: IntArray | None, total: FloatArray, n_classes: int
) -> None:
    """Add the posterior of each answer's class to the right answers of its worker, and that of each task to the total.

    An answer adds `gain` to the score of its class, and `wrong` to that of every class. A row of the table belongs to a
    worker: gain, wrong, expected right answers, padding. `total` is as `class_counts` of `em`.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> table, total = np.array([[np.log(3.0), 0.0, 0.0, 0.0]]), np.zeros(3)
    >>> one_coin(block, table, np.zeros(2), None, total, 2)
    >>> table[0, 2].round(9), total.round(9).tolist()
    (np.float64(0.75), [0.75, 0.25, 1.386294361])
    """
    task, worker, label = answers_of(block)
    q = np.empty((block.n_tasks, n_classes))
    tally(block, np.ascontiguousarray(table[:, 0]), q, n_classes)
    q += log_prior
    wrong = _by_task(block, table[worker, 1])
    value = _clamped_softmax(q, known) + wrong
    total[:n_classes] += q.sum(axis=0)
    total[n_classes] += value.sum()
    table[:, 2] += np.bincount(worker, q[task, label], len(table))


def equal(block: Block, chosen: IntArray, out: FloatArray) -> None:
    """Count each worker's answers that equal the label of their task.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> out = np.zeros(2)
    >>> equal(block, np.array([1]), out)
    >>> out.tolist()
    [0.0, 1.0]
    """
    task, worker, label = answers_of(block)
    out += np.bincount(worker, label == chosen[task], len(out))


def chances(block: Block, posterior: FloatArray, table: FloatArray, n_classes: int) -> None:
    """Add the sums of the probabilities p of each worker's answers, and of p (1 - p), to the table.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> table = np.zeros((2, 2))
    >>> chances(block, np.array([[0.75, 0.25]]), table, 2)
    >>> table.tolist()
    [[0.75, 0.1875], [0.25, 0.1875]]
    """
    task, worker, label = answers_of(block)
    p = posterior[task, label]
    table[:, 0] += np.bincount(worker, p, len(table))
    table[:, 1] += np.bincount(worker, p * (1 - p), len(table))


def _clamped_softmax(q: FloatArray, known: IntArray | None) -> FloatArray:
    """Turn log joint probabilities into probabilities, in place, known classes clamped; return the log-likelihoods."""
    best = by_row(np.maximum, q)
    value = best + np.log(by_row(np.add, np.exp(q - best[:, None])))
    joint = q.copy()
    q[:] = softmax(q)
    if known is not None:
        gold_tasks = np.flatnonzero(known >= 0)
        value[gold_tasks] = joint[gold_tasks, known[gold_tasks]]
        q[gold_tasks] = 0.0
        q[gold_tasks, known[gold_tasks]] = 1.0
    return value


def scores(block: Block, rows: FloatArray, log_prior: FloatArray, out: FloatArray, n_classes: int) -> None:
    """Write, for each task, log_prior plus the sum of the rows of its answers; a row is for a worker and a class.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> out = np.empty((1, 2))
    >>> scores(block, np.arange(8.0).reshape(4, 2), np.zeros(2), out, 2)
    >>> out.tolist()
    [[6.0, 8.0]]
    """
    _, worker, label = answers_of(block)
    out[:] = _by_task(block, rows[worker * n_classes + label]) + log_prior


def pulls(block: Block, table: FloatArray, weights: FloatArray, psi: FloatArray, n_classes: int, even: int) -> None:
    """Write psi of each answer: omega (z_i·(Y - x_i z_i) b - r_i sum x_j²) over the others j, with Y = sum_j x_j z_j.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> psi = np.zeros(2)
    >>> pulls(block, np.array([[0.5, 0.0, 0.5, 0.5], [1.0, 0.0, 0.5, 0.5]]), np.array([0.0, 2.0]), psi, 2, 1)
    >>> psi.tolist()
    [1.0, 0.5]
    """
    task, worker, label = answers_of(block)
    x = table[worker, 0]
    agreed = np.zeros(len(task))
    for c in range(n_classes):
        z = (label == c) - table[worker, 2 + c]
        agreed += z * (_by_task(block, x * z)[task] - x * z)
    squares = _by_task(block, x * x)[task] - x * x
    omega = np.ones(block.n_tasks) if even else _omega(block)
    psi[block.answers] = omega[task] * (weights[1] * agreed - table[worker, 1] * squares)


def signed_sums(block: Block, psi: FloatArray, signs: IntArray, sums: FloatArray, n_draws: int) -> None:
    """Add psi of each answer, times the sign of its task in each draw, to the row of its worker.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> sums = np.zeros((2, 1))
    >>> signed_sums(block, np.array([3.0, 4.0]), np.array([[-1]], np.int8), sums, 1)
    >>> sums.tolist()
    [[-3.0], [-4.0]]
    """
    sums += _by_rows(block, psi[block.answers], len(sums)).T @ signs.astype(np.float64)


def peers(
    block: Block,
    table: FloatArray,
    weights: FloatArray,
    v: FloatArray,
    out: FloatArray,
    n_classes: int,
    n_draws: int,
    even: int,
) -> None:
    """Add the sum of (a x_i x_j + b z_i·z_j) v_j over the peers j of each worker i, for each column of v.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table, out = np.array([[0.5, 0.0, 0.5, 0.5], [1.0, 0.0, 0.5, 0.5]]), np.zeros((2, 1))
    >>> peers(block, table, np.array([1.0, 2.0]), np.array([[1.0], [10.0]]), out, 2, 1, 1)
    >>> out.tolist()
    [[15.0], [1.5]]
    """
    out += _peer_pairs(block, table, weights, n_classes, even) @ v


def peer_pairs(
    block: Block, table: FloatArray, weights: FloatArray, matrix: FloatArray, n_classes: int, even: int, n_workers: int
) -> None:
    """Add a x_i x_j + b z_i·z_j of every two workers of a task to a matrix of workers × workers.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table, matrix = np.array([[0.5, 0.0, 0.5, 0.5], [1.0, 0.0, 0.5, 0.5]]), np.zeros((2, 2))
    >>> peer_pairs(block, table, np.array([1.0, 2.0]), matrix, 2, 1, 2)
    >>> matrix.tolist()
    [[0.0, 1.5], [1.5, 0.0]]
    """
    matrix += _peer_pairs(block, table, weights, n_classes, even) @ np.eye(n_workers)


@dataclass(frozen=True, eq=False)
class _ClassSums:
    """The matrix of `peer_pairs` as rows over the workers of each task: one for x and one for each class."""

    parts: list[tuple["sparse.csr_array", FloatArray]]  # rows and their weights
    diagonal: FloatArray  # the diagonal, which is left out

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by workers × draws."""
        product = -self.diagonal[:, None] * v
        for rows, weights in self.parts:
            product += rows.T @ (weights[:, None] * (rows @ v))
        return product


def _peer_pairs(
    block: Block, table: FloatArray, weights: FloatArray, n_classes: int, even: int
) -> "sparse.csr_array | _ClassSums":
    """Return a x_i x_j + b z_i·z_j of every two workers, from pairs of answers or, for large tasks, sums by class."""
    from scipy import sparse

    task, worker, label = answers_of(block)
    n = len(table)
    omega = np.ones(block.n_tasks) if even else _omega(block)
    n_later = block.start[1:][task] - block.start[0] - np.arange(len(task)) - 1  # later answers to the same task
    if n_later.sum() <= MAX_PAIRS_PER_ANSWER * len(task):
        first = np.repeat(np.arange(len(task)), n_later)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(n_later) - n_later, n_later)
        i = worker[first]
        j = worker[second]
        products = (label[first] == label[second]) - table[i, 2 + label[second]] - table[j, 2 + label[first]]
        size = max(CHUNK_ENTRIES // n_classes, 1)
        for low in range(0, len(first), size):
            span = slice(low, low + size)
            products[span] += np.einsum("pc,pc->p", table[i[span], 2:], table[j[span], 2:])
        values = omega[task[first]] * (weights[0] * table[i, 0] * table[j, 0] + weights[1] * products)
        upper = sparse.coo_array((values, (i, j)), shape=(n, n))
        return (upper + upper.T).tocsr()
    values_of = [(table[worker, 0], weights[0])]
    values_of += [((label == c) - table[worker, 2 + c], weights[1]) for c in range(n_classes)]
    diagonal = np.zeros(n)
    parts = []
    for values, weight in values_of:
        diagonal += np.bincount(worker, weight * omega[task] * values**2, n)
        parts.append((_by_rows(block, values, n), weight * omega))
    return _ClassSums(parts, diagonal)


def _by_rows(block: Block, values: FloatArray, n_workers: int) -> "sparse.csr_array":
    """Return values of the answers as a sparse matrix, tasks × workers."""
    from scipy import sparse

    start = block.start - block.start[0]
    return sparse.csr_array((values, block.worker[block.answers], start), shape=(block.n_tasks, n_workers))


def expected(block: Block, rows: FloatArray, q: FloatArray, n_classes: int) -> None:
    """Add each task's q to the rows of its answers.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> rows = np.zeros((4, 2))
    >>> expected(block, rows, np.array([[0.25, 0.75]]), 2)
    >>> rows.tolist()
    [[0.25, 0.75], [0.0, 0.0], [0.0, 0.0], [0.25, 0.75]]
    """
    task, worker, label = answers_of(block)
    cell = worker * n_classes + label
    for g in range(n_classes):
        rows[:, g] += np.bincount(cell, q[task, g], len(rows))


def tally(block: Block, weight: FloatArray, out: FloatArray, n_classes: int) -> None:
    """Write, for each task and class, the weights of the workers who gave it.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> out = np.empty((1, 2))
    >>> tally(block, np.array([2.0, 3.0]), out, 2)
    >>> out.tolist()
    [[2.0, 3.0]]
    """
    task, worker, label = answers_of(block)
    out[:] = np.bincount(task * n_classes + label, weight[worker], block.n_tasks * n_classes).reshape(-1, n_classes)


def responses(block: Block, label_counts: FloatArray, leading: FloatArray, n_classes: int) -> None:
    """Count the answers of each worker by class, and the tasks in which each class leads, ties split evenly.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> label_counts, leading = np.zeros((2, 2)), np.zeros(2)
    >>> responses(block, label_counts, leading, 2)
    >>> label_counts.tolist(), leading.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
    """
    _, worker, label = answers_of(block)
    label_counts += np.bincount(worker * n_classes + label, minlength=label_counts.size).reshape(label_counts.shape)
    votes = np.empty((block.n_tasks, n_classes))
    tally(block, np.ones(block.n_workers), votes, n_classes)
    votes = votes[block.per_task > 0]  # a task without answers adds nothing
    leads = votes == votes.max(axis=1, keepdims=True, initial=0.0)
    leading += (leads / leads.sum(axis=1, keepdims=True)).sum(axis=0)


def coincidences(block: Block, out: FloatArray, n_classes: int) -> None:
    """Count pairs of answers to a task that agree, and that disagree, and the answers by class of tasks with several.

    `out` has the agreeing pairs, the disagreeing ones, the sum over tasks of twice the disagreeing ones divided by
    R - 1, and the answers of each class.

    >>> out = np.zeros(5)
    >>> coincidences(Block(np.array([0, 3]), np.array([0, 1, 2]), np.array([0, 0, 1]), 3, 2), out, 2)
    >>> out.tolist()
    [1.0, 2.0, 2.0, 2.0, 1.0]
    """
    task, _, label = answers_of(block)
    n = block.per_task.astype(np.float64)
    if block.n_tasks * n_classes <= MAX_CELLS_PER_ANSWER * len(task):
        votes = np.empty((block.n_tasks, n_classes))
        tally(block, np.ones(block.n_workers), votes, n_classes)
        agreed: FloatArray = by_row(np.add, votes * (votes - 1))
    else:
        cell, count = np.unique(task * n_classes + label, return_counts=True)
        agreed = np.bincount(cell // n_classes, count * (count - 1.0), block.n_tasks).astype(np.float64, copy=False)
    disagreed = n * (n - 1) - agreed
    out[0] += agreed.sum() / 2
    out[1] += disagreed.sum() / 2
    out[2] += (disagreed / np.maximum(n - 1, 1)).sum()
    out[3:] += np.bincount(label[n[task] > 1], minlength=n_classes)


def residuals(
    block: Block, rows: FloatArray, weight: FloatArray, products: FloatArray, scales: FloatArray, n_classes: int
) -> None:
    """Add, with the weight of each task, sums over its pairs of answers: of r_i·r_j, and of d_i d_j.

    The residual r of an answer is the unit vector of its class minus its row p; d is sqrt(1 - |p|²).

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> products, scales = np.zeros(1), np.zeros(1)
    >>> residuals(block, np.full((2, 2), 0.5), np.ones(1), products, scales, 2)
    >>> products.tolist(), scales.round(9).tolist()
    ([1.0], [1.0])
    """
    label = block.label[block.answers]
    deviation = np.sqrt(np.maximum(1 - np.einsum("al,al->a", rows, rows), 0.0))
    residual = -rows
    residual[np.arange(len(label)), label] += 1
    total = _by_task(block, residual)
    size = _by_task(block, np.einsum("al,al->a", residual, residual))
    products += weight * (np.einsum("tl,tl->t", total, total) - size)
    scales += weight * (_by_task(block, deviation) ** 2 - _by_task(block, deviation**2))


def tetrads(block: Block, frequency: FloatArray, u: FloatArray, out: FloatArray, n_classes: int) -> None:
    """Write z_i·z_j, u_i z_i·z_j and u_i u_j z_i·z_j of each task, summed over ordered pairs of answers, over R - 1.

    z is the unit vector of an answer's class minus the response bias of its worker; u is a number of each answer.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> out = np.zeros((1, 3))
    >>> tetrads(block, np.full((2, 2), 0.5), np.array([1.0, 3.0]), out, 2)
    >>> out.tolist()
    [[1.0, 2.0, 3.0]]
    """
    _, worker, label = answers_of(block)
    z = -frequency[worker]
    z[np.arange(len(z)), label] += 1
    size = np.einsum("al,al->a", z, z)
    total = _by_task(block, z)
    weighted = _by_task(block, u[:, None] * z)
    same_answer = _by_task(block, np.stack([size, u * size, u * u * size], axis=1))
    products = [
        np.einsum("tl,tl->t", total, total),
        np.einsum("tl,tl->t", total, weighted),
        np.einsum("tl,tl->t", weighted, weighted),
    ]
    out[:] = (np.stack(products, axis=1) - same_answer) / np.maximum(block.per_task - 1.0, 1.0)[:, None]


def softmax(scores: FloatArray) -> FloatArray:
    """Turn log-probabilities, up to a constant per row, into probabilities.

    >>> softmax(np.log([[1.0, 3.0]])).round(9).tolist()
    [[0.25, 0.75]]
    """
    likelihood: FloatArray = scores - by_row(np.maximum, scores)[:, None]
    np.exp(likelihood, out=likelihood)
    likelihood /= by_row(np.add, likelihood)[:, None]
    return likelihood


def by_row(combine: np.ufunc, table: FloatArray) -> FloatArray:
    """Combine the columns of a table by a ufunc; few columns one by one, which takes half the time.

    >>> by_row(np.add, np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [3.0, 7.0]
    """
    if not 0 < table.shape[1] <= MAX_COLUMNS_ONE_BY_ONE:
        combined: FloatArray = combine.reduce(table, axis=1)
        return combined
    one_by_one: FloatArray = reduce(combine, table.T)
    return one_by_one


def answers_of(block: Block) -> tuple[IntArray, IntArray, IntArray]:
    """Return the task (within the block), the worker and the class of each answer, as indices.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> [codes.tolist() for codes in answers_of(block)]
    [[0, 0], [0, 1], [0, 1]]
    """
    rows = block.answers
    task = np.repeat(np.arange(block.n_tasks), block.per_task)
    return task, block.worker[rows].astype(np.intp), block.label[rows].astype(np.intp)


def _by_task(block: Block, values: FloatArray) -> FloatArray:
    """Sum a value, or a row of values, of each answer over each task."""
    return sums_of(values, block.start - block.start[0])


def _omega(block: Block) -> FloatArray:
    """Return 1/(R - 1), with which each answer counts once; zero for tasks with one worker."""
    per_task = block.per_task
    omega: FloatArray = np.where(per_task > 1, 1 / np.maximum(per_task - 1.0, 1.0), 0.0)
    return omega


MAX_PAIRED_ANSWERS = 64  # pairs of a task are formed up to this size; above it, a mask of its workers is used


def joined(block: Block, parent: IntArray, is_kept: BoolArray | None, n_workers: int) -> None:
    """Join each worker i of a task to the copy j + n of the next worker j, and j to i + n; of three, one to its copy.

    A component and its copy then have one root if the component has an odd cycle, and two otherwise. Workers who are
    not kept are left out.

    >>> parent = np.arange(4, dtype=np.int32)
    >>> joined(Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2), parent, None, 2)
    >>> parent.tolist()
    [0, 1, 1, 0]
    """
    task, worker, _ = answers_of(block)
    if is_kept is not None:
        kept = is_kept[worker]
        task = task[kept]
        worker = worker[kept]
    same = np.flatnonzero(task[1:] == task[:-1])
    i = worker[same]
    j = worker[same + 1]
    begins = np.flatnonzero(np.diff(task, prepend=-1))
    with_third_worker = worker[begins[np.diff(begins, append=len(task)) > 2]]
    unite(
        parent,
        np.concatenate([i, i + n_workers, with_third_worker]),
        np.concatenate([j + n_workers, j, with_third_worker + n_workers]),
    )


def unite(parent: IntArray, i: IntArray, j: IntArray) -> None:
    """Join the trees that the links connect; then each node points to the first node of its tree.

    >>> parent = np.arange(4)
    >>> unite(parent, np.array([0, 2]), np.array([2, 3]))
    >>> parent.tolist()
    [0, 1, 0, 0]
    """
    while True:
        resolve_roots(parent)
        a = parent[i]
        b = parent[j]
        is_separate = a != b
        if not is_separate.any():
            return
        i = i[is_separate]
        j = j[is_separate]
        a = a[is_separate]
        b = b[is_separate]
        np.minimum.at(parent, np.maximum(a, b), np.minimum(a, b))


def resolve_roots(parent: IntArray) -> None:
    """Let every node point to its root.

    >>> parent = np.array([0, 0, 1])
    >>> resolve_roots(parent)
    >>> parent.tolist()
    [0, 0, 0]
    """
    while True:
        grandparent = parent[parent]
        if np.array_equal(grandparent, parent):
            return
        parent[:] = grandparent


def mark_peers(block: Block, bits: IntArray, low: int, high: int, words: int) -> None:
    """Set, in the row of each worker from low to high - 1, the bits of all workers on its tasks.

    >>> bits = np.zeros((2, 1), np.uint64)
    >>> mark_peers(Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2), bits, 0, 2, 1)
    >>> bits.tolist()
    [[3], [3]]
    """
    task, worker, _ = answers_of(block)
    large = block.per_task > MAX_PAIRED_ANSWERS
    for t in np.flatnonzero(large):
        worker_pool = block.worker[block.start[t] : block.start[t + 1]].astype(np.int64)
        mask = np.zeros(words, np.uint64)
        np.bitwise_or.at(mask, worker_pool >> 6, np.uint64(1) << (worker_pool & 63).astype(np.uint64))
        bits[worker_pool[(worker_pool >= low) & (worker_pool < high)] - low] |= mask
    n_gaps = min(int(block.per_task[~large].max(initial=0)), MAX_PAIRED_ANSWERS)
    for gap in range(n_gaps):  # at gap zero, a worker is its own peer
        near = np.flatnonzero((task[gap:] == task[: len(task) - gap]) & ~large[task[gap:]])
        for i, j in ((worker[near], worker[near + gap]), (worker[near + gap], worker[near])):
            is_within = (i >= low) & (i < high)
            bit = np.uint64(1) << (j[is_within] & 63).astype(np.uint64)
            np.bitwise_or.at(bits, (i[is_within] - low, j[is_within] >> 6), bit)
