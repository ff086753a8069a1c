"""Confusion matrices <-> posterior: the two products that every model of confusion is fitted with.

With q the posterior (tasks × classes) and theta_i(l, g) the probability that worker i answers l where the truth is g,
both are products with one sparse matrix: tasks × (worker, answer) cells, a one for every answer.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.errors import TooLargeError
from quorate.voting.posterior import FLOOR

ENTRIES = 100_000_000  # of all confusion matrices together, or of the posterior: 800 MB


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
    ones = (np.ones(answers.n_answers), answers.worker_cells, answers.start)  # the answers lie ordered by task
    shape = (answers.n_tasks, answers.n_workers * answers.n_classes)
    return Cells(sparse.csr_array(ones, shape=shape), answers.n_classes)


def check_size(answers: Answers, method: str, *, matrices: bool = True) -> None:
    """Refuse a crowd whose confusion matrices or posterior would not fit in memory, before it is tried.

    Args:
        answers: who answered what.
        method: that would keep them.
        matrices: whether it keeps a confusion matrix for each worker, or the posterior alone.

    Raises:
        TooLargeError: workers × classes × classes, or tasks × classes, is too much.

    >>> import quorate
    >>> check_size(quorate.simulate.crowd(10, 5, 3).answers, "dawid-skene")
    """
    m = answers.n_classes
    sizes = {f"a probability for each of {answers.n_tasks:,} tasks and {m:,} classes": answers.n_tasks * m}
    if matrices:
        each = f"a {m:,} × {m:,} confusion matrix for each of {answers.n_workers:,} workers"
        sizes = {each: answers.n_workers * m**2, **sizes}
    for what, entries in sizes.items():
        if entries > ENTRIES:
            raise TooLargeError(
                f"{method} keeps {what}: {entries:,} entries, of which it may take {ENTRIES:,}. "
                "Merge rare classes, or use a method with one skill a worker, such as rank-one or iwmv"
            )
