"""What Spark's executors run in a pass: a kernel over the blocks of a partition, and the combination of sums."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, FloatArray, IntArray, from_numpy
from quorate.backends.spark_packing import Piece, RowTotals, from_stream
from quorate.blocks.block import Block, Sums, no_abstentions
from quorate.blocks.kernels import component_roots, peer_bits
from quorate.blocks.sampling import hash_ids
from quorate.blocks.worker_rows import slices_of


@dataclass(frozen=True)
class PieceReading:
    """Turns pieces into blocks, with what is known only after the last partition was packed."""

    n_workers: int
    n_classes: int
    first: tuple[int, ...]  # index of the first task of each partition
    code: IntArray | None  # new codes of the classes, if some are not in use
    known: IntArray | None  # the class of each known label, and -1
    class_of_symbol: IntArray | None = None  # the class of each symbol; None where every label is a class
    has_abstentions: bool = False  # whether there are abstentions

    def blocks(self, index: int, pieces: Iterable[Piece | RowTotals]) -> Iterator[tuple[Block, Piece]]:
        """Yield the blocks of a partition, with their pieces."""
        first = self.first[index]
        for piece in pieces:
            if isinstance(piece, Piece):
                label = piece.label if self.code is None else self.code[piece.label]
                known = None if self.known is None or piece.known is None else self.known[piece.known]
                abstentions = (
                    (piece.abstentions or no_abstentions(len(piece.start) - 1)) if self.has_abstentions else None
                )
                sizes = self.n_workers, self.n_classes
                block = Block(piece.start, piece.worker, label, *sizes, first, known, piece.symbol, abstentions)
                yield block, piece
                first += block.n_tasks

    def empty(self) -> Block:
        """Return a block without tasks, for a partition that has none: a kernel sums over at least one."""
        known = None if self.known is None else np.zeros(0, np.int32)
        start = np.zeros(1, np.int64)
        no_codes = np.zeros(0, np.int32)
        abstentions = no_abstentions(0) if self.has_abstentions else None
        return Block(start, no_codes, no_codes, self.n_workers, self.n_classes, gold=known, abstentions=abstentions)


@dataclass(frozen=True)
class Summing:
    """The sums of a kernel over a partition."""

    broadcast: Any  # a Spark broadcast: how to read pieces, the kernel, its parameters

    def __call__(self, index: int, pieces: Iterator[Piece | RowTotals]) -> Iterator[Sums]:
        """Yield the sums over the blocks of a partition."""
        reading, kernel, parameters = self.broadcast.value
        blocks = (block for block, _ in reading.blocks(index, pieces))
        first = next(blocks, None)
        yield kernel(_chained(reading.empty() if first is None else first, blocks), *parameters)


@dataclass(frozen=True)
class OnEach:
    """The values of a function of a block, or of a block and its task ids, for every block of a partition."""

    broadcast: Any
    named: bool

    def __call__(self, index: int, pieces: Iterator[Piece | RowTotals]) -> Iterator[Any]:
        """Yield the value for every block of a partition."""
        reading, kernel, parameters = self.broadcast.value
        for block, piece in reading.blocks(index, pieces):
            yield kernel(block, *((from_stream(piece.names),) if self.named else ()), *parameters)


@dataclass(frozen=True)
class Slices:
    """The sums of a partition, cut so that each executor can add up a slice of all partitions' sums."""

    summing: Summing
    n: int

    def __call__(self, index: int, pieces: Iterator[Piece | RowTotals]) -> Iterator[tuple[int, Any]]:
        """Yield the sums over the blocks of a partition, in n slices."""
        for sums in self.summing(index, pieces):
            shapes = [array.shape for array in sums]
            cut = [slices_of(array, self.n) for array in sums]
            for number, part in enumerate(zip(*cut, strict=True)):
                yield number, (index, shapes, part)


@dataclass(frozen=True)
class CombinedSlices:
    """Combines the slices of one number from all partitions, in the order of the partitions."""

    combine: Callable[[Iterable[Sums]], Sums]

    def __call__(self, parts: Iterable[Any]) -> Any:
        """Return the shapes of the whole sums, and the combined slices."""
        in_order = sorted(parts, key=lambda part: part[0])
        return in_order[0][1], self.combine(part for _, _, part in in_order)


def _chained(first: Block, rest: Iterator[Block]) -> Iterator[Block]:
    yield first
    yield from rest


def count_answers(blocks: Iterable[Block]) -> Sums:
    """Return the number of answers of each worker.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=3, n_classes=2)
    >>> count_answers([block])[0].tolist()
    [1.0, 1.0, 0.0]
    """
    per_worker: FloatArray | None = None
    for block in blocks:
        per_worker = np.zeros(block.n_workers) if per_worker is None else per_worker
        per_worker += np.bincount(block.worker, minlength=block.n_workers)
    assert per_worker is not None  # at least one block, possibly empty
    return (per_worker,)


def component_roots_in(blocks: Iterable[Block], n_workers: int, is_kept: BoolArray | None = None) -> tuple[IntArray]:
    """Return the roots of `quorate.blocks.kernels.component_roots`, as sums of a kernel.

    >>> component_roots_in([Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), 2, 2)], 2)[0].tolist()
    [0, 1, 1, 0]
    """
    return (component_roots(blocks, n_workers, is_kept),)


def peer_bits_in(blocks: Iterable[Block], low: int, high: int, n_workers: int) -> tuple[Any]:
    """Return `quorate.blocks.kernels.peer_bits`, as sums of a kernel.

    >>> peer_bits_in([Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), 2, 2)], 0, 2, 2)[0].tolist()
    [[3], [3]]
    """
    return (peer_bits(blocks, low, high, n_workers),)


def bitwise_or(parts: Iterable[Sums]) -> Sums:
    """Return the bitwise or of the arrays of several parts.

    >>> bitwise_or([(np.array([1]),), (np.array([2]),)])[0].tolist()
    [3]
    """
    return tuple(reduce(np.bitwise_or, arrays) for arrays in zip(*parts, strict=True))


def tasks_up_to_hash(block: Block, names: pa.Array, until: np.uint64) -> tuple[Block, pa.Array]:
    """Return the tasks whose hash is at most `until`.

    >>> block = Block(np.array([0, 1, 2]), np.array([0, 0]), np.array([0, 0]), n_workers=1, n_classes=2)
    >>> least = hash_ids(pa.array([7, 8])).min()
    >>> tasks_up_to_hash(block, pa.array([7, 8]), least)[0].n_tasks
    1
    """
    is_sampled = hash_ids(names) <= until
    return block.only(is_sampled), names.filter(from_numpy(is_sampled))


def tasks_with_gold(block: Block, names: pa.Array) -> tuple[Block, pa.Array]:
    """Return the tasks of known class.

    >>> block = Block(np.array([0, 1, 2]), np.array([0, 0]), np.array([0, 0]), 1, 2, gold=np.array([-1, 1]))
    >>> tasks_with_gold(block, pa.array([7, 8]))[1].to_pylist()
    [8]
    """
    return block.only(block.is_known), names.filter(from_numpy(block.is_known))
