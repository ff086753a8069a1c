"""Confusion matrices <-> posterior: the two products that every model of confusion is fitted with.

With q the posterior (tasks × classes) and theta_i(l, g) the probability that worker i answers l where the truth is g,
both are products with one sparse matrix: tasks × (worker, answer) cells, a one for every answer.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import TooLargeError

ENTRIES = 100_000_000  # of all confusion matrices together, or of the posterior: 800 MB
FLOOR = float(np.finfo(np.float64).tiny)  # the least probability: its logarithm is finite


@dataclass(frozen=True)
class Cells:
    """The answers as a sparse matrix of ones, and both its products."""

    matrix: sparse.csr_array  # tasks × (worker·M + answer)
    n_classes: int

    @cached_property
    def by_worker(self) -> sparse.csr_array:
        """The transpose, laid out by worker."""
        return self.matrix.T.tocsr()

    def expected_counts(self, posterior: FloatArray) -> FloatArray:
        """Return how often each worker is expected to have answered l where g is true; workers × answers × classes."""
        counts: FloatArray = (self.by_worker @ posterior).reshape(-1, self.n_classes, self.n_classes)
        return counts

    def log_joint(self, log_theta: FloatArray, prior: FloatArray) -> FloatArray:
        """Return log P(answers, class) of each task and class, from workers × answers × classes of logarithms."""
        scores: FloatArray = self.matrix @ log_theta.reshape(-1, self.n_classes) + np.log(np.maximum(prior, FLOOR))
        return scores


def cells_of(answers: Answers) -> Cells:
    """Form the matrix with a one at (task, worker·M + answer), for every answer.

    >>> import quorate
    >>> cells_of(quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["y", "x"]})).matrix.toarray().tolist()
    [[0.0, 1.0, 1.0, 0.0]]
    """
    column = answers.worker.astype(np.int64) * answers.n_classes + answers.label
    start = np.concatenate([[0], np.cumsum(answers.per_task)])  # the answers lie ordered by task
    shape = (answers.n_tasks, answers.n_workers * answers.n_classes)
    return Cells(sparse.csr_array((np.ones(answers.n_answers), column, start), shape=shape), answers.n_classes)


def softmax(scores: FloatArray) -> FloatArray:
    """Turn log-probabilities up to a constant a row into probabilities.

    >>> softmax(np.log([[1.0, 3.0]])).tolist()
    [[0.25, 0.75]]
    """
    likelihood: FloatArray = np.exp(scores - scores.max(axis=1, keepdims=True))
    likelihood /= likelihood.sum(axis=1, keepdims=True)
    return likelihood


def clamp(posterior: FloatArray, gold: IntArray | None) -> FloatArray:
    """Make the known tasks certain.

    >>> clamp(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([1, -1])).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    if gold is None:
        return posterior
    known = gold >= 0
    fixed = posterior.copy()
    fixed[known] = 0.0
    fixed[known, gold[known]] = 1.0
    return fixed


def check_size(answers: Answers, method: str) -> None:
    """Refuse a crowd whose confusion matrices or posterior would not fit in memory, before it is tried.

    Raises:
        TooLargeError: workers × classes × classes, or tasks × classes, is too much.

    >>> import quorate
    >>> check_size(quorate.simulate.crowd(10, 5, 3).answers, "dawid-skene")
    """
    m = answers.n_classes
    sizes = {
        f"a {m:,} × {m:,} confusion matrix for each of {answers.n_workers:,} workers": answers.n_workers * m**2,
        f"a probability for each of {answers.n_tasks:,} tasks and {m:,} classes": answers.n_tasks * m,
    }
    for what, entries in sizes.items():
        if entries > ENTRIES:
            raise TooLargeError(
                f"{method} keeps {what}: {entries:,} entries, of which it may take {ENTRIES:,}. "
                "Merge rare classes, or use a method with one skill a worker, such as rank-one or iwmv"
            )
