"""A source of unknown format -> what its first bytes tell, and all of it once somebody knows how to read it."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from quorate.errors import UnreadableFileError, WrongFormatError
from quorate.reading.columns import BLANKS
from quorate.reading.files import COMPRESSIONS, Source, read_table
from quorate.reading.objects import names_of
from quorate.reading.options import AS_USUAL, ReadOptions

HEAD = 1 << 18  # bytes that are looked at to recognise a format
DELIMITERS = (",", "\t", ";")

Record = dict[str, Any]


@dataclass(frozen=True)
class Content:
    """A source and the names of its fields; its rows or records are read when they are first asked for."""

    source: Source
    name: str  # of the file, for messages
    layout: str = "unknown"  # "rows" (a header and rows), "records" (JSON objects), or "unknown"
    fields: tuple[str, ...] = ()  # of the header, or of the first record
    json_lines: bool = False  # records, one a line: what `quorate.read` takes as a table
    head: str = ""
    reading: ReadOptions = AS_USUAL  # for `read_table`

    @cached_property
    def table(self) -> pa.Table:
        """All columns; those of a CSV file as text."""
        return read_table(self.source, dict.fromkeys(self.fields, ""), self.reading)

    @cached_property
    def records(self) -> list[Record]:
        """The objects of a JSON file, the rows of a table as objects."""
        if self.layout == "rows":
            rows: list[Record] = self.table.to_pylist()
            return rows
        if isinstance(self.source, str | Path):
            return as_records(_parse_json(_read_all(self.source, self.name), self.name), self.name)
        return as_records(self.source, self.name)

    def column(self, name: str) -> list[str | None]:
        """One column as text; None where it is blank."""
        if self.layout == "records":
            return [as_text(record.get(name)) for record in self.records]
        return [as_text(value) for value in self.table.column(name).to_pylist()]

    @cached_property
    def sample(self) -> list[Record]:
        """The rows that the first bytes hold, or the first thousand."""
        if not self.head:
            first: list[Record] = self.table.slice(0, 1000).to_pylist()
            return first
        whole = self.head if len(self.head) < HEAD else self.head.rpartition("\n")[0]  # the last row may be cut
        reader = csv.reader(io.StringIO(whole), delimiter=self.reading.delimiter or ",")
        rows = [row for row in reader if row][1:1001]
        return [dict(zip(self.fields, row, strict=False)) for row in rows]


def look(source: Source, reading: ReadOptions = AS_USUAL) -> Content:
    """Look at the first bytes of a source; what cannot be read has the layout ``unknown``.

    Args:
        source: a path, ``"-"``, a list of records, or what `quorate.read` takes.
        reading: its format, delimiter and encoding, as far as they are known; by default the delimiter is the one that
            gives most fields.

    >>> look([{"_input_hash": 1, "answer": "accept"}]).fields
    ('_input_hash', 'answer')
    """
    if not isinstance(source, str | Path):
        return _look_at_object(source)
    name = "standard input" if str(source) == "-" else str(source)
    raw = _head(source)
    if raw[:4] == b"PAR1" or reading.format == "parquet":
        return Content(source, name, "rows", _parquet_fields(source), reading=replace(reading, format="parquet"))
    text = raw.decode(reading.encoding, errors="replace").removeprefix("\ufeff")
    start = text.lstrip()[:1]
    if start in ("{", "["):
        return Content(source, name, "records", _record_fields(text), json_lines=start == "{")
    if not text.strip() or "\0" in text[:4096]:
        return Content(source, name)
    delimiter = reading.delimiter
    if delimiter is None:
        delimiter = "\t" if reading.format == "tsv" else max(DELIMITERS, key=lambda mark: len(_header(text, mark)))
    known = replace(reading, format="csv", delimiter=delimiter)
    return Content(source, name, "rows", tuple(_header(text, delimiter)), head=text, reading=known)


def as_text(value: Any) -> str | None:
    """Write an id or a class as text, None where there is none; 3.0 is 3, as it was before blanks made it a float.

    >>> [as_text(value) for value in ("cat", " ", 7, 3.0, float("nan"), True)]
    ['cat', None, '7', '3', None, 'true']
    """
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value)
    return text if text.strip(BLANKS) else None


def as_records(data: Any, name: str) -> list[Record]:
    """Make a list of objects of what a JSON file holds: a list, one object, objects by their id, or columns.

    >>> as_records({"id": [1, 2], "responses": [{}, {}]}, "x.json")
    [{'id': 1, 'responses': {}}, {'id': 2, 'responses': {}}]
    """
    if isinstance(data, Mapping):
        values = list(data.values())
        if values and all(isinstance(value, list) and len(value) == len(values[0]) for value in values):
            return [dict(zip(data, row, strict=True)) for row in zip(*values, strict=True)]
        data = values if values and all(isinstance(value, Mapping) for value in values) else [data]
    records = list(data)
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            raise WrongFormatError(f"item {number:,} of {name} is no JSON object: {str(record)[:60]!r}")
    return [record if isinstance(record, dict) else dict(record) for record in records]


# --- the first bytes ---


def _look_at_object(source: Source) -> Content:
    if isinstance(source, list | tuple):
        return Content(source, "the list", "records", tuple(dict.fromkeys(_keys(source[:1]))))
    if isinstance(source, Mapping) and any(str(key) == "responses" or ".responses" in str(key) for key in source):
        return Content(source, "the mapping", "records", tuple(map(str, source)))
    names = names_of(source)
    return Content(source, "the table", "rows", tuple(names)) if names is not None else Content(source, "the table")


def _keys(records: Iterable[Any]) -> list[str]:
    return [str(key) for record in records if isinstance(record, Mapping) for key in record]


def _head(source: str | Path) -> bytes:
    """Return the first bytes, uncompressed; none where they cannot be had, for then the reader says why."""
    if str(source) == "-":
        stream = sys.stdin.buffer
        if hasattr(stream, "peek"):
            return bytes(stream.peek(HEAD)[:HEAD])  # may be less than asked for; nothing is consumed
        start = stream.tell()
        head = stream.read(HEAD)
        stream.seek(start)
        return head
    with suppress(OSError, pa.ArrowInvalid), _opened(source) as stream:
        return bytes(stream.read(HEAD))
    return b""


def _opened(source: str | Path) -> BinaryIO:
    compression = COMPRESSIONS.get(Path(source).suffix.lower())
    if compression is None:
        return open(source, "rb")
    stream: BinaryIO = pa.input_stream(str(source), compression=compression)
    return stream


def _parquet_fields(source: str | Path) -> tuple[str, ...]:
    from pyarrow import parquet

    with suppress(OSError, pa.ArrowInvalid):
        return tuple(parquet.read_schema(str(source)).names)
    return ()


def _header(text: str, delimiter: str) -> list[str]:
    with suppress(csv.Error):
        return next((row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row), [])
    return []


def _record_fields(text: str) -> tuple[str, ...]:
    """Return the fields of the first object; of one that is cut, every name in it, however deep."""
    start = text.find("{")
    try:
        first, _ = json.JSONDecoder().raw_decode(text, max(start, 0))
    except json.JSONDecodeError:
        return tuple(dict.fromkeys(re.findall(r'"((?:[^"\\]|\\.)*)"\s*:', text)))
    if isinstance(first, dict) and first and all(isinstance(value, dict) for value in first.values()):
        first = next(iter(first.values()))  # objects by their id
    return tuple(first) if isinstance(first, dict) else ()


# --- all of it ---


def _read_all(source: str | Path, name: str) -> str:
    try:
        if str(source) == "-":
            data = sys.stdin.buffer.read()
        else:
            with _opened(source) as stream:
                data = stream.read()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WrongFormatError(f"{name} is not UTF-8 text, as JSON must be; convert it to UTF-8") from None
    except (OSError, pa.ArrowInvalid) as error:
        raise UnreadableFileError(f"{name} cannot be read: {error}") from None


def _parse_json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise WrongFormatError(f"line {error.lineno:,} of {name} is not JSON: {error.msg}") from None
    records = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                raise WrongFormatError(
                    f"line {number:,} of {name} is not JSON: {line[:60]!r}. Write one object a line"
                ) from None
    return records
