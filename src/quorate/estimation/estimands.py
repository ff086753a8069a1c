"""Quantities that can be estimated: each is a mean over tasks of a value that depends on the task and its class."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray


class Estimand(Protocol):
    """One or more means over tasks (rows): the value of a task by its true class, and expected by a posterior."""

    @property
    def lowest(self) -> float | FloatArray:
        """The smallest possible value of a task; one per row if the rows differ."""

    @property
    def highest(self) -> float | FloatArray:
        """The largest possible value of a task; one per row if the rows differ."""

    @property
    def is_count(self) -> bool:
        """Whether the value of a task is 0 or 1, so that the mean is a share of the tasks."""

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Return the values of these tasks if these are their classes; rows × tasks."""

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Return the expected values of all tasks under a posterior; rows × tasks."""


class Share:
    """A quantity whose value is 0 or 1 for each task."""

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

    predicted: IntArray  # a class for every task; negative if it is not a class of the answers

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Return 1 where the prediction is the class, else 0."""
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
    """Two rows: the share of tasks on which only the first of two models is right, and only the second."""

    one: IntArray
    two: IntArray

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Return 1 where only the first, or only the second, prediction is right."""
        first, second = (Right(predicted).at(tasks, classes)[0] for predicted in (self.one, self.two))
        return np.stack([first * (1 - second), second * (1 - first)])

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Return the posterior probability of each prediction where the two predictions differ, else 0."""
        differs = self.one != self.two
        return np.stack([probability_of(posterior, predicted) * differs for predicted in (self.one, self.two)])


@dataclass(frozen=True)
class Value:
    """The mean of a number that is given for each class."""

    of_class: FloatArray
    is_count = False

    @property
    def lowest(self) -> float:
        """The smallest value of a class."""
        return float(self.of_class.min())

    @property
    def highest(self) -> float:
        """The largest value of a class."""
        return float(self.of_class.max())

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Return the value of the class."""
        return self.of_class[classes][None]

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Return the mean value under the posterior."""
        return (posterior @ self.of_class)[None]


@dataclass(frozen=True)
class Confused(Share):
    """The share of tasks of each true class with each prediction; one row per cell, by true class, then prediction."""

    predicted: IntArray
    n_classes: int

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Return 1 where the cell is that of the true class and the prediction; one row per cell."""
        cell = np.where(self.predicted[tasks] >= 0, classes * self.n_classes + self.predicted[tasks], -1)
        return ones_where(cell == np.arange(self.n_classes**2)[:, None])

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Return the posterior probability of the cell's class where its prediction was made; one row per cell."""
        is_predicted = ones_where(self.predicted == np.arange(self.n_classes)[:, None])
        return (posterior.T[:, None] * is_predicted).reshape(self.n_classes**2, -1)


@dataclass(frozen=True)
class RecallTest:
    """One row per hypothetical recall: for tasks of one class, 1 if a model predicts it (else 0), minus the recall.

    Other tasks have the value 0. The recall is the value at which the mean is zero; its interval has all values at
    which a test does not reject a mean of zero (Fieller).
    """

    predicted: IntArray
    of_class: int
    shares: FloatArray
    is_count = False

    @property
    def lowest(self) -> FloatArray:
        """The value of a task of the class that is not predicted."""
        return -self.shares

    @property
    def highest(self) -> FloatArray:
        """The value of a task of the class that is predicted."""
        return 1 - self.shares

    def at(self, tasks: IntArray, classes: IntArray) -> FloatArray:
        """Return the values if these are the true classes; one row per hypothetical recall."""
        deviation = ones_where(self.predicted[tasks] == self.of_class) - self.shares[:, None]
        return ones_where(classes == self.of_class) * deviation

    def expected(self, posterior: FloatArray) -> FloatArray:
        """Return the expected values; one row per hypothetical recall."""
        deviation = ones_where(self.predicted == self.of_class) - self.shares[:, None]
        return posterior[:, self.of_class] * deviation


def ones_where(true: BoolArray) -> FloatArray:
    """Return 1 where the mask is true, and 0 elsewhere.

    >>> ones_where(np.array([True, False])).tolist()
    [1.0, 0.0]
    """
    return np.where(true, 1.0, 0.0)


def probability_of(posterior: FloatArray, classes: IntArray) -> FloatArray:
    """Return the posterior probability of one class of each task; 0 for a negative class.

    >>> probability_of(np.array([[0.9, 0.1]]), np.array([1])).tolist()
    [0.1]
    """
    p: FloatArray = posterior[np.arange(len(posterior)), np.maximum(classes, 0)]
    return np.where(classes >= 0, p, 0.0)
