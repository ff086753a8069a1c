"""The arrays and tables that everything is made of: their types, and numpy <-> Arrow by way of the buffers.

Arrow's own conversions look for pandas objects and so import pandas wherever it is installed: half a second that a
command would spend on nothing.
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
CODES_AT_ONCE = 1 << 20  # that are counted at a time: 8 MB of copies
CELLS = 1 << 21  # of a table of tasks × classes that are worked on at a time: 16 MB

# Arrow's own table of these, `to_pandas_dtype`, imports pandas before Arrow 26, and fails where there is none.
NUMPY_KINDS = {
    pa.from_numpy_dtype(kind): np.dtype(kind)
    for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}


def to_numpy(array: pa.Array) -> NDArray[Any]:
    """View a numeric array without nulls as numpy; booleans are copied.

    >>> to_numpy(pa.array([3, 1, 2]).slice(1)).tolist(), to_numpy(pa.array([True, False])).tolist()
    ([1, 2], [True, False])
    """
    if pa.types.is_boolean(array.type):
        return to_numpy(pc.cast(array, pa.uint8())).astype(bool)
    kind = NUMPY_KINDS[array.type]
    return np.frombuffer(array.buffers()[1], kind, count=len(array), offset=kind.itemsize * array.offset)


def from_numpy(values: NDArray[Any], *, mask: BoolArray | None = None) -> pa.Array:
    """Copy numbers or booleans into an Arrow array; null where the mask is true.

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
    """Make a text array.

    >>> from_strings(["a", "", "çd"]).to_pylist()
    ['a', '', 'çd']
    """
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def null_where(array: pa.Array, mask: BoolArray) -> pa.Array:
    """Replace values by null where the mask is true.

    >>> null_where(from_strings(["a", "b"]), np.array([False, True])).to_pylist()
    ['a', None]
    """
    valid = pa.py_buffer(np.packbits(~mask, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [valid, *array.buffers()[1:]])


def take(array: pa.Array, positions: NDArray[Any]) -> pa.Array:
    """Pick values by position.

    >>> take(pa.array(["a", "b"]), np.array([1, 1, 0])).to_pylist()
    ['b', 'b', 'a']
    """
    return pc.take(array, from_numpy(positions))


def canonical_order(names: pa.Array, *, by_ending: bool = True) -> IntArray:
    """Return the positions of ids or classes in canonical order: the order of their UTF-8 text, but numbers by value.

    The order depends on the text of the names alone. Hence codes that follow it are the same whatever the order of the
    rows is, and whether an id is stored as a number or as the text of that number.

    Args:
        names: ids or classes, each once.
        by_ending: sort by value also names that differ only in a whole number at the end, as w9 and w10.

    >>> [canonical_order(pa.array(names)).tolist() for names in (["10", "9"], ["w10", "w9"], ["w10", "v9"])]
    [[1, 0], [1, 0], [1, 0]]
    """
    columns = {"number": names} if _is_number(names.type) else _sort_keys(names, by_ending)
    first = next(iter(columns.values()))
    if pc.ascends(first):  # they are in order already
        return np.arange(len(names))
    dense = _dense_order(first)
    if dense is not None:
        return dense
    return to_numpy(pc.sort_indices(table_of(columns), [(name, "ascending") for name in columns])).astype(np.int64)


def _dense_order(numbers: pa.Array) -> IntArray | None:
    """Return the positions of distinct integers of a small range in their order, in linear time; None for others."""
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
    return order if len(order) == len(numbers) else None  # else two texts are the same number


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _sort_keys(names: pa.Array, by_ending: bool) -> dict[str, pa.Array]:
    """Return what names that are not stored as numbers are sorted by: numbers in their text, if all have one; text."""
    text = names if names.type in TEXT else pc.cast(names, pa.string())
    number = _numbers(text, (pa.int64(), pa.uint64(), pa.float64()))  # exact first: doubles merge integers above 2^53
    if number is None and by_ending and len(text):
        least, greatest = pc.extremes(text)
        shared = next((k for k, (a, b) in enumerate(zip(least, greatest, strict=False)) if a != b), len(least))
        prefix = least[:shared].rstrip("0123456789")
        number = _numbers(pc.without_first_letters(text, len(prefix)), (pa.int64(),)) if prefix else None
    return {"text": text} if number is None else {"number": number, "text": text}


def _numbers(text: pa.Array, kinds: Sequence[pa.DataType]) -> pa.Array | None:
    """Read text as numbers of the first of these types that fits all of it; None if none does.

    A few are tried first: a cast that fails makes a message for every value, two microseconds each.
    """
    for kind in kinds:
        with suppress(pa.ArrowInvalid):
            pc.cast(text[:1], kind)
            pc.cast(text[:1000], kind)
            return pc.cast(text, kind)
    return None


def sum_rows(index: IntArray, rows: FloatArray, n: int) -> FloatArray:
    """Add up the rows that have the same index, from 0 to n - 1.

    >>> sum_rows(np.array([0, 2, 0]), np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]), 3).tolist()
    [[4.0, 40.0], [0.0, 0.0], [2.0, 20.0]]
    """
    return np.stack([np.bincount(index, column, n) for column in rows.T], axis=1)


def table_of(columns: Mapping[str, pa.Array | NDArray[Any]]) -> pa.Table:
    """Make a table of named columns.

    >>> table_of({"n": np.array([1, 2])}).to_pydict()
    {'n': [1, 2]}
    """
    arrays = [from_numpy(column) if isinstance(column, np.ndarray) else column for column in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def starts_of(sizes: IntArray) -> IntArray:
    """Return the position at which each of these consecutive runs begins, and last the end of all.

    >>> starts_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    starts: IntArray = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def counts_of_codes(codes: IntArray, n: int) -> IntArray:
    """Count how often each of n codes, which are not negative, occurs; of few codes some at a time.

    `np.bincount` copies its argument, which would be the largest array in memory.

    >>> counts_of_codes(np.array([2, 0, 2], np.int32), 4).tolist()
    [1, 0, 2, 0]
    """
    counts: IntArray = np.zeros(n, np.int64)
    at_once = max(CODES_AT_ONCE, n)
    for low in range(0, len(codes), at_once):
        counts += np.bincount(codes[low : low + at_once], minlength=n)
    return counts


def is_among(keys: IntArray, those: IntArray) -> BoolArray:
    """Return which keys are among sorted ones; `np.isin`, which hashes them all, takes many times as long.

    >>> is_among(np.array([5, 1, 9]), np.array([1, 5])).tolist()
    [True, True, False]
    """
    if len(those) == 0:
        return np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(those, keys), len(those) - 1)
    is_member: BoolArray = those[place] == keys
    return is_member


def sums_of(values: FloatArray, starts: IntArray) -> FloatArray:
    """Sum rows over runs that lie one after another, from where each begins; see `starts_of`.

    >>> sums_of(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([0, 2, 2, 3])).tolist()
    [[4.0, 6.0], [0.0, 0.0], [5.0, 6.0]]
    """
    sums = np.zeros((len(starts) - 1, *values.shape[1:]))
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        sums[filled] = np.add.reduceat(values, starts[filled], axis=0)
    return sums


def runs(n_rows: int, n_columns: int, cells: int | None = None) -> list[slice]:
    """Divide the rows of a table into runs of about so many cells, so that what is made of them on the way stays small.

    >>> [(run.start, run.stop) for run in runs(5, 10, cells=25)]
    [(0, 2), (2, 4), (4, 5)]
    """
    at_once = max((CELLS if cells is None else cells) // max(n_columns, 1), 1)
    return [slice(low, min(low + at_once, n_rows)) for low in range(0, n_rows, at_once)]


def quantiles(values: FloatArray, shares: Sequence[float]) -> FloatArray:
    """Return `np.quantile` of values without NaN; that imports `numpy.ma`, a hundredth of the time of a short run.

    >>> quantiles(np.array([3.0, 1.0, 2.0, 5.0]), [0.0, 0.5, 1.0]).tolist()
    [1.0, 2.5, 5.0]
    """
    place = np.asarray(shares) * (len(values) - 1)
    between: FloatArray = np.interp(place, np.arange(len(values)), np.sort(values))
    return between


def sortable(values: FloatArray) -> FloatArray:
    """Round to twelve decimals: numbers that differ only by the order in which they were summed then sort as equals.

    >>> np.lexsort([[0, 1], sortable(np.array([0.1 + 0.2, 0.3]))]).tolist()
    [0, 1]
    """
    rounded: FloatArray = np.round(values, 12)
    return rounded


class Table:
    """A table of results, with the methods of the `pyarrow.Table` inside.

    It exports an Arrow stream, so that `pyarrow.table(table)` and `polars.DataFrame(table)` take it; `to_arrow`,
    `to_pandas` and `to_polars` convert it. Functions that take nothing but a `pyarrow.Table`, as
    `pyarrow.parquet.write_table`, need `table.to_arrow()`, and `polars.from_arrow` makes one column of records of it.

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
        """Return the `pyarrow.Table` itself."""
        return self.arrow

    def to_pandas(self, **options: Any) -> Any:
        """Return a `pandas.DataFrame`; needs pandas."""
        try:
            return self.arrow.to_pandas(**options)
        except ModuleNotFoundError:
            raise not_installed("to_pandas", "pandas", "[pandas]") from None

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame`; needs polars."""
        try:
            import polars
        except ImportError:
            raise not_installed("to_polars", "polars", "[polars]") from None
        return polars.from_arrow(self.arrow)

    def equals(self, other: object, check_metadata: bool = False) -> bool:
        """Whether another table, of this kind or of pyarrow, has the same columns and rows."""
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

    __hash__ = None  # type: ignore[assignment]  # a table is a value, like the one inside

    def __repr__(self) -> str:
        size = f"{count(len(self), 'row')}, {count(self.arrow.num_columns, 'column')}"
        columns = repr(self.arrow).removeprefix("pyarrow.Table\n")
        return f"<quorate Table: {size}; to_arrow(), to_pandas() and to_polars() convert it>\n{columns}"

    def _repr_html_(self) -> str:
        return table_html(self)


# How views head columns whose name alone does not say what they hold.
HEADINGS = {
    "known_only_low": "low (known labels alone)",
    "known_only_high": "high (known labels alone)",
}


def table_html(table: Table, most: int = 10) -> str:
    """Show the first rows of a table as HTML; ids and labels stay text.

    >>> table_html(Table(pa.table({"label": ["<b>", "cat"]})), most=1)
    '<table><tr><th>label</th></tr><tr><td>&lt;b&gt;</td></tr></table><p>the first 1 of 2 rows</p>'
    """
    from html import escape  # with a table of all entities, which few need

    head = "".join(f"<th>{escape(HEADINGS.get(name, name.replace('_', ' ')))}</th>" for name in table.column_names)
    rows = [
        "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values())
        for row in table.arrow.slice(0, most).to_pylist()
    ]
    more = f"<p>the first {most:,} of {len(table):,} rows</p>" if len(table) > most else ""
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>{more}"


def _cell(value: Any) -> str:
    """Write a value of a table for a reader: four digits, and a dash where there is no value."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


LONGEST_REPR = 160  # characters of the line in a repr: two lines of a notebook


class Shown:
    """A short repr, and a view in notebooks, of whatever has a summary; tables are added by `_tables`."""

    def summary(self) -> str:
        """Describe it in a few lines."""
        raise NotImplementedError

    def _tables(self) -> tuple[Table, ...]:
        return ()

    def __repr__(self) -> str:
        lines = self.summary().splitlines()
        line = next((line for line in lines if not line.startswith("Warning: ")), lines[0])
        return f"<{type(self).__name__}: {line if len(line) <= LONGEST_REPR else f'{line[:LONGEST_REPR]}…'}>"

    def _repr_html_(self) -> str:
        from html import escape

        lines = "".join(f"<p>{escape(line)}</p>" for line in in_python(self.summary()).splitlines())
        return f"<div class='quorate'>{lines}{''.join(table_html(table) for table in self._tables())}</div>"
