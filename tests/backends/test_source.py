"""Answers that are few enough are read out of their engine, and are then what a file would have held."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quorate
from quorate.backends.choose_engine import choose_engine
from quorate.backends.engine import EngineOptions
from quorate.backends.source import ANSWER_BYTES, MAX_ANSWERS, find_answers, most_answers
from quorate.errors import BlankFieldError, ConflictingGroupsError, NotInMemoryError, OptionError, QuorateError
from quorate.io.options import ReadOptions
from quorate.io.write_table import write_table
from tests.backends.test_duckdb import tables

CROWD = quorate.simulate.crowd(n_tasks=40, n_workers=7, per_task=4, seed=2).answers.to_table().arrow


def named(answers: quorate.Answers) -> set[tuple[Any, ...]]:
    """The answers by their ids."""
    return {tuple(row.values()) for row in answers.to_table().to_pylist()}


@settings(max_examples=25)
@given(tables(), st.sampled_from(["error", "first", "last", "drop"]), st.booleans(), st.randoms(use_true_random=False))
def test_rows_in_any_order_are_read_as_those_of_a_file(
    table: dict[str, Any], policy: str, skip: bool, rng: Any
) -> None:
    """What is missing, repeated or contradictory counts as in memory; only the column `place` says what came first."""
    reading: dict[str, Any] = {"on_conflict": policy, "skip_missing": skip}
    order = list(range(len(table["place"])))
    rng.shuffle(order)
    shuffled = pa.table({name: pa.array(values).take(pa.array(order)) for name, values in table.items()})
    try:
        expected = quorate.read(pa.table(table), **reading)
    except QuorateError as error:
        with pytest.raises(type(error)):
            quorate.backends.read(shuffled, order="place", **reading)
        return
    found = quorate.backends.read(shuffled, order="place", **reading)
    assert named(found) == named(expected)
    assert found.classes == expected.classes
    for name in ("n_rows", "n_repeats", "n_conflicting", "n_skipped", "n_tasks", "n_workers"):
        assert getattr(found, name) == getattr(expected, name), name


def test_the_order_of_rows_changes_no_byte(tmp_path: Path) -> None:
    written = []
    for seed in (0, 1):
        order = np.random.default_rng(seed).permutation(len(CROWD))
        pa.parquet.write_table(CROWD.take(pa.array(order)), tmp_path / "answers.parquet")
        result = quorate.backends.aggregate(tmp_path / "*.parquet", output=tmp_path / "labels.csv")
        written.append((tmp_path / "labels.csv").read_bytes() + repr(result.workers.to_pylist()).encode())
    assert written[0] == written[1]


def test_two_labels_at_one_place_in_the_order_leave_the_first_class() -> None:
    rows = {"task": [1, 1, 1], "worker": ["a"] * 3, "label": ["10", "9", "9"], "day": [2, 2, 1]}
    for policy in ("first", "last"):
        read = quorate.backends.read(rows, on_conflict=policy, order="day")
        assert read.to_table()["label"].to_pylist() == ["9"]


def test_the_same_result_as_in_memory_by_every_method() -> None:
    for method in ("quorate", "majority", "dawid-skene", "one-coin", "iwmv", "rank-one"):
        found, memory = quorate.backends.aggregate(CROWD, method), quorate.aggregate(CROWD, method)
        assert found.to_dict(labels=False, workers=False).keys() == memory.to_dict(labels=False, workers=False).keys()
        theirs = {row["task"]: row["label"] for row in memory.labels.to_pylist()}
        assert {row["task"]: row["label"] for row in found.labels.to_pylist()} == theirs, method


def test_known_labels_and_groups_come_along() -> None:
    site = {name: "north" if k % 2 else "south" for k, name in enumerate(sorted(set(CROWD["worker"].to_pylist())))}
    table = CROWD.append_column("site", pa.array([site[name] for name in CROWD["worker"].to_pylist()]))
    plain = {row["task"]: row["label"] for row in quorate.backends.aggregate(table).labels.to_pylist()}
    task = CROWD["task"][0].as_py()
    other = next(name for name in set(CROWD["label"].to_pylist()) if name != plain[task])  # not what the crowd says
    found = quorate.backends.aggregate(table, gold={task: other}, group="site")
    label = {row["task"]: row["label"] for row in found.labels.to_pylist()}
    assert label[task] == other
    answers = found.answers
    assert answers.group is not None
    assert answers.group_names is not None
    named = [answers.group_names[int(code)].as_py() for code in answers.group]
    assert dict(zip(answers.worker_names.to_pylist(), named, strict=True)) == site


@pytest.mark.parametrize(
    ("change", "options", "error", "says"),
    [
        ({"label": ["x", None]}, {}, BlankFieldError, r"1 row has no value in 'label' .* task 1, worker 'b'"),
        (
            {"label": ["x", "y"], "worker": ["a", "a"]},
            {},
            QuorateError,
            r"answered task 1 twice: '.' and '.'\.",
        ),
        ({"worker": ["a", "a"], "task": [1, 2], "site": ["n", "s"]}, {"group": "site"}, ConflictingGroupsError, "1 r"),
        ({"day": [1, None]}, {"order": "day"}, BlankFieldError, "orders the answers is missing in 1 row"),
        ({}, {"on_conflict": "last"}, OptionError, "Name the column that has it with order="),
        ({}, {"most": 1}, NotInMemoryError, "duckdb has 2 rows, more than the 1 that are read"),
    ],
)  # fmt: skip
def test_rows_without_numbers_are_shown_by_what_they_have(
    change: dict[str, Any], options: dict[str, Any], error: type[Exception], says: str
) -> None:
    rows = {"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"], **change}
    with pytest.raises(error, match=says):
        quorate.backends.read(rows, **options)


def test_what_memory_holds() -> None:
    assert most_answers(EngineOptions(memory="1 GiB")) == 2**30 // ANSWER_BYTES
    assert most_answers(EngineOptions(memory="80%")) == MAX_ANSWERS  # of what, DuckDB knows
    assert most_answers(EngineOptions(memory="900GB")) == MAX_ANSWERS


def test_a_database_tells_which_tables_it_has(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "lake.db")) as con:
        con.execute("CREATE TABLE a AS SELECT 1 AS task, 'ann' AS worker, 'x' AS label; CREATE TABLE b AS FROM a")
    with pytest.raises(
        OptionError, match=r"The database has 2 tables: 'a', 'b'. Name the one with the answers \(table=\)"
    ):
        quorate.backends.read(tmp_path / "lake.db")
    assert quorate.backends.read(tmp_path / "lake.db", table="a").n_answers == 1


def test_a_file_larger_than_memory_goes_to_duckdb(tmp_path: Path, monkeypatch: Any) -> None:
    write_table(quorate.arrays.Table(CROWD), tmp_path / "answers.csv")
    assert choose_engine(tmp_path / "answers.csv", EngineOptions()) is None
    monkeypatch.setattr("quorate.backends.choose_engine.free_memory", lambda: 1000)
    chosen = choose_engine(tmp_path / "answers.csv", EngineOptions())
    assert chosen is not None
    assert chosen.name == "duckdb"
    assert "of memory are free" in chosen.why


def test_a_password_is_shown_to_nobody() -> None:
    chosen = choose_engine("postgres://ann:secret@host/crowd", EngineOptions(table="answers"))
    assert chosen is not None
    assert "secret" not in f"{chosen.name} {chosen.why} {chosen!r}"
    with pytest.raises(QuorateError) as refused:
        find_answers("postgres://ann:secret@127.0.0.1:1/crowd", ReadOptions(), EngineOptions(table="answers"))
    assert "secret" not in str(refused.value)
