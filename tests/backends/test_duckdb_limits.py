import gc
import importlib.util
from pathlib import Path
from typing import Any

import ibis
import pytest

import quorate
from quorate.errors import (
    BlankFieldError,
    ConflictingAnswersError,
    EngineError,
    NanLabelError,
    OptionError,
    QuorateError,
    UnknownGoldClassError,
    UnknownGoldTaskError,
    UnwritableFileError,
)
from quorate.methods.from_engine import kept_labels
from quorate.progress import listening
from tests.backends.alike import aggregate


def test_the_answers_are_read_once() -> None:
    """Whatever the number of sweeps; what follows passes over blocks."""
    crowd = quorate.simulate.crowd(n_tasks=50, n_workers=10, per_task=4, seed=0)
    found = aggregate(crowd.answers.to_table(), "rank-one", tolerance=1e-10)
    found.labels, found.workers  # noqa: B018
    assert kept_labels(found).engine.journal == ["counting the rows", "reading the answers"]


def test_a_task_that_everyone_answered_costs_what_its_answers_cost() -> None:
    """Twenty thousand answers to one task would be two hundred million pairs."""
    n = 20_000
    crowd = quorate.simulate.crowd(n_tasks=400, n_workers=50, per_task=4, seed=1).answers.to_table()
    rows = {
        "task": [*crowd["task"].to_pylist(), *["all"] * n],
        "worker": [*crowd["worker"].to_pylist(), *(f"w{k}" for k in range(n))],
        "label": [*crowd["label"].to_pylist(), *(f"c{k % 3 // 2}" for k in range(n))],
    }
    found = aggregate(rows, "rank-one", intervals="none")
    assert found.info.n_workers == n
    assert {row["task"]: row["label"] for row in found.labels.to_pylist()}["all"] == "c0"


def test_a_folder_for_blocks_is_empty_afterwards(tmp_path: Path) -> None:
    crowd = quorate.simulate.crowd(n_tasks=50, n_workers=10, per_task=4, seed=0)
    found = aggregate(crowd.answers.to_table(), temp=str(tmp_path / "temp"))
    assert len(list((tmp_path / "temp").iterdir())) == 1  # for intervals, which wait to be asked for
    del found
    gc.collect()
    assert list((tmp_path / "temp").iterdir()) == []
    with pytest.raises(ConflictingAnswersError):
        aggregate(CONFLICT, temp=str(tmp_path / "temp"))
    assert list((tmp_path / "temp").iterdir()) == []


def test_csv_ids_come_back_as_they_went_in(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("item,who,label\n007,ann,1e3\n007,bob,1e3\n8,ann,2\n")
    found = aggregate(tmp_path / "answers.csv", "majority", task="item", worker="who", output=tmp_path / "labels.csv")
    assert sorted(found.info.worker_names.to_pylist()) == ["ann", "bob"]
    lines = sorted((tmp_path / "labels.csv").read_text().replace('"', "").splitlines())
    assert lines == ["007,1e3,1,1,2,false", "8,2,1,1,1,false", "task,label,confidence,margin,n_answers,tied"]
    assert found.labels["task"].to_pylist() == ["007", "8"]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["answers.csv", "labels.csv"]


def test_a_table_of_a_database_and_a_table_back(tmp_path: Path) -> None:
    path = tmp_path / "lake.duckdb"
    con = ibis.duckdb.connect(path)
    con.con.execute("CREATE TABLE judged AS SELECT 1 AS task, 'ann' AS worker, 'x' AS label")
    con.disconnect()
    found = aggregate(connect=f"duckdb://{path}", table="judged", output_table="labels")
    assert found.labels["label"].to_pylist() == ["x"]
    kept_labels(found).engine.backend.disconnect()
    con = ibis.duckdb.connect(path)
    assert con.con.execute("SELECT task, label FROM labels").fetchall() == [(1, "x")]
    # Nothing else was left behind.
    assert con.con.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall() == [
        ("judged",),
        ("labels",),
    ]
    with pytest.raises(EngineError, match="The table 'labels' exists already"):
        aggregate(con.table("judged"), output_table="labels")


ROWS = {"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]}


CONFLICT = {"task": [1, 2, 2], "worker": list("aaa"), "label": list("xxy")}


@pytest.mark.parametrize(
    ("rows", "options", "error", "says"),
    [
        ({**ROWS, "label": ["x", " ", "x"]}, {}, BlankFieldError, "value in 'label' .* task 1, worker 'b'"),
        ({**ROWS, "label": ["x", "NaN", "x"]}, {}, NanLabelError, "1 row has NaN in 'label'"),
        ({**ROWS, "task": [1, None, 2]}, {}, BlankFieldError, "1 row has no value in 'task'"),
        (CONFLICT, {}, ConflictingAnswersError, "Worker 'a' answered task 2 twice: 'x' and 'y'"),
        (ROWS, {"on_conflict": "first"}, OptionError, "Name the column that has it with order="),
        (ROWS, {"method": "kos"}, OptionError, "one-coin, dawid-skene .method=. run on data larger than memory"),
        (ROWS, {"intervals": "full"}, OptionError, "choose intervals='fast'"),
        (ROWS, {"priors": [0.5, 0.5]}, OptionError, "has no option 'priors' out of core"),
        (ROWS, {"gold": {9: "x"}}, UnknownGoldTaskError, "nobody answered: 9"),
        (ROWS, {"gold": {1: "q"}}, UnknownGoldClassError, "'q', which no worker gave"),
        (ROWS, {"output": "labels.xlsx"}, UnwritableFileError, "End the name in .parquet"),
        (ROWS, {"output": "no/such/folder.parquet"}, UnwritableFileError, "no such folder"),
        (ROWS, {"engine": "oracle"}, QuorateError, "engine= has an unknown value 'oracle'. Choose from duckdb, spark"),
        (ROWS, {"master": "local"}, OptionError, "is for spark"),
        (ROWS, {"encoding": "latin-1"}, OptionError, "encoding= .*has no effect inside an engine"),
        (ROWS, {"memory": "lots"}, EngineError, "cannot start duckdb"),
        (ROWS, {"task": "item"}, QuorateError, "Choose one with task="),
        ("no-such-*.parquet", {}, QuorateError, "no-such-.*cannot be read"),
        ("answers.unknown", {}, QuorateError, "End the pattern in"),
        ("-", {}, OptionError, "not standard input"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_says_so(rows: Any, options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        aggregate(rows, **options)


@pytest.mark.parametrize(
    ("engine", "module", "extra"), [("duckdb", "duckdb", "warehouse"), ("spark", "pyspark", "spark")]
)
def test_a_missing_engine_names_the_extra(engine: str, module: str, extra: str, monkeypatch: Any) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("quorate.backends.engine.find_spec", lambda name: None if name == module else find(name))
    with pytest.raises(EngineError, match=rf"pip install 'quorate\[{extra}\]'"):
        aggregate(ROWS, engine=engine)


def test_every_stage_is_reported() -> None:
    reports: list[tuple[str, int]] = []
    with listening(lambda stage, done, total: reports.append((stage, done))):
        aggregate(ROWS, "majority")
    assert {("grouping answers by task", 3), ("packing", 1), ("voting", 2)} <= set(reports)
