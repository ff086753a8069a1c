"""What can be asked of all tasks: each question is a mean, over tasks, of what a task counts if its class is c."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray


class Estimand(Protocol):
    """Rows of means over tasks: what a task counts by its true class, and what it is expected to by a posterior."""

    @property
    def lowest(self) -> float | FloatArray:
        """The least that a task can count; of each row, where they differ."""

    @property
    def highest(self) -> float | FloatArray:
        """The most."""

    @property
    def is_count(self) -> bool:
        """Whether a task counts or does not, so that the mean is a share."""

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Return what these tasks count if these are their classes; rows × tasks."""

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Return what all tasks count on average over a posterior; rows × tasks."""


class Share:
    """A quantity of which each task counts or does not."""

    lowest = 0.0
    highest = 1.0
    is_count = True


@dataclass(frozen=True)
class Prevalence(Share):
    """The share of each class.

    >>> Prevalence(2).at(np.array([0, 1]), np.array([1, 1])).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """

    n_classes: int

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """One row per class."""
        return ones_where(classes == np.arange(self.n_classes)[:, None])

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Return the posterior itself."""
        return posterior.T


@dataclass(frozen=True)
class Right(Share):
    """The share of tasks that a model gets right.

    >>> Right(np.array([0, -1])).expected(np.array([[0.9, 0.1], [0.5, 0.5]])).tolist()
    [[0.9, 0.0]]
    """

    predicted: IntArray  # a class for every task; negative where it is none that anybody gave

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Whether the prediction is the class."""
        return ones_where(self.predicted[tasks] == classes)[None]

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Return the posterior probability of the prediction."""
        return probability_of(posterior, self.predicted)[None]


@dataclass(frozen=True)
class Better:
    """The accuracy of one model minus that of another."""

    one: IntArray
    two: IntArray
    lowest = -1.0
    highest = 1.0
    is_count = False

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """1 where only the first is right, -1 where only the second."""
        return Right(self.one).at(tasks, classes) - Right(self.two).at(tasks, classes)

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Return the difference of the posterior probabilities of the two predictions."""
        return Right(self.one).expected(posterior) - Right(self.two).expected(posterior)


@dataclass(frozen=True)
class Wins(Share):
    """How often only the first of two models is right, and how often only the second."""

    one: IntArray
    two: IntArray

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Two rows."""
        first, second = (Right(predicted).at(tasks, classes)[0] for predicted in (self.one, self.two))
        return np.stack([first * (1 - second), second * (1 - first)])

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Two rows: they can only part where they predict differently."""
        apart = self.one != self.two
        return np.stack([probability_of(posterior, predicted) * apart for predicted in (self.one, self.two)])


@dataclass(frozen=True)
class Value:
    """The mean of a number that each class stands for."""

    of_class: FloatArray
    is_count = False

    @property
    def lowest(self) -> float:
        """The least value."""
        return float(self.of_class.min())

    @property
    def highest(self) -> float:
        """The greatest value."""
        return float(self.of_class.max())

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Return the value of the class."""
        return self.of_class[classes][None]

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Average the value over the posterior."""
        return (posterior @ self.of_class)[None]


@dataclass(frozen=True)
class Confused(Share):
    """The share of tasks of each true class with each prediction; one row a cell, by true class, then prediction."""

    predicted: IntArray
    n_classes: int

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """One row a cell."""
        cell = np.where(self.predicted[tasks] >= 0, classes * self.n_classes + self.predicted[tasks], -1)
        return ones_where(cell == np.arange(self.n_classes**2)[:, None])

    def expected(self, posterior: FloatArray) -> FloatArray:
        """One row a cell."""
        is_predicted = ones_where(self.predicted == np.arange(self.n_classes)[:, None])
        return (posterior.T[:, None] * is_predicted).reshape(self.n_classes**2, -1)


@dataclass(frozen=True)
class RecallTest:
    """Among the tasks of one class: 1 where a model predicts the class, less a hypothetical recall; for many recalls.

    The recall is the value at which the mean is zero; the values not rejected by a test are its interval (Fieller).
    """

    predicted: IntArray
    of_class: int
    shares: FloatArray
    is_count = False

    @property
    def lowest(self) -> FloatArray:
        """A task of the class that is not found."""
        return -self.shares

    @property
    def highest(self) -> FloatArray:
        """One that is."""
        return 1 - self.shares

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """One row a share."""
        deviation = ones_where(self.predicted[tasks] == self.of_class) - self.shares[:, None]
        return ones_where(classes == self.of_class) * deviation

    def expected(self, posterior: FloatArray) -> FloatArray:
        """One row a share."""
        deviation = ones_where(self.predicted == self.of_class) - self.shares[:, None]
        return posterior[:, self.of_class] * deviation


def ones_where(true: BoolArray) -> FloatArray:
    """Return 1 where the mask is true, and 0 elsewhere.

    >>> ones_where(np.array([True, False])).tolist()
    [1.0, 0.0]
    """
    return np.where(true, 1.0, 0.0)


def probability_of(posterior: FloatArray, classes: IntArray) -> FloatArray:
    """Return the posterior probability of one class of each task; 0 for a class that nobody gave.

    >>> probability_of(np.array([[0.9, 0.1]]), np.array([1])).tolist()
    [0.1]
    """
    p: FloatArray = posterior[np.arange(len(posterior)), np.maximum(classes, 0)]
    return np.where(classes >= 0, p, 0.0)
