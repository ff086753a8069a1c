"""The same crowd, whatever holds it: generated ids of every kind through every way of reading, and joined with gold."""

import datetime
import decimal
import gzip
import io
import json
import random
import sqlite3
import sys
import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quorate
from quorate import errors
from quorate.answers import Answers
from quorate.io.gold import read_gold

LARGE = 2**53
UTC = datetime.UTC
Columns: TypeAlias = dict[str, list[Any]]
Kinds: TypeAlias = dict[str, str]  # what each column holds

# Values that are easily taken for one another, or for something else.
VALUES: dict[str, list[Any]] = {
    "text": [
        *("007", "7", "07", "7.0", "+7", "-0", "0", "1e3", "1000", "true", "True", "null", "None", "NA", "#N/A"),
        *(" a", "a ", "a", "A", "a b", "a\tb", 'a"b', "a,b", "a;b", "a|b", "'a'", "=1+1", "\u00a0a", "a\u200b"),
        *(unicodedata.normalize(form, "é") for form in ("NFC", "NFD")),
        *("ß", "ss", "ﬁ", "fi", "Ω", "Ω", "𝒳", "🙂", "2024-05-01", "2024-05-01T12:00:00", "12:00:00"),
        *("AAAAAAAA-1111-2222-3333-444444444444", "aaaaaaaa-1111-2222-3333-444444444444", "x" * 300),
    ],
    "small numbers": [0, 1, -1, 7, 10, 100, 123_456_789_012, LARGE - 1],
    "numbers": [0, 1, -1, LARGE, LARGE + 1, LARGE + 2, -LARGE - 1, 2**62, 2**62 + 1, 2**63 - 1, -(2**63)],
    "unsigned numbers": [0, 1, LARGE + 1, 2**63, 2**63 + 1, 2**64 - 1],
    "huge numbers": [0, 1, LARGE + 1, 2**64, 2**64 + 1, 10**30, 10**30 + 1, -(2**70)],
    "fractions": [0.0, -0.0, 1.0, 1.5, -2.0, 0.1, 0.1 + 0.2, 1e-300, float(LARGE - 1), 123456789012.0],
    "truths": [True, False],
    "bytes": [b"a", "é".encode(), unicodedata.normalize("NFD", "é").encode(), b"007", b"7"],
    "days": [datetime.date(2024, 5, 1), datetime.date(2024, 5, 2), datetime.date(1899, 12, 31)],
    "times": [datetime.datetime(2024, 5, 1, 12, 0, 0, k) for k in (0, 1, 999_999)],
    "zoned times": [datetime.datetime(2024, 5, 1, k, tzinfo=UTC) for k in (0, 2, 12)],
    "decimals": [decimal.Decimal(each) for each in ("0.00", "1.50", "-1.50", "10.00", "0.01")],
}
KINDS = list(VALUES)
TYPES = {
    "small numbers": pa.int64(),
    "numbers": pa.int64(),
    "unsigned numbers": pa.uint64(),
    "fractions": pa.float64(),
    "truths": pa.bool_(),
    "bytes": pa.binary(),
    "days": pa.date32(),
    "times": pa.timestamp("us"),
    "zoned times": pa.timestamp("us", "UTC"),
    "decimals": pa.decimal128(10, 2),
}
IN_JSON = {"text", "small numbers", "numbers", "unsigned numbers", "huge numbers", "fractions", "truths"}


def written(value: Any) -> str | None:
    """Write an id as text: the oracle."""
    if value is None or value != value:
        return None
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    if isinstance(value, float) and value == int(value):
        value = int(value)  # also -0.0
    return str(value)


def as_texts(values: list[Any]) -> list[str | None]:
    return [written(value) for value in values]


def crowd(number: int) -> tuple[Columns, Kinds, list[Any]]:
    """Draw some answers, what each column holds, and tasks that are not among them.

    In every second crowd some ids are missing, and one row is there twice.
    """
    rng = random.Random(number)
    kinds = {name: KINDS[(number + 5 * k) % len(KINDS)] for k, name in enumerate(("task", "worker", "label"))}
    some = {name: rng.sample(VALUES[kind], len(VALUES[kind])) for name, kind in kinds.items()}
    texts = {written(task) for task in some["task"][:-2]}
    unknown_ids = [task for task in some["task"][-2:] if written(task) not in texts] if len(some["task"]) > 2 else []
    some["task"] = some["task"][:-2] if unknown_ids else some["task"]
    some["worker"] = some["worker"][:6]
    some["label"] = some["label"][:4]
    chosen: dict[tuple[str | None, str | None], tuple[Any, Any, Any]] = {}
    for task in some["task"]:
        for worker in some["worker"]:
            if rng.random() < 0.8:
                chosen.setdefault((written(task), written(worker)), (task, worker, rng.choice(some["label"])))
    rows = list(chosen.values())
    if number % 2:
        task, worker, label = rows[0]
        rows += [rows[0], (None, worker, label), (task, None, label)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return dict(zip(kinds, columns, strict=True)), kinds, unknown_ids


# --- ways of reading ---


def natively(columns: Columns, kinds: Kinds, native: set[str] | None = None) -> Columns:
    """Write as text what a way of reading has no type for."""
    able = set(TYPES) | {"text"} if native is None else native
    return {name: values if kinds[name] in able else as_texts(values) for name, values in columns.items()}


def arrow(columns: Columns, kinds: Kinds) -> pa.Table:
    held = natively(columns, kinds)
    return pa.table({name: pa.array(held[name], TYPES.get(kinds[name], pa.string())) for name in held})


def read(source: Any, **more: Any) -> Answers:
    return quorate.read(source, skip_missing=True, **more)


def out_of(source: Any, **more: Any) -> Answers:
    return quorate.backends.read(source, skip_missing=True, **more)


def csv_bytes(columns: Columns, mark: str) -> bytes:
    frame = pl.DataFrame({name: as_texts(values) for name, values in columns.items()})
    return frame.write_csv(separator=mark, quote_style="non_numeric").encode()


def delimited(columns: Columns, kinds: Kinds, folder: Path, *, name: str, mark: str = ",") -> Path:
    data = csv_bytes(columns, mark)
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def json_rows(columns: Columns, kinds: Kinds) -> list[dict[str, Any]]:
    held = natively(columns, kinds, IN_JSON)
    return [dict(zip(held, row, strict=True)) for row in zip(*held.values(), strict=True)]


def json_lines(columns: Columns, kinds: Kinds, folder: Path, *, name: str = "a.jsonl") -> Path:
    data = "\n".join(map(json.dumps, json_rows(columns, kinds))).encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def json_array(columns: Columns, kinds: Kinds, folder: Path) -> Path:
    (folder / "a.json").write_text(json.dumps(json_rows(columns, kinds)))
    return folder / "a.json"


def parquet(columns: Columns, kinds: Kinds, folder: Path) -> Path:
    pq.write_table(arrow(columns, kinds), folder / "a.parquet")
    return folder / "a.parquet"


def dictionaries(columns: Columns, kinds: Kinds) -> pa.Table:
    table = arrow(columns, kinds)
    return pa.table({name: table.column(name).dictionary_encode() for name in table.column_names})


def shuffled_series(columns: Columns, kinds: Kinds) -> dict[str, pd.Series]:
    rng = random.Random(1)
    n = len(columns["task"])
    series = {name: pd.Series(values, dtype=object) for name, values in columns.items()}
    return {name: each.iloc[rng.sample(range(n), n)] for name, each in series.items()}


def nullable(columns: Columns, kinds: Kinds) -> pd.DataFrame:
    types = {
        "text": "string",
        "small numbers": "Int64",
        "numbers": "Int64",
        "unsigned numbers": "UInt64",
        "fractions": "Float64",
        "truths": "boolean",
    }
    held = natively(columns, kinds, set(types))
    return pd.DataFrame({name: pd.array(held[name], dtype=types.get(kinds[name], "string")) for name in held})


def categories(columns: Columns, kinds: Kinds) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Categorical(pd.Series(values, dtype=object)) for name, values in columns.items()})


def wide(columns: Columns, kinds: Kinds) -> pd.DataFrame:
    tasks, workers = (
        list(dict.fromkeys(each for each in columns[name] if each is not None)) for name in ("task", "worker")
    )
    frame = pd.DataFrame(
        None, index=pd.Index(tasks, dtype=object, name="item"), columns=pd.Index(workers, dtype=object)
    )
    frame = frame.astype(object)
    for task, worker, label in zip(*columns.values(), strict=True):
        if task is not None and worker is not None:
            frame.iat[tasks.index(task), workers.index(worker)] = written(label)
    return frame


def polars_categories(columns: Columns, kinds: Kinds) -> pl.DataFrame:
    return pl.DataFrame({name: as_texts(values) for name, values in columns.items()}).cast(pl.Categorical)


def in_duckdb(columns: Columns, kinds: Kinds, folder: Path) -> Path:
    table = arrow(columns, kinds)
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.register("rows", table)
        connection.execute("CREATE TABLE answers AS SELECT * FROM rows")
    return folder / "a.duckdb"


def in_sqlite(columns: Columns, kinds: Kinds, folder: Path) -> Path:
    types = {"text": "TEXT", "small numbers": "INTEGER", "numbers": "INTEGER", "fractions": "REAL", "bytes": "BLOB"}
    held = natively(columns, kinds, set(types))
    declared = ", ".join(f"{name} {types.get(kinds[name], 'TEXT')}" for name in held)
    with sqlite3.connect(folder / "a.sqlite") as connection:
        connection.execute(f"CREATE TABLE answers ({declared})")
        connection.executemany("INSERT INTO answers VALUES (?, ?, ?)", zip(*held.values(), strict=True))
    connection.close()
    return folder / "a.sqlite"


def by_ledger(columns: Columns, kinds: Kinds, folder: Path) -> Answers:
    ledger = quorate.Ledger()
    table = arrow(columns, kinds)
    ledger.add(table.slice(0, 3), skip_missing=True)
    ledger.add(table.slice(3), skip_missing=True)
    ledger.save(folder / "a.ledger")
    return quorate.Ledger.load(folder / "a.ledger").answers


def by_standard_input(columns: Columns, patch: pytest.MonkeyPatch) -> Answers:
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(csv_bytes(columns, ","))))
    return read("-")


IN_MEMORY: dict[str, Callable[[Columns, Kinds], Any]] = {
    "arrow": arrow,
    "arrow batch": lambda columns, kinds: arrow(columns, kinds).combine_chunks().to_batches()[0],
    "arrow dictionaries": dictionaries,
    "mapping of lists": lambda columns, _: columns,
    "mapping of arrays": lambda columns, _: {name: np.array(each, object) for name, each in columns.items()},
    "mapping of Series": shuffled_series,
    "records": lambda columns, _: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "pandas objects": lambda columns, _: pd.DataFrame(columns, dtype=object),
    "pandas nullable": nullable,
    "pandas categories": categories,
    "pandas of arrow": lambda columns, kinds: arrow(columns, kinds).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns, kinds: pl.from_arrow(arrow(columns, kinds)),
    "polars lazy": lambda columns, kinds: pl.DataFrame(arrow(columns, kinds)).lazy(),
    "polars categories": polars_categories,
    "duckdb relation": lambda columns, kinds: duckdb.connect().from_arrow(arrow(columns, kinds)),
}
IN_FILES: dict[str, Callable[[Columns, Kinds, Path], Any]] = {
    "csv": partial(delimited, name="a.csv"),
    "csv, packed": partial(delimited, name="a.csv.gz"),
    "tsv": partial(delimited, name="a.tsv", mark="\t"),
    "json lines": json_lines,
    "json lines, packed": partial(json_lines, name="a.jsonl.gz"),
    "json": json_array,
    "parquet": parquet,
}
IN_ENGINES: dict[str, Callable[[Columns, Kinds, Path], Any]] = {
    "csv by duckdb": partial(delimited, name="a.csv"),
    "json lines by duckdb": json_lines,
    "parquet by duckdb": parquet,
    "duckdb": in_duckdb,
    "sqlite": in_sqlite,
}
OTHERS = ("wide", "ledger", "standard input")
WAYS = (*IN_MEMORY, *IN_FILES, *IN_ENGINES, *OTHERS)


def read_by(way: str, columns: Columns, kinds: Kinds, folder: Path, patch: pytest.MonkeyPatch) -> Answers:
    if way in IN_MEMORY:
        return read(IN_MEMORY[way](columns, kinds))
    if way in IN_FILES:
        return read(IN_FILES[way](columns, kinds, folder))
    if way in IN_ENGINES:
        return out_of(IN_ENGINES[way](columns, kinds, folder), **({"engine": "duckdb"} if " by " in way else {}))
    if way == "wide":
        return quorate.read(wide(columns, kinds), tool="cleanlab")
    return by_ledger(columns, kinds, folder) if way == "ledger" else by_standard_input(columns, patch)


# What some ways do not count: a wide table has no rows of answers, and an export counts what it leaves out by itself.
UNCOUNTED = {"wide": ("n_rows", "n_repeats", "n_skipped"), "json": ("n_rows", "n_tasks", "n_workers", "n_skipped")}

# --- what must hold ---


def contents(answers: Answers) -> set[tuple[str | None, ...]]:
    names = (answers.task_names, answers.worker_names, answers.classes)
    written_names = [as_texts(each.to_pylist()) for each in names]
    for each in written_names:
        assert len(set(each)) == len(each)  # no id has become two
    codes = zip(answers.task.tolist(), answers.worker.tolist(), answers.label.tolist(), strict=True)
    return {tuple(each[code] for each, code in zip(written_names, row, strict=True)) for row in codes}


def counts(answers: Answers) -> dict[str, int]:
    names = ("n_rows", "n_answers", "n_tasks", "n_workers", "n_classes", "n_repeats", "n_conflicting", "n_skipped")
    return {name: getattr(answers, name) for name in names}


def expected(columns: Columns) -> tuple[set[tuple[str | None, ...]], dict[str, int]]:
    rows = [tuple(map(written, row)) for row in zip(*columns.values(), strict=True)]
    present = [row for row in rows if None not in row]
    ids = [{row[k] for row in rows if row[k] is not None} for k in range(3)]
    n_classes = len({label for _, _, label in present})
    sizes = {"n_tasks": len(ids[0]), "n_workers": len(ids[1]), "n_classes": n_classes}
    left_out = {"n_repeats": len(present) - len(set(present)), "n_conflicting": 0}
    return set(present), {
        "n_rows": len(rows),
        "n_answers": len(set(present)),
        **sizes,
        **left_out,
        "n_skipped": len(rows) - len(present),
    }


def is_refused(way: str, columns: Columns, kinds: Kinds) -> bool:
    """Whether a way of reading cannot keep these ids apart, and so refuses them by name."""
    for name, kind in kinds.items():
        numbers = [abs(value) for value in columns[name] if isinstance(value, int)]
        largest = max(numbers, default=0)
        if way == "pandas" and None in columns[name] and kind in ("numbers", "unsigned numbers") and largest >= LARGE:
            return True  # pandas makes fractions of whole numbers where one is missing
        if way == "json lines by duckdb" and largest >= 2**64:
            return True  # and DuckDB of large ones
    return False


@pytest.mark.parametrize("number", range(len(KINDS)))
@pytest.mark.parametrize("way", WAYS)
def test_a_crowd_is_the_same_whatever_holds_it(
    way: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, kinds, unknown_ids = crowd(number)
    if is_refused(way, columns, kinds):
        with pytest.raises(errors.ColumnTypeError):
            read_by(way, columns, kinds, tmp_path, monkeypatch)
        return
    answers = read_by(way, columns, kinds, tmp_path, monkeypatch)
    rows, sizes = expected(columns)
    assert contents(answers) == rows
    for name in UNCOUNTED.get(way, ()):
        del sizes[name]
    assert sizes.items() <= counts(answers).items()
    check_gold(answers, columns, kinds, unknown_ids)


GOLD: dict[str, Callable[[Columns, Kinds], Any]] = {
    "lists": lambda columns, _: columns,
    "text": lambda columns, _: {name: as_texts(values) for name, values in columns.items()},
    "arrow": arrow,
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "records": lambda columns, _: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
}


def check_gold(answers: Answers, columns: Columns, kinds: Kinds, unknown_ids: list[Any]) -> None:
    """Known labels are found by the text of their ids, and by nothing else."""
    tasks = [task for task in {written(task): task for task in columns["task"]}.values() if task is not None][::2]
    labels = [columns["label"][k % len(columns["label"])] for k in range(len(tasks))]
    known = {"task": tasks, "label": labels}
    class_of = {text: code for code, text in enumerate(as_texts(answers.classes.to_pylist()))}
    gold = dict(zip(as_texts(tasks), as_texts(labels), strict=True))
    right = [class_of[gold[task]] if task in gold else -1 for task in as_texts(answers.task_names.to_pylist())]
    for name, make in GOLD.items():
        assert read_gold(make(known, kinds), answers).tolist() == right, name
    for unknown_id in unknown_ids:
        for name in ("lists", "text"):
            unknown = GOLD[name]({"task": [unknown_id], "label": labels[:1]}, kinds)
            with pytest.raises(errors.InputError, match=r"nobody answered|not of the type|write both alike"):
                read_gold(unknown, answers)
    if any(isinstance(task, int) and abs(task) >= LARGE for task in tasks):
        with pytest.raises(errors.ColumnTypeError, match="text"):
            read_gold({"task": np.array(tasks, float), "label": labels}, answers)
