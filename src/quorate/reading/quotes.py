"""Whether quotes in a CSV file open and close where fields do: a stray one swallows all rows up to the next."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.errors import StrayQuoteError, shown

QUOTE = ord('"')
CHUNK = 1 << 24  # bytes that are looked at together
BOM = b"\xef\xbb\xbf"

Bytes = NDArray[np.uint8]


def check_quotes(data: pa.Buffer, name: str, delimiter: str) -> None:
    r"""Refuse a file in which a quoted field is never closed, or goes on after its closing quote.

    A quote within a field that does not begin with one is text like any other.

    Args:
        data: the file, in UTF-8.
        name: of the file, for messages.
        delimiter: what separates the fields.

    Raises:
        StrayQuoteError: there is such a quote; the message names its line.

    >>> check_quotes(pa.py_buffer(b't,l\n1,"a ""b"" c"\n2,5" pipe\n'), "a.csv", ",")
    >>> check_quotes(pa.py_buffer(b't,l\n1,"a\n2,b\n'), "a.csv", ",")
    Traceback (most recent call last):
    quorate.errors.StrayQuoteError: line 2 of a.csv opens a quote that is never closed: '"a'. ...
    """
    raw = memoryview(data)
    found = np.frombuffer(raw, np.uint8)
    start = len(BOM) if bytes(raw[: len(BOM)]) == BOM else 0
    ends = np.zeros(256, dtype=bool)  # bytes between which a field lies
    ends[[ord(delimiter), ord("\n"), ord("\r")]] = True
    inside = False
    for quotes in _quotes(found, start):
        if not _are_tidy(found, quotes, ends, start, inside):
            _walk(raw, name, ends, start)  # exact, and a hundred times as slow
            return
        inside ^= len(quotes) % 2 == 1
    if inside:
        _walk(raw, name, ends, start)


def _quotes(found: Bytes, start: int) -> Iterator[NDArray[np.intp]]:
    """Give the places of all quotes, a chunk of the file at a time."""
    for begin in range(start, len(found), CHUNK):
        chunk = found[begin : begin + CHUNK]
        quotes = np.flatnonzero(chunk == QUOTE)
        if len(quotes):
            yield quotes + begin


def _are_tidy(found: Bytes, quotes: NDArray[np.intp], ends: NDArray[np.bool_], start: int, inside: bool) -> bool:
    """Whether quotes open and close by turns, each at an end of a field or beside another quote."""
    opens = (np.arange(len(quotes)) + inside) % 2 == 0
    first, last = quotes[opens], quotes[~opens]
    before, after = found[np.maximum(first - 1, 0)], found[np.minimum(last + 1, len(found) - 1)]
    well_opened = (first == start) | ends[before] | ((before == QUOTE) & (first > start))
    well_closed = (last + 1 == len(found)) | ends[after] | (after == QUOTE)
    return bool(well_opened.all() and well_closed.all())


def _walk(raw: memoryview, name: str, ends: NDArray[np.bool_], start: int) -> None:
    """Follow every quote, one by one."""
    found = np.frombuffer(raw, np.uint8)
    opened, skip = -1, -1
    for q in (int(each) for quotes in _quotes(found, start) for each in quotes):
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
            _refuse(raw, name, opened, f"and goes on after the quote is closed, with {_peek(raw, q + 1)}")
    if opened >= 0:
        _refuse(raw, name, opened, f"that is never closed: {_peek(raw, opened)}")


def _refuse(raw: memoryview, name: str, opened: int, why: str) -> None:
    before = bytes(raw[:opened])
    line = before.count(b"\n") or before.count(b"\r")
    raise StrayQuoteError(
        f"line {line + 1:,} of {name} opens a quote {why}. Quote a field that has quotes, and write each of "
        'them twice, as "a ""b"" c"'
    )


def _peek(raw: memoryview, at: int) -> str:
    """Show the text at a place, up to the end of the line."""
    # Thirty letters have at most 120 bytes, so that none of them is cut in two.
    return shown(bytes(raw[at : at + 120]).splitlines()[0].decode(errors="backslashreplace"), 30)
