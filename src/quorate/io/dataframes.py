"""Read columns of a table object (pandas, polars, Arrow, DuckDB, Hugging Face, a mapping) into an Arrow table."""

import json
from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import IO, Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import quorate.arrow_compute as pc
from quorate.errors import (
    ColumnTypeError,
    MissingColumnError,
    QuorateError,
    TooLargeError,
    UnknownFormatError,
    listing,
    reason,
    shown,
)
from quorate.io.open_file import OpenedSource
from quorate.io.values import ID_TYPES, array_of_values, id_text


class ArrowStream(Protocol):
    """A table object that exports Arrow streams: pandas, polars, pyarrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a capsule with an Arrow stream."""


class HasColumnNames(Protocol):
    """A table object that lists its columns, such as a Hugging Face data set."""

    @property
    def column_names(self) -> Any:
        """Names of the columns."""


class HasColumns(Protocol):
    """A data frame."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""


Source: TypeAlias = (
    str  # a path, an address, or "-" for standard input
    | PathLike[str]
    | IO[bytes]
    | IO[str]
    | ArrowStream
    | HasColumnNames
    | HasColumns
    | Mapping[Any, Any]  # of columns; for gold also of task -> label
    | Sequence[Any]  # of records; for workers also of names
    | NDArray[Any]  # a matrix of wins
    | OpenedSource
    | None  # where the argument is optional
)
Columns: TypeAlias = Mapping[str, str]  # requested column -> the remedy that an error names if it is missing

# A wide table has one column per worker; a table with 10,000 columns is read in seconds.
MAX_COLUMNS = 10_000


def names_of(source: Any) -> list[str] | None:
    """Return the names of the columns of a table object; None for any other object.

    Raises:
        UnknownFormatError: the object is several tables, a Series, or a stream that cannot be read as a whole.

    >>> names_of({"task": [1], "label": ["x"]}), names_of(42)
    (['task', 'label'], None)
    """
    if isinstance(source, Mapping):
        tables = [name for name, values in source.items() if _names(values) is not None]
        if tables:  # such as the splits of a Hugging Face data set
            raise UnknownFormatError(
                f"these are several tables: {listing(tables)}. Give one of them, for example source[{tables[0]!r}]"
            )
    elif type(source).__name__ == "Series" and (_made_by(source, "pandas") or _made_by(source, "polars")):
        raise UnknownFormatError(
            "a Series has one column, and a table is needed; give a data frame. Known and true labels may be a pandas "
            "Series with the tasks as its index"
        )
    elif hasattr(source, "with_format") and not hasattr(source, "__len__"):
        raise UnknownFormatError(
            f"cannot read a table from {type(source).__name__!r}, which streams its rows; load the data set whole "
            "(streaming=False)"
        )
    return _names(source)


def _names(source: Any) -> list[str] | None:
    if isinstance(source, Mapping):
        return [str(name) for name in source]
    if _is_records(source):
        return [str(name) for name in dict.fromkeys(name for record in source for name in record)]
    if _made_by(source, "polars") and hasattr(source, "collect_schema"):  # `columns` of a LazyFrame gives a warning
        return list(source.collect_schema().names())
    names = getattr(source, "column_names", None)
    names = getattr(source, "columns", None) if names is None else names
    if names is None and isinstance(source, pa.RecordBatch):
        names = source.schema.names
    if names is None:
        return None
    index = getattr(source.index, "names", ()) if _made_by(source, "pandas") else ()
    return [id_text(name) or str(name) for name in (*index, *names) if name is not None]


def label_columns(source: Any, task: str, label: str) -> Any:
    """Convert a mapping task -> label, a Series or a data frame with the tasks as its index to a mapping of columns.

    Args:
        source: one of these; any other object is returned unchanged.
        task: name of the column of tasks.
        label: name of the column of labels. If a data frame has only one column, this is used, whatever its name is.

    >>> label_columns({1: "cat", 2: "dog"}, "task", "label")
    {'task': [1, 2], 'label': ['cat', 'dog']}
    """
    if isinstance(source, Mapping):
        if {task, label} <= set(source):
            return source
        return {task: list(source.keys()), label: list(source.values())}
    if is_series(source):
        return {task: source.index, label: source.array}
    if not _made_by(source, "pandas") or not hasattr(source, "columns") or task in (names_of(source) or ()):
        return source
    columns = [id_text(name) or str(name) for name in source.columns]
    is_default = source.index.names == [None] and type(source.index).__name__ == "RangeIndex"
    if is_default or source.index.nlevels > 1 or (label not in columns and len(columns) != 1):
        return source
    values = source.iloc[:, columns.index(label) if label in columns else 0]
    return {
        **dict(zip(columns, (source.iloc[:, k].array for k in range(len(columns))), strict=True)),
        task: source.index,
        label: values.array,
    }


def index_names(source: Any) -> tuple[str, ...]:
    """Return the names of the index columns of a data frame, also if it was converted to Arrow or saved as Parquet.

    >>> index_names({"task": [1]})
    ()
    """
    if _made_by(source, "pandas"):
        return tuple(id_text(name) or str(name) for name in getattr(source.index, "names", ()) if name is not None)
    if not isinstance(source, pa.Schema | pa.Table | pa.RecordBatch):
        return ()
    schema = source if isinstance(source, pa.Schema) else source.schema
    try:
        index = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
    except (KeyError, ValueError, TypeError):
        return ()
    return tuple(name for name in index if isinstance(name, str) and name in schema.names)


def _is_records(source: Any) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(row, Mapping) for row in source)


def read_object(source: Any, columns: Columns) -> pa.Table:
    """Return the requested columns of a table object, in the order of the request; other columns are not read.

    Raises:
        UnknownFormatError: the object is not a table.
        MissingColumnError: the table does not have a column, or has it twice.
        ColumnTypeError: a column holds values of several types.

    >>> read_object({"task": [1, 2], "label": ["a", "b"]}, {"label": ""}).to_pydict()
    {'label': ['a', 'b']}
    """
    names = names_of(source)
    if names is None and hasattr(source, "__arrow_c_stream__"):  # only the Arrow stream interface
        try:
            source = pa.table(source)
        except pa.ArrowException:
            raise UnknownFormatError(f"{type(source).__name__!r} is not a table; give a table with columns") from None
        names = source.column_names
    if names is None or isinstance(source, str | bytes):
        raise UnknownFormatError(
            f"A table cannot be read from {type(source).__name__!r}. Give a path, a mapping of columns, or a "
            "table of pandas, polars, pyarrow, DuckDB or Hugging Face"
        )
    check_columns(names, columns, "the table")
    try:
        return _columns_only(source, list(columns)).select(list(columns))
    except QuorateError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ColumnTypeError(
            f"the table has a column of mixed or unusable types; make each column one type ({reason(error)})"
        ) from None


def check_columns(column_names: Collection[str], columns: Columns, name: str) -> None:
    """Refuse a table that lacks a column, or has it twice.

    Raises:
        MissingColumnError: a column is missing or not unique.
        TooLargeError: the table has more than `MAX_COLUMNS` columns.

    >>> check_columns(["task", "label"], {"task": "Name it"}, "the table")
    """
    if len(column_names) > MAX_COLUMNS:
        raise TooLargeError(
            f"{name} has {len(column_names):,} columns, and at most {MAX_COLUMNS:,} are read; it is not "
            "a table of answers"
        )
    for column, remedy in columns.items():
        if column not in column_names:
            problem = f"{name} has no column {shown(column)}; it has {listing(column_names, 12) or 'none'}"
            guess = _format_hint(column_names) if len(columns) > 2 else ""  # for tables of answers, not of labels
            raise MissingColumnError(". ".join(part for part in (problem, guess, remedy) if part))
        if list(column_names).count(column) > 1:
            raise MissingColumnError(f"{name} has the column {shown(column)} more than once; rename one of them")


def _format_hint(column_names: Collection[str]) -> str:
    """Return a hint about what a table without the usual columns may be; empty if nothing is recognised."""
    first = next(iter(column_names), "").lstrip().lower()
    if first.startswith(("<!doctype", "<html")):
        return "It is a web page, perhaps one that asks to log in: download the table itself"
    if len(column_names) > 3 and not {"worker", "label"} & set(column_names):
        return "If it has one column per worker, use tool='cleanlab' (--from cleanlab)"
    return ""


def _columns_only(source: Any, columns: Sequence[str]) -> pa.Table:
    """Convert a table object to Arrow; only these columns, if the library of the object can select columns."""
    if _is_records(source):
        return pa.table({name: array_of_values([row.get(name) for row in source], name) for name in columns})
    if isinstance(source, Mapping):
        return pa.table(_aligned({str(name): values for name, values in source.items() if str(name) in columns}))
    if _made_by(source, "pandas"):
        column_names = {id_text(name) or str(name) for name in source.columns}
        frame = source if set(columns) <= column_names else source.reset_index()
        named = ((id_text(name) or str(name), index) for index, name in enumerate(frame.columns))
        return pa.table({name: _array(frame.iloc[:, index], name) for name, index in named if name in columns})
    if _made_by(source, "polars"):
        chosen = source.select(columns)
        return pa.table(chosen.collect() if hasattr(chosen, "collect") else chosen)
    if hasattr(source, "with_format"):  # Hugging Face; `[:]` respects a selection of rows
        chosen = source.select_columns(columns) if hasattr(source, "select_columns") else source
        return _with_names(chosen.with_format("arrow")[:], getattr(source, "features", None))
    return source if isinstance(source, pa.Table) else pa.table(source)


def _aligned(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Convert columns to Arrow arrays; pandas Series with different indexes are aligned on the union of the indexes.

    The rows begin in the order of the first index. A row that a Series does not have is a missing value.

    Raises:
        ColumnTypeError: the columns have different lengths, or the indexes differ and one of them has a value twice or
            a column has no index, so that the rows cannot be matched.
    """
    arrays = {name: _array(values, name) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in arrays.items() if hasattr(values, "__len__")}
    if len(set(lengths.values())) > 1 and not any(map(is_series, columns.values())):
        listed = ", ".join(f"{name!r} {n:,}" for name, n in lengths.items())
        raise ColumnTypeError(f"the columns have different numbers of values ({listed}); give one value per row")
    indexes = {name: values.index for name, values in columns.items() if is_series(values)}
    if not indexes:
        return arrays
    first, *more_indexes = indexes.values()
    if all(index is first or index.equals(first) for index in more_indexes):
        return arrays
    without = [name for name in columns if name not in indexes]
    repeating = [name for name, index in indexes.items() if not index.is_unique]
    if without or repeating:
        why = f"{without[0]!r} has none" if without else f"that of {repeating[0]!r} has a value twice"
        raise ColumnTypeError(
            f"the Series {listing(indexes)} have different indexes, and {why}, so that their rows cannot be matched; "
            "give a data frame, or Series of one index (reset_index(drop=True))"
        )
    all_rows = first
    for index in more_indexes:
        all_rows = all_rows.append(index[~index.isin(all_rows)])
    rows = {name: index.get_indexer(all_rows) for name, index in indexes.items()}
    return {name: arrays[name].take(pa.array(at, mask=at < 0)) for name, at in rows.items()}


def _array(values: Any, name: str) -> Any:
    """Convert a list, array or pandas column to an Arrow array; columns of other libraries are returned unchanged."""
    if isinstance(values, list | tuple):
        return array_of_values(values, name)
    if values is None or isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise ColumnTypeError(f"column {name!r} is one value, {shown(values)}; give one value per row")
    from_pandas = _made_by(values, "pandas")
    if from_pandas and type(values.dtype).__name__ == "SparseDtype":
        values = np.asarray(values)
    if getattr(values, "dtype", None) == np.dtype(object) and hasattr(values, "tolist"):
        return array_of_values(values.tolist(), name, nan_is_missing=from_pandas)
    if from_pandas and hasattr(values.dtype, "categories"):
        codes = np.asarray(getattr(values, "cat", values).codes)
        return pa.array(_array(values.dtype.categories, name)).take(pa.array(codes, mask=codes < 0))
    if not from_pandas and not isinstance(values, np.ndarray):
        return values
    try:
        return pa.array(values, from_pandas=from_pandas)
    except (pa.ArrowException, TypeError, ValueError):
        shape = "" if values.ndim == 1 else f" in {values.ndim} dimensions"
        raise ColumnTypeError(f"column {name!r} holds {values.dtype} values{shape}; {ID_TYPES}") from None


def is_series(values: Any) -> bool:
    """Whether an object is a pandas Series.

    >>> is_series([1])
    False
    """
    return _made_by(values, "pandas") and type(values).__name__ == "Series"


def _with_names(table: pa.Table, features: Any) -> pa.Table:
    """Replace the class numbers in Hugging Face's ClassLabel columns by the names of the classes.

    The number -1 means no label. A class that no row has does not become a class of the answers.
    """
    for index, column in enumerate(table.column_names):
        feature = features.get(column) if isinstance(features, Mapping) else None
        names = getattr(feature, "names", None)
        if isinstance(names, list) and pa.types.is_integer(table.schema.types[index]):
            codes = table.column(column)
            known = pc.if_else(pc.equal(codes, -1), pa.scalar(None, codes.type), codes)
            table = table.set_column(index, column, pc.take(pa.array(names, pa.string()), known))
    return table


def _made_by(source: Any, library: str) -> bool:
    """Whether the class of an object, or one of its base classes, is defined in this library."""
    return any(base.__module__.partition(".")[0] == library for base in type(source).__mro__)
