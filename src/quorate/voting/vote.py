"""Vote: scores, posterior and label of every task; weighted votes; the rule that breaks ties (`decide`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, Counted
from quorate.arrays import BoolArray, FloatArray, IntArray, Table, from_numpy, from_strings, runs, table_of, take
from quorate.blocks.kernels import vote_sums
from quorate.blocks.memory import Answered, blocks_of, in_one
from quorate.errors import OptionError
from quorate.voting.posterior import FLOOR, clamp_gold, hold_labels, softmax

MAX_LOG_ODDS = -float(np.log(np.finfo(np.float64).eps))  # 36, where a probability rounds to one
SURE = 0.9  # a label of less confidence is counted as doubtful in a summary
EXPECTED_COST = "expected_cost"  # the column of the labels that says what each costs on average
TIE = 1e-9  # scores closer than this are equal: sums of the same weights in another order differ by less


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
    """Return v = log((M-1)p/(1-p)), the log-odds that a vote is worth [Ma20, Eq. plugin]; cut where p rounds to 0 or 1.

    >>> weight(np.array([0.0, 0.6, -0.6]), n_classes=2).round(3).tolist()
    [0.0, 1.386, -1.386]
    """
    with np.errstate(divide="ignore"):  # (M-1)p/(1-p) = (1 + (M-1)s)/(1-s), exact near s = 0
        odds = np.log1p((n_classes - 1) * skill) - np.log1p(-skill)
    cut: FloatArray = np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)
    return cut


def vote_weights(answers: Counted | Answered, skills: FloatArray) -> FloatArray:
    """Weigh each vote by its log-odds; a worker of undetermined skill (NaN) takes part with the crowd's mean skill.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> vote_weights(answers, np.array([0.6, 0.6, np.nan])).round(3).tolist()
    [1.386, 1.386, 1.386]
    """
    known = ~np.isnan(skills)
    n_answers = answers.per_worker[known]
    if answers.n_classes < 2 or n_answers.sum() == 0:
        return np.ones(len(skills))
    # The mean is negative only if workers of negative skill gave most answers; workers of unknown skill are not
    # assumed to be adversaries for that.
    mean = max(float(n_answers @ skills[known] / n_answers.sum()), 0.0)
    return weight(np.where(known, skills, mean), answers.n_classes)


@dataclass(frozen=True)
class ConfidenceStats:
    """Confidence of all labels together."""

    mean: float | None  # of their confidence; None where none is stated
    doubtful: int  # labels of a confidence below SURE
    ties: int
    cost: float | None = None  # of all labels in expectation; None where none was named, or no confidence is stated
    n_unlabelled: int = 0  # tasks without answers, which have no label


class LabelsElsewhere(Protocol):
    """Labels that an engine holds, read on request."""

    @property
    def table(self) -> object:
        """The labels as a table of the engine."""

    def confidence_stats(self) -> ConfidenceStats:
        """Return the mean confidence, the number of doubtful labels, and ties."""

    def labels(self) -> Table:
        """Read the labels: one row per task, as `quorate.Result.labels` has them."""


@dataclass(frozen=True)
class Vote:
    """The outcome of a vote: shapes (tasks, classes) and (tasks,)."""

    scores: FloatArray
    posterior: FloatArray
    label: IntArray  # -1 where a task has none, because nobody answered it
    tied: BoolArray  # several classes had the best score
    beside: Mapping[str, FloatArray] = field(default_factory=dict)  # further columns of the labels, by name
    is_stated: BoolArray | None = None  # tasks whose confidence the answers support; None for all

    @property
    def leaders(self) -> BoolArray:
        """Every class that has its task's best score; shape (tasks, classes)."""
        return leading_classes(self.scores)

    @property
    def confidence(self) -> FloatArray:
        """The posterior probability of each task's label; NaN where the answers support none."""
        chosen: FloatArray = self.posterior[np.arange(len(self.label)), self.label]
        return chosen if self.is_stated is None else np.where(self.is_stated, chosen, np.nan)

    @property
    def margin(self) -> FloatArray:
        """By how much the label's probability exceeds that of the best other class."""
        confidence = self.confidence
        best = np.zeros(len(self.label))
        for run in runs(*self.posterior.shape):
            others = self.posterior[run].copy()
            others[np.arange(len(others)), self.label[run]] = 0.0
            best[run] = others.max(axis=1, initial=0.0)
        gap: FloatArray = confidence - best
        return gap

    def confidence_stats(self) -> ConfidenceStats:
        """Return the mean confidence, the number of doubtful labels, and ties."""
        totals = ConfidenceTotals()
        totals.add(self.label, self.confidence, self.tied, self.beside.get(EXPECTED_COST))
        return totals.confidence_stats()

    def labels(self, answers: Answers) -> Table:
        """Return the labels by name: one row per task, as `quorate.Result.labels` has them."""
        rows = LabelRows(
            label=self.label,
            confidence=self.confidence,
            margin=self.margin,
            n_answers=answers.per_task,
            tied=self.tied,
            n_abstained=answers.abstained_per_task,
            extra_columns=self.beside,
            has_status=bool((self.label < 0).any()),
        )
        return Table(table_of(rows.columns(answers.task_names, answers.classes)))


@dataclass
class ConfidenceTotals:
    """Sums over labels, some at a time, from which `ConfidenceStats` follows."""

    n: int = 0  # tasks
    n_stated: int = 0  # labels with a confidence
    total: float = 0.0  # of their confidence
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


LABELLED, UNANSWERED = STATUSES = ("labelled", "no answers")  # of a task


@dataclass(frozen=True)
class LabelRows:
    """Labels of some tasks by codes: one entry per task."""

    label: IntArray  # codes of the classes; -1 where there is no label
    confidence: FloatArray  # NaN where the answers support none
    margin: FloatArray
    n_answers: IntArray
    tied: BoolArray
    n_abstained: IntArray | None = None  # None where nobody abstains
    extra_columns: Mapping[str, FloatArray] = field(default_factory=dict)
    has_status: bool = False  # whether some task, here or in another part, has no label

    def columns(self, tasks: pa.Array, classes: pa.Array) -> dict[str, pa.Array]:
        """Return the columns of the labels by name; NaN is null.

        >>> rows = LabelRows(np.array([1]), np.array([0.9]), np.array([0.8]), np.array([3]), np.array([False]))
        >>> rows.columns(pa.array(["t1"]), pa.array(["cat", "dog"]))["label"].to_pylist()
        ['dog']
        """
        is_unanswered = self.label < 0
        columns = {
            "task": tasks,
            "label": classes.take(from_numpy(self.label, mask=is_unanswered)),
            "confidence": _nullable(self.confidence),
            "margin": _nullable(self.margin),
            "n_answers": from_numpy(np.asarray(self.n_answers, np.int64)),
        }
        if self.n_abstained is not None:
            columns["n_abstained"] = from_numpy(np.asarray(self.n_abstained, np.int64))
        columns["tied"] = from_numpy(self.tied)
        if self.has_status:
            columns["status"] = take(from_strings(STATUSES), is_unanswered.astype(np.int64))
        return columns | {name: _nullable(values) for name, values in self.extra_columns.items()}


def _nullable(values: FloatArray) -> pa.Array:
    return from_numpy(values, mask=np.isnan(values))


def tally(answers: Answers, weights: FloatArray) -> FloatArray:
    """Sum the weights of the workers who gave each task each class; shape (tasks, classes).

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> tally(answers, np.array([2.0, 0.5, 0.25])).tolist()
    [[2.0, 0.75]]
    """
    answers.check_cells()
    return in_one(blocks_of(answers).map(vote_sums, weights), answers.n_tasks)


def plug_in_vote(answers: Answers, weights: FloatArray, prior: FloatArray | None = None) -> Vote:
    """Vote with the given weights; the posterior is the softmax of the scores [Ma20, Eq. plugin].

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
    """Give every vote the same weight; the posterior is the share of the votes.

    >>> import quorate
    >>> majority(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})).label.tolist()
    [1]
    """
    return weighted_majority(answers, np.ones(answers.n_workers))


def weighted_majority(answers: Answers, weights: FloatArray) -> Vote:
    """Vote with weights that are no log-odds; the posterior is each class's share of the weight cast.

    A vote of negative weight against a class is a vote of that size for every other class.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> weighted_majority(answers, np.array([-1.0, 1.0, 2.0])).posterior.tolist()
    [[0.0, 1.0]]
    """
    scores = tally(answers, weights)
    against = answers.by_task(np.minimum(weights, 0.0)[answers.worker])
    shares = np.empty_like(scores)
    for run in runs(*scores.shape):
        cast = np.maximum(scores[run] - against[run, None], 0.0)
        total = cast.sum(axis=1, keepdims=True)
        shares[run] = np.where(total > 0, cast / np.where(total > 0, total, 1.0), 1 / answers.n_classes)
    return decide(answers, scores, shares)


def decide(answers: Answers, scores: FloatArray, posterior: FloatArray, prior: FloatArray | None = None) -> Vote:
    """Choose each task's class: by score, then plain majority, then class prior, then order of the classes.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> task_vote = decide(answers, np.zeros((1, 2)), np.full((1, 2), 0.5))
    >>> task_vote.label.tolist(), task_vote.tied.tolist()
    ([1], [True])
    """
    label = scores.argmax(axis=1)
    tied = np.zeros(len(scores), dtype=bool)
    for some in runs(*scores.shape):
        leaders = leading_classes(scores[some])
        several = leaders.sum(axis=1) > 1
        if several.any():
            among = leaders[several]
            counts = _counts(answers, some)[several]
            for rule in [counts] if prior is None else [counts, np.broadcast_to(prior, among.shape)]:
                among &= leading_classes(np.where(among, rule, -np.inf))
            label[some][several] = among.argmax(axis=1)
            tied[some] = several
    return Vote(scores, posterior, label, tied)


def _counts(answers: Answers, tasks: slice) -> FloatArray:
    """Count how many workers gave each class to each task of a run; shape (tasks, classes)."""
    start = answers.start
    m = answers.n_classes
    n = tasks.stop - tasks.start
    cells = answers.cells[start[tasks.start] : start[tasks.stop]] - tasks.start * m
    return np.bincount(cells, minlength=n * m).reshape(n, m).astype(np.float64)


def by_posterior(answers: Answers, posterior: FloatArray) -> Vote:
    """Choose each task's class by its probability, and where that ties by the rules of `decide`.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> by_posterior(answers, np.array([[0.6, 0.4]])).label.tolist()
    [0]
    """
    scores = np.maximum(posterior, FLOOR)
    return decide(answers, np.log(scores, out=scores), posterior)


def reveal(task_vote: Vote, gold: IntArray) -> Vote:
    """Give the tasks whose label is known (>= 0) that label, for certain.

    >>> import quorate
    >>> task_vote = majority(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}))
    >>> reveal(task_vote, np.array([0])).posterior.tolist()
    [[1.0, 0.0]]
    """
    known = np.flatnonzero(gold >= 0)
    scores = task_vote.scores.copy()
    scores[known, gold[known]] += 2 * MAX_LOG_ODDS + np.ptp(scores[known], axis=1)
    tied = task_vote.tied.copy()
    tied[known] = False
    posterior = clamp_gold(task_vote.posterior, gold)
    return replace(task_vote, scores=scores, posterior=posterior, label=hold_labels(task_vote.label, gold), tied=tied)


def check_prior(prior: FloatArray, n_classes: int) -> FloatArray:
    """Return the class prior, normalised.

    Raises:
        OptionError: it has not one positive number a class.

    >>> check_prior(np.array([3.0, 1.0]), 2).tolist()
    [0.75, 0.25]
    """
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape != (n_classes,) or not np.all(prior > 0) or not np.all(np.isfinite(prior)):
        raise OptionError(f"the class prior must be {n_classes} positive numbers, one for each class in order")
    normalised: FloatArray = prior / prior.sum()
    return normalised


def leading_classes(scores: FloatArray) -> BoolArray:
    """Mark every class that has its task's best score; shape (tasks, classes).

    >>> leading_classes(np.array([[1.0, 2.0, 2.0]])).tolist()
    [[False, True, True]]
    """
    best = scores.max(axis=1, keepdims=True)
    leading: BoolArray = scores >= best - TIE * np.maximum(np.abs(best), 1)
    return leading
