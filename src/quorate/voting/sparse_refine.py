"""The refinement with only the cells that occur, for many classes: a task may be of any class that somebody gave it.

Triplets (worker, answer, class) are kept where the worker gave the answer on a task on which somebody gave the class:
at most the sum over tasks of answers × different classes given, whatever the number of classes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.progress import tracked
from quorate.voting.posterior import FLOOR
from quorate.voting.refine import MOST_WRONG, SETTLED, STEPS, relative_errors
from quorate.voting.shrinkage import above_guessing, crowd_worth
from quorate.voting.sparse_voices import SparseScores


def refine_sparse(answers: Answers, start: SparseScores, skills: FloatArray, *, steps: int = STEPS) -> SparseScores:
    """Do what `quorate.voting.refine.refine` does where its matrices would not fit, and return the scores.

    A class that nobody gave a task is scored as if each of its answers were one of all wrong ones, alike likely.

    Args:
        answers: who answered what.
        start: the scores to start from, of the classes that somebody gave each task.
        skills: of each worker.
        steps: of EM at the most.

    >>> import quorate
    >>> from quorate.voting.sparse_voices import counted
    >>> crowd = quorate.simulate.crowd(200, 10, 4, n_classes=3, seed=0)
    >>> votes = counted(crowd.answers, np.ones(800), np.zeros(200), np.zeros(3))
    >>> scores = refine_sparse(crowd.answers, votes, crowd.skills).table()
    >>> bool((scores.argmax(axis=1) == crowd.truth).mean() > 0.8)
    True
    """
    cells, m = _Occurring(answers), answers.n_classes
    relative = relative_errors(answers.per_worker.astype(np.float64), skills, m)[cells.worker]
    p = cells.shares(np.maximum(np.exp(start.value - cells.best(start.value)), FLOOR))
    for _ in tracked("refining", range(steps)):
        prior = (np.bincount(cells.label, p, m) + 1) / (answers.n_tasks + m)
        theta, right = cells.matrices(p, relative)
        said = np.bincount(cells.cell, np.log(np.maximum(theta, FLOOR)), len(cells.task)).astype(np.float64)
        scores = said + np.log(prior[cells.label])
        new = cells.shares(np.exp(scores - cells.best(scores)))
        change = np.abs(new - p).sum() / answers.n_tasks
        p = new
        if change <= SETTLED:
            break
    unsaid = answers.per_task * np.log(max((1 - right) / max(m - 1, 1), FLOOR))
    return SparseScores(cells.task, cells.label, scores, unsaid, np.log(prior))


@dataclass(frozen=True)
class _Occurring:
    """Cells (task, class given), and for each answer one triplet for each class that somebody gave its task."""

    answers: Answers

    @cached_property
    def _keys(self) -> IntArray:
        return np.unique(self.answers.cells)

    @cached_property
    def task(self) -> IntArray:
        """Of each cell, never decreasing."""
        return self._keys // self.answers.n_classes

    @cached_property
    def label(self) -> IntArray:
        """Of each cell."""
        return self._keys % self.answers.n_classes

    @cached_property
    def start(self) -> IntArray:
        """Where the cells of each task begin, and last where they all end."""
        return np.searchsorted(self.task, np.arange(self.answers.n_tasks + 1))

    @cached_property
    def _width(self) -> IntArray:
        """Classes given on each answer's task."""
        return np.diff(self.start)[self.answers.task]

    @cached_property
    def _row(self) -> IntArray:
        """The answer of each triplet."""
        return np.repeat(np.arange(self.answers.n_answers), self._width)

    @cached_property
    def cell(self) -> IntArray:
        """The cell of each triplet."""
        within = np.arange(len(self._row)) - np.repeat(np.cumsum(self._width) - self._width, self._width)
        return np.repeat(self.start[self.answers.task], self._width) + within

    @cached_property
    def worker(self) -> IntArray:
        """The worker of each triplet."""
        worker: IntArray = self.answers.worker[self._row].astype(np.int64)
        return worker

    @cached_property
    def said(self) -> IntArray:
        """The answer of each triplet."""
        said: IntArray = self.answers.label[self._row].astype(np.int64)
        return said

    @cached_property
    def given(self) -> IntArray:
        """The class that each triplet supposes."""
        return self.label[self.cell]

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Of each triplet, its number among (worker, answer, class), (worker, class) and (answer, class); these."""
        m = self.answers.n_classes
        triple = np.unique((self.worker * m + self.said) * m + self.given, return_inverse=True)[1]
        column = np.unique(self.worker * m + self.given, return_inverse=True)[1]
        pairs, pair = np.unique(self.said * m + self.given, return_inverse=True)
        return triple, column, pair, pairs

    def matrices(self, p: FloatArray, relative: FloatArray) -> tuple[FloatArray, float]:
        """Return theta of each triplet, shrunk toward the crowd's matrix, and how often the crowd is right."""
        m = self.answers.n_classes
        triple, column, pair, pairs = self._places
        given, is_right = pairs % m, pairs // m == pairs % m
        weight = p[self.cell]
        total = np.bincount(pair, weight, len(pairs))
        by_class = np.bincount(given, total, m) + m / 2
        right = above_guessing(total[is_right].sum() / max(total.sum(), FLOOR), m)
        pooled = (total + m / 2 * np.where(is_right, right, (1 - right) / max(m - 1, 1))) / by_class[given]
        strength = crowd_worth(right, m) * m / 2
        hits = np.bincount(given[is_right], total[is_right], m)
        wrong = relative * (1 - (hits + right * m / 2) / by_class)[self.given]  # of the class, by this worker
        tilt = relative * np.minimum(1.0, MOST_WRONG / np.maximum(wrong, FLOOR))
        prior = np.where(self.said == self.given, 1 - np.minimum(wrong, MOST_WRONG), tilt * pooled[pair])
        counts, of_column = (np.bincount(place, weight)[place] for place in (triple, column))
        theta: FloatArray = (counts + strength * prior) / (of_column + strength)
        return theta, right

    def shares(self, values: FloatArray) -> FloatArray:
        """Make the cells of each task sum to one."""
        share: FloatArray = values / np.bincount(self.task, values, self.answers.n_tasks)[self.task]
        return share

    def best(self, scores: FloatArray) -> FloatArray:
        """Return the best score of each cell's task."""
        answered = np.flatnonzero(np.diff(self.start))
        top = np.full(self.answers.n_tasks, -np.inf)
        top[answered] = np.maximum.reduceat(scores, self.start[answered])
        return top[self.task]
