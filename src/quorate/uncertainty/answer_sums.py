"""The answers laid out for sums, over tasks and over workers, of what each answer has: full intervals draw such.

Sums of something that each worker has are the kernels' (`quorate.blocks.kernels`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, starts_of


@dataclass(frozen=True)
class AnswerSums:
    """The answers laid out for sums over tasks and over workers, each one pass through memory.

    A sum over a worker's tasks reads the tasks in their order and adds into a table of workers, which fits in the
    cache; a sparse matrix by worker would jump through the table of tasks, which does not.
    """

    worker: IntArray  # of each answer
    cell: IntArray  # task·M + class of each answer, never decreasing by task
    per_task: IntArray
    n_answers: FloatArray  # of each worker
    n_classes: int

    @cached_property
    def _starts(self) -> tuple[IntArray, IntArray]:
        """The tasks that have answers, and where those begin."""
        answered = np.flatnonzero(self.per_task)
        return answered, starts_of(self.per_task)[answered]

    def by_task(self, values: FloatArray) -> FloatArray:
        """Sum a value of each answer over the answers of each task."""
        answered, starts = self._starts
        sums = np.zeros(len(self.per_task))
        if len(starts):
            sums[answered] = np.add.reduceat(values, starts)
        return sums

    def by_worker(self, values: FloatArray) -> FloatArray:
        """Sum a value of each answer over the answers of each worker."""
        return np.bincount(self.worker, values, len(self.n_answers)).astype(np.float64, copy=False)

    def spread(self, of_task: FloatArray) -> FloatArray:
        """Give each answer the value of its task."""
        return np.repeat(of_task, self.per_task)

    def of_mates(self, values: FloatArray) -> FloatArray:
        """Give each answer the sum of a value over the other answers of its task."""
        return self.spread(self.by_task(values)) - values

    def agreement(self, x_of_answer: FloatArray) -> FloatArray:
        """Return, for each answer, the sum over its task of a_ijt x_j, its own part (x_i) included."""
        m = self.n_classes
        alike = np.bincount(self.cell, x_of_answer, len(self.per_task) * m)[self.cell]
        agreed: FloatArray = (m * alike - self.spread(self.by_task(x_of_answer))) / (m - 1)
        return agreed


def answer_sums(answers: Answers) -> AnswerSums:
    """Lay the answers out for sums over tasks and over workers.

    >>> import quorate
    >>> sums = answer_sums(quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")}))
    >>> sums.of_mates(np.array([1.0, 10.0, 100.0])).tolist()
    [10.0, 1.0, 0.0]
    """
    return AnswerSums(
        answers.worker.astype(np.intp),
        answers.cells,
        answers.per_task,
        answers.per_worker.astype(np.float64),
        answers.n_classes,
    )
