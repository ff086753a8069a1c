"""Arrow's compute functions with a fast import, for modules of every command: `import quorate.arrow_compute as pc`.

`pyarrow.compute` makes a documented function for each of Arrow's 300 kernels when it is imported, which takes 1/12 of
the CPU time of `quorate aggregate` on a small file. Methods of arrays such as `take`, `cast` and `filter` import it as
well. The functions below call kernels by name; all others are those of `pyarrow.compute`, imported at the first use.
"""

from importlib import import_module
from typing import Any

import pyarrow as pa
from pyarrow import _compute


def take(values: pa.Array | pa.ChunkedArray, positions: pa.Array) -> Any:
    """Return the values at these indices; null where the index is null.

    >>> take(pa.array(["a", "b"]), pa.array([1, None, 0])).to_pylist()
    ['b', None, 'a']
    """
    return _compute.call_function("take", [values, positions])


def select(values: pa.Array | pa.ChunkedArray, mask: pa.Array) -> Any:
    """Return the values where the mask is true.

    >>> select(pa.array(["a", "b"]), pa.array([False, True])).to_pylist()
    ['b']
    """
    return _compute.call_function("filter", [values, mask])


def cast(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> Any:
    """Convert values to a type.

    Raises:
        pa.ArrowInvalid: a value cannot be converted.

    >>> cast(pa.array(["7"]), pa.int64()).to_pylist()
    [7]
    """
    return values if values.type == kind else _compute.call_function("cast", [values], _compute.CastOptions(kind))


def ascends(values: pa.Array) -> bool:
    """Whether each value is less than the next.

    >>> ascends(pa.array([1, 3])), ascends(pa.array([1, 1])), ascends(pa.array(["a"]))
    (True, False, True)
    """
    is_less = _compute.call_function("less", [values[:-1], values[1:]])
    return bool(_compute.call_function("all", [is_less], _compute.ScalarAggregateOptions(min_count=0)).as_py())


def extremes(values: pa.Array) -> tuple[Any, Any]:
    """Return the smallest and the largest value; (None, None) for an empty array.

    >>> extremes(pa.array(["b", "a", "c"]))
    ('a', 'c')
    """
    least, greatest = _compute.call_function("min_max", [values]).as_py().values()
    return least, greatest


def without_first_letters(texts: pa.Array, n_letters: int) -> pa.Array:
    """Return each text without its first ``n_letters`` characters.

    >>> without_first_letters(pa.array(["w10", "w9"]), 1).to_pylist()
    ['10', '9']
    """
    return _compute.call_function("utf8_slice_codeunits", [texts], _compute.SliceOptions(n_letters))


def matches(texts: pa.Array, pattern: str) -> pa.Array:
    """Whether each text contains a match of the regular expression.

    >>> matches(pa.array(["a1", "b"]), "[0-9]").to_pylist()
    [True, False]
    """
    return _compute.call_function("match_substring_regex", [texts], _compute.MatchSubstringOptions(pattern))


def __getattr__(name: str) -> Any:
    return getattr(import_module("pyarrow.compute"), name)
