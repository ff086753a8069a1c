"""What a command writes never replaces what it reads, nor another of its outputs; a failure leaves nothing."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from quorate.errors import InputError
from quorate.io import write_table as output
from tests.cli.running import ROWS, quorate


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(ROWS)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ["aggregate", "A", "-o", "A"],
        ["aggregate", "A", "--workers-out", "A"],
        ["aggregate", "A", "--gold", "G", "-o", "G"],
        ["aggregate", "A", "-o", "X", "--workers-out", "X"],
        ["aggregate", "A", "-o", "X", "--posterior-out", "X"],
        ["aggregate", "A", "-o", "-", "--json"],
        ["aggregate", "A", "--engine", "duckdb", "-o", "A"],
        ["aggregate", "P", "--engine", "duckdb", "-o", "A"],
        ["advise", "A", "--budget", "3", "-o", "A"],
        ["report", "A", "-o", "A"],
        ["report", "A", "--tables", "T", "-o", "T/labels.csv"],
        ["convert", "A", "-o", "A"],
        ["simulate", "-o", "X", "--truth-out", "X"],
        ["ledger", "aggregate", "L", "-o", "L"],
    ],
    ids=" ".join,
)
def test_nothing_is_replaced_that_is_read_or_written_beside_it(
    capsys: Any, answers: Path, arguments: list[str]
) -> None:
    folder = answers.parent
    (folder / "gold.csv").write_text("task,label\nt0,y\n")
    (folder / "tables").mkdir()
    quorate(capsys, "ledger", "add", folder / "a.ledger", answers)
    places = {"A": answers, "G": folder / "gold.csv", "X": folder / "x.csv", "T": folder / "tables"}
    places |= {"P": folder / "*.csv", "L": folder / "a.ledger", "T/labels.csv": folder / "tables" / "labels.csv"}
    before = names(folder)
    code, out, err = quorate(capsys, *(places.get(each, each) for each in arguments))
    assert (code, out) == (2, "")
    assert "would" in err or "it is a folder" in err
    assert answers.read_text() == ROWS
    assert names(folder) == before


@pytest.mark.skipif(sys.platform == "win32", reason="names of 300 letters, as Unix refuses them")
@pytest.mark.parametrize(
    "arguments",
    [["aggregate", "X"], ["aggregate", "A", "--gold", "X"], ["aggregate", "A", "-o", "X"], ["ledger", "add", "X", "A"]],
    ids=" ".join,
)
def test_a_name_that_is_too_long_is_the_files_and_not_standard_outputs(
    capsys: Any, answers: Path, arguments: list[str]
) -> None:
    places = {"A": answers, "X": answers.parent / ("x" * 300)}
    code, _, err = quorate(capsys, *(places.get(each, each) for each in arguments))
    assert (code, err.count("\n")) == (2, 1)
    assert "File name too long" in err
    assert "standard output" not in err


def test_what_cannot_be_printed_leaves_no_file(
    capsys: Any, answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON is made before any file appears: here, of something that JSON cannot hold."""

    def refuse(*_: Any, **__: Any) -> str:
        raise InputError("no JSON of this")

    monkeypatch.setattr(output, "to_json", refuse)
    code, _, _ = quorate(capsys, "aggregate", answers, "-o", tmp_path / "labels.csv", "--json")
    assert code == 2
    assert names(tmp_path) == ["answers.csv"]


@pytest.mark.parametrize("broken", ["workers.csv", "labels.csv"])
def test_several_outputs_appear_together_or_not_at_all(
    capsys: Any, answers: Path, tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = output._write_csv

    def full(table: Any, stream: Any) -> None:
        if ("worker" in table.column_names) == (broken == "workers.csv"):
            raise OSError(28, "No space left on device")
        write(table, stream)

    monkeypatch.setattr(output, "_write_csv", full)
    places = ["-o", tmp_path / "labels.csv", "--workers-out", tmp_path / "workers.csv"]
    for command in (
        ["aggregate", answers, *places],
        ["report", answers, "-o", tmp_path / "r.html", "--tables", tmp_path],
    ):
        code, _, err = quorate(capsys, *command)
        assert (code, "No space left" in err) == (2, True)
        assert names(tmp_path) == ["answers.csv"]


def test_a_reader_who_has_seen_enough_still_gets_the_files(capsys: Any, answers: Path, tmp_path: Path) -> None:
    code, out, _ = quorate(capsys, "aggregate", answers, "-o", tmp_path / "labels.csv", "--json")
    assert (code, json.loads(out)["tasks"]) == (0, 8)
    assert names(tmp_path) == ["answers.csv", "labels.csv"]


@pytest.mark.parametrize("name", ["out.pdf", "out.tsv", "out.csv.gz", "labels.v2"])
def test_an_ending_of_another_format_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text(ROWS)
    code, _, err = quorate(capsys, "aggregate", answers, "-o", tmp_path / name)
    assert code == 2
    assert ".parquet" in err
    assert "--output-format" in err
    assert not (tmp_path / name).exists()
    assert quorate(capsys, "aggregate", answers, "-o", tmp_path / name, "--output-format", "csv")[0] == 0


def test_a_class_with_a_comma_is_one_column_of_the_soft_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text(ROWS.replace(",x", ',"x, or so"'))
    code, _, err = quorate(capsys, "aggregate", answers, "--soft-labels-out", tmp_path / "soft.csv")
    assert code == 0, err
    header, *rows = csv.reader((tmp_path / "soft.csv").read_text().splitlines())
    assert header == ["task", "x, or so", "y"]
    assert {len(row) for row in rows} == {3}
