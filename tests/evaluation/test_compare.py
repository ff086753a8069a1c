"""Methods side by side: no winner without truth, intervals and paired tests with it."""

import numpy as np
import pytest
from scipy.stats import binom

import quorate
from quorate.errors import OptionError

METHODS = ["quorate", "majority", "wawa"]
CROWD = quorate.simulate.crowd(400, 9, 4, skills=np.linspace(-0.2, 0.9, 9), seed=1)


def test_without_truth_there_are_no_errors_and_no_order() -> None:
    comparison = quorate.compare(CROWD.answers, methods=METHODS)
    assert [row[0] for row in comparison.rows()] == METHODS
    assert comparison.reference is None
    assert all(entry.error is None and entry.p_value is None for entry in comparison.entries)
    labels = comparison.label_table(CROWD.answers).arrow
    differ = [len({row[name] for name in METHODS}) > 1 for row in labels.to_pylist()]
    assert comparison.n_differing() == sum(differ)
    assert "none can be called best" in comparison.summary()


def test_p_values_are_those_of_mcnemars_exact_test_corrected_by_holm() -> None:
    comparison = quorate.compare(CROWD.answers, CROWD.truth_table, methods=METHODS)
    truth = {row["task"]: row["label"] for row in CROWD.truth_table.to_pylist()}
    rows = comparison.label_table(CROWD.answers).arrow.to_pylist()
    p_values = {}
    for name in METHODS[1:]:
        only = sum(row[name] != truth[row["task"]] == row["quorate"] for row in rows)
        reference = sum(row["quorate"] != truth[row["task"]] == row[name] for row in rows)
        p_values[name] = min(1.0, 2 * binom.cdf(min(only, reference), only + reference, 0.5))
    first, second = sorted(p_values, key=lambda name: p_values[name])
    corrected = {first: min(1, 2 * p_values[first])}
    corrected[second] = max(corrected[first], p_values[second])
    found = {entry.method: entry.p_value for entry in comparison.entries}
    assert found.pop("quorate") is None
    assert found == pytest.approx(corrected)


def test_intervals_of_errors_hold_the_errors() -> None:
    comparison = quorate.compare(CROWD.answers, CROWD.truth_table, methods=METHODS)
    for entry in comparison.entries:
        assert entry.error is not None
        assert entry.error_low is not None
        assert entry.error_high is not None
        assert 0 <= entry.error_low < entry.error < entry.error_high <= 1


def test_the_same_labels_twice_may_be_chance() -> None:
    comparison = quorate.compare(CROWD.answers, CROWD.truth_table, methods=["majority", "majority"])
    assert comparison.reference == "majority"
    assert comparison.n_differing() == 0


@pytest.mark.parametrize("most_answers", [None, 200])
def test_results_on_other_answers_are_refused(most_answers: int | None) -> None:
    answers = quorate.simulate.crowd(100, 10, 4, seed=0).answers
    other = quorate.aggregate(quorate.simulate.crowd(50, 10, 4, seed=1).answers)
    with pytest.raises(OptionError, match="results= has a result of quorate on other answers"):
        quorate.compare(answers, methods=["quorate"], results={"quorate": other}, most_answers=most_answers)
