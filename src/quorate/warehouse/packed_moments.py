"""The two products that every solver needs, from very many pairs in few bytes each, and from big tasks by their sums.

Two sparse matrices of floats take 48 bytes a pair; the counts themselves take 6 where there are less than 65,536
workers. So the counts stay as they are, and are turned to floats block by block in every product.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray, starts_of
from quorate.meetings.pairs import PairStats, correlations
from quorate.skills.moments import Moments, from_answers
from quorate.warehouse.counted_pairs import CountedPairs


@dataclass(frozen=True)
class _Product:
    """A symmetric matrix known by what it does to a vector."""

    multiply: Callable[[FloatArray], FloatArray]

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        return self.multiply(v)


@dataclass(frozen=True)
class _Rows:
    """A block of pairs as the rows of a sparse matrix: where each worker's begin, and with whom they are."""

    n: int
    starts: IntArray
    j: IntArray
    shared: IntArray
    agreed: IntArray

    @staticmethod
    def of(n: int, block: PairStats) -> "_Rows":
        """Sort a block by its first worker, if it is not sorted yet."""
        i, j, shared, agreed = block.i, block.j, block.shared, block.agreed
        if np.any(i[1:] < i[:-1]):
            order = np.argsort(i, kind="stable")
            i, j, shared, agreed = i[order], j[order], shared[order], agreed[order]
        starts = starts_of(np.bincount(i, minlength=n)).astype(np.int32)
        return _Rows(n, starts, j, shared, agreed)

    def signed(self, m: int) -> FloatArray:
        """Return (M-1) N_ij C_ij for each pair."""
        entries = self.agreed.astype(np.float64)
        entries *= m
        entries -= self.shared
        return entries

    def product(self, entries: IntArray | FloatArray, v: FloatArray) -> FloatArray:
        """Multiply the symmetric matrix with these entries by a vector."""
        from scipy import sparse

        upper = sparse.csr_array(
            (entries.astype(np.float64, copy=False), self.j.astype(np.int32), self.starts), shape=(self.n, self.n)
        )
        found: FloatArray = upper @ v + upper.T @ v
        return found


def moments_of(counted: CountedPairs, n_classes: int) -> Moments:
    """Form the moments of all pairs with the weights N_ij.

    >>> pairs = PairStats(*np.array([[0], [1], [4], [3]]))
    >>> moments = moments_of(CountedPairs(2, (pairs,), None), n_classes=2)
    >>> (moments.signed @ np.array([1.0, 10.0])).tolist(), (moments.shared @ np.array([1.0, 10.0])).tolist()
    ([20.0, 2.0], [40.0, 4.0])
    """
    ours = _from_blocks(counted.n_workers, counted.blocks, n_classes)
    return ours if counted.big is None else _sum(ours, from_answers(counted.big))


def _from_blocks(n: int, blocks: Sequence[PairStats], m: int) -> Moments:
    rows = [_Rows.of(n, block) for block in blocks]

    def shared(v: FloatArray) -> FloatArray:
        return sum((block.product(block.shared, v) for block in rows), np.zeros(n))

    def signed(v: FloatArray) -> FloatArray:
        return sum((block.product(block.signed(m), v) for block in rows), np.zeros(n)) / (m - 1)

    def both(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        said, squares, square = np.zeros(n), np.zeros(n), x * x
        for block in rows:
            said += block.product(block.signed(m), x)
            squares += block.product(block.shared, square)
        return said / (m - 1), squares

    def absolute_sums(low: float, high: float) -> FloatArray:
        sums = np.zeros(n)
        for block in blocks:
            entries = block.shared * np.clip(np.abs(correlations(block, m)), low, high)
            sums += block.by_worker(n, entries)
        return sums

    n_met, n_agreed = (sum(int(getattr(block, name).sum()) for block in blocks) for name in ("shared", "agreed"))
    return Moments(
        _Product(shared),
        _Product(signed),
        shared(np.ones(n)),
        energy=float(n_agreed + (n_met - n_agreed) / (m - 1) ** 2),  # as sums over tasks have it
        absolute_sums=absolute_sums,
        both=both,
    )


def _sum(one: Moments, two: Moments) -> Moments:
    def both(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        (signed, squares), (more_signed, more_squares) = one.products(x), two.products(x)
        return signed + more_signed, squares + more_squares

    return Moments(
        _Product(lambda v: (one.shared @ v) + (two.shared @ v)),
        _Product(lambda v: (one.signed @ v) + (two.signed @ v)),
        one.degree + two.degree,
        one.energy + two.energy,
        both=both,
    )


def deciding_pairs(counted: CountedPairs) -> tuple[IntArray, IntArray]:
    """Return pairs enough to know the components of the graph, and whether each has an odd cycle.

    Two copies of every worker, each pair joining unlike copies: a pair whose ends are joined already, in both ways,
    decides nothing.

    >>> pairs = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [1, 1, 1], [1, 1, 1]]))
    >>> [ends.tolist() for ends in deciding_pairs(CountedPairs(3, (pairs,), None))]
    [[0, 0, 1], [1, 2, 2]]
    """
    from scipy import sparse
    from scipy.sparse import csgraph

    from quorate.meetings.graph import identify

    n = counted.n_workers
    pieces = [(block.i, block.j) for block in counted.blocks]
    if counted.big is not None:
        pieces.append(identify(counted.big).edges())
    group = np.arange(2 * n)
    kept: list[tuple[IntArray, IntArray]] = []
    few = slice(0, 4 * n)  # most of the joining is done by these, so that few of the others are kept
    for i, j in [(i[few], j[few]) for i, j in pieces[:1]] + pieces:
        i, j = i.astype(np.int64), j.astype(np.int64)
        apart = (group[i] != group[j + n]) | (group[i + n] != group[j])
        i, j = i[apart], j[apart]
        if len(i):
            kept.append((i, j))
            ends = group[np.concatenate([i, i + n])], group[np.concatenate([j + n, j])]
            links = sparse.coo_array((np.ones(len(ends[0]), dtype=bool), ends), shape=(2 * n, 2 * n))
            _, merged = csgraph.connected_components(links.tocsr(), directed=False)
            group = merged[group]
    if not kept:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing
    first, second = zip(*kept, strict=True)
    return np.concatenate(first), np.concatenate(second)
