"""Labels of several-label tasks from their yes/no questions, with the frequency of each label as its prior.

Skills are shared by all labels, and so is the prior of yes in the vote. Here each label gets its own: the log-odds of
its questions are shifted by the log-odds of its frequency relative to the mean frequency, until the frequency is that
of the shifted odds. A single label is not shifted.

`several_labels` turns the result of the yes/no questions into `SeveralLabels`, the `Result` with one row per task. It
is the class of `quorate.aggregate(..., multi=...)`.
"""

import warnings
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import expit, logit

from quorate.answers import Questions
from quorate.arrays import BoolArray, FloatArray, IntArray, Table, from_numpy, from_strings, starts_of, take
from quorate.result import Result, count, unanswered_lines
from quorate.voting.vote import SURE, TASK_STATUSES, Vote, by_posterior, changed_vote, reveal

# Pseudo-tasks per label that have the mean frequency; 3 to 30 give the same error (benchmarks/several_labels.py).
PSEUDO_TASKS = 10.0
MAX_STEPS = 50
TOLERANCE = 1e-6  # change of a frequency
MIN_PROBABILITY = 1e-12  # probabilities are at least this before odds are formed


def shift_by_frequency(yes: FloatArray, label: IntArray) -> FloatArray:
    """Return the probabilities of yes, shifted by the frequency of each label.

    Args:
        yes: probability of yes of each question.
        label: label code of each question.

    >>> shift_by_frequency(np.array([0.5, 0.9, 0.1, 0.1]), np.array([0, 0, 0, 0])).round(9).tolist()
    [0.5, 0.9, 0.1, 0.1]
    >>> result = shift_by_frequency(np.array([0.5] + [0.99] * 50 + [0.5] + [0.01] * 50), np.repeat([0, 1], 51))
    >>> bool(result[0] > 0.9), bool(result[51] < 0.1)
    (True, True)
    """
    p = np.clip(yes, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    odds = logit(p)
    mean = float(np.clip(p.mean(), MIN_PROBABILITY, 1 - MIN_PROBABILITY))
    n = np.bincount(label).astype(np.float64)
    frequency = np.full(len(n), mean)
    for _ in range(MAX_STEPS):
        shifted = expit(odds + _log_odds_shift(frequency, mean)[label])
        before = frequency
        frequency = (np.bincount(label, shifted, len(n)) + PSEUDO_TASKS * mean) / (n + PSEUDO_TASKS)
        if np.abs(frequency - before).max() < TOLERANCE:
            break
    shifted = expit(odds + _log_odds_shift(frequency, mean)[label])
    return np.where((yes <= 0) | (yes >= 1), yes, shifted)


def _log_odds_shift(frequency: FloatArray, mean: float) -> FloatArray:
    clipped = np.clip(frequency, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    shift: FloatArray = logit(clipped) - logit(mean)
    return shift


SEPARATOR = b"separator"  # key of the column metadata that holds the separator of list entries
YES = 1  # code of the class yes


@dataclass(frozen=True, repr=False, kw_only=True)
class SeveralLabels(Result):
    """The labels of tasks that may have several; workers and all else are those of the yes/no questions."""

    @property
    def questions(self) -> Questions:
        """Which task and label each question is about."""
        questions = self.answers.questions
        assert questions is not None  # or this would be a plain result
        return questions

    @property
    def asked(self) -> Questions:
        """The deprecated name of `questions`."""
        warnings.warn("asked is now questions", DeprecationWarning, stacklevel=2)
        return self.questions

    @property
    def n_answers(self) -> int:
        """The number of answers that people gave; each is an answer to as many yes/no questions as there are labels."""
        return int(self.questions.per_task.sum())

    @cached_property
    def _is_given(self) -> BoolArray:
        """Whether each task has each label; tasks × labels."""
        is_given: BoolArray = (self.vote.label == YES).reshape(self.questions.n_tasks, self.questions.n_labels)
        return is_given

    @cached_property
    def _is_unanswered(self) -> BoolArray:
        """Whether each task has no label, because it has no answers."""
        return np.asarray((self.vote.label < 0).reshape(self.questions.n_tasks, -1).any(axis=1))

    @cached_property
    def posterior_matrix(self) -> FloatArray:
        """The probability that each task has each label; tasks × labels, in the order of `questions.label_names`."""
        return self.vote.posterior[:, YES].reshape(self.questions.n_tasks, self.questions.n_labels)

    @cached_property
    def label_confidence(self) -> FloatArray:
        """The lowest confidence over all labels of each task, given or not; NaN where no confidence is stated.

        Not the same quantity as `Result.label_confidence`, the probability that the one label of a task is right: a
        task has as many confidences as there are labels. Both put the least certain tasks first.
        """
        lowest: FloatArray = self.vote.confidence.reshape(self.questions.n_tasks, -1).min(axis=1)
        return lowest

    @cached_property
    def labels(self) -> Table:
        """One row per task: task, labels and the confidence of each, mean and least of all labels, n_answers, tied.

        Mean and least confidence are over all labels: that a label given is right, and that any other label is wrong.
        """
        questions = self.questions
        is_given = self._is_given
        sure = self.vote.confidence.reshape(is_given.shape)
        start = starts_of(is_given.sum(axis=1)).astype(np.int32)
        task, label = np.nonzero(is_given)
        unanswered = self._is_unanswered
        unstated = np.isnan(self.label_confidence)
        lists = {
            "labels": _lists(start, take(questions.label_names, label), unanswered),
            "confidences": _lists(start, from_numpy(sure[task, label]), unstated),
        }
        columns = {
            "task": questions.task_names,
            **lists,
            "mean_confidence": from_numpy(sure.mean(axis=1), mask=unstated),
            "least_confidence": from_numpy(self.label_confidence, mask=unstated),
            "n_answers": from_numpy(questions.per_task),
            "tied": from_numpy(np.asarray(self.vote.tied.reshape(is_given.shape).any(axis=1))),
        }
        if unanswered.any():
            columns["status"] = take(from_strings(TASK_STATUSES), unanswered.astype(np.int64))
        between = {SEPARATOR: questions.separator.encode()}
        described = [
            pa.field(name, column.type, metadata=between if name in lists else None) for name, column in columns.items()
        ]
        return Table(pa.Table.from_arrays(list(columns.values()), schema=pa.schema(described)))

    @cached_property
    def posterior(self) -> Table:
        """One row for each task and label: task, label, probability that the task has it."""
        questions = self.questions
        columns = {
            "task": take(questions.task_names, questions.task),
            "label": take(questions.label_names, questions.label),
            "probability": from_numpy(self.vote.posterior[:, YES]),
        }
        return Table(pa.table(columns))

    def to_dict(self, *, labels: bool = True, workers: bool = True) -> dict[str, Any]:
        """Return what `quorate aggregate --json` prints."""
        listed = super().to_dict(labels=labels, workers=workers)
        return {
            **listed,
            "tasks": self.questions.n_tasks,
            "answers": self.n_answers,
            "yes_no_answers": self.answers.n_answers,
            "tasks_without_answers": int(self._is_unanswered.sum()),
            "labels_asked": self.questions.label_names.to_pylist(),
        }

    def _head(self) -> str:
        a = self.answers
        questions = self.questions
        return (
            f"{count(questions.n_tasks, 'task')} labelled from {count(self.n_answers, 'answer')} by "
            f"{count(a.n_workers, 'worker')} ({count(questions.n_labels, 'label')}, each a yes/no question)"
        )

    def _confidence_lines(self) -> list[str]:
        stats = self.vote.confidence_stats()
        basis = self.confidence_basis
        per_task = (
            float(self._is_given[~self._is_unanswered].sum(axis=1).mean()) if not self._is_unanswered.all() else 0.0
        )
        ends = unanswered_lines(int(self._is_unanswered.sum()))
        if stats.mean is None:
            return [f"{per_task:.2f} labels per task.", *ends]
        doubtful = int((self.label_confidence < SURE).sum())
        have = "has" if doubtful == 1 else "have"
        below = f"{count(doubtful, 'task')} {have} a label below {SURE:.0%} confidence"
        if basis is None:
            return [f"{per_task:.2f} labels per task; {below}.", *ends]
        return [*basis.lines(stats.mean, self.info.n_tasks, below), f"{per_task:.2f} labels per task.", *ends]


def _lists(start: IntArray, values: pa.Array, is_null: BoolArray) -> pa.Array:
    """Cut values into lists, one per task; null where the mask is true."""
    return pa.ListArray.from_arrays(from_numpy(start, mask=np.append(is_null, False)), values)


def several_labels(result: Result) -> SeveralLabels:
    """Return the result with the labels of each task, from its yes/no questions; each label has its own prior.

    >>> import quorate
    >>> rows = {"task": [1, 1, 1], "worker": list("abc"), "label": ["cat,dog", "dog", "dog"]}
    >>> quorate.aggregate(rows, multi=",").labels["labels"].to_pylist()
    [['dog']]
    """
    questions = result.answers.questions
    assert questions is not None  # the caller has checked
    vote: Vote = result.vote
    if (
        questions.n_labels > 1 and result.confidence_basis is not None
    ):  # the default method: its posterior is a probability
        yes = shift_by_frequency(vote.posterior[:, YES], questions.label)
        vote = by_posterior(result.answers, np.stack([1 - yes, yes], axis=1))
        vote = vote if result.gold is None else reveal(vote, result.gold)
        # Labels and confidences that the answers do not support stay missing.
        label = np.where(result.vote.label < 0, -1, vote.label)
        vote = changed_vote(vote, label=label, is_stated=result.vote.is_stated)
    parts = {field.name: getattr(result, field.name) for field in fields(result)}
    return SeveralLabels(**{**parts, "label_source": changed_vote(vote)})
