"""Blocks with a change of each block: gold as one more worker, gold hidden, classes renamed, one vote per group."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from quorate.arrays import BoolArray, IntArray
from quorate.blocks.block import Block, Blocks, Sampled, Sums, count_gold
from quorate.blocks.kernels import component_roots
from quorate.blocks.memory import answers_in, memory_blocks, symbols_in
from quorate.blocks.numpy_kernels import unite

TIE_BREAK = 1e-6  # weight of the votes of all workers of a task, which decide ties within a group
T = TypeVar("T")


class Change(ABC):
    """A change of any block. It is sent to the process that has the blocks, so it must be picklable."""

    keeps_symbols: ClassVar[bool] = True  # whether the changed answers have the symbols of the blocks

    @abstractmethod
    def __call__(self, block: Block) -> Block:
        """Return the changed block."""

    def n_workers(self, n_workers: int) -> int:
        """Return the number of workers after the change of blocks with this many."""
        return n_workers

    def answers_per_worker(self, blocks: Blocks) -> IntArray:
        """Return N_i after the change of these blocks."""
        return blocks.per_worker


@dataclass(frozen=True)
class GoldAsWorker(Change):
    """Add gold as one more worker, the last, who gives every task of known class that class.

    >>> block = Block(np.array([0, 1, 2]), np.array([0, 0]), np.array([1, 1]), 1, 2, gold=np.array([-1, 0]))
    >>> changed = GoldAsWorker()(block)
    >>> changed.start.tolist(), changed.worker.tolist(), changed.label.tolist(), changed.n_workers
    ([0, 1, 3], [0, 0, 1], [1, 1, 0], 2)
    """

    keeps_symbols = False  # gold labels are classes

    def __call__(self, block: Block) -> Block:
        """Return the block with the answers of the gold worker; it has no other gold."""
        gold = np.full(block.n_tasks, -1) if block.gold is None else block.gold
        is_known = gold >= 0
        position = block.start[1:][is_known] - block.start[0]  # after the last answer of the task
        n_known_before = np.concatenate([[0], np.cumsum(is_known)])
        return replace(
            block,
            start=block.start - block.start[0] + n_known_before,
            worker=np.insert(block.worker[block.answers], position, block.n_workers),
            label=np.insert(block.label[block.answers], position, gold[is_known]),
            n_workers=block.n_workers + 1,
            gold=None,
            symbol=None,
            abstentions=None,
        )

    def n_workers(self, n_workers: int) -> int:
        """Return the number of workers, the gold worker included."""
        return n_workers + 1

    def answers_per_worker(self, blocks: Blocks) -> IntArray:
        """Return N_i; the last is the number of gold labels."""
        return np.append(blocks.per_worker, count_gold(blocks))


@dataclass(frozen=True)
class GoldOfWorkers(Change):
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
class RenamedClasses(Change):
    """Rename the classes of the answers: class c becomes ``new_class[c]``. Gold keeps its classes.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), 1, 2)
    >>> RenamedClasses(np.array([1, 0]))(block).label.tolist()
    [1]
    """

    new_class: IntArray  # [classes]
    n_symbols: int | None = None  # where answers have grades or workers abstain: symbols keep their codes
    keeps_symbols = False

    def __call__(self, block: Block) -> Block:
        """Return the block with renamed classes."""
        renamed = replace(block, label=self.new_class[block.label])
        if self.n_symbols is None or block.symbol is not None:
            return renamed
        symbol = np.zeros(len(block.label), np.int32)
        symbol[block.answers] = block.symbols(self.n_symbols)
        return replace(renamed, symbol=symbol)


@dataclass(frozen=True)
class GroupMajority(Change):
    """Let each group of workers answer as one worker: with the class that most of its members gave.

    Where two classes are equally frequent in the group, the other workers of the task decide.

    >>> block = Block(np.array([0, 4]), np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), n_workers=4, n_classes=2)
    >>> changed = GroupMajority(np.array([0, 0, 0, 1]))(block)
    >>> changed.worker.tolist(), changed.label.tolist()
    ([0, 1], [0, 1])
    """

    group: IntArray  # [workers], from 0; a worker outside any group is a group of its own
    keeps_symbols = False

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

    def n_workers(self, n_workers: int) -> int:
        """Return the number of groups."""
        return self.n_groups

    def answers_per_worker(self, blocks: Blocks) -> IntArray:
        """Return the number of tasks that each group answered."""
        (counts,) = blocks.sum(_OnChanged(_answers_per_worker, self), self.n_groups)
        per_group: IntArray = counts.astype(np.int64)
        return per_group


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
        return self.change.n_workers(self.blocks.n_workers)

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return self.blocks.n_classes

    @property
    def class_of_symbol(self) -> IntArray | None:
        """Class of each symbol; None where every label is a class, as after a change that drops symbols."""
        return self.blocks.class_of_symbol if self.change.keeps_symbols else None

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i after the change."""
        return self.change.answers_per_worker(self.blocks)

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
        """Return the tasks that have gold after the change, in memory."""
        changed = self.change(self.blocks.gold_tasks())
        kept = changed.only(changed.is_known)
        return kept if kept.gold is not None else replace(kept, gold=np.zeros(0, np.int32))

    def component_roots(self, is_kept: BoolArray | None = None) -> IntArray:
        """Return the roots of `Blocks.component_roots` after the change."""
        all_nodes = np.arange(2 * self.n_workers, dtype=np.int32)
        parent = all_nodes.copy()
        for roots_of_block in self.map(_component_roots_of_block, self.n_workers, is_kept):
            unite(parent, all_nodes, roots_of_block)
        return parent


def _component_roots_of_block(block: Block, n_workers: int, is_kept: BoolArray | None) -> IntArray:
    return component_roots([block], n_workers, is_kept)


def _answers_per_worker(blocks: Iterable[Block], n_workers: int) -> Sums:
    counts = np.zeros(n_workers)
    for block in blocks:
        counts += np.bincount(block.worker[block.answers], minlength=n_workers)
    return (counts,)
