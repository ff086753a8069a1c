"""Columns of ids, labels and numbers, for all readers: integer codes with their values, numbers, missing fields.

`encode` returns codes and `number_column` numbers. `refuse_missing` and `value_of_each` are the checks that tables of
answers, gold, scores, costs, skills and comparisons share. The last part proposes columns by their usual names.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import quorate.arrow_compute as pc
from quorate.arrays import (
    TEXT,
    BoolArray,
    FloatArray,
    IntArray,
    canonical_order,
    counts_of_codes,
    from_numpy,
    from_strings,
    take,
    to_numpy,
)
from quorate.blocks.encoding import first_appearance, recode
from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    InputError,
    MissingColumnError,
    OptionError,
    listing,
    reason,
    rows_phrase,
    shown,
)
from quorate.io.column_names import columns_named_as, is_text, match_name
from quorate.io.values import ID_TYPES, array_of_values, as_text, parse_number

if TYPE_CHECKING:
    from quorate.io.encoded_table import EncodedColumn

is_kind = pa.types
BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())
SKIP_REMEDY = "Fill it in, or ignore such rows with skip_missing=True (--skip-missing)"


def plain(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as text, numbers, booleans, dates or times, however it was stored.

    Raises:
        ColumnTypeError: it holds lists, records, or bytes that are not text.

    >>> plain(pa.chunked_array([pa.array([b"cat"], pa.binary())]), "label").to_pylist()
    ['cat']
    """
    kind = column.type
    try:
        if getattr(kind, "extension_name", "") == "arrow.uuid":
            texts = [None if value is None else str(value) for value in column.to_pylist()]
            column = pa.chunked_array([pa.array(texts, pa.string())])
        elif isinstance(kind, pa.BaseExtensionType):
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        elif is_kind.is_dictionary(kind):
            column = _decode_dictionary(column, name)
        elif is_kind.is_run_end_encoded(kind):
            column = _chunked(column, kind.value_type, pc.run_end_decode)
        elif kind in BYTES or is_kind.is_fixed_size_binary(kind):
            column = _as_text(column, name)
        elif is_kind.is_string_view(kind):
            column = _from_views(column)
        elif is_kind.is_float16(kind):
            column = column.cast(pa.float32())
        elif is_kind.is_floating(kind):
            column = one_zero(column)
    except (pa.ArrowException, TypeError) as error:
        raise ColumnTypeError(
            f"column {name!r} holds {_type_name(kind)} values that cannot be read: {reason(error)}"
        ) from None
    if is_kind.is_nested(column.type) or is_kind.is_interval(column.type):
        raise ColumnTypeError(f"column {name!r} holds {_type_name(column.type)} values; {ID_TYPES}")
    return column if column.type == kind else plain(column, name)


def one_zero(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return floating-point numbers with -0.0 replaced by 0.0.

    >>> one_zero(pa.array([-0.0, 1.5])).to_pylist()
    [0.0, 1.5]
    """
    return pc.add(column, pa.scalar(0.0, column.type))


def exact_up_to(kind: pa.DataType) -> int | None:
    """Return the largest integer up to which a float type holds every integer exactly; None for other types.

    >>> exact_up_to(pa.float64()) == 2**53, exact_up_to(pa.int64())
    (True, None)
    """
    if is_kind.is_dictionary(kind) or is_kind.is_run_end_encoded(kind):
        kind = kind.value_type
    # Binary digits of the significand (IEEE 754).
    digits = {pa.float16(): 11, pa.float32(): 24, pa.float64(): 53}
    return 1 << digits[kind] if kind in digits else None


def check_values(names: pa.Array, name: str) -> None:
    """Refuse values that cannot be written to a file: invalid text, and dates out of range.

    Raises:
        ColumnTypeError: there is such a value.

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
            f"column {name!r} holds {_type_name(kind)} values that cannot be written again: {reason(error)}; write "
            "them as text"
        ) from None


def _decode_dictionary(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return the values of a dictionary column; they may be of any type that `plain` takes."""
    pieces = [(plain(pa.chunked_array([chunk.dictionary]), name), chunk.indices) for chunk in column.chunks]
    kind = pieces[0][0].type if pieces else column.type.value_type
    return pa.chunked_array([values.combine_chunks().take(codes) for values, codes in pieces], kind)


def _from_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert text from the type string_view, which polars returns."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowNotImplementedError:  # older versions of Arrow have no such cast
        return _chunked(column, pa.large_string(), lambda chunk: pa.array(chunk.to_pylist(), pa.large_string()))


def _chunked(column: pa.ChunkedArray, kind: pa.DataType, change: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    return pa.chunked_array([change(chunk) for chunk in column.chunks], kind)


def _as_text(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert a column of bytes, in which some programs store text, to text; refuse bytes that are not valid UTF-8."""
    try:
        return column.cast(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        for row, value in enumerate(column):
            content = value.as_py()
            try:
                (content or b"").decode()
            except UnicodeDecodeError:
                raise ColumnTypeError(
                    f"column {name!r} holds {shown(content)} in row {row + 1:,}: bytes that are not text; write "
                    "ids and labels as text"
                ) from None
        raise


def _type_name(kind: pa.DataType) -> str:
    text = str(kind)
    return text if len(text) <= 80 else f"{text[:80]}…"


# The characters of `quorate.io.values.BLANKS`, as a pattern.
BLANK = r"^[\s\x0b]*$"
NO_LABEL = r"^[\s\x0b]*((?i)nan)?[\s\x0b]*$"


def encode(
    column: "pa.ChunkedArray | EncodedColumn", name: str, *, is_label: bool = False, is_quantity: bool = False
) -> tuple[IntArray, pa.Array]:
    """Return codes in order of first appearance (-1 for a missing field) and the values that they stand for.

    Nulls, blank text and NaN are missing fields; in a label also the text ``nan``, which is NaN in CSV files.

    Args:
        column: ids, labels or quantities; the codes of an encoded column may be overwritten.
        name: name of the column, for messages.
        is_label: whether the text ``nan`` is a missing value.
        is_quantity: whether the values are measurements such as times, which may become equal by rounding.

    Raises:
        ColumnTypeError: the values cannot be ids, or are floats so large that different integers may be equal.

    >>> codes, names = encode(pa.chunked_array([["b", " ", "a", "b"]]), "task")
    >>> codes.tolist(), names.to_pylist()
    ([0, -1, 1, 0], ['b', 'a'])
    """
    exact = exact_up_to(column.type)
    if isinstance(column, pa.ChunkedArray):
        column = plain(column, name)
        if pa.types.is_null(column.type):
            return np.full(len(column), -1, np.int32), from_strings([])
        try:
            codes, names = first_appearance(column)
        except (pa.ArrowException, ValueError) as error:
            raise ColumnTypeError(
                f"column {name!r} holds {column.type} values that cannot be compared: {reason(error)}"
            ) from None
    else:
        codes = column.codes
        names = column.values
    check_values(names, name)
    if exact is not None and not is_quantity:
        _refuse_inexact(names, f"column {name!r} holds", exact)
    absent = _is_missing(names, is_label)
    if absent.any():  # for Arrow, blank text and NaN are values; here they are missing
        codes = recode(codes, np.where(absent, -1, np.cumsum(~absent) - 1))
        names = pc.select(names, from_numpy(~absent))
    return codes, names


def _is_missing(names: pa.Array, is_label: bool) -> BoolArray:
    if names.type in TEXT:
        absent = np.zeros(len(names), dtype=bool)
        first = _first_bytes(names)
        may_be = np.flatnonzero((first <= ord(" ")) | (is_label & ((first | 32) == ord("n"))))  # usually few
        absent[may_be] = to_numpy(pc.matches(take(names, may_be), NO_LABEL if is_label else BLANK))
        return absent
    if pa.types.is_floating(names.type):
        return to_numpy(pc.is_nan(names))
    return np.zeros(len(names), dtype=bool)


def _first_bytes(text: pa.Array) -> NDArray[np.uint8]:
    """Return the first byte of each text, 0 for an empty one; no text is null."""
    width = np.dtype(np.int64 if text.type == pa.large_string() else np.int32)
    offsets: IntArray = np.frombuffer(text.buffers()[1], width)
    starts = offsets[text.offset : text.offset + len(text)]
    ends = offsets[text.offset + 1 : text.offset + len(text) + 1]
    data = np.frombuffer(text.buffers()[2] or b"", np.uint8)
    return np.where(ends > starts, np.append(data, np.uint8(0))[starts], 0)


def _refuse_inexact(names: pa.Array, message_start: str, exact: int) -> None:
    """Refuse floats so large that several integers are rounded to the same float."""
    values = to_numpy(names.drop_null())
    inexact = np.flatnonzero(np.isfinite(values) & (np.abs(values) >= exact))
    if len(inexact):
        raise ColumnTypeError(
            f"{message_start} {shown(float(values[inexact[0]]))} as a {names.type}, which is not exact from {exact:,} "
            "on, so two ids may have become one. Give such ids as text or as whole numbers (in pandas, read the "
            "column with dtype 'str' or 'Int64')"
        )


def refuse_missing(
    codes: IntArray,
    name: str,
    what: str = "",
    *,
    remedy: str = "fill it in",
    error: type[InputError] = BlankFieldError,
) -> None:
    """Refuse a column in which fields are missing.

    Args:
        codes: code of each row, negative where the field is missing.
        name: name of the column, for the message.
        what: name of the table, for the message.
        remedy: what to do, for the message.
        error: class of the error.

    >>> refuse_missing(np.array([0, -1]), "worker", "the costs")
    Traceback (most recent call last):
    quorate.errors.BlankFieldError: 'worker' is missing in row 2 of the costs; fill it in
    """
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        where = f"{rows_phrase(missing.tolist())} of {what}" if what else rows_phrase(missing.tolist())
        raise error(f"{name!r} is missing in {where}; {remedy}")


def value_of_each(
    codes: IntArray,
    values: NDArray[Any],
    names: pa.Array,
    conflict: Callable[[str, str], InputError],
    *,
    rows: IntArray | None = None,
) -> NDArray[Any]:
    """Return the value of each code; a code may occur several times if its value is always the same.

    Args:
        codes: code of each row, none negative; each code occurs.
        values: value of each row.
        names: the value that each code stands for.
        conflict: returns the error about a code with two values, from its name and the rows that contradict the first.
        rows: row number in the table for each of these rows, if some rows were left out.

    >>> value_of_each(np.array([0, 1, 0]), np.array([5, 6, 5]), pa.array(["a", "b"]), lambda *_: InputError()).tolist()
    [5, 6]
    """
    first = np.empty(len(names), values.dtype)
    first[codes[::-1]] = values[::-1]
    clash = np.flatnonzero(first[codes] != values)
    if len(clash):
        places = clash if rows is None else rows[clash]
        raise conflict(shown(names[int(codes[clash[0]])].as_py()), rows_phrase(places.tolist()))
    return first


def numbers_in(values: pa.Array) -> FloatArray:
    """Return values as numbers, NaN for a value that is not a number; texts are parsed by `parse_number`.

    >>> numbers_in(pa.array(["4.5", " 3", "n/a"])).tolist()
    [4.5, 3.0, nan]
    """
    kind = values.type
    if kind in TEXT:
        parsed = [parse_number(text) for text in values.to_pylist()]
        return np.array([np.nan if number is None else number for number in parsed], dtype=np.float64)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = to_numpy(values.cast(pa.float64(), safe=False)).astype(np.float64)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    return np.full(len(values), np.nan)


def number_column(
    column: pa.ChunkedArray,
    name: str,
    what: str = "",
    *,
    allow_missing: bool = False,
    error: type[InputError] = ColumnTypeError,
) -> FloatArray:
    """Return a column as numbers, NaN where a field is missing.

    Args:
        column: numbers, or texts that are numbers.
        name: name of the column, for messages.
        what: name of the table, for messages.
        allow_missing: whether fields may be missing; otherwise a missing field is an error.
        error: class of the error for a value that is not a number.

    Raises:
        BlankFieldError: a field is missing, and ``allow_missing`` is false.

    >>> number_column(pa.chunked_array([["1", "2.5", " "]]), "cost", allow_missing=True).tolist()
    [1.0, 2.5, nan]
    """
    codes, values = encode(column, name, is_label=True, is_quantity=True)
    numbers = numbers_in(values)
    wrong = np.flatnonzero(np.isnan(numbers))
    if len(wrong):
        rows = rows_phrase(np.flatnonzero(codes == wrong[0]).tolist())
        where = f"{rows} of {what}" if what else rows
        raise error(f"column {name!r} must hold numbers, and has {shown(values[int(wrong[0])].as_py())} in {where}")
    if not allow_missing:
        refuse_missing(codes, name, what, error=BlankFieldError if error is ColumnTypeError else error)
    return np.append(numbers, np.nan)[codes]


def as_type(values: Sequence[Any] | pa.Array, kind: pa.DataType, what: str) -> pa.Array:
    """Convert values to the type of the answers; refuse values that would change or become equal to another.

    Raises:
        ColumnTypeError: a value cannot be converted, would change, or would become equal to another.

    >>> as_type([1, 2], pa.string(), "classes").to_pylist()
    ['1', '2']
    """
    try:
        array = values if isinstance(values, pa.Array) else array_of_values(list(values), what)
    except ColumnTypeError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ColumnTypeError(f"the {what} cannot be used ({reason(error)}); {ID_TYPES}") from None
    if is_kind.is_nested(array.type):
        raise ColumnTypeError(f"the {what} hold {_type_name(array.type)} values; {ID_TYPES}")
    exact = exact_up_to(array.type)
    if exact is not None:
        _refuse_inexact(array, f"the {what} hold", exact)
        array = one_zero(array)
    if array.type == kind:
        return array
    if _is_zoned(array.type) is not _is_zoned(kind) and None not in (_is_zoned(array.type), _is_zoned(kind)):
        raise ColumnTypeError(
            f"the {what} are {array.type} values, those of the answers {kind}: a time with a time zone and one without "
            "are not the same moment; give both a zone, or neither"
        )
    try:
        converted = _texts(array).cast(kind) if kind in TEXT else array.cast(kind)
        restored = array if kind in TEXT or array.type in TEXT else converted.cast(array.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise ColumnTypeError(
            f"the {what} hold {_type_name(array.type)} values, and the answers {_type_name(kind)}. Write both in the "
            "same way"
        ) from None
    _refuse_changed(array, converted, restored, what)
    return converted


def _refuse_changed(original: pa.Array, converted: pa.Array, restored: pa.Array, what: str) -> None:
    """Refuse values that change when converted to the type of the answers, and different values that become equal.

    A value is unchanged if the reverse conversion restores it, or if both are written in the same way: 0.1 is 0.1 in
    single and in double precision.
    """
    differs = (
        []
        if restored is original
        else np.flatnonzero(~to_numpy(pc.fill_null(pc.equal(original, restored), True))).tolist()
    )
    for k in differs:
        if as_text(original[k].as_py()) != as_text(_shortest_decimal(converted[k])):
            raise ColumnTypeError(
                f"the {what} hold {shown(original[k].as_py())}; as {converted.type}, the type of the answers, "
                f"it would become {shown(converted[k].as_py())}. Write both in the same way"
            )
    if len(converted.unique()) < len(original.unique()):
        first: dict[Any, Any] = {}
        for value, became in zip(original.to_pylist(), converted.to_pylist(), strict=True):
            if first.setdefault(became, value) != value:
                raise ColumnTypeError(
                    f"the {what} hold {shown(first[became])} and {shown(value)}; as {converted.type}, the type of "
                    "the answers, they would be the same. Write both in the same way"
                )


def _shortest_decimal(value: pa.Scalar) -> Any:
    """Return a single-precision number as the shortest decimal number that rounds to it; any other value unchanged."""
    return float(str(np.float32(value.as_py()))) if value.type == pa.float32() else value.as_py()


def _is_zoned(kind: pa.DataType) -> bool | None:
    """Whether a timestamp type has a time zone; None for other types."""
    return kind.tz is not None if pa.types.is_timestamp(kind) else None


def _texts(values: pa.Array) -> pa.Array:
    """Return values as text; the float 3.0 becomes "3"."""
    if values.type in TEXT or pa.types.is_integer(values.type):
        return values.cast(pa.string())
    if pa.types.is_floating(values.type) and pc.all(pc.equal(pc.floor(values), values)).as_py():
        return values.cast(pa.int64()).cast(pa.string())  # five times as fast as one by one
    return pa.array([as_text(value) for value in values.to_pylist()], pa.string())


def positions(values: pa.Array, among: pa.Array) -> IntArray:
    """Return the index of each value in another array; -1 for a value that is not in it.

    >>> positions(pa.array(["b", "z"]), pa.array(["a", "b"])).tolist()
    [1, -1]
    """
    index = pc.index_in(values, value_set=among)
    return np.where(to_numpy(index.is_valid()), to_numpy(index), -1).astype(np.int64)


def codes_among(values: Sequence[Any] | pa.Array, names: pa.Array, what: str) -> IntArray:
    """Return the index of each value among names, after conversion to their type; -1 for a value that is not there.

    Raises:
        ColumnTypeError: the values cannot be converted; the message calls them ``what``.

    >>> codes_among([2, 9], pa.array(["1", "2"]), "known tasks").tolist()
    [1, -1]
    """
    return positions(as_type(values, names.type, what), names)


def order_classes(labels: IntArray, names: pa.Array, classes: Sequence[Any] | None) -> tuple[IntArray, pa.Array]:
    """Recode labels by the order of the classes: as the caller lists them, or those in use (numbers by value).

    >>> codes, classes = order_classes(np.array([0, 1, 0]), pa.array(["10", "9"]), None)
    >>> codes.tolist(), classes.to_pylist()
    ([1, 0, 1], ['9', '10'])
    """
    used: IntArray = np.flatnonzero(counts_of_codes(labels, len(names)))
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
                "the answers have classes that classes= (--classes) does not list: "
                f"{listing(unlisted.to_pylist())}; add them to the list"
            )
        ranked = positions(listed, names)
    new_code = np.full(len(names), -1, np.int32)
    new_code[ranked[ranked >= 0]] = np.flatnonzero(ranked >= 0)
    is_as_before = labels.dtype == np.int32 and np.array_equal(new_code[used], used)
    return labels if is_as_before else new_code[labels], listed


def in_order_of_ids(codes: IntArray, names: pa.Array) -> tuple[IntArray, pa.Array]:
    """Recode names so that they are in canonical order; return the new codes (-1 remains) and the sorted names.

    >>> codes, names = in_order_of_ids(np.array([0, 1, -1, 0]), pa.array(["b", "a"]))
    >>> codes.tolist(), names.to_pylist()
    ([1, 0, -1, 1], ['a', 'b'])
    """
    order = canonical_order(names)
    if np.array_equal(order, np.arange(len(names))):
        return codes, names
    new_code = np.empty(len(names), np.int32)
    new_code[order] = np.arange(len(names), dtype=np.int32)
    return recode(codes, new_code), take(names, order)


def refuse_other_names(fields: Sequence[str], chosen: Mapping[str, str | None], name: str) -> None:
    """Refuse a table whose columns seem to have other names, and show how to name them.

    Args:
        fields: columns of the table.
        chosen: role -> the column that the caller named; None for a role without one.
        name: name of the table, for the error.

    Raises:
        MissingColumnError: for every role there is a column that the caller named or whose name indicates the role.

    >>> refuse_other_names(["x", "y"], {"task": None, "worker": None, "label": None}, "answers.csv")
    >>> refuse_other_names(["item", "worker", "my answer"], {"task": None, "worker": None, "label": None}, "a.csv")
    Traceback (most recent call last):
    quorate.errors.MissingColumnError: a.csv has the columns ...; name the columns to use with task='item', label=...
    """
    column_of_role: dict[str, str] = {}
    for role, named in chosen.items():
        by_name = sorted((column for _, column in columns_named_as(fields, role)), key=is_text)  # ids before texts
        candidates = [match_name(role, list(fields)), *by_name] if named is None else [named]
        column = next((c for c in candidates if c in fields and c not in column_of_role.values()), None)
        if column is None:
            return
        column_of_role[role] = column
    to_name = {role: column for role, column in column_of_role.items() if role != column}
    arguments = ", ".join(f"{role}={column!r}" for role, column in to_name.items())
    typed = shlex.join(word for role, column in to_name.items() for word in (f"--{role}", column))
    raise MissingColumnError(
        f"{name} has the columns {listing(fields, 12)}; name the columns to use with {arguments} ({typed})"
    )
