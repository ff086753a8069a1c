"""Several labels per task are read as yes/no questions, however they are written."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quorate
from quorate.arrays import Table
from quorate.errors import BlankFieldError, ColumnTypeError, OptionError, UnknownGoldClassError
from quorate.io.exports.write_back import results_for
from quorate.io.options import ReadOptions
from quorate.io.read import read_source
from quorate.io.write_table import write_table

TASKS, WORKERS = [1, 1, 2, 2], ["ann", "bob", "ann", "bob"]
LISTS = [["cat", "dog"], ["dog"], [], ["fox"]]
TEXTS = ["cat, dog", "dog", ",", "fox"]
QUESTIONS = ["1: cat", "1: dog", "1: fox", "2: cat", "2: dog", "2: fox"]


def yes(answers: quorate.Answers) -> set[tuple[str, str]]:
    rows = answers.to_table().to_pylist()
    return {(row["task"], row["worker"]) for row in rows if row["label"] == "yes"}


def frame(kind: str, tmp_path: Path) -> Any:
    columns = {"task": TASKS, "worker": WORKERS, "label": LISTS}
    if kind == "csv":
        text = "task,worker,label\n" + "".join(
            f'{t},{w},"{x}"\n' for t, w, x in zip(TASKS, WORKERS, TEXTS, strict=True)
        )
        (tmp_path / "a.csv").write_text(text)
        return tmp_path / "a.csv"
    if kind in ("parquet", "jsonl"):
        write_table(Table(pa.table(columns)), tmp_path / f"a.{kind}")
        return tmp_path / f"a.{kind}"
    if kind in ("pandas", "polars"):
        return pytest.importorskip(kind).DataFrame(columns)
    return pa.table(columns)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "pandas", "polars", "arrow"])
def test_every_way_to_write_several_labels_is_read_alike(kind: str, tmp_path: Path) -> None:
    answers = quorate.read(frame(kind, tmp_path), multi="," if kind == "csv" else None)
    assert answers.task_names.to_pylist() == QUESTIONS
    assert answers.classes.to_pylist() == ["no", "yes"]
    assert answers.n_answers == 4 * 3  # a label that an answer does not hold counts as no
    assert yes(answers) == {("1: cat", "ann"), ("1: dog", "ann"), ("1: dog", "bob"), ("2: fox", "bob")}


def test_one_label_a_row_is_as_good_as_a_list() -> None:
    rows = {"task": [1, 1, 1, 2], "worker": ["ann", "ann", "bob", "bob"], "label": ["cat", "dog", "dog", "fox"]}
    assert yes(quorate.read(rows, multi=",")) == {
        ("1: cat", "ann"),
        ("1: dog", "ann"),
        ("1: dog", "bob"),
        ("2: fox", "bob"),
    }


def test_labels_that_nobody_gave_are_asked_if_they_are_listed() -> None:
    answers = quorate.read({"task": [1], "worker": ["ann"], "label": [["cat"]]}, classes=["elk", "cat"])
    assert answers.task_names.to_pylist() == ["1: elk", "1: cat"]


def test_what_is_no_list_of_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BlankFieldError, match=r"'label' is missing in row 2"):
        quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", None]}, multi=",")
    assert (
        quorate.read(
            {"task": [1, 1], "worker": ["a", "b"], "label": ["x", None]}, multi=",", skip_missing=True
        ).n_skipped
        == 1
    )
    with pytest.raises(OptionError, match="on_conflict= and abstain="):
        quorate.read({"task": [1], "worker": ["a"], "label": [["x"]]}, abstain=["unsure"])
    with pytest.raises(OptionError, match="the separator between two labels"):
        ReadOptions(multi="")
    with pytest.raises(OptionError, match="does not list"):
        quorate.read({"task": [1], "worker": ["a"], "label": [["x"]]}, classes=["y"])
    (tmp_path / "a.jsonl").write_text('{"task": 1, "worker": 2, "label": [["x"]]}\n')
    with pytest.raises(ColumnTypeError, match="in row 1; several labels are one list"):
        quorate.read(tmp_path / "a.jsonl")


def test_known_labels_say_no_to_all_others() -> None:
    rows = {"task": TASKS, "worker": WORKERS, "label": LISTS}
    table = quorate.aggregate(rows, gold={1: ["cat"]}).labels.to_pylist()
    assert table[0]["labels"] == ["cat"]
    assert table[0]["least_confidence"] == 1.0
    text = {"task": TASKS, "worker": WORKERS, "label": TEXTS}
    gold = {"task": [1], "label": ["cat,fox"]}
    assert quorate.aggregate(text, multi=",", gold=gold).labels.to_pylist()[0]["labels"] == ["cat", "fox"]
    with pytest.raises(UnknownGoldClassError, match="elk"):
        quorate.aggregate(rows, gold={1: ["elk"]})


def choices(worker: int, *chosen: str) -> dict[str, Any]:
    result = {"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": list(chosen)}}
    return {"id": worker, "completed_by": worker, "result": [result]}


STUDIO = [{"id": 7, "data": {"text": "hi"}, "annotations": [choices(1, "a", "b"), choices(2, "b"), choices(3, "b")]}]
ARGILLA = [
    {
        "id": "7",
        "fields": {"text": "hi"},
        "responses": {
            "topic": [{"value": value, "user_id": f"u{k}"} for k, value in enumerate((["a", "b"], ["b"], ["b"]))]
        },
    }
]


@pytest.mark.parametrize("export", [STUDIO, ARGILLA], ids=["labelstudio", "argilla"])
def test_exports_of_several_choices_are_read_so_by_default(export: list[dict[str, Any]]) -> None:
    found = read_source(export)
    assert found.answers.task_names.to_pylist() == ["7: a", "7: b"]
    assert found.export is not None
    assert any("several labels" in note for note in found.export.notes)
    assert quorate.aggregate(found).labels.to_pylist()[0]["labels"] == ["b"]
    joined = quorate.read(export, join_choices=True)
    assert joined.classes.to_pylist() == ["a|b", "b"]


def test_labels_go_back_as_lists() -> None:
    export = quorate.read_export(STUDIO)
    (task,) = results_for(export, quorate.aggregate(STUDIO).labels)
    assert task["predictions"][0]["result"][0]["value"] == {"choices": ["b"]}
