"""How much workers err together, measured in the crowd itself, and what that makes of a score.

Given the belief q and the confusion matrices theta, an answer's residual is the answer as a unit vector less theta's
column for the believed class. Independent workers' residuals on a task are uncorrelated; rho is the mean correlation
of two of them. One pass over the answers for each of the two likeliest classes; no pair is formed.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from quorate.answers import Answers
from quorate.arrays import CELLS, FloatArray, IntArray, sums_of
from quorate.blocks.block import Block
from quorate.voting.vote import accuracy

MEASURED, INDEPENDENT = "measured", "independent"
DEPENDENCES = (MEASURED, INDEPENDENT)  # what a caller may say of the workers
HIDDEN = 5.0  # true over measured: the believed class hides most of it (2 to 4 in simulations and public crowds; the
# mean log-loss over the 26 public crowds is alike for 4 to 6)
TYPICAL, WORTH = 0.05, 200.0  # a typical crowd's measured correlation, and the answers that it is worth
LIKELIEST = 2  # classes of each task that are looked at: the others hold next to no belief
ENOUGH = 150_000  # answers that it is measured on, at the most: they tell it to .007
ENTRIES = 30_000_000  # of answers × classes, 240 MB: of many classes, fewer answers
SIDE = 1.96  # standard errors on each side of an interval of 95 %


@dataclass(frozen=True)
class Matrices:
    """A confusion matrix a worker, as full matrices or, where those would not fit, as one accuracy each."""

    theta: FloatArray | None  # workers × answers × classes
    accuracy: FloatArray  # of each worker, used where theta is None
    n_classes: int

    def columns(self, worker: IntArray, given: IntArray) -> FloatArray:
        """Return how likely each answer of a worker is, given a class; one row for each worker and class."""
        if self.theta is not None:
            columns: FloatArray = self.theta[worker, :, given]
            return columns
        right = self.accuracy[worker]
        spread = np.repeat(((1 - right) / max(self.n_classes - 1, 1))[:, None], self.n_classes, axis=1)
        spread[np.arange(len(worker)), given] = right
        return spread


def matrices_by_skill(skills: FloatArray, n_classes: int) -> Matrices:
    """Take every worker to err alike on all classes.

    >>> matrices_by_skill(np.array([0.0, 0.4]), 4).columns(np.array([1]), np.array([2])).round(2).tolist()
    [[0.15, 0.15, 0.55, 0.15]]
    """
    return Matrices(None, np.clip(accuracy(skills, n_classes), 0.0, 1.0), n_classes)


@dataclass(frozen=True)
class Dependence:
    """The correlation of two workers' errors on a task, and how far the tasks looked at leave it open."""

    rho: float
    low: float
    high: float

    def votes(self, per_task: FloatArray) -> tuple[float, float, float]:
        """Return what a task's answers are worth in independent ones: the mean, and its ends as rho has them."""
        means = [float((per_task * flattening(per_task, rho)).mean()) for rho in (self.rho, self.high, self.low)]
        return means[0], means[1], means[2]


NONE = Dependence(0.0, 0.0, 0.0)  # workers who are said to err independently


def dependence_of(answers: Answers, posterior: FloatArray, matrices: Matrices) -> Dependence:
    """Measure how much workers err together.

    Args:
        answers: who answered what.
        posterior: what the tasks are believed to be, tasks × classes.
        matrices: of confusion.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(1000, 20, 5, seed=0)
    >>> found = dependence_of(crowd.answers, np.eye(2)[crowd.truth], matrices_by_skill(crowd.skills, 2))
    >>> bool(found.rho < 0.1)
    True
    """
    return ratio(*residual_products(answers, posterior, matrices))


def enough_of(n_classes: int) -> int:
    """Return how many answers dependence is measured on, at the most.

    >>> enough_of(2), enough_of(1000)
    (150000, 30000)
    """
    return min(ENOUGH, ENTRIES // max(n_classes, 1))


def ratio(products: FloatArray, alike: FloatArray) -> Dependence:
    """Return rho from each task's products, shrunk toward a typical crowd's and scaled up by what belief hides.

    The interval is that of a ratio of two sums over tasks (delta method); what HIDDEN leaves open is not in it.

    >>> ratio(np.zeros(0), np.zeros(0)).rho
    0.25
    """
    total = alike.sum() + WORTH
    measured = (products.sum() + WORTH * TYPICAL) / total
    error = np.sqrt(((products - measured * alike) ** 2).sum()) / total
    ends = np.clip(HIDDEN * (measured + SIDE * error * np.array([0.0, -1.0, 1.0])), 0.0, 1.0)
    return Dependence(*(float(end) for end in ends))


def residual_products(answers: Answers, posterior: FloatArray, matrices: Matrices) -> tuple[FloatArray, FloatArray]:
    """Sum the products of residuals over the pairs of each task, and what they would be if all were alike.

    Each task weighs 1/(R-1), so that an answer counts once. The ratio of the sums is the measured correlation.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> products, alike = residual_products(answers, np.array([[1.0, 0.0]]), matrices_by_skill(np.zeros(2), 2))
    >>> products.tolist(), alike.round(9).tolist()  # they differ on the task: -1/2 for each of the two orders
    ([-1.0], [1.0])
    """
    at_once = max(CELLS // max(answers.n_classes, 1), 1)  # answers; their tasks are taken whole
    cuts = np.searchsorted(answers.start, np.arange(at_once, answers.n_answers, at_once))
    runs = pairwise(np.unique([0, *cuts.tolist(), answers.n_tasks]).tolist())
    parts = [_residuals(answers, posterior, matrices, slice(*run)) for run in runs]
    products, alike = (np.concatenate([np.zeros(0), *each]) for each in zip(*parts, strict=True))
    return products, alike


def _residuals(
    answers: Answers, posterior: FloatArray, matrices: Matrices, tasks: slice
) -> tuple[FloatArray, FloatArray]:
    """Do so for a run of tasks."""
    start, belief = answers.start[tasks.start : tasks.stop + 1], posterior[tasks]
    rows, per_task = slice(start[0], start[-1]), answers.per_task[tasks]
    worker, label = answers.worker[rows], answers.label[rows]
    within = np.repeat(np.arange(len(per_task)), per_task)
    starts = start - start[0]
    cells = np.bincount(within * answers.n_classes + label, minlength=len(per_task) * answers.n_classes)
    counts = cells.reshape(len(per_task), -1)
    products, alike = np.zeros(len(per_task)), np.zeros(len(per_task))
    share = (per_task > 1) / np.maximum(per_task - 1.0, 1.0)
    likeliest = np.argsort(-belief, axis=1, kind="stable")[:, :LIKELIEST]
    for given, column in [(given, matrices.columns(worker, given[within])) for given in likeliest.T]:
        weight = belief[np.arange(len(given)), given] * share
        square = np.einsum("al,al->a", column, column)
        rest = counts - sums_of(column, starts)
        own = sums_of(1 - 2 * column[np.arange(len(label)), label] + square, starts)
        spread = np.sqrt(np.maximum(1 - square, 0.0))
        products += weight * (np.einsum("tl,tl->t", rest, rest) - own)
        alike += weight * (sums_of(spread, starts) ** 2 - sums_of(spread**2, starts))
    return products, alike


def flattening(per_task: FloatArray | IntArray, rho: float) -> FloatArray:
    """Return the factor of each task's score: R answers with correlation rho are worth R/(1 + rho·(R-1)).

    >>> flattening(np.array([1, 3]), 0.5).tolist()
    [1.0, 0.5]
    """
    factor: FloatArray = 1 / (1 + rho * np.maximum(per_task - 1.0, 0.0))
    return factor


def flat_in(block: Block, factor: FloatArray | float) -> FloatArray:
    """Return the factor of each of a block's tasks, as a column.

    Args:
        block: of tasks.
        factor: of all tasks, or the dependence that asks for it.

    >>> block = Block(np.array([0, 3]), np.array([0, 1, 2]), np.array([0, 0, 0]), n_workers=3, n_classes=2)
    >>> flat_in(block, 0.5).tolist(), flat_in(block, np.array([0.7])).tolist()
    ([[0.5]], [[0.7]])
    """
    own = factor[block.tasks] if isinstance(factor, np.ndarray) else flattening(block.per_task, factor)
    return own[:, None]
