"""The bytes of a CSV or TSV file -> an Arrow table of the columns asked for, every field as text."""

import codecs
import csv
import io
from typing import Any

import pyarrow as pa

from quorate.errors import NotUtf8Error, RaggedRowsError, WrongFormatError, rows_phrase
from quorate.progress import Observer, listener
from quorate.reading.objects import Columns, check_columns

HEAD = 1 << 18  # bytes in which the header must end
BLOCK = 1 << 23  # bytes that are parsed at a time; 8 MB is a little faster than the default of 1 MB
MARKS = (",", "\t", ";", "|")  # what may separate fields, where one asks


def read_csv(
    data: pa.Buffer, name: str, columns: Columns, *, delimiter: str, encoding: str, fixed: bool = False
) -> pa.Table:
    r"""Parse a CSV file.

    Args:
        data: the file, uncompressed.
        name: of the file, for messages.
        columns: as in `quorate.reading.files.read_table`.
        delimiter: what separates the fields.
        encoding: of the text.
        fixed: the caller cannot choose these two.

    Raises:
        InputError: it is no such file; each cause has its own class.

    >>> data = pa.py_buffer(b"task,label\n007,x\n")
    >>> read_csv(data, "a.csv", {"task": ""}, delimiter=",", encoding="utf-8").to_pydict()
    {'task': ['007']}
    """
    header = _header(data, name, delimiter, encoding, fixed)
    check_columns(header, _with_marks(columns, header, delimiter, fixed), name)
    try:
        return _parse(data, columns, delimiter, encoding)
    except (pa.ArrowInvalid, UnicodeError) as error:
        explain_bytes(data, name, encoding, "" if fixed else _other_encoding(encoding))
        ragged: list[Any] = []

        def note(row: Any) -> str:
            ragged.append(row)
            return "skip"

        _parse(data, columns, delimiter, encoding, invalid_row_handler=note)
        if not ragged:
            raise WrongFormatError(f"{name} cannot be read as CSV: {error}") from None
        first = ragged[0]
        raise RaggedRowsError(
            f"{name} has {first.expected_columns} columns, but not so many fields in "
            f"{rows_phrase([row.number - 2 for row in ragged])}: the first has {first.actual_columns} "
            f"({first.text[:60]!r}). Quote fields that contain {delimiter!r}, or mend the rows"
        ) from None


def _parse(data: pa.Buffer, columns: Columns, delimiter: str, encoding: str, **options: Any) -> pa.Table:
    from pyarrow import csv as arrow_csv

    told = listener.get()
    return arrow_csv.read_csv(
        pa.BufferReader(data) if told is None else pa.PythonFile(_Metered(data, told)),
        # One thread parses as fast as two (the work is finding line ends), and costs half the CPU.
        read_options=arrow_csv.ReadOptions(block_size=BLOCK, encoding=encoding, use_threads=False),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, **options),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string())
        ),
    )


def _with_marks(columns: Columns, header: list[str], delimiter: str, fixed: bool) -> Columns:
    """Where the header is one field that something else parts, say so instead of asking for other columns."""
    rivals = [mark for mark in MARKS if mark != delimiter and mark in "".join(header)]
    if len(header) > 1 or not rivals:
        return columns
    remedy = "write it with commas" if fixed else f"say delimiter={rivals[0]!r} (--delimiter)"
    return dict.fromkeys(columns, f"The header looks separated by {rivals[0]!r}: {remedy}")


class _Metered(io.RawIOBase):
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


def _header(data: pa.Buffer, name: str, delimiter: str, encoding: str, fixed: bool) -> list[str]:
    head = codecs.getincrementaldecoder(encoding)(errors="replace").decode(bytes(data[:HEAD]))
    if "\0" in head[:4096]:
        remedy = "convert it to UTF-8" if fixed else "say encoding='utf-16' (--encoding)"
        raise WrongFormatError(f"{name} holds binary data, not text; if it is UTF-16 text, {remedy}")
    return next((row for row in csv.reader(io.StringIO(head.removeprefix("\ufeff")), delimiter=delimiter) if row), [])


def _other_encoding(encoding: str) -> str:
    example = "'latin-1' is a common one" if encoding != "latin-1" else "'utf-8' is the usual one"
    return f", or name its encoding (encoding=, --encoding; {example})"


def explain_bytes(data: pa.Buffer, name: str, encoding: str, remedy: str = "") -> None:
    """Say in which line the first byte stands that is not of an encoding, if there is one.

    Raises:
        NotUtf8Error: there is; ``remedy`` is what can be done besides converting the file.

    >>> explain_bytes(pa.py_buffer(b"cat"), "a.csv", "utf-8")
    """
    raw = bytes(data)
    try:
        raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        text = raw.splitlines()[line - 1][:60]
        raise NotUtf8Error(
            f"line {line:,} of {name} is not {encoding} text: {text!r}. Convert it to UTF-8{remedy}"
        ) from None
