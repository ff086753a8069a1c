"""numpy <-> Arrow by way of their buffers.

Arrow's own conversions look for pandas objects and so import pandas wherever it is installed: half a second that a
command would spend on nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.arrays import BoolArray


def to_numpy(array: pa.Array) -> NDArray[Any]:
    """View a numeric array without nulls as numpy; booleans are copied.

    >>> to_numpy(pa.array([3, 1, 2]).slice(1)).tolist(), to_numpy(pa.array([True, False])).tolist()
    ([1, 2], [True, False])
    """
    if pa.types.is_boolean(array.type):
        return to_numpy(array.cast(pa.uint8())).astype(bool)
    kind = np.dtype(array.type.to_pandas_dtype())
    return np.frombuffer(array.buffers()[1], kind, count=len(array), offset=kind.itemsize * array.offset)


def from_numpy(values: NDArray[Any], *, mask: BoolArray | None = None) -> pa.Array:
    """Copy numbers or booleans into an Arrow array; null where the mask is true.

    >>> from_numpy(np.array([1.5, 2.5]), mask=np.array([False, True])).to_pylist()
    [1.5, None]
    >>> from_numpy(np.array([True, False])).to_pylist()
    [True, False]
    """
    if values.dtype == bool:
        data, kind = np.packbits(values, bitorder="little"), pa.bool_()
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
    return array.take(from_numpy(positions))


def table_of(columns: Mapping[str, pa.Array | NDArray[Any]]) -> pa.Table:
    """Make a table of named columns.

    >>> table_of({"n": np.array([1, 2])}).to_pydict()
    {'n': [1, 2]}
    """
    arrays = [from_numpy(column) if isinstance(column, np.ndarray) else column for column in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))
