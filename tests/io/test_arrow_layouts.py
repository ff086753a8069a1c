"""The same answers, whatever Arrow layout holds their text: slices, chunks, dictionaries, views, runs, bytes."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import quorate
from quorate.blocks import encoding, ordering

# Ids that differ in their length or in a NUL only, that a slot of the hash table holds whole, and that it does not.
TASKS = ["t", "t\0", "t\0\0", "", "12345678", "1234567\0", "123456789", "12345678" * 3, "été" * 9, "t\0" * 9]
WORKERS = ["w", "w\0", "\0w", "w1", "12345678901"]
CLASSES = ["cat", "cat\0", "cat\0\0"]
ROWS = [
    (task or "none", worker, CLASSES[(t + (w == t % 5)) % 3])
    for (t, task), (w, worker) in product(enumerate(TASKS), enumerate(WORKERS))
]


def in_chunks(column: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([column.slice(0, 0), column.slice(0, 7), column.slice(7, 0), column.slice(7)])


def dictionaries_of_its_own(column: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([column.slice(0, 20).dictionary_encode(), column.slice(20).dictionary_encode()])


def out_of_a_longer_one(column: pa.Array) -> pa.Array:
    return pa.concat_arrays([pa.array([None, "z", "zz"]), column, pa.array(["q"])]).slice(3, len(column))


def in_runs(column: pa.Array) -> pa.Array:
    return pc.run_end_encode(column)


LAYOUTS: dict[str, Callable[[pa.Array], Any]] = {
    "large": lambda column: column.cast(pa.large_string()),
    "views": lambda column: pa.array(column.to_pylist(), pa.string_view()),
    "bytes": lambda column: column.cast(pa.binary()),
    "views of bytes": lambda column: pa.array([text.encode() for text in column.to_pylist()], pa.binary_view()),
    "dictionary": lambda column: column.dictionary_encode(),
    "dictionaries": dictionaries_of_its_own,
    "runs": in_runs,
    "slice": out_of_a_longer_one,
    "chunks": in_chunks,
    "chunks of large": lambda column: in_chunks(column.cast(pa.large_string())),
}


def answers_of(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = quorate.read(table).to_table().to_pylist()
    return rows


def table_of(layout: Callable[[pa.Array], Any]) -> pa.Table:
    columns = zip(("task", "worker", "label"), zip(*ROWS, strict=True), strict=True)
    return pa.table({name: layout(pa.array(values)) for name, values in columns})


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_answers_do_not_depend_on_the_layout(layout: str, is_native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_native:
        monkeypatch.setattr(encoding, "native", None)
        monkeypatch.setattr(ordering, "native", None)
    found = answers_of(table_of(LAYOUTS[layout]))
    assert sorted((row["task"], row["worker"], row["label"]) for row in found) == sorted(ROWS)
    assert found == answers_of(table_of(lambda column: column))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables_without_rows_are_refused_in_every_layout(layout: str) -> None:
    with pytest.raises(quorate.errors.NoRowsError, match="no answers"):
        quorate.read(table_of(LAYOUTS[layout]).slice(0, 0))
