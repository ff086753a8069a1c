"""Confidence is stated where answers support it; a task without answers has a row, and no label."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.blocks.block import OUT_OF_CORE_METHODS
from quorate.errors import in_python
from quorate.methods.registry import METHODS
from quorate.notes import UNSUPPORTED
from quorate.result import Result

ONE_ANSWER = {"task": [1], "worker": ["a"], "label": ["x"]}
ONE_WORKER = {"task": [1, 2, 3], "worker": ["a"] * 3, "label": ["x", "y", "x"]}
ONE_CLASS = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": ["x"] * 6}
# Task 4 has only abstentions.
ABSTAINED: dict[str, Any] = {
    "task": [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4],
    "worker": list("abc") * 4,
    "label": ["x", "x", "y", "y", "y", "y", "x", "x", "x", "?", "?", "?"],
}
UNSUPPORTED_ROWS = {"one answer": ONE_ANSWER, "one worker": ONE_WORKER, "one class": ONE_CLASS}


def out_of_core(rows: Any, method: str = "quorate", **options: Any) -> Result:
    return quorate.backends.aggregate(rows, method, most=0, intervals="none", **options)


@pytest.mark.parametrize("rows", UNSUPPORTED_ROWS.values(), ids=UNSUPPORTED_ROWS)
@pytest.mark.parametrize("method", METHODS)
def test_no_method_states_a_confidence_of_one_worker_or_one_class(method: str, rows: dict[str, Any]) -> None:
    result = quorate.aggregate(rows, method)
    assert result.labels["label"].null_count == 0
    assert result.labels["confidence"].null_count == result.labels["margin"].null_count == result.answers.n_tasks
    (note,) = (each for each in result.notes if each.kind == UNSUPPORTED)
    assert "No confidence" in note.text
    assert in_python(note.text) in result.summary()
    assert "confidence: mean" not in result.summary()
    assert json.loads(json.dumps(result.to_dict()))["labels"][0]["confidence"] is None
    assert np.isfinite(result.vote.posterior).all()


@pytest.mark.parametrize("rows", UNSUPPORTED_ROWS.values(), ids=UNSUPPORTED_ROWS)
@pytest.mark.parametrize("method", OUT_OF_CORE_METHODS)
def test_nor_is_one_stated_out_of_core(method: str, rows: dict[str, Any]) -> None:
    result = out_of_core(rows, method)
    assert result.labels["confidence"].null_count == len(result.labels)
    assert [note.text for note in result.notes if note.kind == UNSUPPORTED] == [
        note.text for note in quorate.aggregate(rows, method).notes if note.kind == UNSUPPORTED
    ]
    assert "confidence: mean" not in result.summary()


def test_the_sentence_names_what_is_needed() -> None:
    needed = {"one answer": ["--classes", "--gold", "worker"], "one worker": ["--gold"], "one class": ["--classes"]}
    for what, words in needed.items():
        result = quorate.aggregate(UNSUPPORTED_ROWS[what])
        (text,) = (note.text for note in result.notes if note.kind == UNSUPPORTED)
        assert all(word in text for word in words), text


def test_classes_that_are_declared_support_a_confidence() -> None:
    result = quorate.aggregate(ONE_CLASS, classes=["x", "y"])
    assert result.labels["confidence"].null_count == 0
    assert not any(note.kind == UNSUPPORTED for note in result.notes)
    assert max(result.labels["confidence"].to_pylist()) < 1


@pytest.mark.parametrize("method", ["quorate", "rank-one", "rank-one-centred"])
def test_enough_gold_supports_the_confidence_of_one_worker(method: str) -> None:
    crowd = quorate.simulate.crowd(200, 1, 1, skills=np.array([0.6]), seed=1)
    few = quorate.aggregate(crowd.answers, method, gold=crowd.truth_table.slice(0, 4))
    assert few.labels["confidence"].to_pylist()[:4] == [1.0] * 4
    assert few.labels["confidence"].null_count == 196
    enough = quorate.aggregate(crowd.answers, method, gold=crowd.truth_table.slice(0, 40))
    assert enough.labels["confidence"].null_count == 0
    right = (enough.vote.label == crowd.truth)[40:].mean()
    assert enough.vote.confidence[40:].mean() == pytest.approx(right, abs=0.1)


def test_a_method_that_learns_nothing_of_one_worker_from_gold_states_none() -> None:
    crowd = quorate.simulate.crowd(200, 1, 1, skills=np.array([0.6]), seed=1)
    result = quorate.aggregate(crowd.answers, "majority", gold=crowd.truth_table.slice(0, 40))
    assert result.labels["confidence"].null_count == 160


def test_known_skills_support_the_confidence_of_one_worker() -> None:
    result = quorate.aggregate(ONE_WORKER, skills={"a": (0.8, 0.7, 0.9)})
    assert result.labels["confidence"].null_count == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_task_without_answers_has_a_row_without_a_label(method: str) -> None:
    result = quorate.aggregate(ABSTAINED, method, abstain=["?"])
    rows = {row["task"]: row for row in result.labels.to_pylist()}
    assert (rows[4]["label"], rows[4]["confidence"], rows[4]["margin"]) == (None, None, None)
    assert (rows[4]["status"], rows[4]["n_answers"], rows[4]["n_abstained"]) == ("no answers", 0, 3)
    assert {rows[k]["status"] for k in (1, 2, 3)} == {"labelled"}
    assert all(rows[k]["confidence"] is not None for k in (1, 2, 3))
    assert not rows[4]["tied"]
    assert "1 task has no answers" in result.summary()
    assert "3 labels from 9 answers" in result.summary()
    assert result.to_dict()["tasks_without_answers"] == 1


@pytest.mark.parametrize("method", OUT_OF_CORE_METHODS)
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_the_same_out_of_core(method: str, suffix: str, tmp_path: Path) -> None:
    place = tmp_path / f"labels.{suffix}"
    found = out_of_core(ABSTAINED, method, abstain=["?"], output=place)
    rows = {int(row["task"]): row for row in found.labels.to_pylist()}
    here = {row["task"]: row for row in quorate.aggregate(ABSTAINED, method, abstain=["?"]).labels.to_pylist()}
    for task, row in rows.items():
        assert (row["label"], row["status"], row["tied"]) == tuple(here[task][k] for k in ("label", "status", "tied"))
        assert row["confidence"] == (None if task == 4 else pytest.approx(here[task]["confidence"], abs=1e-6))
    assert "1 task has no answers" in found.summary()


def test_tasks_whose_rows_were_left_out_have_no_label() -> None:
    rows = {"task": [1, 1, 1, 2, 2], "worker": list("abcaa"), "label": ["x", "y", "x", "x", "y"]}
    for result in (quorate.aggregate(rows, on_conflict="drop"), out_of_core(rows, on_conflict="drop")):
        assert result.labels["status"].to_pylist() == ["labelled", "no answers"]
        assert result.labels["label"].to_pylist() == ["x", None]


def test_gold_labels_a_task_without_answers() -> None:
    rows = quorate.aggregate(ABSTAINED, abstain=["?"], gold={4: "y"}).labels.to_pylist()
    assert (rows[3]["label"], rows[3]["confidence"]) == ("y", 1.0)
    rows = out_of_core(ABSTAINED, abstain=["?"], gold={4: "y"}).labels.to_pylist()
    assert (rows[3]["label"], rows[3]["confidence"]) == ("y", 1.0)


def test_costs_and_scores_of_tasks_without_answers_are_null() -> None:
    numbers = {**ABSTAINED, "label": [{"x": "1", "y": "2"}.get(each, each) for each in ABSTAINED["label"]]}
    costs = {"said": ["1", "2"], "true": ["2", "1"], "cost": [5.0, 1.0]}
    runs: list[Callable[..., Result]] = [quorate.aggregate, out_of_core]
    for run in runs:
        row = run(numbers, "quorate", abstain=["?"], costs=costs, ordered=True).labels.to_pylist()[3]
        assert row["label"] is row["expected_cost"] is row["score"] is row["score_low"] is None
    row = quorate.aggregate(ONE_WORKER, costs={"said": ["x", "y"], "true": ["y", "x"], "cost": [5.0, 1.0]})
    assert row.labels["expected_cost"].null_count == 3
    assert "expected cost" not in row.summary()


def test_several_labels_have_neither() -> None:
    rows = {"task": [1, 2], "worker": ["a", "a"], "label": ["cat,dog", "dog"]}
    result = quorate.aggregate(rows, multi=",")
    assert result.labels["labels"].to_pylist() == [["cat", "dog"], ["dog"]]
    for name in ("confidences", "mean_confidence", "least_confidence"):
        assert result.labels[name].null_count == 2, name
    assert "No confidence" in result.summary()
    alike = {"task": [1, 1], "worker": ["a", "b"], "label": ["cat", "cat"]}
    assert quorate.aggregate(alike, multi=",").labels["mean_confidence"].to_pylist() == [None]


# --- whoever reads a result ---


@pytest.mark.parametrize("rows", [*UNSUPPORTED_ROWS.values(), ABSTAINED], ids=[*UNSUPPORTED_ROWS, "abstained"])
def test_everything_that_reads_a_result_accepts_nulls(rows: dict[str, Any], tmp_path: Path) -> None:
    options: dict[str, Any] = {"abstain": ["?"]} if rows is ABSTAINED else {}
    answers = quorate.read(rows, **options)
    result = quorate.aggregate(answers)
    truth = dict.fromkeys(rows["task"], "x")
    scored = result.score(truth)
    assert scored.n_scored == int((result.vote.label >= 0).sum())
    assert scored.n_without_label == len(truth) - scored.n_scored
    compared = quorate.compare(answers, truth, methods=["quorate", "majority"])
    assert compared.entries[0].error == scored.error
    json.dumps(compared.to_dict(), allow_nan=False)
    quorate.diagnose(answers).summary()
    assert "nan" not in quorate.aggregate(answers)._repr_html_()
    html = quorate.report(answers, truth=truth).html()
    assert "nan" not in html.lower().replace("dominan", "").replace("financ", "")
    for chart in (result.plot.skills, result.plot.confidence):
        chart()
    advice = quorate.suggest_gold(answers, 2)
    json.dumps(advice.to_dict(), allow_nan=False)
    assert "nan" not in advice.summary()
    if answers.n_classes > 1:
        further = quorate.advise(answers, 2, available={"worker": ["a", "b", "c", "d"]})
        json.dumps(further.to_dict(), allow_nan=False)
        assert "nan" not in further.summary()


def test_classes_of_crowd_kit_accept_tasks_without_answers() -> None:
    pandas = pytest.importorskip("pandas")
    from quorate.estimators import MajorityVote, Quorate

    rows = {"task": [1, 1, 1, 2, 2], "worker": list("abcaa"), "label": ["x", "y", "x", "x", "y"]}
    for kind in (MajorityVote, Quorate):
        labels = kind(on_conflict="drop").fit_predict(pandas.DataFrame(rows))
        assert labels[1] == "x"
        assert pandas.isna(labels[2])
