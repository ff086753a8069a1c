"""Grades and abstentions have the same effect out of core as in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.errors import OptionError
from quorate.result import Result
from tests.backends.alike import ROUNDING, aggregate, assert_alike, by_id, farthest
from tests.backends.crowds_with_symbols import READING, SCALE, abstaining_at_random, cut, judged, known, renamed_grades
from tests.methods.test_ordered import ordered_crowd


@pytest.fixture(params=[None, 300])
def rows_at_a_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in one block of one file; and many of both."""
    if request.param is not None:
        monkeypatch.setattr("quorate.backends.partition.MAX_FILE_ROWS", request.param)
        monkeypatch.setattr("quorate.blocks.memory.MAX_BLOCK_ANSWERS", request.param)


TURNED = {"fine": "toxic", "toxic": "fine"}
GOLD = known(judged()[1])
CHOICES: dict[str, dict[str, Any]] = {
    "as usual": {},
    "known labels": {"gold": GOLD},
    "known labels turn the classes": {"gold": {task: TURNED[label] for task, label in GOLD.items()}},
    "cautious": {"cautious": True},
}


@pytest.mark.usefixtures("rows_at_a_time")
@pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES)
def test_grades_and_abstentions_are_used_as_in_memory(options: dict[str, Any]) -> None:
    table, _ = judged()
    memory = quorate.aggregate(table, **READING, **options, intervals="fast")
    found = aggregate(table, **READING, **options)
    assert_alike(found, memory)
    assert found.info.n_abstained == memory.answers.n_abstained > 0
    deaf = aggregate(cut(table), classes=["fine", "toxic"], **options)
    assert farthest(found, deaf) > 0.1  # symbols have an effect
    assert [note.text for note in found.notes] == [note.text for note in memory.notes]
    assert gold_notes(found) == gold_notes(memory)


def gold_notes(result: Result) -> list[str]:
    return [line for line in result.summary().splitlines() if line.startswith("known labels")]


@pytest.mark.usefixtures("rows_at_a_time")
@pytest.mark.parametrize("seed", range(3))
def test_abstaining_on_one_class_is_used_without_grades_too(seed: int) -> None:
    table, _ = judged(seed)
    words = pa.array([SCALE.get(each, each) for each in table["label"].to_pylist()], pa.string())
    table = table.set_column(2, "label", words)
    reading: dict[str, Any] = {"abstain": ["unsure", "skip", ""]}
    memory, found = quorate.aggregate(table, **reading, intervals="fast"), aggregate(table, **reading)
    assert_alike(found, memory)
    assert farthest(found, aggregate(cut(judged(seed)[0]), "quorate")) > 0.1


@pytest.mark.usefixtures("rows_at_a_time")
@pytest.mark.parametrize("seed", range(3))
def test_abstaining_at_random_changes_no_label_and_no_confidence(seed: int) -> None:
    table, answers = abstaining_at_random(seed)
    found, without = (aggregate(each, abstain=["unsure", "skip", ""]) for each in (table, answers))
    assert found.info.n_abstained > 100
    assert farthest(found, without) == 0


@pytest.mark.usefixtures("rows_at_a_time")
def test_a_task_on_which_everyone_abstains_stays_one() -> None:
    table, _ = judged()
    empty = {"task": ["t9", "t9", "a"], "worker": ["judge 1", "judge 2", "nobody"], "label": ["skip", "5", "unsure"]}
    table = pa.concat_tables([table, pa.table(empty)])
    found = aggregate(table, **READING)
    assert_alike(found, quorate.aggregate(table, **READING, intervals="fast"))
    assert by_id(found.labels, "task")["t9"]["n_abstained"] == 2


def test_renaming_grades_with_their_map_changes_nothing() -> None:
    table, _ = judged()
    found, renamed = (aggregate(each, **reading) for each, reading in ((table, READING), renamed_grades(table)))
    assert farthest(found, renamed) < ROUNDING


def test_a_map_that_is_the_identity_equals_no_map() -> None:
    table = cut(judged()[0])
    plain, same = aggregate(table), aggregate(table, map={"fine": "fine", "toxic": "toxic"})
    assert plain.labels == same.labels


@pytest.mark.parametrize("ordered", [True, False])
def test_of_several_abstentions_the_first_stands(ordered: bool) -> None:
    table, _ = judged()
    abstentions = np.flatnonzero([each in ("unsure", "skip") for each in table["label"].to_pylist()])
    again = table.take(pa.array(abstentions[::2])).set_column(2, "label", pa.array(["unsure"] * len(abstentions[::2])))
    both = pa.concat_tables([again, table] if ordered else [table, again])
    both = both.append_column("place", pa.array(np.arange(len(both))))
    shuffled = both.take(pa.array(np.random.default_rng(2).permutation(len(both))))
    if ordered:
        reading: dict[str, Any] = {**READING, "on_conflict": "first"}
        found = aggregate(shuffled, order="place", **reading)
        assert_alike(found, quorate.aggregate(both.drop_columns("place"), **reading, intervals="fast"))
    else:  # nothing says which came first: whatever the order of the rows, the same
        assert aggregate(shuffled, **READING).labels == aggregate(both, **READING).labels


def test_labels_written_as_text_are_read_back_with_their_columns(tmp_path: Path) -> None:
    table, _ = judged()
    kept = aggregate(table, **READING).labels
    for name in ("labels.csv", "labels.jsonl", "labels.parquet"):
        assert aggregate(table, **READING, output=tmp_path / name).labels == kept
    assert sum(row["n_abstained"] for row in kept.to_pylist()) == quorate.read(table, **READING).n_abstained


COSTS = {"said": ["fine", "toxic"], "true": ["toxic", "fine"], "cost": [10, 1]}


@pytest.mark.parametrize("method", ["quorate", "one-coin", "rank-one"])
def test_labels_of_least_cost_are_those_of_memory(method: str) -> None:
    table, truth = judged()
    options: dict[str, Any] = {**READING, "gold": known(truth), "costs": COSTS}
    memory, found = quorate.aggregate(table, method, **options, intervals="fast"), aggregate(table, method, **options)
    assert_alike(found, memory)
    ours, theirs = (by_id(result.labels, "task") for result in (found, memory))
    assert all(abs(ours[key]["expected_cost"] - row["expected_cost"]) < ROUNDING for key, row in theirs.items())
    likeliest = by_id(aggregate(table, method, **{**options, "costs": None}).labels, "task")
    assert any(row["label"] != likeliest[key]["label"] for key, row in ours.items())
    (line,) = (line for line in memory.summary().splitlines() if line.startswith("Expected cost"))
    assert line in found.summary().splitlines()


def test_costs_need_probabilities_and_every_pair() -> None:
    table, _ = judged()
    with pytest.raises(OptionError, match="the method iwmv has none"):
        aggregate(table, "iwmv", **READING, costs=COSTS)
    with pytest.raises(quorate.errors.CostError, match="The table of costs has no row for the label"):
        aggregate(table, **READING, costs={"said": ["fine"], "true": ["toxic"], "cost": [3]})


@pytest.mark.usefixtures("rows_at_a_time")
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("with_gold", [False, True])
def test_classes_in_an_order_are_labelled_as_in_memory(n_classes: int, with_gold: bool) -> None:
    rows, truth = ordered_crowd(1, n_classes)
    gold = {task: int(truth[task]) + 1 for task in range(0, 300, 7)} if with_gold else None
    for options in ({}, {"cautious": True}, {"map": {grade: (grade + 1) // 2 for grade in range(1, n_classes + 1)}}):
        if with_gold and "map" in options:
            continue  # labels are then of other classes
        given: dict[str, Any] = {"ordered": True, "gold": gold, **options}
        memory, found = quorate.aggregate(rows, **given, intervals="fast"), aggregate(pa.table(rows), **given)
        assert_alike(found, memory)
        ours, theirs = (by_id(result.labels, "task") for result in (found, memory))
        for name in ("score", "score_low", "score_high"):
            assert all((ours[key][name] is None) == (row[name] is None) for key, row in theirs.items())
            stated = {key: row[name] for key, row in theirs.items() if row[name] is not None}
            assert all(abs(ours[key][name] - value) < ROUNDING for key, value in stated.items())


def test_an_order_changes_labels_out_of_core_too() -> None:
    rows, _ = ordered_crowd(1)
    plain, ordered = (aggregate(pa.table(rows), ordered=given) for given in (False, True))
    assert farthest(plain, ordered) > 0.1
    words = pa.table(rows).set_column(2, "label", pa.array([f"g{label}" for label in rows["label"]]))
    assert "score" not in aggregate(words, ordered=True).labels.column_names
