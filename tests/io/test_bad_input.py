"""Every kind of bad input has its own error, and the message names the row or the name, and a remedy."""

import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quorate
from quorate import errors
from quorate.io.gold import read_gold, read_known_labels
from quorate.io.read import read
from tests.crowds import answers_of

GOOD = {"task": ["t1", "t2", "t3"], "worker": ["ann", "bob", "ann"], "label": ["x", "y", "x"]}
HEADER = "task,worker,label\n"

FILES: list[tuple[str, bytes, type[errors.InputError], str]] = [
    ("empty.csv", b"", errors.EmptyFileError, "empty"),
    ("header.csv", HEADER.encode(), errors.NoRowsError, "no answers below it"),
    (
        "column.csv",
        b"task,who,label\n1,a,x\n",
        errors.MissingColumnError,
        "the columns 'task', 'who', 'label'",
    ),
    ("twice.csv", b"task,worker,label,label\n1,a,x,y\n", errors.MissingColumnError, "'label' more than once"),
    (
        "blank.csv",
        b"task,worker,label\n1,a,x\n2,,y\n3, ,y\n",
        errors.BlankFieldError,
        "no value in 'worker' (rows 2, 3)",
    ),
    ("nan.csv", b"task,worker,label\n1,a,x\n2,a,NaN\n", errors.NanLabelError, "1 row has NaN in 'label' (row 2)"),
    ("latin.csv", HEADER.encode() + "1,é,x\n".encode() + b"2,Jos\xe9,x\n", errors.NotUtf8Error, "ine 3"),
    (
        "ragged.csv",
        HEADER.encode() + b"1,a,x\n2,b\n3,c,x,y\n",
        errors.RaggedRowsError,
        "rows 2, 3 have another number of fields: row 2 has 2 fields",
    ),
    (
        "conflict.csv",
        HEADER.encode() + b"1,a,x\n2,a,x\n1,a,y\n",
        errors.ConflictingAnswersError,
        "'x' (row 1) and 'y' (row 3)",
    ),
    ("fake.parquet", b"task,worker,label\n1,a,x\n", errors.WrongFormatError, "not a Parquet file"),
    ("fake.jsonl", b"task,worker,label\n1,a,x\n", errors.WrongFormatError, "line 1"),
    ("broken.jsonl", b'{"task": 1, "worker": 2, "label": 3}\n{"task": 1,\n', errors.WrongFormatError, "line 2"),
    (
        "mixed.jsonl",
        b'{"task":1,"worker":2,"label":3}\n{"task":"a","worker":2,"label":3}\n',
        errors.ColumnTypeError,
        "type",
    ),
    ("fake.csv.gz", b"task,worker,label\n1,a,x\n", errors.WrongFormatError, "not gzip"),
    ("binary.csv", b"\x00\x01\x02\x03", errors.WrongFormatError, "binary"),
    ("mystery.dat", b"whatever this is", errors.UnknownFormatError, "is not clear"),
    (
        "missing.jsonl",
        b'{"task": 1, "worker": 2, "label": "x"}\n{"task": 1, "worker": 3}\n',
        errors.BlankFieldError,
        "row 2",
    ),
    (
        "deep.jsonl",
        b'{"task":1,"worker":2,"label":' + b"[" * 5000 + b"]" * 5000 + b"}",
        errors.WrongFormatError,
        "line 1 of {path} has lists or records that are nested too deeply",
    ),
    (
        "digits.jsonl",
        b'{"task":' + b"7" * 5000 + b"}",
        errors.WrongFormatError,
        "line 1 of {path} has a number of more",
    ),
    (
        "digits.json",
        b'[{"annotations":[],"data":{},"id":' + b"7" * 5000 + b"}]",
        errors.WrongFormatError,
        "{path} has a number of more than",
    ),
    ("row.csv", HEADER.encode() + b"1,a," + b"x" * (1 << 25), errors.WrongFormatError, "a row of more than 8 MB"),
    ("nested.jsonl", b'{"task": [1], "worker": 2, "label": "x"}\n', errors.ColumnTypeError, "'task' holds list"),
]


@pytest.mark.parametrize(("name", "content", "error", "says"), FILES, ids=[each[0] for each in FILES])
def test_bad_files(tmp_path: Path, name: str, content: bytes, error: type[Exception], says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(error) as caught:
        read(path)
    assert says.replace("{path}", str(path)) in str(caught.value)
    assert type(caught.value) is error


def test_a_list_of_objects_is_no_table_but_is_read(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text('[{"task": 1, "worker": 2, "label": 3}]\n')
    with pytest.raises(errors.WrongFormatError, match="one object per line"):
        read(path, tool="table")
    assert read(path).n_answers == 1


@pytest.mark.parametrize("content", ['[{"task": "t1", "label": "x"}, {"task": "t2", "label": "y"}]', "[\n  {}\n]"])
def test_known_labels_in_a_json_document_are_refused_as_such(content: str, tmp_path: Path) -> None:
    path = tmp_path / "gold.json"
    path.write_text(content)
    with pytest.raises(errors.WrongFormatError, match=r"gold\.json is JSON, .* write it as CSV, JSON lines or Parquet"):
        read_gold(path, read(GOOD))


def test_a_parquet_file_named_csv(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "a.csv"
    pq.write_table(pa.table(GOOD), path)
    with pytest.raises(errors.WrongFormatError, match="is a Parquet file"):
        read(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(errors.UnreadableFileError, match="There is no file"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(errors.UnreadableFileError, match="is a folder without files of answers"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("table", "error", "says"),
    [
        ({**GOOD, "label": ["x", None, "x"]}, errors.BlankFieldError, "no value in 'label' (row 2)"),
        (
            pl.DataFrame({**GOOD, "label": [1.0, float("nan"), 2.0]}),
            errors.NanLabelError,
            "1 row has NaN in 'label' (row 2)",
        ),
        (
            pd.DataFrame({**GOOD, "label": [1.0, float("nan"), 2.0]}),
            errors.BlankFieldError,
            "no value in 'label' (row 2)",
        ),
        ({**GOOD, "task": [["x"], ["y"], ["x"]]}, errors.ColumnTypeError, "'task' holds list"),
        ({**GOOD, "label": ["x", 1, "x"]}, errors.ColumnTypeError, "row 2"),
        ({**GOOD, "label": [None, None, None]}, errors.BlankFieldError, "rows 1, 2, 3"),
        ({"task": [], "worker": [], "label": []}, errors.NoRowsError, "no answers below it"),
        (
            42,
            errors.ArgumentError,
            "source= takes a table (pandas, polars, pyarrow, a mapping of columns, a list of records) or",
        ),
    ],
)
def test_bad_tables(table: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        read(table)
    assert says in str(caught.value)


def test_nothing_left_after_dropping_conflicts() -> None:
    with pytest.raises(errors.NoRowsError, match="all 2 rows conflict"):
        answers_of([(1, "a", "x"), (1, "a", "y")], on_conflict="drop")


def test_nothing_left_after_skipping() -> None:
    with pytest.raises(errors.NoRowsError, match="all 3 rows lack a field"):
        read({**GOOD, "label": ["", " ", None]}, skip_missing=True)


@pytest.mark.parametrize(
    ("gold", "error", "says"),
    [
        ({"t9": "x"}, errors.UnknownGoldTaskError, "'t9'"),
        (
            {"t1": "z"},
            errors.UnknownGoldClassError,
            "'z', which no worker gave; the labels in the answers are 'x', 'y'",
        ),
        ({"task": ["t1", "t1"], "label": ["x", "y"]}, errors.ConflictingGoldError, "'t1' has two labels"),
        ({"task": ["t1", ""], "label": ["x", "y"]}, errors.BlankFieldError, "row 2"),
    ],
)
def test_bad_gold(gold: Any, error: type[Exception], says: str) -> None:
    answers = read(GOOD)
    with pytest.raises(error) as caught:
        read_gold(gold, answers)
    assert says in str(caught.value)


def test_two_labels_of_a_task_are_named_by_the_rows_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "expert.csv"
    path.write_text("task,label,inclusion_probability\nt1,x,0.5\nt2,,0.5\nt1,y,0.5\n")
    with pytest.raises(errors.ConflictingGoldError, match=r"\(row 3\)"):
        read_known_labels(path)


def test_gold_of_another_type_is_brought_to_the_type_of_the_answers() -> None:
    answers = answers_of([(1, "a", 0), (2, "a", 1)])
    assert read_gold({"task": ["1"], "label": ["1"]}, answers).tolist() == [1, -1]
    with pytest.raises(errors.ColumnTypeError, match="tasks of the known labels"):
        read_gold({"task": ["one"], "label": ["1"]}, answers)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "magic"}, "Unknown method 'magic'. Did you mean"),
        ({"solver": "magic"}, "Unknown solver 'magic'. Choose from"),
        ({"weighting": "magic"}, "Unknown weighting 'magic'"),
        ({"signs": "magic"}, "Unknown signs 'magic'"),
        ({"tau": -1}, "tau must be zero or more"),
        ({"tau": float("nan")}, "tau must be zero or more"),
        ({"nonsense": 1}, "has no option 'nonsense'"),
        ({"prior": [0.5, 0.2, 0.3]}, "2 positive numbers"),
        ({"prior": [1.0, 0.0]}, "2 positive numbers"),
    ],
)
def test_bad_options(options: dict[str, Any], says: str) -> None:
    triangle = [(1, "a", "x"), (1, "b", "x"), (1, "c", "y"), (2, "a", "x"), (2, "b", "y"), (2, "c", "x")]
    with pytest.raises(errors.OptionError) as caught:
        quorate.aggregate(answers_of(triangle), **({"method": "rank-one"} | options))
    assert says in str(caught.value)


@pytest.mark.parametrize("options", [{"on_conflict": "x"}, {"format": "x"}, {"delimiter": "ab"}, {"encoding": "x"}])
def test_bad_reading_options(options: dict[str, Any]) -> None:
    with pytest.raises(errors.OptionError):
        read(GOOD, **options)
    with pytest.raises(errors.OptionError, match="does not list: 'y'"):
        read(GOOD, classes=["x"])


def test_every_error_is_a_quorate_error() -> None:
    named = [
        value for value in vars(errors).values() if isinstance(value, type) and value.__module__ == errors.__name__
    ]
    assert len(named) > 15
    assert all(issubclass(error, errors.QuorateError) for error in named)


def test_what_newcomers_bring_is_named(tmp_path: Path) -> None:
    """A broken workbook, a page that asks to log in, a table with a column for each worker."""
    sheet, page, wide = tmp_path / "a.xlsx", tmp_path / "a.csv", tmp_path / "wide.csv"
    with zipfile.ZipFile(sheet, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    page.write_text("<!DOCTYPE html><html><body>Log in</body></html>\n")
    wide.write_text("task,ann,bob,cy\n1,x,y,x\n2,y,y,x\n3,x,x,x\n4,y,x,y\n5,y,y,x\n")
    for path, message in ((sheet, "Excel workbook"), (page, "web page"), (wide, "workers=")):
        with pytest.raises(errors.QuorateError, match=message):
            quorate.read(str(path))
