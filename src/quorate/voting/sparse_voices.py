"""What the three opinions say of tasks where classes are many: of those that somebody gave, and a rule for the others.

A class that nobody gave a task has a score that is one number of the task plus one of the class, so a table of tasks ×
classes is never kept: it is made for a run of tasks when it is needed, and forgotten.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, runs, starts_of
from quorate.blocks.block import Block, Blocks
from quorate.blocks.plain import softmax
from quorate.voting.dependence import flattening
from quorate.voting.population import calibrated


@dataclass(frozen=True)
class SparseScores:
    """Scores of tasks × classes, kept for the classes that somebody gave.

    >>> scores = SparseScores(np.array([1]), np.array([0]), np.array([5.0]), np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    >>> scores.table().tolist()
    [[1.5, 1.0], [5.0, 2.0]]
    """

    task: IntArray  # of each cell that has a score of its own, never decreasing
    label: IntArray
    value: FloatArray
    of_task: FloatArray  # of any other cell: this number of its task
    of_class: FloatArray  # plus this of its class

    @cached_property
    def _start(self) -> IntArray:
        """Where the cells of each task begin, and last where they all end."""
        return starts_of(np.bincount(self.task, minlength=len(self.of_task)))

    def rows(self, tasks: IntArray) -> FloatArray:
        """Write out the scores of some tasks, a row each."""
        table: FloatArray = self.of_task[tasks][:, None] + self.of_class
        begin, end = self._start[tasks], self._start[tasks + 1]
        row = np.repeat(np.arange(len(tasks)), end - begin)
        cell = np.arange(len(row)) + np.repeat(begin - starts_of(end - begin)[:-1], end - begin)
        table[row, self.label[cell]] = self.value[cell]
        return table

    def table(self) -> FloatArray:
        """Write out the scores of all tasks."""
        return self.rows(np.arange(len(self.of_task)))


@dataclass(frozen=True)
class SparseVoices:
    """Scores by skill, by matrix and by majority: what `quorate.voting.voices.Voices` says, without its matrices."""

    opinions: tuple[SparseScores, ...]

    def all_scores(self, answers: Answers) -> tuple[FloatArray, ...]:
        """Write out the scores of all tasks, which these answers are to."""
        return tuple(each.table() for each in self.opinions)

    def believe(self, blocks: Blocks, weights: FloatArray, rho: float, calibration: FloatArray) -> Iterator[FloatArray]:
        """Return what the opinions come to, run by run: flattened for rho, weighed, and calibrated."""
        return (calibrated(each, calibration) for each in self.mixed(blocks, weights, rho))

    def mixed(self, blocks: Blocks, weights: FloatArray, rho: float) -> Iterator[FloatArray]:
        """Return the same before calibration."""

        def believed(block: Block) -> Iterator[FloatArray]:
            for run in runs(block.n_tasks, block.n_classes):
                tasks = np.arange(block.n_tasks)[run] + block.first
                factor = flattening(block.per_task[run], rho)[:, None]
                parts = (w * softmax(each.rows(tasks) * factor) for w, each in zip(weights, self.opinions, strict=True))
                yield sum(parts, np.zeros((len(tasks), block.n_classes)))

        for of_block in blocks.each(believed):
            yield from of_block
        if blocks.n_tasks == 0:
            yield np.zeros((0, blocks.n_classes))


def counted(answers: Answers, values: FloatArray, of_task: FloatArray, of_class: FloatArray) -> SparseScores:
    """Add a value of each answer to the scores of the class that it gives its task.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}, classes=list("xyz"))
    >>> counted(answers, np.array([1.0, 2.0, 3.0]), np.array([10.0]), np.zeros(3)).table().tolist()
    [[11.0, 15.0, 10.0]]
    """
    cells, place = np.unique(answers.cells, return_inverse=True)
    task, label = cells // max(answers.n_classes, 1), cells % max(answers.n_classes, 1)
    total = np.bincount(place, values, len(cells)) + of_task[task] + of_class[label]
    return SparseScores(task, label, total, of_task, of_class)
