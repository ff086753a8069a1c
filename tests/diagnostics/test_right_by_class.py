"""What the diagnosis says in figures, against the truth of the public sets; docs/accuracy.md states the errors."""

from typing import Any

import numpy as np
from experiments.diagnostics.diagnosis_truth import right_by_truth, truth_of

import quorate
from quorate.datasets.sources import SOURCES
from quorate.diagnostics.class_dependence import MIN_GOLD_TASKS_OF_CLASS as ENOUGH
from quorate.diagnostics.class_dependence import right_by_class
from quorate.simulate import crowd


def test_ranges_of_classes_hold_the_truth_and_are_off_by_what_the_docs_say(real: Any) -> None:
    stated, true, held = [], [], []
    for name in SOURCES:
        real.load(name)  # where it cannot be had, the test is skipped
        answers, truth = truth_of(name)
        found = right_by_class(answers, quorate.aggregate(answers).vote.posterior)
        right = right_by_truth(answers, truth)
        known = ~np.isnan(right)
        stated += found.share[known].tolist()
        true += right[known].tolist()
        held += ((found.low <= right) & (right <= found.high))[known].tolist()
    assert len(true) >= 70
    assert np.abs(np.subtract(stated, true)).mean() < 0.07
    assert np.mean(held) >= 0.9


def test_known_labels_replace_what_the_labels_themselves_say() -> None:
    simulated = crowd(600, 10, 5, skills=np.full(10, -0.4), seed=0)  # most are wrong: labels say the opposite
    answers = simulated.answers
    posterior = quorate.aggregate(answers).vote.posterior
    blind = right_by_class(answers, posterior)
    assert blind.low.min() > 0.3
    known = np.where(np.arange(600) < 80, simulated.truth, -1)
    seen = right_by_class(answers, posterior, known)
    assert seen.checked.all()
    assert np.all((seen.low < 0.3) & (seen.high > 0.3))  # a skill of -0.4 is right three times in ten
    few = np.where(np.arange(600) < ENOUGH, simulated.truth, -1)
    assert not right_by_class(answers, posterior, few).checked.any()


def test_nothing_is_ever_stated_to_be_always_right() -> None:
    answers = crowd(200, 8, 5, skills=np.ones(8), seed=0).answers
    found = right_by_class(answers, quorate.aggregate(answers).vote.posterior, answers.label[::5].astype(np.int64))
    assert found.high.max() <= 0.99
    assert "100" not in found.text(0)
