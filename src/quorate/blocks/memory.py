"""Blocks in memory: spans of the arrays of `Answers`, passed over by threads."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.blocks.block import Block, Sums, added, check_codes
from quorate.blocks.kernels import joined_workers, met_bits
from quorate.blocks.plain_meetings import settle_roots

PIECE = 1 << 18  # answers in a block: what a pass writes for each task still fits in the cache
LANES = 8  # parts that sums are formed in; fixed, so that they do not depend on how many threads there are
SPREAD = 16  # answers for each worker in a lane: with fewer, its tables would cost more than the answers
SET = np.array([byte.bit_count() for byte in range(256)], np.uint8)  # bits of each byte
BITS = 1 << 30  # of a table of who met whom: 128 MB
T = TypeVar("T")


def n_threads() -> int:
    """Return how many threads may pass over blocks: QUORATE_THREADS, or the processors that this process may use.

    >>> n_threads() >= 1
    True
    """
    said = os.environ.get("QUORATE_THREADS", "")
    if said.isdigit() and int(said) > 0:
        return int(said)
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable is not None else os.cpu_count() or 1


@dataclass(frozen=True)
class MemoryBlocks:
    """All answers in memory.

    >>> import numpy as np, quorate
    >>> from quorate.blocks.kernels import agreement_products
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")})
    >>> [sums.tolist() for sums in blocks_of(answers).sums(agreement_products, np.array([1.0, 10.0]), 2)]
    [[0.0, 0.0], [200.0, 2.0]]
    """

    whole: Block

    @property
    def n_tasks(self) -> int:
        """How many tasks."""
        return self.whole.n_tasks

    @property
    def n_workers(self) -> int:
        """How many workers."""
        return self.whole.n_workers

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return self.whole.n_classes

    @property
    def n_answers(self) -> int:
        """How many answers."""
        return len(self.whole.worker)

    @cached_property
    def pieces(self) -> list[Block]:
        """The blocks."""
        return list(self.whole.pieces(PIECE)) or [self.whole]

    @cached_property
    def lanes(self) -> list[list[Block]]:
        """The blocks by the part of the sum that they are in."""
        n = min(LANES, len(self.pieces), 1 + self.n_answers // (SPREAD * max(self.n_workers, 1)))
        cuts = [len(self.pieces) * k // n for k in range(n + 1)]
        return [self.pieces[low:high] for low, high in pairwise(cuts)]

    def sums(self, kernel: Callable[..., Sums], *parameters: Any) -> Sums:
        """Add up what ``kernel(blocks, *parameters)`` returns for every lane."""
        return added(_map(lambda lane: kernel(lane, *parameters), self.lanes))

    def each(self, kernel: Callable[..., T], *parameters: Any) -> Iterator[T]:
        """Return ``kernel(block, *parameters)`` of every block, in order."""
        return _map(lambda block: kernel(block, *parameters), self.pieces)

    def joined(self) -> IntArray:
        """Return a root for each worker, and for its other copy, joined by who met whom."""
        parent = joined_workers(self.pieces, self.n_workers)
        settle_roots(parent)
        return parent

    def n_peers(self) -> IntArray:
        """Return how many others each worker shares a task with."""
        return np.concatenate(list(self._peers()) or [np.zeros(0, np.int64)])

    def _peers(self) -> Iterator[IntArray]:
        """Count peers of some workers at a time: a bit for every two takes memory."""
        at_once = max(1, BITS // max(self.n_workers, 1))
        for low in range(0, self.n_workers, at_once):
            bits = met_bits(self.pieces, low, min(low + at_once, self.n_workers), self.n_workers)
            met: IntArray = SET[bits.view(np.uint8)].sum(axis=1, dtype=np.int64)
            yield np.maximum(met - 1, 0)  # themselves


def blocks_of(answers: Answers, known: IntArray | None = None) -> MemoryBlocks:
    """Lay answers out in blocks; kept with them, so that a second call costs nothing.

    Args:
        answers: who answered what.
        known: the known class of each task, -1 where unknown, which EM holds on to.

    >>> import quorate
    >>> blocks_of(quorate.simulate.crowd(10, 5, 3).answers).n_tasks
    10
    """
    kept: MemoryBlocks | None = answers.__dict__.get("_blocks")
    if kept is None:
        arrays = (answers.start, answers.worker, answers.label)
        kept = MemoryBlocks(check_codes(Block(*arrays, answers.n_workers, answers.n_classes)))
        answers.__dict__["_blocks"] = kept
    if known is None:
        return kept
    whole = kept.whole
    return MemoryBlocks(Block(whole.start, whole.worker, whole.label, whole.n_workers, whole.n_classes, known=known))


def _map(work: Callable[[Any], T], parts: list[Any]) -> Iterator[T]:
    """Do the work for all parts, by threads where there are several of both; in order."""
    threads = min(n_threads(), len(parts))
    if threads < 2:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, parts)
