import importlib.util
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
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
from quorate.meetings.pairs import pair_stats
from quorate.progress import listening
from quorate.warehouse import aggregate
from quorate.warehouse.engine_labels import labels_there
from tests.warehouse.alike import assert_alike, by_id, pairs_of


def test_a_task_that_everyone_answered_is_not_joined() -> None:
    """Five thousand answers to one task would be 12.5 million rows of join; the sums over the task are exact."""
    rng = np.random.default_rng(1)
    n_workers = 300
    crowd = quorate.simulate.crowd(n_tasks=400, n_workers=n_workers, per_task=4, seed=1).answers.to_table()
    everyone = {
        "task": ["all"] * n_workers,
        "worker": pa.compute.unique(crowd["worker"]).to_pylist(),
        "label": rng.choice(pa.compute.unique(crowd["label"]).to_pylist(), n_workers).tolist(),
    }
    rows = {
        name: [str(value) if name == "task" else value for value in crowd[name].to_pylist()] + everyone[name]
        for name in ("task", "worker", "label")
    }
    found = aggregate(rows, "rank-one")
    pairs = pairs_of(found)
    assert pairs.big is not None
    assert pairs.big.n_answers == n_workers
    assert max(int(block.shared.sum()) for block in pairs.blocks) < n_workers * (n_workers - 1) // 2
    assert_alike(found, quorate.aggregate(rows, "rank-one", intervals="fast"))


def test_too_many_pairs_to_list_are_still_solved(monkeypatch: Any) -> None:
    crowd = quorate.simulate.crowd(n_tasks=60, n_workers=20, per_task=8, seed=2).answers
    monkeypatch.setattr("quorate.warehouse.counted_pairs.MOST_PAIRS", 10)
    monkeypatch.setattr("quorate.skills.solve.CHECKED", 10)
    found = aggregate(crowd.to_table(), "rank-one", big_task=7)
    assert found.workers["n_peers"].null_count == 20
    expected = quorate.aggregate(crowd, "rank-one")
    ours = by_id(found.workers, "worker")
    assert all(abs(ours[row["worker"]]["skill"] - row["skill"]) < 1e-6 for row in expected.workers.to_pylist())


def test_the_answers_are_read_a_fixed_number_of_times() -> None:
    """However many sweeps the solver takes, and however many answers there are."""
    journals = []
    for n_tasks, tolerance in ((50, 1e-1), (400, 1e-10)):
        crowd = quorate.simulate.crowd(n_tasks=n_tasks, n_workers=10, per_task=4, seed=0)
        found = aggregate(crowd.answers.to_table(), "rank-one", tolerance=tolerance)
        journals.append((labels_there(found).engine.journal, found.solution.iterations if found.solution else 0))
    (few, a), (many, b) = journals
    assert few == many == [
        "looking for missing fields",
        "listing the workers",
        "listing the labels",
        "writing the answers as integers",
        "counting the tasks",
        "counting pairs",
        "weighing the peers",
        "voting",
    ]  # fmt: skip
    assert a < b


def test_csv_ids_come_back_as_they_went_in(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("item,who,label\n007,ann,1e3\n007,bob,1e3\n8,ann,2\n")
    found = aggregate(tmp_path / "answers.csv", "majority", task="item", worker="who", output=tmp_path / "labels.csv")
    assert sorted(found.roster.worker_names.to_pylist()) == ["ann", "bob"]
    lines = sorted((tmp_path / "labels.csv").read_text().splitlines())
    assert lines == ["007,1e3,1.0,1.0,2,false", "8,2,1.0,1.0,1,false", "task,label,confidence,margin,n_answers,tied"]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["answers.csv", "labels.csv"]


def test_a_table_of_a_database_and_a_table_back(tmp_path: Path) -> None:
    path = tmp_path / "lake.duckdb"
    con = ibis.duckdb.connect(path)
    con.con.execute("CREATE TABLE judged AS SELECT 1 AS task, 'ann' AS worker, 'x' AS label")
    con.disconnect()
    found = aggregate(connect=f"duckdb://{path}", table="judged", output_table="labels")
    assert found.notes[-1].text.startswith("rank-one was used")
    labels_there(found).engine.backend.disconnect()
    con = ibis.duckdb.connect(path)
    assert con.con.execute("SELECT task, label FROM labels").fetchall() == [(1, "x")]
    # Nothing else was left behind.
    assert con.con.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall() == [
        ("judged",),
        ("labels",),
    ]
    with pytest.raises(EngineError, match="there is a table 'labels' already"):
        aggregate(con.table("judged"), output_table="labels")


ROWS = {"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]}


CONFLICT = {"task": [1, 2, 2], "worker": list("aaa"), "label": list("xxy")}


@pytest.mark.parametrize(
    ("rows", "options", "error", "says"),
    [
        ({**ROWS, "label": ["x", " ", "x"]}, {}, BlankFieldError, "in 1 row, one of them with task 1, worker 'b'"),
        ({**ROWS, "label": ["x", "NaN", "x"]}, {}, NanLabelError, "'label' is NaN in 1 row"),
        ({**ROWS, "task": [1, None, 2]}, {}, BlankFieldError, "'task' is missing"),
        (CONFLICT, {}, ConflictingAnswersError, "worker 'a' gave task 2 'x', 'y'"),
        (ROWS, {"on_conflict": "first"}, OptionError, r"name the column that says so with order= \(--order\)"),
        (ROWS, {"method": "quorate"}, OptionError, "choose rank-one"),
        (ROWS, {"method": "dawid-skene"}, OptionError, "choose rank-one"),
        (ROWS, {"intervals": "full"}, OptionError, "choose intervals='fast'"),
        (ROWS, {"prior": [0.5, 0.5]}, OptionError, "has no option 'prior'"),
        (ROWS, {"gold": {9: "x"}}, UnknownGoldTaskError, "nobody answered: 9"),
        (ROWS, {"gold": {1: "q"}}, UnknownGoldClassError, "nobody gave: 'q'"),
        (ROWS, {"output": "labels.jsonl"}, UnwritableFileError, "Parquet or CSV"),
        (ROWS, {"output": "no/such/folder.parquet"}, UnwritableFileError, "no such folder"),
        (ROWS, {"engine": "oracle"}, QuorateError, "there is no engine 'oracle'; choose from duckdb, spark"),
        (ROWS, {"master": "local"}, OptionError, "is for spark"),
        (ROWS, {"encoding": "latin-1"}, OptionError, "encoding= means nothing inside an engine"),
        (ROWS, {"memory": "lots"}, EngineError, "cannot start duckdb"),
        (ROWS, {"task": "item"}, QuorateError, r"Let task= \(--task\) name one of those"),
        ("no-such-*.parquet", {}, QuorateError, "cannot read no-such"),
        ("answers.unknown", {}, QuorateError, "end the pattern in"),
        ("-", {}, OptionError, "not standard input"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_says_so(rows: Any, options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        aggregate(rows, **options)


@pytest.mark.parametrize(("engine", "module"), [("duckdb", "duckdb"), ("spark", "pyspark")])
def test_a_missing_engine_names_the_extra(engine: str, module: str, monkeypatch: Any) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("quorate.warehouse.engine.find_spec", lambda name: None if name == module else find(name))
    with pytest.raises(EngineError, match=rf"pip install 'quorate\[{engine}\]'"):
        aggregate(ROWS, engine=engine)


def test_every_stage_is_told() -> None:
    heard: list[tuple[str, int]] = []
    with listening(lambda stage, done, total: heard.append((stage, done))):
        aggregate(ROWS, "majority")
    assert {("looking for repeats", 100), ("voting", 100)} <= set(heard)


def test_pairs_come_out_alike_without_gold() -> None:
    crowd = quorate.simulate.crowd(n_tasks=50, n_workers=8, per_task=3, seed=5).answers
    found = aggregate(crowd.to_table(), "rank-one", gold={crowd.task_names[0].as_py(): crowd.classes[0].as_py()})
    assert len(pairs_of(found).table) == len(pair_stats(crowd)) + 3
