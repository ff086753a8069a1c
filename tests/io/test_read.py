import datetime
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate.answers import Answers
from quorate.blocks.ordering import sort_answers
from quorate.io.read import read, read_source
from tests.crowds import answers_of, rows

ROWS = [("t1", "ann", "cat"), ("t1", "bob", "dog"), ("t2", "ann", "cat")]
TABLE = {"task": ["t1", "t1", "t2"], "worker": ["ann", "bob", "ann"], "label": ["cat", "dog", "cat"]}


def decoded(answers: Answers) -> list[tuple[Any, Any, Any]]:
    columns = (
        (answers.task_names, answers.task),
        (answers.worker_names, answers.worker),
        (answers.classes, answers.label),
    )
    return list(zip(*(names.take(pa.array(codes)).to_pylist() for names, codes in columns), strict=True))


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl", "csv.gz", "jsonl.gz", "txt", "CSV"])
def test_every_file_format_gives_the_same_answers(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"answers.{ending}"
    mark = "\t" if ending == "tsv" else ","
    text = "\n".join(mark.join(row) for row in [("task", "worker", "label"), *ROWS]) + "\n"
    if ending == "parquet":
        pq.write_table(pa.table(TABLE), path)
    elif "jsonl" in ending:
        text = "".join(json.dumps(dict(zip(TABLE, row, strict=True))) + "\n" for row in ROWS)
    if ending.endswith("gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif ending != "parquet":
        path.write_text(text)
    assert decoded(read(path)) == ROWS


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        pa.table(TABLE),
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE, index=[5, 6, 7]).astype("category"),
        pl.DataFrame(TABLE),
        pl.DataFrame(TABLE).with_columns(pl.all().cast(pl.Categorical)),
        pa.table(TABLE).to_batches()[0],
        pa.concat_tables([pa.table(TABLE).slice(0, 1), pa.table(TABLE).slice(1)]),
    ],
    ids=["dict", "arrow", "pandas", "pandas categories", "polars", "polars categories", "batch", "chunks"],
)
def test_every_table_gives_the_same_answers(table: Any) -> None:
    assert decoded(read(table)) == ROWS


def test_a_duckdb_relation_is_a_table() -> None:
    relation = duckdb.sql("select * from (values ('t1','ann','cat'), ('t1','bob','dog')) as t(task, worker, label)")
    assert decoded(read(relation)) == ROWS[:2]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("task", ["007", "7", "7.0"]),
        ("task", [3, 2, 1]),
        ("task", [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), datetime.date(2026, 1, 1)]),
        ("worker", [1.5, 2.5, 3.5]),
        ("label", [True, False, True]),
        ("label", [2, 1, 2]),
    ],
)
def test_ids_come_back_as_they_went_in(column: str, values: list[Any]) -> None:
    given = {"task": ["t1", "t2", "t3"], "worker": ["ann", "bob", "eve"], "label": ["x", "y", "x"], column: values}
    result = quorate.aggregate(given, "majority")
    home = (result.workers["worker"] if column == "worker" else result.labels[column]).to_pylist()
    expected, found = (sorted(set(values)), sorted(home)) if column == "task" else (values, home)
    assert repr(found) == repr(expected)  # for True is 1, and 7 is 7.0


def test_text_ids_keep_leading_zeros_and_dates_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("task,worker,label\n007,1e3,2020-01-01\n")
    assert decoded(read(path)) == [("007", "1e3", "2020-01-01")]
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"task": "2020-01-01", "worker": 7, "label": true}\n')
    assert decoded(read(lines)) == [("2020-01-01", 7, True)]


def test_columns_are_named_by_the_caller() -> None:
    table = {"item": [1], "who": ["ann"], "reply": ["cat"], "task": ["ignored"]}
    assert decoded(read(table, task="item", worker="who", label="reply")) == [(1, "ann", "cat")]


def test_quoted_fields_may_hold_commas_and_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('task,worker,label\n"a, b","x\ny",cat\n\nt2,ann,"say ""no"""\n')
    assert decoded(read(path)) == [("a, b", "x\ny", "cat"), ("t2", "ann", 'say "no"')]


def test_other_delimiters_encodings_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("task;worker;label\n1;José;oui\n".encode("latin-1"))
    assert decoded(read(path, delimiter=";", encoding="latin-1")) == [("1", "José", "oui")]
    path.write_bytes("\ufefftask,worker,label\n1,ann,cat\n".encode())
    assert decoded(read(path)) == [("1", "ann", "cat")]
    path.write_bytes("task,worker,label\n1,ann,cat\n".encode("utf-16"))
    assert decoded(read(path, encoding="utf-16")) == [("1", "ann", "cat")]


def test_classes_are_ordered_by_value_and_may_be_listed() -> None:
    assert answers_of([(1, "a", "10"), (2, "a", "9"), (3, "a", "1")]).classes.to_pylist() == ["1", "9", "10"]
    assert answers_of([(1, "a", "b10"), (2, "a", "b9")]).classes.to_pylist() == ["b10", "b9"]
    listed = answers_of([(1, "a", "mid")], classes=["low", "mid", "high"])
    assert listed.classes.to_pylist() == ["low", "mid", "high"]
    assert listed.label.tolist() == [1]


CONFLICT = [(1, "ann", "cat"), (2, "ann", "cat"), (1, "ann", "dog"), (1, "bob", "cat"), (1, "bob", "cat")]


@pytest.mark.parametrize(
    ("policy", "kept", "left_out"),
    [
        ("first", {(1, "ann", "cat"), (2, "ann", "cat"), (1, "bob", "cat")}, 1),
        ("last", {(1, "ann", "dog"), (2, "ann", "cat"), (1, "bob", "cat")}, 1),
        ("drop", {(2, "ann", "cat"), (1, "bob", "cat")}, 2),
    ],
)
def test_conflicts_follow_the_policy_and_are_counted(policy: str, kept: set[Any], left_out: int) -> None:
    answers = answers_of(CONFLICT, on_conflict=policy)
    assert set(decoded(answers)) == kept
    assert (answers.n_rows, answers.n_repeats, answers.n_conflicting) == (5, 1, left_out)


def test_skipped_rows_are_counted_and_their_tasks_and_workers_stay() -> None:
    table = {"task": ["t1", "t2", None], "worker": ["ann", "bob", "eve"], "label": ["x", " ", "x"]}
    answers = read(table, skip_missing=True)
    assert (answers.n_answers, answers.n_skipped) == (1, 2)
    result = quorate.aggregate(answers)
    assert result.labels["task"].to_pylist() == ["t1", "t2"]
    assert result.workers["worker"].to_pylist() == ["ann", "bob", "eve"]
    assert result.labels["n_answers"].to_pylist() == [1, 0]
    assert "2 have no answer left" in result.summary()


@given(rows(), st.randoms())
def test_the_order_of_the_rows_does_not_matter(table: list[tuple[int, str, str]], random: Any) -> None:
    shuffled = table.copy()
    random.shuffle(shuffled)
    one, two = (quorate.aggregate(answers_of(each)).labels.to_pylist() for each in (table, shuffled))
    by_task = {row["task"]: row for row in two}
    for row in one:
        other = by_task[row["task"]]
        assert row["label"] == other["label"]
        assert row["confidence"] == pytest.approx(other["confidence"], abs=1e-4)  # the solver stops at 1e-6


@given(rows())
def test_answers_are_ordered_by_task_then_worker_and_none_is_lost(table: list[tuple[int, str, str]]) -> None:
    answers = answers_of(table)
    keys = answers.task.astype(np.int64) * answers.n_workers + answers.worker
    assert (np.diff(keys) > 0).all()
    assert sorted(decoded(answers)) == sorted(table)


@given(rows(), st.randoms())
def test_repeats_are_found_wherever_they_stand(table: list[tuple[int, str, str]], random: Any) -> None:
    repeated = [*table, *random.choices(table, k=random.randint(0, 3))]
    random.shuffle(repeated)
    answers = answers_of(repeated)
    assert sorted(decoded(answers)) == sorted(table)
    assert answers.n_repeats == len(repeated) - len(table)


def test_codes_too_long_for_one_number_are_sorted_all_the_same() -> None:
    task, worker, label = (np.array(codes) for codes in ([2**40, 1, 1], [0, 2**30, 5], [1, 0, 1]))
    columns, has_repeats = sort_answers(task, worker, label)
    assert [codes.tolist() for codes in columns] == [[1, 1, 2**40], [5, 2**30, 0], [1, 0, 1]]
    assert not has_repeats


def test_reading_and_aggregating_a_file_does_not_import_pandas(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("task,worker,label\n" + "".join(f"{t},{w},{t % 2}\n" for t in range(9) for w in "abc"))
    code = f"import sys, quorate; quorate.aggregate({str(path)!r}).workers; print('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_is_found_and_stated(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes("task;worker;label\n1;Zoé;weiß\n1;Jörg;gut\n2;Zoé;gut\n2;Jörg;gut\n".encode(encoding))
    found = read_source(path)
    assert decoded(found.answers)[0] == ("1", "Jörg", "gut")
    assert set(found.answers.classes.to_pylist()) == {"gut", "weiß"}
    assert any("text, because it is not UTF-8" in note for note in found.notes) == (encoding in ("utf-16", "cp1252"))


def test_gold_of_another_encoding_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_bytes("task,label\n1,weiß\n".encode("cp1252"))
    rows = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["weiß", "gut", "gut", "gut"]}
    assert quorate.aggregate(rows, gold=tmp_path / "gold.csv").labels["label"].to_pylist() == ["weiß", "gut"]
