"""Convert single values (ids, numbers, missing values) to text or numbers, and Python values to Arrow arrays."""

import datetime
import decimal
import json
import math
import numbers
import re
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import from_strings
from quorate.errors import ColumnTypeError, shown

# The characters that count as blank everywhere: in Arrow, in Python's `strip` and in every engine. No other space does.
BLANKS = " \t\n\r\v\f"
INT64 = 1 << 63
UINT64 = 1 << 64
EXACT = 1 << 53  # up to this number, a float64 holds every integer exactly
# Types that may occur together in one column. Time precedes day, because in Python a datetime is also a date.
FAMILIES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("text", (str,)),
    ("bytes", (bytes,)),
    ("truth", (bool, np.bool_)),
    ("number", (int, float, np.number, decimal.Decimal)),
    ("time", (datetime.datetime,)),
    ("day", (datetime.date,)),
)
INTEGER_WITH_POINT = re.compile(r"([+-]?\d+)\.0+")
ID_TYPES = "an id or a label must be text, a number or a date"
FROM_FILE = "from_file"  # column with the file of each row
MISSING = ("NAType", "NaTType")  # types of missing values of pandas, in addition to None and NaN


def is_blank(value: Any) -> bool:
    """Whether a field is missing: null, or text that is empty or contains only spaces.

    >>> is_blank(" "), is_blank(None), is_blank("n/a"), is_blank(0)
    (True, True, False, False)
    """
    return value is None or (isinstance(value, str) and not value.strip())


def as_text(value: Any) -> str | None:
    """Return an id or a class as text, None for a missing value.

    The float 3.0 becomes "3", because a column of integers with blanks is often stored as floats.

    >>> [as_text(value) for value in ("cat", " ", 7, 3.0, float("nan"), True, b"cat")]
    ['cat', None, '7', '3', None, 'true', 'cat']
    """
    if isinstance(value, str):  # the usual case
        return str(value) if value.strip(BLANKS) else None
    if is_missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        value = int(value) if float(value).is_integer() else value
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    text = str(value)
    return text if text.strip(BLANKS) else None


def first_filled(values: Iterable[Any]) -> Any:
    """Return the first value that is not blank; None if there is none.

    >>> first_filled([None, " ", 0]), first_filled([])
    (0, None)
    """
    return next((value for value in values if as_text(value) is not None), None)


def id_text(value: Any) -> str | None:
    """Return an id or a class as text, as `as_text` does; refuse a float that may represent several ids.

    Raises:
        ColumnTypeError: the value is a float so large that several integers are rounded to it.

    >>> id_text(7.0)
    '7'
    """
    if isinstance(value, float | np.floating) and EXACT <= abs(float(value)) < math.inf:
        raise ColumnTypeError(
            f"{shown(float(value))} is a floating-point number, which is not exact from {EXACT:,} on, so two ids "
            "may have become one. Give such ids as text or as whole numbers"
        )
    return as_text(value)


def parse_number(text: str) -> float | None:
    """Parse a finite number; None for anything else, also for 1_000, which Python accepts.

    >>> parse_number(" 4.5"), parse_number("1_000"), parse_number("inf"), parse_number("cat")
    (4.5, None, None, None)
    """
    if not text.isascii() or "_" in text:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def integer_text(text: str) -> str:
    """Return the text "1.0" as "1", because integers in a column with blanks may be stored as floats.

    >>> integer_text("1.0"), integer_text("1.5"), integer_text("v1.0")
    ('1', '1.5', 'v1.0')
    """
    match = INTEGER_WITH_POINT.fullmatch(text) if text.endswith("0") else None
    return match[1] if match else text


def integer_texts(texts: Iterable[str | None]) -> list[str | None]:
    """Return texts with "1.0" as "1"; None remains None.

    >>> integer_texts(["1.0", None])
    ['1', None]
    """
    return [None if text is None else integer_text(text) for text in texts]


def is_missing(value: Any) -> bool:
    """Whether a value means that a field is missing: None, NaN, or a missing value of pandas.

    >>> is_missing(float("nan")), is_missing("nan")
    (True, False)
    """
    if value is None or type(value).__name__ in MISSING:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def array_of_values(values: Sequence[Any], name: str, *, nan_is_missing: bool = False) -> pa.Array:
    """Convert Python values of one type to an Arrow array.

    Args:
        values: values, with None, NaN or missing values of pandas for missing fields.
        name: name of the column, for messages.
        nan_is_missing: whether NaN among numbers is a missing value, as in pandas; otherwise it stays NaN.

    Raises:
        ColumnTypeError: the values have several types (Arrow would convert times to days if both occur).

    >>> array_of_values([1, None, 2], "task").type, array_of_values([2**64], "task").to_pylist()
    (DataType(int64), ['18446744073709551616'])
    """
    kinds = set(map(type, values)) - {type(None)}
    families = {_type_family(kind) for kind in kinds} - {""}
    if "" in map(_type_family, kinds) or (float in kinds and (nan_is_missing or len(families) > 1)):
        values = [None if is_missing(value) else value for value in values]
        kinds = set(map(type, values)) - {type(None)}
        families = {_type_family(kind) for kind in kinds}
    if len(families) > 1:
        refuse_mixed(values, repr(name), lambda value: _type_family(type(value)))
    if families == {"time"}:
        refuse_mixed(values, repr(name), lambda value: value.tzinfo is None)
    if kinds == {uuid.UUID}:
        values = [None if value is None else str(value) for value in values]
    try:
        return pa.array(values)
    except OverflowError:
        if not all(issubclass(kind, numbers.Integral) for kind in kinds):
            raise
        return integer_array(values)
    except (pa.ArrowException, TypeError, ValueError):
        raise _unusable_value_error(values, name) from None


def _unusable_value_error(values: Sequence[Any], name: str) -> ColumnTypeError:
    """Return the error about the first value that cannot be stored in an Arrow array."""
    for row, value in enumerate(values):
        try:
            pa.array([value])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            where = f"column {name!r} holds {shown(value)} in row {row + 1:,}"
            if isinstance(value, str):
                return ColumnTypeError(f"{where}, which has half a character and is no text; correct it")
            return ColumnTypeError(f"{where} ({type(value).__name__}); {ID_TYPES}")
    return ColumnTypeError(f"column {name!r} holds values of types that cannot be combined; {ID_TYPES}")


def integer_array(values: Sequence[int | None]) -> pa.Array:
    """Convert integers of any size to an Arrow array; to text if they fit no integer type.

    >>> integer_array([1, 2**63]).type, integer_array([-1, 2**63]).to_pylist()
    (DataType(uint64), ['-1', '9223372036854775808'])
    """
    integers = [int(value) for value in values if value is not None]
    if min(integers) >= -INT64 and max(integers) < INT64:
        return pa.array(values, pa.int64())
    if min(integers) >= 0 and max(integers) < UINT64:
        return pa.array(values, pa.uint64())
    texts = [None if value is None else str(value) for value in values]
    return pa.array(texts, pa.string()) if None in texts else from_strings(texts)  # type: ignore[arg-type]


def _type_family(kind: type) -> str:
    """Return the family of a type (text, number, ...); empty for types of missing values."""
    if kind.__name__ in MISSING:
        return ""
    return next((name for name, kinds in FAMILIES if issubclass(kind, kinds)), kind.__name__)


def refuse_mixed(values: Sequence[Any], column: str, kind_of: Callable[[Any], Any], unit: str = "row") -> None:
    """Refuse values of two kinds, with an error that names the first row of each kind.

    Args:
        values: values of a column.
        column: name of the column, as in the message.
        kind_of: function that returns the kind of a value.
        unit: what contains one value: a row of a table, or a line of a file.

    Raises:
        ColumnTypeError: there are two kinds.

    >>> refuse_mixed([1, None, 2], "'label'", type)
    """
    first: dict[Any, int] = {}
    for row, value in enumerate(values):
        if value is not None:
            first.setdefault(kind_of(value), row)
    if len(first) > 1:
        one, two = list(first.values())[:2]
        raise ColumnTypeError(
            f"column {column} changes its type from {unit} to {unit}: row {one + 1:,} has {shown(values[one])}, "
            f"row {two + 1:,} {shown(values[two])}; give all its values one type"
        )


def group_by(names: Iterable[str], key: Callable[[str], str]) -> dict[str, list[str]]:
    """Return key -> the names with this key, in the order of the names.

    >>> group_by(["a1", "b1", "a2"], lambda name: name[0])
    {'a': ['a1', 'a2'], 'b': ['b1']}
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return groups


KEY_SEPARATOR = " / "  # between the parts of a composite id


def join_keys(columns: Iterable[Sequence[str | None]]) -> list[str | None]:
    """Return the composite id of each row, joined from several columns; None where a part is blank.

    >>> join_keys([["1", "2.0", "3"], ["a", "b", None]])
    ['1 / a', '2 / b', None]
    """
    keys = zip(*map(integer_texts, columns), strict=True)
    return [None if None in key else KEY_SEPARATOR.join(str(part) for part in key) for key in keys]


def exact_keys(columns: Iterable[Sequence[str | None]]) -> list[str | None]:
    """Return the composite id of each row as JSON, which is unique also if a part is blank or contains the separator.

    >>> exact_keys([["1", "2.0", None], ["a / b", None, None]])
    ['["1", "a / b"]', '["2", null]', None]
    """
    keys = zip(*map(integer_texts, columns), strict=True)
    return [None if set(key) == {None} else json.dumps(key, ensure_ascii=False) for key in keys]


def keys_among(columns: Sequence[Sequence[str | None]], known: pa.Array) -> list[str | None]:
    """Return the composite id of each row in the form of the known ids: as `join_keys` or as `exact_keys` writes it.

    >>> keys_among([["1"], ["a"]], pa.array(['["1", "a"]', '["1", null]'])), keys_among([["1"], ["a"]], pa.array([""]))
    (['["1", "a"]'], ['1 / a'])
    """
    ids = set(known.to_pylist())
    joined = join_keys(columns)
    if not ids.isdisjoint(joined):
        return joined
    exact = exact_keys(columns)
    return joined if ids.isdisjoint(exact) else exact


def common_prefix(names: Sequence[str]) -> str:
    """Return the longest text with which all names begin.

    >>> common_prefix(["judge_a", "judge_b"])
    'judge_'
    """
    first = min(names)
    last = max(names)
    return first[: next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def natural_order(names: Sequence[str]) -> list[str]:
    """Return the names sorted with numbers by their value: q2 comes before q10.

    >>> natural_order(["q10", "q2", "q1"])
    ['q1', 'q2', 'q10']
    """

    def key(name: str) -> list[tuple[int, str]]:
        parts = re.split(r"(\d+)", name)
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts if part]

    return sorted(names, key=key)
