"""Fit: what a method estimated, with the vote that labels any block; and the Result made from it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, CrowdInfo
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks
from quorate.calibration.confidence import ConfidenceBasis
from quorate.errors import shown
from quorate.graph.components import Identifiability, identify
from quorate.methods.contradiction import contradiction
from quorate.methods.support import ALL_SUPPORTED, Support, support_of_answers
from quorate.models.confusion import ConfusionMatrices
from quorate.models.scorer import HasScores
from quorate.notes import NOT_CONVERGED, UNUSED_ABSTENTIONS, Note
from quorate.result import Result
from quorate.skills.identification import IDENTIFIED, NO_ANSWERS, NOT_ESTIMATED
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.expected_cost import EXPECTED_COST, in_the_middle, least_expected_cost
from quorate.voting.posterior import softmax
from quorate.voting.vote import LabelRows, Vote, decide, plug_in_vote, reveal, weighted_majority


@dataclass(frozen=True, eq=False)
class Labelling:
    """A function that labels the tasks of any block; can be sent to the process that has the blocks.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([1]), 1, 2, gold=np.array([0]))
    >>> Labelling(ByWeights(np.ones(1)))(block).label.tolist()
    [0]
    """

    vote: Callable[[Block], Vote]
    costs: FloatArray | None = None  # (assigned label, true class); with costs, labels minimise the expected cost
    in_order: pa.Array | None = None  # the ordered classes, if labels minimise the expected distance
    support: Support = ALL_SUPPORTED

    def __call__(self, block: Block) -> LabelRows:
        """Label a block; tasks with gold have their known class, with probability one."""
        return self.rows(block, self.vote(block))

    def rows(self, block: Block, task_vote: Vote) -> LabelRows:
        """Return the labels of a block by its vote."""
        return self.rows_of(block, self.applied(task_vote, block.per_task, block.gold))

    def rows_of(self, block: Block, task_vote: Vote) -> LabelRows:
        """Return the labels of a block by a vote that `applied` returned."""
        if self.costs is not None:
            task_vote = least_expected_cost(task_vote, self.costs, EXPECTED_COST)
        abstained = None if block.abstentions is None else block.abstentions.per_task
        has_status = self.support.n_unanswered > 0
        return LabelRows.of(task_vote, block.per_task, n_abstained=abstained, has_status=has_status)

    def applied(self, task_vote: Vote, per_task: IntArray, known: IntArray | None) -> Vote:
        """Return the vote with gold classes set, and without labels and confidences that the answers do not support."""
        if known is not None:
            task_vote = reveal(task_vote, known)
        task_vote = self.support.apply(task_vote, per_task, known)
        return task_vote if self.in_order is None else in_the_middle(task_vote, self.in_order)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What a method estimated: tables of workers, and the vote that labels any block."""

    vote: Callable[[Block], Vote]  # can be sent to the process that has the blocks
    skill_estimates: WorkerEstimates
    identifiability: Identifiability
    fitted_confusion: ConfusionMatrices | None = None
    basis: ConfidenceBasis | None = None
    notes: tuple[Note, ...] = ()
    costs: FloatArray | None = None  # (assigned label, true class); None if every wrong label costs the same
    in_order: pa.Array | None = None  # the ordered classes, if labels minimise the expected distance
    support: Support = ALL_SUPPORTED  # what the answers support
    chances: FloatArray | None = None  # as `quorate.voting.vote.Vote.chances` returns them; workers × 2

    @property
    def labelling(self) -> Labelling:
        """The function that labels any block."""
        return Labelling(self.vote, self.costs, self.in_order, self.support)

    def labels(self, blocks: Blocks) -> Iterator[LabelRows]:
        """Label the tasks of every block, in order."""
        return blocks.map(self.labelling)


@dataclass(frozen=True, eq=False)
class ByWeights:
    """Weighted majority; the posterior of a class is its share of the weight. With equal weights, the majority vote.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> ByWeights(np.array([1.0, 3.0]))(block).posterior.tolist()
    [[0.25, 0.75]]
    """

    weights: FloatArray

    def __call__(self, block: Block) -> Vote:
        """Vote on a block."""
        return weighted_majority(block, self.weights)


@dataclass(frozen=True, eq=False)
class ByLogOdds:
    """Plug-in vote: the posterior is the softmax of the summed log-odds weights, plus the log prior.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), n_workers=2, n_classes=2)
    >>> ByLogOdds(np.log([2.0, 6.0]), None)(block).posterior.round(9).tolist()
    [[0.25, 0.75]]
    """

    weights: FloatArray
    prior: FloatArray | None

    def __call__(self, block: Block) -> Vote:
        """Vote on a block."""
        return plug_in_vote(block, self.weights, self.prior)


@dataclass(frozen=True, eq=False)
class ByModel:
    """The posterior of a model of the answers.

    >>> from quorate.models.scorer import MatrixScorer
    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> ByModel(MatrixScorer(np.log([[[0.75, 0.25], [0.25, 0.75]]]), np.zeros(2)))(block).posterior.round(9).tolist()
    [[0.75, 0.25]]
    """

    model: HasScores

    def __call__(self, block: Block) -> Vote:
        """Vote on a block."""
        scores = self.model.scores(block)
        return decide(block, scores, softmax(scores))


MAX_LAST_GAIN = 1e-3  # nats per answer in the last step of EM; above it, labels still change


def outcome(
    method: str,
    answers: Answers,
    task_vote: Vote,
    *,
    gold: IntArray | None = None,
    skills: FloatArray | None = None,
    weights: FloatArray | None = None,
    skill_estimates: WorkerEstimates | None = None,
    identifiability: Identifiability | None = None,
    fitted_confusion: ConfusionMatrices | None = None,
    basis: ConfidenceBasis | None = None,
    notes: tuple[Note, ...] = (),
) -> Result:
    """Return the result of a method; tasks of known label have this label, with probability one.

    Args:
        method: its name.
        answers: who answered what.
        task_vote: the labels and the posterior.
        gold: the known class of each task, -1 where unknown.
        skills: of each worker, NaN where not determined; None if the method estimates none.
        weights: weight of each worker's vote; one by default.
        skill_estimates: estimates of the workers, by a method that has more than skills and weights.
        identifiability: components of the interaction graph; computed here by default.
        fitted_confusion: confusion matrices, if the method fits them.
        basis: what the confidence rests on, if the method calibrates it.
        notes: notes of the method.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> from quorate.voting.vote import majority
    >>> outcome("mine", answers, majority(answers)).workers["status"][0].as_py()
    'not estimated by this method'
    """
    notes += contradiction(answers, task_vote.label, method)
    notes += unused_abstention_notes(answers)
    if skill_estimates is None:
        skill_estimates = worker_estimates_of(answers.per_worker, skills, weights)
    support = support_of_answers(answers, gold, skill_estimates)
    return Result(
        method=method,
        info=answers,
        label_source=support.apply(task_vote if gold is None else reveal(task_vote, gold), answers.per_task, gold),
        skill_estimates=skill_estimates,
        identifiability=identify(answers) if identifiability is None else identifiability,
        gold=gold,
        fitted_confusion=fitted_confusion,
        confidence_basis=basis,
        notes=(*notes, *support.notes),
    )


def unused_abstention_notes(answers: Answers | CrowdInfo) -> tuple[Note, ...]:
    """Return a note on abstention labels that no answer has.

    >>> import quorate
    >>> rows = {"task": [1], "worker": ["ann"], "label": ["cat"]}
    >>> print(*unused_abstention_notes(quorate.read(rows, abstain=["n/a"])))
    no answer is 'n/a', which abstain= (--abstain) names; check the spelling
    """
    labels = answers.unused_abstention_labels
    if not labels:
        return ()
    names = ", ".join(shown(label) for label in labels)
    text = f"no answer is {names}, which abstain= (--abstain) names; check the spelling"
    return (Note(UNUSED_ABSTENTIONS, text),)


def worker_estimates_of(
    per_worker: IntArray, skills: FloatArray | None, weights: FloatArray | None = None
) -> WorkerEstimates:
    """Return the worker estimates of a method that uses the labels only, not which workers share tasks.

    >>> worker_estimates_of(np.array([3, 0]), np.array([0.5, 0.5])).skills.tolist()
    [0.5, nan]
    """
    n = len(per_worker)
    estimated = np.full(n, np.nan) if skills is None else skills
    status = np.where(np.isnan(estimated), NOT_ESTIMATED, IDENTIFIED)
    status[per_worker == 0] = NO_ANSWERS
    return WorkerEstimates(
        skills=np.where(per_worker == 0, np.nan, estimated),
        weights=np.ones(n) if weights is None else weights,
        status=status,
    )


def with_gold_counts(result: Result, *, centred: bool = False) -> Result:
    """Update the skills of a result by gold: answers to tasks of known label count as right or wrong.

    Args:
        result: result of a method in memory.
        centred: the definition of a skill; see `quorate.skills.gold_counts.count_gold`.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": list("aa"), "label": list("xy")})
    >>> from quorate.voting.vote import majority
    >>> result = outcome("mine", answers, majority(answers), gold=np.array([0, 0]), skills=np.array([0.9]))
    >>> with_gold_counts(result).skills.tolist()
    [0.0]
    """
    skill_estimates = result.skill_estimates.with_gold(result.answers, result.gold, centred=centred)
    return replace(result, skill_estimates=skill_estimates)


def fit_notes(method: str, log_likelihoods: Sequence[float], converged: bool, n_answers: int) -> tuple[Note, ...]:
    """Return a note if EM ended with a lower likelihood than it began with, or had not converged.

    >>> print(*fit_notes("mine", [-10.0, -12.0], True, 10))
    mine: EM ended with a lower likelihood than it began with; its labels cannot be relied on
    >>> print(*fit_notes("mine", [-10.0, -9.0], False, 10))
    mine: EM had not converged after 2 steps; allow it more (max_iterations, or rounds)
    >>> fit_notes("mine", [-10.0, -9.9999], False, 10)
    ()
    """
    if len(log_likelihoods) < 2:
        return ()
    if log_likelihoods[-1] < log_likelihoods[0] - MAX_LAST_GAIN * n_answers:
        text = f"{method}: EM ended with a lower likelihood than it began with; its labels cannot be relied on"
    elif not converged and log_likelihoods[-1] - log_likelihoods[-2] > MAX_LAST_GAIN * n_answers:
        steps = len(log_likelihoods)
        text = f"{method}: EM had not converged after {steps} steps; allow it more (max_iterations, or rounds)"
    else:
        return ()
    return (Note(NOT_CONVERGED, text),)
