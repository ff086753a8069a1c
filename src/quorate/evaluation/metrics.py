"""Labels against the truth."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import quorate.arrow_compute as pc
from quorate.arrays import FloatArray, IntArray, Shown, Table, from_strings
from quorate.errors import NoRowsError, about_argument
from quorate.io.arguments import check_arguments
from quorate.io.columns import as_type
from quorate.io.gold import about_labels, known_label_columns, match_truth, read_labels
from quorate.io.open_file import hold
from quorate.io.options import ReadOptions
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.notes import percent
from quorate.result import Result, count
from quorate.statistics import wilson_interval


@dataclass(frozen=True, repr=False)
class Score(Shown):
    """The number of wrong labels, with Wilson's 95% interval, and of tasks that could not be scored."""

    error: float  # share of the judged labels that are wrong
    n_scored: int
    n_wrong: float
    n_without_truth: int  # labelled tasks whose truth is not known
    n_without_label: int  # tasks with a truth and without a label, for instance because they have no answers
    # (true label, label given, number of tasks); in the score of a result, ties count as fractions.
    confusion: tuple[tuple[str, str, float], ...] = field(default=(), repr=False)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the error.

        >>> [round(end, 2) for end in Score(0.25, 4, 1, 0, 2).interval]
        [0.05, 0.7]
        """
        return wilson_interval(self.n_wrong, self.n_scored)

    def summary(self) -> str:
        """Return the share of wrong labels with its interval, as text.

        >>> Score(0.25, 4, 1, 0, 0)
        <Score: 1 of 4 labels is wrong (25%; 95% interval 4.6% to 70%).>
        """
        return "\n".join(self.lines())

    def _tables(self) -> tuple[Table, ...]:
        names, rows = self.confusion_table()
        if not rows:
            return ()
        columns = [from_strings(["" if row[k] is None else str(row[k]) for row in rows]) for k in range(len(names))]
        return (Table(pa.table(columns, names)),)

    def lines(self) -> list[str]:
        """Return the score as sentences.

        >>> Score(0.25, 4, 1, 0, 2).lines()
        ['1 of 4 labels is wrong (25%; 95% interval 4.6% to 70%).', 'Not counted, because there is no label: 2 tasks.']
        """
        low, high = map(percent, self.interval)
        verb = "is" if self.n_wrong == 1 else "are"
        lines = [
            f"{self.n_wrong:,.6g} of {count(self.n_scored, 'label')} {verb} wrong ({percent(self.error)}; "
            f"95% interval {low} to {high})."
        ]
        if self.n_without_truth:
            lines.append(f"Not counted, because the true label is not known: {count(self.n_without_truth, 'task')}.")
        if self.n_without_label:
            lines.append(f"Not counted, because there is no label: {count(self.n_without_label, 'task')}.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        low, high = self.interval
        keys = ("true_label", "label", "n_tasks")
        pairs = [dict(zip(keys, row, strict=True)) for row in self.confusion]
        return {**asdict(self), "error_low": low, "error_high": high, "confusion": pairs}

    def confusion_table(self, most_classes: int = 8) -> tuple[list[str], list[list[Any]]]:
        """Return columns and rows of the confusion table: true labels by labels given.

        With more than `most_classes` classes, the rows are the confused pairs, most frequent first.

        >>> Score(0.5, 2, 1, 0, 0, (("cat", "cat", 1), ("cat", "dog", 1))).confusion_table()
        (['true label', 'cat', 'dog', 'wrong'], [['cat', 1, 1, '50%'], ['dog', 0, 0, None]])
        """
        classes = sorted({name for true, label, _ in self.confusion for name in (true, label)})
        if len(classes) > most_classes:
            confused = [row for row in self.confusion if row[0] != row[1]]
            ranked = sorted(confused, key=lambda row: (-row[2], row[0], row[1]))
            return ["true label", "label given", "tasks"], [list(row) for row in ranked]
        counts = {(true, label): n for true, label, n in self.confusion}
        rows: list[list[Any]] = []
        for true in classes:
            row_counts = [counts.get((true, label), 0) for label in classes]
            total = sum(row_counts)
            wrong = None if total == 0 else percent(1 - counts.get((true, true), 0) / total)
            rows.append([true, *row_counts, wrong])
        return ["true label", *classes, "wrong"], rows


@keep_pipes()
def score_labels(
    labels: Source,
    truth: Source,
    *,
    task: str = "task",
    label: str = "label",
    truth_task: str | None = None,
    truth_label: str | None = None,
) -> Score:
    """Compare a table of labels with a table of truths, task by task.

    Args:
        labels: a path or a table with the columns ``task`` and ``label``.
        truth: true labels, in the same form.
        task: the column of task ids; in a table without this column, ``task``.
        label: the column of labels; in a table without this column, ``label``.
        truth_task: the column of task ids in the truth, if it has another name there.
        truth_label: the column of labels in the truth, if it has another name there.

    Raises:
        NoRowsError: no task has both a label and a truth.

    >>> labels = {"task": [1, 2, 3], "label": ["cat", "dog", "cat"]}
    >>> score_labels(labels, {"item": [1, 2, 9], "label": ["cat", "cat", "cat"]}, truth_task="item")
    <Score: 1 of 2 labels is wrong (50%; 95% interval 9.5% to 91%).>
    """
    labels = hold(labels)
    truth = hold(truth)
    columns = known_label_columns(labels, ReadOptions(task=task, label=label))
    true = known_label_columns(truth, ReadOptions(task=truth_task or task, label=truth_label or label))
    with about_argument("labels="):
        tasks, label_column = read_labels(
            labels, task=columns[0], label=columns[1], what="the labels", skip_blank_labels=True
        )
    with about_labels("the true labels"):
        known_tasks, known = read_labels(truth, task=true[0], label=true[1], what="the true labels")
    position = pc.index_in(tasks, value_set=as_type(known_tasks, tasks.type, "tasks of the truth"))
    judged = position.drop_null()
    if len(judged) == 0:
        raise NoRowsError(
            "The labels and the true labels have no task in common. Check that both use the same task ids"
        )
    compared = label_column.filter(position.is_valid())
    right = as_type(known, label_column.type, "labels of the truth").take(judged)
    pairs = Counter(zip(map(str, right.to_pylist()), map(str, compared.to_pylist()), strict=True))
    n_wrong = sum(n for (true_label, label_given), n in pairs.items() if true_label != label_given)
    return Score(
        error=n_wrong / len(judged),
        n_scored=len(judged),
        n_wrong=n_wrong,
        n_without_truth=len(tasks) - len(judged),
        n_without_label=len(known) - len(judged),
        confusion=tuple((*pair, n) for pair, n in sorted(pairs.items())),
    )


@check_arguments
@keep_pipes()
def score(labels: "Result | Source", truth: Source) -> Score:
    """Score labels against the truth; an exact tie of k classes counts as 1/k right.

    Args:
        labels: a result, or a table with the columns ``task`` and ``label``, or a mapping from task to label.
        truth: a path or a table with the columns ``task`` and ``label``, or a mapping from task to label.

    >>> score({1: "cat", 2: "dog"}, {1: "cat", 2: "cat"}).error
    0.5
    """
    return expected_error(labels, truth) if isinstance(labels, Result) else score_labels(labels, truth)


def expected_error(result: Result, truth: Source) -> Score:
    """Score a result; the credit of exact ties is split evenly, which is the mean over all ways to break them.

    Args:
        result: result of an aggregation.
        truth: a path or a table with the columns ``task`` and ``label``, or a mapping from task to label.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1], "worker": ["a", "b"], "label": ["cat", "dog"]}, "majority")
    >>> expected_error(result, {1: "cat"}).error
    0.5
    """
    true = true_classes(result, truth)
    judged = np.flatnonzero(true != -1)
    wrong = float(len(judged) - credit(result, true)[judged].sum())
    tasks, _ = match_truth(truth, result.answers, what="the true labels")
    n_labelled = int((result.vote.label >= 0).sum())
    return Score(wrong / len(judged), len(judged), wrong, n_labelled - len(judged), len(tasks.codes) - len(judged))


LEAST_PROBABILITY = 1e-4  # lower bound of a probability in the log-loss: a certain mistake costs 9.2 nats, not infinity


@check_arguments
def log_loss(result: Result, truth: Source) -> float:
    """Return the mean of -log(probability of the true class), over tasks with truth.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1], "worker": ["a", "b"], "label": ["cat", "dog"]}, "majority")
    >>> round(log_loss(result, {1: "cat"}), 4)
    0.6931
    """
    true = true_classes(result, truth)
    judged = np.flatnonzero(true != -1)
    p = np.where(true[judged] >= 0, result.vote.posterior[judged, np.maximum(true[judged], 0)], 0.0)
    return float(-np.log(np.maximum(p, LEAST_PROBABILITY)).mean())


@check_arguments
def calibration_error(result: Result, truth: Source, *, bins: int = 10) -> float:
    """Return the expected calibration error: |confidence - share right| in even bins, averaged over tasks.

    NaN if no confidence is stated.

    Args:
        result: result of an aggregation.
        truth: as in `quorate.score`.
        bins: number of bins of confidence, from 0 to 1.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 1, 1], "worker": list("abcd"), "label": list("xxxy")}, "majority")
    >>> calibration_error(result, {1: "x"})
    0.25
    """
    true = true_classes(result, truth)
    judged = np.flatnonzero((true != -1) & ~np.isnan(result.vote.confidence))
    if len(judged) == 0:
        return float("nan")
    confidence = result.vote.confidence[judged]
    right = credit(result, true)[judged]
    bin_of_task = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.abs(np.bincount(bin_of_task, confidence - right, minlength=bins))
    return float(gaps.sum() / len(judged))


def credit(result: Result, true: IntArray) -> FloatArray:
    """Return the probability that each label is right if exact ties are broken at random; 0 without a known truth.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1], "worker": ["a", "b"], "label": ["cat", "dog"]}, "majority")
    >>> credit(result, np.array([0])).tolist()
    [0.5]
    """
    leaders = result.vote.leaders
    share: FloatArray = leaders[np.arange(len(true)), np.maximum(true, 0)] / leaders.sum(axis=1)
    return np.where(true >= 0, share, 0.0)


def true_classes(result: Result, truth: Source) -> IntArray:
    """Return the class code of each task's truth: -1 where it is not known, -2 if it is a class without any answer.

    Tasks without a label also get -1: they are not scored.

    Raises:
        NoRowsError: the truth of no labelled task is known.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]}, "majority")
    >>> true_classes(result, {1: "y"}).tolist()
    [1, -1]
    """
    tasks, labels = match_truth(truth, result.answers, what="the true labels")
    is_matched = tasks.codes >= 0
    if not is_matched.any():
        raise NoRowsError(
            "The answers and the true labels have no task in common. Check that both use the same task ids"
        )
    true = np.full(result.answers.n_tasks, -1, np.int64)
    true[tasks.codes[is_matched]] = np.where(labels.codes[is_matched] >= 0, labels.codes[is_matched], -2)
    true[result.vote.label < 0] = -1
    if not (true != -1).any():
        raise NoRowsError("No task with a true label has a label, because nobody answered these tasks")
    return true
