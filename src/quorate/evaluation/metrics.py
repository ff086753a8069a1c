"""Labels against the truth."""

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from quorate.arrays import FloatArray, IntArray
from quorate.errors import NoRowsError
from quorate.io.columns import as_type
from quorate.io.gold import match_truth, read_labels
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.result import Result, count


@dataclass(frozen=True)
class Score:
    """How many labels are wrong, and what could not be judged."""

    error: float  # share of the judged labels that are wrong
    n_scored: int
    n_wrong: float
    n_without_truth: int  # labelled tasks whose truth is not known
    n_without_label: int  # tasks with a truth that have no label, for instance because nobody answered them

    def lines(self) -> list[str]:
        """Tell the score to a person.

        >>> Score(0.25, 4, 1, 0, 2).lines()
        ['error 0.2500 (1 of 4 tasks)', 'a truth but no label: 2 tasks']
        """
        lines = [f"error {self.error:.4f} ({self.n_wrong:g} of {count(self.n_scored, 'task')})"]
        if self.n_without_truth:
            lines.append(f"{count(self.n_without_truth, 'task')} without truth, not counted")
        if self.n_without_label:
            lines.append(f"a truth but no label: {count(self.n_without_label, 'task')}")
        return lines


@keep_pipes()
def score_labels(labels: Source, truth: Source, *, task: str = "task", label: str = "label") -> Score:
    """Compare a table of labels with a table of truths, task by task.

    Args:
        labels: a path or a table with the columns ``task`` and ``label``.
        truth: the same.
        task: the column of task ids, in both.
        label: the column of labels, in both.

    Raises:
        NoRowsError: no task has both a label and a truth.

    >>> labels = {"task": [1, 2, 3], "label": ["cat", "dog", "cat"]}
    >>> score_labels(labels, {"task": [1, 2, 9], "label": ["cat", "cat", "cat"]})
    Score(error=0.5, n_scored=2, n_wrong=1, n_without_truth=1, n_without_label=1)
    """
    tasks, given = read_labels(labels, task=task, label=label, what="the labels", skip_blank_labels=True)
    known_tasks, known = read_labels(truth, task=task, label=label, what="the truth")
    place = pc.index_in(tasks, value_set=as_type(known_tasks, tasks.type, "tasks of the truth"))
    judged = place.drop_null()
    if len(judged) == 0:
        raise NoRowsError("no task has both a label and a truth; check that the two files name tasks alike")
    same = pc.equal(given.filter(place.is_valid()), as_type(known, given.type, "labels of the truth").take(judged))
    n_wrong = len(judged) - int(pc.sum(same).as_py() or 0)
    return Score(n_wrong / len(judged), len(judged), n_wrong, len(tasks) - len(judged), len(known) - len(judged))


@keep_pipes()
def score(labels: "Result | Source", truth: Source) -> Score:
    """Score labels against the truth; exact ties of a result share their credit.

    Args:
        labels: a result, or a table with the columns ``task`` and ``label``, or a mapping from task to label.
        truth: a path or a table with the columns ``task`` and ``label``, or a mapping from task to label.

    >>> score({1: "cat", 2: "dog"}, {1: "cat", 2: "cat"}).error
    0.5
    """
    return expected_error(labels, truth) if isinstance(labels, Result) else score_labels(labels, truth)


def expected_error(result: Result, truth: Source) -> Score:
    """Score a result, splitting the credit of exact ties evenly: the mean over all ways to break them.

    Args:
        result: of an aggregation.
        truth: a path or a table with the columns ``task`` and ``label``, or a mapping from task to label.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1], "worker": ["a", "b"], "label": ["cat", "dog"]}, "majority")
    >>> expected_error(result, {1: "cat"}).error
    0.5
    """
    true = true_classes(result, truth)
    judged = np.flatnonzero(true != -1)
    wrong = float(len(judged) - credit(result, true)[judged].sum())
    tasks, _ = match_truth(truth, result.answers, what="the truth")
    n_labelled = int((result.task_vote.label >= 0).sum())
    return Score(wrong / len(judged), len(judged), wrong, n_labelled - len(judged), len(tasks.codes) - len(judged))


LEAST_PROBABILITY = 1e-4  # a probability below this counts as this: one sure mistake costs 9.2, not infinity


def log_loss(result: Result, truth: Source) -> float:
    """Return the mean of -log(probability of the true class), over tasks with truth.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1], "worker": ["a", "b"], "label": ["cat", "dog"]}, "majority")
    >>> round(log_loss(result, {1: "cat"}), 4)
    0.6931
    """
    true = true_classes(result, truth)
    judged = np.flatnonzero(true != -1)
    p = np.where(true[judged] >= 0, result.task_vote.posterior[judged, np.maximum(true[judged], 0)], 0.0)
    return float(-np.log(np.maximum(p, LEAST_PROBABILITY)).mean())


def calibration_error(result: Result, truth: Source, *, bins: int = 10) -> float:
    """Return the expected calibration error: how far confidence is from the share that is right, over even bins.

    NaN where no confidence is stated.

    Args:
        result: of an aggregation.
        truth: as in `expected_error`.
        bins: of confidence, from 0 to 1.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 1, 1], "worker": list("abcd"), "label": list("xxxy")}, "majority")
    >>> calibration_error(result, {1: "x"})
    0.25
    """
    true = true_classes(result, truth)
    judged = np.flatnonzero((true != -1) & ~np.isnan(result.task_vote.confidence))
    if len(judged) == 0:
        return float("nan")
    sure = result.task_vote.confidence[judged]
    right = credit(result, true)[judged]
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)
    gaps = np.abs(np.bincount(place, sure - right, minlength=bins))
    return float(gaps.sum() / len(judged))


def credit(result: Result, true: IntArray) -> FloatArray:
    """Return each task's chance of being right when exact ties are broken at random; 0 where no truth is known.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1], "worker": ["a", "b"], "label": ["cat", "dog"]}, "majority")
    >>> credit(result, np.array([0])).tolist()
    [0.5]
    """
    leaders = result.task_vote.leaders
    share: FloatArray = leaders[np.arange(len(true)), np.maximum(true, 0)] / leaders.sum(axis=1)
    return np.where(true >= 0, share, 0.0)


def true_classes(result: Result, truth: Source) -> IntArray:
    """Return the class code of each task's truth: -1 where it is not known, -2 where nobody ever gave that class.

    Tasks without a label are not judged: theirs is -1, too.

    Raises:
        NoRowsError: the truth of no labelled task is known.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]}, "majority")
    >>> true_classes(result, {1: "y"}).tolist()
    [1, -1]
    """
    tasks, labels = match_truth(truth, result.answers, what="the truth")
    met = tasks.codes >= 0
    if not met.any():
        raise NoRowsError("the truth of none of these tasks is known; check that the two files name tasks alike")
    true = np.full(result.answers.n_tasks, -1, np.int64)
    true[tasks.codes[met]] = np.where(labels.codes[met] >= 0, labels.codes[met], -2)
    true[result.task_vote.label < 0] = -1
    if not (true != -1).any():
        raise NoRowsError("no task with a known truth has a label: nobody answered them")
    return true
