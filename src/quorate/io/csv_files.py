"""Parse the bytes of a CSV or TSV file into an Arrow table of the requested columns, every field as text.

`check_quotes` first refuses a stray quote, because a parser would read all rows up to the next quote as one field.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.blocks import native_kernels
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

if TYPE_CHECKING:
    from quorate.io.encoded_table import EncodedTable

native = native_kernels()
QUOTE = ord('"')
CHUNK = 1 << 24  # bytes that are searched for quotes at a time
BOM = b"\xef\xbb\xbf"

Bytes = NDArray[np.uint8]


def check_quotes(data: pa.Buffer, name: str, delimiter: str, lines_before: int = 0) -> None:
    r"""Refuse a file in which a quoted field is never closed, or has text after its closing quote.

    In a field that does not begin with a quote, quotes are ordinary text.

    Args:
        data: the file, in UTF-8.
        name: name of the file, for messages.
        delimiter: character between the fields.
        lines_before: number of lines of the file before the data.

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
    ends = np.zeros(256, dtype=bool)  # bytes that end a field
    ends[[ord(delimiter), ord("\n"), ord("\r")]] = True
    if native is not None:
        if not native.quotes_close(raw, start, ord(delimiter)):
            _check_each_quote(raw, name, ends, start, lines_before)
        return
    inside = False
    for quotes in _quotes(octets, start):
        if not _are_regular(octets, quotes, ends, start, inside):
            _check_each_quote(raw, name, ends, start, lines_before)  # exact, but a hundred times slower than this
            return
        inside ^= len(quotes) % 2 == 1
    if inside:
        _check_each_quote(raw, name, ends, start, lines_before)


def _quotes(data: Bytes, start: int) -> Iterator[NDArray[np.intp]]:
    """Yield the positions of all quotes, as one array per chunk of the file that has any."""
    for begin in range(start, len(data), CHUNK):
        chunk = data[begin : begin + CHUNK]
        quotes = np.flatnonzero(chunk == QUOTE)
        if len(quotes):
            yield quotes + begin


def _are_regular(data: Bytes, quotes: NDArray[np.intp], ends: NDArray[np.bool_], start: int, inside: bool) -> bool:
    """Whether quotes open and close alternately, each at the edge of a field or next to another quote."""
    opens = (np.arange(len(quotes)) + inside) % 2 == 0
    first = quotes[opens]
    last = quotes[~opens]
    before = data[np.maximum(first - 1, 0)]
    after = data[np.minimum(last + 1, len(data) - 1)]
    well_opened = (first == start) | ends[before] | ((before == QUOTE) & (first > start))
    well_closed = (last + 1 == len(data)) | ends[after] | (after == QUOTE)
    return bool(well_opened.all() and well_closed.all())


def _check_each_quote(raw: memoryview, name: str, ends: NDArray[np.bool_], start: int, lines_before: int) -> None:
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
            why = f"and goes on after the quote is closed, with {_line_from(raw, q + 1)}"
            _refuse(raw, name, opened, lines_before, why)
    if opened >= 0:
        _refuse(raw, name, opened, lines_before, f"that is never closed: {_line_from(raw, opened)}")


def _refuse(raw: memoryview, name: str, opened: int, lines_before: int, why: str) -> None:
    before = bytes(raw[:opened])
    line = lines_before + (before.count(b"\n") or before.count(b"\r")) + 1
    raise StrayQuoteError(
        f"line {line:,} of {name} opens a quote {why}. Put the whole field in quotes, and write "
        'every quote inside it twice: "a ""b"" c"'
    )


def _line_from(raw: memoryview, at: int) -> str:
    """Return the text at a position up to the end of the line, for a message."""
    # Thirty characters have at most 120 bytes in UTF-8, so no character shown is cut.
    return shown(bytes(raw[at : at + 120]).splitlines()[0].decode(errors="backslashreplace"), 30)


HEAD = 1 << 18  # bytes that are read first; they contain most headers
MAX_HEADER_BYTES = 1 << 24  # 10,000 columns (`dataframes.MAX_COLUMNS`) with names of 1.6 kB each
BLOCK = 1 << 23  # bytes that are parsed at a time; 8 MB is a little faster than the default of 1 MB
ENCODED_BLOCK = 1 << 20  # bytes that are parsed and encoded at a time: their text stays in the cache
DELIMITERS = (",", "\t", ";", "|")  # delimiters that are tried if the caller names none
MAX_SEPARATOR_LINE = 64  # bytes
LINE_END = re.compile("[\r\n]")
LINE_ENDS = re.compile(b"\r\n|\r|\n")
MAX_FIRST_ROW = 1 << 18  # characters of the first row by which the delimiter is chosen
# "sep=;", the first line of some files for Excel.
SEPARATOR_LINE = re.compile(r"\ufeff?\s*\"?sep=(.)\"?[^\S\r\n]*(\r\n|\r|\n)", re.I)
HEADER_CHECK_ROWS = 50  # rows after the first that show whether the first is a header
UTF8_COMPATIBLE = ("utf-8", "ascii")  # encodings that need no conversion, by Python's names


def check_csv(
    data: pa.Buffer,
    name: str,
    columns: Columns,
    *,
    delimiter: str | None,
    encoding: str,
    fixed: bool = False,
    names: tuple[str, ...] | None = None,
) -> "CheckedCsv":
    r"""Check the header and the quotes of a CSV file.

    Args:
        data: the file, uncompressed.
        name: name of the file, for messages.
        columns: as in `quorate.io.read_table.read_table`.
        delimiter: character between the fields; None for the one that splits the header into most fields.
        encoding: encoding of the text.
        fixed: whether the caller cannot choose the delimiter and the encoding; messages then do not propose it.
        names: names of the columns of a file without a header; ``("none",)`` numbers the columns, ``("header",)`` takes
            the first row as the header.

    Raises:
        InputError: the file cannot be read as CSV; each cause has its own class.

    >>> data = pa.py_buffer(b"task,label\n007,x\n")
    >>> check_csv(data, "a.csv", {"task": ""}, delimiter=",", encoding="utf-8").parsed().to_pydict()
    {'task': ['007']}
    """
    usual_encoding = "'cp1252' is a common one" if encoding != "cp1252" else "'utf-8' is the usual one"
    remedy = "" if fixed else f", or name its encoding (encoding=, --encoding; {usual_encoding})"
    data = _as_utf8(data, name, encoding, remedy)
    lines_before = 0
    separator = SEPARATOR_LINE.match(bytes(data[:MAX_SEPARATOR_LINE]).decode("utf-8", errors="replace"))
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
    if len(header) > 1:  # otherwise the delimiter may be wrong, and with it the check
        check_quotes(data, name, delimiter, lines_before)
    check_columns(header, _with_separator_remedy(columns, header, delimiter, fixed), name)
    if len(header) == 1:
        check_quotes(data, name, delimiter, lines_before)
    options: dict[str, Any] = {}
    if names is not None and names != ("header",):
        if len(header) != len(first):
            raise MissingColumnError(
                f"column_names= (--columns) names {len(header)} columns, but the first row of {name} has {len(first)}"
            )
        options["column_names"] = header
    elif header != first:  # a name is empty or has blanks around it
        options["column_names"] = header
        data = data.slice(_after_header(data, text, delimiter))
    # Only a header, without a line end, is an error for Arrow's parser.
    has_rows = "\n" in text or "\r" in text or len(data) >= HEAD
    return CheckedCsv(data, name, columns, delimiter, options, remedy, has_rows)


@dataclass(frozen=True, eq=False)
class CheckedCsv:
    """A CSV file whose header and quotes were checked, and how to parse it."""

    data: pa.Buffer  # UTF-8
    name: str
    columns: Columns
    delimiter: str
    options: dict[str, Any]  # of Arrow's reader: the names of the columns, if the header does not have them
    remedy: str  # what the user can do other than convert the file
    has_rows: bool

    def parsed(self) -> pa.Table:
        """Return the requested columns as text.

        Raises:
            InputError: a row cannot be parsed.
        """
        if not self.has_rows:
            return pa.table({column: pa.array([], pa.string()) for column in self.columns})
        try:
            return self._parse()
        except (pa.ArrowException, UnicodeError) as error:
            explain_bytes(self.data, self.name, "utf-8", self.remedy)
            self._refuse_ragged_rows()
            if "straddling object" in str(error):  # Arrow's message for a row longer than a block
                raise WrongFormatError(
                    f"{self.name} has a row of more than {BLOCK / 1e6:.0f} MB, which is too long for an answer. Look "
                    "for a missing line end, or a field that holds a file"
                ) from None
            raise WrongFormatError(f"{self.name} cannot be read as CSV: {reason(error)}") from None

    def encoded(self) -> "EncodedTable | None":
        """Return the requested columns as integer codes.

        None without the extension in C, and where `parsed` must read the file: it has no rows, a row of more than a
        block, or a row that is wrong, which `parsed` names.
        """
        if native is None or not self.has_rows:
            return None
        from pyarrow import csv as arrow_csv

        from quorate.io.encoded_table import EncodedTable, encode_batches

        try:
            # Only the distinct values are checked for text that is not UTF-8.
            with arrow_csv.open_csv(self._stream(), **self._parser(ENCODED_BLOCK, check_utf8=False)) as batches:
                n_rows, columns = encode_batches(iter(batches), len(self.data) / ENCODED_BLOCK)
            for column in columns.values():
                column.values.validate(full=True)
        except (pa.ArrowException, UnicodeError):
            return None
        return EncodedTable(n_rows, columns, self.parsed) if columns else None

    def _parse(self, **options: Any) -> pa.Table:
        from pyarrow import csv as arrow_csv

        return arrow_csv.read_csv(self._stream(), **self._parser(BLOCK, **options))

    def _stream(self) -> Any:
        """Return the file for Arrow's parser; it reports its progress if there is a listener."""
        on_progress = listener.get()
        return pa.BufferReader(self.data) if on_progress is None else pa.PythonFile(_Metered(self.data, on_progress))

    def _parser(self, block_size: int, *, check_utf8: bool = True, **options: Any) -> dict[str, Any]:
        """Return the options of Arrow's parser."""
        from pyarrow import csv as arrow_csv

        return {
            # One thread parses as fast as two (finding line ends takes most of the time), with half the CPU time.
            "read_options": arrow_csv.ReadOptions(block_size=block_size, use_threads=False, **self.options),
            "parse_options": arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, **options),
            "convert_options": arrow_csv.ConvertOptions(
                include_columns=list(self.columns),
                column_types=dict.fromkeys(self.columns, pa.string()),
                check_utf8=check_utf8,
            ),
        }

    def _refuse_ragged_rows(self) -> None:
        """Raise an error that names the rows with more or fewer fields than the header, if there are any."""
        numbers: list[int] = []
        first: list[Any] = []

        def note(row: Any) -> str:
            if not first:
                first.append(row)
            numbers.append((row.number or 2) - (1 if self.options else 2))
            return "skip"

        try:
            self._parse(invalid_row_handler=note)
        except (pa.ArrowException, UnicodeError):
            return
        if first:
            hint = "" if len(self.columns) > 2 else f". If {self.name} is not a table, give another file"
            n_fields = count(first[0].actual_columns, "field")
            first_row_has = f"{rows_phrase(numbers[:1])} has {n_fields} ({shown(first[0].text)})"
            wrong_rows = (
                first_row_has
                if len(numbers) == 1
                else f"{rows_phrase(numbers)} have another number of fields: {first_row_has}"
            )
            raise RaggedRowsError(
                f"{self.name} has {first[0].expected_columns} columns, but {wrong_rows}. Put each field that contains "
                f"the separator {self.delimiter!r} in quotes, or correct the rows{hint}"
            )


def with_header(first: Callable[[int], str]) -> str:
    r"""Return the beginning of a text up to at least the end of its first line.

    Args:
        first: function that returns the text in the first n bytes, for a given n.

    >>> len(with_header(lambda size: ("a," * HEAD + "z\n1,2\n")[:size])) == 2 * HEAD + 6
    True
    """
    size = HEAD
    text = first(HEAD)
    before = ""
    while not LINE_END.search(text.lstrip()) and len(text) > len(before) and size < MAX_HEADER_BYTES:
        size = 8 * size
        before = text
        text = first(size)
    return text


def without_separator_line(text: str) -> tuple[str, str | None]:
    r"""Return a text without the line ``sep=;`` that Excel writes and reads, and the separator that this line names.

    >>> without_separator_line("sep=;\r\ntask;worker\r\n"), without_separator_line("task,worker\n")
    (('task;worker\r\n', ';'), ('task,worker\n', None))
    """
    line = SEPARATOR_LINE.match(text)
    return (text, None) if line is None else (text[line.end() :], line[1])


def first_row(text: str, delimiter: str) -> list[str]:
    r"""Return the fields of the first row that is not empty; an empty list if the text cannot be parsed.

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
    line = text.lstrip("\ufeff\r\n")[:MAX_FIRST_ROW]
    return max(DELIMITERS, key=lambda mark: len(first_row(line, mark)) if mark in line else 0)


def header_names(first: Sequence[str], names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the names of the columns: those given, numbers, or the fields of the first row without outer blanks.

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

    A number is data, unless the first row counts the columns. A text that occurs again below it is data as well, if the
    column has few values. A text above a column of numbers is a name.

    >>> is_data_row("41,1141,4\n16,2039,3\n33,1176,4\n", ","), is_data_row("task,worker,label\n1,2,3\n", ",")
    (True, False)
    """
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter):
            rows += [row] if row else []
            if len(rows) > HEADER_CHECK_ROWS:
                break
    except csv.Error:
        return False
    if len(rows) < 2:
        return False
    first, *later_rows = rows
    cells = [field.strip() for field in first]
    counted = cells if cells[0] else cells[1:]
    if len(counted) > 3 and any(counted == [str(k + start) for k in range(len(counted))] for start in (0, 1)):
        return False  # column numbers, which data frames without names write as a header
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
    """Return the number of bytes of the header with the blank lines before it; ``text`` is the start of the data."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for row in reader:
        if row:
            break
    size = min(len(data), 4 * len(text) + 4)  # a character has at most four bytes
    ends = [match.end() for match in islice(LINE_ENDS.finditer(bytes(data[:size])), reader.line_num)]
    return ends[-1] if len(ends) == reader.line_num else len(data)


def padded(data: pa.Buffer, delimiter: str, encoding: str) -> tuple[pa.Buffer, tuple[str, ...]]:
    r"""Fill up rows that lack the last columns of the header, if these columns are empty in all rows.

    Args:
        data: the file.
        delimiter: character between the fields.
        encoding: encoding of the text.

    Returns:
        the file as UTF-8 with rows of full length, and the names of the columns that rows lacked; the file unchanged
        and no names if a row is longer than the header, or if a column that some rows lack has values in others.

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
    """Convert text of any encoding to UTF-8, which the parser takes."""
    if codecs.lookup(encoding).name in UTF8_COMPATIBLE:
        return data
    explain_bytes(data, name, encoding, remedy)
    try:
        return pa.py_buffer(bytes(data).decode(encoding).encode())
    except UnicodeError as error:
        raise NotUtf8Error(f"{name} is not {encoding} text ({reason(error)}). Convert it to UTF-8{remedy}") from None


def _with_separator_remedy(columns: Columns, header: list[str], delimiter: str, fixed: bool) -> Columns:
    """Return the remedy for each column; if the header is one field that contains another separator, it names that."""
    other_delimiters = [mark for mark in DELIMITERS if mark != delimiter and mark in "".join(header)]
    if len(header) > 1 or not other_delimiters:
        return columns
    remedy = "Write it with commas" if fixed else "Name the separator with delimiter= (--delimiter)"
    return dict.fromkeys(columns, f"The separator of the header seems to be {other_delimiters[0]!r}. {remedy}")


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
        NotUtf8Error: there is such a byte; ``remedy`` is what the user can do other than convert the file.

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
    except UnicodeError as error:  # an error without a position: UTF-16 without a byte order mark
        raise NotUtf8Error(f"{name} is not {encoding} text ({reason(error)}). Convert it to UTF-8{remedy}") from None
