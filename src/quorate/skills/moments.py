"""The two products that every solver needs: N v, and (N∘C) v. Formed from answers in linear time, or from pairs.

With a_ijt = M/(M-1)·[same class] - 1/(M-1), the sum of a_ijt over the tasks that i and j share is N_ij C_ij. So
(N∘C) v needs, for each task, only the sum of v over its workers, and over those who gave each class; no pair is formed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, starts_of
from quorate.meetings.pairs import correlations, pair_stats, sums_of_ends
from quorate.skills.matrices import MANY, matrix_products

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

    # x -> (N∘C) x and N x² in one pass over the answers; None where each has its own matrix
    both: Callable[[FloatArray], tuple[FloatArray, FloatArray]] | None = None
    # every pair: i, j, weight, correlation; None where a table of them is too much
    table: Callable[[], tuple[IntArray, IntArray, FloatArray, FloatArray]] | None = None

    @property
    def n_workers(self) -> int:
        """W."""
        return len(self.degree)

    def products(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N∘C) x and N x², which loss, gradient and every worker's best skill are made of."""
        return (self.signed @ x, self.shared @ (x * x)) if self.both is None else self.both(x)


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

    @cached_property
    def _scratch(self) -> tuple[FloatArray, FloatArray]:
        """Room for two values of each answer: asking the system for it anew in every sweep costs as much as a sum."""
        return np.empty(len(self.worker)), np.empty(len(self.worker))

    @cached_property
    def _sides(self) -> FloatArray:
        """Of two classes, +1 for the first and -1 for the second."""
        odd = np.bitwise_and(self.cell, 1, out=self._scratch[1].view(self.cell.dtype))
        sides: FloatArray = np.multiply(odd, -2.0)
        sides += 1.0
        return sides

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
        if self.n_classes == 2:  # a_ijt is a product of signs, so one sum a task does
            said = np.multiply(self._sides, x_of_answer, out=self._scratch[1])
            return np.multiply(self._sides, self.spread(self.by_task(said)), out=said)
        m, n_tasks = self.n_classes, len(self.per_task)
        cells: FloatArray = np.bincount(self.cell, x_of_answer, n_tasks * m).astype(np.float64, copy=False)
        by_class = cells.reshape(n_tasks, m)
        by_class -= self.by_task(x_of_answer)[:, None] / m
        cells *= m / (m - 1)
        return np.take(cells, self.cell, out=self._scratch[1], mode="clip")

    def both(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N∘C) x and N x²."""
        mine = np.take(x, self.worker, out=self._scratch[0], mode="clip")
        signed = self.by_worker(self.agreement(mine)) - self.n_answers * x
        mine *= mine
        squares = self.by_worker(self.spread(self.by_task(mine))) - self.n_answers * (x * x)
        return signed, squares


@dataclass(frozen=True)
class TaskSums:
    """N: one sum over the workers of each task, less the worker's own part."""

    sums: AnswerSums

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by a vector in O(answers)."""
        sums = self.sums
        return sums.by_worker(sums.spread(sums.by_task(v[sums.worker]))) - sums.n_answers * v


@dataclass(frozen=True)
class AgreementSums:
    """N∘C: the same over the workers of each task, and over those who gave each class."""

    sums: AnswerSums

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by a vector in O(answers)."""
        return self.sums.by_worker(self.sums.agreement(v[self.sums.worker])) - self.sums.n_answers * v


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


def from_answers(answers: Answers) -> Moments:
    """Form the moments with the weights N_ij, without a table of pairs.

    >>> import quorate
    >>> moments = from_answers(quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")}))
    >>> (moments.shared @ np.array([1.0, 10.0])).tolist(), (moments.signed @ np.array([1.0, 10.0])).tolist()
    ([20.0, 2.0], [0.0, 0.0])
    """
    m, sums = answers.n_classes, answer_sums(answers)
    agreements, meetings = _n_pairs(np.bincount(sums.cell)), _n_pairs(answers.per_task)
    return Moments(
        TaskSums(sums),
        AgreementSums(sums),
        sums.by_worker(sums.spread(answers.per_task.astype(np.float64) - 1)),
        energy=float(agreements + (meetings - agreements) / (m - 1) ** 2),  # a_ijt is 1, or -1/(M-1)
        absolute_sums=lambda low, high: _absolute_sums(answers, low, high),
        both=sums.both if answers.n_answers < MANY else matrix_products(answers),
    )


def from_pairs(n_workers: int, i: IntArray, j: IntArray, weights: FloatArray, correlation: FloatArray) -> Moments:
    """Form the moments of given pairs, with any weights and any correlations.

    >>> moments = from_pairs(2, np.array([0]), np.array([1]), np.array([4.0]), np.array([0.5]))
    >>> (moments.signed @ np.array([1.0, 10.0])).tolist()
    [20.0, 2.0]
    """
    from quorate.meetings.spectrum import symmetric  # which imports scipy.sparse

    def absolute_sums(low: float, high: float) -> FloatArray:
        entries = weights * np.clip(np.abs(correlation), low, high)
        return sums_of_ends(n_workers, i, j, entries)

    return Moments(
        symmetric(n_workers, i, j, weights),
        symmetric(n_workers, i, j, weights * correlation),
        sums_of_ends(n_workers, i, j, weights),
        energy=float((weights * correlation**2).sum()),
        absolute_sums=absolute_sums,
        table=lambda: (i, j, weights, correlation),
    )


def _absolute_sums(answers: Answers, low: float, high: float) -> FloatArray:
    pairs = pair_stats(answers)
    entries = pairs.shared * np.clip(np.abs(correlations(pairs, answers.n_classes)), low, high)
    return pairs.by_worker(answers.n_workers, entries)


def _n_pairs(counts: IntArray) -> int:
    """How many pairs there are within groups of these sizes."""
    return int(counts @ counts - counts.sum()) // 2
