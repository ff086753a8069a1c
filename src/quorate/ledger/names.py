"""Ids of one type, each with a code in order of arrival: what a name costs to find does not grow with their number."""

from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import NUMPY_KINDS, TEXT, IntArray, from_numpy, from_strings
from quorate.errors import ColumnTypeError, reason


class Names:
    """Names and their codes.

    >>> names = Names("tasks")
    >>> names.learn(pa.array(["b", "a"])).tolist(), names.find(pa.array(["a", "c"])).tolist()
    ([0, 1], [1, -1])
    """

    __slots__ = ("codes", "kind", "what")

    def __init__(self, what: str) -> None:
        self.what, self.kind = what, pa.null()  # no type yet
        self.codes: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def find(self, names: pa.Array) -> IntArray:
        """Return the code of each name, -1 for a stranger; nothing is learnt.

        Raises:
            ColumnTypeError: they are of another type than the names that are here.
        """
        keys = _keys(self._alike(names))
        return np.fromiter((self.codes.get(key, -1) for key in keys), np.int64, len(keys))

    def learn(self, names: pa.Array) -> IntArray:
        """Return the code of each name; strangers get new ones."""
        names = self._alike(names)
        if len(names):
            self.kind = names.type
        codes = self.codes
        return np.fromiter((codes.setdefault(key, len(codes)) for key in _keys(names)), np.int64, len(names))

    def array(self) -> pa.Array:
        """Return every name, in order of arrival."""
        return _array(list(self.codes), self.kind)

    def _alike(self, names: pa.Array) -> pa.Array:
        """Bring names to the one type that all of them have here: an id must not become two."""
        try:
            names = names.cast(_one_kind(names.type))
        except pa.ArrowException as error:  # more text than one array holds
            raise ColumnTypeError(f"the {self.what} cannot be kept: {reason(error)}") from None
        if pa.types.is_float16(names.type) or pa.types.is_interval(names.type):
            raise ColumnTypeError(f"the {self.what} are {names.type} values, which have no order; write them as text")
        if len(names) and self.codes and names.type != self.kind:
            raise ColumnTypeError(
                f"the {self.what} of this batch are of type {names.type}, those of the ledger {self.kind}: the same id "
                "would be two. Write both alike (ids from CSV files are text)"
            )
        return names


def _one_kind(kind: pa.DataType) -> pa.DataType:
    """Choose one type for text, and one for whole numbers: which of several a batch has depends on who wrote it."""
    if kind in TEXT:
        return pa.string()
    return pa.int64() if pa.types.is_integer(kind) and kind != pa.uint64() else kind


def _keys(names: pa.Array) -> list[Any]:
    """Return values that a dictionary can look up; dates and times by their number, which loses nothing."""
    if pa.types.is_temporal(names.type):
        names = names.view(pa.int32() if names.type.bit_width == 32 else pa.int64())
    listed: list[Any] = names.to_pylist()
    return listed


def _array(keys: list[Any], kind: pa.DataType) -> pa.Array:
    """Turn keys back into names."""
    if pa.types.is_null(kind) or kind in TEXT:
        return from_strings(keys)
    if pa.types.is_temporal(kind):
        return from_numpy(np.array(keys, np.int32 if kind.bit_width == 32 else np.int64)).view(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return from_numpy(np.array(keys, NUMPY_KINDS[kind]))
    return pa.array(keys, kind)
