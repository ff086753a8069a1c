"""The kernels in numpy: the same sums as those of `native.c`, one pass over a block each.

They are used where the extension was not built, and as the reference in tests of the kernels in C. Each adds to arrays
that the caller passes, as its counterpart in C does.
"""

from functools import reduce

import numpy as np

from quorate.arrays import FloatArray, IntArray, sums_of
from quorate.blocks.block import Block

FEW_COLUMNS = 8  # of a table, up to which it is gone through column by column


def centred(block: Block, table: FloatArray, stride: int, n_classes: int) -> None:
    """Add omega z_i·(Y - x_i z_i) to signed and omega sum x² over the peers to squares, with Y = sum_j x_j z_j.

    The stride is that of the table, for the twin in C.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table = np.array([[1.0, 0.5, 0, 0, 1.0, 0.5, 0.5]] * 2)  # x, |f|², signed, squares, x², f
    >>> centred(block, table, 7, 2)
    >>> table[:, 2:4].tolist()
    [[0.5, 1.0], [0.5, 1.0]]
    """
    task, worker, label = answers_of(block)
    x = table[worker, 0]
    omega = _omega(block)[task]
    second = table[worker, 4]
    agreed = -x * (1 - 2 * table[worker, 5 + label] + table[worker, 1])  # less its own part, |z|² = 1 - 2 f_l + |f|²
    for c in range(n_classes):
        z = (label == c) - table[worker, 5 + c]
        agreed += z * _by_task(block, x * z)[task]
    table[:, 2] += np.bincount(worker, omega * agreed, len(table))
    table[:, 3] += np.bincount(worker, omega * (_by_task(block, second)[task] - second), len(table))


def agreement(block: Block, table: FloatArray, n_classes: int) -> None:
    """Add sum_j a_ijt x_j to signed and sum_j x_j² to squares, over a task's other workers.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table = np.array([[0.5, 0.0, 0.0, 0.0], [0.25, 0.0, 0.0, 0.0]])  # x, signed, squares, room
    >>> agreement(block, table, 2)
    >>> table[:, 1:3].tolist()
    [[0.25, 0.0625], [0.5, 0.25]]
    """
    m = n_classes
    task, worker, label = answers_of(block)
    x = table[worker, 0]
    alike = np.bincount(task * m + label, x, block.n_tasks * m)[task * m + label]
    agreed = (m * alike - _by_task(block, x)[task]) / (m - 1) - x
    table[:, 1] += np.bincount(worker, agreed, len(table))
    table[:, 2] += np.bincount(worker, _by_task(block, x * x)[task] - x * x, len(table))


def powers(block: Block, table: FloatArray, even: int) -> None:
    """Add the sums that intervals need, with q_r = sum of x_j^r over the other workers of a task and omega its weight.

    They are omega q_2, omega² q_2, omega² q_3, omega² q_4, omega² q_2², and omega times the others' second column.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> table = np.array([[0.5, 0, 0, 0, 0, 0, 0, 0], [0.25, 1, 0, 0, 0, 0, 0, 0]])
    >>> powers(block, table, 1)
    >>> table[0, 2:].tolist()
    [0.0625, 0.0625, 0.015625, 0.00390625, 0.00390625, 1.0]
    """
    task, worker, _ = answers_of(block)
    omega = (np.where(block.per_task > 1, 1.0, 0.0) if even else _omega(block))[task]
    x, known = table[worker, 0], table[worker, 1]
    q2, q3, q4, others = (_by_task(block, each)[task] - each for each in (x**2, x**3, x**4, known))
    both = omega * omega
    sums = (omega * q2, both * q2, both * q3, both * q4, both * q2 * q2, omega * others)
    for k, each in enumerate(sums):
        table[:, 2 + k] += np.bincount(worker, each, len(table))


def em(
    block: Block, table: FloatArray, shift: FloatArray, known: IntArray | None, total: FloatArray, n_classes: int
) -> None:
    """Add q = softmax(shift + sum of log theta) of each task to the counts of its answers, and to the total.

    Where a task's class is known, q is that. A row of the table, of worker and answer: log theta, then the counts. The
    last entry of the total is the log-likelihood of the answers and the known classes.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> table, total = np.array([[np.log(3.0), 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]), np.zeros(3)
    >>> em(block, table, np.zeros(2), None, total, 2)
    >>> table[0, 2:].round(9).tolist(), total.round(9).tolist()
    ([0.75, 0.25], [0.75, 0.25, 1.386294361])
    """
    q = np.empty((block.n_tasks, n_classes))
    scores(block, np.ascontiguousarray(table[:, :n_classes]), shift, q, n_classes)
    best = by_row(np.maximum, q)
    value = best + np.log(by_row(np.add, np.exp(q - best[:, None])))
    joint = q
    q = softmax(q)
    if known is not None:
        at = np.flatnonzero(known >= 0)
        value[at] = joint[at, known[at]]
        q[at] = 0.0
        q[at, known[at]] = 1.0
    total[:n_classes] += q.sum(axis=0)
    total[n_classes] += value.sum()
    counts = np.zeros((len(table), n_classes))
    expected(block, counts, q, n_classes)
    table[:, n_classes:] += counts


def scores(block: Block, rows: FloatArray, shift: FloatArray, out: FloatArray, n_classes: int) -> None:
    """Write, for each task, shift plus the sum of the rows of its answers; a row is of worker and answer.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> out = np.empty((1, 2))
    >>> scores(block, np.arange(8.0).reshape(4, 2), np.zeros(2), out, 2)
    >>> out.tolist()
    [[6.0, 8.0]]
    """
    _, worker, label = answers_of(block)
    out[:] = _by_task(block, rows[worker * n_classes + label]) + shift


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


def responses(block: Block, given: FloatArray, leading: FloatArray, n_classes: int) -> None:
    """Count each worker's answers by class, and the classes that lead the tasks, ties split evenly.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> given, leading = np.zeros((2, 2)), np.zeros(2)
    >>> responses(block, given, leading, 2)
    >>> given.tolist(), leading.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
    """
    _, worker, label = answers_of(block)
    given += np.bincount(worker * n_classes + label, minlength=given.size).reshape(given.shape)
    votes = np.empty((block.n_tasks, n_classes))
    tally(block, np.ones(block.n_workers), votes, n_classes)
    votes = votes[block.per_task > 0]  # a task that nobody answered tells nothing
    leads = votes == votes.max(axis=1, keepdims=True, initial=0.0)
    leading += (leads / leads.sum(axis=1, keepdims=True)).sum(axis=0)


def softmax(scores: FloatArray) -> FloatArray:
    """Turn log-probabilities up to a constant a row into probabilities.

    >>> softmax(np.log([[1.0, 3.0]])).round(9).tolist()
    [[0.25, 0.75]]
    """
    likelihood: FloatArray = scores - by_row(np.maximum, scores)[:, None]
    np.exp(likelihood, out=likelihood)
    likelihood /= by_row(np.add, likelihood)[:, None]
    return likelihood


def by_row(combine: np.ufunc, table: FloatArray) -> FloatArray:
    """Combine the columns of a table; a few of them one by one, which takes numpy half as long as row by row.

    >>> by_row(np.add, np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [3.0, 7.0]
    """
    if not 0 < table.shape[1] <= FEW_COLUMNS:
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
    inside = block.answers
    task = np.repeat(np.arange(block.n_tasks), block.per_task)
    return task, block.worker[inside].astype(np.intp), block.label[inside].astype(np.intp)


def _by_task(block: Block, values: FloatArray) -> FloatArray:
    """Sum a value, or a row of values, of each answer over each task."""
    return sums_of(values, block.start - block.start[0])


def _omega(block: Block) -> FloatArray:
    """Return 1/(R - 1), with which each answer counts once; nothing where there is nobody to meet."""
    per_task = block.per_task
    omega: FloatArray = np.where(per_task > 1, 1 / np.maximum(per_task - 1.0, 1.0), 0.0)
    return omega


GAPS = 64  # answers of a task up to which its pairs are formed; of larger ones, a mask of all workers


def joined(block: Block, parent: IntArray, n_workers: int) -> None:
    """Join each worker of a task to the next one's other copy (its number plus n); of three, one to its own.

    A component's workers then have one root between their copies where it has an odd cycle, and two where it has none.

    >>> parent = np.arange(4, dtype=np.int32)
    >>> joined(Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2), parent, 2)
    >>> parent.tolist()
    [0, 1, 1, 0]
    """
    task, worker, _ = answers_of(block)
    same = np.flatnonzero(task[1:] == task[:-1])
    i, j = worker[same], worker[same + 1]
    many = worker[block.start[:-1][block.per_task > 2] - block.start[0]]
    unite(parent, np.concatenate([i, i + n_workers, many]), np.concatenate([j + n_workers, j, many + n_workers]))


def unite(parent: IntArray, i: IntArray, j: IntArray) -> None:
    """Join the trees that the links connect; each node points at the first of its tree afterwards.

    >>> parent = np.arange(4)
    >>> unite(parent, np.array([0, 2]), np.array([2, 3]))
    >>> parent.tolist()
    [0, 1, 0, 0]
    """
    while True:
        resolve_roots(parent)
        a, b = parent[i], parent[j]
        apart = a != b
        if not apart.any():
            return
        i, j, a, b = i[apart], j[apart], a[apart], b[apart]
        np.minimum.at(parent, np.maximum(a, b), np.minimum(a, b))


def resolve_roots(parent: IntArray) -> None:
    """Let every node point at its root.

    >>> parent = np.array([0, 0, 1])
    >>> resolve_roots(parent)
    >>> parent.tolist()
    [0, 0, 0]
    """
    while True:
        further = parent[parent]
        if np.array_equal(further, parent):
            return
        parent[:] = further


def met(block: Block, bits: IntArray, low: int, high: int, words: int) -> None:
    """Mark in the row of each worker from low to high everyone on its tasks, a bit each.

    >>> bits = np.zeros((2, 1), np.uint64)
    >>> met(Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2), bits, 0, 2, 1)
    >>> bits.tolist()
    [[3], [3]]
    """
    task, worker, _ = answers_of(block)
    large = block.per_task > GAPS
    for t in np.flatnonzero(large):
        worker_pool = block.worker[block.start[t] : block.start[t + 1]].astype(np.int64)
        mask = np.zeros(words, np.uint64)
        np.bitwise_or.at(mask, worker_pool >> 6, np.uint64(1) << (worker_pool & 63).astype(np.uint64))
        bits[worker_pool[(worker_pool >= low) & (worker_pool < high)] - low] |= mask
    for gap in range(min(int(block.per_task[~large].max(initial=0)), GAPS)):  # a worker meets itself, at gap zero
        near = np.flatnonzero((task[gap:] == task[: len(task) - gap]) & ~large[task[gap:]])
        for i, j in ((worker[near], worker[near + gap]), (worker[near + gap], worker[near])):
            inside = (i >= low) & (i < high)
            bit = np.uint64(1) << (j[inside] & 63).astype(np.uint64)
            np.bitwise_or.at(bits, (i[inside] - low, j[inside] >> 6), bit)
