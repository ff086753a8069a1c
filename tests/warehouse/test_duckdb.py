"""Inside DuckDB the answers come out as in memory, count for count and label for label."""

import datetime
import importlib.util
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from quorate.evaluation.datasets import SOURCES
from quorate.meetings.pairs import pair_stats
from quorate.progress import listening
from quorate.warehouse import aggregate
from quorate.writing.tables import write_table
from tests.conftest import RealData
from tests.warehouse.alike import assert_alike, by_id

FAST: dict[str, dict[str, Any]] = {"rank-one": {"intervals": "fast"}, "majority": {}, "iwmv": {}}


@pytest.mark.parametrize("name", list(SOURCES))
def test_public_sets_come_out_alike(name: str, real: type[RealData], tmp_path: Path) -> None:
    answers = real.load(name).answers
    write_table(answers.to_table(), tmp_path / "answers.parquet")
    found = aggregate(str(tmp_path / "*.parquet"), "rank-one", output=tmp_path / "labels.parquet")
    assert_alike(found, quorate.aggregate(answers, "rank-one", intervals="fast"))
    # The file that the engine wrote is the table that it returns.
    assert quorate.reading.files.read_table(tmp_path / "labels.parquet", ["task"]).num_rows == answers.n_tasks


@pytest.mark.parametrize("method", ["majority", "iwmv"])
def test_other_methods_come_out_alike(method: str, real: type[RealData]) -> None:
    for name in ("temp", "web"):
        answers = real.load(name).answers
        assert_alike(aggregate(answers.to_table(), method), quorate.aggregate(answers, method))


# --- generated tables ---

ids: dict[str, Callable[[int], Any]] = {
    "int": lambda k: k * 7 - 3,
    "text": lambda k: f"id {k}",
    "float": lambda k: k / 2,
    "date": lambda k: datetime.date(2024, 1, 1) + datetime.timedelta(days=k),
}


LABELS: list[list[Any]] = [["yes", "no"], ["10", "9", "1"], list("abcde"), [3, 1, 2], [True, False]]


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Rows with repeats, conflicts and missing fields, ids of several types, and an order."""
    task, worker = (draw(st.sampled_from(sorted(ids))) for _ in range(2))
    labels = draw(st.sampled_from(LABELS))
    row = st.tuples(st.integers(0, 6), st.integers(0, 5), st.sampled_from(labels), st.integers(0, 19))
    rows = draw(st.lists(row, min_size=1, max_size=30))
    gaps = draw(st.sampled_from([20, 20, 1]))  # often none at all

    def field(value: Any, number: int, which: int) -> Any:
        return None if number >= gaps and number % 3 == which else value

    return {
        "task": [field(ids[task](t), g, 0) for t, _, _, g in rows],
        "worker": [field(ids[worker](w), g, 1) for _, w, _, g in rows],
        "label": [field(label, g, 2) for _, _, label, g in rows],
        "place": list(range(len(rows))),
    }


@settings(max_examples=25)
@given(
    tables(),
    st.sampled_from(["rank-one", "rank-one", "majority", "iwmv"]),
    st.sampled_from(["error", "first", "last", "drop"]),
    st.booleans(),
    st.sampled_from([200, 2]),
    st.booleans(),
)
def test_generated_tables_come_out_alike(
    table: dict[str, Any], method: str, policy: str, skip: bool, big_task: int, with_gold: bool
) -> None:
    reading: dict[str, Any] = {"on_conflict": policy, "skip_missing": skip}
    try:
        answers = quorate.read(pa.table(table), **reading)
        gold = _some_gold(answers) if with_gold else None
        expected = quorate.aggregate(answers, method, gold=gold, **FAST[method])
    except QuorateError as error:
        with pytest.raises(type(error)):
            aggregate(pa.table(table), method, order="place", **reading)
        return
    found = aggregate(pa.table(table), method, order="place", gold=gold, big_task=big_task, **reading)
    assert_alike(found, expected)


def _some_gold(answers: quorate.Answers) -> dict[str, Any]:
    return {
        "task": answers.task_names[:2],
        "label": pa.concat_arrays([answers.classes[:1]] * len(answers.task_names[:2])),
    }


@pytest.mark.parametrize(
    "option", [{"weighting": "binary"}, {"threshold": 0.1}, {"signs": "weighed"}, {"solver": "exponentiated"}]
)
def test_options_of_rank_one_come_out_alike(option: dict[str, Any]) -> None:
    rows = quorate.simulate.crowd(n_tasks=150, n_workers=12, per_task=4, seed=3).answers.to_table()
    assert_alike(aggregate(rows, "rank-one", **option), quorate.aggregate(rows, "rank-one", intervals="fast", **option))


def test_votes_for_classes_that_nobody_gave(tmp_path: Path) -> None:
    """Adversaries' votes against a class are votes for the others, also among more classes than one number has bits."""
    rng = np.random.default_rng(0)
    n_tasks, n_workers, m = 120, 9, 70
    truth = rng.integers(0, m, n_tasks)
    task, worker = np.divmod(np.arange(n_tasks * n_workers), n_workers)
    right = rng.random(len(task)) < np.where(worker < 2, 0.0, 0.9)
    label = (truth[task] + np.where(right, 0, rng.integers(1, m, len(task)))) % m
    alone = task < 40  # tasks that only adversaries answered
    kept = ~alone | (worker < 2)
    rows = {"task": task[kept], "worker": worker[kept], "label": label[kept]}
    memory = quorate.aggregate(rows, "rank-one", intervals="fast", tau=0.0)
    given = {(t, c) for t, c in zip(rows["task"].tolist(), rows["label"].tolist(), strict=True)}
    stray = [row for row in memory.labels.to_pylist() if (row["task"], row["label"]) not in given]
    assert stray  # the case is there
    assert_alike(aggregate({k: v.tolist() for k, v in rows.items()}, "rank-one", tau=0.0), memory)


def test_classes_that_are_listed_but_never_given() -> None:
    rows = {"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")}
    listed = ["y", "z", "x"]
    expected = quorate.aggregate(quorate.read(rows, classes=listed), "majority")
    assert_alike(aggregate(rows, "majority", classes=listed), expected)


@pytest.mark.parametrize("make", [lambda k: uuid.UUID(int=k), lambda k: datetime.datetime(2024, 1, 1, k)])
def test_ids_of_rarer_types(make: Any) -> None:
    crowd = quorate.simulate.crowd(n_tasks=20, n_workers=5, per_task=3, seed=0).answers
    con = ibis.duckdb.connect()
    kind = "uuid" if isinstance(make(1), uuid.UUID) else "timestamp"
    con.con.execute(f"CREATE TABLE answers (task {kind}, worker {kind}, label text)")
    rows = [
        (make(t), make(w), f"c{c}")
        for t, w, c in zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True)
    ]
    con.con.executemany("INSERT INTO answers VALUES (?, ?, ?)", rows)
    found = aggregate(con.table("answers"), "rank-one")
    labels = quorate.aggregate(crowd, "rank-one").ballot.label
    ours = {row["task"]: row["label"] for row in found.labels.to_pyarrow().to_pylist()}
    assert {str(task): label for task, label in ours.items()} == {
        str(make(t)): f"c{c}" for t, c in enumerate(labels.tolist())
    }


# --- big tasks ---


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
    assert found.pairs is not None
    assert found.pairs.big is not None
    assert found.pairs.big.n_answers == n_workers
    assert max(int(block.shared.sum()) for block in found.pairs.blocks) < n_workers * (n_workers - 1) // 2
    assert_alike(found, quorate.aggregate(rows, "rank-one", intervals="fast"))


def test_too_many_pairs_to_list_are_still_solved(monkeypatch: Any) -> None:
    crowd = quorate.simulate.crowd(n_tasks=60, n_workers=20, per_task=8, seed=2).answers
    monkeypatch.setattr("quorate.warehouse.pairs.MOST_PAIRS", 10)
    monkeypatch.setattr("quorate.skills.signs.CHECKED", 10)
    found = aggregate(crowd.to_table(), "rank-one", big_task=7)
    assert found.workers["n_peers"].null_count == 20
    expected = quorate.aggregate(crowd, "rank-one")
    ours = by_id(found.workers, "worker")
    assert all(abs(ours[row["worker"]]["skill"] - row["skill"]) < 1e-6 for row in expected.workers.to_pylist())


# --- reads of the answers ---


def test_the_answers_are_read_a_fixed_number_of_times() -> None:
    """However many sweeps the solver takes, and however many answers there are."""
    journals = []
    for n_tasks, tolerance in ((50, 1e-1), (400, 1e-10)):
        crowd = quorate.simulate.crowd(n_tasks=n_tasks, n_workers=10, per_task=4, seed=0)
        found = aggregate(crowd.answers.to_table(), "rank-one", tolerance=tolerance)
        journals.append((found.engine.journal, found.solution.iterations if found.solution else 0))
    (few, a), (many, b) = journals
    assert few == many == [
        "looking for missing fields",
        "listing the workers",
        "listing the labels",
        "writing the answers as integers",
        "counting the tasks",
        "counting pairs",
        "weighing the mates",
        "voting",
    ]  # fmt: skip
    assert a < b


# --- files, tables, errors ---


def test_csv_ids_come_back_as_they_went_in(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("item,who,label\n007,ann,1e3\n007,bob,1e3\n8,ann,2\n")
    found = aggregate(tmp_path / "answers.csv", "majority", task="item", worker="who", output=tmp_path / "labels.csv")
    assert sorted(found.crowd.worker_names.to_pylist()) == ["ann", "bob"]
    lines = sorted((tmp_path / "labels.csv").read_text().splitlines())
    assert lines == ["007,1e3,1.0,1.0,2,false", "8,2,1.0,1.0,1,false", "task,label,confidence,margin,n_answers,tied"]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["answers.csv", "labels.csv"]


def test_a_table_of_a_database_and_a_table_back(tmp_path: Path) -> None:
    path = tmp_path / "lake.duckdb"
    con = ibis.duckdb.connect(path)
    con.con.execute("CREATE TABLE judged AS SELECT 1 AS task, 'ann' AS worker, 'x' AS label")
    con.disconnect()
    found = aggregate(connect=f"duckdb://{path}", table="judged", output_table="labels")
    assert found.notes[-1].startswith("rank-one was used")
    found.engine.backend.disconnect()
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
        (ROWS, {"memory": "lots"}, EngineError, "cannot start duckdb"),
        (ROWS, {"task": "item"}, QuorateError, "Name the right one with task="),
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
    assert found.pairs is not None
    assert len(found.pairs.table) == len(pair_stats(crowd)) + 3
