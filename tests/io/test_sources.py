"""Every public function takes whatever holds answers, and says the same of it."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quorate
from quorate import errors
from quorate.arrays import Table
from tests.io.exported import SAMPLES

CROWD = quorate.simulate.crowd(60, 8, 4, seed=3)
COLUMNS: dict[str, list[str]] = CROWD.answers.to_table().arrow.to_pydict()
RENAMED = {"item": COLUMNS["task"], "worker": COLUMNS["worker"], "label": COLUMNS["label"]}
ANSWERS = quorate.read(COLUMNS)
TRUTH = {row["task"]: row["label"] for row in CROWD.truth_table.to_pylist()}
KNOWN = dict(list(TRUTH.items())[:5])


class HuggingFace:
    """A table of the shape that `datasets.Dataset` has: rows may be chosen without being moved."""

    def __init__(self, table: pa.Table, chosen: list[int] | None = None, features: Any = None) -> None:
        self.table, self.chosen = table, list(range(len(table))) if chosen is None else chosen
        self.features = features or {}

    @property
    def column_names(self) -> list[str]:
        names: list[str] = self.table.column_names
        return names

    def __len__(self) -> int:
        return len(self.chosen)

    def select_columns(self, names: list[str]) -> "HuggingFace":
        return HuggingFace(self.table.select(names), self.chosen, self.features)

    def with_format(self, kind: str) -> "HuggingFace":
        assert kind == "arrow"
        return self

    def __getitem__(self, rows: Any) -> pa.Table:
        return self.table.take(self.chosen[rows])


def csv_file(folder: Path) -> Any:
    quorate.write_table(Table(pa.table(RENAMED)), folder / "answers.csv")
    return folder / "answers.csv"


def parquet_file(folder: Path) -> Any:
    pq.write_table(pa.table(RENAMED), folder / "answers.parquet")
    return str(folder / "answers.parquet")


def standard_input(folder: Path) -> Any:
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(csv_file(folder).read_bytes())))
    return "-"


def export(folder: Path) -> Any:
    rows = zip(*RENAMED.values(), strict=True)
    lines = [{"_input_hash": 0, "item": t, "_annotator_id": w, "answer": c} for t, w, c in rows]
    (folder / "db.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "db.jsonl"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "dict": lambda _: RENAMED,
    "arrow": lambda _: pa.table(RENAMED),
    "pandas": lambda _: pd.DataFrame(RENAMED),
    "pandas index": lambda _: pd.DataFrame(RENAMED).set_index("item"),
    "polars": lambda _: pl.DataFrame(RENAMED),
    "polars lazy": lambda _: pl.LazyFrame(RENAMED),
    "duckdb": lambda _: duckdb.from_arrow(pa.table(RENAMED)),
    "hugging face": lambda _: HuggingFace(pa.table(RENAMED)),
    "csv": csv_file,
    "parquet": parquet_file,
    "stdin": standard_input,
    "export": export,
}


def without_seconds(found: quorate.Comparison) -> Any:
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in found.to_dict()["methods"]]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "aggregate": lambda source, **given: quorate.aggregate(source, **given).to_dict(),
    "diagnose": lambda source, **given: quorate.diagnose(source, **given).to_dict(),
    "advise": lambda source, **given: quorate.advise(source, 5, **given).to_dict(),
    "compare": lambda source, **given: without_seconds(
        quorate.compare(source, TRUTH, methods=["majority", "rank-one"], **given)
    ),
    "report": lambda source, **given: quorate.report(source, methods=[], **given).result.to_dict(),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", SOURCES)
def test_every_function_takes_every_source(kind: str, function: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "stdin", sys.stdin)  # put back what `standard_input` replaces
    call = FUNCTIONS[function]
    expected = call(ANSWERS, gold=KNOWN)
    assert call(SOURCES[kind](tmp_path), gold=KNOWN, task="item") == expected


def test_only_the_columns_asked_for_are_touched() -> None:
    """Others may hold what no table of Arrow can."""
    mixed = [object() for _ in RENAMED["item"]]
    for source in ({**RENAMED, "more": mixed}, pd.DataFrame({**RENAMED, "more": mixed})):
        assert quorate.read(source, task="item").n_answers == ANSWERS.n_answers


def test_the_chosen_rows_of_a_hugging_face_data_set_are_read_and_no_others() -> None:
    table = pa.table({"task": [1, 2, 3], "worker": list("abc"), "label": list("xyx")})
    assert quorate.read(HuggingFace(table, chosen=[2, 0])).task_names.to_pylist() == [1, 3]


class ClassLabel:
    """A column of numbers that stand for names, as `datasets.ClassLabel` has it."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)


def test_the_class_labels_of_hugging_face_are_read_by_their_names() -> None:
    table = pa.table({"task": [1, 2, 3], "worker": list("abc"), "label": [2, 0, -1]})
    source = HuggingFace(table, features={"label": ClassLabel("cat", "dog", "elk"), "task": object()})
    with pytest.raises(errors.BlankFieldError, match="row 3"):  # -1 is no label
        quorate.read(source)
    assert quorate.read(source, skip_missing=True).classes.to_pylist() == ["cat", "elk"]
    assert quorate.read(source, skip_missing=True, classes=["elk", "dog", "cat"]).label.tolist() == [0, 2]
    out_of_range = HuggingFace(table, features={"label": ClassLabel("cat", "dog")})
    with pytest.raises(errors.ColumnTypeError):
        quorate.read(out_of_range)


def test_a_categorical_column_is_read_by_its_values_and_only_those_in_use_are_classes() -> None:
    categories = ["zoo", "dog", "cat"]
    table = {"task": [1, 1, 2], "worker": list("aba"), "label": ["cat", "dog", "cat"]}
    as_pandas = pd.DataFrame(table)
    as_pandas["label"] = pd.Categorical(table["label"], categories=categories, ordered=True)
    as_polars = pl.DataFrame(table).with_columns(pl.col("label").cast(pl.Enum(categories)))
    for frame in (as_pandas, as_polars):
        assert quorate.read(frame).classes.to_pylist() == ["cat", "dog"]
        assert quorate.read(frame, classes=categories).classes.to_pylist() == categories
    as_pandas["label"] = pd.Categorical([3, 1, 3], categories=[1, 2, 3])
    assert quorate.read(as_pandas).classes.to_pylist() == [1, 3]


def test_a_data_set_of_several_splits_or_of_a_stream_says_what_to_give() -> None:
    table = HuggingFace(pa.table(COLUMNS))
    with pytest.raises(errors.UnknownFormatError, match=r"several tables: 'train', 'test'. .* source\['train'\]"):
        quorate.read({"train": table, "test": table})

    class Stream:
        column_names = ("task", "worker", "label")

        def with_format(self, _: str) -> "Stream":
            return self

    with pytest.raises(errors.UnknownFormatError, match="'Stream', which streams its rows; load the data set whole"):
        quorate.read(Stream())


def test_the_known_labels_of_an_export_are_used_unless_others_are_given() -> None:
    path = SAMPLES / "toloka.tsv"
    found = quorate.read_export(path)
    assert found.gold is not None
    known = {row["task"]: row["label"] for row in found.gold.to_pylist()}
    labelled = {row["task"]: row["label"] for row in quorate.aggregate(path).labels.to_pylist()}
    assert known.items() <= labelled.items()
    assert quorate.aggregate(path).to_dict() == quorate.aggregate(found.table, gold=found.gold).to_dict()
    task = next(iter(known))
    other = next(label for label in found.classes if label != known[task])
    labels = quorate.aggregate(path, gold={task: other}).labels.to_pylist()
    assert next(row["label"] for row in labels if row["task"] == task) == other


def test_a_report_of_an_export_says_what_was_left_out_of_it() -> None:
    made = quorate.report(SAMPLES / "toloka.tsv", methods=[])
    left_out = quorate.read_export(SAMPLES / "toloka.tsv").left_out
    assert left_out
    assert len(made.left_out) == len(left_out)
