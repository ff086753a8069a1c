"""Types and helper functions for arrays and tables; conversion between numpy and Arrow by their buffers.

Arrow's own conversions test for pandas objects, for which they import pandas if it is installed. This would delay every
command by half a second.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import quorate.arrow_compute as pc
from quorate.errors import count, in_python, not_installed

IntArray: TypeAlias = NDArray[np.integer]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]

TEXT = frozenset({pa.string(), pa.large_string()})  # the types of a column of strings
CODES_AT_ONCE = 1 << 20  # counted at a time, with a copy of 8 MB
CELLS = 1 << 21  # of a table tasks × classes that are processed at a time: 16 MB as float64

# Arrow type -> numpy type. Before Arrow 26, `to_pandas_dtype` imports pandas, and fails without it.
NUMPY_KINDS = {
    pa.from_numpy_dtype(kind): np.dtype(kind)
    for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}


def to_numpy(array: pa.Array) -> NDArray[Any]:
    """Return a numeric Arrow array without nulls as a numpy view; booleans are copied.

    >>> to_numpy(pa.array([3, 1, 2]).slice(1)).tolist(), to_numpy(pa.array([True, False])).tolist()
    ([1, 2], [True, False])
    """
    if pa.types.is_boolean(array.type):
        return to_numpy(pc.cast(array, pa.uint8())).astype(bool)
    kind = NUMPY_KINDS[array.type]
    return np.frombuffer(array.buffers()[1], kind, count=len(array), offset=kind.itemsize * array.offset)


def from_numpy(values: NDArray[Any], *, mask: BoolArray | None = None) -> pa.Array:
    """Return numbers or booleans as an Arrow array, with null where the mask is true.

    >>> from_numpy(np.array([1.5, 2.5]), mask=np.array([False, True])).to_pylist()
    [1.5, None]
    >>> from_numpy(np.array([True, False])).to_pylist()
    [True, False]
    """
    if values.dtype == bool:
        data = np.packbits(values, bitorder="little")
        kind = pa.bool_()
    else:
        data = np.ascontiguousarray(values)
        kind = pa.from_numpy_dtype(data.dtype)
    valid = None if mask is None or not mask.any() else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(data)])


def from_strings(values: Sequence[str]) -> pa.Array:
    """Return texts as an Arrow array.

    >>> from_strings(["a", "", "çd"]).to_pylist()
    ['a', '', 'çd']
    """
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def null_where(array: pa.Array, mask: BoolArray) -> pa.Array:
    """Return an Arrow array without nulls, with null where the mask is true.

    >>> null_where(from_strings(["a", "b"]), np.array([False, True])).to_pylist()
    ['a', None]
    """
    valid = pa.py_buffer(np.packbits(~mask, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [valid, *array.buffers()[1:]])


def take(array: pa.Array, positions: NDArray[Any]) -> pa.Array:
    """Return the values at these indices.

    >>> take(pa.array(["a", "b"]), np.array([1, 1, 0])).to_pylist()
    ['b', 'b', 'a']
    """
    return pc.take(array, from_numpy(positions))


def canonical_order(names: pa.Array, *, by_ending: bool = True) -> IntArray:
    """Return the indices that sort ids or classes canonically: by their UTF-8 text, and numbers by value.

    The order depends only on the text of the names. Codes in this order therefore do not depend on the order of the
    rows, or on whether an id is stored as a number or as text.

    Args:
        names: distinct ids or classes.
        by_ending: whether names that differ only in an integer at the end, such as w9 and w10, are sorted by it.

    >>> [canonical_order(pa.array(names)).tolist() for names in (["10", "9"], ["w10", "w9"], ["w10", "v9"])]
    [[1, 0], [1, 0], [1, 0]]
    """
    columns = {"number": names} if _is_number(names.type) else _sort_keys(names, by_ending)
    first = next(iter(columns.values()))
    if pc.ascends(first):  # they are already sorted
        return np.arange(len(names))
    dense = _dense_order(first)
    if dense is not None:
        return dense
    return to_numpy(pc.sort_indices(table_of(columns), [(name, "ascending") for name in columns])).astype(np.int64)


def _dense_order(numbers: pa.Array) -> IntArray | None:
    """Return the indices that sort distinct integers of a small range, in linear time; None for other arrays."""
    if not pa.types.is_integer(numbers.type) or numbers.null_count or not len(numbers):
        return None
    least, greatest = pc.extremes(numbers)
    if greatest - least >= 4 * len(numbers):
        return None
    position = np.full(greatest - least + 1, -1, np.int64)
    values = to_numpy(numbers)
    values = values if values.dtype == np.uint64 else values.astype(np.int64)  # so that no difference overflows
    position[values - values.dtype.type(least)] = np.arange(len(numbers))
    order: IntArray = position[position >= 0]
    return order if len(order) == len(numbers) else None  # otherwise two texts are the same number


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _sort_keys(names: pa.Array, by_ending: bool) -> dict[str, pa.Array]:
    """Return the sort keys of names that are not stored as numbers: the number in each text (if all have one), text."""
    text = names if names.type in TEXT else pc.cast(names, pa.string())
    # Exact types first, because doubles round integers above 2^53.
    number = _numbers(text, (pa.int64(), pa.uint64(), pa.float64()))
    if number is None and by_ending and len(text):
        least, greatest = pc.extremes(text)
        shared = next((k for k, (a, b) in enumerate(zip(least, greatest, strict=False)) if a != b), len(least))
        prefix = least[:shared].rstrip("0123456789")
        number = _numbers(pc.without_first_letters(text, len(prefix)), (pa.int64(),)) if prefix else None
    return {"text": text} if number is None else {"number": number, "text": text}


def _numbers(text: pa.Array, kinds: Sequence[pa.DataType]) -> pa.Array | None:
    """Convert texts to numbers of the first of these types that fits all of them; return None if none does.

    A few values are converted first, because a cast that fails makes a message for every value (2 microseconds each).
    """
    for kind in kinds:
        with suppress(pa.ArrowInvalid):
            pc.cast(text[:1], kind)
            pc.cast(text[:1000], kind)
            return pc.cast(text, kind)
    return None


def sum_rows(index: IntArray, rows: FloatArray, n: int) -> FloatArray:
    """Return the sum of the rows with each index from 0 to n - 1; shape (n, columns).

    >>> sum_rows(np.array([0, 2, 0]), np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]), 3).tolist()
    [[4.0, 40.0], [0.0, 0.0], [2.0, 20.0]]
    """
    return np.stack([np.bincount(index, column, n) for column in rows.T], axis=1)


def table_of(columns: Mapping[str, pa.Array | NDArray[Any]]) -> pa.Table:
    """Return an Arrow table of named columns.

    >>> table_of({"n": np.array([1, 2])}).to_pydict()
    {'n': [1, 2]}
    """
    arrays = [from_numpy(column) if isinstance(column, np.ndarray) else column for column in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def starts_of(sizes: IntArray) -> IntArray:
    """Return the index at which each of these consecutive runs begins, and as the last entry the end of all.

    >>> starts_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    starts: IntArray = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def counts_of_codes(codes: IntArray, n: int) -> IntArray:
    """Return how often each of the codes 0 to n - 1 occurs; shape (n,).

    The codes are counted in pieces, because `np.bincount` copies its argument, which may be the largest array in
    memory.

    >>> counts_of_codes(np.array([2, 0, 2], np.int32), 4).tolist()
    [1, 0, 2, 0]
    """
    counts: IntArray = np.zeros(n, np.int64)
    at_once = max(CODES_AT_ONCE, n)
    for low in range(0, len(codes), at_once):
        counts += np.bincount(codes[low : low + at_once], minlength=n)
    return counts


def is_among(keys: IntArray, sorted_keys: IntArray) -> BoolArray:
    """Return a mask of the keys that are among sorted ones; `np.isin` takes many times as long.

    >>> is_among(np.array([5, 1, 9]), np.array([1, 5])).tolist()
    [True, True, False]
    """
    if len(sorted_keys) == 0:
        return np.zeros(len(keys), dtype=bool)
    index = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    is_member: BoolArray = sorted_keys[index] == keys
    return is_member


def sums_of(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the sum of the rows in each of several consecutive runs, given by `starts_of`; 0 for an empty run.

    >>> sums_of(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([0, 2, 2, 3])).tolist()
    [[4.0, 6.0], [0.0, 0.0], [5.0, 6.0]]
    """
    sums = np.zeros((len(starts) - 1, *values.shape[1:]))
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        sums[filled] = np.add.reduceat(values, starts[filled], axis=0)
    return sums


def runs(n_rows: int, n_columns: int, cells: int | None = None) -> list[slice]:
    """Return slices of rows with at most ``cells`` cells each (or one row), to limit the size of temporary arrays.

    >>> [(run.start, run.stop) for run in runs(5, 10, cells=25)]
    [(0, 2), (2, 4), (4, 5)]
    """
    at_once = max((CELLS if cells is None else cells) // max(n_columns, 1), 1)
    return [slice(low, min(low + at_once, n_rows)) for low in range(0, n_rows, at_once)]


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values, sorted, as `np.unique`, which without further outputs imports `numpy.ma`: 7 ms.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values, axis=None)
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def quantiles(values: FloatArray, shares: Sequence[float]) -> FloatArray:
    """Return the quantiles of values without NaN, as `np.quantile`, which needs a slow import of `numpy.ma`.

    >>> quantiles(np.array([3.0, 1.0, 2.0, 5.0]), [0.0, 0.5, 1.0]).tolist()
    [1.0, 2.5, 5.0]
    """
    index = np.asarray(shares) * (len(values) - 1)
    interpolated: FloatArray = np.interp(index, np.arange(len(values)), np.sort(values))
    return interpolated


def sortable(values: FloatArray) -> FloatArray:
    """Return values rounded to twelve decimals, so that sums that differ only by rounding errors sort as equal.

    >>> np.lexsort([[0, 1], sortable(np.array([0.1 + 0.2, 0.3]))]).tolist()
    [0, 1]
    """
    rounded: FloatArray = np.round(values, 12)
    return rounded


class Table:
    """A table of results, with the methods of the `pyarrow.Table` that it contains.

    It exports an Arrow stream, so that `pyarrow.table(table)` and `polars.DataFrame(table)` take it; `to_arrow`,
    `to_pandas` and `to_polars` convert it. Functions that take only a `pyarrow.Table`, such as
    `pyarrow.parquet.write_table`, need `table.to_arrow()`; `polars.from_arrow` would read it as one column of records.

    >>> table = Table(pa.table({"label": ["cat", "dog"]}))
    >>> table.num_rows, table["label"].to_pylist(), pa.table(table).column_names
    (2, ['cat', 'dog'], ['label'])
    >>> table
    <quorate Table: 2 rows, 1 column; to_arrow(), to_pandas() and to_polars() convert it>
    label: string
    ----
    label: [["cat","dog"]]
    """

    __slots__ = ("arrow",)

    def __init__(self, arrow: pa.Table) -> None:
        self.arrow = arrow

    def to_arrow(self) -> pa.Table:
        """Return the table as a `pyarrow.Table`, without a copy."""
        return self.arrow

    def to_pandas(self, **options: Any) -> Any:
        """Return the table as a `pandas.DataFrame`; this needs pandas."""
        try:
            return self.arrow.to_pandas(**options)
        except ModuleNotFoundError:
            raise not_installed("to_pandas", "pandas", "[pandas]") from None

    def to_polars(self) -> Any:
        """Return the table as a `polars.DataFrame`; this needs polars."""
        try:
            import polars
        except ImportError:
            raise not_installed("to_polars", "polars", "[polars]") from None
        return polars.from_arrow(self.arrow)

    def equals(self, other: object, check_metadata: bool = False) -> bool:
        """Whether another table, a `Table` or a `pyarrow.Table`, has the same columns and rows."""
        arrow = other.arrow if isinstance(other, Table) else other
        return isinstance(arrow, pa.Table) and bool(self.arrow.equals(arrow, check_metadata=check_metadata))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.arrow, name)

    def __getitem__(self, key: Any) -> Any:
        return self.arrow[key]

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __eq__(self, other: object) -> bool:
        return self.equals(other)

    __hash__ = None  # type: ignore[assignment]  # tables are compared by value, as in pyarrow

    def __repr__(self) -> str:
        size = f"{count(len(self), 'row')}, {count(self.arrow.num_columns, 'column')}"
        columns = repr(self.arrow).removeprefix("pyarrow.Table\n")
        return f"<quorate Table: {size}; to_arrow(), to_pandas() and to_polars() convert it>\n{columns}"

    def _repr_html_(self) -> str:
        return table_html(self)


# Column name -> heading in HTML views, if the name alone is not clear.
HEADINGS = {
    "known_only_low": "low (known labels alone)",
    "known_only_high": "high (known labels alone)",
}


def table_html(table: Table, most: int = 10) -> str:
    """Return the first rows of a table as HTML, with ids and labels escaped.

    >>> table_html(Table(pa.table({"label": ["<b>", "cat"]})), most=1)
    '<table><tr><th>label</th></tr><tr><td>&lt;b&gt;</td></tr></table><p>the first 1 of 2 rows</p>'
    """
    from html import escape  # imported here, because it loads a large table that few calls need

    head = "".join(f"<th>{escape(HEADINGS.get(name, name.replace('_', ' ')))}</th>" for name in table.column_names)
    rows = [
        "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values())
        for row in table.arrow.slice(0, most).to_pylist()
    ]
    more = f"<p>the first {most:,} of {len(table):,} rows</p>" if len(table) > most else ""
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>{more}"


def _cell(value: Any) -> str:
    """Return a value of a table as text: a float with four digits, a dash for a missing value."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


MAX_REPR = 160  # characters of a summary line in a repr: two lines of a notebook


class Shown:
    """Base class with a short repr and an HTML view for notebooks, made from `summary` and the tables of `_tables`."""

    def summary(self) -> str:
        """Return a description of the object in a few lines."""
        raise NotImplementedError

    def _tables(self) -> tuple[Table, ...]:
        return ()

    def __repr__(self) -> str:
        lines = self.summary().splitlines()
        line = next((line for line in lines if not line.startswith("Warning: ")), lines[0])
        return f"<{type(self).__name__}: {line if len(line) <= MAX_REPR else f'{line[:MAX_REPR]}…'}>"

    def _repr_html_(self) -> str:
        from html import escape

        lines = "".join(f"<p>{escape(line)}</p>" for line in in_python(self.summary()).splitlines())
        return f"<div class='quorate'>{lines}{''.join(table_html(table) for table in self._tables())}</div>"
