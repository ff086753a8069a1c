"""The tempered posterior, before calibration: a mixture of two tempered models, with the corrections by gold.

The first model is that of the confusion matrices (or another model of the answers), the second is the plain vote. The
scores of each are divided by the task's design effect (`tempering` in `voting/posterior.py`). The weight of the first
model is the one-factor fit.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block
from quorate.blocks.kernels import task_scores, vote_sums
from quorate.models.scorer import Scorer
from quorate.voting.posterior import softmax, tempering

if TYPE_CHECKING:
    from quorate.models.copying import CopyingModel, GroupedScorer


@dataclass(frozen=True, eq=False)
class VoteCorrection:
    """Correction of the scores by gold: what is added per vote of a class, and per class."""

    per_vote: FloatArray  # answers × classes
    per_class: FloatArray  # [classes]

    def __call__(self, block: Block) -> FloatArray:
        """Return the correction of the scores of a block; tasks × classes."""
        same_worker = replace(block, worker=np.zeros(len(block.worker), np.int32), n_workers=1)
        return task_scores(same_worker, self.per_vote[None], self.per_class)


@dataclass(frozen=True, eq=False)
class Transition:
    """Probability of each true class given the estimated class, as a table only for the classes of gold labels.

    >>> transition = Transition(np.array([0.5, 1.0]), np.array([1]), np.array([[0.5], [0.0]]))
    >>> transition(np.array([[0.8, 0.2]])).tolist()
    [[0.4, 0.6000000000000001]]
    """

    kept: FloatArray  # [classes]: prior probability that the true class is the estimated class
    gold_classes: IntArray  # classes of the gold labels, ascending
    to_gold: FloatArray  # classes × gold classes: probability of a true class that gold labels add

    def __call__(self, posterior: FloatArray) -> FloatArray:
        """Return the posterior of the true class from that of the estimated class."""
        of_true_class = posterior * self.kept
        of_true_class[:, self.gold_classes] += posterior @ self.to_gold
        return of_true_class


@dataclass(frozen=True, eq=False)
class TemperedScorer:
    """Posterior of a task: a weighted mean of two models' posteriors, whose scores are divided by its design effect."""

    models: tuple[Scorer, Scorer]
    weights: FloatArray  # [2], of the models
    rho: float  # intraclass correlation of the errors of two workers, or of two groups
    copying: "CopyingModel | GroupedScorer | None" = None  # groups of copying workers, whose votes count less
    corrections: tuple[VoteCorrection, VoteCorrection] | None = None
    transitions: tuple[Transition, Transition] | None = None

    def tempering_factor(self, block: Block) -> FloatArray:
        """Return 1 / design effect of each task, by which the scores of both models are multiplied."""
        votes = block.per_task if self.copying is None else self.copying.effective_votes(block)
        return tempering(votes, self.rho)

    def votes(self, block: Block) -> FloatArray:
        """Return the votes of each task by class; a group of copying workers has one vote."""
        block = self._voting_block(block)
        return vote_sums(block, np.ones(block.n_workers))

    def _voting_block(self, block: Block) -> Block:
        """Return the block in which a group of copying workers has one answer per task."""
        if self.copying is None:
            return block
        from quorate.blocks.transform import GroupMajority  # most crowds do not need it

        return GroupMajority(self.copying.group)(block)

    def components(self, block: Block) -> list[FloatArray]:
        """Return the posterior of each model; tasks × classes."""
        factor = self.tempering_factor(block)
        posteriors = []
        for k, model in enumerate(self.models):
            scores = model.scores(block)
            if self.corrections is not None:
                scores = scores + self.corrections[k](self._voting_block(block))
            posterior = softmax(scores, factor)
            if self.transitions is not None:
                posterior = self.transitions[k](posterior)
            posteriors.append(posterior)
        return posteriors

    def __call__(self, block: Block) -> FloatArray:
        """Return the mixture of both posteriors, times the sum of the weights."""
        if self.weights[1] == 0 and self.transitions is None and self.corrections is None:
            first = softmax(self.models[0].scores(block), self.tempering_factor(block))
            first *= self.weights[0]
            return first
        first, second = self.components(block)
        mixed: FloatArray = self.weights[0] * first + self.weights[1] * second
        return mixed

    def renamed(self, new_class: IntArray) -> "TemperedScorer":
        """Return the scorer for answers whose class c is renamed ``new_class[c]``; its posterior is renamed, too."""
        first, second = (model.renamed(new_class) for model in self.models)
        return replace(self, models=(first, second))


def one_hot(label: IntArray, n_classes: int) -> FloatArray:
    """Return a row per label with a one at its class.

    >>> one_hot(np.array([1]), 2).tolist()
    [[0.0, 1.0]]
    """
    rows = np.zeros((len(label), n_classes))
    rows[np.arange(len(label)), label] = 1.0
    return rows
