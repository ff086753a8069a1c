"""Sums over tasks, of which all coefficients of agreement are functions.

A task with r answers, n_c of them of class c, has r·(r-1) ordered pairs of answers; in n_c·(r-n_c) of them the first is
c and the second another class. So the time is linear in the answers, for any number of workers per task. The sums are
computed for random groups of tasks, which the bootstrap weights.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.sampling import hash_ids, order_by_hash

MAX_GROUPS = 2000  # of tasks: a bootstrap over this number of sums has a standard error that is exact to within 2 %
MIN_GROUPS = 100  # even with very many classes
MAX_GROUP_TABLE = 1 << 23  # entries of a table of groups × classes
MAX_DENSE_ENTRIES = 1 << 20  # a table of groups × classes with up to this number of entries is always dense
MAX_DENSE_ENTRIES_PER_CELL = 8  # a larger table with more entries per cell (task and class with an answer) is sparse
MAX_WEIGHT_TABLE_CLASSES = 1_000  # up to this, a table of Gwet's weights of all pairs of classes is made
SMALLEST_FLOAT = np.finfo(np.float64).tiny
BY_CLASS = ("answers", "unlike", "share", "unlike_share")  # sums that have a column per class


@dataclass(frozen=True)
class AnswerCounts:
    """Number of answers of each cell (task and class with an answer); ordered by task, then by class."""

    task: IntArray  # [cells]
    label: IntArray  # [cells]
    n: FloatArray  # [cells]: number of answers
    per_task: IntArray  # [tasks]: r, number of answers
    rank: IntArray  # [tasks]: rank in a pseudo-random order, which does not depend on the order of the rows

    @cached_property
    def r(self) -> FloatArray:
        """Number of answers of each cell's task."""
        return self.per_task[self.task].astype(np.float64)

    def by_task(self, values: FloatArray) -> FloatArray:
        """Return the sums over each task of a value per cell."""
        return np.bincount(self.task, values, len(self.per_task)).astype(np.float64, copy=False)


def count_answers(answers: Answers) -> AnswerCounts:
    """Return the answer counts, without a table of tasks × classes if it would be much larger than the answers.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xyyx")})
    >>> count_answers(answers).n.tolist()
    [1.0, 2.0, 1.0]
    """
    m = max(answers.n_classes, 1)
    filled, n = answers.filled_cells()
    rank = np.empty(answers.n_tasks, np.int64)
    rank[order_by_hash(hash_ids(answers.task_names))] = np.arange(answers.n_tasks)
    return AnswerCounts(filled // m, filled % m, n.astype(np.float64), answers.per_task, rank)


@dataclass(frozen=True)
class AgreementSums:
    """Sums over groups of tasks (rows); the columns of the first four are classes.

    `of` returns weighted sums of the rows, which are sums of the same kind.
    """

    answers: FloatArray  # answers to tasks that have two answers or more
    unlike: FloatArray  # n_c·(r-n_c)/(r-1): pairs of c with another class, weighted such that each answer counts once
    share: FloatArray  # n_c/r, over all tasks with an answer
    unlike_share: FloatArray  # n_c·(r-n_c)/(r·(r-1))
    n_answered_tasks: FloatArray  # number of tasks with an answer; shape (groups,)
    n_paired_tasks: FloatArray  # number of tasks with two answers or more
    squared_distance: FloatArray  # of the pairs of a task, over (r-1), on a scale on which classes have positions
    gwet_distance: FloatArray  # Gwet's disagreement of these pairs on this scale, over r·(r-1)
    position_sum: FloatArray  # sum of the positions of the answers counted in `answers`
    position_square_sum: FloatArray  # sum of the squares of these positions

    def of(self, weights: FloatArray) -> "AgreementSums":
        """Return weighted sums of the groups, one row per draw; weights: draws × groups."""
        return AgreementSums(*(weights @ getattr(self, name) for name in self.__dataclass_fields__))

    def only(self, classes: IntArray) -> "AgreementSums":
        """Return the sums of some classes; the sums over all classes stay unchanged."""
        return replace(self, **{name: getattr(self, name)[:, classes] for name in BY_CLASS})

    def with_task(self, tasks: "AgreementSums", row: int, weights: FloatArray) -> "AgreementSums":
        """Return the sums with one task, a row of ``tasks``, added to each row, with one weight per row."""
        added = {}
        for name in self.__dataclass_fields__:
            weight = weights[:, None] if name in BY_CLASS else weights
            added[name] = getattr(self, name) + weight * getattr(tasks, name)[row]
        return AgreementSums(**added)

    @property
    def answers_of_paired_task(self) -> float:
        """Mean number of answers of the tasks that have two answers or more."""
        return float(self.answers.sum() / self.n_paired_tasks.sum())


@dataclass(frozen=True)
class Scale:
    """Positions of the classes on an ordinal or interval scale."""

    ranked: bool  # True: ordinal, only the order of the classes is used; False: interval, their values are used
    positions: FloatArray  # ranks from 0, or values

    @cached_property
    def gwet_total(self) -> float:
        """The sum of Gwet's weights; for many classes computed from sums, without a table of all pairs of classes."""
        if len(self.positions) <= MAX_WEIGHT_TABLE_CLASSES:
            return float(self.gwet.sum())
        position = np.sort(self.positions - self.positions.mean())
        m = len(self.positions)
        squared = 2 * (m * (position @ position) - position.sum() ** 2)
        widest = float(position[-1] - position[0])
        if self.ranked:
            squared += 2 * float((2 * np.arange(m) - m + 1) @ position)  # sum of |i - j| over all pairs
            widest += 1
        return float(m**2 - squared / max((position[-1] - position[0]) * widest, SMALLEST_FLOAT))

    @cached_property
    def gwet(self) -> FloatArray:
        """Gwet's weights of all pairs of classes: ordinal weights by ranks, or quadratic weights by values."""
        distance = np.abs(self.positions[:, None] - self.positions)
        squared = distance * (distance + 1) if self.ranked else distance**2
        weights: FloatArray = 1 - squared / max(squared.max(initial=0.0), SMALLEST_FLOAT)
        return weights

    def gwet_disagreement(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return one minus Gwet's weight for pairs of classes."""

        def squared(distance: FloatArray) -> FloatArray:
            return distance * (distance + 1) if self.ranked else distance**2

        largest = squared(np.ptp(self.positions, keepdims=True))
        disagreement: FloatArray = squared(np.abs(self.positions[first] - self.positions[second])) / np.maximum(
            largest, SMALLEST_FLOAT
        )
        return disagreement

    def spread(self, answers: FloatArray) -> FloatArray:
        """Return Krippendorff's positions of the classes: values, or mean ranks of their answers, scaled to [0, 1]."""
        if not self.ranked:
            return self.positions
        order = np.argsort(self.positions, kind="stable")
        middle = np.empty(len(answers))
        middle[order] = np.cumsum(answers[order]) - answers[order] / 2
        shares: FloatArray = middle / max(answers.sum(), 1)
        return shares


def sum_over_groups(counts: AnswerCounts, n_classes: int, scale: Scale | None = None) -> AgreementSums:
    """Return sums over groups of tasks, formed by a hash of their ids; with few tasks, each task is a group.

    Args:
        counts: answer counts.
        n_classes: M.
        scale: None if classes are only equal or different.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xyyx")})
    >>> sums = sum_over_groups(count_answers(answers), 2)
    >>> sums.answers.sum(axis=0).tolist(), sums.unlike.sum(axis=0).tolist(), float(sums.n_paired_tasks.sum())
    ([1.0, 2.0], [1.0, 1.0], 1.0)
    """
    n_tasks = len(counts.per_task)
    max_groups = max(MIN_GROUPS, min(MAX_GROUPS, MAX_GROUP_TABLE // max(n_classes, 1)))
    n_groups = min(n_tasks, max_groups)
    group = counts.rank % max_groups
    entry = group[counts.task] * n_classes + counts.label
    r = counts.r
    n = counts.n
    is_paired = r > 1
    paired_answers = np.where(is_paired, n, 0.0)
    unlike = np.where(is_paired, n * (r - n) / np.maximum(r - 1, 1), 0.0)

    # With many classes, most groups have few of them: the product of the draws with a sparse table is faster.
    is_sparse = n_groups * n_classes > max(MAX_DENSE_ENTRIES, MAX_DENSE_ENTRIES_PER_CELL * len(entry))

    def table(values: FloatArray) -> FloatArray:
        if is_sparse:
            from scipy import sparse

            position = (entry // n_classes, entry % n_classes)
            filled: FloatArray = sparse.csr_array((values, position), (n_groups, n_classes))
            return filled
        flat = np.bincount(entry, values, n_groups * n_classes).astype(np.float64, copy=False)
        return flat.reshape(n_groups, n_classes)

    def column(values: FloatArray) -> FloatArray:
        return np.bincount(group, values, n_groups).astype(np.float64, copy=False)

    on_scale: tuple[FloatArray, ...] = (np.zeros(n_tasks),) * 4
    if scale is not None:
        spread = scale.spread(np.bincount(counts.label, paired_answers, n_classes).astype(np.float64, copy=False))
        position_sums = (counts.by_task(paired_answers * spread[counts.label] ** k) for k in (1, 2))
        on_scale = (*distances(counts, scale, spread), *position_sums)
    return AgreementSums(
        table(paired_answers),
        table(unlike),
        table(n / r),
        table(unlike / r),
        column((counts.per_task > 0).astype(np.float64)),
        column((counts.per_task > 1).astype(np.float64)),
        *(column(values) for values in on_scale),
    )


def distances(counts: AnswerCounts, scale: Scale, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for each task the distances of its answers: Krippendorff's squared distance, and Gwet's disagreement.

    Args:
        counts: answer counts.
        scale: positions of the classes.
        spread: Krippendorff's positions of the classes.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": list("ab"), "label": [1, 3]})
    >>> scale = Scale(ranked=False, positions=np.array([1.0, 3.0]))
    >>> [float(row[0]) for row in distances(count_answers(answers), scale, scale.positions)]
    [8.0, 1.0]
    """
    r = counts.per_task.astype(np.float64)
    pairs = np.maximum(r - 1, 1)
    is_paired = r > 1
    squared = _squared(counts, scale.positions[counts.label])
    if scale.ranked:  # for the sum of |i-j| over pairs, the cells of each task are sorted by rank
        order = np.lexsort([scale.positions[counts.label], counts.task])
        rank = scale.positions[counts.label][order]
        task = counts.task[order]
        n = counts.n[order]
        n_below = _sums_of_earlier_cells(n, task)
        ranks_below = _sums_of_earlier_cells(n * rank, task)
        cross_disagreement = 2 * np.bincount(task, n * (rank * n_below - ranks_below), len(r))
        gwet = (squared + cross_disagreement) / max(len(scale.positions) * (len(scale.positions) - 1), 1)
    else:
        gwet = squared / max(np.ptp(scale.positions) ** 2, SMALLEST_FLOAT)
    krippendorff = _squared(counts, spread[counts.label]) / pairs
    return np.where(is_paired, krippendorff, 0.0), np.where(is_paired, gwet / np.maximum(r * pairs, 1), 0.0)


def _squared(counts: AnswerCounts, value: FloatArray) -> FloatArray:
    """Return the sum of squared distances over the ordered pairs of answers of each task."""
    first, second = (counts.by_task(counts.n * value**k) for k in (1, 2))
    total: FloatArray = 2 * np.maximum(counts.per_task * second - first**2, 0.0)
    return total


def _sums_of_earlier_cells(values: FloatArray, task: IntArray) -> FloatArray:
    """Return for each cell the sum over the earlier cells of its task."""
    running = np.cumsum(values) - values
    starts = np.flatnonzero(np.diff(task, prepend=-1))
    sums: FloatArray = running - np.repeat(running[starts], np.diff(np.append(starts, len(task))))
    return sums
