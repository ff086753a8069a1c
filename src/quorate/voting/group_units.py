"""Answers laid out by task and group of workers: what a group said on a task, class by class."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, from_strings

OTHERS = 1e-6  # of a vote: how much the others count where a group is divided evenly


@dataclass(frozen=True)
class Units:
    """A unit is a group of two members or more on a task; a cell is a class that it gave there.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xyyx")})
    >>> units = Units(answers, np.array([0, 0, 1]))
    >>> units.rows.tolist(), units.cell_starts.tolist(), units.unit_starts.tolist()
    ([0, 1, 3], [0, 1, 2], [0, 2])
    """

    answers: Answers
    group: IntArray  # of each worker, from 0; whoever is alone in a group is in no unit

    @cached_property
    def n_groups(self) -> int:
        """How many groups there are, those of one worker included."""
        return int(self.group.max()) + 1

    @cached_property
    def is_shared(self) -> BoolArray:
        """Whether each worker's group has several members."""
        several: BoolArray = np.bincount(self.group)[self.group] > 1
        return several

    @cached_property
    def rows(self) -> IntArray:
        """The answers of workers in groups, in the order of their task, group and class."""
        a = self.answers
        inside = np.flatnonzero(self.is_shared[a.worker])
        return inside[np.lexsort([a.label[inside], self.group[a.worker[inside]], a.task[inside]])]

    @cached_property
    def own_cells(self) -> IntArray:
        """Each answer as worker·M + class."""
        return self.answers.worker_cells

    @cached_property
    def spoken(self) -> IntArray:
        """Every worker with every class that it ever gave: all that a chance can depend on."""
        a = self.answers
        return np.flatnonzero(np.bincount(self.own_cells, minlength=a.n_workers * a.n_classes))

    @cached_property
    def spoken_of(self) -> IntArray:
        """Which of these each answer is."""
        place = np.zeros(self.answers.n_workers * self.answers.n_classes, np.int64)
        place[self.spoken] = np.arange(len(self.spoken))
        return place[self.own_cells]

    @cached_property
    def spoken_of_row(self) -> IntArray:
        """Which of these each row is."""
        return self.spoken_of[self.rows]

    @cached_property
    def row_groups(self) -> IntArray:
        """The group of each row."""
        return self.group[self.answers.worker[self.rows]]

    @cached_property
    def cell_starts(self) -> IntArray:
        """Where each cell begins among the rows."""
        a = self.answers
        unit = a.task[self.rows].astype(np.int64) * self.n_groups + self.row_groups
        return _starts(unit * a.n_classes + a.label[self.rows])

    @cached_property
    def first(self) -> IntArray:
        """The first answer of each cell."""
        return self.rows[self.cell_starts]

    @cached_property
    def cell_groups(self) -> IntArray:
        """The group of each cell."""
        return self.row_groups[self.cell_starts]

    @cached_property
    def unit_starts(self) -> IntArray:
        """Where each unit begins among the cells."""
        return _starts(self.answers.task[self.first].astype(np.int64) * self.n_groups + self.cell_groups)

    @cached_property
    def unit_groups(self) -> IntArray:
        """The group of each unit."""
        return self.cell_groups[self.unit_starts]

    @cached_property
    def unit_tasks(self) -> IntArray:
        """The task of each unit."""
        tasks: IntArray = self.answers.task[self.first[self.unit_starts]]
        return tasks

    @cached_property
    def cell_of_row(self) -> IntArray:
        """The cell of each row."""
        return np.repeat(np.arange(len(self.cell_starts)), np.diff(np.append(self.cell_starts, len(self.rows))))

    @cached_property
    def unit_of_cell(self) -> IntArray:
        """The unit of each cell."""
        return np.repeat(np.arange(len(self.unit_starts)), np.diff(np.append(self.unit_starts, len(self.cell_starts))))

    def by_unit(self, values: FloatArray) -> FloatArray:
        """Sum values of the cells over each unit."""
        sums: FloatArray = np.add.reduceat(values, self.unit_starts, axis=0)
        return sums


def one_voice(answers: Answers, group: IntArray) -> Answers:
    """Let each group answer as one worker: the class that most of its members gave; where two are alike, the others'.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 1], "worker": list("abcd"), "label": list("xxyy")})
    >>> voices = one_voice(answers, np.array([0, 0, 0, 1]))
    >>> voices.worker.tolist(), voices.label.tolist()
    ([0, 1], [0, 1])
    """
    m, n = answers.n_classes, int(group.max()) + 1
    unit = answers.task.astype(np.int64) * n + group[answers.worker]
    keys, place = np.unique(unit, return_inverse=True)
    votes = np.bincount(place * m + answers.label, minlength=len(keys) * m).reshape(-1, m)
    label = (votes + OTHERS * answers.counts[keys // n]).argmax(axis=1)
    task, worker, label = (each.astype(np.int32) for each in (keys // n, keys % n, label))
    names = from_strings([f"group {k}" for k in range(n)])
    return Answers(task, worker, label, answers.task_names, names, answers.classes)


def _starts(key: IntArray) -> IntArray:
    """Where each run of the same key begins."""
    if len(key) == 0:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
