"""Sums over tasks where classes are many: without the tables that would be mostly empty, as with them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.interrater import bootstrap, sums
from quorate.interrater.agreement import SCALES, agreement
from quorate.interrater.bootstrap import classes_with_intervals, random_weights
from quorate.interrater.coefficients import Coefficient
from quorate.interrater.sums import Scale, count_answers, sum_over_groups


def same(one: dict[str, Coefficient], two: dict[str, Coefficient]) -> bool:
    """Whether both say the same, but for sums in another order."""
    first, second = (np.array([(c.value, c.low, c.high) for c in found.values()], float) for found in (one, two))
    return np.allclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("scale", SCALES)
def test_sums_of_present_labels_equal_those_of_full_tables(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = quorate.simulate.crowd(60, 8, 3, n_classes=9, seed=1).answers
    answers = replace(answers, classes=pa.array(np.arange(9) ** 2))
    complete = agreement(answers, scale=scale, draws=50)  # type: ignore[arg-type]
    by_class = complete.by_class
    monkeypatch.setattr(sums, "MAX_DENSE_ENTRIES", 0)
    monkeypatch.setattr(sums, "MAX_DENSE_ENTRIES_PER_CELL", 0)
    monkeypatch.setattr("quorate.answers.MAX_CELLS_PER_ANSWER", 0)
    monkeypatch.setattr(sums, "MAX_WEIGHT_TABLE_CLASSES", 0)
    assert not isinstance(sum_over_groups(count_answers(answers), 9).answers, np.ndarray)
    sparse = agreement(answers, scale=scale, draws=50)  # type: ignore[arg-type]
    assert same(sparse.overall, complete.overall)
    assert all(same(one, two) for one, two in zip(sparse.by_class, by_class, strict=True))


@pytest.mark.parametrize("ranked", [False, True])
def test_weights_of_every_two_classes_are_summed_without_a_table_of_them(
    ranked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    for positions in (rng.permutation(30).astype(float), rng.normal(1e6, 3, 30), np.array([5.0])):
        scale = Scale(ranked, positions)
        expected = scale.gwet.sum()
        assert scale.gwet_total == expected
        monkeypatch.setattr(sums, "MAX_WEIGHT_TABLE_CLASSES", 0)
        assert Scale(ranked, positions).gwet_total == pytest.approx(expected, rel=1e-6)  # of values six digits long
        monkeypatch.undo()


def test_of_very_many_classes_those_given_most_have_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others keep their values; whatever is drawn at a time, the draws are the same."""
    answers = quorate.simulate.crowd(200, 8, 4, n_classes=12, prior=np.arange(12, 0, -1) / 78, seed=0).answers
    group_sums = sum_over_groups(count_answers(answers), 12)
    weights = random_weights(group_sums, np.random.default_rng(0), 40)
    every = classes_with_intervals(group_sums, weights, level=0.9)
    monkeypatch.setattr(bootstrap, "MAX_CLASSES_WITH_INTERVALS", 5)
    monkeypatch.setattr(bootstrap, "MAX_DRAW_TABLE", 80)  # two classes
    some = classes_with_intervals(group_sums, weights, level=0.9)
    given = np.bincount(answers.label, minlength=12)
    with_interval = [c for c in range(12) if some[c]["gwet_ac1"].low is not None]
    assert len(with_interval) == 5
    assert given[with_interval].min() >= np.delete(given, with_interval).max()
    assert all(same(some[c], every[c]) for c in with_interval)
    assert [each["gwet_ac1"].value for each in some] == [each["gwet_ac1"].value for each in every]
