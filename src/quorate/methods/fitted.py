"""What a method learnt of the workers, and how it votes on any block: a result whose tasks lie elsewhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np  # noqa: F401 (for the examples)
import pyarrow as pa

from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Blocks
from quorate.blocks.kernels import task_scores
from quorate.blocks.memory import answers_in
from quorate.calibration.confidence import ConfidenceBasis
from quorate.meetings.graph import Identifiability
from quorate.methods.support import ALL_SUPPORTED, Support
from quorate.skills.notes import Note
from quorate.uncertainty.workforce import Workforce
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.least_cost import EXPECTED_COST, cheapest, in_the_middle
from quorate.voting.posterior import softmax
from quorate.voting.vote import Ballot, LabelRows, decide, plug_in_vote, reveal, weighted_majority


@dataclass(frozen=True)
class Labelling:
    """How the tasks of any block get their labels; can be sent to where the blocks are.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([1]), 1, 2, known=np.array([0]))
    >>> Labelling(ByWeights(np.ones(1)))(block).label.tolist()
    [0]
    """

    vote: Callable[[Block], Ballot]
    costs: FloatArray | None = None  # said × true; labels are those of least expected cost
    in_order: pa.Array | None = None  # the classes, if labels are those of least expected distance
    support: Support = ALL_SUPPORTED

    def __call__(self, block: Block) -> LabelRows:
        """Vote on a block; tasks of known class have that, for certain."""
        ballot = self.vote(block)
        if block.known is not None:
            ballot = reveal(ballot, block.known)
        ballot = self.support.apply(ballot, block.per_task, block.known)
        if self.in_order is not None:
            ballot = in_the_middle(ballot, self.in_order)
        if self.costs is not None:
            ballot = cheapest(ballot, self.costs, EXPECTED_COST)
        return LabelRows(
            label=ballot.label,
            confidence=ballot.confidence,
            margin=ballot.margin,
            n_answers=block.per_task,
            tied=ballot.tied,
            n_abstained=None if block.silent is None else block.silent.per_task,
            extra_columns=ballot.beside,
            has_status=self.support.n_unanswered > 0,
        )


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Everything of a result but the labels, all of it worker-sized; and the vote that gives those."""

    vote: Callable[[Block], Ballot]  # can be sent to where the blocks are
    workforce: Workforce
    graph: Identifiability | None = None
    matrices: ConfusionMatrices | None = None
    basis: ConfidenceBasis | None = None
    notes: tuple[Note, ...] = ()
    costs: FloatArray | None = None  # said × true; None where every wrong label costs the same
    in_order: pa.Array | None = None  # the classes, where they have an order that is to be used
    support: Support = ALL_SUPPORTED  # what the answers support

    @property
    def labelling(self) -> Labelling:
        """How the tasks of any block get their labels."""
        return Labelling(self.vote, self.costs, self.in_order, self.support)

    def labels(self, blocks: Blocks) -> Iterator[LabelRows]:
        """Label the tasks of every block, in order."""
        return blocks.each(self.labelling)


@dataclass(frozen=True)
class ByWeights:
    """The weighted majority, whose posterior is the share of the weight cast; of plain weights, the majority.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> ByWeights(np.array([1.0, 3.0]))(block).posterior.tolist()
    [[0.25, 0.75]]
    """

    weights: FloatArray

    def __call__(self, block: Block) -> Ballot:
        """Vote on a block."""
        return weighted_majority(answers_in(block), self.weights)


@dataclass(frozen=True)
class ByLogOdds:
    """The plug-in vote.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> ByLogOdds(np.log([2.0, 6.0]), None)(block).posterior.round(9).tolist()
    [[0.25, 0.75]]
    """

    weights: FloatArray
    prior: FloatArray | None

    def __call__(self, block: Block) -> Ballot:
        """Vote on a block."""
        return plug_in_vote(answers_in(block), self.weights, self.prior)


@dataclass(frozen=True)
class ByMatrices:
    """The posterior of confusion matrices.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> ByMatrices(np.log([[[0.75, 0.25], [0.25, 0.75]]]), np.zeros(2))(block).posterior.round(9).tolist()
    [[0.75, 0.25]]
    """

    logs: FloatArray  # of theta, workers × answers × classes
    shift: FloatArray  # the log prior of the classes

    def __call__(self, block: Block) -> Ballot:
        """Vote on a block."""
        scores = task_scores(block, self.logs, self.shift)
        return decide(answers_in(block), scores, softmax(scores))
