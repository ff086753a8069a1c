"""The two products that every solver needs: N v, and (N∘C) v. Formed from answers in linear time, or from pairs.

With a_ijt = M/(M-1)·[same class] - 1/(M-1), the sum of a_ijt over the tasks that i and j share is N_ij C_ij. So
(N∘C) v needs, for each task, only the sum of v over its workers, and over those who gave each class; no pair is formed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.pairs import correlations, pair_stats

WEIGHTINGS: dict[str, Callable[[IntArray], FloatArray]] = {
    "shared": lambda shared: shared.astype(np.float64),  # N_ij, the inverse variance of C_ij; the default
    "binary": lambda shared: np.ones(len(shared)),
    "squared": lambda shared: shared.astype(np.float64) ** 2,
}


class Operator(Protocol):
    """A symmetric workers × workers matrix with zero diagonal, known by its products."""

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by a vector."""


@dataclass(frozen=True)
class Moments:
    """What the least-squares objective knows of the data."""

    shared: Operator  # N, or the weights that stand for it
    signed: Operator  # N∘C
    degree: FloatArray  # row sums of N
    energy: float  # sum over pairs of N_ij C_ij^2, or with each task's a_ijt for C_ij: a constant of the objective
    # (low, high) -> sum_j N_ij·clip(|C_ij|, low, high); None where only sums over tasks are known
    absolute_sums: Callable[[float, float], FloatArray] | None = None

    @property
    def n_workers(self) -> int:
        """W."""
        return len(self.degree)


@dataclass(frozen=True)
class TaskSums:
    """N: one sum over the workers of each task, less the worker's own part."""

    workers: sparse.csr_array  # tasks × workers, 1 where answered
    tasks: sparse.csr_array  # its transpose
    n_answers: FloatArray

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by a vector in O(answers)."""
        product: FloatArray = self.tasks @ (self.workers @ v) - self.n_answers * v
        return product


@dataclass(frozen=True)
class AgreementSums:
    """N∘C: the same over the workers of each task, and over those who gave each class."""

    everyone: TaskSums
    alike: TaskSums  # its "tasks" are the (task, class) cells
    n_classes: int

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by a vector in O(answers)."""
        m = self.n_classes
        return (m * (self.alike @ v) - (self.everyone @ v)) / (m - 1)


def from_answers(answers: Answers) -> Moments:
    """Form the moments with the weights N_ij, without a table of pairs.

    >>> import quorate
    >>> moments = from_answers(quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")}))
    >>> (moments.shared @ np.array([1.0, 10.0])).tolist(), (moments.signed @ np.array([1.0, 10.0])).tolist()
    ([20.0, 2.0], [0.0, 0.0])
    """
    m = answers.n_classes
    everyone = _task_sums(answers.task, answers, answers.n_tasks)
    alike = _task_sums(answers.task.astype(np.int64) * m + answers.label, answers, answers.n_tasks * m)
    agreements = _n_pairs(answers.counts).sum()
    meetings = _n_pairs(answers.per_task).sum()
    return Moments(
        everyone,
        AgreementSums(everyone, alike, m),
        everyone @ np.ones(answers.n_workers),
        energy=float(agreements + (meetings - agreements) / (m - 1) ** 2),  # a_ijt is 1, or -1/(M-1)
        absolute_sums=lambda low, high: _absolute_sums(answers, low, high),
    )


def from_pairs(n_workers: int, i: IntArray, j: IntArray, weights: FloatArray, correlation: FloatArray) -> Moments:
    """Form the moments of given pairs, with any weights and any correlations.

    >>> moments = from_pairs(2, np.array([0]), np.array([1]), np.array([4.0]), np.array([0.5]))
    >>> (moments.signed @ np.array([1.0, 10.0])).tolist()
    [20.0, 2.0]
    """

    def absolute_sums(low: float, high: float) -> FloatArray:
        entries = weights * np.clip(np.abs(correlation), low, high)
        return _row_sums(n_workers, i, j, entries)

    return Moments(
        _symmetric(n_workers, i, j, weights),
        _symmetric(n_workers, i, j, weights * correlation),
        _row_sums(n_workers, i, j, weights),
        energy=float((weights * correlation**2).sum()),
        absolute_sums=absolute_sums,
    )


def _task_sums(cell: IntArray, answers: Answers, n_cells: int) -> TaskSums:
    entries = (np.ones(answers.n_answers), (cell, answers.worker))
    workers = sparse.coo_array(entries, shape=(n_cells, answers.n_workers)).tocsr()
    return TaskSums(workers, workers.T.tocsr(), answers.per_worker.astype(np.float64))


def _absolute_sums(answers: Answers, low: float, high: float) -> FloatArray:
    pairs = pair_stats(answers)
    entries = pairs.shared * np.clip(np.abs(correlations(pairs, answers.n_classes)), low, high)
    return _row_sums(answers.n_workers, pairs.i, pairs.j, entries)


def _symmetric(n: int, i: IntArray, j: IntArray, values: FloatArray) -> sparse.csr_array:
    upper = sparse.coo_array((values, (i, j)), shape=(n, n))
    return (upper + upper.T).tocsr()


def _row_sums(n: int, i: IntArray, j: IntArray, values: FloatArray) -> FloatArray:
    sums: FloatArray = np.bincount(i, values, n).astype(np.float64) + np.bincount(j, values, n)
    return sums


def _n_pairs(counts: FloatArray | IntArray) -> FloatArray:
    c = counts.astype(np.float64)
    return c * (c - 1) / 2
