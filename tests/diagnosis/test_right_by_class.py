"""What the diagnosis says in figures, against the truth of the public sets; docs/diagnosis.md states the errors."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.arrays import FloatArray, IntArray
from quorate.diagnosis.diagnose import diagnose
from quorate.diagnosis.right_by_class import ENOUGH, right_by_class
from quorate.evaluation.public_sets import SEVEN, SOURCES
from quorate.evaluation.simulate import crowd
from quorate.gold import match_truth


def truth_of(data: Any) -> IntArray:
    tasks, labels = match_truth(data.truth, data.answers)
    truth = np.full(data.answers.n_tasks, -1)
    truth[tasks.codes[tasks.codes >= 0]] = labels.codes[tasks.codes >= 0]
    return truth


def really_right(data: Any, truth: IntArray) -> FloatArray:
    """The share of answers that are right on the tasks of each class; NaN below 20 of them."""
    found = np.full(data.answers.n_classes, np.nan)
    for k in range(data.answers.n_classes):
        mine = truth == k
        if mine.sum() >= 20:
            found[k] = data.answers.counts[mine, k].sum() / data.answers.per_task[mine].sum()
    return found


def test_ranges_of_classes_hold_the_truth_and_are_off_by_what_the_docs_say(real: Any) -> None:
    stated, true, held = [], [], []
    for name in SOURCES:
        data = real.load(name)
        found = right_by_class(data.answers, quorate.aggregate(data.answers).ballot.posterior)
        right = really_right(data, truth_of(data))
        known = ~np.isnan(right)
        stated += found.share[known].tolist()
        true += right[known].tolist()
        held += ((found.low <= right) & (right <= found.high))[known].tolist()
    assert len(true) >= 70
    assert np.abs(np.subtract(stated, true)).mean() < 0.07
    assert np.mean(held) >= 0.9


@pytest.mark.parametrize("name", SEVEN)
def test_what_is_said_of_workers_and_classes_agrees_with_the_truth(real: Any, name: str) -> None:
    """Every figure of the findings that a truth can be held against."""
    data = real.load(name)
    found, truth = diagnose(data.answers), truth_of(data)
    answers, m = data.answers, data.answers.n_classes
    for finding in (*found.of_kind("adversary"), *found.of_kind("spammer")):
        mine = (answers.worker == finding.workers[0]) & (truth[answers.task] >= 0)
        n = int(mine.sum())
        right = (answers.label[mine] == truth[answers.task[mine]]).mean()
        skill = (m * right - 1) / (m - 1)
        error = m / (m - 1) * np.sqrt(0.25 / n)  # of the skill by so many known tasks
        assert finding.evidence["low"] - 2 * error <= skill <= finding.evidence["high"] + 2 * error
    for finding in found.of_kind("class-dependent-accuracy"):
        assert "100 %" not in finding.sentence
        assert "100%" not in finding.sentence
        right = really_right(data, truth)
        ranges = finding.evidence["right_by_class"].values()
        off = [
            max(each["low"] - true, true - each["high"], 0.0)
            for each, true in zip(ranges, right, strict=True)
            if not np.isnan(true)
        ]
        assert max(off) < 0.05


def test_known_labels_replace_what_the_labels_themselves_say() -> None:
    simulated = crowd(600, 10, 5, skills=np.full(10, -0.4), seed=0)  # most are wrong: labels say the opposite
    answers = simulated.answers
    posterior = quorate.aggregate(answers).ballot.posterior
    blind = right_by_class(answers, posterior)
    assert blind.low.min() > 0.3
    known = np.where(np.arange(600) < 80, simulated.truth, -1)
    seen = right_by_class(answers, posterior, known)
    assert seen.checked.all()
    assert np.all((seen.low < 0.3) & (seen.high > 0.3))  # a skill of -0.4 is right three times in ten
    few = np.where(np.arange(600) < ENOUGH, simulated.truth, -1)
    assert not right_by_class(answers, posterior, few).checked.any()


def test_nothing_is_ever_said_to_be_always_right() -> None:
    answers = crowd(200, 8, 5, skills=np.ones(8), seed=0).answers
    found = right_by_class(answers, quorate.aggregate(answers).ballot.posterior, answers.label[::5].astype(np.int64))
    assert found.high.max() <= 0.99
    assert "100" not in found.text(0)
