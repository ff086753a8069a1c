"""Blocks whose last worker is the known labels: it gives every task of known class that class."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from quorate.arrays import IntArray
from quorate.blocks.block import Block, Blocks, Sampled, Sums
from quorate.blocks.kernels import joined_workers
from quorate.blocks.numpy_kernels import unite

T = TypeVar("T")


def with_gold_worker(block: Block) -> Block:
    """Add the known labels of a block as answers of one more worker, the last.

    >>> block = Block(np.array([0, 1, 2]), np.array([0, 0]), np.array([1, 1]), 1, 2, gold=np.array([-1, 0]))
    >>> with_gold = with_gold_worker(block)
    >>> with_gold.start.tolist(), with_gold.worker.tolist(), with_gold.label.tolist(), with_gold.n_workers
    ([0, 1, 3], [0, 0, 1], [1, 1, 0], 2)
    """
    known = np.full(block.n_tasks, -1) if block.gold is None else block.gold
    at = np.flatnonzero(known >= 0)
    inside = block.answers
    ends = block.start[at + 1] - block.start[0]
    return replace(
        block,
        start=block.start - block.start[0] + np.concatenate([[0], np.cumsum(known >= 0)]),
        worker=np.insert(block.worker[inside], ends, block.n_workers),
        label=np.insert(block.label[inside], ends, known[at]),
        n_workers=block.n_workers + 1,
        gold=None,
        symbol=None,
        abstentions=None,
    )


@dataclass(frozen=True)
class _OnGoldWorker:
    """A kernel over blocks to which the known labels were added; it can be sent to where those are."""

    kernel: Callable[..., Any]

    def __call__(self, blocks: Block | Iterable[Block], *parameters: Any) -> Any:
        if isinstance(blocks, Block):
            return self.kernel(with_gold_worker(blocks), *parameters)
        return self.kernel((with_gold_worker(block) for block in blocks), *parameters)


@dataclass(frozen=True)
class BlocksWithGoldWorker:
    """All blocks with their known labels as answers.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.simulate.crowd(10, 5, 3).answers
    >>> BlocksWithGoldWorker(blocks_of(answers, np.zeros(10, int))).per_worker[-1].item()
    10
    """

    blocks: Blocks

    @property
    def n_tasks(self) -> int:
        """How many tasks."""
        return self.blocks.n_tasks

    @property
    def n_workers(self) -> int:
        """How many workers, the known labels among them."""
        return self.blocks.n_workers + 1

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return self.blocks.n_classes

    @property
    def class_of_symbol(self) -> None:
        """None: gold labels are classes, and symbols of other answers are left out."""
        return None

    @cached_property
    def n_answers(self) -> int:
        """How many answers, known labels included."""
        return int(self.per_worker.sum())

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i; the last is how many labels are known."""
        (known,) = self.blocks.sum(_count_known)
        return np.append(self.blocks.per_worker, known.astype(np.int64))

    def sum(self, kernel: Callable[..., Sums], *parameters: Any) -> Sums:
        """Add up what the kernel returns for some blocks at a time."""
        return self.blocks.sum(_OnGoldWorker(kernel), *parameters)

    def map(self, kernel: Callable[..., T], *parameters: Any) -> Iterator[T]:
        """Return what the kernel returns for every block, in order."""
        return self.blocks.map(_OnGoldWorker(kernel), *parameters)

    def sample(self, n_answers: int) -> Sampled:
        """Bring tasks into memory; the known labels of those are their last worker's answers."""
        sample = self.blocks.sample(n_answers)
        known = np.full(sample.answers.n_tasks, -1) if sample.gold is None else sample.gold
        return Sampled(sample.answers.with_worker(known))

    def gold_tasks(self) -> Block:
        """Return none: the known labels are answers here."""
        return replace(self.blocks.gold_tasks(), start=np.zeros(1, np.int64), gold=np.zeros(0, np.int32))

    def joined(self) -> IntArray:
        """Return a root for each worker, and for its other copy, joined by shared tasks."""
        return joined_by_blocks(self)

    def n_peers(self) -> IntArray:
        """Return how many others each worker shares a task with; known labels are nobody's peer."""
        return np.append(self.blocks.n_peers(), 0)


def own_gold(blocks: Blocks) -> IntArray | None:
    """Return the known labels that blocks bring, for whoever asks whether there are any: none of them, or None.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> own_gold(blocks_of(quorate.simulate.crowd(10, 5, 3).answers)) is None
    True
    """
    (known,) = blocks.sum(_count_known)
    return np.zeros(0, np.int64) if known[0] else None


def joined_by_blocks(blocks: Blocks) -> IntArray:
    """Connected components of workers who share tasks, block by block; a root for both copies of each worker.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> joined_by_blocks(blocks_of(quorate.simulate.crowd(10, 3, 2, seed=0).answers)).tolist()
    [0, 0, 0, 0, 0, 0]
    """
    all_nodes = np.arange(2 * blocks.n_workers, dtype=np.int32)
    parent = all_nodes.copy()
    for roots_of_block in blocks.map(_joined_in, blocks.n_workers):
        unite(parent, all_nodes, roots_of_block)
    return parent


def _joined_in(block: Block, n_workers: int) -> IntArray:
    return joined_workers([block], n_workers)


def _count_known(blocks: Iterable[Block]) -> Sums:
    known = (0 if block.gold is None else int((block.gold >= 0).sum()) for block in blocks)
    return (np.array([float(sum(known))]),)
