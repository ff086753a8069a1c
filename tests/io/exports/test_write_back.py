"""Labels go back to the tool the answers came from, and `quorate convert` does both ways."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quorate
from quorate.cli.app import app
from quorate.errors import OptionError
from quorate.io.exports.detect import read_export
from quorate.io.exports.write_back import results_for, write_back

SAMPLES = Path(__file__).parent / "samples"


def run(*arguments: object) -> None:
    app(["convert", *map(str, arguments)], standalone_mode=False)


def animals(sample: str) -> tuple[Any, Any]:
    export = read_export(SAMPLES / sample, question="animal")
    return export, quorate.aggregate(export.table, gold=export.gold).labels


def test_predictions_have_what_label_studio_imports() -> None:
    """data and predictions, each with model_version, score and a result of the export's own control."""
    export, labels = animals("labelstudio.json")
    tasks = results_for(export, labels, agent="quorate 0.1")
    originals = json.loads((SAMPLES / "labelstudio.json").read_text())
    assert [(task["id"], task["data"]) for task in tasks] == [(task["id"], task["data"]) for task in originals]
    for task, row in zip(tasks, labels.to_pylist(), strict=False):
        (prediction,) = task["predictions"]
        assert prediction["model_version"] == "quorate 0.1"
        assert prediction["score"] == row["confidence"]
        (result,) = prediction["result"]
        assert (result["from_name"], result["to_name"], result["type"]) == ("animal", "text", "choices")
        assert result["value"] == {"choices": [row["label"]]}
    assert tasks[3]["predictions"] == []  # nobody answered it, so nothing is known of it


def test_a_prediction_read_as_an_annotation_gives_its_label_back() -> None:
    export, labels = animals("labelstudio.json")
    tasks = [
        {**task, "annotations": [{"id": 1, "completed_by": 1, **prediction} for prediction in task["predictions"]]}
        for task in results_for(export, labels)
    ]
    again = read_export(tasks)
    assert again.table["label"].to_pylist() == labels["label"].to_pylist()
    assert again.table["task"].to_pylist() == labels["task"].to_pylist()


def test_a_task_without_a_label_gets_no_prediction_and_one_without_a_confidence_no_score() -> None:
    export, _ = animals("labelstudio.json")
    labels = {"task": ["1", "2"], "label": [None, "cat"], "confidence": [None, None]}
    first, second, *_ = results_for(export, labels)
    assert first["predictions"] == []
    assert second["predictions"][0]["score"] is None


def test_numbers_and_joined_choices_go_back_as_they_came() -> None:
    rated = read_export(SAMPLES / "labelstudio.json", question="clarity")
    (result,) = results_for(rated, {"task": ["1"], "label": ["4"]})[0]["predictions"][0]["result"]
    assert result["value"] == {"rating": 4}
    rated = read_export(SAMPLES / "argilla.json", question="clarity")
    assert results_for(rated, {"task": ["1"], "label": ["5"]})[0]["suggestions"]["clarity"]["value"] == 5
    record = {"id": 1, "fields": {}, "responses": {"q": [{"value": ["b", "a"], "user_id": "u"}]}}
    joined = read_export([record], join_choices=True)
    assert results_for(joined, {"task": ["1"], "label": ["a|b"]})[0]["suggestions"]["q"]["value"] == ["b", "a"]


def test_suggestions_have_what_argilla_imports() -> None:
    export, labels = animals("argilla.json")
    records = results_for(export, labels)
    originals = json.loads((SAMPLES / "argilla.json").read_text())
    for record, original, row in zip(records, originals, labels.to_pylist(), strict=False):
        assert (record["id"], record["fields"], record["metadata"]) == tuple(
            original[name] for name in ("id", "fields", "metadata")
        )
        assert record["suggestions"]["animal"] == {
            "value": row["label"],
            "score": row["confidence"],
            "agent": "quorate",
        }
        assert "responses" not in record
    assert records[0]["suggestions"]["comment"]["agent"] == "someone"  # those of others stay
    assert records[3]["suggestions"] == {}


@pytest.mark.parametrize("sample", ["argilla_flat.json", "argilla_server.jsonl"])
def test_suggestions_find_their_record_in_every_layout(sample: str) -> None:
    export, labels = animals(sample)
    found = {record["id"]: record["suggestions"]["animal"]["value"] for record in results_for(export, labels)[:3]}
    assert found == dict(zip(labels["task"].to_pylist(), labels["label"].to_pylist(), strict=True))


def test_results_find_their_task_by_the_field_that_identified_it() -> None:
    labels = {"task": ["It purrs."], "label": ["cat"]}
    tasks, records = (
        results_for(read_export(SAMPLES / sample, question="animal", task="text"), labels)
        for sample in ("labelstudio.json", "argilla.json")
    )
    assert tasks[0]["data"]["text"] == records[0]["fields"]["text"] == "It purrs."
    assert tasks[0]["predictions"][0]["result"][0]["value"] == {"choices": ["cat"]}
    assert records[0]["suggestions"]["animal"]["value"] == "cat"
    assert [task["predictions"] for task in tasks[1:]] == [[]] * (len(tasks) - 1)


def test_results_are_refused_where_they_cannot_go() -> None:
    labels = {"task": ["1"], "label": ["cat"]}
    with pytest.raises(OptionError, match="Labels cannot be written for mturk"):
        results_for(read_export(SAMPLES / "mturk.csv"), labels)
    with pytest.raises(OptionError, match="Export the project as JSON"):
        results_for(read_export(SAMPLES / "labelstudio.csv"), labels)
    with pytest.raises(
        OptionError, match="Labels for argilla need an export of argilla, and this export is of labelstudio"
    ):
        write_back(read_export(SAMPLES / "labelstudio.json", question="animal"), labels, "-", "argilla")


# --- quorate convert ---


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_convert_writes_what_read_takes(ending: str, tmp_path: Path, capsys: Any) -> None:
    out, gold = tmp_path / f"answers.{ending}", tmp_path / "gold.csv"
    run(SAMPLES / "toloka.tsv", "-o", out, "--gold-out", gold)
    export = read_export(SAMPLES / "toloka.tsv")
    written = quorate.read(out).to_table()
    assert written == quorate.read(export.table).to_table()
    assert gold.read_text() == "task,label\n1,cat\n"
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Ignored: rejected (1), expired (1)." in printed.err


def test_convert_without_output_prints_the_answers_only(capfdbinary: Any) -> None:
    run(SAMPLES / "cleanlab.csv")
    printed = capfdbinary.readouterr()
    assert printed.out.splitlines()[:2] == [b"task,worker,label", b"1,ann,cat"]
    assert b"empty cells (5)" in printed.err


def test_convert_reports_as_json(tmp_path: Path, capsys: Any) -> None:
    run(SAMPLES / "prodigy_binary.jsonl", "--question", "CAT", "-o", tmp_path / "answers.csv", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["format"] == "prodigy"
    assert report["questions"] == ["CAT", "LOUD"]
    assert report["left_out"] == {"ignored tasks": 1, "answers to another question": 2}
    assert (report["answers"], report["workers"], report["tasks"]) == (7, 3, 3)


def test_convert_writes_labels_back(tmp_path: Path) -> None:
    _, labels = animals("labelstudio.json")
    from quorate.io.write_table import write_table

    write_table(labels, tmp_path / "labels.csv")
    arguments = [SAMPLES / "labelstudio.json", "--question", "animal", "--labels", tmp_path / "labels.csv"]
    run(*arguments, "--to", "labelstudio", "-o", tmp_path / "predictions.json")
    (first, *_) = json.loads((tmp_path / "predictions.json").read_text())
    assert first["predictions"][0]["result"][0]["value"] == {"choices": ["cat"]}
    assert first["predictions"][0]["score"] == pytest.approx(labels["confidence"][0].as_py())  # through decimal text


def test_convert_refuses_what_makes_no_sense(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for arguments, message in {
        ("labelstudio.json", "--question", "animal", "--to", "labelstudio"): "--labels",
        ("labelstudio.json", "--labels", "x.csv"): "--to labelstudio",
        ("mturk.csv", "--gold-out", str(tmp_path / "gold.csv")): "Leave out --gold-out",
    }.items():
        with pytest.raises(OptionError, match=message):
            run(SAMPLES / arguments[0], *arguments[1:], "-o", out)
        assert not out.exists()
    with pytest.raises(OptionError, match="name a file with -o"):
        run(SAMPLES / "mturk.csv", "--json")


# --- formulas ---

HOSTILE = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", '="a,b"', "cat", "", None]
NUMBERS = ["-5", "+3.25", "-.5", "1e-9", "-1E+7"]


def test_text_that_a_spreadsheet_would_run_is_marked_on_request(tmp_path: Path) -> None:
    from quorate.arrays import Table
    from quorate.io.write_table import write_table

    given = Table(pa.table({"label": [*HOSTILE, *NUMBERS], "score": [-1.5] * 15}))
    safe, plain, other = tmp_path / "safe.csv", tmp_path / "plain.csv", tmp_path / "safe.jsonl"
    write_table(given, safe, excel_safe=True)
    write_table(given, plain)
    write_table(given, other, excel_safe=True)
    import csv

    with safe.open(newline="") as stream:
        cells = [row["label"] for row in csv.DictReader(stream)]
    assert cells[:7] == ["'" + str(text) for text in HOSTILE[:7]]
    assert cells[7:] == ["cat", "", "", *NUMBERS]  # a number stays a number
    assert "'" + "=1+1" not in plain.read_text()
    assert [json.loads(line)["label"] for line in other.read_text().splitlines()] == [*HOSTILE, *NUMBERS]
    assert "-1.5" in safe.read_text()


def test_convert_marks_formulas(tmp_path: Path) -> None:
    source = tmp_path / "answers.csv"
    source.write_text('task,worker,label\n1,"=HYPERLINK(""http://x"")",cat\n')
    run(source, "-o", tmp_path / "safe.csv", "--excel-safe")
    assert "'=HYPERLINK" in (tmp_path / "safe.csv").read_text()


# --- workbooks ---


def test_a_workbook_holds_what_was_written_and_no_formula(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    from quorate.arrays import Table
    from quorate.io.write_table import write_table

    texts = [*HOSTILE[:4], "007", "1e5", "2024-01-02", "été", None]
    numbers = [0.5, float("nan"), float("inf"), -1.5, 1e300, 0.0, 3.0, 2.0, 1.0]
    path = tmp_path / "labels.xlsx"
    write_table(Table(pa.table({"task": texts, "confidence": numbers, "tied": [True] * 9})), path)
    for data_only in (False, True):  # formulas, and what they would have given
        header, *written = openpyxl.load_workbook(path, data_only=data_only).active.iter_rows()
        assert [cell.value for cell in header] == ["task", "confidence", "tied"]
        assert [row[0].value for row in written] == texts
        assert {row[0].data_type for row in written[:8]} == {"s"}  # a formula would be "f", a date "d"
        assert [row[1].value for row in written] == [0.5, None, "inf", -1.5, 1e300, 0.0, 3.0, 2.0, 1.0]
        assert [row[2].value for row in written] == [True] * 9


def test_labels_written_to_a_workbook_are_read_again(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("openpyxl")
    answers = tmp_path / "answers.csv"
    rows = [f"t{k},{worker},{'=x' if k % 2 else 'y'}" for k in range(6) for worker in ("ann", "bob", "cy")]
    answers.write_text("task,worker,label\n" + "\n".join(rows) + "\n")
    run(answers, "-o", tmp_path / "copy.xlsx")
    first = quorate.read(answers)
    second = quorate.read(tmp_path / "copy.xlsx")
    assert second.classes.to_pylist() == first.classes.to_pylist() == ["=x", "y"]
    assert second.label.tolist() == first.label.tolist()
    assert second.task_names.to_pylist() == first.task_names.to_pylist()


def test_text_that_a_cell_cannot_hold_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    from quorate.arrays import Table
    from quorate.errors import OptionError
    from quorate.io.write_table import write_table

    with pytest.raises(OptionError, match="at most 32,767 characters"):
        write_table(Table(pa.table({"task": ["x" * 40_000]})), tmp_path / "labels.xlsx")
    assert not list(tmp_path.iterdir())
