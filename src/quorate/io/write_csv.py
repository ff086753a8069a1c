"""Format rows as CSV with the formatter in C (`blocks/format.h`), byte for byte as Arrow does.

The formatter takes text, int64, bool, and numbers rounded to six significant digits by `six_digits`; Arrow formats all
other batches. Threads format the batches, which are returned in order.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

import quorate.arrow_compute as pc
from quorate.arrays import TEXT, FloatArray
from quorate.blocks import n_threads, native_kernels

native = native_kernels()
SIGNIFICANT_DIGITS = 6  # of numbers in files: more than the precision of the estimates, and enough to sort by
BATCH_ROWS = 1 << 15  # rows formatted at a time, about 1 to 2 MB
TEXT_32, TEXT_64, NUMBER, INTEGER, TRUTH = range(5)  # kinds of columns, as in format.h
KINDS = {
    pa.string(): TEXT_32,
    pa.large_string(): TEXT_64,
    pa.float64(): NUMBER,
    pa.int64(): INTEGER,
    pa.bool_(): TRUTH,
}
MAX_COLUMNS = 64  # as in format.h


def csv_batches(table: pa.Table, n_rows: int = BATCH_ROWS) -> Iterator[bytes]:
    r"""Yield the rows of a table as CSV, a batch at a time. All texts are quoted if one text of the table needs it.

    >>> b"".join(csv_batches(pa.table({"task": ["a", "b,c"], "n": [1, 2], "confidence": [0.25, None]})))
    b'"a",1,0.25\n"b,c",2,\n'
    """
    is_native = native is not None and table.num_columns <= MAX_COLUMNS
    is_native = is_native and all(field.type in KINDS for field in table.schema)
    quote = _needs_quotes(table, is_native)
    batches = table.to_batches(max_chunksize=n_rows)

    def rows(batch: pa.RecordBatch) -> bytes:
        text: bytes | None = None
        if is_native:
            assert native is not None
            text = native.csv_rows([_buffers(column) for column in batch.columns], batch.num_rows, int(quote))
        return _by_arrow(batch, quote) if text is None else text

    threads = min(n_threads(), len(batches))
    if threads < 2:
        yield from map(rows, batches)
        return
    with ThreadPoolExecutor(threads) as pool:
        for low in range(0, len(batches), 2 * threads):  # so that few batches are in memory at a time
            yield from pool.map(rows, batches[low : low + 2 * threads])


def six_digits(numbers: FloatArray) -> FloatArray:
    """Round numbers to six significant digits; each becomes the nearest number that has these digits.

    >>> six_digits(np.array([0.6760585299531466, 1234567.0, 0.0, np.nan])).tolist()
    [0.676059, 1234570.0, 0.0, nan]
    """
    if native is not None:
        rounded: FloatArray = np.empty(len(numbers))
        if native.six_digits(np.ascontiguousarray(numbers, np.float64), rounded):
            return rounded
    is_plain = np.isfinite(numbers) & (numbers != 0)
    magnitude = np.floor(np.log10(np.abs(np.where(is_plain, numbers, 1.0)))).astype(np.int64)
    places = np.clip(SIGNIFICANT_DIGITS - 1 - magnitude, -300, 300)
    up = 10.0 ** np.maximum(places, 0)
    down = 10.0 ** np.maximum(-places, 0)
    # An integer times or divided by a power of ten is rounded once: the result is the float nearest to these digits.
    return np.where(is_plain, np.rint(numbers * up / down) / up * down, numbers)


def _needs_quotes(table: pa.Table, is_native: bool) -> bool:
    """Whether any text contains a quote, a comma or a line end; Arrow quotes all texts or none."""
    texts = [column for column in table.columns if column.type in TEXT]
    if not is_native:
        return any(pc.any(pc.match_substring_regex(column, '[",\r\n]')).as_py() for column in texts)
    assert native is not None
    chunks = (chunk for column in texts for chunk in column.chunks)
    return any(native.needs_quotes([_buffers(chunk)], len(chunk)) for chunk in chunks)


def _buffers(column: pa.Array) -> tuple[int, int, Any, Any, Any]:
    """Return (kind, offset, validity bitmap, values or text offsets, text) of a column, for the formatter."""
    valid, *data_buffers = column.buffers()
    values = data_buffers[0]
    text = data_buffers[1] if len(data_buffers) > 1 else None
    kind = KINDS[column.type]
    return kind, column.offset, valid if column.null_count else None, b"" if values is None else values, text


def _by_arrow(batch: pa.RecordBatch, quote: bool) -> bytes:
    from pyarrow import csv

    stream = pa.BufferOutputStream()
    csv.write_csv(batch, stream, csv.WriteOptions(include_header=False, quoting_style="needed" if quote else "none"))
    return bytes(stream.getvalue())
