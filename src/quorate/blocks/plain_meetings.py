"""The kernels of who met whom in numpy: components, and peers."""

import numpy as np

from quorate.arrays import IntArray
from quorate.blocks.block import Block
from quorate.blocks.plain import answers_of

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
        settle_roots(parent)
        a, b = parent[i], parent[j]
        apart = a != b
        if not apart.any():
            return
        i, j, a, b = i[apart], j[apart], a[apart], b[apart]
        np.minimum.at(parent, np.maximum(a, b), np.minimum(a, b))


def settle_roots(parent: IntArray) -> None:
    """Let every node point at its root.

    >>> parent = np.array([0, 0, 1])
    >>> settle_roots(parent)
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
        crew = block.worker[block.start[t] : block.start[t + 1]].astype(np.int64)
        mask = np.zeros(words, np.uint64)
        np.bitwise_or.at(mask, crew >> 6, np.uint64(1) << (crew & 63).astype(np.uint64))
        bits[crew[(crew >= low) & (crew < high)] - low] |= mask
    for gap in range(min(int(block.per_task[~large].max(initial=0)), GAPS)):  # a worker meets itself, at gap zero
        near = np.flatnonzero((task[gap:] == task[: len(task) - gap]) & ~large[task[gap:]])
        for i, j in ((worker[near], worker[near + gap]), (worker[near + gap], worker[near])):
            inside = (i >= low) & (i < high)
            bit = np.uint64(1) << (j[inside] & 63).astype(np.uint64)
            np.bitwise_or.at(bits, (i[inside] - low, j[inside] >> 6), bit)
