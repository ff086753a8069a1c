"""The bytes of a Parquet file -> an Arrow table of the columns asked for, and no more of it than memory holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from quorate.errors import QuorateError, TooLargeError, WrongFormatError
from quorate.io.dataframes import Columns, check_columns
from quorate.io.open_file import room_for
from quorate.progress import report

PROBE = 256  # rows by which the size of the others is guessed
PIECE = 1 << 25  # bytes of a batch, about
MOST_ROWS = 1 << 20  # of a batch


def read_parquet(data: pa.Buffer, name: str, columns: Columns) -> pa.Table:
    """Read columns of a Parquet file.

    Args:
        data: the file.
        name: of the file, for messages.
        columns: as in `quorate.io.read_table.read_table`.

    Raises:
        WrongFormatError: it is none, or is cut short.
        TooLargeError: it unpacks to too much.

    >>> from pyarrow import parquet
    >>> stream = pa.BufferOutputStream()
    >>> parquet.write_table(pa.table({"task": [1, 2], "more": [3, 4]}), stream)
    >>> read_parquet(stream.getvalue(), "a.parquet", {"task": ""}).to_pydict()
    {'task': [1, 2]}
    """
    wanted = list(columns)
    with _parsing(name):
        file = _opened(data)
        check_columns(file.schema_arrow.names, columns, name)
        schema = pa.schema([file.schema_arrow.field(column) for column in wanted])
        room = room_for(len(data))
        rows = file.metadata.num_rows
        size = _size_of_a_row(file, wanted, rows)
        if size * rows > room:
            _refuse(name, size * rows)
        batches: list[pa.RecordBatch] = []
        taken = done = 0
        for batch in file.iter_batches(min(max(int(PIECE / max(size, 1)), 1), MOST_ROWS), columns=wanted):
            batches.append(batch.select(wanted))
            taken += batch.nbytes
            done += len(batch)
            report("reading rows", done, rows)
            if taken > room:
                _refuse(name, taken)
        return pa.Table.from_batches(batches) if batches else schema.empty_table()


def parquet_schema(data: pa.Buffer) -> pa.Schema:
    """Return the columns of a Parquet file; none where it cannot be read, for then the reader of the file reports why.

    >>> parquet_schema(pa.py_buffer(b"PAR1")).names
    []
    """
    try:
        with _parsing(""):
            return _opened(data).schema_arrow
    except QuorateError:
        return pa.schema([])


def _opened(data: pa.Buffer) -> Any:
    from pyarrow import parquet

    return parquet.ParquetFile(pa.BufferReader(data))


def _size_of_a_row(file: Any, columns: list[str], rows: int) -> float:
    """Guess how many bytes a row takes from the first rows."""
    if rows <= PROBE:
        return 0.0
    first = next(file.iter_batches(PROBE, columns=columns), None)
    return 0.0 if first is None or not len(first) else float(first.nbytes / len(first))


def _refuse(name: str, size: float) -> None:
    raise TooLargeError(
        f"{name} unpacks to {size / 1e9:.3g} GB or more, too much for memory. Use engine='duckdb' (--engine duckdb)"
    )


@contextmanager
def _parsing(name: str) -> Iterator[None]:
    """Turn any exception of the Parquet library into an error that names the file."""
    try:
        yield
    except QuorateError:
        raise
    except MemoryError:
        raise TooLargeError(f"{name} does not fit into memory; use engine='duckdb' (--engine duckdb)") from None
    except Exception:  # what a damaged file makes of its parts is not foreseen
        raise WrongFormatError(
            f"{name} is not a Parquet file, or it is incomplete. Check its name and write it again"
        ) from None
