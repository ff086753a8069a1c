"""Two ids are one exactly where they are written alike; values that cannot be distinguished are refused by name."""

import datetime
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quorate
from quorate import errors
from quorate.evaluation.metrics import score_labels
from quorate.io.gold import read_gold
from quorate.io.groups import groups_of
from quorate.io.timestamps import read_times
from quorate.methods.from_engine import kept_labels

LARGE = 2**53  # from here on a double no longer tells neighbouring whole numbers apart
NEIGHBOURS = [LARGE, LARGE + 1, LARGE + 2]


def wide_frame(index_name: str | None = "item") -> pd.DataFrame:
    """Ten tasks by three workers, the ids of the tasks in the index."""
    tasks = pd.Index([f"t{k}" for k in range(10)], name=index_name)
    labels = {worker: [f"c{(k + j) % 2}" for k in range(10)] for j, worker in enumerate(["ann", "bob", "cy"])}
    return pd.DataFrame(labels, index=tasks)


def texts(names: pa.Array) -> list[str]:
    return [str(name) for name in names.to_pylist()]


# --- wide tables ---


def wide_sources(folder: Path) -> dict[str, Any]:
    frame = wide_frame()
    frame.to_parquet(folder / "wide.parquet")
    frame.to_csv(folder / "wide.csv")
    return {
        "frame": frame,
        "two levels": frame.assign(batch="b").set_index("batch", append=True),
        "arrow": pa.Table.from_pandas(frame),
        "parquet": folder / "wide.parquet",
        "csv": folder / "wide.csv",
        "polars": pl.from_pandas(frame.reset_index()),
    }


@pytest.mark.parametrize("kind", ["frame", "two levels", "arrow", "parquet", "csv", "polars"])
def test_the_index_of_a_wide_table_holds_the_tasks(kind: str, tmp_path: Path) -> None:
    answers = quorate.read(wide_sources(tmp_path)[kind], tool="cleanlab", task="item" if kind == "two levels" else None)
    assert answers.worker_names.to_pylist() == ["ann", "bob", "cy"]
    assert answers.task_names.to_pylist() == [f"t{k}" for k in range(10)]
    assert answers.classes.to_pylist() == ["c0", "c1"]


def test_an_index_without_a_name_holds_the_tasks_too(tmp_path: Path) -> None:
    frame = wide_frame(None)
    frame.to_parquet(tmp_path / "wide.parquet")
    for source in (frame, pa.Table.from_pandas(frame), tmp_path / "wide.parquet"):
        answers = quorate.read(source, tool="cleanlab")
        assert answers.worker_names.to_pylist() == ["ann", "bob", "cy"]
        assert answers.task_names.to_pylist() == [f"t{k}" for k in range(10)]


def test_the_rows_that_were_kept_of_a_wide_frame_keep_their_numbers() -> None:
    frame = wide_frame().reset_index(drop=True)
    assert quorate.read(frame[frame.index > 6], tool="cleanlab").task_names.to_pylist() == ["7", "8", "9"]
    twice = pd.concat([frame.head(3), frame.head(3)])  # such an index tells no rows apart
    assert quorate.read(twice, tool="cleanlab").task_names.to_pylist() == ["0", "1", "2", "3", "4", "5"]


def test_the_workers_of_a_wide_frame_have_the_ids_of_a_long_one() -> None:
    long = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [7.0, 8.0, 7.0, 8.0], "label": list("xyxx")})
    wide = long.pivot(index="task", columns="worker", values="label")
    assert quorate.read(wide, tool="cleanlab").worker_names.to_pylist() == ["7", "8"]
    wide.columns = pd.Index([float(LARGE), float(LARGE) + 2])
    with pytest.raises(errors.ColumnTypeError, match="9007199254740992"):
        quorate.read(wide, tool="cleanlab")


# --- integers that a float cannot hold exactly ---


def crowd(tasks: Any, **more: Any) -> dict[str, Any]:
    return {"task": tasks, "worker": ["ann"] * len(tasks), "label": ["x", "y", "x"][: len(tasks)], **more}


@pytest.mark.parametrize("tasks", [NEIGHBOURS, [str(each) for each in NEIGHBOURS]], ids=["numbers", "text"])
@pytest.mark.parametrize(
    "gold",
    [
        pd.DataFrame({"task": [float(LARGE), np.nan], "label": ["x", "y"]}).dropna(),
        {"task": np.array([float(LARGE)]), "label": ["x"]},
        {"task": np.array([2.0**24], np.float32), "label": ["x"]},
        {float(LARGE): "x"},
        pl.DataFrame({"task": [float(LARGE)], "label": ["x"]}),
    ],
)
def test_gold_whose_ids_became_fractions_is_refused(tasks: list[Any], gold: Any) -> None:
    with pytest.raises(errors.ColumnTypeError, match="text"):
        quorate.aggregate(crowd(tasks), "majority", gold=gold)


CROWD = quorate.read(crowd(NEIGHBOURS, worker=NEIGHBOURS))
BY_TASK = pd.DataFrame({"task": [float(LARGE), 1.0], "label": ["x", "y"], "part": ["a", "b"]})
BY_WORKER = pd.DataFrame({"worker": [float(LARGE)], "skill": [0.5], "skill_low": [0.4], "skill_high": [0.6]})
WIDE = pd.DataFrame({"id": [1e17, 1.0], "ann": ["x", "y"], "bob": ["x", "y"]})
JOINED: dict[str, Callable[[], Any]] = {
    "truth": lambda: quorate.compare(CROWD, truth=BY_TASK),
    "score": lambda: score_labels({"task": NEIGHBOURS, "label": ["x", "y", "x"]}, BY_TASK),
    "predictions": lambda: quorate.estimate(CROWD, predictions=BY_TASK),
    "skills": lambda: quorate.aggregate(CROWD, skills=BY_WORKER),
    "workers": lambda: quorate.advise(CROWD, 1, available=BY_WORKER),
    "group": lambda: quorate.aggregate(CROWD, group={float(LARGE): "a"}),
    "times": lambda: read_times({**crowd([float(LARGE)]), "time": [1]}, CROWD),
    "tasks": lambda: quorate.estimate(CROWD, by="part", tasks=BY_TASK),
    "classes": lambda: quorate.read(crowd([1, 2], label=[LARGE, 6]), classes=[float(LARGE), 6.0]),
    "map": lambda: quorate.read(crowd([1, 2], label=[LARGE, 6]), map={float(LARGE): "a", 6: "b"}),
    "ledger": lambda: quorate.Ledger().add(crowd([float(LARGE)])),
    "consensus": lambda: quorate.consensus(BY_WORKER),
    "records": lambda: quorate.read([{"task": float(LARGE), "worker": "ann", "label": "x"}]),
    "wide": lambda: quorate.read(WIDE, tool="cleanlab"),
    "engine": lambda: quorate.backends.aggregate(crowd(NEIGHBOURS), "majority", gold=BY_TASK, most=0),
    "estimator": lambda: quorate.estimators.MajorityVote().fit(crowd([float(LARGE)])),
}


@pytest.mark.parametrize("name", JOINED)
def test_every_table_refuses_ids_that_became_fractions(name: str) -> None:
    with pytest.raises(errors.ColumnTypeError, match="text"):
        JOINED[name]()


def test_fractions_that_hold_every_whole_number_match_it() -> None:
    for tasks in ([5, 123_456_789_012], ["5", "123456789012"]):
        answers = quorate.read({"task": tasks, "worker": ["ann"] * 2, "label": ["x", "y"]})
        gold = pd.DataFrame({"task": [123456789012.0, np.nan], "label": ["y", "y"]}).dropna()
        assert read_gold(gold, answers).tolist() == [-1, 1]


def test_times_may_be_large_fractions() -> None:
    table = {"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"], "time": [1.7e18, 1.6e18]}
    first, second = read_times(table, quorate.read(table))
    assert first > second


# --- one id, or two ---


def test_zero_is_one_id_whatever_its_sign() -> None:
    table = {"task": [1, 1], "worker": [0.0, -0.0], "label": ["x", "y"]}
    with pytest.raises(errors.ConflictingAnswersError):
        quorate.read(table)
    with pytest.raises(errors.ConflictingAnswersError):
        quorate.Ledger().add(table)
    answers = quorate.read({**table, "task": [1, 2]})
    assert answers.n_workers == 1
    assert groups_of({-0.0: "north"}, answers).tolist() == [0]
    assert answers.worker_names.cast(pa.string()).to_pylist() == ["0"]


PAIRS = [(1, "1"), (True, "true"), ("a", b"a"), (1, True)]


@pytest.mark.parametrize(
    ("make", "one", "two"),
    [(make, *pair) for make in ("records", "columns", "frame") for pair in PAIRS]
    + [("json", *pair) for pair in PAIRS if not isinstance(pair[1], bytes)],  # JSON has no bytes
)
def test_values_of_two_types_are_never_one_id(make: str, one: Any, two: Any, tmp_path: Path) -> None:
    rows = [{"task": "t", "worker": one, "label": "x"}, {"task": "t", "worker": two, "label": "x"}]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    sources: dict[str, Callable[[], Any]] = {
        "records": lambda: rows,
        "columns": lambda: columns,
        "frame": lambda: pd.DataFrame({name: pd.Series(each, dtype=object) for name, each in columns.items()}),
        "json": lambda: json_file(rows, tmp_path),
    }
    if (one, two) == (1, True) and make == "json":  # written as 1 and true
        assert quorate.read(sources[make]()).worker_names.to_pylist() == ["1", "true"]
        return
    source = sources[make]()
    with pytest.raises(errors.ColumnTypeError, match=r"write both in the same way|give all its values one type"):
        quorate.read(source)


def test_labels_of_a_json_file_are_of_one_type(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"task": "t", "worker": "ann", "label": 1},
        {"task": "t", "worker": "bob", "label": "1"},
    ]
    with pytest.raises(errors.ColumnTypeError, match="one label"):
        quorate.read(json_file(rows, tmp_path))


def json_file(rows: list[dict[str, Any]], folder: Path) -> Path:
    (folder / "rows.json").write_text(json.dumps(rows))
    return folder / "rows.json"


DAY = datetime.date(2024, 5, 1)
NOON = datetime.datetime(2024, 5, 1, 12)


@pytest.mark.parametrize(
    ("one", "two"), [(DAY, NOON), (NOON, NOON.replace(tzinfo=datetime.UTC)), (NOON.replace(tzinfo=datetime.UTC), NOON)]
)
@pytest.mark.parametrize("make", [list, np.array, lambda values: pd.Series(values, dtype=object)])
def test_days_and_times_are_not_mixed(one: Any, two: Any, make: Any) -> None:
    with pytest.raises(errors.ColumnTypeError, match="2024"):
        quorate.read({"task": make([one, two]), "worker": ["ann"] * 2, "label": ["x", "y"]})


def test_a_time_of_another_zone_is_the_same_moment() -> None:
    berlin = pd.DatetimeIndex([NOON]).tz_localize("Europe/Berlin")
    answers = quorate.read(pd.DataFrame({"task": berlin, "worker": "ann", "label": "x"}))
    assert read_gold({"task": berlin.tz_convert("UTC"), "label": ["x"]}, answers).tolist() == [0]
    with pytest.raises(errors.ColumnTypeError, match="zone"):
        read_gold({"task": pd.DatetimeIndex([NOON]), "label": ["x"]}, answers)


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ([True, False], [2]),  # Arrow takes every number but 0 for true
        ([DAY], [NOON]),  # and cuts a time to its day
        ([decimal.Decimal("0.125")], [0.1254]),
        ([0.5], [decimal.Decimal("0.50000000000000000001")]),
        (pa.array([0.5], pa.float32()), [0.5 + 1e-12]),
    ],
)
def test_gold_is_not_changed_so_that_it_matches(known: Any, asked: Any) -> None:
    n = len(known)
    answers = quorate.read({"task": known, "worker": ["ann"] * n, "label": ["x"] * n})
    with pytest.raises(errors.InputError):
        read_gold({"task": asked, "label": ["x"]}, answers)


def test_an_abstention_is_not_changed_so_that_it_matches() -> None:
    labels = {"task": [1, 1], "worker": ["ann", "bob"], "label": [True, False]}
    assert quorate.read(labels, abstain=[2]).n_abstained == 0
    assert quorate.read({**labels, "label": [LARGE, 5]}, abstain=[float(LARGE)]).n_abstained == 0
    assert quorate.read({**labels, "label": ["3", "5"]}, abstain=[5.0]).n_abstained == 1


def test_texts_that_are_one_number_are_not_one_task() -> None:
    answers = quorate.read(crowd([7, 8, 9]))
    with pytest.raises(errors.ColumnTypeError, match="'007'"):
        read_gold({"task": ["7", "007"], "label": ["x", "y"]}, answers)
    assert read_gold({"task": ["007"], "label": ["y"]}, answers).tolist() == [1, -1, -1]  # zeros that a reader dropped


def test_whole_numbers_of_any_size_are_read(tmp_path: Path) -> None:
    for tasks in ([2**63, 2**63 + 1], [2**64, 2**64 + 1], [-1, 2**63]):
        rows = [{"task": task, "worker": "ann", "label": "x"} for task in tasks]
        columns = {"task": tasks, "worker": ["ann"] * 2, "label": ["x"] * 2}
        for source in (rows, columns, pd.DataFrame(columns)):
            assert texts(quorate.read(source).task_names) == [str(task) for task in tasks]


def test_missing_ids_of_every_kind_are_missing() -> None:
    for missing in (None, np.nan, pd.NaT, pd.NA):
        rows: list[dict[str, Any]] = [{"task": "a", "worker": who, "label": "x"} for who in (missing, "ann")]
        with pytest.raises(errors.MissingFieldError, match="worker"):
            quorate.read(rows)
        with pytest.raises(errors.MissingFieldError, match="worker"):
            quorate.read({name: [row[name] for row in rows] for name in rows[0]})
        with pytest.raises(errors.MissingFieldError, match="worker"):
            quorate.read(pd.DataFrame(rows))


IN_JSON: dict[str, list[Any]] = {
    "identifiers": ["AAAAAAAA-1111-2222-3333-444444444444", "aaaaaaaa-1111-2222-3333-444444444444"],
    "times": ["2024-05-01T12:00:00", "2024-05-01 12:00:00"],
    "days": ["2024-05-01", "2024-05-02"],
    "hours": ["12:00:00", "12:00:01"],
    "leading zeros": ["007", "7"],
    "large": [LARGE, LARGE + 1],
    "larger": [2**63, 2**63 + 1],
}


@pytest.mark.parametrize("name", IN_JSON)
def test_an_engine_keeps_the_ids_of_json_lines(name: str, tmp_path: Path) -> None:
    tasks = IN_JSON[name]
    rows = [{"when": "2024-05-01", "task": task, "worker": "ann", "label": "x"} for task in tasks]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for path in ("a.jsonl", "*.jsonl"):
        found = quorate.backends.read(str(tmp_path / path), engine="duckdb")
        assert sorted(texts(found.task_names)) == sorted(map(str, tasks))
    packed = quorate.backends.aggregate(tmp_path / "a.jsonl", "majority", most=0)
    assert sorted(map(str, packed.labels["task"].to_pylist())) == sorted(map(str, tasks))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_labels_that_an_engine_wrote_keep_their_ids(ending: str, tmp_path: Path) -> None:
    tasks = ["007", "7", "2024-05-01", "AAAAAAAA-1111-2222-3333-444444444444"]
    rows = {"task": tasks, "worker": ["ann"] * 4, "label": ["01", "1", "01", "1"]}
    result = quorate.backends.aggregate(rows, "majority", output=tmp_path / f"labels.{ending}", most=0)
    for labels in (kept_labels(result).table.to_pyarrow(), result.labels):
        found = dict(zip(labels["task"].to_pylist(), labels["label"].to_pylist(), strict=True))
        assert found == dict(zip(tasks, rows["label"], strict=True))


@pytest.mark.parametrize("tasks", [[1, "1"], [2**64, 2**64 + 1], [LARGE + 1, 1.5]])
def test_an_engine_refuses_ids_of_json_lines_that_it_cannot_tell_apart(tasks: list[Any], tmp_path: Path) -> None:
    rows = [{"task": task, "worker": "ann", "label": "x"} for task in tasks]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(errors.ColumnTypeError):
        quorate.backends.read(tmp_path / "a.jsonl", engine="duckdb")


# --- rows of Series ---


def test_a_mapping_of_series_is_aligned_by_index() -> None:
    tasks = pd.Series(["a", "b", "c"], index=[1, 2, 3])
    workers = pd.Series(["ann", "ann", "ann"], index=[1, 2, 3])
    labels = pd.Series(["z", "y", "x"], index=[3, 2, 1])
    answers = quorate.read({"task": tasks, "worker": workers, "label": labels})
    assert answers.to_table().to_pydict()["label"] == ["x", "y", "z"]
    assert read_gold({"task": tasks, "label": labels}, answers).tolist() == [0, 1, 2]


def test_rows_that_one_series_lacks_are_missing() -> None:
    tasks = pd.Series([2**53 + 1, 2**53 + 3], index=[1, 2])
    table = {"task": tasks, "worker": pd.Series(["ann"], index=[2]), "label": pd.Series(["x"], index=[2])}
    with pytest.raises(errors.BlankFieldError, match="worker"):
        quorate.read(table)
    assert quorate.read(table, skip_missing=True).to_table().to_pylist() == [
        {"task": 2**53 + 3, "worker": "ann", "label": "x"}
    ]


def test_series_that_cannot_be_aligned_are_refused() -> None:
    one, two = pd.Series(["a", "b"], index=[1, 1]), pd.Series(["a", "b"], index=[1, 2])
    with pytest.raises(errors.ColumnTypeError, match="index"):
        quorate.read({"task": one, "worker": two, "label": two})
    with pytest.raises(errors.ColumnTypeError, match="index"):
        quorate.read({"task": two, "worker": two[::-1], "label": ["x", "y"]})
    quorate.read({"task": one, "worker": one, "label": ["x", "y"]}, on_conflict="first")  # one index: by position


# --- options that cannot be followed ---


@pytest.mark.parametrize(
    "options",
    [{"abstain": ["x"]}, {"map": {"x": "y"}}, {"group": "worker"}, {"multi": ","}, {"classes": ["x"]}],
    ids=lambda options: next(iter(options)),
)
def test_a_ledger_refuses_what_it_cannot_keep(options: dict[str, Any]) -> None:
    ledger = quorate.Ledger()
    with pytest.raises(errors.OptionError, match="ledger"):
        ledger.add(crowd([1, 2, 3]), **options)
    assert len(ledger) == 0


def test_the_meaning_of_labels_is_stated_when_a_ledger_is_read() -> None:
    rows: dict[str, list[Any]] = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["1", "n/a", "2", "3"]}
    meaning: dict[str, Any] = {"abstain": ["n/a"], "map": {"1": "low", "2": "low", "3": "high"}}
    ledger = quorate.Ledger()
    for k in range(4):
        ledger.add({name: column[k : k + 1] for name, column in rows.items()})
    kept = ledger.aggregate(**meaning)
    in_memory = quorate.aggregate(rows, **meaning)
    assert kept.answers.n_abstained == 1
    assert kept.labels.to_pylist() == in_memory.labels.to_pylist()
    assert ledger.aggregate("majority", classes=["1", "2", "3", "n/a", "5"]).answers.n_classes == 5


@pytest.mark.parametrize("option", [{"question": "q"}, {"join_choices": True}, {"keep_rejected": True}])
def test_a_plain_table_refuses_options_of_exports(option: dict[str, Any]) -> None:
    with pytest.raises(errors.OptionError, match=next(iter(option))):
        quorate.read(crowd([1, 2, 3]), **option)


def test_times_are_found_for_labels_that_were_merged_or_mapped() -> None:
    table = {"task": [1, 2, 3], "worker": ["a"] * 3, "label": ["Cat", "cat", "dog"], "time": [3, 2, 1]}
    options: list[dict[str, Any]] = [
        {"merge_spellings": True},
        {"map": {"Cat": "animal", "cat": "animal", "dog": "other"}},
        {"merge_spellings": True, "map": {"CAT": "animal", "dog": "other"}},
    ]
    for each in options:
        assert read_times(table, quorate.read(table, **each), **each).tolist() == [3.0, 2.0, 1.0]
    lists = {**table, "label": ["a,b", "a", "b"]}
    with pytest.raises(errors.OptionError, match="multi"):
        read_times(lists, quorate.read(lists, multi=","), multi=",")
