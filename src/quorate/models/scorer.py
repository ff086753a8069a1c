"""Interface of models of the answers: log joint probabilities of the classes of each task of a block."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks
from quorate.blocks.kernels import task_scores, vote_sums
from quorate.blocks.worker_rows import OwnClassRows, WorkerRows


class HasScores(Protocol):
    """A model that scores the classes of each task."""

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) up to a constant per task; tasks × classes."""


class Scorer(HasScores, Protocol):
    """A fitted model whose size depends on the workers, not on the tasks, so it can be sent to the blocks."""

    def renamed(self, new_class: IntArray) -> "Scorer":
        """Return the model of answers whose class c is renamed ``new_class[c]``."""

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "Scorer":
        """Return the model fitted to a posterior of all tasks; gold in the blocks is clamped."""


@dataclass(frozen=True, eq=False)
class MatrixScorer:
    """A confusion matrix per worker, and a class prior.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> scorer = MatrixScorer(np.log([[[0.75, 0.25], [0.25, 0.75]]]), np.zeros(2))
    >>> np.exp(scorer.scores(block)).round(9).tolist()
    [[0.75, 0.25]]
    """

    log_theta: WorkerRows  # workers × answers × classes
    log_prior: FloatArray  # [classes]

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) of each task."""
        return task_scores(block, self.log_theta, self.log_prior)


@dataclass(frozen=True)
class PluralityScorer:
    """A model in which every vote adds the same log-odds to its class.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> PluralityScorer(0.5).scores(block).tolist()
    [[1.0, 0.0]]
    """

    weight: float

    def scores(self, block: Block) -> FloatArray:
        """Return the weighted vote counts."""
        return self.weight * vote_sums(block, np.ones(block.n_workers))

    def renamed(self, new_class: IntArray) -> "PluralityScorer":
        """Return this scorer unchanged: it has no parameters by class."""
        return self

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "PluralityScorer":
        """Return this scorer unchanged: there is nothing to fit."""
        return self


@dataclass(frozen=True, eq=False)
class SkillScorer:
    """A model in which a worker knows the class with probability x and otherwise answers by its response bias f.

    An answer l adds log(x + (1-x) f_l) - log((1-x) f_l) to the score of class l. Both probabilities have a lower limit,
    for skills near one and below zero.

    >>> scorer = SkillScorer(np.array([0.5]), np.array([[0.5, 0.5]]), np.array([0.5, 0.5]))
    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> scores = scorer.scores(block)
    >>> round(float(np.exp(scores[0, 0] - scores[0, 1])), 9)  # .75 against .25
    3.0
    """

    skill: FloatArray  # [workers]
    bias: FloatArray  # workers × classes
    class_prior: FloatArray

    MIN_PROBABILITY = 1e-3

    @cached_property
    def gain(self) -> FloatArray:
        """Gain of an answer of each worker in the score of its own class; workers × classes."""
        x = self.skill[:, None]
        knows_or_guesses = np.maximum(x + (1 - x) * self.bias, self.MIN_PROBABILITY)
        guesses = np.maximum((1 - x) * self.bias, self.MIN_PROBABILITY)
        gain: FloatArray = np.log(knows_or_guesses) - np.log(guesses)
        return gain

    @property
    def log_theta(self) -> OwnClassRows:
        """Gain of each answer in the score of each class, workers × answers × classes."""
        return OwnClassRows(self.gain)

    @property
    def log_prior(self) -> FloatArray:
        """Score of each class for a task without answers."""
        return np.log(self.class_prior)

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) up to a constant per task."""
        m = block.n_classes
        task = np.repeat(np.arange(block.n_tasks), block.per_task)
        label = block.label[block.answers]
        gain = self.gain[block.worker[block.answers], label]
        sums = np.bincount(task * m + label, gain, block.n_tasks * m).astype(np.float64, copy=False)
        scores: FloatArray = sums.reshape(-1, m) + self.log_prior
        return scores
