"""A column of ids or labels -> integer codes and the values behind them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quorate.arrays import TEXT, BoolArray, IntArray, canonical_order, from_numpy, from_strings, take, to_numpy
from quorate.errors import ColumnTypeError, OptionError, listing, reason
from quorate.reading.kinds import check_values, plain

# What is blank, to Arrow, to Python's `strip` and in every engine: these six, and no other kind of space.
BLANKS = " \t\n\r\v\f"
BLANK = r"^[\s\x0b]*$"
NO_LABEL = r"^[\s\x0b]*((?i)nan)?[\s\x0b]*$"


def encode(column: pa.ChunkedArray, name: str, *, is_label: bool = False) -> tuple[IntArray, pa.Array]:
    """Codes in order of first appearance, -1 where the field is missing, and the values behind the codes.

    Missing are nulls, blank text and NaN; in a label also the text ``nan``, which is how NaN is written to CSV.

    >>> codes, names = encode(pa.chunked_array([["b", " ", "a", "b"]]), "task")
    >>> codes.tolist(), names.to_pylist()
    ([0, -1, 1, 0], ['b', 'a'])
    """
    column = plain(column, name)
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, np.int32), from_strings([])
    try:
        encoded = column.dictionary_encode().combine_chunks()
    except pa.ArrowException as error:
        raise ColumnTypeError(
            f"column {name!r} holds {column.type} values that cannot be told apart: {reason(error)}"
        ) from None
    if isinstance(encoded, pa.ChunkedArray):  # what older versions give
        encoded = encoded.chunk(0)
    names = encoded.dictionary
    check_values(names, name)
    absent, codes = _is_missing(names, is_label), to_numpy(encoded.indices)
    if encoded.null_count:
        codes = np.where(to_numpy(encoded.is_valid()), codes, -1)
    if absent.any():  # blank text and NaN are values to Arrow, and absent to us
        new_code = np.where(absent, -1, np.cumsum(~absent) - 1).astype(np.int32)
        codes = np.where(codes >= 0, new_code[codes], -1)
        names = names.filter(from_numpy(~absent))
    return codes, names


def _is_missing(names: pa.Array, is_label: bool) -> BoolArray:
    if names.type in TEXT:
        return to_numpy(pc.match_substring_regex(names, NO_LABEL if is_label else BLANK))
    if pa.types.is_floating(names.type):
        return to_numpy(pc.is_nan(names))
    return np.zeros(len(names), dtype=bool)


def as_type(values: Sequence[Any] | pa.Array, kind: pa.DataType, what: str) -> pa.Array:
    """Bring values to the type that the answers have.

    Raises:
        ColumnTypeError: they cannot be.

    >>> as_type([1, 2], pa.string(), "classes").to_pylist()
    ['1', '2']
    """
    try:
        return (values if isinstance(values, pa.Array) else pa.array(list(values))).cast(kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise ColumnTypeError(
            f"the {what} are not of the type that the answers have ({kind}); write both alike"
        ) from None


def positions(values: pa.Array, among: pa.Array) -> IntArray:
    """Return where each value stands among others; -1 for a stranger.

    >>> positions(pa.array(["b", "z"]), pa.array(["a", "b"])).tolist()
    [1, -1]
    """
    found = pc.index_in(values, value_set=among)
    return np.where(to_numpy(found.is_valid()), to_numpy(found), -1).astype(np.int64)


def order_classes(labels: IntArray, names: pa.Array, classes: Sequence[Any] | None) -> tuple[IntArray, pa.Array]:
    """Renumber labels by the order of the classes in use (numbers by value), or of those that the caller lists.

    >>> codes, classes = order_classes(np.array([0, 1, 0]), pa.array(["10", "9"]), None)
    >>> codes.tolist(), classes.to_pylist()
    ([1, 0, 1], ['9', '10'])
    """
    used: IntArray = np.flatnonzero(np.bincount(labels, minlength=len(names)))
    in_use = take(names, used)
    if classes is None:
        ranked = used[canonical_order(in_use, by_ending=False)]
        listed = take(names, ranked)
    else:
        listed = as_type(classes, names.type, "classes")
        if len(listed.unique()) < len(listed):
            raise OptionError("classes= (--classes) names one class twice")
        unlisted = in_use.filter(pc.invert(pc.is_in(in_use, value_set=listed)))
        if len(unlisted):
            raise OptionError(
                f"the answers hold classes that classes= (--classes) does not list: {listing(unlisted.to_pylist())}; "
                "list them too"
            )
        ranked = positions(listed, names)
    new_code = np.full(len(names), -1, np.int32)
    new_code[ranked[ranked >= 0]] = np.flatnonzero(ranked >= 0)
    return new_code[labels], listed


def in_order_of_ids(codes: IntArray, names: pa.Array) -> tuple[IntArray, pa.Array]:
    """Renumber codes so that the names behind them are in canonical order; -1 stays.

    >>> codes, names = in_order_of_ids(np.array([0, 1, -1, 0]), pa.array(["b", "a"]))
    >>> codes.tolist(), names.to_pylist()
    ([1, 0, -1, 1], ['a', 'b'])
    """
    order = canonical_order(names)
    if np.array_equal(order, np.arange(len(names))):
        return codes, names
    new_code = np.full(len(names) + 1, -1, np.int32)  # the last is what -1 finds
    new_code[order] = np.arange(len(names), dtype=np.int32)
    return new_code[codes], take(names, order)
