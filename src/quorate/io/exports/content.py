"""`Content`: a source of unknown format, with its fields, and its rows or records, which are read when needed.

`look` reads the fields from the first bytes; `log_in` unpacks the archive of an Inspect log.
"""

import csv
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]  # a part of Python's JSON decoder
from pathlib import Path
from typing import Any

import pyarrow as pa

from quorate.addresses import render_address
from quorate.errors import (
    ColumnTypeError,
    MissingColumnError,
    QuorateError,
    RaggedRowsError,
    TooLargeError,
    WrongFormatError,
    listing,
    reason,
    shown,
)
from quorate.io.csv_files import (
    first_row,
    header_names,
    is_data_row,
    padded,
    sniff_delimiter,
    with_header,
    without_separator_line,
)
from quorate.io.dataframes import index_names, names_of
from quorate.io.encodings import encoding_note, encoding_of
from quorate.io.json_lines import each_line, json_problem
from quorate.io.open_file import Loaded, head, hold, load, max_unpacked_size
from quorate.io.options import AS_USUAL, HEADER, NO_HEADER, ReadOptions
from quorate.io.parquet_files import parquet_schema
from quorate.io.read_table import Source, read_table
from quorate.io.values import as_text as as_text

ZIP = b"PK\x03\x04"
MARK = b"\xef\xbb\xbf"
ZSTANDARD = 93  # compression method in a ZIP file, which Python supports from version 3.14 on
LOCAL = struct.Struct("<4s5H3I2H")  # local header of a member; the last two fields are the lengths of name and extra
HEAD_FILE = "header.json"
START = "_journal/start.json"
SAMPLES = "samples/"


def is_archive(raw: bytes) -> bool:
    r"""Whether the first bytes are those of a ZIP file.

    >>> is_archive(b"PK\x03\x04..."), is_archive(b"task,worker")
    (True, False)
    """
    return raw.removeprefix(MARK).startswith(ZIP)


def is_workbook(loaded: Loaded) -> bool:
    """Whether a ZIP file is an Excel workbook.

    >>> is_workbook(Loaded("a.xlsx", pa.py_buffer(b"PK")))
    False
    """
    try:
        with zipfile.ZipFile(io.BytesIO(loaded.data)) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except ARCHIVE_ERRORS:
        return False


def log_in(loaded: Loaded) -> dict[str, Any]:
    """Return the Inspect log in an archive, in the form of a log in a JSON file.

    An unfinished run has no header yet; then the record of its start is used.

    Raises:
        WrongFormatError: the archive is damaged, or is not a log.
        TooLargeError: the unpacked content is too large.

    >>> log_in(Loaded("a.eval", pa.py_buffer(b"PK")))
    Traceback (most recent call last):
    quorate.errors.WrongFormatError: a.eval is a damaged archive: File is not a zip file
    """
    try:
        with zipfile.ZipFile(io.BytesIO(loaded.data)) as archive:
            members = {info.filename: info for info in archive.infolist()}
            head = next((members[name] for name in (HEAD_FILE, START) if name in members), None)
            if "content.xml" in members:
                raise WrongFormatError(
                    f"{loaded.name} is an OpenDocument spreadsheet, which Quorate does not read. Save the sheet of "
                    "answers as CSV or .xlsx"
                )
            if head is None:
                raise WrongFormatError(
                    f"{loaded.name} is a ZIP archive without {HEAD_FILE}, so it is not an Inspect log. Unpack it "
                    "and give one of its files"
                )
            samples = [info for name, info in members.items() if name.startswith(SAMPLES)]
            _check_size([head, *samples], loaded)
            log = _parse_member(archive, head, loaded)
            if not isinstance(log, dict):
                raise WrongFormatError(f"{loaded.name}: {head.filename} is not a JSON object: {shown(log)}")
            return {"status": "started", **log, "samples": [_parse_member(archive, info, loaded) for info in samples]}
    except QuorateError:  # some of them are ValueErrors, which are caught below
        raise
    except ARCHIVE_ERRORS as error:
        raise WrongFormatError(f"{loaded.name} is a damaged archive: {reason(error)}") from None


# Exceptions of Python and Arrow for files that are not archives, and for incomplete, encrypted or invalid archives.
ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    pa.ArrowException,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    OverflowError,
    MemoryError,
)


def _check_size(members: list[zipfile.ZipInfo], loaded: Loaded) -> None:
    size = sum(info.file_size for info in members)
    most = max_unpacked_size(len(loaded.data))
    if size > most:
        raise TooLargeError(f"{loaded.name} unpacks to more than {most / 1e9:.3g} GB, which is too large for a log")


def _parse_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, loaded: Loaded) -> Any:
    data = _unpack_zstandard(info, loaded) if info.compress_type == ZSTANDARD else archive.read(info)
    try:
        return json.loads(bytes(data).decode())
    except (ValueError, RecursionError) as error:
        raise WrongFormatError(f"{loaded.name}: {shown(info.filename)} is not JSON: {reason(error)}") from None


def _unpack_zstandard(info: zipfile.ZipInfo, loaded: Loaded) -> Any:
    """Unpack a member with Arrow's Zstandard; the archive contains its unpacked length."""
    start = info.header_offset
    *_, name, extra = LOCAL.unpack(bytes(loaded.data[start : start + LOCAL.size]))
    start += LOCAL.size + name + extra
    packed = loaded.data[start : start + info.compress_size]
    return pa.decompress(packed, decompressed_size=info.file_size, codec="zstd") if info.file_size else b""


HEAD = 1 << 18  # bytes that are read to recognise a format
MAX_CELLS = 1_000_000  # fields that are parsed to recognise a format
MLFLOW_TRACE = {"info", "data"}  # fields of an MLflow trace, which is one record and not two records by id
PAGE = {"meta", "next_cursor", "object", "first_id", "last_id", "has_more", "pagination"}  # further fields of a page

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Content:
    """A source and the names of its fields; its rows or records are read at the first access."""

    source: Source
    name: str  # name of the file, for messages
    layout: str = "unknown"  # "rows" (a header and rows), "records" (JSON objects), or "unknown"
    fields: tuple[str, ...] = ()  # of the header, or of the first record
    json_lines: bool = False  # whether records are one per line, which `quorate.read` reads as a table
    head: str = ""
    reading: ReadOptions = AS_USUAL  # options for `read_table`
    index: tuple[str, ...] = ()  # fields that label the rows, such as the index of a data frame
    parsed: Any = None  # the document, if it had to be read for the fields
    ready: pa.Table | None = None  # the rows, if they had to be read for the fields
    headerless: bool = False  # whether the first row of the file is data, so that the fields are numbered
    notes: tuple[str, ...] = ()  # sentences on how the file was read, if not as a plain table
    files: tuple[str, ...] = ()  # names of several files that are read together
    parts: "tuple[Content, ...]" = ()  # the contents of these files, if they are not an export of a tool

    @cached_property
    def _rows_and_padding(self) -> tuple[pa.Table, tuple[str, ...]]:
        if self.ready is not None:
            return self.ready, ()
        wanted = dict.fromkeys(self.fields, "")
        try:
            return read_table(self.source, wanted, self.reading), ()
        except RaggedRowsError:
            if not isinstance(self.source, str | Path | Loaded) or self.headerless:
                raise
            data = load(self.source).data
            encoding = encoding_of(bytes(data[:HEAD]), self.reading.encoding)
            data, missing = padded(data, self.reading.delimiter or ",", encoding)
            if not missing:
                raise
            return read_table(Loaded(self.name, data), wanted, replace(self.reading, encoding="utf-8")), missing

    @property
    def is_joined(self) -> bool:
        """Whether the rows come from several files."""
        return self.ready is not None and bool(self.files)

    @property
    def table(self) -> pa.Table:
        """All columns of the source; those of a CSV file as text."""
        return self._rows_and_padding[0]

    @property
    def padding(self) -> tuple[str, ...]:
        """The last columns of a CSV file that are empty in all rows, and that some rows lack."""
        return () if self.layout != "rows" else self._rows_and_padding[1]

    def check_readable(self) -> None:
        """Refuse a CSV file that cannot be parsed, so that this error precedes errors about its columns.

        Raises:
            InputError: a quote is never closed, or rows have more or fewer fields than the header.
        """
        if self.layout == "rows" and self.head:
            _ = self.table

    @cached_property
    def document(self) -> Any:
        """The document of a JSON file."""
        if self.parsed is not None:
            return self.parsed
        if isinstance(self.source, str | Path | Loaded):
            return _parse_json(load(self.source).data, self.name, lines=self.json_lines)
        return self.source

    @cached_property
    def records(self) -> list[Record]:
        """The objects of a JSON file, or the rows of a table as objects."""
        if self.layout == "rows":
            return _rows(self.table, self.name)
        return as_records(self.document, self.name)

    def column(self, name: str) -> list[str | None]:
        """Return the text of each row in a column; None where it is blank.

        Raises:
            MissingColumnError: there is no such column.
        """
        if name not in self.fields:
            raise MissingColumnError(f"{self.name} has no column {name!r}; it has {listing(self.fields, 12)}")
        if self.layout == "records":
            return [as_text(record.get(name)) for record in self.records]
        return [as_text(row[name]) for row in _rows(self.table.select([name]), self.name)]

    def optional_column(self, name: str) -> list[str | None]:
        """Return the text of each row in a column; None in every row if there is no such column."""
        if name in self.fields:
            return self.column(name)
        return [None] * (len(self.records) if self.layout == "records" else self.table.num_rows)

    @cached_property
    def sample(self) -> list[Record]:
        """The first rows, at most 1,000: for a CSV file, those in the first bytes."""
        if not self.head:
            return _rows(self.table.slice(0, 1000), self.name)
        return self._parsed_rows(self.head, HEAD, 1000)

    def first_records(self, most: int) -> list[Any]:
        """Return the first objects of a JSON file; of JSON lines, only these are parsed."""
        if self.json_lines and self.parsed is None and isinstance(self.source, str | Path | Loaded):
            lines = _decode(head(self.source, HEAD), "utf-8").split("\n")[: most + 1]
            records = []
            for line in lines[:-1]:
                with suppress(ValueError, RecursionError):
                    records.append(json.loads(line))
            return records[:most]
        document = self.document
        return document[:most] if isinstance(document, list) else [document]

    def sample_rows(self, size: int) -> list[Record]:
        """Return the complete rows in the first ``size`` bytes of a CSV file."""
        if not isinstance(self.source, str | Path | Loaded):
            return self.sample
        raw = head(self.source, size)
        return self._parsed_rows(_decode(raw, encoding_of(raw, self.reading.encoding)), size, MAX_CELLS)

    def _parsed_rows(self, text: str, size: int, most: int) -> list[Record]:
        complete = text if len(text) < size else text.rpartition("\n")[0]  # the last row may be incomplete
        reader = csv.reader(io.StringIO(complete, newline=""), delimiter=self.reading.delimiter or ",")
        rows: list[list[str]] = []
        with suppress(csv.Error):  # a field of more than 128 kB: the rows before it are enough
            for row in reader:
                rows += [row] if row else []
                if len(rows) > min(most, MAX_CELLS // max(len(self.fields), 1)):
                    break
        return [dict(zip(self.fields, row, strict=False)) for row in rows[0 if self.headerless else 1 :]]


def look(source: Source, reading: ReadOptions = AS_USUAL) -> Content:
    """Return the `Content` of a source from its first bytes, with the layout ``unknown`` if it cannot be read.

    Args:
        source: a path, ``"-"``, a list of records, or what `quorate.read` takes.
        reading: format, delimiter and encoding, if they are known; by default, the delimiter that gives most fields.

    >>> look([{"_input_hash": 1, "answer": "accept"}]).fields
    ('_input_hash', 'answer')
    """
    source = hold(source)
    if not isinstance(source, str | Path | Loaded):
        return _look_at_object(source)
    name = source.name if isinstance(source, Loaded) else render_address(source)
    raw = head(source, HEAD)
    if raw[:4] == b"PAR1" or reading.format == "parquet":
        schema = parquet_schema(load(source).data)
        known = replace(reading, format="parquet")
        return Content(source, name, "rows", tuple(schema.names), reading=known, index=index_names(schema))
    if is_archive(raw) and (reading.format == "xlsx" or is_workbook(load(source))):
        from quorate.io.excel_files import read_workbook

        table, sheet = read_workbook(load(source))
        return Content(source, name, "rows", tuple(table.column_names), ready=table, notes=sheet)
    if is_archive(raw):
        log = log_in(load(source))
        return Content(source, name, "records", tuple(log), parsed=[log])
    encoding = encoding_of(raw, reading.encoding)
    text = _decode(raw, encoding)
    start = text.lstrip()[:1]
    if reading.format == "yaml" or name.lower().endswith((".yaml", ".yml")):
        from quorate.io.yaml_files import read_yaml

        document = read_yaml(load(source))
        first = document[0] if isinstance(document, list) and document else document
        fields = tuple(map(str, first)) if isinstance(first, Mapping) else ()
        return Content(source, name, "records", fields, parsed=document)
    if start in ("{", "["):
        return Content(source, name, "records", _fields_of_first(source, text), json_lines=start == "{")
    if not text.strip() or "\0" in text[:4096]:
        return Content(source, name)
    text = with_header(lambda size: _decode(raw if size == HEAD else head(source, size), encoding))
    text, separator = without_separator_line(text)
    delimiter = reading.delimiter or separator
    if delimiter is None:
        delimiter = "\t" if reading.format == "tsv" else sniff_delimiter(text)
    known = replace(reading, format="csv", delimiter=delimiter)
    if encoding != "utf-8":
        known = replace(known, encoding=encoding)
    first = [field.strip() for field in first_row(text, delimiter)]
    notes: tuple[str, ...] = ()
    if reading.delimiter is None and delimiter not in (",", "\t") and len(first) > 1:
        notes = (f'Read with "{delimiter}" as separator.',)
    notes = (*notes, *encoding_note(reading.encoding, encoding))
    names = None if reading.column_names is None else tuple(reading.column_names)
    if names is None and not set(reading.columns) <= set(first) and is_data_row(text, delimiter):
        names = NO_HEADER
        known = replace(known, column_names=names)
    fields = header_names(first, names)
    headerless = names is not None and names != HEADER
    return Content(source, name, "rows", fields, head=text, reading=known, headerless=headerless, notes=notes)


def _rows(table: pa.Table, name: str) -> list[Record]:
    try:
        rows: list[Record] = table.to_pylist()
    except Exception as error:  # dates out of range, invalid text: the class depends on the type
        raise ColumnTypeError(f"{name} has a column whose values cannot be read: {reason(error)}") from None
    return rows


def as_records(data: Any, name: str) -> list[Record]:
    """Return the records of a JSON document: a list, one object, objects by their id, or columns.

    >>> as_records({"id": [1, 2], "responses": [{}, {}]}, "x.json")
    [{'id': 1, 'responses': {}}, {'id': 2, 'responses': {}}]
    """
    if isinstance(data, Mapping) and is_page(data):
        data = data["data"]
    if isinstance(data, Mapping) and set(data) != MLFLOW_TRACE:
        values = list(data.values())
        if values and all(isinstance(value, list) and len(value) == len(values[0]) for value in values):
            return [dict(zip(data, row, strict=True)) for row in zip(*values, strict=True)]
        data = values if values and _all_records(values) else [data]
    records = list(data) if isinstance(data, list | tuple) else [data]
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            raise WrongFormatError(
                f"Item {number:,} of {name} is not a JSON object: {shown(record)}. Write one object per answer"
            )
    return [record if isinstance(record, dict) else dict(record) for record in records]


def is_page(data: Mapping[str, Any]) -> bool:
    """Whether an object is a page of records from a service: a list under ``data``, and fields for paging.

    >>> is_page({"data": [{"id": 1}], "next_cursor": None}), is_page({"data": {"text": "hi"}})
    (True, False)
    """
    listed = data.get("data")
    return set(data) - {"data"} <= PAGE and isinstance(listed, list) and bool(listed) and _all_records(listed)


def _all_records(values: Iterable[Any]) -> bool:
    return all(isinstance(value, Mapping) for value in values)


# --- the first bytes ---


def _look_at_object(source: Source) -> Content:
    if isinstance(source, list | tuple):
        first = source[0] if source and isinstance(source[0], Mapping) else {}
        return Content(source, "the list", "records", tuple(map(str, first)))
    if isinstance(source, Mapping) and any(str(key) == "responses" or ".responses" in str(key) for key in source):
        return Content(source, "the mapping", "records", tuple(map(str, source)))
    names = names_of(source)
    if names is None:
        return Content(source, "the table")
    return Content(source, "the table", "rows", tuple(names), index=index_names(source))


def _decode(raw: bytes, encoding: str) -> str:
    """Decode the first bytes; invalid bytes, such as an incomplete last character, are replaced."""
    try:
        text = raw.decode(encoding, errors="replace")
    except UnicodeError:  # an encoding without replacement of errors
        return ""
    return text.removeprefix("\ufeff")


def _fields_of_first(source: str | Path | Loaded, text: str) -> tuple[str, ...]:
    """Return the fields of the first object; if it is longer than the first bytes, more are read."""
    size = HEAD
    fields = _record_fields(text)
    while fields is None:
        size *= 8
        raw = head(source, size)
        fields = _record_fields(_decode(raw, "utf-8"))
        if fields is None and len(raw) < size:  # the complete file was read
            return _names_in(text)
    return fields


def _record_fields(text: str) -> tuple[str, ...] | None:
    """Return the fields of the first object; None if it is incomplete, or not JSON."""
    try:
        first, _ = json.JSONDecoder().raw_decode(text, max(text.find("{"), 0))
    except (ValueError, RecursionError):
        return None
    if isinstance(first, dict) and is_page(first):
        first = first["data"][0]
    elif isinstance(first, dict) and first.keys() != MLFLOW_TRACE and _all_records(first.values()):
        first = next(iter(first.values()), None)  # objects by their id
    return tuple(first) if isinstance(first, dict) else ()


def _names_in(text: str) -> tuple[str, ...]:
    """Return all names of fields, at any depth, in a text that is not valid JSON, to recognise its format."""
    names: dict[str, None] = {}
    at = text.find('"')
    while at >= 0:
        try:
            name, at = scanstring(text, at + 1, False)
        except ValueError:  # the text ends within a name
            break
        if COLON.match(text, at):
            names[name] = None
        at = text.find('"', at)
    return tuple(names)


COLON = re.compile(r"\s*:")

# --- the complete file ---


def _parse_json(data: pa.Buffer, name: str, *, lines: bool = False) -> Any:
    try:
        text = bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WrongFormatError(f"{name} is not UTF-8 text. Convert it to UTF-8") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            lines_of_text = text.splitlines()
            line = lines_of_text[error.lineno - 1] if error.lineno <= len(lines_of_text) else ""
            raise WrongFormatError(
                f"Line {error.lineno:,} of {name} is not valid JSON: {shown(line.strip())}. Check that the file is "
                "complete"
            ) from None
    except (ValueError, RecursionError) as error:  # a number with thousands of digits, or deep nesting
        if lines:
            return list(each_line(text, name))
        raise WrongFormatError(f"{name} {json_problem(error, shown(text.strip()))}") from None
    return list(each_line(text, name))
