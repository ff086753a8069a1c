"""Codes of ids and labels in order of first appearance, by the hash table in C over Arrow's buffers (`encode.h`).

A column of many rows is divided into spans, one per thread. Each span has a dictionary of its own; they are merged in
the order of the spans, so that the codes do not depend on how many spans there are. Without the extension, Arrow's
`dictionary_encode` gives the same codes, in about three times the time at ten million rows.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.arrays import TEXT, IntArray, to_numpy
from quorate.blocks import n_threads, native_kernels

native = native_kernels()
MIN_SPAN_ROWS = 1 << 20  # rows per thread; for fewer, a thread takes as long to start as to encode
# Seed of the hash table in C: random, so that no ids can be chosen that all share a slot. Codes do not depend on it.
SEED = int.from_bytes(os.urandom(8), "little")
MAX_OFFSET = np.iinfo(np.int32).max  # most bytes of a text column with offsets of 32 bits
INTEGERS = {pa.from_numpy_dtype(np.dtype(kind)): np.dtype(kind) for kind in ("i1", "i2", "i4", "i8")}
INTEGERS |= {pa.from_numpy_dtype(np.dtype(kind)): np.dtype(kind) for kind in ("u1", "u2", "u4", "u8")}


def first_appearance(column: pa.ChunkedArray, *, n_spans: int | None = None) -> tuple[IntArray, pa.Array]:
    """Return codes in order of first appearance (int32, -1 for null), and the distinct values.

    Args:
        column: values of a type that Arrow can compare.
        n_spans: number of parts, one thread each; by default it depends on the numbers of rows and threads.

    Raises:
        pa.ArrowException: the values cannot be compared.

    >>> codes, values = first_appearance(pa.chunked_array([["b", "a", None, "b"]]))
    >>> codes.tolist(), values.to_pylist()
    ([0, 1, -1, 0], ['b', 'a'])
    """
    if native is None or not (column.type in TEXT or column.type in INTEGERS):
        return _by_arrow(column)
    if n_spans is None:
        n_spans = max(1, min(n_threads() // 2, len(column) // MIN_SPAN_ROWS))
    codes = np.empty(len(column), np.int32)
    marks = [len(column) * k // n_spans for k in range(n_spans + 1)]
    spans = [(column.slice(low, high - low), codes[low:high]) for low, high in pairwise(marks)]
    encoders = [native.encoder(SEED) for _ in spans]
    if n_spans == 1:
        _encode(encoders[0], *spans[0])
        return codes, _values(encoders[0], column.type)
    with ThreadPoolExecutor(n_spans) as pool:
        list(pool.map(_encode, encoders, *zip(*spans, strict=True)))
        tables = []
        for encoder in encoders[1:]:
            values = _values(encoder, column.type)
            tables.append(np.empty(len(values), np.int32))
            _encode(encoders[0], pa.chunked_array([values]), tables[-1])
        list(pool.map(native.recode, [part for _, part in spans[1:]], tables))
    return codes, _values(encoders[0], column.type)


class ColumnEncoder:
    """Codes of a column of text that arrives in parts, in order of first appearance; needs the extension.

    >>> from quorate.blocks import native_kernels
    >>> if native_kernels() is not None:
    ...     encoder = ColumnEncoder(1)
    ...     encoder.add(pa.array(["b", "a"]))
    ...     encoder.add(pa.array([None, "b"]))
    ...     codes, values = encoder.finish()
    ...     assert (codes.tolist(), values.to_pylist()) == ([0, 1, -1, 0], ["b", "a"])
    """

    def __init__(self, n_rows: int) -> None:
        """Reserve memory for about ``n_rows`` rows; there may be more."""
        assert native is not None
        self._encoder = native.encoder(SEED)
        self._codes = np.empty(n_rows, np.int32)
        self._n_rows = 0

    def add(self, part: pa.Array) -> None:
        """Encode the next rows, which may be freed afterwards."""
        end = self._n_rows + len(part)
        if end > len(self._codes):
            codes = np.empty(max(end, 3 * len(self._codes) // 2), np.int32)
            codes[: self._n_rows] = self._codes[: self._n_rows]
            self._codes = codes
        _encode(self._encoder, pa.chunked_array([part]), self._codes[self._n_rows : end])
        self._n_rows = end

    def finish(self) -> tuple[IntArray, pa.Array]:
        """Return what `first_appearance` returns for the whole column."""
        return self._codes[: self._n_rows], _values(self._encoder, pa.string())


def recode(codes: IntArray, table: IntArray) -> IntArray:
    """Return table[code] of each code, and -1 for -1; `codes` is overwritten if possible.

    >>> recode(np.array([0, -1, 1], np.int32), np.array([5, 7], np.int32)).tolist()
    [5, -1, 7]
    """
    if native is None or codes.dtype != np.int32 or not codes.flags.writeable or not codes.flags.c_contiguous:
        recoded: IntArray = np.append(table, -1).astype(np.int32)[codes]  # index -1 is the last entry
        return recoded
    native.recode(codes, np.ascontiguousarray(table, np.int32))
    return codes


def _encode(encoder: Any, column: pa.ChunkedArray, codes: NDArray[np.int32]) -> None:
    """Write the codes of a column; new values are numbered after those that the encoder has seen."""
    assert native is not None
    done = 0
    for chunk in column.chunks:
        part = codes[done : done + len(chunk)]
        done += len(chunk)
        if len(chunk) == 0:
            continue
        valid = chunk.buffers()[0] if chunk.null_count else None
        if chunk.type in TEXT:
            offsets, data = chunk.buffers()[1:]
            width = 8 if chunk.type == pa.large_string() else 4
            native.encode(encoder, offsets, b"" if data is None else data, valid, width, chunk.offset, part)
        else:
            width = INTEGERS[chunk.type].itemsize
            native.encode(encoder, None, chunk.buffers()[1], valid, width, chunk.offset, part)


def _values(encoder: Any, kind: pa.DataType) -> pa.Array:
    """Return the distinct values that an encoder has seen, in the order of their codes."""
    assert native is not None
    n, ends, data = native.encoded(encoder)
    if kind not in TEXT:
        return pa.Array.from_buffers(kind, n, [None, pa.py_buffer(data)])
    if len(data) > MAX_OFFSET:  # chunks below this size together exceed it
        kind = pa.large_string()
    offsets = np.zeros(n + 1, np.int64 if kind == pa.large_string() else np.int32)
    offsets[1:] = np.frombuffer(ends, np.int64)
    return pa.Array.from_buffers(kind, n, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _by_arrow(column: pa.ChunkedArray) -> tuple[IntArray, pa.Array]:
    encoded = column.dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # older versions of pyarrow
        encoded = encoded.chunk(0)
    codes = to_numpy(encoded.indices)
    if encoded.null_count:
        codes = np.where(to_numpy(encoded.is_valid()), codes, -1)
    return codes, encoded.dictionary
