"""Vote: scores, posterior and label of every task; weighted votes; the choice of the labels (`decide`)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

import quorate.arrow_compute as pc
from quorate.answers import Answers, Counted
from quorate.arrays import BoolArray, FloatArray, IntArray, Table, from_numpy, from_strings, runs, table_of, take
from quorate.blocks.block import Block
from quorate.blocks.kernels import add_chances, vote_sums
from quorate.blocks.memory import Answered, blocks_of, memory_blocks, stack_tables
from quorate.blocks.numpy_kernels import by_row
from quorate.blocks.task_tables import confidence_and_margin, leading
from quorate.blocks.task_tables import leading_classes as leading_classes
from quorate.errors import OptionError
from quorate.voting.posterior import FLOOR, clamp_gold, hold_labels, softmax
from quorate.voting.ties import break_ties

MAX_LOG_ODDS = -float(np.log(np.finfo(np.float64).eps))  # 36, where a probability rounds to one
SURE = 0.9  # labels of less confidence count as doubtful in a summary
EXPECTED_COST = "expected_cost"  # name of the column of the labels with their expected costs


def accuracy(skill: FloatArray, n_classes: int) -> FloatArray:
    """Return p = ((M-1)s + 1)/M, the probability of the right class.

    >>> accuracy(np.array([0.0, 1.0]), n_classes=4).tolist()
    [0.25, 1.0]
    """
    p: FloatArray = ((n_classes - 1) * skill + 1) / n_classes
    return p


def skill_of(accuracy: FloatArray, n_classes: int) -> FloatArray:
    """Return s = (Mp - 1)/(M-1), the inverse of `accuracy`.

    >>> skill_of(np.array([0.25, 1.0]), n_classes=4).tolist()
    [0.0, 1.0]
    """
    skill: FloatArray = (n_classes * accuracy - 1) / (n_classes - 1)
    return skill


def weight(skill: FloatArray, n_classes: int) -> FloatArray:
    """Return v = log((M-1)p/(1-p)), the weight of a vote [Ma20, Eq. (1), plugin]; clipped where p rounds to 0 or 1.

    >>> weight(np.array([0.0, 0.6, -0.6]), n_classes=2).round(3).tolist()
    [0.0, 1.386, -1.386]
    """
    with np.errstate(divide="ignore"):  # (M-1)p/(1-p) = (1 + (M-1)s)/(1-s), exact near s = 0
        odds = np.log1p((n_classes - 1) * skill) - np.log1p(-skill)
    clipped: FloatArray = np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)
    return clipped


def vote_weights(answers: Counted | Answered, skills: FloatArray) -> FloatArray:
    """Return the weight of each worker's vote, its log-odds; a worker of undetermined skill (NaN) gets the mean skill.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> vote_weights(answers, np.array([0.6, 0.6, np.nan])).round(3).tolist()
    [1.386, 1.386, 1.386]
    """
    is_rated = ~np.isnan(skills)
    n_answers = answers.per_worker[is_rated]
    if answers.n_classes < 2 or n_answers.sum() == 0:
        return np.ones(len(skills))
    # The mean is negative only if workers of negative skill gave most answers; even then, workers of unknown skill are
    # not assumed to be adversaries.
    mean = max(float(n_answers @ skills[is_rated] / n_answers.sum()), 0.0)
    return weight(np.where(is_rated, skills, mean), answers.n_classes)


@dataclass(frozen=True)
class ConfidenceStats:
    """Confidence statistics of all labels."""

    mean: float | None  # mean confidence; None if a label has no confidence
    doubtful: int  # number of labels with a confidence below SURE
    ties: int  # number of tied labels
    cost: float | None = None  # expected cost of all labels; None without costs, or if a label has no confidence
    n_unlabelled: int = 0  # number of tasks without answers, which have no label


class LabelsElsewhere(Protocol):
    """Labels in an engine, read on request."""

    @property
    def table(self) -> object:
        """The labels as a table of the engine."""

    def confidence_stats(self) -> ConfidenceStats:
        """Return the mean confidence, the number of doubtful labels, and ties."""

    def labels(self) -> Table:
        """Return the labels: one row per task, with the columns of `quorate.Result.labels`."""

    @property
    def summed_chances(self) -> FloatArray | None:
        """The sums of `Vote.chances`, computed in the engine; None if the method states no confidence."""


@dataclass(frozen=True, eq=False)
class Vote:
    """The outcome of a vote: shapes (tasks, classes) and (tasks,)."""

    scores: FloatArray
    posterior: FloatArray
    label: IntArray  # -1 for a task without answers
    tied: BoolArray  # whether several classes had the best score
    extra_columns: Mapping[str, FloatArray] = field(default_factory=dict)  # of the table of labels, by name
    is_stated: BoolArray | None = None  # tasks whose confidence the answers support; None for all

    @property
    def leaders(self) -> BoolArray:
        """Mask of the classes with the best score of their task; shape (tasks, classes)."""
        return leading_classes(self.scores)

    @property
    def confidence(self) -> FloatArray:
        """The posterior probability of each task's label; NaN where the answers support no confidence."""
        return self._stated(self._chosen[0])

    @property
    def margin(self) -> FloatArray:
        """Probability of the label minus that of the most probable other class."""
        return self._stated(self._chosen[1])

    @cached_property
    def _chosen(self) -> tuple[FloatArray, FloatArray]:
        return confidence_and_margin(self.posterior, self.label)

    def _stated(self, values: FloatArray) -> FloatArray:
        return values if self.is_stated is None else np.where(self.is_stated, values, np.nan)

    def confidence_stats(self) -> ConfidenceStats:
        """Return the mean confidence, the number of doubtful labels, and ties."""
        totals = ConfidenceTotals()
        totals.add(self.label, self.confidence, self.tied, self.extra_columns.get(EXPECTED_COST))
        return totals.confidence_stats()

    def chances(self, answers: Answers) -> FloatArray:
        """Return the sums of p and of p (1 - p) over each worker's answers, p their probabilities; workers × 2."""
        sums = np.zeros((answers.n_workers, 2))
        add_chances(_block_of(answers), self.posterior, sums)
        return sums

    def of_tasks(self, tasks: IntArray) -> "Vote":
        """Return the vote on some tasks (their codes, ascending), which get new codes from zero.

        >>> vote = Vote(np.zeros((2, 2)), np.array([[0.8, 0.2], [0.1, 0.9]]), np.array([0, 1]), np.zeros(2, dtype=bool))
        >>> vote.of_tasks(np.array([1])).posterior.tolist()
        [[0.1, 0.9]]
        """
        return Vote(
            self.scores[tasks],
            self.posterior[tasks],
            self.label[tasks],
            self.tied[tasks],
            {name: values[tasks] for name, values in self.extra_columns.items()},
            None if self.is_stated is None else self.is_stated[tasks],
        )

    def labels(self, answers: Answers) -> Table:
        """Return the labels by name: one row per task, with the columns of `quorate.Result.labels`."""
        abstained = answers.abstained_per_task
        has_status = bool((self.label < 0).any())
        rows = LabelRows.of(self, answers.per_task, n_abstained=abstained, has_status=has_status)
        return Table(table_of(rows.columns(answers.task_names, answers.classes)))


class BlockVote(Vote):
    """A vote that was decided block by block; scores and posterior of all tasks are computed on demand.

    >>> complete = Vote(np.zeros((1, 2)), np.array([[0.8, 0.2]]), np.array([0]), np.array([False]))
    >>> vote = BlockVote(LabelRows.of(complete, np.array([3])), lambda tasks: complete)
    >>> vote.confidence.tolist(), vote.posterior.tolist()
    ([0.8], [[0.8, 0.2]])
    """

    def __init__(
        self,
        rows: "LabelRows",
        complete: Callable[[IntArray | None], Vote],
        summed_chances: FloatArray | None = None,
    ) -> None:
        """Store the labels, a function that computes the complete vote, and sums over the answers.

        Args:
            rows: the labels.
            complete: computes the vote on some tasks, or on all for None.
            summed_chances: the sums of `Vote.chances`; None to compute them on demand.
        """
        public_fields = {"label": rows.label, "tied": rows.tied, "extra_columns": rows.extra_columns}
        private_fields = {"_rows": rows, "_complete": complete, "_summed_chances": summed_chances}
        for name, value in {**public_fields, **private_fields}.items():
            object.__setattr__(self, name, value)

    def chances(self, answers: Answers) -> FloatArray:
        """Return the sums that were computed with the labels, block by block; see `Vote.chances`."""
        summed: FloatArray | None = self.__dict__["_summed_chances"]
        return super().chances(answers) if summed is None else summed

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it as a complete `Vote`, because a saved result must not refer to the answers."""
        return Vote, tuple(getattr(self, column.name) for column in fields(Vote))

    def of_tasks(self, tasks: IntArray) -> Vote:
        """Return the vote on some tasks; only their scores and posterior are computed, on demand."""
        if "_vote" in self.__dict__ and isinstance(self._vote, PosteriorVote):  # without a table of all scores
            return PosteriorVote(
                self.posterior[tasks],
                self.label[tasks],
                self.tied[tasks],
                {name: values[tasks] for name, values in self.extra_columns.items()},
                None if self.is_stated is None else self.is_stated[tasks],
            )
        if "_vote" in self.__dict__:
            return super().of_tasks(tasks)
        rows: LabelRows = self.__dict__["_rows"]
        complete: Callable[[IntArray | None], Vote] = self.__dict__["_complete"]

        def complete_of(positions: IntArray | None) -> Vote:
            return complete(tasks if positions is None else tasks[positions])

        return BlockVote(rows.of_tasks(tasks), complete_of)

    @cached_property
    def _vote(self) -> Vote:
        complete: Callable[[IntArray | None], Vote] = self.__dict__["_complete"]
        return complete(None)

    @property
    def scores(self) -> FloatArray:
        """The scores; shape (tasks, classes)."""
        return self._vote.scores

    @property
    def posterior(self) -> FloatArray:
        """The posterior; shape (tasks, classes)."""
        return self._vote.posterior

    @property
    def is_stated(self) -> BoolArray | None:
        """Tasks whose confidence the answers support; None for all."""
        is_stated = ~np.isnan(self.confidence)
        return None if is_stated.all() else is_stated

    @property
    def confidence(self) -> FloatArray:
        """The posterior probability of each task's label; NaN where the answers support no confidence."""
        rows: LabelRows = self.__dict__["_rows"]
        return rows.confidence

    @property
    def margin(self) -> FloatArray:
        """Probability of the label minus that of the most probable other class."""
        rows: LabelRows = self.__dict__["_rows"]
        return rows.margin


class PosteriorVote(Vote):
    """A vote by the posterior; the scores are its logarithms and are computed on demand.

    >>> vote = PosteriorVote(np.array([[0.5, 0.5]]), np.array([0]), np.array([True]))
    >>> vote.scores.round(3).tolist()
    [[-0.693, -0.693]]
    """

    def __init__(
        self,
        posterior: FloatArray,
        label: IntArray,
        tied: BoolArray,
        extra_columns: Mapping[str, FloatArray] | None = None,
        is_stated: BoolArray | None = None,
    ) -> None:
        """Store the posterior and the labels."""
        self.__dict__.update(
            posterior=posterior, label=label, tied=tied, extra_columns=extra_columns or {}, is_stated=is_stated
        )

    @property
    def scores(self) -> FloatArray:
        """The logarithms of the posterior; shape (tasks, classes)."""
        logs: FloatArray = np.maximum(self.posterior, FLOOR)
        return np.log(logs, out=logs)


def stack_votes(votes: Iterable[Vote], n_tasks: int) -> Vote:
    """Return the votes on the tasks of several blocks as one; without a table of scores if the posteriors give them.

    Only one of the votes is in memory in addition to the result.

    Args:
        votes: on consecutive tasks; at least one.
        n_tasks: the number of tasks in all.

    >>> part = PosteriorVote(np.array([[0.8, 0.2]]), np.array([0]), np.array([False]))
    >>> stack_votes(iter([part, part]), 2).label.tolist()
    [0, 0]
    """
    tables: dict[str, Any] = {}
    has_scores = False
    done = 0
    for part in votes:
        if len(part.label) == n_tasks:
            return part
        if not tables:
            has_scores = not isinstance(part, PosteriorVote)
        for name in ("posterior", "label", "tied", *(["scores"] if has_scores else [])):
            values = getattr(part, name)
            if name not in tables:
                tables[name] = np.empty((n_tasks, *values.shape[1:]), values.dtype)
            tables[name][done : done + len(values)] = values
        done += len(part.label)
    return Vote(**tables) if has_scores else PosteriorVote(**tables)


def changed_vote(task_vote: Vote, **changes: Any) -> Vote:
    """Return a vote with some of its fields replaced.

    >>> vote = Vote(np.zeros((1, 2)), np.array([[0.8, 0.2]]), np.array([0]), np.array([False]))
    >>> changed_vote(vote, label=np.array([1])).confidence.tolist()
    [0.2]
    """
    return Vote(
        **{field.name: getattr(task_vote, field.name) for field in fields(Vote) if field.name not in changes}, **changes
    )


@dataclass
class ConfidenceTotals:
    """Sums over labels, added in batches, from which `ConfidenceStats` are computed."""

    n: int = 0  # number of tasks
    n_stated: int = 0  # number of labels with a confidence
    total: float = 0.0  # sum of their confidence
    doubtful: int = 0
    ties: int = 0
    cost: float | None = None
    n_unlabelled: int = 0

    def add(self, label: IntArray, confidence: FloatArray, tied: BoolArray, cost: FloatArray | None) -> None:
        """Add the labels of some tasks."""
        is_stated = ~np.isnan(confidence)
        self.n += len(label)
        self.n_stated += int(is_stated.sum())
        self.total += float(confidence[is_stated].sum())
        self.doubtful += int((confidence < SURE).sum())
        self.ties += int(tied.sum())
        self.n_unlabelled += int((label < 0).sum())
        if cost is not None:
            self.cost = (self.cost or 0.0) + float(cost[is_stated].sum())

    def confidence_stats(self) -> ConfidenceStats:
        """Return the statistics of all labels added; mean and cost are None if a label has no confidence."""
        is_stated = self.n_stated > 0 and self.n_stated + self.n_unlabelled == self.n
        return ConfidenceStats(
            mean=self.total / self.n_stated if is_stated else None,
            doubtful=self.doubtful,
            ties=self.ties,
            cost=self.cost if is_stated else None,
            n_unlabelled=self.n_unlabelled,
        )


UNANSWERED = "no answers"
TASK_STATUSES = ("labelled", UNANSWERED)


@dataclass(frozen=True, eq=False)
class LabelRows:
    """Labels of some tasks by codes: one entry per task."""

    label: IntArray  # codes of the classes; -1 where there is no label
    confidence: FloatArray  # NaN where the answers support no confidence
    margin: FloatArray
    n_answers: IntArray
    tied: BoolArray
    n_abstained: IntArray | None = None  # None if no worker abstains
    extra_columns: Mapping[str, FloatArray] = field(default_factory=dict)
    has_status: bool = False  # whether any task, in this or another part, has no label

    @classmethod
    def of(cls, task_vote: Vote, n_answers: IntArray, **columns: Any) -> "LabelRows":
        """Return the labels of a vote; ``columns`` are other fields of this class."""
        return cls(
            label=task_vote.label,
            confidence=task_vote.confidence,
            margin=task_vote.margin,
            n_answers=n_answers,
            tied=task_vote.tied,
            extra_columns=task_vote.extra_columns,
            **columns,
        )

    def of_tasks(self, tasks: IntArray) -> "LabelRows":
        """Return the labels of some tasks, given by their positions."""
        return replace(
            self,
            label=self.label[tasks],
            confidence=self.confidence[tasks],
            margin=self.margin[tasks],
            n_answers=self.n_answers[tasks] if len(self.n_answers) else self.n_answers,
            tied=self.tied[tasks],
            n_abstained=None if self.n_abstained is None else self.n_abstained[tasks],
            extra_columns={name: values[tasks] for name, values in self.extra_columns.items()},
        )

    def columns(self, tasks: pa.Array, classes: pa.Array) -> dict[str, pa.Array]:
        """Return the columns of the labels by name, with null for NaN.

        >>> rows = LabelRows(np.array([1]), np.array([0.9]), np.array([0.8]), np.array([3]), np.array([False]))
        >>> rows.columns(pa.array(["t1"]), pa.array(["cat", "dog"]))["label"].to_pylist()
        ['dog']
        """
        is_unanswered = self.label < 0
        columns = {
            "task": tasks,
            "label": pc.take(classes, from_numpy(self.label, mask=is_unanswered)),
            "confidence": _nullable(self.confidence),
            "margin": _nullable(self.margin),
            "n_answers": from_numpy(np.asarray(self.n_answers, np.int64)),
        }
        if self.n_abstained is not None:
            columns["n_abstained"] = from_numpy(np.asarray(self.n_abstained, np.int64))
        columns["tied"] = from_numpy(self.tied)
        if self.has_status:
            columns["status"] = take(from_strings(TASK_STATUSES), is_unanswered.astype(np.int64))
        return columns | {name: _nullable(values) for name, values in self.extra_columns.items()}


def _nullable(values: FloatArray) -> pa.Array:
    return from_numpy(values, mask=np.isnan(values))


AnswersOrBlock: TypeAlias = Answers | Block  # answers with names, or a block of codes


def _block_of(answers: AnswersOrBlock) -> Block:
    return answers if isinstance(answers, Block) else memory_blocks(answers).all_tasks


def tally(answers: AnswersOrBlock, weights: FloatArray) -> FloatArray:
    """Return for each task and class the sum of the weights of the workers who gave it; shape (tasks, classes).

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> tally(answers, np.array([2.0, 0.5, 0.25])).tolist()
    [[2.0, 0.75]]
    """
    if isinstance(answers, Block):
        return vote_sums(answers, weights)
    answers.check_cells()
    return stack_tables(blocks_of(answers).map(vote_sums, weights), answers.n_tasks)


def plug_in_vote(answers: AnswersOrBlock, weights: FloatArray, prior: FloatArray | None = None) -> Vote:
    """Return the vote with the given weights; the posterior is the softmax of the scores [Ma20, Eq. (1), plugin].

    Args:
        answers: who answered what.
        weights: of each worker's vote, in log-odds.
        prior: probability of each class; uniform by default.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> plug_in_vote(answers, np.log([9.0, 2.0, 2.0])).posterior.round(3).tolist()
    [[0.692, 0.308]]
    """
    scores = tally(answers, weights)
    if prior is not None:
        scores = scores + np.log(check_prior(prior, answers.n_classes))
    return decide(answers, scores, softmax(scores), prior)


def majority(answers: Answers) -> Vote:
    """Return the vote with equal weights; the posterior is the share of the votes.

    >>> import quorate
    >>> majority(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})).label.tolist()
    [1]
    """
    return weighted_majority(answers, np.ones(answers.n_workers))


def weighted_majority(answers: AnswersOrBlock, weights: FloatArray) -> Vote:
    """Return the vote with weights that are not log-odds; the posterior is each class's share of the weights.

    For the posterior, a vote of negative weight counts as a vote of the same size for every other class.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> weighted_majority(answers, np.array([-1.0, 1.0, 2.0])).posterior.tolist()
    [[0.0, 1.0]]
    """
    scores = tally(answers, weights)
    against = None
    if (weights < 0).any():
        against = tally(answers, np.minimum(weights, 0.0)).sum(axis=1)
    shares = np.empty_like(scores)
    for run in runs(*scores.shape):
        votes = np.maximum(scores[run] if against is None else scores[run] - against[run, None], 0.0)
        total = by_row(np.add, votes)[:, None]
        shares[run] = np.where(total > 0, votes / np.where(total > 0, total, 1.0), 1 / answers.n_classes)
    return decide(answers, scores, shares)


def decide(answers: AnswersOrBlock, scores: FloatArray, posterior: FloatArray, prior: FloatArray | None = None) -> Vote:
    """Return the vote with the class of best score of each task as its label; ties are broken by `quorate.voting.ties`.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> task_vote = decide(answers, np.zeros((1, 2)), np.full((1, 2), 0.5))
    >>> task_vote.label.tolist(), task_vote.tied.tolist()
    ([1], [True])
    """
    label, tied = leading(scores)
    break_ties(_block_of(answers), label, np.flatnonzero(tied), lambda tasks: scores[tasks], prior)
    return Vote(scores, posterior, label, tied)


def by_posterior(answers: AnswersOrBlock, posterior: FloatArray) -> Vote:
    """Return the vote with the most probable class of each task as its label; ties are broken by `quorate.voting.ties`.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> by_posterior(answers, np.array([[0.6, 0.4]])).label.tolist()
    [0]
    """
    label, tied = leading(posterior, is_probability=True)
    task_vote = PosteriorVote(posterior, label, tied)
    break_ties(
        _block_of(answers), label, np.flatnonzero(tied), lambda tasks: np.log(np.maximum(posterior[tasks], FLOOR)), None
    )
    return task_vote


def reveal(task_vote: Vote, gold: IntArray) -> Vote:
    """Return the vote in which tasks of known label (>= 0) have this label with probability one.

    >>> import quorate
    >>> task_vote = majority(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}))
    >>> reveal(task_vote, np.array([0])).posterior.tolist()
    [[1.0, 0.0]]
    """
    gold_tasks = np.flatnonzero(gold >= 0)
    scores = task_vote.scores.copy()
    scores[gold_tasks, gold[gold_tasks]] += 2 * MAX_LOG_ODDS + np.ptp(scores[gold_tasks], axis=1)
    tied = task_vote.tied.copy()
    tied[gold_tasks] = False
    posterior = clamp_gold(task_vote.posterior, gold)
    label = hold_labels(task_vote.label, gold)
    return changed_vote(task_vote, scores=scores, posterior=posterior, label=label, tied=tied)


def check_prior(prior: FloatArray, n_classes: int) -> FloatArray:
    """Return the class prior, normalised.

    Raises:
        OptionError: the prior is not one positive number per class.

    >>> check_prior(np.array([3.0, 1.0]), 2).tolist()
    [0.75, 0.25]
    """
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape != (n_classes,) or not np.all(prior > 0) or not np.all(np.isfinite(prior)):
        raise OptionError(f"prior= must be {n_classes} positive numbers, one for each class in order")
    normalised: FloatArray = prior / prior.sum()
    return normalised
