"""The commands that read answers, sent into an engine by an option; the answers stay there."""

import json
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.cli.app import app
from quorate.errors import OptionError
from quorate.warehouse import diagnose
from quorate.writing.tables import write_table
from tests.warehouse.alike import by_id


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    crowd = quorate.simulate.crowd(n_tasks=60, n_workers=8, per_task=4, seed=1)
    write_table(crowd.answers.to_table(), "answers.csv")
    write_table(crowd.answers.to_table(), "answers.parquet")
    return tmp_path


def run(command: str) -> None:
    """Run a command; its errors are raised."""
    app(command.split(), standalone_mode=False)


@pytest.mark.usefixtures("folder")
def test_a_pattern_of_files_is_aggregated_where_it_lies(capsys: Any) -> None:
    run("aggregate answers*.parquet --engine duckdb --memory 500MB -o labels.parquet --workers-out workers.csv")
    told = capsys.readouterr().out
    assert "rank-one was used" in told
    assert "rank-one in duckdb: 60 tasks labelled from 240 answers by 8 workers" in told
    expected = quorate.aggregate("answers.csv", "rank-one")
    ours = by_id(quorate.reading.files.read_table("labels.parquet", {"task": "", "label": ""}), "task")
    assert {task: row["label"] for task, row in ours.items()} == {
        row["task"]: row["label"] for row in expected.labels.to_pylist()
    }
    assert len(Path("workers.csv").read_text().splitlines()) == 9


@pytest.mark.usefixtures("folder")
def test_a_pipe_gets_the_labels(capsys: Any) -> None:
    run("aggregate answers.csv --engine duckdb --method majority")
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0].replace('"', "") == "task,label,confidence,margin,n_answers,tied"
    assert len(lines) == 61
    assert "majority in duckdb" in told.err


@pytest.mark.usefixtures("folder")
def test_json_tells_which_queries_ran(capsys: Any) -> None:
    run("aggregate answers.csv --engine duckdb --json")
    told = json.loads(capsys.readouterr().out)
    assert told["engine"] == "duckdb"
    assert len(told["queries"]) == 9  # the last hands out the labels, as without an engine
    assert len(told["labels"]) == 60
    assert len(told["skills"]) == 8


@pytest.mark.usefixtures("folder")
def test_diagnose_tells_what_pairs_can(capsys: Any) -> None:
    run("diagnose answers.csv --engine duckdb")
    told = capsys.readouterr().out
    assert "240 answers to 60 tasks by 8 workers" in told
    assert "not asked: which tasks are hard" in told
    run("diagnose answers.csv --engine duckdb --json")
    assert json.loads(capsys.readouterr().out)["repair"] == {"possible": True, "answers": 0, "assignments": None}


@pytest.mark.usefixtures("folder")
def test_without_an_engine_nothing_changes(capsys: Any) -> None:
    run("aggregate answers.csv --json")
    assert json.loads(capsys.readouterr().out)["method"] == "quorate"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("aggregate answers.csv --engine duckdb --cautious", "--cautious does not work inside an engine"),
        ("aggregate answers.csv --engine duckdb --posterior-out p.csv", "--posterior-out does not work"),
        ("aggregate answers.csv --engine duckdb --from argilla", "--from does not work"),
        ("aggregate answers.csv --memory 4GB", "--memory needs --engine"),
        ("aggregate", "give FILE, or the --table of an engine"),
        ("diagnose answers.csv --engine duckdb --time when", "--time does not work"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_options_that_mean_nothing_there_say_so(command: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        run(command)


def test_the_findings_of_pairs_are_those_of_memory() -> None:
    """A worker who copies, one who seldom answers, and six who met the rest on three tasks."""
    rows = quorate.simulate.crowd(200, 12, 5, seed=0).answers.to_table().to_pylist()
    others = [{**row, "worker": "far w0"} for row in (rows[0], rows[5], rows[10])]
    for row in quorate.simulate.crowd(40, 6, 4, seed=3).answers.to_table().to_pylist():
        others.append({name: row[name] if name == "label" else f"far {row[name]}" for name in row})
    others += [{**rows[k], "worker": "seldom"} for k in (0, 7)]
    rows += [{**row, "worker": "z copycat"} for row in rows if row["worker"] == "w0"] + others
    table = {name: [row[name] for row in rows] for name in ("task", "worker", "label")}
    ours, theirs = diagnose(table), quorate.aggregate(table, "rank-one", intervals="fast").diagnosis
    kinds = [[finding.kind for finding in each.findings] for each in (ours, theirs)]
    assert kinds[0] == kinds[1] == ["loosely-tied", "agreeing-pair", "cannot-be-judged"]
    for mine, other in zip(ours.findings, theirs.findings, strict=True):
        assert {ours.worker_name(k) for k in mine.workers} == {theirs.worker_name(k) for k in other.workers}
        # Of a group's ties an engine knows only how many there are at the most.
        assert mine.kind == "loosely-tied" or mine.sentence == other.sentence
    here, there = ours.components[0], theirs.components[0]
    assert here.n_pairs == there.n_pairs
    assert here.bound is not None
    assert there.bound is not None
    assert abs(here.bound.smallest - there.bound.smallest) < 1e-9  # an eigenvalue of the same matrix, reordered
