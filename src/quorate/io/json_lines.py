"""Read the bytes of a JSON lines file into an Arrow table of the requested columns.

Arrow's reader is ten times as fast as Python's, but converts texts to dates and large integers to floats, and some
lines that are not objects crash the process. Therefore Arrow reads only files in which every line matches a pattern
made from the first line: an object with the same fields in the same order, whose values are texts without escapes,
integers of at most 18 digits, true or false. Python parses all other files, without loss of digits or text.
"""

import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from quorate.arrays import from_strings
from quorate.errors import ColumnTypeError, WrongFormatError, reason, shown
from quorate.io.csv_files import explain_bytes
from quorate.io.dataframes import Columns, check_columns
from quorate.io.values import EXACT, integer_array, refuse_mixed
from quorate.progress import report

MIN_PLAIN_BYTES = 1 << 16  # for smaller files, checking the pattern takes longer than it saves
PLAIN_CHUNK_BYTES = 1 << 22  # bytes that are matched at a time
MAX_FIELDS = 1_000  # of a line: compiling a pattern of more fields takes longer than parsing the lines
VALUES: dict[type, tuple[bytes, pa.DataType]] = {
    str: (rb'"[^"\\\x00-\x1f]*"', pa.string()),
    int: (rb"(?:0|-?[1-9][0-9]{0,17})", pa.int64()),
    bool: (rb"(?:true|false)", pa.bool_()),
}


def read_plain(data: pa.Buffer, columns: Columns) -> pa.Table | None:
    r"""Read a file whose lines all match the pattern of the first; None if one does not, or a column is missing.

    Args:
        data: the file, which is valid UTF-8.
        columns: requested columns.

    >>> line = b'{"task": "2024-05-01", "label": 7}'
    >>> read_plain(pa.py_buffer(b"\n".join([line] * 3000)), {"task": "", "label": ""}).slice(0, 1).to_pylist()
    [{'task': '2024-05-01', 'label': 7}]
    >>> read_plain(pa.py_buffer(line), {"task": ""}) is None
    True
    """
    if len(data) < MIN_PLAIN_BYTES:
        return None
    raw = memoryview(data)
    start = 3 if bytes(raw[:3]) == b"\xef\xbb\xbf" else 0
    first = bytes(raw[start : start + PLAIN_CHUNK_BYTES]).partition(b"\n")[0]
    pattern_and_types = _pattern(first)
    if pattern_and_types is None or not set(columns) <= set(pattern_and_types[1]):
        return None
    pattern, types = pattern_and_types
    return _by_arrow(data.slice(start), columns, types) if _all_lines_match(raw, start, pattern) else None


def _pattern(line: bytes) -> tuple[re.Pattern[bytes], dict[str, type]] | None:
    """Return a pattern of lines with the same fields, and the type of each field; None if Arrow cannot read them."""
    try:
        pairs: list[tuple[str, Any]] = json.loads(line, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    if (
        not isinstance(pairs, list)
        or not 0 < len(pairs) <= MAX_FIELDS
        or not all(isinstance(pair, tuple) for pair in pairs)
    ):
        return None
    types = {name: type(value) for name, value in pairs}
    if len(types) < len(pairs) or not set(types.values()) <= set(VALUES):
        return None
    parts = [(json.dumps(name, ensure_ascii=False).encode(), VALUES[kind][0]) for name, kind in types.items()]
    if any(b"\\" in name for name, _ in parts):
        return None
    fields = rb" ?, ?".join(re.escape(name) + rb" ?: ?" + value for name, value in parts)
    # Atomic group and possessive repetition: without backtracking, the time is linear in the number of bytes.
    return re.compile(rb"(?>\{ ?" + fields + rb" ?\}(?:\r?\n|\Z))*+"), types


def _all_lines_match(raw: memoryview, start: int, pattern: re.Pattern[bytes]) -> bool:
    """Whether every line from byte ``start`` to the end matches the pattern."""
    while start < len(raw):
        end = len(raw)
        if end - start > PLAIN_CHUNK_BYTES:
            cut = bytes(raw[start : start + PLAIN_CHUNK_BYTES]).rfind(b"\n")
            if cut < 0:
                return False
            end = start + cut + 1
        if pattern.fullmatch(raw, start, end) is None:
            return False
        start = end
    return True


def _by_arrow(data: pa.Buffer, columns: Columns, types: dict[str, type]) -> pa.Table | None:
    from pyarrow import json as arrow_json

    schema = pa.schema([(name, VALUES[types[name]][1]) for name in columns])
    parsing = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = arrow_json.read_json(pa.BufferReader(data), parse_options=parsing)
    except pa.ArrowException:  # for example, a line is longer than Arrow's blocks
        return None
    return table.select(list(columns))


MAX_SAMPLED_RECORDS = 100  # records whose fields a message about a missing column lists
CHUNK_BYTES = 1 << 20  # bytes of lines that are parsed at a time, so that the records stay in the CPU's cache
LONG_LINE = 50_000  # bytes; a shorter line cannot have 10,000 fields (`MAX_COLUMNS`) of at least 5 bytes each
ONE_OBJECT = "Write one object per line"


def read_json_lines(data: pa.Buffer, name: str, columns: Columns, lists: Collection[str] = ()) -> pa.Table:
    """Parse JSON lines; return the requested columns, each with values of one type.

    Args:
        data: the file, uncompressed.
        name: name of the file, for messages.
        columns: as in `quorate.io.read_table.read_table`.
        lists: columns that may contain lists, for example several labels of a task.

    Raises:
        InputError: the file cannot be read as JSON lines; each cause has its own class.

    >>> data = pa.py_buffer(b'{"task": "2024-05-01", "label": "x"}')
    >>> read_json_lines(data, "a.jsonl", {"task": ""}).to_pydict()
    {'task': ['2024-05-01']}
    """
    explain_bytes(data, name, "utf-8")
    _check_first(data, name)
    plain = read_plain(data, columns)
    if plain is not None:
        return plain
    column_of = {column: _Column(column, name, column in lists) for column in columns}
    fields: dict[str, None] = {}  # the requested columns that exist and, for a message, those of the first records
    size = max(len(data), 1)
    for done, first, records in _chunks(data, name):
        report("reading (MB)", done >> 20, size >> 20)
        if not fields:
            fields = {name: None for record in records[:MAX_SAMPLED_RECORDS] for name in record}
        for column in columns:
            if column not in fields and any(column in record for record in records):
                fields[column] = None
        for column, values in column_of.items():
            values.take([record.get(column) for record in records], first)
    check_columns(list(fields), columns, name)
    arrays = [values.array() for values in column_of.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def _check_first(data: pa.Buffer, name: str) -> None:
    """Refuse a first record with too many fields before the file is parsed."""
    end = LONG_LINE
    while end < len(data) and b"\n" not in bytes(data[end - LONG_LINE : end]):
        end += LONG_LINE
    if end > LONG_LINE:
        try:
            record = json.loads(bytes(data[:end]).partition(b"\n")[0].decode("utf-8-sig"))
        except (ValueError, RecursionError):  # the reader reports the error later
            return
        check_columns(record if isinstance(record, dict) else (), {}, name)


def parse_line(line: str, where: str) -> Any:
    """Parse a line that contains exactly one JSON value.

    Raises:
        WrongFormatError: the line is not one JSON value; ``where`` names the line and the file.

    >>> parse_line('{"task": 1}', "line 1 of a.jsonl")
    {'task': 1}
    """
    try:
        value, end = _DECODER.raw_decode(line)
    except (ValueError, RecursionError) as error:
        raise WrongFormatError(f"{where} {json_problem(error, shown(line.strip()))}. {ONE_OBJECT}") from None
    if line[end:].strip():
        raise WrongFormatError(f"{where} is not JSON: {shown(line.strip())}. {ONE_OBJECT}")
    return value


def json_problem(error: Exception, text: str) -> str:
    """Return why a text could not be parsed: it is not JSON, has too large a number, or is nested too deeply.

    >>> json_problem(RecursionError(), "'[[[[['…")
    "has lists or records that are nested too deeply: '[[[[['…"
    """
    if isinstance(error, RecursionError):
        return f"has lists or records that are nested too deeply: {text}"
    if "integer string conversion" in str(error):  # Python's limit for the digits of an integer
        return f"has a number of more than {sys.get_int_max_str_digits():,} digits, which as an id is text: {text}"
    return f"is not JSON: {text}" + ("" if isinstance(error, json.JSONDecodeError) else f" ({reason(error)})")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {shown(twice)} occurs twice")
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
_SCAN: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # not in the type stubs


def _chunks(data: pa.Buffer, name: str) -> Iterator[tuple[int, int, list[dict[str, Any]]]]:
    """Yield, for chunks of about `CHUNK_BYTES`, the number of bytes read, the row of the first record, the records."""
    raw = memoryview(data)
    at = 3 if bytes(raw[:3]) == b"\xef\xbb\xbf" else 0
    row = number = 0
    while at < len(raw):
        end = min(at + CHUNK_BYTES, len(raw))
        piece = bytes(raw[at:end])
        if end < len(raw):  # only complete lines; a line may be longer than a chunk
            cut = piece.rfind(b"\n") + 1
            while not cut and end < len(raw):
                end = min(end + CHUNK_BYTES, len(raw))
                piece = bytes(raw[at:end])
                cut = piece.rfind(b"\n") + 1
            piece = piece[:cut] if cut else piece
        at += len(piece)
        lines = piece.replace(b"\r\n", b"\n").removesuffix(b"\n").decode().split("\n")
        records = _parse_flat_lines([line for line in lines if line]) or _parse_lines(lines, number, name)
        yield at, row, records
        row = row + len(records)
        number = number + len(lines)


def _parse_flat_lines(lines: list[str]) -> list[dict[str, Any]]:
    """Parse lines that are flat objects without blanks around them; return an empty list if one line is not."""
    try:
        scanned = [_SCAN(line, 0) for line in lines]
    except (ValueError, RecursionError, StopIteration):
        return []
    records = [record for record, _ in scanned]
    plain = (
        [end for _, end in scanned] == [len(line) for line in lines]
        and set(map(type, records)) == {dict}
        # Every field has a quote and a colon after its name. If they are as many as the fields, no field occurs twice.
        and [line.count('":') for line in lines] == [len(record) for record in records]
    )
    return records if plain else []


def _parse_lines(lines: list[str], number: int, name: str) -> list[dict[str, Any]]:
    """Parse lines of any kind, with the line number in errors; ``number`` is the number of earlier lines."""
    records = []
    for line_number, raw in enumerate(lines, start=number + 1):
        line = raw.strip(" \t\r")
        if line:
            where = f"line {line_number:,} of {name}"
            record = parse_line(line, where)
            if not isinstance(record, dict):
                raise WrongFormatError(f"{where} is not a JSON object: {shown(line)}. {ONE_OBJECT}")
            records.append(record)
    return records


@dataclass
class _Column:
    """The values of one field; filled while the file is read. They must have one type."""

    name: str
    file: str
    may_list: bool = False
    values: list[Any] = field(default_factory=list)
    kinds: set[type] = field(default_factory=set)

    def take(self, values: list[Any], row: int) -> None:
        """Add the values of successive rows; ``row`` is the number of the first, from 0."""
        self.kinds |= set(map(type, values)) - {type(None)}
        nested = self.kinds & ({dict} if self.may_list else {dict, list})
        if nested:
            at = next(k for k, value in enumerate(values) if type(value) in nested)
            kind = "list" if type(values[at]) is list else "record"
            raise ColumnTypeError(
                f"column {self.name!r} holds {kind} values, the first in row {row + at + 1:,}: {shown(values[at])}; an "
                "id or a label must be text, a number, true or false"
            )
        self.values += values

    def array(self) -> pa.Array:
        """Return the values as an Arrow array.

        Raises:
            ColumnTypeError: the values have several types, or a text is not valid.
        """
        if self.kinds == {int, float}:  # integers become floats, if all of them are exact as floats
            at = next((k for k, value in enumerate(self.values) if type(value) is int and abs(value) > EXACT), None)
            if at is not None:
                raise ColumnTypeError(
                    f"column {self.name!r} of {self.file} changes its type from line to line: it holds fractions, "
                    f"and in row {at + 1:,} {shown(self.values[at])}, which cannot be stored exactly as a "
                    "fraction; write all values as text"
                )
        elif len(self.kinds) > 1:
            refuse_mixed(self.values, f"{self.name!r} of {self.file}", type, "line")
        if str in self.kinds:
            return self._text(self.values)
        if list in self.kinds:
            return self._lists()
        if self.kinds == {int}:
            return integer_array(self.values)
        return pa.array(self.values, pa.float64() if float in self.kinds else None)

    def _lists(self) -> pa.Array:
        """Return the lists with every entry as text."""
        try:
            return pa.array([None if row is None else [_entry(value) for value in row] for row in self.values])
        except TypeError:
            nested = (any(isinstance(entry, dict | list) for entry in row or ()) for row in self.values)
            at = next(k for k, is_nested in enumerate(nested) if is_nested)
            raise ColumnTypeError(
                f"column {self.name!r} of {self.file} holds {shown(self.values[at])} in row {at + 1:,}; several labels "
                "are one list of text or numbers"
            ) from None

    def _text(self, values: list[str | None]) -> pa.Array:
        try:
            if None not in values:
                return from_strings(values)  # type: ignore[arg-type]  # there is no None in it
            return pa.array(values, pa.string())
        except UnicodeEncodeError:
            at = next(k for k, value in enumerate(values) if value is not None and not _is_text(value))
            raise ColumnTypeError(
                f"column {self.name!r} of {self.file} holds {shown(values[at])} in row {at + 1:,}, which has an "
                "incomplete character and is not valid text; correct it"
            ) from None


def _entry(value: Any) -> str | None:
    """Return an entry of a list as text; None for null."""
    if isinstance(value, dict | list):
        raise TypeError
    if value is None:
        return None
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def each_line(text: str, name: str) -> Iterable[Any]:
    r"""Yield the JSON value of every line that is not blank.

    >>> list(each_line('{"a": 1}\n\n{"a": 2}', "a.jsonl"))
    [{'a': 1}, {'a': 2}]
    """
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip(" \t\r")
        if stripped:
            yield parse_line(stripped, f"line {number:,} of {name}")
