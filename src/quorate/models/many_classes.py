"""Scores for many classes, stored only for the classes that a task received; its other classes have one score.

A vote changes only the score of its own class, so the classes that a task did not receive differ only by their prior.
The time of the softmax and its totals is then linear in the answers, for any number of classes.
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SparseScores:
    """The cells of a table of tasks × classes that have an answer.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}, classes=list("xyz"))
    >>> cells = SparseScores.of(answers)
    >>> posterior, log_total = cells.posterior(cells.sum_answers(np.log([2.0, 2.0, 3.0])))
    >>> posterior.round(3).tolist(), np.exp(log_total).round(3).tolist()  # 2, 2·3 and 1 of 9
    ([0.222, 0.667], [9.0])
    """

    task: IntArray  # [cells]
    label: IntArray  # [cells]
    cell_of_answer: IntArray  # [answers]
    n_tasks: int
    n_classes: int

    @staticmethod
    def of(answers: Answers) -> "SparseScores":
        """Return the cells of these answers, in order of task and class."""
        cells, cell_of_answer = np.unique(answers.cells, return_inverse=True)
        m = answers.n_classes
        return SparseScores(cells // m, cells % m, cell_of_answer, answers.n_tasks, m)

    def sum_answers(self, values: FloatArray) -> FloatArray:
        """Sum a value of each answer over the answers of each cell."""
        sums: FloatArray = np.bincount(self.cell_of_answer, values, len(self.task)).astype(np.float64, copy=False)
        return sums

    def posterior(self, scores: FloatArray, prior: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the posterior of each cell, and the log of the normalising sum over all classes of each task.

        The posterior of a class that a task did not receive is its prior divided by this sum.

        Args:
            scores: of each cell; a class without answers has score zero.
            prior: probability of each class; by default one for every class.
        """
        weight = np.ones(self.n_classes) if prior is None else prior
        largest = np.zeros(self.n_tasks)
        np.maximum.at(largest, self.task, scores)
        observed = weight[self.label] * np.exp(scores - largest[self.task])
        prior_observed = np.bincount(self.task, weight[self.label], self.n_tasks)
        prior_unobserved = np.maximum(weight.sum() - prior_observed, 0.0)
        total = np.bincount(self.task, observed, self.n_tasks) + prior_unobserved * np.exp(-largest)
        return observed / total[self.task], largest + np.log(total)
