"""What happens when memory, a connection or a process gives out: the right result, or none; never half of one."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pytest

import quorate
from quorate.backends import output, transfer
from quorate.errors import EngineError, QuorateError
from quorate.methods.from_engine import kept_labels
from tests.backends.alike import aggregate

# A table whose last rows cannot be computed: the engine is in the middle of handing it out when it finds out.
BREAKS = """
CREATE VIEW breaks AS SELECT range AS task, 'w' || range % 3 AS worker,
CASE WHEN range < 1999990 THEN 'x' ELSE error('the line went dead') END AS label FROM range(2000000)
"""


def test_a_failure_while_rows_are_read_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "labels.parquet"
    target.write_text("yesterday's labels")
    con = ibis.duckdb.connect()
    con.con.execute(BREAKS)
    with pytest.raises(EngineError, match="the line went dead"):
        aggregate(con.table("breaks"), "majority", output=target, temp=str(tmp_path / "temp"))
    assert target.read_text() == "yesterday's labels"
    assert list((tmp_path / "temp").iterdir()) == []
    assert _tables(con) == [("breaks",)]


def test_threads_that_stop_each_other_tell_the_reason(monkeypatch: Any) -> None:
    """DuckDB's threads may say no more than that they were interrupted by the one that failed."""
    con = ibis.duckdb.connect()
    con.con.execute(BREAKS.replace("1999990", "10").replace("2000000", "20"))
    before, first = transfer._reader, iter([True])

    def interrupted(*given: Any) -> Any:
        if next(first, False):
            raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")
        return before(*given)

    monkeypatch.setattr(transfer, "_reader", interrupted)
    threads = con.con.execute("SELECT current_setting('threads')").fetchone()
    with pytest.raises(EngineError, match="the line went dead"):
        aggregate(con.table("breaks"), "majority")
    assert con.con.execute("SELECT current_setting('threads')").fetchone() == threads


@pytest.mark.parametrize("kind", ["output", "output_table"])
def test_a_failure_while_labels_are_written_leaves_no_half_of_them(kind: str, tmp_path: Path, monkeypatch: Any) -> None:
    con = ibis.duckdb.connect()
    con.con.execute(
        "CREATE TABLE judged AS SELECT range // 5 AS task, range % 5 AS worker, 'x' AS label FROM range(5000)"
    )
    labels_of_part = output.labels_of_part

    def breaks(part: Any, *others: Any) -> Any:
        breaks.calls += 1  # type: ignore[attr-defined]
        if breaks.calls > 3:  # type: ignore[attr-defined]
            raise OSError("the line went dead")
        return labels_of_part(part, *others)

    breaks.calls = 0  # type: ignore[attr-defined]
    monkeypatch.setattr("quorate.backends.output.labels_of_part", breaks)
    monkeypatch.setattr("quorate.backends.output.LABELS_PER_BATCH", 100)
    monkeypatch.setattr("quorate.blocks.memory.MAX_BLOCK_ANSWERS", 500)
    target = tmp_path / "labels.csv"
    where: dict[str, Any] = {kind: target if kind == "output" else "labels"}
    with pytest.raises(QuorateError, match="the line went dead"):
        aggregate(con.table("judged"), "majority", **where)
    assert list(tmp_path.iterdir()) == []
    assert _tables(con) == [("judged",)]


KILLED = """
import sys
from quorate.progress import listening
from quorate.backends import aggregate

def on_progress(stage, done, total):
    if stage == "voting":
        print("voting", flush=True)

with listening(on_progress):
    aggregate(method="majority", connect=sys.argv[1], table="judged", most=0, **{sys.argv[2]: sys.argv[3]})
"""


@pytest.mark.parametrize("kind", ["output", "output_table"])
def test_a_process_that_is_killed_while_it_writes_leaves_no_half_of_it(kind: str, tmp_path: Path) -> None:
    lake, target = tmp_path / "lake.duckdb", tmp_path / "labels.parquet"
    con = duckdb.connect(str(lake))
    con.execute(
        "CREATE TABLE judged AS SELECT range // 3 AS task, range % 3 AS worker, range % 5 AS label FROM range(900000)"
    )
    con.close()
    name = str(target) if kind == "output" else "labels"
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", KILLED, f"duckdb://{lake}", kind, name],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "voting\n"
    process.kill()
    assert process.wait() != 0
    process.stdout.close()
    assert not target.exists()
    con = duckdb.connect(str(lake))
    assert con.execute("SELECT table_name FROM information_schema.tables").fetchall() == [("judged",)]
    con.close()
    # And it can be done again.
    where: dict[str, Any] = {kind: name}
    found = aggregate(method="majority", connect=f"duckdb://{lake}", table="judged", **where)
    assert found.info.n_tasks == 300_000
    kept_labels(found).engine.backend.disconnect()


def test_what_was_left_in_the_engine_is_removed_after_a_failure() -> None:
    con = ibis.duckdb.connect()
    con.con.execute("CREATE TABLE judged AS SELECT 1 AS task, 'a' AS worker, 'x' AS label UNION ALL SELECT 1, 'a', 'y'")
    with pytest.raises(quorate.errors.ConflictingAnswersError):
        aggregate(con.table("judged"))
    assert _tables(con) == [("judged",)]


def _tables(con: Any) -> list[tuple[str]]:
    found: list[tuple[str]] = con.con.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
    return found
