"""What happens when memory, a connection or a process gives out: the right result, or none; never half of one."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pytest

import quorate
from quorate.errors import EngineError
from quorate.meetings.pairs import pair_stats
from quorate.reading.columns import positions
from quorate.warehouse.engine import EngineOptions, connect
from quorate.warehouse.engine_labels import labels_there
from quorate.warehouse.write import write_file
from quorate.warehouse.write import write_table as write_engine_table
from quorate.writing.tables import write_table
from tests.warehouse.alike import aggregate, pairs_of


def test_duckdb_spills_to_disk_under_its_limit(tmp_path: Path) -> None:
    """Half a million meetings of two thousand workers take more than the limit: what does not fit goes to disk."""
    n_workers = 2_000
    answers = quorate.simulate.crowd(n_tasks=50_000, n_workers=n_workers, per_task=5, seed=0).answers
    write_table(answers.to_table(), tmp_path / "answers.parquet")
    spill, stop, spilt = tmp_path / "spill", threading.Event(), 0

    def watch() -> None:
        nonlocal spilt
        while not stop.wait(0.005):
            for path in spill.glob("*"):
                try:
                    spilt = max(spilt, path.stat().st_size)
                except OSError:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        found = aggregate(tmp_path / "answers.parquet", engine="duckdb", memory="56MB", temp=str(spill))
    finally:
        stop.set()
        watcher.join()
    assert spilt > 0
    # The same pairs, once the workers have the codes that memory gave them.
    code = positions(found.roster.worker_names, answers.worker_names)
    ours, theirs = pairs_of(found).table, pair_stats(answers)
    i, j = code[ours.i], code[ours.j]
    order = np.lexsort([np.maximum(i, j), np.minimum(i, j)])
    for mine, other in (
        (np.minimum(i, j), theirs.i),
        (np.maximum(i, j), theirs.j),
        (ours.shared, theirs.shared),
        (ours.agreed, theirs.agreed),
    ):
        assert np.array_equal(mine[order], other)


def test_a_limit_too_small_for_anything_says_what_to_do(tmp_path: Path) -> None:
    write_table(quorate.simulate.crowd(2_000, 50, 5, seed=0).answers.to_table(), tmp_path / "answers.parquet")
    with pytest.raises(EngineError, match=r"Allow more memory= \(--memory\)"):
        aggregate(tmp_path / "answers.parquet", memory="1MB", output=tmp_path / "labels.parquet")
    assert [path.name for path in tmp_path.iterdir() if "labels" in path.name] == []


# A table whose last rows cannot be computed: the engine is in the middle of writing when it finds out.
BREAKS = """
CREATE VIEW breaks AS
SELECT CASE WHEN range < 1999990 THEN range ELSE error('the line went dead') END AS task FROM range(2000000)
"""


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_failure_in_the_middle_of_a_file_leaves_what_was_there(ending: str, tmp_path: Path) -> None:
    engine, target = connect(), tmp_path / f"labels.{ending}"
    target.write_text("yesterday's labels")
    engine.backend.con.execute(BREAKS)
    with pytest.raises(EngineError, match="the line went dead"):
        write_file(engine, engine.backend.table("breaks"), target)
    assert target.read_text() == "yesterday's labels"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_in_the_middle_of_a_table_leaves_none(tmp_path: Path) -> None:
    engine = connect(EngineOptions(connect=f"duckdb://{tmp_path / 'lake.duckdb'}"))
    engine.backend.con.execute(BREAKS)
    with pytest.raises(EngineError, match="the line went dead"):
        write_engine_table(engine, engine.backend.table("breaks"), "labels")
    assert _tables(engine.backend) == [("breaks",)]


KILLED = """
import sys
from quorate.progress import listening
from quorate.warehouse import aggregate

def hear(stage, done, total):
    if stage == "voting":
        print("voting", flush=True)

with listening(hear):
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
    assert found.roster.n_tasks == 300_000
    labels_there(found).engine.backend.disconnect()


def test_what_was_left_in_the_engine_is_taken_out_after_a_failure() -> None:
    con = ibis.duckdb.connect()
    con.con.execute("CREATE TABLE judged AS SELECT 1 AS task, 'a' AS worker, 'x' AS label UNION ALL SELECT 1, 'a', 'y'")
    with pytest.raises(quorate.errors.ConflictingAnswersError):
        aggregate(con.table("judged"))
    assert _tables(con) == [("judged",)]


def _tables(con: Any) -> list[tuple[str]]:
    found: list[tuple[str]] = con.con.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
    return found
