"""Components side by side: matrices of those of one size in one stack, so that ten thousand small ones are one call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.meetings.pairs import PairStats

ENTRIES = 1 << 20  # of the matrices of a stack: 8 MB each time one is formed, and one component at the least


@dataclass(frozen=True)
class Parts:
    """Components side by side: the workers of each have codes of their own, one after the other."""

    size: IntArray  # workers of each
    n_pairs: IntArray  # of each
    pairs: PairStats  # of all of them, component after component

    @staticmethod
    def beside(size: Sequence[int], pairs: Sequence[PairStats]) -> "Parts":
        """Put components beside each other; each has its pairs over codes from zero to its size."""
        sizes, n_pairs = np.array(size, np.int64), np.array([len(each) for each in pairs], np.int64)
        before = np.repeat(starts_of(sizes)[:-1], n_pairs)
        i, j, shared, agreed = (
            np.concatenate([np.zeros(0, np.int64), *(getattr(each, name) for each in pairs)])
            for name in ("i", "j", "shared", "agreed")
        )
        return Parts(sizes, n_pairs, PairStats(i + before, j + before, shared, agreed))

    @cached_property
    def of_worker(self) -> IntArray:
        """The component of each worker."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @property
    def n_workers(self) -> int:
        """How many workers there are in all."""
        return int(self.size.sum())

    def among(self, workers: BoolArray, pairs: BoolArray | None = None) -> tuple["Parts", BoolArray]:
        """Keep some workers, and of the pairs between them all or some; and which pairs those are.

        A component that nobody of is kept stays, with nobody.
        """
        kept = workers[self.pairs.i] & workers[self.pairs.j]
        if pairs is not None:
            kept &= pairs
        place = np.cumsum(workers) - 1
        size, n_pairs = (
            np.bincount(of[which], minlength=len(self.size))
            for of, which in ((self.of_worker, workers), (np.repeat(np.arange(len(self.size)), self.n_pairs), kept))
        )
        own = self.pairs.among(kept)
        return Parts(size, n_pairs, PairStats(place[own.i], place[own.j], own.shared, own.agreed)), kept

    def stacks(self) -> Iterator["Stack"]:
        """Yield the components that have anybody, those of one size together."""
        first, first_pair = starts_of(self.size), starts_of(self.n_pairs)
        for n in np.unique(self.size[self.size > 0]).tolist():
            alike = np.flatnonzero(self.size == n)
            for numbers in np.array_split(alike, min(-(-len(alike) * n * n // ENTRIES), len(alike))):
                many = self.n_pairs[numbers]
                own = np.arange(many.sum()) + np.repeat(first_pair[numbers] - starts_of(many)[:-1], many)
                before = np.repeat(first[numbers], many)
                yield Stack(
                    numbers,
                    first[numbers][:, np.newaxis] + np.arange(n),
                    own,
                    (np.repeat(np.arange(len(numbers)), many), self.pairs.i[own] - before, self.pairs.j[own] - before),
                )


@dataclass(frozen=True)
class Stack:
    """Components of one size, and the places of their pairs in a stack of matrices."""

    numbers: IntArray  # of the components
    workers: IntArray  # their codes, a row a component
    pairs: IntArray  # the positions of their pairs
    places: tuple[IntArray, IntArray, IntArray]  # of each pair: component in the stack, row, column

    def matrices(self, of_pairs: FloatArray, of_workers: FloatArray) -> FloatArray:
        """Form a symmetric matrix of each, from a value of every pair, and one of every worker for the diagonal."""
        count, n = self.workers.shape
        table = np.zeros((count, n, n))
        which, i, j = self.places
        table[which, i, j] = table[which, j, i] = of_pairs[self.pairs]
        table[:, np.arange(n), np.arange(n)] = of_workers[self.workers]
        return table


def products(one: FloatArray, two: FloatArray) -> FloatArray:
    """Multiply row by row: what `one[k] @ two[k]` is, to the bit.

    >>> products(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [3.0, 8.0]
    """
    rows: FloatArray = (one[:, np.newaxis, :] @ two[:, :, np.newaxis])[:, 0, 0]
    return rows
