"""Answers that DuckDB holds come out of blocks on disk as in memory, count for count and label for label."""

import datetime
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import quorate
from quorate.datasets.sources import SEVEN
from quorate.errors import (
    QuorateError,
)
from quorate.io.write_table import write_table
from tests.backends.alike import aggregate, assert_alike, by_id
from tests.conftest import RealData

METHODS = ("quorate", "rank-one", "majority", "iwmv", "one-coin", "dawid-skene")


@contextmanager
def several_files(rows: int) -> Iterator[None]:
    """So few rows fill a file of whole tasks, and a block, as millions do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quorate.backends.partition.MAX_FILE_ROWS", rows)
        patch.setattr("quorate.blocks.memory.MAX_BLOCK_ANSWERS", rows)
        yield


@pytest.mark.parametrize("name", SEVEN)
def test_public_sets_come_out_alike(name: str, real: type[RealData], tmp_path: Path) -> None:
    answers = real.load(name).answers
    write_table(answers.to_table(), tmp_path / "answers.parquet")
    with several_files(answers.n_answers // 3):
        found = aggregate(str(tmp_path / "*.parquet"), output=tmp_path / "labels.parquet")
    assert_alike(found, quorate.aggregate(answers, intervals="fast"))
    # The file that the engine wrote is the table that it returns, in whatever order.
    assert by_id(parquet.read_table(tmp_path / "labels.parquet"), "task") == by_id(found.labels, "task")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_comes_out_alike(method: str, real: type[RealData]) -> None:
    for name in ("temp",):
        answers = real.load(name).answers
        assert_alike(aggregate(answers.to_table(), method), quorate.aggregate(answers, method, intervals="fast"))


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
    st.sampled_from(METHODS),
    st.sampled_from(["error", "first", "last", "drop"]),
    st.booleans(),
    st.booleans(),
)
def test_generated_tables_come_out_alike(
    table: dict[str, Any], method: str, policy: str, skip: bool, with_gold: bool
) -> None:
    reading: dict[str, Any] = {"on_conflict": policy, "skip_missing": skip}
    try:
        answers = quorate.read(pa.table(table), **reading)
        # Out of core the default method keeps known labels, and does not correct the crowd by them.
        gold = _some_gold(answers) if with_gold and method != "quorate" else None
        expected = quorate.aggregate(answers, method, gold=gold, intervals="fast")
    except QuorateError as error:
        with pytest.raises(type(error)):
            aggregate(pa.table(table), method, order="place", **reading)
        return
    with several_files(9):
        found = aggregate(pa.table(table), method, order="place", gold=gold, **reading)
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
    labels = quorate.aggregate(crowd, "rank-one").vote.label
    ours = {row["task"]: row["label"] for row in found.labels.to_pylist()}
    assert {str(task): label for task, label in ours.items()} == {
        str(make(t)): f"c{c}" for t, c in enumerate(labels.tolist())
    }


def test_known_labels_correct_out_of_core_as_in_memory() -> None:
    crowd = quorate.simulate.crowd(600, 20, 4, n_classes=3, seed=2)
    rows = crowd.answers.to_table().arrow
    rows = rows.take(np.random.default_rng(0).permutation(rows.num_rows))
    names = crowd.answers.task_names.to_pylist()
    gold = {names[t]: crowd.answers.classes[int(crowd.truth[t])].as_py() for t in range(0, 600, 9)}
    memory = quorate.backends.aggregate(rows, gold=gold, engine="duckdb", intervals="fast")
    with several_files(500):  # in which tasks lie in no order
        assert_alike(aggregate(rows, gold=gold), memory)
