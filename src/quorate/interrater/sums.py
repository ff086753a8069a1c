"""Sums over tasks of which every coefficient of agreement is a function.

A task that r workers answered, n_c of them with class c, has r·(r-1) ordered pairs of answers; n_c·(r-n_c) of them are
c and another class. So the cost is linear in the answers, for any number of workers per task. The sums are kept for
groups of tasks, formed at random, which the bootstrap draws from.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.sampling import hash_ids, order_by_hash

MAX_GROUPS = 2000  # of tasks: a bootstrap over so many sums has a standard error that is exact to within 2 %
MIN_GROUPS = 100  # where classes are very many
MAX_GROUP_TABLE = 1 << 23  # entries of a table of groups × classes
MAX_DENSE_ENTRIES = 1 << 20  # of such a table, up to which it is always dense
MAX_DENSE_ENTRIES_PER_CELL = 8  # of a larger table, for each task and class with an answer, above which it is sparse
MAX_WEIGHT_TABLE_CLASSES = 1_000  # up to which Gwet's weights of every two classes are kept
SMALLEST_FLOAT = np.finfo(np.float64).tiny
BY_CLASS = ("answers", "unlike", "share", "unlike_share")  # sums that have a column per class


@dataclass(frozen=True)
class AnswerCounts:
    """How many workers gave a task a class, wherever one did; ordered by task, then by class."""

    task: IntArray
    label: IntArray
    n: FloatArray  # workers who gave it
    answered: IntArray  # r: answers of each task
    rank: IntArray  # of each task in an order that is as good as random, and the same in whatever order rows come

    @cached_property
    def r(self) -> FloatArray:
        """Answers of each cell's task."""
        return self.answered[self.task].astype(np.float64)

    def by_task(self, values: FloatArray) -> FloatArray:
        """Sum a value of each cell over each task."""
        return np.bincount(self.task, values, len(self.answered)).astype(np.float64, copy=False)


def count_answers(answers: Answers) -> AnswerCounts:
    """Count who gave what, without a table of tasks × classes where that would be much larger than the answers.

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

    One row, or a weighted sum of rows, are sums of the same kind: `of` returns weighted sums.
    """

    answers: FloatArray  # answers to tasks that have two answers or more
    unlike: FloatArray  # n_c·(r-n_c)/(r-1): pairs that join c and something else, each answer counted once
    share: FloatArray  # n_c/r, over all tasks that were answered
    unlike_share: FloatArray  # n_c·(r-n_c)/(r·(r-1))
    answered: FloatArray  # tasks with an answer; shape (groups,)
    paired: FloatArray  # tasks with two or more
    squared_distance: FloatArray  # of the pairs of a task, over (r-1), on a scale where classes have places
    gwet_distance: FloatArray  # Gwet's disagreement of those pairs on that scale, over r·(r-1)
    place: FloatArray  # sum over the answers counted in `answers`
    place_squared: FloatArray

    def of(self, weights: FloatArray) -> "AgreementSums":
        """Weigh the groups: draws × groups gives one row a draw."""
        return AgreementSums(*(weights @ getattr(self, name) for name in self.__dataclass_fields__))

    def only(self, classes: IntArray) -> "AgreementSums":
        """Keep some classes; the sums over all of them stay."""
        return replace(self, **{name: getattr(self, name)[:, classes] for name in BY_CLASS})

    def with_task(self, tasks: "AgreementSums", row: int, weights: FloatArray) -> "AgreementSums":
        """Add one task, a row of ``tasks``, to each row, with a weight for each row."""
        added = {}
        for name in self.__dataclass_fields__:
            weight = weights[:, None] if name in BY_CLASS else weights
            added[name] = getattr(self, name) + weight * getattr(tasks, name)[row]
        return AgreementSums(**added)

    @property
    def answers_of_paired_task(self) -> float:
        """Mean number of answers of the tasks that have two answers or more."""
        return float(self.answers.sum() / self.paired.sum())


@dataclass(frozen=True)
class Scale:
    """Where classes lie, on a scale on which some are further apart than others."""

    ranked: bool  # ordinal: only their order counts; otherwise interval: their values do
    places: FloatArray  # ranks from 0, or values

    @cached_property
    def gwet_total(self) -> float:
        """The sum of Gwet's weights; of many classes from sums over their order, without a table of every two."""
        if len(self.places) <= MAX_WEIGHT_TABLE_CLASSES:
            return float(self.gwet.sum())
        at = np.sort(self.places - self.places.mean())
        m = len(self.places)
        squared = 2 * (m * (at @ at) - at.sum() ** 2)
        widest = float(at[-1] - at[0])
        if self.ranked:
            squared += 2 * float((2 * np.arange(m) - m + 1) @ at)  # |i - j| over every two
            widest += 1
        return float(m**2 - squared / max((at[-1] - at[0]) * widest, SMALLEST_FLOAT))

    @cached_property
    def gwet(self) -> FloatArray:
        """Gwet's weights of every two classes: ordinal ones by ranks, quadratic ones by values."""
        distance = np.abs(self.places[:, None] - self.places)
        squared = distance * (distance + 1) if self.ranked else distance**2
        weights: FloatArray = 1 - squared / max(squared.max(initial=0.0), SMALLEST_FLOAT)
        return weights

    def gwet_disagreement(self, first: IntArray, second: IntArray) -> FloatArray:
        """One minus Gwet's weight of pairs of classes."""

        def squared(distance: FloatArray) -> FloatArray:
            return distance * (distance + 1) if self.ranked else distance**2

        largest = squared(np.ptp(self.places, keepdims=True))
        disagreement: FloatArray = squared(np.abs(self.places[first] - self.places[second])) / np.maximum(
            largest, SMALLEST_FLOAT
        )
        return disagreement

    def spread(self, answers: FloatArray) -> FloatArray:
        """Return the places by which Krippendorff measures: values, or the middle of each class among all answers."""
        if not self.ranked:
            return self.places
        order = np.argsort(self.places, kind="stable")
        middle = np.empty(len(answers))
        middle[order] = np.cumsum(answers[order]) - answers[order] / 2
        shares: FloatArray = middle / max(answers.sum(), 1)
        return shares


def sum_over_groups(counts: AnswerCounts, n_classes: int, scale: Scale | None = None) -> AgreementSums:
    """Sum over groups of tasks, dealt by a hash of their ids; every task is a group of its own where there are few.

    Args:
        counts: who gave what.
        n_classes: M.
        scale: None where classes are only alike or not.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xyyx")})
    >>> sums = sum_over_groups(count_answers(answers), 2)
    >>> sums.answers.sum(axis=0).tolist(), sums.unlike.sum(axis=0).tolist(), float(sums.paired.sum())
    ([1.0, 2.0], [1.0, 1.0], 1.0)
    """
    n_tasks = len(counts.answered)
    max_groups = max(MIN_GROUPS, min(MAX_GROUPS, MAX_GROUP_TABLE // max(n_classes, 1)))
    n_groups = min(n_tasks, max_groups)
    group = counts.rank % max_groups
    entry = group[counts.task] * n_classes + counts.label
    r = counts.r
    n = counts.n
    is_paired = r > 1
    paired = np.where(is_paired, n, 0.0)
    unlike = np.where(is_paired, n * (r - n) / np.maximum(r - 1, 1), 0.0)

    # Where classes are many, most groups have few of them: a sparse table is multiplied by the draws sooner.
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
        spread = scale.spread(np.bincount(counts.label, paired, n_classes).astype(np.float64, copy=False))
        places = (counts.by_task(paired * spread[counts.label] ** k) for k in (1, 2))
        on_scale = (*distances(counts, scale, spread), *places)
    return AgreementSums(
        table(paired),
        table(unlike),
        table(n / r),
        table(unlike / r),
        column((counts.answered > 0).astype(np.float64)),
        column((counts.answered > 1).astype(np.float64)),
        *(column(values) for values in on_scale),
    )


def distances(counts: AnswerCounts, scale: Scale, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for each task how far its answers lie apart: Krippendorff's squared distance, and Gwet's disagreement.

    Args:
        counts: who gave what.
        scale: where classes lie.
        spread: where they lie for Krippendorff.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": list("ab"), "label": [1, 3]})
    >>> scale = Scale(ranked=False, places=np.array([1.0, 3.0]))
    >>> [float(row[0]) for row in distances(count_answers(answers), scale, scale.places)]
    [8.0, 1.0]
    """
    r = counts.answered.astype(np.float64)
    pairs = np.maximum(r - 1, 1)
    is_paired = r > 1
    squared = _squared(counts, scale.places[counts.label])
    if scale.ranked:  # the sum of |i-j| over pairs needs each task's cells in the order of the ranks
        order = np.lexsort([scale.places[counts.label], counts.task])
        rank = scale.places[counts.label][order]
        task = counts.task[order]
        n = counts.n[order]
        before, moment = (_before(values, task) for values in (n, n * rank))
        cross_disagreement = 2 * np.bincount(task, n * (rank * before - moment), len(r))
        gwet = (squared + cross_disagreement) / max(len(scale.places) * (len(scale.places) - 1), 1)
    else:
        gwet = squared / max(np.ptp(scale.places) ** 2, SMALLEST_FLOAT)
    krippendorff = _squared(counts, spread[counts.label]) / pairs
    return np.where(is_paired, krippendorff, 0.0), np.where(is_paired, gwet / np.maximum(r * pairs, 1), 0.0)


def _squared(counts: AnswerCounts, value: FloatArray) -> FloatArray:
    """Sum the squared distance over ordered pairs of answers of each task."""
    first, second = (counts.by_task(counts.n * value**k) for k in (1, 2))
    total: FloatArray = 2 * np.maximum(counts.answered * second - first**2, 0.0)
    return total


def _before(values: FloatArray, task: IntArray) -> FloatArray:
    """Sum over the earlier cells of the same task."""
    running = np.cumsum(values) - values
    starts = np.flatnonzero(np.diff(task, prepend=-1))
    sums: FloatArray = running - np.repeat(running[starts], np.diff(np.append(starts, len(task))))
    return sums
