"""A file, a stream or a table object -> an Arrow table of the columns asked for.

CSV fields are read as text, so that an id like ``007`` comes back as it went in.
"""

import codecs
import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from quorate.errors import (
    ColumnTypeError,
    EmptyFileError,
    MissingColumnError,
    NotUtf8Error,
    OptionError,
    RaggedRowsError,
    UnknownFormatError,
    UnreadableFileError,
    WrongFormatError,
    listing,
    one_of,
    rows_phrase,
)
from quorate.progress import Observer, listener

Source: TypeAlias = Any  # a path, "-", a mapping of columns, or an object that speaks Arrow

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
HEAD = 1 << 18  # bytes in which a CSV file's header must end
BLOCK = 1 << 23  # bytes that the CSV reader parses at a time; 8 MB is a little faster than its default of 1 MB


def read_table(
    source: Source,
    columns: Sequence[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> pa.Table:
    """Return an Arrow table with exactly ``columns``, in that order.

    Args:
        source: a path, ``"-"`` for standard input, a mapping from column names to values, or any object that
            speaks Arrow (pandas, polars, pyarrow, a DuckDB relation).
        columns: the names wanted.
        format: ``csv``, ``tsv``, ``parquet`` or ``jsonl``; by default the name's ending, then the content, decides.
        delimiter: what separates the fields of a CSV file, if it is no comma.
        encoding: of a CSV file.

    Raises:
        InputError: the file or the object cannot be read; each cause has its own class.

    >>> read_table({"task": [1, 2], "label": ["a", "b"]}, ["label"]).to_pydict()
    {'label': ['a', 'b']}
    """
    _check_options(format, delimiter, encoding)
    if not isinstance(source, str | Path):
        return _select(_from_object(source), columns)
    name = "standard input" if str(source) == "-" else str(source)
    data = _load(source, name)
    if len(data) == 0:
        raise EmptyFileError(f"{name} is empty: it has not even a header")
    kind = format or _format_from_name(source) or _format_from_content(data, name)
    if kind == "parquet":
        return _read_parquet(data, name, columns)
    if bytes(data[:4]) == b"PAR1":
        raise WrongFormatError(f"{name} is a Parquet file, not {kind.upper()}; rename it, or say format='parquet'")
    if kind == "jsonl":
        return _read_json_lines(data, name, columns)
    return _read_csv(data, name, columns, delimiter or ("\t" if kind == "tsv" else ","), encoding)


def _check_options(format: str | None, delimiter: str | None, encoding: str) -> None:
    if format is not None:
        one_of(format, ["csv", "tsv", "parquet", "jsonl"], "input format")
    if delimiter is not None and len(delimiter.encode()) != 1:
        raise OptionError(f"the delimiter must be one ASCII character, not {delimiter!r}")
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise OptionError(
            f"there is no encoding {encoding!r}; 'utf-8', 'latin-1' and 'utf-16' are common ones"
        ) from None


def _from_object(source: Source) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    try:
        if isinstance(source, Mapping) or hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.RecordBatch):
            return pa.table(source)
        if type(source).__module__.partition(".")[0] == "pandas":  # before 2.2 it does not speak Arrow by itself
            return pa.Table.from_pandas(source)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise ColumnTypeError(
            f"the table has a column of mixed or unusable types; make each column one type ({error})"
        ) from None
    raise UnknownFormatError(
        f"cannot read answers from {type(source).__name__!r}; give a path, '-', a mapping of columns, or a table that "
        "speaks Arrow (pandas, polars, pyarrow, DuckDB)"
    )


def _select(table: pa.Table, columns: Sequence[str], name: str = "the table") -> pa.Table:
    _check_columns(table.column_names, columns, name)
    return table.select(list(columns))


def _check_columns(found: Sequence[str], columns: Sequence[str], name: str, remedy: str = "") -> None:
    for column in columns:
        if column not in found:
            remedy = remedy or "Name the right one with task=, worker=, label= (--task, --worker, --label)"
            raise MissingColumnError(
                f"{name} has no column {column!r}; it has {listing(found, 12) or 'none'}. {remedy}"
            )
        if list(found).count(column) > 1:
            raise MissingColumnError(f"{name} has the column {column!r} more than once; rename one of them")


def _load(source: str | Path, name: str) -> pa.Buffer:
    """Return the whole file, uncompressed; mapped rather than copied where it can be."""
    if str(source) == "-":
        return pa.py_buffer(sys.stdin.buffer.read())
    path = Path(source)
    compression = COMPRESSIONS.get(path.suffix.lower())
    try:
        if path.is_dir():
            raise UnreadableFileError(f"{name} is a folder; give one file")
        if path.stat().st_size == 0:
            return pa.py_buffer(b"")
        if compression is None:
            return pa.memory_map(str(path)).read_buffer()
        with pa.input_stream(str(path), compression=compression) as stream:
            return stream.read_buffer()
    except FileNotFoundError:
        raise UnreadableFileError(f"there is no file {name}") from None
    except PermissionError:
        raise UnreadableFileError(f"{name} may not be read by this user") from None
    except (pa.ArrowInvalid, OSError) as error:
        if compression is None:
            raise UnreadableFileError(f"{name} cannot be read: {error}") from None
        raise WrongFormatError(f"{name} is not {compression} data, or is cut short ({error})") from None


def _format_from_name(source: str | Path) -> str | None:
    path = Path(source)
    if path.suffix.lower() in COMPRESSIONS:
        path = path.with_suffix("")
    return FORMATS.get(path.suffix.lower())


def _format_from_content(data: pa.Buffer, name: str) -> str:
    head = bytes(data[:4096])
    if head[:4] == b"PAR1":
        return "parquet"
    if head.lstrip()[:1] == b"{":
        return "jsonl"
    first_line = head.split(b"\n", 1)[0]
    if b"\0" not in head and (b"\t" in first_line or b"," in first_line):
        return "tsv" if b"\t" in first_line else "csv"
    raise UnknownFormatError(
        f"cannot tell what kind of file {name} is; end its name in .csv, .tsv, .parquet or .jsonl, or say format="
    )


# --- CSV ---


def _read_csv(data: pa.Buffer, name: str, columns: Sequence[str], delimiter: str, encoding: str) -> pa.Table:
    from pyarrow import csv as arrow_csv

    header = _header(data, name, delimiter, encoding)
    rivals = [mark for mark in (",", "\t", ";", "|") if mark != delimiter and mark in "".join(header)]
    remedy = (
        f"The header looks separated by {rivals[0]!r}: say delimiter={rivals[0]!r} (--delimiter)"
        if len(header) == 1 and rivals
        else ""
    )
    _check_columns(header, columns, name, remedy)

    told = listener()

    def parse(**options: Any) -> pa.Table:
        return arrow_csv.read_csv(
            pa.BufferReader(data) if told is None else pa.PythonFile(_Counted(data, told)),
            # One thread parses as fast as two (the work is finding line ends), and costs half the CPU.
            read_options=arrow_csv.ReadOptions(block_size=BLOCK, encoding=encoding, use_threads=False),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, **options),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string())
            ),
        )

    try:
        return parse()
    except (pa.ArrowInvalid, UnicodeError) as error:
        _explain_bytes(data, name, encoding)
        ragged: list[Any] = []

        def note(row: Any) -> str:
            ragged.append(row)
            return "skip"

        parse(invalid_row_handler=note)
        if not ragged:
            raise WrongFormatError(f"{name} cannot be read as CSV: {error}") from None
        first = ragged[0]
        raise RaggedRowsError(
            f"{name} has {first.expected_columns} columns, but not so many fields in "
            f"{rows_phrase([row.number - 2 for row in ragged])}: the first has {first.actual_columns} "
            f"({first.text[:60]!r}). Quote fields that contain {delimiter!r}, or mend the rows"
        ) from None


class _Counted(io.RawIOBase):
    """A file in memory that says how much of it has been read."""

    def __init__(self, data: pa.Buffer, told: Observer) -> None:
        self.data, self.at, self.told = memoryview(data), 0, told

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        stop = len(self.data) if size < 0 else min(self.at + size, len(self.data))
        chunk = bytes(self.data[self.at : stop])
        self.at = stop
        self.told("reading (MB)", self.at >> 20, len(self.data) >> 20)
        return chunk


def _header(data: pa.Buffer, name: str, delimiter: str, encoding: str) -> list[str]:
    head = codecs.getincrementaldecoder(encoding)(errors="replace").decode(bytes(data[:HEAD]))
    if "\0" in head[:4096]:
        raise WrongFormatError(
            f"{name} holds binary data, not text; if it is UTF-16 text, say encoding='utf-16' (--encoding)"
        )
    return next((row for row in csv.reader(io.StringIO(head.removeprefix("\ufeff")), delimiter=delimiter) if row), [])


def _explain_bytes(data: pa.Buffer, name: str, encoding: str) -> None:
    """Raise NotUtf8Error with the line of the first undecodable byte, if there is one."""
    raw = bytes(data)
    try:
        raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        text = raw.splitlines()[line - 1][:60]
        raise NotUtf8Error(
            f"line {line:,} of {name} is not {encoding} text: {text!r}. Convert it to UTF-8, or name its encoding "
            "(encoding=, --encoding; 'latin-1' is a common one)"
        ) from None


# --- Parquet and JSON lines ---


def _read_parquet(data: pa.Buffer, name: str, columns: Sequence[str]) -> pa.Table:
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(data))
        _check_columns(file.schema_arrow.names, columns, name)
        return file.read(columns=list(columns)).select(list(columns))
    except (pa.ArrowInvalid, OSError) as error:
        raise WrongFormatError(f"{name} is not a Parquet file, or is cut short ({error})") from None


def _read_json_lines(data: pa.Buffer, name: str, columns: Sequence[str]) -> pa.Table:
    from pyarrow import json as arrow_json

    def parse(schema: pa.Schema | None = None) -> pa.Table:
        return arrow_json.read_json(
            pa.BufferReader(data),
            read_options=arrow_json.ReadOptions(block_size=BLOCK),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema),
        )

    try:
        table = _select(parse(), columns, name)
        # The reader turns text that looks like a date into a date; an id must come back as it went in.
        dates = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
        if dates:
            table = parse(pa.schema([(column, pa.string()) for column in dates])).select(list(columns))
    except pa.ArrowInvalid as error:
        _explain_bytes(data, name, "utf-8")
        for number, line in enumerate(io.BytesIO(data), start=1):
            try:
                if line.strip() and not isinstance(json.loads(line), dict):
                    raise WrongFormatError(
                        f"line {number:,} of {name} is no JSON object: {line[:60]!r}. Write one object a line"
                    )
            except json.JSONDecodeError:
                raise WrongFormatError(
                    f"line {number:,} of {name} is not JSON: {line[:60]!r}. Write one object a line"
                ) from None
        raise ColumnTypeError(
            f"a column of {name} changes its type from line to line; make it one type ({error})"
        ) from None
    return table
