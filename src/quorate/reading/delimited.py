"""The bytes of a CSV or TSV file -> an Arrow table of the columns asked for, every field as text."""

import codecs
import csv
import io
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from quorate.errors import NotUtf8Error, RaggedRowsError, WrongFormatError, reason, rows_phrase, shown
from quorate.progress import Observer, listener
from quorate.reading.objects import Columns, check_columns
from quorate.reading.quotes import check_quotes

HEAD = 1 << 18  # bytes that are looked at first; most headers end in them
LONGEST_HEADER = 1 << 24  # bytes: ten thousand columns, the most that are read, of a kilobyte and a half each
BLOCK = 1 << 23  # bytes that are parsed at a time; 8 MB is a little faster than the default of 1 MB
MARKS = (",", "\t", ";", "|")  # what may separate fields, where one asks
LINE_END = re.compile("[\r\n]")
AS_IT_IS = ("utf-8", "ascii")  # the encodings that need no change, by the names that Python has for them


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
    remedy = "" if fixed else _other_encoding(encoding)
    data = _as_utf8(data, name, encoding, remedy)
    text = with_header(lambda size: bytes(data[:size]).decode("utf-8", errors="replace"))
    if "\0" in text[:4096]:
        convert = "convert it to UTF-8" if fixed else "say encoding='utf-16' (--encoding)"
        raise WrongFormatError(f"{name} holds binary data, not text; if it is UTF-16 text, {convert}")
    header = first_row(text, delimiter)
    check_columns(header, _with_marks(columns, header, delimiter, fixed), name)
    check_quotes(data, name, delimiter)
    if "\n" not in text and "\r" not in text and len(data) < HEAD:  # a header, and not even the end of its line
        return pa.table({column: pa.array([], pa.string()) for column in columns})
    try:
        return _parse(data, columns, delimiter)
    except (pa.ArrowException, UnicodeError) as error:
        explain_bytes(data, name, "utf-8", remedy)
        _explain_ragged(data, name, columns, delimiter)
        if "straddling object" in str(error):  # Arrow's word for a row that one block does not hold
            raise WrongFormatError(
                f"{name} has a row of more than {BLOCK / 1e6:.0f} MB, which no answer is; look for a line end that is "
                "missing, or a field that holds a file"
            ) from None
        raise WrongFormatError(f"{name} cannot be read as CSV: {reason(error)}") from None


def with_header(first: Callable[[int], str]) -> str:
    r"""Return the beginning of a text, so much of it that the header ends in it.

    Args:
        first: returns what so many bytes at the beginning hold.

    >>> len(with_header(lambda size: ("a," * HEAD + "z\n1,2\n")[:size])) == 2 * HEAD + 6
    True
    """
    size, text, before = HEAD, first(HEAD), ""
    while not LINE_END.search(text.lstrip()) and len(text) > len(before) and size < LONGEST_HEADER:
        size, before = 8 * size, text
        text = first(size)
    return text


def first_row(text: str, delimiter: str) -> list[str]:
    r"""Return the fields of the first row that has any; none where it cannot be told.

    >>> first_row('\n"task",label\r1,x', ",")
    ['task', 'label']
    """
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    try:
        return next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])
    except csv.Error:  # a field of more than 128 kB
        return []


def _as_utf8(data: pa.Buffer, name: str, encoding: str, remedy: str) -> pa.Buffer:
    """Turn text of another encoding into UTF-8, which is what is parsed."""
    if codecs.lookup(encoding).name in AS_IT_IS:
        return data
    explain_bytes(data, name, encoding, remedy)
    try:
        return pa.py_buffer(bytes(data).decode(encoding).encode())
    except UnicodeError as error:
        raise NotUtf8Error(f"{name} is not {encoding} text ({reason(error)}). Convert it to UTF-8{remedy}") from None


def _parse(data: pa.Buffer, columns: Columns, delimiter: str, **options: Any) -> pa.Table:
    from pyarrow import csv as arrow_csv

    told = listener.get()
    return arrow_csv.read_csv(
        pa.BufferReader(data) if told is None else pa.PythonFile(_Metered(data, told)),
        # One thread parses as fast as two (the work is finding line ends), and costs half the CPU.
        read_options=arrow_csv.ReadOptions(block_size=BLOCK, use_threads=False),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, **options),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string())
        ),
    )


def _explain_ragged(data: pa.Buffer, name: str, columns: Columns, delimiter: str) -> None:
    """Say which rows have more or fewer fields than the header, if some have."""
    numbers: list[int] = []
    first: list[Any] = []

    def note(row: Any) -> str:
        if not first:
            first.append(row)
        numbers.append((row.number or 2) - 2)
        return "skip"

    try:
        _parse(data, columns, delimiter, invalid_row_handler=note)
    except (pa.ArrowException, UnicodeError):
        return
    if first:
        raise RaggedRowsError(
            f"{name} has {first[0].expected_columns} columns, but not so many fields in {rows_phrase(numbers)}: the "
            f"first has {first[0].actual_columns} ({shown(first[0].text)}). Quote fields that contain {delimiter!r}, "
            "or mend the rows"
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
        begin = raw.rfind(b"\n", 0, error.start) + 1
        line = raw.count(b"\n", 0, error.start) + 1
        text = raw[begin : begin + 200].splitlines()[:1]
        raise NotUtf8Error(
            f"line {line:,} of {name} is not {encoding} text: {shown(text[0] if text else b'')}. "
            f"Convert it to UTF-8{remedy}"
        ) from None
    except UnicodeError as error:  # what has no place: UTF-16 without a mark of its order
        raise NotUtf8Error(f"{name} is not {encoding} text ({reason(error)}). Convert it to UTF-8{remedy}") from None
