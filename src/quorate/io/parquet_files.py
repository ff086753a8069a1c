"""Read the bytes of a Parquet file into an Arrow table of the requested columns, and refuse too large content."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from quorate.errors import QuorateError, TooLargeError, WrongFormatError
from quorate.io.dataframes import Columns, check_columns
from quorate.io.open_file import max_unpacked_size
from quorate.progress import report

SIZE_SAMPLE_ROWS = 256  # first rows from which the size of a row is estimated
PIECE = 1 << 25  # approximate bytes of a batch
MAX_ROWS = 1 << 20  # of a batch


def read_parquet(data: pa.Buffer, name: str, columns: Columns) -> pa.Table:
    """Return the requested columns of a Parquet file.

    Args:
        data: the file.
        name: name of the file, for messages.
        columns: as in `quorate.io.read_table.read_table`.

    Raises:
        WrongFormatError: the file is not a Parquet file, or is incomplete.
        TooLargeError: the unpacked content is too large.

    >>> from pyarrow import parquet
    >>> stream = pa.BufferOutputStream()
    >>> parquet.write_table(pa.table({"task": [1, 2], "more": [3, 4]}), stream)
    >>> read_parquet(stream.getvalue(), "a.parquet", {"task": ""}).to_pydict()
    {'task': [1, 2]}
    """
    column_names = list(columns)
    with _parsing(name):
        file = _opened(data)
        check_columns(file.schema_arrow.names, columns, name)
        schema = pa.schema([file.schema_arrow.field(column) for column in column_names])
        max_size = max_unpacked_size(len(data))
        rows = file.metadata.num_rows
        size = _mean_row_bytes(file, column_names, rows)
        if size * rows > max_size:
            _refuse(name, size * rows)
        batches: list[pa.RecordBatch] = []
        n_bytes = 0
        n_rows_read = 0
        for batch in file.iter_batches(min(max(int(PIECE / max(size, 1)), 1), MAX_ROWS), columns=column_names):
            batches.append(batch.select(column_names))
            n_bytes += batch.nbytes
            n_rows_read += len(batch)
            report("reading rows", n_rows_read, rows)
            if n_bytes > max_size:
                _refuse(name, n_bytes)
        return pa.Table.from_batches(batches) if batches else schema.empty_table()


def parquet_schema(data: pa.Buffer) -> pa.Schema:
    """Return the schema of a Parquet file; an empty one if it cannot be read (the reader reports the error).

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


def _mean_row_bytes(file: Any, columns: list[str], rows: int) -> float:
    """Return the mean number of bytes of the first rows; 0 for a small file."""
    if rows <= SIZE_SAMPLE_ROWS:
        return 0.0
    first = next(file.iter_batches(SIZE_SAMPLE_ROWS, columns=columns), None)
    return 0.0 if first is None or not len(first) else float(first.nbytes / len(first))


def _refuse(name: str, size: float) -> None:
    raise TooLargeError(
        f"{name} unpacks to {size / 1e9:.3g} GB or more, too much for memory. Use engine='duckdb' (--engine duckdb)"
    )


@contextmanager
def _parsing(name: str) -> Iterator[None]:
    """Convert any exception of the Parquet library to an error that names the file."""
    try:
        yield
    except QuorateError:
        raise
    except MemoryError:
        raise TooLargeError(f"{name} does not fit into memory; use engine='duckdb' (--engine duckdb)") from None
    except Exception:  # a damaged file may cause exceptions of any class
        raise WrongFormatError(
            f"{name} is not a Parquet file, or it is incomplete. Check its name and write it again"
        ) from None
