"""SQLite: a file gives the answers and takes the labels."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.backends import aggregate, read
from quorate.cli.app import app
from quorate.errors import ColumnTypeError, EngineError, MissingColumnError, OptionError

CROWD = quorate.simulate.crowd(n_tasks=60, n_workers=8, per_task=4, seed=1).answers


@pytest.fixture
def database(tmp_path: Path) -> Path:
    con = sqlite3.connect(tmp_path / "crowd.db")
    con.execute("CREATE TABLE answers (task text, worker text, label text, sure boolean, n integer)")
    rows = [(*row.values(), 1, 7) for row in CROWD.to_table().to_pylist()]
    con.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", rows)
    con.commit()
    con.close()
    return tmp_path / "crowd.db"


def run(database: Path, statement: str) -> list[Any]:
    con = sqlite3.connect(database)
    try:
        return con.execute(statement).fetchall()
    finally:
        con.commit()
        con.close()


def test_a_file_is_known_by_its_content(database: Path, capsys: Any) -> None:
    app(["aggregate", str(database), "--output-table", "labels"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0]
        == f"Read with sqlite, because {database} is a database of this engine: 240 rows, which fit into memory."
    )
    expected = {row["task"]: row["label"] for row in quorate.aggregate(CROWD).labels.to_pylist()}
    assert dict(run(database, "SELECT task, label FROM labels")) == expected
    assert run(database, "SELECT name FROM sqlite_master ORDER BY 1") == [("answers",), ("labels",)]


def test_labels_go_to_a_file_too(database: Path, tmp_path: Path) -> None:
    found = aggregate(f"sqlite://{database}", "rank-one", table="answers", output=tmp_path / "labels.csv")
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 61
    assert found.labels.arrow.num_rows == 60


def test_columns_have_the_type_that_they_are_declared_to_have(database: Path) -> None:
    found = read(database, label="sure")
    assert found.classes.to_pylist() == [True]
    assert read(database, label="n").classes.to_pylist() == [7]
    run(database, "UPDATE answers SET n = 'seven' WHERE task = (SELECT min(task) FROM answers)")
    with pytest.raises(ColumnTypeError, match="column 'n' is declared as int64, but has other values too"):
        read(database, label="n")


def test_too_many_for_memory_are_packed_here_and_go_back(database: Path) -> None:
    expected = {row["task"]: row["label"] for row in quorate.aggregate(CROWD).labels.to_pylist()}
    found = aggregate(database, most=0, output_table="labels")
    assert {row["task"]: row["label"] for row in found.labels.to_pylist()} == expected
    assert dict(run(database, "SELECT task, label FROM labels")) == expected


ODD = ['we"ird', "x; DROP TABLE answers; --", "sel'ect", "a.b", "[c]", "`d`", "ta\tb", "Ünï 名"]


@pytest.mark.parametrize("name", ODD)
def test_names_of_tables_and_columns_are_data(name: str, tmp_path: Path) -> None:
    """Whatever a column or a table is called, it is a name and no statement."""
    path = tmp_path / "crowd.db"
    quoted = '"' + name.replace('"', '""') + '"'
    con = sqlite3.connect(path)
    con.execute(f"CREATE TABLE answers ({quoted} text, worker text, label text)")
    con.executemany(
        "INSERT INTO answers VALUES (?, ?, ?)", [tuple(row.values()) for row in CROWD.to_table().to_pylist()]
    )
    con.commit()
    con.close()
    output = name if "." not in name else "labels"  # a dot parts a schema from its table
    found = aggregate(str(path), "majority", table="answers", task=name, output_table=output)
    assert found.labels.arrow.num_rows == 60
    names = {each for (each,) in run(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names == {"answers", output}
    assert run(path, "SELECT count(*) FROM answers") == [(240,)]


def test_a_table_that_is_not_there_brings_those_that_are(database: Path) -> None:
    with pytest.raises(EngineError, match=r"^the engine sqlite has no table 'answer'; it has 'answers'"):
        read(database, table="answer")


def test_a_table_that_is_there_and_fails_is_not_reported_as_missing(database: Path) -> None:
    run(database, "CREATE VIEW gone AS SELECT * FROM never")
    with pytest.raises(EngineError, match=r"^the engine sqlite cannot open the table 'gone': .*never"):
        read(database, table="gone")


def test_usual_names_of_columns_are_suggested_as_for_a_file(database: Path) -> None:
    run(database, "CREATE TABLE judged (item_id text, annotator text, verdict text, created text)")
    with pytest.raises(MissingColumnError, match=r"task='item_id', worker='annotator', label='verdict'$"):
        read(database, table="judged")
    with pytest.raises(MissingColumnError, match=r"^the table has no column 'item'; it has 'item_id', "):
        read(database, table="judged", task="item")


def test_the_usual_name_of_a_column_and_ids_come_first(database: Path) -> None:
    run(database, "CREATE TABLE judged (score int, label text, tweet_text text, item_id text, rater text)")
    with pytest.raises(MissingColumnError, match=r"task='item_id', worker='rater'$"):
        read(database, table="judged")


def test_of_equally_clear_names_the_more_usual_one_is_suggested(database: Path) -> None:
    run(database, "CREATE TABLE flat (subject_ids int, user_name text, task text, value text, choice text)")
    with pytest.raises(MissingColumnError, match=r"worker='user_name', label='choice'$"):
        read(database, table="flat")


def test_names_in_the_lower_case_of_a_database_are_suggested(database: Path) -> None:
    run(database, "CREATE TABLE lower (hitid text, workerid text, answer text)")
    with pytest.raises(MissingColumnError, match=r"task='hitid', worker='workerid', label='answer'$"):
        read(database, table="lower")


def test_what_connect_takes_is_reported(database: Path) -> None:
    with pytest.raises(EngineError, match=r"^connect= takes the URL of an engine, .* the given text has no ://$"):
        read(connect="sqlite", table="answers")
    with pytest.raises(
        OptionError, match=r"^With connect= the answers are a table of sqlite\. Name it with table=answers$"
    ):
        read("answers", connect=f"sqlite://{database}")


KILLED = """
import os
import sys
import pyarrow as pa
from quorate.backends.engine import EngineOptions, connect
from quorate.backends.output import put_table

def rows():
    yield pa.RecordBatch.from_pydict({"task": [1]})
    yield pa.RecordBatch.from_pydict({"task": [2]})
    os.kill(os.getpid(), 9)

put_table(connect(EngineOptions(connect=sys.argv[1])), rows(), "labels")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as Unix has them")
def test_a_killed_run_leaves_no_table(database: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", KILLED, f"sqlite://{database}"])
    assert done.returncode == -9
    assert run(database, "SELECT name FROM sqlite_master") == [("answers",)]
