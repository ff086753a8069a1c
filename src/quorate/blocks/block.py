"""`Block`: consecutive complete tasks as integer codes; and `Blocks`: the protocol of all tasks, in blocks.

Methods compute sums over complete tasks, in tables with a row per worker. A kernel (`quorate.blocks.kernels`)
takes blocks and worker-sized parameters and returns such sums. `Blocks` hides where the answers are: in memory
(`MemoryBlocks` in `blocks/memory.py`), in files (`FileBlocks` in `blocks/files.py`, written by `backends/disk.py`), or
in the partitions of Spark (`SparkBlocks` in `backends/spark.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, CrowdInfo, Sized
from quorate.arrays import BoolArray, IntArray, starts_of
from quorate.blocks.worker_rows import ObservedRows, is_smaller, sum_tables

MAX_BYTE_CLASSES = 256  # classes up to which a label takes one byte
Sums: TypeAlias = tuple[Any, ...]  # arrays; a table of workers × answers × classes may be `ObservedRows`
# Methods that need sums over blocks only, so that the answers need not be in memory (`quorate.methods.fit_blocks`).
OUT_OF_CORE_METHODS = ("quorate", "rank-one", "rank-one-centred", "majority", "iwmv", "one-coin", "dawid-skene")
T = TypeVar("T")


def code_type(n: int) -> type[np.uint8] | type[np.int32]:
    """Return the type of codes of n classes or symbols: one byte if that is enough.

    >>> code_type(256).__name__, code_type(257).__name__
    ('uint8', 'int32')
    """
    return np.uint8 if n <= MAX_BYTE_CLASSES else np.int32


@dataclass(frozen=True, eq=False)
class Abstentions:
    """The abstentions of consecutive tasks: those on task t are entries start[t] to start[t + 1] - 1.

    >>> abstentions = Abstentions(np.array([0, 1, 3]), np.array([4, 5, 6]), np.array([0, 0, 1]))
    >>> abstentions.per_task.tolist(), abstentions.of_tasks(np.array([1])).worker.tolist()
    ([1, 2], [5, 6])
    """

    start: IntArray  # one more than tasks
    worker: IntArray  # of each abstention
    symbol: IntArray  # [abstentions], the label given instead of a class

    @property
    def per_task(self) -> IntArray:
        """The number of abstentions on each task."""
        return np.diff(self.start)

    @property
    def rows(self) -> slice:
        """The entries of `worker` and `symbol` that belong to these tasks."""
        return slice(int(self.start[0]), int(self.start[-1]))

    def alone(self) -> "Abstentions":
        """Return the same abstentions in arrays that hold no others."""
        return Abstentions(self.start - self.start[0], self.worker[self.rows], self.symbol[self.rows])

    def of_tasks(self, order: IntArray) -> "Abstentions":
        """Return the abstentions of the tasks in `order`, in this order."""
        start, within = _runs(self.start, order)
        return Abstentions(start, self.worker[within], self.symbol[within])


def no_abstentions(n_tasks: int) -> Abstentions:
    """Return the abstentions of tasks without any.

    >>> no_abstentions(2).per_task.tolist()
    [0, 0]
    """
    return Abstentions(np.zeros(n_tasks + 1, np.int64), *(np.zeros(0, np.int32),) * 2)


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive whole tasks: the answers to task t are entries start[t] to start[t + 1] - 1.

    >>> block = Block(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([1, 1, 0]), n_workers=2, n_classes=2)
    >>> block.n_tasks, block.per_task.tolist(), block.worker.dtype.name, block.label.dtype.name
    (2, [2, 1], 'int32', 'uint8')
    """

    start: IntArray  # int64, one more than tasks
    worker: IntArray  # int32, of each answer
    label: IntArray  # uint8, or int32 where there are more than 256 classes
    n_workers: int
    n_classes: int
    first: int = 0  # index of its first task among all tasks
    gold: IntArray | None = None  # int32, the known class of each task, -1 where unknown
    symbol: IntArray | None = None  # [answers], the label given, where several labels mean a class
    abstentions: Abstentions | None = None  # None if there are none

    def __post_init__(self) -> None:
        kinds = {"start": np.int64, "worker": np.int32, "label": code_type(self.n_classes), "gold": np.int32}
        for name, kind in kinds.items():
            array = getattr(self, name)
            if array is not None and (array.dtype != kind or not array.flags.c_contiguous):
                object.__setattr__(self, name, np.ascontiguousarray(array, dtype=kind))

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.start) - 1

    @property
    def per_task(self) -> IntArray:
        """R_t, the number of answers to each task."""
        return np.diff(self.start)

    @property
    def answers(self) -> slice:
        """The entries of `worker` and `label` that belong to its tasks."""
        return slice(int(self.start[0]), int(self.start[-1]))

    @property
    def tasks(self) -> slice:
        """The indices of its tasks among all tasks."""
        return slice(self.first, self.first + self.n_tasks)

    def pieces(self, n_answers: int) -> Iterator["Block"]:
        """Yield blocks of about `n_answers` answers, which share its arrays."""
        marks = np.arange(self.start[0], self.start[-1], max(n_answers, 1))
        cuts = sorted({0, *np.searchsorted(self.start, marks).tolist(), self.n_tasks})
        for low, high in pairwise(cuts):
            yield self.span(int(low), int(high))

    def span(self, low: int, high: int) -> "Block":
        """Return the tasks from low to high - 1, as a block that shares its arrays."""
        abstentions = self.abstentions
        if abstentions is not None:
            abstentions = replace(abstentions, start=abstentions.start[low : high + 1])
        return replace(
            self,
            start=self.start[low : high + 1],
            first=self.first + low,
            gold=None if self.gold is None else self.gold[low:high],
            abstentions=abstentions,
        )

    def symbols(self, n_symbols: int) -> IntArray:
        """Return the symbol of each answer.

        If the block stores no symbols, it is the class plus the number of symbols that are not classes: the symbols of
        abstentions, which come first.
        """
        if self.symbol is not None:
            return self.symbol[self.answers]
        return self.label[self.answers].astype(np.int32) + (n_symbols - self.n_classes)

    @property
    def is_known(self) -> BoolArray:
        """Whether the class of each task is known."""
        return np.zeros(self.n_tasks, dtype=bool) if self.gold is None else self.gold >= 0

    def only(self, is_chosen: BoolArray) -> "Block":
        """Return the chosen tasks, as a block with its own arrays."""
        return self.of_tasks(np.flatnonzero(is_chosen))

    def of_tasks(self, order: IntArray) -> "Block":
        """Return the tasks in `order`, in this order, as a block with its own arrays."""
        start, within = _runs(self.start, order)
        return replace(
            self,
            start=start,
            worker=self.worker[within],
            label=self.label[within],
            gold=None if self.gold is None else self.gold[order],
            symbol=None if self.symbol is None else self.symbol[within],
            abstentions=None if self.abstentions is None else self.abstentions.of_tasks(order),
        )


def _runs(start: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """Reorder runs; return the new start of each run, and the old position of each element."""
    sizes = np.diff(start)[order]
    after = starts_of(sizes)
    return after, np.arange(after[-1]) - np.repeat(after[:-1] - start[:-1][order], sizes)


@dataclass(frozen=True, eq=False)
class Sampled:
    """A sample of tasks in memory, with their ids."""

    answers: Answers
    gold: IntArray | None = None  # the known class of each task, -1 where unknown


class Blocks(Sized, Protocol):
    """All answers, in blocks of complete tasks: in memory, in files or in Spark."""

    @property
    def class_of_symbol(self) -> IntArray | None:
        """The class of each symbol, -1 for an abstention; None where every label is a class."""

    def sum(self, kernel: Callable[..., Sums], *parameters: Any) -> Sums:
        """Add up what ``kernel(blocks, *parameters)`` returns for parts of the blocks.

        The order of the additions does not depend on the number of threads, so the sums do not either.
        """

    def map(self, kernel: Callable[..., T], *parameters: Any) -> Iterator[T]:
        """Yield ``kernel(block, *parameters)`` of every block, in order."""

    def sample(self, n_answers: int) -> Sampled:
        """Return tasks with at most `n_answers` answers in total (all, if there are no more) in memory, with their ids.

        They are the tasks with the smallest hashes of their ids (`quorate.blocks.sampling.hash_ids`).
        """

    def gold_tasks(self) -> Block:
        """Return the tasks of known class in memory, in the order of the hashes of their ids."""

    def component_roots(self, is_kept: BoolArray | None = None) -> IntArray:
        """Return the root of each worker i and of its copy i + n in the double cover of the interaction graph.

        A link connects each of two workers of a task with the copy of the other. So a component has one root if it has
        an odd cycle, and two otherwise (`quorate.graph.components.components_of_roots`). Only the answers of kept
        workers count; by default all.
        """


class StoredBlocks(Blocks, Protocol):
    """Blocks as a backend stores them, before any change."""

    def n_peers(self) -> IntArray:
        """Return the number of other workers with whom each worker shares a task."""


@dataclass(frozen=True, kw_only=True)
class BlockCrowdInfo(CrowdInfo):
    """`CrowdInfo` with the blocks from which the peers of its workers are counted."""

    blocks: StoredBlocks = field(repr=False)

    def n_peers(self) -> IntArray | None:
        """Return the number of other workers with whom each worker shares a task."""
        return self.blocks.n_peers()


def count_gold(blocks: Blocks) -> int:
    """Return the number of tasks of known class.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.simulate.crowd(10, 5, 3).answers
    >>> count_gold(blocks_of(answers)), count_gold(blocks_of(answers, np.zeros(10, int)))
    (0, 10)
    """
    (n_gold,) = blocks.sum(_count_gold_tasks)
    return int(n_gold[0])


def _count_gold_tasks(blocks: Iterable[Block]) -> Sums:
    n_gold = sum(int(block.is_known.sum()) for block in blocks)
    return (np.array([float(n_gold)]),)


def check_codes(block: Block) -> Block:
    """Return the block after a check that its codes stay within the tables of a pass.

    Raises:
        ValueError: a worker or a class is out of range, or the tasks do not lie one after another.

    >>> check_codes(Block(np.array([0, 1]), np.array([3]), np.array([0]), n_workers=2, n_classes=2))
    Traceback (most recent call last):
    ValueError: a block names worker 3 of 2
    """
    start = block.start
    if len(start) == 0 or start[0] < 0 or (np.diff(start) < 0).any() or start[-1] > len(block.worker):
        raise ValueError("the tasks of a block do not lie one after another")
    for name, codes, n in (("worker", block.worker, block.n_workers), ("class", block.label, block.n_classes)):
        used = codes[block.answers]
        if len(used) and not (int(used.min()) >= 0 and int(used.max()) < n):
            wrong = used.min() if used.min() < 0 else used.max()
            raise ValueError(f"a block names {name} {wrong} of {n}")
    return block


def in_order_of_hash(parts: Sequence[tuple[Block, pa.Array]]) -> Block:
    """Concatenate blocks, with the tasks in the order of the hashes of their ids: the same on every backend.

    >>> block = Block(np.array([0, 1, 3]), np.array([0, 0, 1]), np.array([1, 0, 0]), n_workers=2, n_classes=2)
    >>> one, two = (in_order_of_hash([(block.of_tasks(np.array(order)), pa.array(ids))])
    ...             for order, ids in (([0, 1], ["b", "a"]), ([1, 0], ["a", "b"])))
    >>> one.label.tolist() == two.label.tolist()
    True
    """
    from quorate.blocks.sampling import hash_ids  # which imports this module

    order = np.argsort(hash_ids(pa.concat_arrays([names for _, names in parts])), kind="stable")
    merged = one_block([block for block, _ in parts]).of_tasks(order)
    return merged if merged.gold is not None else replace(merged, gold=np.zeros(0, np.int32))


def one_block(parts: Sequence[Block]) -> Block:
    """Concatenate blocks whose arrays hold their own tasks only.

    >>> one = Block(np.array([0, 1]), np.array([1]), np.array([0]), n_workers=2, n_classes=2)
    >>> one_block([one, one]).start.tolist()
    [0, 1, 2]
    """

    def concatenated(name: str) -> Any:
        arrays = [getattr(block, name) for block in parts]
        return None if any(array is None for array in arrays) else np.concatenate(arrays)

    abstentions: Abstentions | None = None
    with_abstentions = [block.abstentions for block in parts if block.abstentions is not None]
    if len(with_abstentions) == len(parts):
        abstentions = Abstentions(
            start=starts_of(np.concatenate([part.per_task for part in with_abstentions])),
            worker=np.concatenate([part.worker for part in with_abstentions]),
            symbol=np.concatenate([part.symbol for part in with_abstentions]),
        )
    return replace(
        parts[0],
        start=starts_of(np.concatenate([block.per_task for block in parts])),
        worker=concatenated("worker"),
        label=concatenated("label"),
        gold=concatenated("gold"),
        symbol=concatenated("symbol"),
        abstentions=abstentions,
    )


def added(parts: Iterable[Sums]) -> Sums:
    """Add the sums of several parts, in their order.

    >>> [total.tolist() for total in added([(np.ones(2),), (np.ones(2),)])]
    [[2.0, 2.0]]
    """
    totals: list[Any] = []
    # Tables of observed rows wait until they take more bytes than a full table, and are then added together.
    waiting: list[list[ObservedRows]] = []
    for part in parts:
        if not waiting:
            totals = [None] * len(part)
            waiting = [[] for _ in part]
        for k, array in enumerate(part):
            if isinstance(array, ObservedRows):
                waiting[k].append(array)
                if sum(table.nbytes for table in waiting[k]) > 8 * prod(array.shape):
                    totals[k] = _with_waiting(totals[k], waiting[k])
                    waiting[k] = []
            elif isinstance(totals[k], ObservedRows):
                totals[k] = sum_tables([totals[k], array])
            else:
                totals[k] = array if totals[k] is None else totals[k] + array
    return tuple(_with_waiting(total, tables) for total, tables in zip(totals, waiting, strict=True))


def _with_waiting(total: Any, tables: list[ObservedRows]) -> Any:
    """Return the total with the tables of observed rows added."""
    if not tables:
        return total
    if total is None and len(tables) == 1 and is_smaller(len(tables[0].row), tables[0].shape):
        return tables[0]
    return sum_tables(tables if total is None else [total, *tables])
