"""The bytes of a CSV or TSV file -> an Arrow table of the columns asked for, every field as text.

`check_quotes` refuses a stray quote first, because a parser would take all rows up to the next quote for one field.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.errors import (
    MissingColumnError,
    NotUtf8Error,
    RaggedRowsError,
    StrayQuoteError,
    WrongFormatError,
    count,
    reason,
    rows_phrase,
    shown,
)
from quorate.io.dataframes import Columns, check_columns
from quorate.io.values import parse_number
from quorate.progress import Observer, listener

QUOTE = ord('"')
CHUNK = 1 << 24  # bytes that are looked at together
BOM = b"\xef\xbb\xbf"

Bytes = NDArray[np.uint8]


def check_quotes(data: pa.Buffer, name: str, delimiter: str, lines_before: int = 0) -> None:
    r"""Refuse a file in which a quoted field is never closed, or goes on after its closing quote.

    A quote within a field that does not begin with one is text like any other.

    Args:
        data: the file, in UTF-8.
        name: of the file, for messages.
        delimiter: what separates the fields.
        lines_before: lines of the file that the data do not have.

    Raises:
        StrayQuoteError: there is such a quote; the message names its line.

    >>> check_quotes(pa.py_buffer(b't,l\n1,"a ""b"" c"\n2,5" pipe\n'), "a.csv", ",")
    >>> check_quotes(pa.py_buffer(b't,l\n1,"a\n2,b\n'), "a.csv", ",")
    Traceback (most recent call last):
    quorate.errors.StrayQuoteError: line 2 of a.csv opens a quote that is never closed: '"a'. ...
    """
    raw = memoryview(data)
    octets = np.frombuffer(raw, np.uint8)
    start = len(BOM) if bytes(raw[: len(BOM)]) == BOM else 0
    ends = np.zeros(256, dtype=bool)  # bytes between which a field lies
    ends[[ord(delimiter), ord("\n"), ord("\r")]] = True
    inside = False
    for quotes in _quotes(octets, start):
        if not _are_tidy(octets, quotes, ends, start, inside):
            _walk(raw, name, ends, start, lines_before)  # exact, and a hundred times as slow
            return
        inside ^= len(quotes) % 2 == 1
    if inside:
        _walk(raw, name, ends, start, lines_before)


def _quotes(data: Bytes, start: int) -> Iterator[NDArray[np.intp]]:
    """Yield the positions of all quotes, a chunk of the file at a time."""
    for begin in range(start, len(data), CHUNK):
        chunk = data[begin : begin + CHUNK]
        quotes = np.flatnonzero(chunk == QUOTE)
        if len(quotes):
            yield quotes + begin


def _are_tidy(data: Bytes, quotes: NDArray[np.intp], ends: NDArray[np.bool_], start: int, inside: bool) -> bool:
    """Whether quotes open and close alternately, each at an end of a field or beside another quote."""
    opens = (np.arange(len(quotes)) + inside) % 2 == 0
    first = quotes[opens]
    last = quotes[~opens]
    before = data[np.maximum(first - 1, 0)]
    after = data[np.minimum(last + 1, len(data) - 1)]
    well_opened = (first == start) | ends[before] | ((before == QUOTE) & (first > start))
    well_closed = (last + 1 == len(data)) | ends[after] | (after == QUOTE)
    return bool(well_opened.all() and well_closed.all())


def _walk(raw: memoryview, name: str, ends: NDArray[np.bool_], start: int, lines_before: int) -> None:
    """Check every quote in turn, and raise an error at the first that is wrong."""
    data = np.frombuffer(raw, np.uint8)
    opened = -1
    skip = -1
    for q in (int(position) for quotes in _quotes(data, start) for position in quotes):
        if q == skip:
            continue
        if opened < 0:
            if q == start or ends[raw[q - 1]]:
                opened = q
        elif q + 1 < len(raw) and raw[q + 1] == QUOTE:  # a quote within the field, written twice
            skip = q + 1
        elif q + 1 == len(raw) or ends[raw[q + 1]]:
            opened = -1
        else:
            why = f"and goes on after the quote is closed, with {_peek(raw, q + 1)}"
            _refuse(raw, name, opened, lines_before, why)
    if opened >= 0:
        _refuse(raw, name, opened, lines_before, f"that is never closed: {_peek(raw, opened)}")


def _refuse(raw: memoryview, name: str, opened: int, lines_before: int, why: str) -> None:
    before = bytes(raw[:opened])
    line = lines_before + (before.count(b"\n") or before.count(b"\r")) + 1
    raise StrayQuoteError(
        f"line {line:,} of {name} opens a quote {why}. Put the whole field in quotes, and write "
        'every quote inside it twice: "a ""b"" c"'
    )


def _peek(raw: memoryview, at: int) -> str:
    """Return the text at a position up to the end of the line, for a message."""
    # Thirty letters have at most 120 bytes, so that none of them is cut in two.
    return shown(bytes(raw[at : at + 120]).splitlines()[0].decode(errors="backslashreplace"), 30)


HEAD = 1 << 18  # bytes that are looked at first; most headers end in them
LONGEST_HEADER = 1 << 24  # bytes: ten thousand columns, the most that are read, of a kilobyte and a half each
BLOCK = 1 << 23  # bytes that are parsed at a time; 8 MB is a little faster than the default of 1 MB
MARKS = (",", "\t", ";", "|")  # what may separate fields, where one asks
HEAD_LINE = 64  # bytes that a line with the separator takes at most
LINE_END = re.compile("[\r\n]")
LINE_ENDS = re.compile(b"\r\n|\r|\n")
LONGEST_FIRST = 1 << 18  # characters of the first row that show the delimiter
# The first line of some files for Excel.
SEPARATOR_LINE = re.compile(r"\ufeff?\s*\"?sep=(.)\"?[^\S\r\n]*(\r\n|\r|\n)", re.I)
LOOKED_AT = 50  # rows that show whether the first is a header
AS_IT_IS = ("utf-8", "ascii")  # the encodings that need no change, by the names that Python has for them


def read_csv(
    data: pa.Buffer,
    name: str,
    columns: Columns,
    *,
    delimiter: str | None,
    encoding: str,
    fixed: bool = False,
    names: tuple[str, ...] | None = None,
) -> pa.Table:
    r"""Parse a CSV file.

    Args:
        data: the file, uncompressed.
        name: of the file, for messages.
        columns: as in `quorate.io.read_table.read_table`.
        delimiter: what separates the fields; None for the one that gives the header most fields.
        encoding: of the text.
        fixed: the caller cannot choose these two.
        names: of the columns, where the file has no header; ``("none",)`` numbers them, ``("header",)`` is the header.

    Raises:
        InputError: it is no such file; each cause has its own class.

    >>> data = pa.py_buffer(b"task,label\n007,x\n")
    >>> read_csv(data, "a.csv", {"task": ""}, delimiter=",", encoding="utf-8").to_pydict()
    {'task': ['007']}
    """
    usual_encoding = "'cp1252' is a common one" if encoding != "cp1252" else "'utf-8' is the usual one"
    remedy = "" if fixed else f", or name its encoding (encoding=, --encoding; {usual_encoding})"
    data = _as_utf8(data, name, encoding, remedy)
    lines_before = 0
    separator = SEPARATOR_LINE.match(bytes(data[:HEAD_LINE]).decode("utf-8", errors="replace"))
    if separator is not None:
        data = data.slice(len(separator[0].encode()))
        lines_before = len(LINE_ENDS.findall(separator[0].encode()))
        delimiter = delimiter or separator[1]
    text = with_header(lambda size: bytes(data[:size]).decode("utf-8", errors="replace"))
    if "\0" in text[:4096]:
        convert = "convert it to UTF-8" if fixed else "use encoding='utf-16' (--encoding utf-16)"
        raise WrongFormatError(f"{name} holds binary data, not text. If it is UTF-16 text, {convert}")
    if delimiter is None:
        delimiter = sniff_delimiter(text)
        if fixed and not set(columns) <= set(header_names(first_row(text, delimiter), names)):
            delimiter = ","
    first = first_row(text, delimiter)
    header = list(header_names(first, names))
    if len(header) > 1:  # else the delimiter may be another, to which the quotes belong
        check_quotes(data, name, delimiter, lines_before)
    check_columns(header, _with_marks(columns, header, delimiter, fixed), name)
    if len(header) == 1:
        check_quotes(data, name, delimiter, lines_before)
    options: dict[str, Any] = {}
    if names is not None and names != ("header",):
        if len(header) != len(first):
            raise MissingColumnError(
                f"column_names= (--columns) names {len(header)} columns, but the first row of {name} has {len(first)}"
            )
        options["column_names"] = header
    elif header != first:  # blanks around a name, or no name
        options["column_names"] = header
        data = data.slice(_after_header(data, text, delimiter))
    if "\n" not in text and "\r" not in text and len(data) < HEAD:  # a header, and not even the end of its line
        return pa.table({column: pa.array([], pa.string()) for column in columns})
    try:
        return _parse(data, columns, delimiter, options)
    except (pa.ArrowException, UnicodeError) as error:
        explain_bytes(data, name, "utf-8", remedy)
        _explain_ragged(data, name, columns, delimiter, options)
        if "straddling object" in str(error):  # Arrow's word for a row that one block does not hold
            raise WrongFormatError(
                f"{name} has a row of more than {BLOCK / 1e6:.0f} MB, which is too long for an answer. Look for "
                "a missing line end, or a field that holds a file"
            ) from None
        raise WrongFormatError(f"{name} cannot be read as CSV: {reason(error)}") from None


def with_header(first: Callable[[int], str]) -> str:
    r"""Return the beginning of a text up to at least the end of its first line.

    Args:
        first: returns what so many bytes at the beginning hold.

    >>> len(with_header(lambda size: ("a," * HEAD + "z\n1,2\n")[:size])) == 2 * HEAD + 6
    True
    """
    size = HEAD
    text = first(HEAD)
    before = ""
    while not LINE_END.search(text.lstrip()) and len(text) > len(before) and size < LONGEST_HEADER:
        size = 8 * size
        before = text
        text = first(size)
    return text


def without_separator_line(text: str) -> tuple[str, str | None]:
    r"""Return a text without the line that names the separator, as Excel writes and reads it, and that separator.

    >>> without_separator_line("sep=;\r\ntask;worker\r\n"), without_separator_line("task,worker\n")
    (('task;worker\r\n', ';'), ('task,worker\n', None))
    """
    line = SEPARATOR_LINE.match(text)
    return (text, None) if line is None else (text[line.end() :], line[1])


def first_row(text: str, delimiter: str) -> list[str]:
    r"""Return the fields of the first row that has any; none where the text cannot be parsed.

    >>> first_row('\n"task",label\r1,x', ",")
    ['task', 'label']
    """
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    try:
        return next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])
    except csv.Error:  # a field of more than 128 kB
        return []


def sniff_delimiter(text: str) -> str:
    r"""Return the separator that splits the first row into most fields; a comma if none does.

    >>> sniff_delimiter("task;worker;label\n1;ann;a, b"), sniff_delimiter("task")
    (';', ',')
    """
    line = text.lstrip("\ufeff\r\n")[:LONGEST_FIRST]
    return max(MARKS, key=lambda mark: len(first_row(line, mark)) if mark in line else 0)


def header_names(first: Sequence[str], names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the names of the columns: those that were given, numbers, or the first row without blanks around them.

    >>> header_names(["", " worker"], None), header_names(["1", "2"], ("none",))
    (('column 1', 'worker'), ('column 1', 'column 2'))
    """
    if names == ("none",):
        return tuple(f"column {k}" for k in range(1, len(first) + 1))
    if names is not None and names != ("header",):
        return names
    return tuple(field.strip() or f"column {k}" for k, field in enumerate(first, start=1))


def is_data_row(text: str, delimiter: str) -> bool:
    r"""Whether the first row of a table looks like data rather than names.

    Numbers are no names, unless they count the columns; a text that comes again below it in its column is no name
    either. A text above numbers is a name.

    >>> is_data_row("41,1141,4\n16,2039,3\n33,1176,4\n", ","), is_data_row("task,worker,label\n1,2,3\n", ",")
    (True, False)
    """
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter):
            rows += [row] if row else []
            if len(rows) > LOOKED_AT:
                break
    except csv.Error:
        return False
    if len(rows) < 2:
        return False
    first, *later_rows = rows
    cells = [field.strip() for field in first]
    counted = cells if cells[0] else cells[1:]
    if len(counted) > 3 and any(counted == [str(k + start) for k in range(len(counted))] for start in (0, 1)):
        return False  # names that count the columns, as data frames without names are written
    data = 0
    names = 0
    for k, cell in enumerate(cells):
        below = {row[k].strip() for row in later_rows if k < len(row)} - {""}
        if not cell:
            continue
        if parse_number(cell) is not None or (cell in below and len(below) < len(later_rows) / 2):
            data += 1
        elif below and all(parse_number(field) is not None for field in below):
            names += 1
    filled = sum(map(bool, cells))
    return names == 0 and filled > 0 and 2 * data >= filled and (data > 1 or len(first) > 2)


def _after_header(data: pa.Buffer, text: str, delimiter: str) -> int:
    """Return how many bytes the header takes, with the blank lines before it; ``text`` is how the data begin."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for row in reader:
        if row:
            break
    size = min(len(data), 4 * len(text) + 4)  # a character has at most four bytes
    ends = [match.end() for match in islice(LINE_ENDS.finditer(bytes(data[:size])), reader.line_num)]
    return ends[-1] if len(ends) == reader.line_num else len(data)


def padded(data: pa.Buffer, delimiter: str, encoding: str) -> tuple[pa.Buffer, tuple[str, ...]]:
    r"""Fill up rows that end before the last columns of the header, where nobody has a value in those.

    Args:
        data: the file.
        delimiter: what separates its fields.
        encoding: of the text.

    Returns:
        the file with rows of full length, as UTF-8, and the names of the columns that they lacked; no names where rows
        are too long, or a column that some rows lack has a value in others.

    >>> padded(pa.py_buffer(b"HITId,label,Approve,Reject\n1,x\n2,y\n"), ",", "utf-8")[1]
    ('Approve', 'Reject')
    """
    try:
        text = bytes(data).decode(encoding).removeprefix("\ufeff")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except (UnicodeError, csv.Error):
        return data, ()
    header, *data_rows = rows
    shortest = min((len(row) for row in data_rows), default=len(header))
    is_empty = all(not field.strip() for row in data_rows for field in row[shortest:])
    if shortest >= len(header) or not is_empty or max(map(len, data_rows)) > len(header) or shortest < 2:
        return data, ()
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([*row, *[""] * (len(header) - len(row))] for row in data_rows)
    return pa.py_buffer(out.getvalue().encode()), tuple(header[shortest:])


def _as_utf8(data: pa.Buffer, name: str, encoding: str, remedy: str) -> pa.Buffer:
    """Turn text of another encoding into UTF-8, which is what is parsed."""
    if codecs.lookup(encoding).name in AS_IT_IS:
        return data
    explain_bytes(data, name, encoding, remedy)
    try:
        return pa.py_buffer(bytes(data).decode(encoding).encode())
    except UnicodeError as error:
        raise NotUtf8Error(f"{name} is not {encoding} text ({reason(error)}). Convert it to UTF-8{remedy}") from None


def _parse(data: pa.Buffer, columns: Columns, delimiter: str, reading: dict[str, Any], **options: Any) -> pa.Table:
    from pyarrow import csv as arrow_csv

    on_progress = listener.get()
    return arrow_csv.read_csv(
        pa.BufferReader(data) if on_progress is None else pa.PythonFile(_Metered(data, on_progress)),
        # One thread parses as fast as two (the work is finding line ends), and costs half the CPU.
        read_options=arrow_csv.ReadOptions(block_size=BLOCK, use_threads=False, **reading),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, **options),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string())
        ),
    )


def _explain_ragged(data: pa.Buffer, name: str, columns: Columns, delimiter: str, reading: dict[str, Any]) -> None:
    """Raise an error that names the rows with more or fewer fields than the header, if there are any."""
    numbers: list[int] = []
    first: list[Any] = []

    def note(row: Any) -> str:
        if not first:
            first.append(row)
        numbers.append((row.number or 2) - (1 if reading else 2))
        return "skip"

    try:
        _parse(data, columns, delimiter, reading, invalid_row_handler=note)
    except (pa.ArrowException, UnicodeError):
        return
    if first:
        hint = "" if len(columns) > 2 else f". If {name} is not a table, give another file"
        n_fields = count(first[0].actual_columns, "field")
        first_row_has = f"{rows_phrase(numbers[:1])} has {n_fields} ({shown(first[0].text)})"
        wrong_rows = (
            first_row_has
            if len(numbers) == 1
            else f"{rows_phrase(numbers)} have another number of fields: {first_row_has}"
        )
        raise RaggedRowsError(
            f"{name} has {first[0].expected_columns} columns, but {wrong_rows}. Put each field that contains the "
            f"separator {delimiter!r} in quotes, or correct the rows{hint}"
        )


def _with_marks(columns: Columns, header: list[str], delimiter: str, fixed: bool) -> Columns:
    """Return the remedies; if the header is one field with another separator in it, they name that separator."""
    rivals = [mark for mark in MARKS if mark != delimiter and mark in "".join(header)]
    if len(header) > 1 or not rivals:
        return columns
    remedy = "Write it with commas" if fixed else "Name the separator with delimiter= (--delimiter)"
    return dict.fromkeys(columns, f"The separator of the header seems to be {rivals[0]!r}. {remedy}")


class _Metered(io.RawIOBase):
    """A file in memory that reports how much of it has been read."""

    def __init__(self, data: pa.Buffer, on_progress: Observer) -> None:
        self.data = memoryview(data)
        self.at = 0
        self.on_progress = on_progress

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        stop = len(self.data) if size < 0 else min(self.at + size, len(self.data))
        chunk = bytes(self.data[self.at : stop])
        self.at = stop
        self.on_progress("reading (MB)", self.at >> 20, len(self.data) >> 20)
        return chunk


def explain_bytes(data: pa.Buffer, name: str, encoding: str, remedy: str = "") -> None:
    """Raise an error that names the line of the first byte that is not of an encoding, if there is one.

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
            f"Line {line:,} of {name} is not {encoding} text: "
            f"{shown((text[0] if text else b'').decode(encoding, 'replace'))}. Convert it to UTF-8{remedy}"
        ) from None
    except UnicodeError as error:  # what has no place: UTF-16 without a mark of its order
        raise NotUtf8Error(f"{name} is not {encoding} text ({reason(error)}). Convert it to UTF-8{remedy}") from None
