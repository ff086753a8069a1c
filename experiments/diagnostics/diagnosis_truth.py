"""Figures that `quorate diagnose` states, compared with the true labels of the 21 public sets.

``python -m experiments.diagnostics.diagnosis_truth`` prints the table of docs/accuracy.md. Counts of answers,
shared tasks and agreements are facts of the file, and are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.calibration.gold_skills import gold_skills
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.datasets import load
from quorate.datasets.sources import SOURCES
from quorate.diagnostics.diagnose import Diagnosis, diagnose
from quorate.io.gold import match_truth

LEAST = 20  # tasks with a true label that a figure needs to be compared
RIGHT = "share of answers that are right on tasks of a class"
SKILL = "skill of a worker named a spammer or an adversary"
EXPLAINED = "share of one class that the tasks of a one-button worker explain"
MOVES = "how far a one-button worker's answer moves with the task"
AGREEMENT = "agreement that two workers' skills explain, of an agreeing pair"
KINDS = (RIGHT, SKILL, EXPLAINED, MOVES, AGREEMENT)


@dataclass(frozen=True)
class Statement:
    """A stated figure, its range if it has one, and the same figure by the true labels."""

    kind: str  # one of KINDS
    stated: float
    true: float
    low: float = np.nan
    high: float = np.nan

    @property
    def off(self) -> float:
        """The stated figure minus the true one."""
        return self.stated - self.true


def truth_of(name: str) -> tuple[Answers, IntArray]:
    """Return the answers of a set, and the true class of each task, -1 where unknown."""
    data = load(name)
    tasks, labels = match_truth(data.truth, data.answers)
    truth = np.full(data.answers.n_tasks, -1)
    known = (tasks.codes >= 0) & (labels.codes >= 0)
    truth[tasks.codes[known]] = labels.codes[known]
    return data.answers, truth


def statements(found: Diagnosis, truth: IntArray) -> Iterator[Statement]:
    """Yield the figures of a diagnosis with those by the true labels.

    Args:
        found: the diagnosis.
        truth: the class of each task, -1 where unknown.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(600, 20, 6, skills=np.r_[-0.6, np.full(19, 0.7)], seed=0)
    >>> [(each.kind, abs(each.off) < 0.15) for each in statements(diagnose(crowd.answers), crowd.truth)]
    [('skill of a worker named a spammer or an adversary', True)]
    """
    answers = found.answers
    yield from _of_classes(found, truth)
    skills, n = gold_skills(answers, truth, centred=True)
    for finding in (*found.of_kind("adversary"), *found.of_kind("spammer")):
        (worker,), evidence = finding.workers, finding.evidence
        if n[worker] >= LEAST and not np.isnan(skills[worker]):
            yield Statement(SKILL, evidence["skill"], float(skills[worker]), evidence["low"], evidence["high"])
    yield from _of_buttons(found, truth)
    right = (answers.label == truth[answers.task]) & (truth[answers.task] >= 0)
    accuracy = answers.by_worker(right.astype(np.float64)) / np.maximum(n, 1)
    for finding in found.of_kind("agreeing-pair"):
        i, j = finding.workers
        if min(n[i], n[j]) >= LEAST:
            by_truth = _alike(float(accuracy[i]), float(accuracy[j]), answers.n_classes)
            yield Statement(AGREEMENT, finding.evidence["expected"] / finding.evidence["shared"], by_truth)


def right_by_truth(answers: Answers, truth: IntArray) -> FloatArray:
    """Return the share of right answers on the tasks of each class; NaN for classes with few tasks.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 10, 5, skills=np.full(10, 0.6), seed=0)
    >>> right_by_truth(crowd.answers, crowd.truth).round(1).tolist()
    [0.8, 0.8]
    """
    found = np.full(answers.n_classes, np.nan)
    for k in range(answers.n_classes):
        mine = truth == k
        if mine.sum() >= LEAST:
            found[k] = answers.counts[mine, k].sum() / max(int(answers.per_task[mine].sum()), 1)
    return found


def _of_classes(found: Diagnosis, truth: IntArray) -> Iterator[Statement]:
    for finding in found.of_kind("class-dependent-accuracy"):
        evidence = finding.evidence["right_by_class"].values()
        for each, right in zip(evidence, right_by_truth(found.answers, truth), strict=True):
            if not np.isnan(right):
                yield Statement(RIGHT, each["share"], float(right), each["low"], each["high"])


def _of_buttons(found: Diagnosis, truth: IntArray) -> Iterator[Statement]:
    answers = found.answers
    true = truth[answers.task]
    names = [str(name) for name in answers.classes.to_pylist()]
    for finding in found.of_kind("one-button"):
        evidence = finding.evidence
        (worker,) = finding.workers
        button = names.index(str(evidence["class"]))
        has_truth = (answers.worker == worker) & (true >= 0)
        in_class = has_truth & (true == button)
        in_others = has_truth & (true != button)
        if has_truth.sum() >= LEAST:
            yield Statement(EXPLAINED, evidence["expected_share"], float(in_class.sum() / has_truth.sum()))
        if min(in_class.sum(), in_others.sum()) >= LEAST / 2:
            moves = (answers.label[in_class] == button).mean() - (answers.label[in_others] == button).mean()
            yield Statement(MOVES, evidence["moves_with_the_task"], float(moves))


def _alike(p: float, q: float, n_classes: int) -> float:
    """Return how often two workers of these accuracies agree, with independent and uniform errors."""
    return p * q + (1 - p) * (1 - q) / (n_classes - 1)


def main() -> None:
    """Print a row for each kind of statement, as Markdown."""
    every: list[Statement] = []
    for name in SOURCES:
        answers, truth = truth_of(name)
        every += statements(diagnose(answers), truth)
    print("| what is stated | statements | off on average | off, whichever way | nine in ten are off by less than |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        off = np.array([each.off for each in every if each.kind == kind])
        if len(off):
            size = np.abs(off)
            figures = f"{off.mean():+.3f} | {size.mean():.3f} | {np.quantile(size, 0.9):.2f}"
            print(f"| {kind} | {len(off)} | {figures} |")
    for kind in KINDS:
        ranged = [each for each in every if each.kind == kind and not np.isnan(each.low)]
        if ranged:
            held = np.mean([each.low <= each.true <= each.high for each in ranged])
            print(f"\n{kind}: the stated range holds {held:.2f} of {len(ranged)}")


if __name__ == "__main__":
    main()
