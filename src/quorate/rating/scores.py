"""Standardised scores in blocks, in memory, on disk or in Spark; and their counts before the fit."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, StoredBlocks, Sums
from quorate.blocks.kernels import component_roots
from quorate.blocks.memory import memory_blocks
from quorate.blocks.numpy_kernels import answers_of, unite
from quorate.graph.components import components_of_roots
from quorate.io.options import ReadOptions
from quorate.io.scores import Scores
from quorate.rating.passes import BY_ANSWER, BY_GROUP, BY_RATER, first_of_rater, scored_answers


@dataclass(frozen=True)
class ScoreBlocks:
    """Blocks whose labels are codes of scores, and the scores of the codes."""

    blocks: StoredBlocks
    raw_values: FloatArray  # the score of each label
    task_ids: Callable[[], pa.Array]  # in the order of the blocks
    worker_ids: pa.Array
    group: IntArray  # of each rater; without groups each rater is a group
    cells: int
    has_workers: bool = True
    has_groups: bool = False
    name: str | None = None  # of the file, for proposed commands
    options: ReadOptions | None = None
    group_names: pa.Array | None = None

    @cached_property
    def value_counts(self) -> FloatArray:
        """Number of answers with each score."""
        counts: FloatArray
        (counts,) = self.blocks.sum(count_values, len(self.raw_values))
        return counts

    @cached_property
    def middle(self) -> float:
        """The mean of the answers."""
        low = self.raw_values[0]
        return float(low + self.value_counts @ (self.raw_values - low) / self.value_counts.sum())

    @cached_property
    def unit(self) -> float:
        """The standard deviation of the answers."""
        square = self.value_counts @ (self.raw_values - self.middle) ** 2
        return float(np.sqrt(square / self.value_counts.sum())) or 1.0

    @cached_property
    def values(self) -> FloatArray:
        """The standardised score of each label."""
        return (self.raw_values - self.middle) / self.unit

    @cached_property
    def counts(self) -> "DesignCounts":
        """Counts of tasks and raters."""
        totals, per_rater, moments = self.blocks.sum(count_design, self.cells, len(self.worker_ids), self.values)
        return DesignCounts(int(totals[0]), int(totals[1]), int(totals[2]), per_rater, moments)

    @cached_property
    def graph(self) -> tuple[IntArray, BoolArray]:
        """Component of each rater in the interaction graph, and whether each component is bipartite."""
        if self.cells == BY_ANSWER:
            return np.zeros(1, np.int64), np.zeros(1, bool)
        n_raters = len(self.worker_ids)
        if self.counts.n_repeats == 0:
            return components_of_roots(self.blocks.component_roots())
        all_raters = np.arange(2 * n_raters, dtype=np.int32)
        parent = all_raters.copy()
        for partial_parent in self.blocks.map(joined_distinct, n_raters):
            unite(parent, all_raters, partial_parent)
        return components_of_roots(parent)

    @cached_property
    def per_task(self) -> IntArray:
        """The number of answers of each task."""
        return np.concatenate(list(self.blocks.map(answers_per_task)))

    @cached_property
    def means(self) -> FloatArray:
        """The plain mean of each task."""
        return np.concatenate(list(self.blocks.map(task_means, self.values))) * self.unit + self.middle

    @cached_property
    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest score of each rater."""
        n_raters = len(self.worker_ids)
        low = np.full(n_raters, np.inf)
        high = np.full(n_raters, -np.inf)
        for least, greatest in self.blocks.map(rater_ranges, self.raw_values, n_raters):
            low = np.minimum(low, least)
            high = np.maximum(high, greatest)
        return low, high


@dataclass(frozen=True)
class DesignCounts:
    """Counts of tasks and repeated answers, and the sums for variance components."""

    n_tasks: int
    n_compared_tasks: int  # with at least two raters
    n_repeats: int  # answers of a rater to a task after the first
    per_rater: FloatArray  # sum of standardised scores, and Σ over its tasks of n_tw²; 2 × raters
    moments: FloatArray  # Σ y_t.²/n_t, Σ_t Σ_w n_tw²/n_t, Σ_t n_t²


def count_values(blocks: Iterable[Block], n_values: int) -> Sums:
    """Return the number of answers with each score."""
    counts = np.zeros(n_values)
    for block in blocks:
        counts += np.bincount(block.label[block.answers], minlength=n_values)
    return (counts,)


def count_design(blocks: Iterable[Block], cells: int, n_raters: int, values: FloatArray) -> Sums:
    """Return the numbers of tasks, tasks with two raters and repeats, and the sums of `DesignCounts`."""
    totals = np.zeros(3)
    per_rater = np.zeros((2, n_raters))
    moments = np.zeros(3)
    for block in blocks:
        per_task = block.per_task
        task, worker, y = scored_answers(block, values)
        begins = np.ones(len(task), bool) if cells == BY_ANSWER else first_of_rater(task, worker)
        n_raters_of_task = np.bincount(task[begins], minlength=block.n_tasks)
        totals += [(per_task > 0).sum(), (n_raters_of_task > 1).sum(), (~begins).sum()]
        cell_size = np.diff(np.append(np.flatnonzero(begins), len(task))).astype(np.float64)
        square = cell_size**2
        n_of_task = np.maximum(per_task, 1)
        per_rater[0] += np.bincount(worker, y, n_raters)
        per_rater[1] += np.bincount(worker[begins], square, n_raters)
        sums = np.bincount(task, y, block.n_tasks)
        moments += [
            (sums**2 / n_of_task).sum(),
            (square / n_of_task[task[begins]]).sum(),
            (per_task.astype(np.float64) ** 2).sum(),
        ]
    return totals, per_rater, moments


def joined_distinct(block: Block, n_raters: int) -> IntArray:
    """Return the roots of `component_roots` for a block in which a rater may have answered a task several times."""
    task, worker, _ = answers_of(block)
    begins = first_of_rater(task, worker)
    start = np.concatenate([[0], np.cumsum(np.bincount(task[begins], minlength=block.n_tasks))])
    label = np.zeros(int(begins.sum()), np.int32)
    return component_roots([Block(start, worker[begins].astype(np.int32), label, n_raters, 1)], n_raters)


def answers_per_task(block: Block) -> IntArray:
    """Return the number of answers of each task of a block."""
    return block.per_task


def task_means(block: Block, values: FloatArray) -> FloatArray:
    """Return the plain mean of each task of a block."""
    task, _, y = scored_answers(block, values)
    return np.bincount(task, y, block.n_tasks) / np.maximum(block.per_task, 1)


def rater_ranges(block: Block, raw_values: FloatArray, n_raters: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest score of each rater in a block."""
    low = np.full(n_raters, np.inf)
    high = np.full(n_raters, -np.inf)
    _, worker, y = scored_answers(block, raw_values)
    np.minimum.at(low, worker, y)
    np.maximum.at(high, worker, y)
    return low, high


def component_of_tasks(block: Block, component: IntArray) -> IntArray:
    """Return the component of each task of a block: that of its raters."""
    first = np.minimum(block.start[:-1], max(len(block.worker) - 1, 0))
    return component[block.worker[first]]


def group_codes(group: IntArray | None, n_raters: int) -> tuple[IntArray, bool]:
    """Return the group of each rater, with a group for each rater without one; and whether there are groups."""
    raters = np.arange(n_raters)
    if group is None or (group < 0).all():
        return raters, False
    n_groups = int(group.max()) + 1
    codes = np.where(group >= 0, group, n_groups + raters)
    return np.unique(codes, return_inverse=True)[1], True


def cells_for(has_workers: bool, has_groups: bool) -> int:
    """Return how the answers of a task are put into cells."""
    if not has_workers:
        return BY_ANSWER
    return BY_GROUP if has_groups else BY_RATER


def score_blocks(scores: Scores, group: IntArray | None = None) -> ScoreBlocks:
    """Return scores in memory as blocks."""
    answers = scores.answers
    codes, has_groups = group_codes(answers.group if group is None else group, answers.n_workers)
    return ScoreBlocks(
        blocks=memory_blocks(answers),
        raw_values=scores.values,
        task_ids=lambda: answers.task_names,
        worker_ids=answers.worker_names,
        group=codes,
        cells=cells_for(scores.has_workers, has_groups),
        has_workers=scores.has_workers,
        has_groups=has_groups,
        name=scores.name,
        options=scores.options,
        group_names=answers.group_names,
    )
