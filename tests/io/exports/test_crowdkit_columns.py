"""A table of answers is converted column by column as it is row by row."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from quorate.arrays import Table
from quorate.errors import BlankFieldError, ColumnTypeError, NoRowsError
from quorate.io.exports import crowdkit
from quorate.io.exports.detect import read_export
from quorate.io.exports.export import Export
from quorate.io.write_table import write_table

TASKS = ["t1", "t1", " t2", "t3", "é"]
WORKERS = ["ann", "bob", "ann", "bob", "ann"]
LABELS = ["cat", "dog", " ", "dog", 'say "x"\n']
TABLES: dict[str, dict[str, Any]] = {
    "text": {"task": TASKS, "worker": WORKERS, "label": LABELS},
    "numbers": {"task": [3, 3, 1, 2, 9], "worker": [-1, 7, -1, 7, -1], "label": [1, 0, None, 0, 1]},
    "a dictionary": {
        "task": pa.array(TASKS).dictionary_encode(),
        "worker": pa.array(WORKERS, pa.large_string()),
        "label": pa.array(LABELS).dictionary_encode(),
    },
    "a dictionary with a value twice": {
        "task": TASKS,
        "worker": WORKERS,
        "label": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1, 0]), pa.array(["cat", "cat", "dog"])),
    },
    "dictionaries with nulls": {
        "task": TASKS,
        "worker": WORKERS,
        "label": pa.chunked_array(
            [
                pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["cat", None])),
                pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array([None, "dog"])),
            ]
        ),
    },
    "no rows": {name: pa.array([], pa.string()) for name in ("task", "worker", "label")},
    "no task": {"task": ["t1", None, "t2", " ", "t3"], "worker": WORKERS, "label": LABELS},
    "no worker": {"task": TASKS, "worker": ["ann", "", "ann", "bob", None], "label": LABELS},
    "fractions": {"task": [1.0, 2.0, 2.5, 1.0, 4.0], "worker": WORKERS, "label": LABELS},
    "truth": {"task": TASKS, "worker": WORKERS, "label": [True, False, None, True, True]},
}


def row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowdkit, "export_of_columns", lambda *given: None)


def parts_of(export: Export) -> tuple[Any, ...]:
    kinds = export.table.arrow.schema
    return export.table.to_pylist(), kinds, export.to_dict(), dict(export.values), export.classes, export.lines()


def test_one_column_may_be_the_task_and_the_label() -> None:
    table = {"task": [1, 2], "worker": ["ann", "bob"], "label": ["cat", "dog"]}
    export = read_export(table, tool="crowdkit", task="label")
    assert [tuple(row.values()) for row in export.table.to_pylist()] == [("cat", "ann", "cat"), ("dog", "bob", "dog")]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("skip_missing", [False, True])
def test_columns_are_read_as_rows_are(name: str, skip_missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table(TABLES[name])

    def read() -> Any:
        try:
            return parts_of(read_export(table, skip_missing=skip_missing))
        except (BlankFieldError, NoRowsError) as error:
            return str(error)

    by_column = read()
    row_by_row(monkeypatch)
    assert by_column == read()
    assert isinstance(by_column, str) == (name == "no rows" or (name in ("no task", "no worker") and not skip_missing))


def test_refusals_are_those_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [str(k) for k in range(30)]
    free_text = {"task": ids, "worker": ids, "label": ids}
    nothing = {"task": ["a"], "worker": ["b"], "label": [" "]}
    messages = []
    for _ in range(2):
        for columns, error in ((free_text, ColumnTypeError), (nothing, NoRowsError)):
            with pytest.raises(error) as raised:
                read_export(pa.table(columns))
            messages.append(str(raised.value))
        row_by_row(monkeypatch)
    assert messages[:2] == messages[2:]


def test_json_lines_are_those_of_each_row(tmp_path: Path) -> None:
    table = pa.table(
        {
            'a "name"': pa.array(['q"\\', None, "\x00\n", "é☃"]),
            "n": [1, None, -3, 1 << 60],
            "x": [0.1, float("nan"), None, -0.0],
            "lists": [["a"], [], None, ["é", None]],
            "is": [True, None, False, True],
        }
    )
    path = tmp_path / "rows.jsonl"
    write_table(Table(table), path)
    rows = [{**row, "x": None if row["x"] != row["x"] else row["x"]} for row in table.to_pylist()]
    assert path.read_text() == "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
