"""Blocks in memory: spans of the arrays of `Answers`, passed over by threads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

import quorate.arrow_compute as pc
from quorate.answers import Answers, AnswerSymbols, CrowdInfo
from quorate.arrays import BoolArray, FloatArray, IntArray, counts_of_codes, from_numpy, starts_of, take
from quorate.blocks import kernels
from quorate.blocks import n_threads as n_threads
from quorate.blocks.block import (
    Abstentions,
    Block,
    Blocks,
    Sampled,
    Sums,
    added,
    check_codes,
    in_order_of_hash,
    no_abstentions,
)
from quorate.blocks.kernels import component_roots, peer_bits, peer_counts
from quorate.blocks.numpy_kernels import resolve_roots
from quorate.errors import NotInMemoryError

MAX_BLOCK_ANSWERS = 1 << 18  # what a pass writes for each task of a block then fits in the cache
MAX_BLOCK_CELLS = 1 << 22  # tasks × classes of a block, about: 32 MB for each table of this size
MAX_LANES = 8  # parts of a sum; fixed, so that sums do not depend on the number of threads
# Per worker in a lane; with fewer, its tables would take longer than the answers. The tables of two lanes at once may
# also be too large for the cache: 5 million answers of 300,000 workers took a tenth more CPU time in two lanes.
MIN_LANE_ANSWERS = 16
BITS_OF_BYTE = np.array([byte.bit_count() for byte in range(256)], np.uint8)  # number of ones in each byte
MAX_COLLECTED_ANSWERS = 20_000_000  # a table of this many answers fits in memory
MAX_PEER_BITS = 1 << 30  # of a table of peers: 128 MB
MIN_THREADED_ANSWERS = 1 << 21  # for fewer, a pass takes milliseconds, as long as the start of threads
MAX_BLOCKS_AHEAD = 8  # blocks per thread whose results wait for the caller
T = TypeVar("T")
Answered: TypeAlias = Answers | Blocks  # answers in memory with names, or blocks in memory, on disk or in Spark


@dataclass(frozen=True, eq=False)
class MemoryBlocks:
    """All answers in memory.

    >>> import numpy as np, quorate
    >>> from quorate.blocks.kernels import agreement_products
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")})
    >>> [sums.tolist() for sums in blocks_of(answers).sum(agreement_products, np.array([1.0, 10.0]), 2)]
    [[0.0, 0.0], [200.0, 2.0]]
    """

    all_tasks: Block
    class_of_symbol: IntArray | None = None  # the class of each symbol; None where every label is a class
    task_ids: pa.Array | None = None  # their hashes decide which tasks are sampled; None without ids

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return self.all_tasks.n_tasks

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return self.all_tasks.n_workers

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return self.all_tasks.n_classes

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return len(self.all_tasks.worker)

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i, the number of answers of each worker."""
        return counts_of_codes(self.all_tasks.worker, self.n_workers)

    @cached_property
    def pieces(self) -> list[Block]:
        """The blocks."""
        n_cells = self.n_tasks * self.n_classes
        size = (
            min(MAX_BLOCK_ANSWERS, max(MAX_BLOCK_CELLS * self.n_answers // max(n_cells, 1), 1))
            if n_cells > MAX_BLOCK_CELLS
            else MAX_BLOCK_ANSWERS
        )
        return list(self.all_tasks.pieces(size)) or [self.all_tasks]

    @cached_property
    def lanes(self) -> list[list[Block]]:
        """The blocks, divided into the parts of a sum."""
        n = min(MAX_LANES, len(self.pieces), max(self.n_answers // (MIN_LANE_ANSWERS * max(self.n_workers, 1)), 1))
        cuts = [len(self.pieces) * k // n for k in range(n + 1)]
        return [self.pieces[low:high] for low, high in pairwise(cuts)]

    def sum(self, kernel: Callable[..., Sums], *parameters: Any) -> Sums:
        """Add up what ``kernel(blocks, *parameters)`` returns for every lane."""
        return self.sum_lanes([partial(kernel, lane, *parameters) for lane in self.lanes])

    def sum_lanes(self, sums_of_lanes: Sequence[Callable[[], Sums]]) -> Sums:
        """Add up the sums of all lanes, in their order."""
        return added(self._map(lambda sums: sums(), list(sums_of_lanes)))

    def map(self, kernel: Callable[..., T], *parameters: Any) -> Iterator[T]:
        """Yield ``kernel(block, *parameters)`` of every block, in order."""
        return self._map(lambda block: kernel(block, *parameters), self.pieces)

    def _map(self, work: Callable[[Any], T], parts: list[Any]) -> Iterator[T]:
        """Yield the work of each part, in order; in threads if there are several parts and many answers."""
        threads = min(n_threads(), len(parts)) if self.n_answers >= MIN_THREADED_ANSWERS else 1
        if threads < 2:
            yield from map(work, parts)
            return
        with ThreadPoolExecutor(threads) as pool:
            # Only a few parts at a time: the blocks of files may not all fit in memory.
            for low in range(0, len(parts), MAX_BLOCKS_AHEAD * threads):
                yield from pool.map(work, parts[low : low + MAX_BLOCKS_AHEAD * threads])

    def sample(self, n_answers: int) -> Sampled:
        """Return the tasks with the smallest hashes, at most `n_answers` answers in total; all, if ids are unknown.

        The sample is cached, because several steps of a method use the same one.
        """
        samples: dict[int, Sampled] = self.__dict__.setdefault("_samples", {})
        if n_answers not in samples:
            samples[n_answers] = self._draw_sample(n_answers)
        return samples[n_answers]

    def _draw_sample(self, n_answers: int) -> Sampled:
        from quorate.blocks.sampling import first_tasks_by_hash  # which imports this module

        block = self.all_tasks
        ids = pa.nulls(block.n_tasks) if self.task_ids is None else self.task_ids
        is_sampled = None if self.task_ids is None else first_tasks_by_hash(ids, block.per_task, n_answers)
        if is_sampled is not None:
            block = block.only(is_sampled)
            ids = take(ids, np.flatnonzero(is_sampled))
        symbols = symbols_in(block, self.class_of_symbol)
        return Sampled(replace(answers_in(block), task_names=ids, answer_symbols=symbols), block.gold)

    def gold_tasks(self) -> Block:
        """Return the tasks of known class as one block, in the order of the hashes of their ids."""
        is_known = self.all_tasks.is_known
        gold_block = self.all_tasks.only(is_known)
        if gold_block.n_tasks and self.task_ids is not None:
            return in_order_of_hash([(gold_block, pc.select(self.task_ids, from_numpy(is_known)))])
        return gold_block if gold_block.gold is not None else replace(gold_block, gold=np.zeros(0, np.int32))

    def component_roots(self, is_kept: BoolArray | None = None) -> IntArray:
        """Return the root of each worker and of its copy; see `Blocks.component_roots`."""
        parent = component_roots(self.pieces, self.n_workers, is_kept)
        resolve_roots(parent)
        return parent

    def n_peers(self) -> IntArray:
        """Return the number of other workers with whom each worker shares a task."""
        n_steps = int((self.all_tasks.per_task.astype(np.float64) ** 2).sum())
        rounds = -(-(self.n_workers**2) // MAX_PEER_BITS)
        if kernels.native is not None and n_steps < rounds * self.n_answers:  # faster than rounds of marking bits
            return np.maximum(peer_counts(self.all_tasks) - 1, 0)  # without the worker itself
        return np.concatenate(list(self._peers()) or [np.zeros(0, np.int64)])

    def _peers(self) -> Iterator[IntArray]:
        """Yield the number of peers of some workers at a time: the table has a bit for every two workers."""
        at_once = max(1, MAX_PEER_BITS // max(self.n_workers, 1))
        for low in range(0, self.n_workers, at_once):
            bits = peer_bits(self.pieces, low, min(low + at_once, self.n_workers), self.n_workers)
            # In numpy 2 only; four times as fast.
            counts = np.bitwise_count(bits) if hasattr(np, "bitwise_count") else BITS_OF_BYTE[bits.view(np.uint8)]
            n_peers: IntArray = counts.sum(axis=1, dtype=np.int64)
            yield np.maximum(n_peers - 1, 0)  # without the worker itself


def blocks_of(answers: Answered, known: IntArray | None = None) -> Blocks:
    """Return answers as blocks, which are cached with the answers; blocks are returned as they are.

    Args:
        answers: who answered what.
        known: the known class of each task, -1 where unknown; only for answers in memory.

    >>> import quorate
    >>> blocks_of(quorate.simulate.crowd(10, 5, 3).answers).n_tasks
    10
    """
    if not isinstance(answers, Answers):
        return answers
    blocks = memory_blocks(answers)
    return blocks if known is None else replace(blocks, all_tasks=replace(blocks.all_tasks, gold=known))


def memory_blocks(answers: Answers) -> MemoryBlocks:
    """Return answers in memory as blocks, which are cached with the answers.

    >>> import quorate
    >>> memory_blocks(quorate.simulate.crowd(10, 5, 3).answers).all_tasks.n_tasks
    10
    """
    blocks: MemoryBlocks | None = answers.__dict__.get("_blocks")
    if blocks is None:
        sizes = (answers.n_workers, answers.n_classes)
        answer_symbols = answers.answer_symbols
        block = check_codes(Block(answers.start, answers.worker, answers.label, *sizes))
        if answer_symbols is not None:
            abstentions = Abstentions(
                starts_of(answer_symbols.per_task(answers.n_tasks)),
                answer_symbols.worker,
                answer_symbols.abstention_symbol,
            )
            block = replace(block, symbol=answer_symbols.symbol, abstentions=abstentions)
        class_of_symbol = (
            answer_symbols.class_of_symbol
            if answer_symbols is not None and answer_symbols.is_more_than_classes
            else None
        )
        task_ids = None if pa.types.is_null(answers.task_names.type) else answers.task_names
        blocks = MemoryBlocks(block, class_of_symbol, task_ids)
        blocks.__dict__["per_worker"] = answers.per_worker  # counted once
        answers.__dict__["_blocks"] = blocks
    return blocks


def answers_in(block: Block) -> Answers:
    """Return a block as answers without names.

    >>> block = Block(np.array([0, 1, 2]), np.array([0, 0]), np.array([1, 1]), n_workers=1, n_classes=2)
    >>> answers_in(block).counts.tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    task = np.repeat(np.arange(block.n_tasks, dtype=np.int32), block.per_task)
    names = [pa.nulls(n) for n in (block.n_tasks, block.n_workers, block.n_classes)]
    return Answers(task, block.worker[block.answers], block.label[block.answers].astype(np.int32), *names)


def symbols_in(block: Block, class_of_symbol: IntArray | None) -> AnswerSymbols | None:
    """Return the symbols and abstentions of a block, without names; None where every label is a class.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([1]), n_workers=1, n_classes=2)
    >>> symbols_in(block, np.array([-1, 0, 1])).symbol.tolist()
    [2]
    """
    if class_of_symbol is None:
        return None
    symbol = np.array(block.symbols(len(class_of_symbol)))
    abstentions = block.abstentions or no_abstentions(block.n_tasks)
    task = np.repeat(np.arange(block.n_tasks, dtype=np.int32), abstentions.per_task)
    rows = np.array(abstentions.worker[abstentions.rows]), abstentions.symbol[abstentions.rows].astype(np.int32)
    return AnswerSymbols(pa.nulls(len(class_of_symbol)), class_of_symbol, symbol, task, *rows)


def named_answers(block: Block, class_of_symbol: IntArray | None, tasks: pa.Array, crowd_info: CrowdInfo) -> Answers:
    """Return the answers of a block, with the ids of its tasks, workers and classes, and its symbols.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([1]), n_workers=1, n_classes=2)
    >>> names = {"worker_names": pa.array(["ann"]), "classes": pa.array(["cat", "dog"])}
    >>> crowd_info = CrowdInfo(engine="duckdb", **names, per_worker=np.array([1]), n_tasks=1, n_rows=1)
    >>> named_answers(block, None, pa.array(["t1"]), crowd_info).to_table().to_pylist()
    [{'task': 't1', 'worker': 'ann', 'label': 'dog'}]
    """
    answers = answers_in(block)
    names = {"task_names": tasks, "worker_names": crowd_info.worker_names, "classes": crowd_info.classes}
    return replace(answers, worker=np.array(answers.worker), answer_symbols=symbols_in(block, class_of_symbol), **names)


def collect_answers(blocks: Blocks) -> Answers:
    """Return the answers of all blocks in memory, without names.

    Raises:
        NotInMemoryError: there are too many.

    >>> import quorate
    >>> collect_answers(blocks_of(quorate.simulate.crowd(10, 5, 3).answers)).n_answers
    30
    """
    if blocks.n_answers > MAX_COLLECTED_ANSWERS:
        raise NotInMemoryError(
            f"to count pairs of workers, the answers must be in memory, and {blocks.n_answers:,} are too many. Use the "
            "default weighting, threshold and signs, or aggregate a part of the answers"
        )
    parts = list(blocks.map(answers_in))
    first = np.cumsum([0, *(part.n_tasks for part in parts)])
    task = np.concatenate([part.task + low for part, low in zip(parts, first, strict=False)])
    worker, label = (np.concatenate([getattr(part, name) for part in parts]) for name in ("worker", "label"))
    names = [pa.nulls(n) for n in (blocks.n_tasks, blocks.n_workers, blocks.n_classes)]
    return Answers(task, worker, label, *names)


def stack_tables(parts: Iterable[FloatArray], n_rows: int) -> FloatArray:
    """Stack tables in the order of the iterator; only one of them is in memory in addition to the result.

    >>> stack_tables(iter([np.ones((1, 2)), np.zeros((1, 2))]), 2).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    stacked = None
    done = 0
    for part in parts:
        if len(part) == n_rows:
            return part
        if stacked is None:
            stacked = np.empty((n_rows, *part.shape[1:]))
        stacked[done : done + len(part)] = part
        done += len(part)
    assert stacked is not None
    assert done == n_rows
    return stacked
