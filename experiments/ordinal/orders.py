"""Effect of using the order of the classes, on simulated crowds with both definitions of truth and on public ones.

``python -m experiments.ordinal.orders`` prints the table of docs/accuracy.md; ``--choose`` what the constants
of `quorate.models.ordinal` were chosen on, the simulated crowds alone; ``--web`` what makes KOS good on web.
"""

import argparse
import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from experiments.calibration.public_crowds import folder_of_more, public_crowd
from experiments.ordinal.ordered_crowds import DECIDED_BY_EXPERTS, READ, Kind, ordered_crowd
from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import UnreadableFileError
from quorate.evaluation.metrics import LEAST_PROBABILITY
from quorate.io.read import read
from quorate.methods.aggregate import aggregate
from quorate.models import ordinal
from quorate.models.accuracy_prior import MIN_PRIOR_STRENGTH
from quorate.voting.vote import Vote

CLASSES = (3, 4, 5, 7, 10)
SEEDS = (0, 1)
RUNS: tuple[dict[str, Any], ...] = ({}, {"ordered": True}, {"method": "kos", "classes": "ordered"})
# Public sets with an order: grades; ages; negative, neutral and positive of five answers; no, unclear and yes.
COMPLETE_SETS = ("web", "age")
PARTS = {"weather_amt": "012", "weather_cf": "012"}
UNCLEAR = ("slr_intervention", "slr_tech", "slr_older")
BY_THRESHOLD = ("majority", "one-coin", "dawid-skene", "rank-one", "iwmv", "quorate", "kos", "ghosh-svd")
EIGHT = 8  # number of workers of web with the most answers
SKILLED = (0.35, 0.5, 0.6, 0.7)
SETTLES = (1.0, 2.0, 4.0, 8.0, 12.0)


@dataclass(frozen=True)
class Fared:
    """Figures of labels and confidence."""

    error: float
    log_loss: float
    stated: float  # mean confidence
    gap: float  # mean absolute difference of confidence and share right, over ten bins

    def __str__(self) -> str:
        return f"{self.error:.4f} | {self.log_loss:.3f} | {self.stated + self.error - 1:+.3f}"


def fared(task_vote: Vote, truth: IntArray) -> Fared:
    """Return the figures of labels on tasks with a true class; -2 is a class that no worker gave.

    >>> task_vote = Vote(np.zeros((2, 2)), np.array([[0.8, 0.2], [0.6, 0.4]]), np.array([0, 0]), np.zeros(2, bool))
    >>> found = fared(task_vote, np.array([0, 1]))
    >>> found.error, round(found.stated, 2), round(found.gap, 2)
    (0.5, 0.7, 0.4)
    """
    known = np.flatnonzero(truth != -1)
    true = truth[known]
    label = task_vote.label[known]
    posterior = task_vote.posterior[known]
    rows = np.arange(len(known))
    right = label == true
    p = np.where(true >= 0, posterior[rows, np.maximum(true, 0)], 0.0)
    sure = posterior[rows, label]
    gaps = np.bincount(np.minimum((sure * 10).astype(np.int64), 9), sure - right)
    loss = -np.log(np.maximum(p, LEAST_PROBABILITY)).mean()
    return Fared(float(1 - right.mean()), float(loss), float(sure.mean()), float(np.abs(gaps).sum() / len(known)))


def averaged(found: Iterable[Fared]) -> Fared:
    """Return the means over crowds."""
    table = np.array([[each.error, each.log_loss, each.stated, each.gap] for each in found])
    return Fared(*table.mean(axis=0).tolist())


def of_kind(kind: Kind, runs: tuple[dict[str, Any], ...] = RUNS) -> list[Fared]:
    """Evaluate every run on the crowds of a kind."""
    crowds = [ordered_crowd(kind, m, seed) for m in CLASSES for seed in SEEDS]
    return [averaged(fared(aggregate(answers, **run).vote, truth) for answers, truth in crowds) for run in runs]


def public() -> list[tuple[str, Answers, IntArray]]:
    """Return the available public sets with ordered classes; for some, only answers and tasks of ordered classes."""
    found = []
    for name in (*COMPLETE_SETS, *PARTS, *UNCLEAR):
        try:
            more = folder_of_more()
            if name in COMPLETE_SETS:
                crowd = public_crowd(name, more)
                found.append((name, crowd.answers, crowd.truth))
            else:
                found.append((name, *_part(more / name, PARTS.get(name))))
        except UnreadableFileError as error:
            print(f"{name}: {error}")
    return found


def _part(folder: Path, kept: str | None) -> tuple[Answers, IntArray]:
    """Return the answers of some classes to tasks of these classes."""
    with (folder / "truth.csv").open(encoding="utf-8") as file:
        truth = {row["task"]: row["label"] for row in csv.DictReader(file) if kept is None or row["label"] in kept}
    with (folder / "labels.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["task"] in truth and (kept is None or row["label"] in kept)]
    table = {name: [row[name] for row in rows] for name in ("task", "worker", "label")}
    answers = read(table, on_conflict="last")
    code = {str(name): k for k, name in enumerate(answers.classes.to_pylist())}
    return answers, np.array([code.get(truth[str(task)], -2) for task in answers.task_names.to_pylist()])


def thresholds(answers: Answers, method: str) -> IntArray:
    """Return the first class that tasks do not exceed, by a binary run of a method per threshold."""
    yes_no = pa.array(["no", "yes"])
    asked = (
        replace(answers, label=(answers.label > k).astype(answers.label.dtype)) for k in range(answers.n_classes - 1)
    )
    above = [aggregate(replace(each, classes=yes_no), method).vote.label == 1 for each in asked]
    first: IntArray = np.cumprod(above, axis=0).sum(axis=0)
    return first


def middle_of(answers: Answers, weights: FloatArray) -> IntArray:
    """Return the weighted median of each task's answers, the lower of two."""
    share = np.bincount(answers.cells, weights[answers.worker], answers.n_tasks * answers.n_classes)
    up_to = np.cumsum(share.reshape(-1, answers.n_classes), axis=1)
    half: IntArray = (up_to < up_to[:, -1:] / 2 - 1e-9).sum(axis=1)
    return half


def what_makes_web() -> None:
    """Print what methods find on web by classes and by thresholds, and what medians and true matrices find."""
    crowd = public_crowd("web", Path())
    answers = crowd.answers
    truth = crowd.truth
    known = truth >= 0

    def error(label: IntArray, some: BoolArray = known) -> str:
        return f"{(label != truth)[some].mean():.4f} of {some.sum()} tasks"

    print("| web | by classes | by thresholds |\n|---|---|---|")
    for method in BY_THRESHOLD:
        plain = aggregate(answers, method).vote.label
        above = thresholds(answers, method)
        print(f"| {method} | {(plain != truth)[known].mean():.4f} | {(above != truth)[known].mean():.4f} |")
    n = answers.per_worker.astype(np.float64)
    most = (n >= np.sort(n)[-EIGHT]).astype(np.float64)
    three = known & (answers.by_task(most[answers.worker]) == 3)
    print(f"\nmedian of all: {error(middle_of(answers, np.ones(len(n))))}")
    print(f"weighed by answers given: {error(middle_of(answers, n))}")
    print(f"of the {EIGHT} who gave most: {error(middle_of(answers, most))}")
    print(f"where three of them answered: {error(middle_of(answers, most), three)}")
    print(f"true matrices, none of its own task: {error(_by_true_matrices(answers, truth, answers.n_classes))}")


def _by_true_matrices(answers: Answers, truth: IntArray, m: int) -> IntArray:
    """Label by the confusion matrices that the truth gives, drawn to the crowd's; no task counts in its own."""
    known = truth[answers.task] >= 0
    counts = np.zeros((answers.n_workers, m, m))
    np.add.at(counts, (answers.worker[known], answers.label[known], truth[answers.task[known]]), 1.0)
    pooled = counts.sum(axis=0) + 0.5
    worth = MIN_PRIOR_STRENGTH * m / 2
    own = counts[answers.worker]
    rows = np.flatnonzero(known)
    own[rows, answers.label[rows], truth[answers.task[rows]]] -= 1
    theta = (own + worth * pooled / pooled.sum(axis=0)) / (own.sum(axis=1, keepdims=True) + worth)
    given = np.log(theta[np.arange(answers.n_answers), answers.label])
    prior = np.bincount(truth[truth >= 0], minlength=m)
    scores = np.stack([answers.by_task(column) for column in given.T], axis=1) + np.log(prior)
    label: IntArray = scores.argmax(axis=1)
    return label


def choose() -> None:
    """Print the figures of every choice on simulated crowds with the first definition of truth, the second, or both."""
    plain = [averaged(of_kind(kind, RUNS[:1])[0] for kind in kinds) for kinds in (READ, DECIDED_BY_EXPERTS)]
    head = "error | log-loss | stated - right"
    print(f"| as skilled | settles | read: {head} | settled: {head} | both: log-loss |\n{'|---' * 9}|")
    print(f"| no order | | {plain[0]} | {plain[1]} | {(plain[0].log_loss + plain[1].log_loss) / 2:.4f} |")
    for skilled in SKILLED:
        for settles in SETTLES:
            with patch.multiple(ordinal, MIN_RELATIVE_SKILL=skilled, MEDIAN_ANSWER_WEIGHT=settles):
                both = [averaged(of_kind(kind, RUNS[1:2])[0] for kind in kinds) for kinds in (READ, DECIDED_BY_EXPERTS)]
            loss = (both[0].log_loss + both[1].log_loss) / 2
            print(f"| {skilled} | {settles:g} | {both[0]} | {both[1]} | {loss:.4f} |", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--web", action="store_true")
    given = parser.parse_args(arguments)
    if given.choose:
        choose()
        return
    if given.web:
        what_makes_web()
        return
    head = "error | log-loss | stated - right"
    print(f"| crowd | default: {head} | --ordered: {head} | kos, ordered: error |\n{'|---' * 8}|")
    for kinds, meaning in ((READ, "read"), (DECIDED_BY_EXPERTS, "settled")):
        rows = [of_kind(kind) for kind in kinds]
        for kind, row in zip(kinds, rows, strict=True):
            print(_row(kind.name, row), flush=True)
        print(_row(f"**truth that is {meaning}**", [averaged(each) for each in zip(*rows, strict=True)]))
    for name, answers, truth in public():
        print(_row(name, [fared(aggregate(answers, **run).vote, truth) for run in RUNS]), flush=True)


def _row(name: str, row: list[Fared]) -> str:
    return f"| {name} | {row[0]} | {row[1]} | {row[2].error:.4f} |"


if __name__ == "__main__":
    main()
