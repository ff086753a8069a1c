"""Tables of text as integer codes, made while the text is parsed, so that it is never in memory as a whole.

With five million rows this saves 140 MB of memory, and the time that the system takes to clear it.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass

import pyarrow as pa

from quorate.arrays import IntArray
from quorate.blocks import n_threads
from quorate.blocks.encoding import ColumnEncoder, first_appearance

SPARE_ROWS = 1.1  # reserved rows over expected ones; memory that is reserved and not written costs nothing
MIN_THREADED_ROWS = 1 << 18  # for fewer, threads take as long to start as they save


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """A column as codes in order of first appearance (-1 for null), and the values that they stand for."""

    codes: IntArray  # callers may overwrite them
    values: pa.Array

    @property
    def type(self) -> pa.DataType:
        """Type of the values."""
        return self.values.type


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Columns as integer codes."""

    num_rows: int
    columns: dict[str, EncodedColumn]
    parsed_again: Callable[[], pa.Table]  # parses the file again, for a message that quotes a field

    def column(self, name: str) -> EncodedColumn:
        """Return a column by its name."""
        return self.columns[name]

    def append_column(self, name: str, column: pa.Array) -> "EncodedTable":
        """Return the table with one more column."""
        appended = EncodedColumn(*first_appearance(pa.chunked_array([column])))
        return EncodedTable(
            self.num_rows,
            {**self.columns, name: appended},
            lambda: self.parsed_again().append_column(name, column),
        )


def encode_batches(batches: Iterator[pa.RecordBatch], n_batches: float) -> tuple[int, dict[str, EncodedColumn]]:
    """Return the number of rows and the encoded columns of batches of text; no columns if there is no batch.

    While a batch is encoded, one column per thread, another thread parses the next batch.

    Args:
        batches: parses one batch after another.
        n_batches: about how many there are.

    >>> from quorate.blocks import native_kernels
    >>> batch = pa.record_batch({"task": ["b", "a"]})
    >>> if native_kernels() is not None:
    ...     n, columns = encode_batches(iter([batch, batch]), 2.0)
    ...     assert (n, columns["task"].codes.tolist()) == (4, [0, 1, 0, 1])
    """
    batch = next(batches, None)
    if batch is None:
        return 0, {}
    n_expected = int(SPARE_ROWS * batch.num_rows * max(n_batches, 1.0)) + 1
    encoders = {name: ColumnEncoder(n_expected) for name in batch.schema.names}
    threads = min(n_threads(), 1 + len(encoders)) if n_expected >= MIN_THREADED_ROWS else 1
    n = 0
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        while batch is not None:
            n += batch.num_rows
            if pool is None:
                for encoder, column in zip(encoders.values(), batch.columns, strict=True):
                    encoder.add(column)
                batch = next(batches, None)
            else:
                parsing = pool.submit(next, batches, None)
                list(pool.map(ColumnEncoder.add, encoders.values(), batch.columns))
                batch = parsing.result()
    return n, {name: EncodedColumn(*encoder.finish()) for name, encoder in encoders.items()}
