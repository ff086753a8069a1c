"""A column of any Arrow type -> one of those that an id or a label can have, and that can be written again."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from quorate.arrays import TEXT
from quorate.errors import ColumnTypeError, reason, shown

is_kind = pa.types


def plain(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as text, numbers, booleans, dates or times, however it was stored.

    Raises:
        ColumnTypeError: it holds lists, records, or bytes that are no text.

    >>> plain(pa.chunked_array([pa.array([b"cat"], pa.binary())]), "label").to_pylist()
    ['cat']
    """
    kind = column.type
    try:
        if isinstance(kind, pa.BaseExtensionType):
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        elif is_kind.is_dictionary(kind):
            column = _decoded(column, name)
        elif is_kind.is_run_end_encoded(kind):
            column = _chunked(column, kind.value_type, pc.run_end_decode)
        elif _is_bytes(kind):
            column = _as_text(column, name)
        elif is_kind.is_string_view(kind):
            column = _from_views(column)
        elif is_kind.is_float16(kind):
            column = column.cast(pa.float32())
        elif is_kind.is_floating(kind):
            column = one_zero(column)
    except (pa.ArrowException, TypeError) as error:
        raise ColumnTypeError(
            f"column {name!r} holds {_named(kind)} values that cannot be read: {reason(error)}"
        ) from None
    if is_kind.is_nested(column.type) or is_kind.is_interval(column.type):
        raise ColumnTypeError(
            f"column {name!r} holds {_named(column.type)} values; an id or a label must be text, a number or a date"
        )
    return column if column.type == kind else plain(column, name)


def one_zero(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return fractions with 0.0 in the place of -0.0, which is the same number.

    >>> one_zero(pa.array([-0.0, 1.5])).to_pylist()
    [0.0, 1.5]
    """
    return pc.add(column, pa.scalar(0.0, column.type))


def exact_up_to(kind: pa.DataType) -> int | None:
    """Return the number from which on fractions of a type do not tell whole numbers apart; None for other types.

    >>> exact_up_to(pa.float64()) == 2**53, exact_up_to(pa.int64())
    (True, None)
    """
    if is_kind.is_dictionary(kind) or is_kind.is_run_end_encoded(kind):
        kind = kind.value_type
    # IEEE 754: 11, 24 and 53 digits of the binary fraction.
    digits = {pa.float16(): 11, pa.float32(): 24, pa.float64(): 53}
    return 1 << digits[kind] if kind in digits else None


def check_values(names: pa.Array, name: str) -> None:
    """Refuse values that nobody can write again: text that is none, and dates beyond all calendars.

    Raises:
        ColumnTypeError: there are such.

    >>> check_values(pa.array(["cat", "été"]), "label")
    """
    kind = names.type
    try:
        if kind in TEXT:
            names.validate(full=True)
        elif not (is_kind.is_integer(kind) or is_kind.is_floating(kind) or is_kind.is_boolean(kind)):
            names.to_pylist()
            names.cast(pa.string())
    except (pa.ArrowException, ValueError, OverflowError, TypeError, KeyError, LookupError) as error:
        raise ColumnTypeError(
            f"column {name!r} holds {_named(kind)} values that cannot be written again: {reason(error)}; write them as "
            "text"
        ) from None


def _decoded(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Put values in the place of codes, each of a type that can be taken."""
    pieces = [(plain(pa.chunked_array([chunk.dictionary]), name), chunk.indices) for chunk in column.chunks]
    kind = pieces[0][0].type if pieces else column.type.value_type
    return pa.chunked_array([values.combine_chunks().take(codes) for values, codes in pieces], kind)


def _from_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Copy text that is stored as views, as polars hands it out."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowNotImplementedError:  # older versions of Arrow have no such cast
        return _chunked(column, pa.large_string(), lambda chunk: pa.array(chunk.to_pylist(), pa.large_string()))


def _chunked(column: pa.ChunkedArray, kind: pa.DataType, change: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    return pa.chunked_array([change(chunk) for chunk in column.chunks], kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        is_kind.is_binary(kind)
        or is_kind.is_large_binary(kind)
        or is_kind.is_fixed_size_binary(kind)
        or is_kind.is_binary_view(kind)
    )


def _as_text(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Bytes are text where all of them are valid: some programs write text so."""
    try:
        return column.cast(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        for row, value in enumerate(column):
            found = value.as_py()
            try:
                (found or b"").decode()
            except UnicodeDecodeError:
                raise ColumnTypeError(
                    f"column {name!r} holds {shown(found)} in row {row + 1:,}: bytes that are no text; write ids and "
                    "labels as text"
                ) from None
        raise


def _named(kind: pa.DataType) -> str:
    text = str(kind)
    return text if len(text) <= 80 else f"{text[:80]}…"
