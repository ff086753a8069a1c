"""Blocks seen through a change of each block: gold hidden, classes renamed, one vote per group of workers."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from quorate.arrays import BoolArray, IntArray
from quorate.blocks.block import Block, Blocks, Sampled, Sums
from quorate.blocks.gold_worker import joined_by_blocks
from quorate.blocks.memory import answers_in, memory_blocks, symbols_in

TIE_BREAK = 1e-6  # votes by which the other workers of a task decide an even split within a group
T = TypeVar("T")
Change = Callable[[Block], Block]


@dataclass(frozen=True)
class GoldOfWorkers:
    """Keep the gold label of a task only if its first worker is among those chosen; drop the others.

    All workers of a task are in one component of the interaction graph, so the first one stands for all.

    >>> block = Block(np.array([0, 1, 2]), np.array([0, 1]), np.array([0, 1]), 2, 2, gold=np.array([0, 1]))
    >>> GoldOfWorkers(np.array([True, False]))(block).gold.tolist()
    [0, -1]
    """

    is_chosen: BoolArray  # [workers]

    def __call__(self, block: Block) -> Block:
        """Return the block with the gold of chosen workers' tasks."""
        if block.gold is None:
            return block
        answered = block.per_task > 0
        first = block.worker[np.where(answered, block.start[:-1], block.start[0])] if answered.any() else None
        keep = np.zeros(block.n_tasks, dtype=bool)
        if first is not None:
            keep = answered & self.is_chosen[first]
        return replace(block, gold=np.where(keep, block.gold, -1))


@dataclass(frozen=True)
class RenamedClasses:
    """Rename the classes of the answers: class c becomes ``new_class[c]``. Gold keeps its classes.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), 1, 2)
    >>> RenamedClasses(np.array([1, 0]))(block).label.tolist()
    [1]
    """

    new_class: IntArray  # [classes]
    n_symbols: int | None = None  # where answers have grades or workers abstain: symbols keep their codes

    def __call__(self, block: Block) -> Block:
        """Return the block with renamed classes."""
        renamed = replace(block, label=self.new_class[block.label])
        if self.n_symbols is None or block.symbol is not None:
            return renamed
        symbol = np.zeros(len(block.label), np.int32)
        symbol[block.answers] = block.symbols(self.n_symbols)
        return replace(renamed, symbol=symbol)


@dataclass(frozen=True)
class GroupMajority:
    """Let each group of workers answer as one worker: with the class that most of its members gave.

    Where two classes are equally frequent in the group, the other workers of the task decide.

    >>> block = Block(np.array([0, 4]), np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), n_workers=4, n_classes=2)
    >>> changed = GroupMajority(np.array([0, 0, 0, 1]))(block)
    >>> changed.worker.tolist(), changed.label.tolist()
    ([0, 1], [0, 1])
    """

    group: IntArray  # [workers], from 0; a worker outside any group is a group of its own

    @property
    def n_groups(self) -> int:
        """Number of groups, those of one worker included."""
        return int(self.group.max()) + 1

    def __call__(self, block: Block) -> Block:
        """Return the block with groups as workers."""
        m = block.n_classes
        task = np.repeat(np.arange(block.n_tasks), block.per_task)
        label = block.label[block.answers].astype(np.int64)
        unit = task * self.n_groups + self.group[block.worker[block.answers]]
        units, unit_of_answer = np.unique(unit, return_inverse=True)
        votes = np.bincount(unit_of_answer * m + label, minlength=len(units) * m).reshape(-1, m)
        unit_task = units // self.n_groups
        all_votes = np.bincount(task * m + label, minlength=block.n_tasks * m).reshape(-1, m)
        majority = (votes + TIE_BREAK * all_votes[unit_task]).argmax(axis=1)
        start = np.concatenate([[0], np.cumsum(np.bincount(unit_task, minlength=block.n_tasks))])
        return replace(
            block,
            start=start,
            worker=units % self.n_groups,
            label=majority,
            n_workers=self.n_groups,
            symbol=None,
            abstentions=None,
        )


@dataclass(frozen=True)
class _OnChanged:
    """A kernel applied to changed blocks; can be pickled with its change."""

    kernel: Callable[..., Any]
    change: Change

    def __call__(self, blocks: Block | Iterable[Block], *parameters: Any) -> Any:
        if isinstance(blocks, Block):
            return self.kernel(self.change(blocks), *parameters)
        return self.kernel((self.change(block) for block in blocks), *parameters)


@dataclass(frozen=True)
class TransformedBlocks:
    """All blocks, each changed before a kernel sees it.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> blocks = blocks_of(quorate.simulate.crowd(10, 5, 3).answers, np.zeros(10, int))
    >>> TransformedBlocks(blocks, GoldOfWorkers(np.zeros(5, bool))).gold_tasks().n_tasks
    0
    """

    blocks: Blocks
    change: Change

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return self.blocks.n_tasks

    @property
    def n_workers(self) -> int:
        """Number of workers after the change."""
        return self.change.n_groups if isinstance(self.change, GroupMajority) else self.blocks.n_workers

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return self.blocks.n_classes

    @property
    def class_of_symbol(self) -> IntArray | None:
        """Class of each symbol; None where groups or renamed classes leave only classes."""
        return None if isinstance(self.change, GroupMajority | RenamedClasses) else self.blocks.class_of_symbol

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i after the change."""
        if not isinstance(self.change, GroupMajority):
            return self.blocks.per_worker
        (counts,) = self.sum(_answers_per_worker, self.n_workers)
        return counts.astype(np.int64)

    @property
    def n_answers(self) -> int:
        """Number of answers after the change."""
        return int(self.per_worker.sum())

    def sum(self, kernel: Callable[..., Sums], *parameters: Any) -> Sums:
        """Sum of the kernel over all changed blocks."""
        return self.blocks.sum(_OnChanged(kernel, self.change), *parameters)

    def map(self, kernel: Callable[..., T], *parameters: Any) -> Iterator[T]:
        """Return the kernel's value for every changed block, in order."""
        return self.blocks.map(_OnChanged(kernel, self.change), *parameters)

    def sample(self, n_answers: int) -> Sampled:
        """Return a sample of whole tasks in memory, changed."""
        sample = self.blocks.sample(n_answers)
        answers = sample.answers
        changed = self.change(replace(memory_blocks(answers).all_tasks, gold=sample.gold))
        names = {"task_names": answers.task_names, "classes": answers.classes}
        return Sampled(
            replace(answers_in(changed), **names, answer_symbols=symbols_in(changed, self.class_of_symbol)),
            changed.gold,
        )

    def gold_tasks(self) -> Block:
        """Return the tasks with gold that the change leaves, in memory."""
        changed = self.change(self.blocks.gold_tasks())
        kept = changed.only(changed.is_known)
        return kept if kept.gold is not None else replace(kept, gold=np.zeros(0, np.int32))

    def joined(self) -> IntArray:
        """Return a root for each worker and its other copy, joined by shared tasks."""
        return joined_by_blocks(self)

    def n_peers(self) -> IntArray:
        """Return how many others each worker shares a task with."""
        return self.blocks.n_peers()


def _answers_per_worker(blocks: Iterable[Block], n_workers: int) -> Sums:
    counts = np.zeros(n_workers)
    for block in blocks:
        counts += np.bincount(block.worker[block.answers], minlength=n_workers)
    return (counts,)
