"""PostgreSQL: a server that the test starts gives the answers and takes the labels."""

import datetime
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.backends import aggregate, read
from quorate.backends.engine import EngineOptions, connect
from quorate.backends.output import put_table
from quorate.cli.app import app
from quorate.errors import BlankFieldError, ColumnTypeError, EngineError
from tests.backends.postgres_server import postgres

pytestmark = pytest.mark.xdist_group("postgres")
CROWD = quorate.simulate.crowd(n_tasks=60, n_workers=8, per_task=4, seed=1).answers
ROWS = [tuple(row.values()) for row in CROWD.to_table().to_pylist()]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgres() as there:
        import psycopg

        with psycopg.connect(there, autocommit=True) as con:
            con.execute("CREATE TABLE answers (task text, worker text, label text, day int)")
            with con.cursor() as cursor:
                days = np.random.default_rng(0).permutation(len(ROWS)).tolist()
                rows = [(*row, day) for row, day in zip(ROWS, days, strict=True)]
                cursor.executemany("INSERT INTO answers VALUES (%s, %s, %s, %s)", rows)
        yield there


def run(url: str, statement: str, *values: Any) -> Any:
    import psycopg

    with psycopg.connect(url, autocommit=True) as con:
        cursor = con.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else None


def tables(url: str) -> list[str]:
    found = run(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    return [name for (name,) in found]


def labels_of(result: quorate.Result) -> dict[Any, Any]:
    return {row["task"]: row["label"] for row in result.labels.to_pylist()}


def test_a_table_gives_the_labels_that_memory_gives(url: str) -> None:
    for method in (None, "rank-one", "majority", "dawid-skene"):
        expected = quorate.aggregate(CROWD, method or "quorate")
        found = aggregate(url, method, table="answers")
        assert labels_of(found) == labels_of(expected)
        assert found.info.n_rows == len(ROWS)


def test_the_command_needs_no_other_option_and_makes_a_table(url: str, capsys: Any, tmp_path: Any) -> None:
    app(["aggregate", url, "--table", "answers", "--output-table", "public.labels"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Read with postgres, because its URL was given: 240 rows, which fit into memory."
    assert dict(run(url, "SELECT task, label FROM labels")) == labels_of(quorate.aggregate(CROWD))
    # Nothing else was left behind, and what is there stays.
    assert run(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1") == [
        ("answers",),
        ("labels",),
    ]
    with pytest.raises(EngineError, match=r"The table 'public.labels' exists already"):
        aggregate(url, table="answers", output_table="public.labels")
    run(url, "DROP TABLE labels")
    app(["report", "--connect", url, "--table", "answers", "-o", str(tmp_path / "r.html")], standalone_mode=False)
    assert "because its URL was given" in capsys.readouterr().out
    assert " workers on " in (tmp_path / "r.html").read_text()


def test_ids_keep_their_types_and_empty_text_is_none(url: str) -> None:
    run(
        url,
        "CREATE TABLE odd (task uuid, worker numeric, label boolean, day date, at timestamptz)",
    )
    day = datetime.date(2024, 1, 1)
    when = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
    for k in range(4):
        run(
            url,
            "INSERT INTO odd VALUES (%s, %s, %s, %s, %s)",
            uuid.UUID(int=k // 2),
            Decimal("1.5") * k,
            k > 1,
            day,
            when,
        )
    found = read(url, table="odd")
    assert found.task_names.to_pylist() == [str(uuid.UUID(int=0)), str(uuid.UUID(int=1))]
    assert [float(each) for each in found.worker_names.to_pylist()] == [0.0, 1.5, 3.0, 4.5]
    assert found.classes.to_pylist() == [False, True]
    assert read(url, table="odd", task="day", label="at").task_names.to_pylist() == [day]
    assert labels_of(aggregate(url, table="odd", task="at", worker="worker", output_table="at_labels")).keys() == {when}
    assert run(url, "SELECT task, tied FROM at_labels") == [(when, True)]
    run(url, "UPDATE odd SET worker = NULL WHERE worker = 0")
    with pytest.raises(BlankFieldError, match=r"1 row has no value in 'worker' .for example the row with task"):
        read(url, table="odd")
    run(url, "ALTER TABLE odd ADD COLUMN several int[]")
    with pytest.raises(ColumnTypeError, match="must be text, a number or a date"):
        read(url, table="odd", label="several")
    run(url, "DROP TABLE odd, at_labels")


def test_the_last_of_two_answers_is_given_by_a_column(url: str) -> None:
    first, worker, label = ROWS[0]
    other = next(name for name in CROWD.classes.to_pylist() if name != label)
    run(url, "INSERT INTO answers VALUES (%s, %s, %s, %s)", first, worker, other, 10_000)
    found = read(url, table="answers", on_conflict="last", order="day")
    kept = {(row["task"], row["worker"]): row["label"] for row in found.to_table().to_pylist()}
    assert kept[first, worker] == other
    assert found.n_conflicting == 1
    run(url, "DELETE FROM answers WHERE day = 10000")


def test_a_failure_in_the_middle_leaves_no_half_of_a_table(url: str, monkeypatch: Any) -> None:
    def breaks(*_: Any) -> None:
        raise OSError("the line went dead")

    monkeypatch.setattr("quorate.backends.transfer._copy_to_postgres", breaks)
    with pytest.raises(EngineError, match="the line went dead"):
        aggregate(url, table="answers", output_table="labels")
    assert run(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [("answers",)]


def test_too_many_for_memory_are_packed_here_and_go_back(url: str) -> None:
    expected = quorate.aggregate(CROWD)
    found = aggregate(url, table="answers", most=0, output_table="labels")
    assert labels_of(found) == labels_of(expected)
    assert dict(run(url, "SELECT task, label FROM labels")) == labels_of(expected)
    run(url, "DROP TABLE labels")
    found.label_source.engine.close()  # type: ignore[union-attr]


def test_a_table_may_lie_in_a_schema_and_bear_reserved_names(url: str) -> None:
    run(url, 'CREATE SCHEMA other; CREATE TABLE other."order" ("user" text, "select" text, "group" text)')
    run(url, 'INSERT INTO other."order" SELECT task, worker, label FROM answers')
    found = aggregate(url, table="other.order", task="user", worker="select", label="group")
    assert labels_of(found) == labels_of(quorate.aggregate(CROWD))
    with pytest.raises(EngineError, match=r"^the engine postgres has no table 'other\.answers'; other has 'order'$"):
        read(url, table="other.answers")
    with pytest.raises(
        EngineError, match=r"^the engine postgres has no table 'nowhere\.answers'; nowhere has no tables$"
    ):
        read(url, table="nowhere.answers")
    run(url, "DROP SCHEMA other CASCADE")


LONG = "é" * 31  # 62 bytes of UTF-8, 31 characters


@pytest.mark.parametrize("more", ["", "x", "xy", "xé", "_" + "y" * 40])
def test_a_table_of_another_is_kept_whatever_the_length_of_the_name(url: str, more: str) -> None:
    """PostgreSQL cuts names to 63 bytes: a name that is made longer may be that of a table of somebody else."""
    name = f"{LONG}{more}"
    others = {name.encode()[:63].decode(errors="ignore"), f"{LONG}_"} - {name}
    for other in others:
        run(url, f'CREATE TABLE "{other}" AS SELECT 7 AS precious')
    if len(name.encode()) > 63:
        with pytest.raises(EngineError, match=rf"has {len(name.encode())} bytes in UTF-8, .*cuts names to 63"):
            aggregate(url, table="answers", output_table=name)
    else:
        aggregate(url, table="answers", output_table=name)
        assert run(url, f'SELECT count(*) FROM "{name}"') == [(60,)]
        run(url, f'DROP TABLE "{name}"')
    for other in others:
        assert run(url, f'SELECT * FROM "{other}"') == [(7,)]
        run(url, f'DROP TABLE "{other}"')
    assert tables(url) == ["answers"]


def test_a_table_that_appears_after_the_check_is_kept(url: str) -> None:
    run(url, "CREATE TABLE labels AS SELECT 7 AS precious")
    engine = connect(EngineOptions(connect=url))
    with pytest.raises(EngineError, match="already exists"):
        put_table(engine, pa.table({"task": [1]}), "labels")
    engine.close()
    assert run(url, "SELECT * FROM labels") == [(7,)]
    run(url, "DROP TABLE labels")


def test_of_two_runs_that_make_one_table_at_once_the_first_keeps_it(url: str) -> None:
    first, second = (connect(EngineOptions(connect=url)) for _ in range(2))
    refused: list[str] = []

    def compete() -> None:
        try:
            put_table(second, pa.table({"task": [7]}), "labels")
        except EngineError as error:
            refused.append(str(error))

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"task": [1]})
        other.start()
        time.sleep(0.2)
        yield pa.RecordBatch.from_pydict({"task": [2]})

    other = threading.Thread(target=compete)
    put_table(first, rows(), "labels")
    other.join(30)
    first.close()
    second.close()
    assert run(url, "SELECT task FROM labels ORDER BY 1") == [(1,), (2,)]
    assert len(refused) == 1
    assert tables(url) == ["answers", "labels"]
    run(url, "DROP TABLE labels")


KILLED = """
import sys
import threading
import time
import pyarrow as pa
from quorate.backends.engine import EngineOptions, connect
from quorate.backends.output import put_table

def rows():
    for number in range(1000):
        yield pa.RecordBatch.from_pydict({"task": [number] * 1000})
        if number == int(sys.argv[2]):
            print("writing", flush=True)
            time.sleep(60)

put_table(connect(EngineOptions(connect=sys.argv[1])), rows(), "labels")
"""


@pytest.mark.parametrize("batch", [0, 1, 50])
def test_a_killed_run_leaves_no_table(url: str, batch: int) -> None:
    command = [sys.executable, "-W", "ignore", "-c", KILLED, url, str(batch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.kill()
    others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    for _ in range(100):  # until the server has noticed
        if run(url, others) == [(0,)]:
            break
        time.sleep(0.05)
    assert tables(url) == ["answers"]
