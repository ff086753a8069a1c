"""Whatever tool the answers come from, the same answers come out, and whatever does not count is counted."""

import gzip
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.io.exports.detect import read_export, recognise
from quorate.io.exports.formats import FORMATS
from quorate.io.options import ReadOptions
from quorate.io.read import read_source
from tests.io.exported import ANSWERS, CASES, SAMPLES, rows


@pytest.mark.parametrize("sample", CASES)
def test_the_same_answers_come_out_of_every_tool(sample: str) -> None:
    tool, question, questions, left_out = CASES[sample]
    asked = question if len(questions) > 1 else None
    export = read_export(SAMPLES / sample, question=asked)
    assert sorted(rows(export)) == sorted(ANSWERS)
    assert (export.tool, export.question, export.questions) == (tool, question, questions)
    assert export.left_out == left_out
    lines = "\n".join(export.lines())
    assert "7 answers by 3 workers on 3 tasks" in lines
    assert all(f"{why} ({n})" in lines for why, n in left_out.items())


def test_every_format_has_a_sample() -> None:
    assert {case[0] for case in CASES.values()} == set(FORMATS)
    assert {path.name for path in SAMPLES.iterdir()} == set(CASES)


@pytest.mark.parametrize("sample", CASES)
@pytest.mark.parametrize("name", ["export", "export.csv", "export.json", "export.txt.gz"])
def test_the_content_tells_the_format_and_not_the_name(sample: str, name: str, tmp_path: Path) -> None:
    disguised = tmp_path / name
    if name.endswith(".gz"):
        disguised.write_bytes(gzip.compress((SAMPLES / sample).read_bytes()))
    else:
        shutil.copy(SAMPLES / sample, disguised)
    tool, question, questions, _ = CASES[sample]
    assert recognise(disguised) == tool
    assert sorted(rows(read_export(disguised, question=question if len(questions) > 1 else None))) == sorted(ANSWERS)


@pytest.mark.parametrize("sample", CASES)
def test_a_byte_order_mark_changes_nothing(sample: str, tmp_path: Path) -> None:
    marked = tmp_path / "export"
    marked.write_bytes(b"\xef\xbb\xbf" + (SAMPLES / sample).read_bytes())
    tool, question, questions, _ = CASES[sample]
    export = read_export(marked, question=question if len(questions) > 1 else None)
    assert (export.tool, sorted(rows(export))) == (tool, sorted(ANSWERS))


@pytest.mark.parametrize("sample", CASES)
@pytest.mark.parametrize("seekable", [True, False])
def test_looking_at_standard_input_eats_nothing(sample: str, seekable: bool, monkeypatch: Any) -> None:
    _, question, questions, _ = CASES[sample]
    data = io.BytesIO((SAMPLES / sample).read_bytes())
    stream = data if seekable else io.BufferedReader(data)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
    found = read_source("-", ReadOptions(question=question if len(questions) > 1 else None))
    answers, export = found.answers, found.export
    assert answers.n_answers == len(ANSWERS)
    assert export is not None
    assert export.tool == CASES[sample][0]


def test_an_export_may_come_through_a_pipe() -> None:
    script = "import quorate; print(quorate.read('-', question='animal').n_answers)"
    piped = (SAMPLES / "labelstudio.json").read_bytes()
    run = subprocess.run([sys.executable, "-c", script], input=piped, capture_output=True, check=True)
    assert run.stdout.split() == [b"7"]


@pytest.mark.parametrize("sample", ["labelstudio.json", "argilla.json", "argilla_flat.json"])
def test_records_in_memory_read_as_the_file_does(sample: str) -> None:
    records = json.loads((SAMPLES / sample).read_text())
    from_file, from_list = read_export(SAMPLES / sample, question="animal"), read_export(records, question="animal")
    assert from_list.table == from_file.table
    assert from_list.left_out == from_file.left_out


def test_argilla_writes_its_records_by_name_and_by_id_too(tmp_path: Path) -> None:
    records = json.loads((SAMPLES / "argilla.json").read_text())
    by_name = {key: [record[key] for record in records] for key in records[0]}
    by_id = {record["id"]: record for record in records}
    for data in (by_name, by_id):
        path = tmp_path / "records.json"
        path.write_text(json.dumps(data, indent=1))
        assert sorted(rows(read_export(path, question="animal"))) == sorted(ANSWERS)
    assert sorted(rows(read_export(by_name, question="animal"))) == sorted(ANSWERS)


@pytest.mark.parametrize("sample", ["mturk.csv", "toloka.tsv", "labelstudio.csv", "cleanlab.csv"])
def test_a_data_frame_reads_as_the_file_does(sample: str, tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(SAMPLES / sample, sep="\t" if sample.endswith(".tsv") else ",")
    frame.to_parquet(tmp_path / "frame.parquet")
    expected = sorted(rows(read_export(SAMPLES / sample)))
    assert sorted(rows(read_export(frame))) == expected
    assert sorted(rows(read_export(tmp_path / "frame.parquet"))) == expected


def test_an_argilla_export_without_statuses_says_so() -> None:
    lines = read_export(SAMPLES / "argilla.json", question="animal").lines()
    assert any("8 responses have no status" in line for line in lines)
    assert not any("without a status" in line for line in read_export(SAMPLES / "argilla_flat.json").lines())


def test_known_labels_become_gold_and_nobodys_answers() -> None:
    for sample in ("labelstudio.json", "toloka.tsv"):
        export = read_export(SAMPLES / sample, question="animal")
        assert export.gold is not None
        assert export.gold.to_pylist() == [{"task": "1", "label": "cat"}]
        assert "lead" not in export.table["worker"].to_pylist()
        result = quorate.aggregate(export.table, gold=export.gold)
        assert result.labels.to_pylist()[0]["confidence"] == 1.0


def test_a_known_class_that_nobody_gave_is_a_class_all_the_same() -> None:
    rows = [
        {"ASSIGNMENT:worker_id": who, "ASSIGNMENT:task_id": 1, "OUTPUT:x": label, "GOLDEN:x": "elk"}
        for who, label in (("ann", "cat"), ("bob", "dog"))
    ]
    found = read_source(rows)
    answers, export = found.answers, found.export
    assert export is not None
    assert answers.classes.to_pylist() == ["cat", "dog", "elk"]
    result = quorate.aggregate(answers, "majority", gold=export.gold)
    assert result.labels["label"].to_pylist() == ["elk"]


def test_known_labels_of_tasks_that_nobody_answered_are_counted() -> None:
    row = {"ASSIGNMENT:worker_id": "ann", "ASSIGNMENT:task_id": 1, "OUTPUT:x": "cat", "GOLDEN:x": None}
    export = read_export([row, {**row, "ASSIGNMENT:task_id": 2, "OUTPUT:x": None, "GOLDEN:x": "dog"}])
    assert export.gold is None
    assert export.left_out == {"empty answers": 1, "known labels of tasks without answers": 1}
