"""Read a source of unknown layout into a `Frame`: its columns with each field as text, and notes about the reading."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray
from quorate.errors import LONGEST_VALUE, InputError, MissingColumnError, OptionError, listing, shown
from quorate.io.column_names import match_name
from quorate.io.columns import encode
from quorate.io.exports.content import Content
from quorate.io.json_documents import cell_text, tabulate
from quorate.io.json_lines import each_line
from quorate.io.open_file import Loaded, head
from quorate.io.options import PATTERN, flag_of, join_names, split_names
from quorate.io.read_table import read_table
from quorate.io.several_files import short_titles
from quorate.io.values import FROM_FILE, common_prefix, parse_number

INDEX = "index"  # column name for the row labels of a data frame, if they have no name
MAX_BYTES_READ = 1 << 23  # of a larger file, only a sample is profiled
SAMPLE_SIZE = 1 << 16  # bytes at the beginning of a larger file that are profiled: some thousands of rows
MAX_NAMED = 5  # columns that a note names; for more, it states their number
N_PROFILED = 1000  # distinct values of a column from which its type and lengths are determined
MAX_VALUES = 200  # if a column has more distinct values, they are not stored for comparison


@dataclass(frozen=True)
class Profile:
    """Statistics of the values of a column."""

    name: str
    n_rows: int
    codes: IntArray = field(repr=False)  # code of the value of each row, -1 where it is blank
    n_values: int  # number of distinct values
    values: frozenset[str]  # the distinct values; empty if there are more than `MAX_VALUES`
    is_number: bool  # every value is a number
    is_integer: bool  # every value is a whole number
    low: float
    high: float
    longest: int  # characters of the longest value
    mean_length: float
    nested: str  # "list", "object", "listed" (commas), or ""

    @property
    def n_blank(self) -> int:
        """Number of rows without a value."""
        return int((self.codes < 0).sum())

    @property
    def n_given(self) -> int:
        """Number of rows with a value."""
        return self.n_rows - self.n_blank

    @property
    def is_unique(self) -> bool:
        """Whether all rows have different values, and none is missing."""
        return self.n_values == self.n_rows


@dataclass(frozen=True)
class Frame:
    """Columns of text from any source; which of them are the task, the worker and the answer is not decided yet."""

    name: str
    columns: Mapping[str, pa.ChunkedArray] = field(repr=False)
    n_rows: int
    shape: str = "table"  # or "no header", "records", "by id", "mapping of mappings", ...
    notes: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    is_sample: bool = False
    files: tuple[str, ...] = ()

    def texts(self, name: str) -> list[str | None]:
        """Return the text of each row in a column; None where it is blank."""
        return [cell_text(value) for value in self.columns[name].to_pylist()]

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """The profile of every column."""
        return {name: _profile(name, column) for name, column in self.columns.items()}


def frame_of(content: Content, *, sample: bool) -> Frame:
    """Read the columns of a source: one table, or several files below each other.

    Args:
        content: the source.
        sample: whether only the beginning of a large file is read.

    Raises:
        InputError: the source cannot be read.

    >>> from quorate.io.exports.content import look
    >>> frame_of(look({"item": [1, 2], "ann": ["x", "y"]}), sample=False).texts("item")
    ['1', '2']
    """
    if content.parts:
        return _frame_of_files(content, sample=sample)
    is_large = sample and _size(content.source) > MAX_BYTES_READ
    if content.layout == "records":
        return _frame_of_records(content, is_large)
    table = _beginning(content) if is_large and content.head else content.table
    columns = {name: _plain(table.column(name)) for name in content.fields}
    n_rows = table.num_rows
    index = content.index
    if not index:
        labels = _row_labels(content.source)
        if labels is not None and len(labels) == n_rows:
            columns = {INDEX: _column(labels), **columns}
            index = (INDEX,)
    notes = [*content.notes]
    if not is_large and content.padding:
        *first, last = (name[:LONGEST_VALUE] for name in content.padding)
        which = " and ".join(part for part in (", ".join(first), last) if part)
        if len(content.padding) > MAX_NAMED:
            which = f"{len(content.padding):,} columns"
        notes.append(f"{which} are empty in every row, and the rows end before them")
    shape = "no header" if content.headerless else "table"
    return Frame(content.name, columns, n_rows, shape, tuple(notes), index, is_large, content.files)


def _frame_of_files(content: Content, *, sample: bool) -> Frame:
    """Concatenate the tables of several files; the column `FROM_FILE` names the file of each row."""
    frames = [frame_of(part, sample=sample) for part in content.parts]
    titles = short_titles([frame.name for frame in frames])
    names = dict.fromkeys(name for frame in frames for name in frame.columns)
    common = [name for name in names if all(name in frame.columns for frame in frames)]
    if not common:
        raise MissingColumnError(f"The files {content.name} have no column in common. Give files of one layout")
    columns: dict[str, pa.ChunkedArray] = {}
    for name in names:
        pieces = [
            pa.array(frame.texts(name), pa.string()) if name in frame.columns else pa.nulls(frame.n_rows, pa.string())
            for frame in frames
        ]
        columns[name] = pa.chunked_array(pieces, pa.string())
    origin = [pa.array([title] * frame.n_rows, pa.string()) for title, frame in zip(titles, frames, strict=True)]
    columns[FROM_FILE] = pa.chunked_array(origin, pa.string())
    notes = tuple(dict.fromkeys(note for frame in frames for note in frame.notes))
    return Frame(
        content.name,
        columns,
        sum(frame.n_rows for frame in frames),
        frames[0].shape,
        (*content.notes, *notes),
        (),
        any(frame.is_sample for frame in frames),
        content.files,
    )


def _beginning(content: Content) -> pa.Table:
    """Return the rows at the beginning of a large file (the first `SAMPLE_SIZE` bytes)."""
    assert isinstance(content.source, str | Path | Loaded)  # a file
    raw = head(content.source, SAMPLE_SIZE)
    try:
        beginning = Loaded(content.name, pa.py_buffer(raw[: raw.rfind(b"\n") + 1]))
        return read_table(beginning, dict.fromkeys(content.fields, ""), content.reading)
    except InputError:  # rows of unequal length, or a quoted field that is cut off: read as many rows as possible
        rows = content.sample_rows(SAMPLE_SIZE)
        return pa.table({name: _column([row.get(name) for row in rows]) for name in content.fields})


def _frame_of_records(content: Content, is_large: bool) -> Frame:
    source = content.source
    if is_large and content.json_lines and isinstance(source, str | Path | Loaded):
        text = head(source, SAMPLE_SIZE).decode("utf-8-sig", errors="replace").rpartition("\n")[0]
        data: Any = list(each_line(text, content.name))
    else:
        is_large = False
        data = content.document
    document = tabulate(data, content.name)
    columns = {name: _column(values) for name, values in document.columns.items()}
    notes = (*content.notes, *document.notes)
    return Frame(content.name, columns, document.n_rows, document.shape, notes, (), is_large, content.files)


def _row_labels(source: Any) -> list[str | None] | None:
    """Return the row labels of a data frame; None if they are only numbered, not unique, or in several levels."""
    index: Any = getattr(source, "index", None)
    if getattr(index, "nlevels", 0) != 1 or not getattr(index, "is_unique", False):
        return None
    if type(index).__name__ == "RangeIndex":
        return None
    return [cell_text(label) for label in index.tolist()]


def _size(source: Any) -> int:
    """Return the number of bytes of a file; 0 for any other source."""
    if isinstance(source, Loaded):
        return len(source.data)
    return os.path.getsize(source) if isinstance(source, str | Path) and os.path.isfile(source) else 0


def _column(values: Sequence[str | None]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.string())])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with lists and records as JSON text, so that its values can be encoded."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not pa.types.is_nested(kind):
        return column
    values = column.to_pylist()
    return _column([None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values])


def _profile(name: str, column: pa.ChunkedArray) -> Profile:
    codes, names = encode(column, name, is_label=True, is_quantity=True)
    texts = [cell_text(value) or "" for value in names.slice(0, N_PROFILED).to_pylist()]
    numbers = [parse_number(text) for text in texts]
    is_number = bool(texts) and None not in numbers
    finite = [number for number in numbers if number is not None]
    lengths = [len(text) for text in texts] or [0]
    counted = np.bincount(codes[codes >= 0], minlength=len(names))[: len(texts)]
    mean = float(np.dot(counted, lengths[: len(counted)]) / counted.sum()) if counted.sum() else 0.0
    return Profile(
        name,
        len(codes),
        codes,
        len(names),
        frozenset(texts) if len(names) <= MAX_VALUES else frozenset(),
        is_number,
        is_number and all(number is not None and float(number).is_integer() for number in numbers),
        min(finite, default=0.0),
        max(finite, default=0.0),
        max(lengths),
        mean,
        _nesting(texts),
    )


def _nesting(texts: Sequence[str]) -> str:
    """Return how fields hold several values: "list" or "object" (JSON), "listed" (commas); "" if they hold one."""
    filled = [text.strip() for text in texts[:200] if text.strip()]
    if not filled:
        return ""
    if all(text[:1] == "[" and text[-1:] == "]" for text in filled):
        return "list"
    if all(text[:1] == "{" and text[-1:] == "}" for text in filled):
        return "object"
    listed = sum("," in text for text in filled)
    short = all(0 < len(part.strip()) <= 40 for text in filled[:50] for part in text.split(","))
    return "listed" if listed >= 0.8 * len(filled) and short else ""


# --- the columns that an option names ---


def columns_named(frame: Frame, wanted: Sequence[str] | str, role: str) -> list[str]:
    """Return the columns that a name, a list of names, or patterns select, in the order of the table.

    Raises:
        MissingColumnError: a name or a pattern selects no column.

    >>> from quorate.io.exports.content import look
    >>> from quorate.io.frame import frame_of
    >>> columns_named(frame_of(look({"id": [1], "judge_a": [1], "judge_b": [2]}), sample=False), "judge_*", "workers")
    ['judge_a', 'judge_b']
    """
    columns = list(frame.columns)
    if isinstance(wanted, str) and match_name(wanted, columns) in columns:
        return [match_name(wanted, columns)]
    chosen: dict[str, None] = {}
    for name in split_names(wanted) or ("",):
        is_pattern = any(mark in name for mark in PATTERN)
        meant = [match_name(name, columns)]
        if meant[0] not in columns:
            meant = [column for column in columns if is_pattern and fnmatchcase(column.lower(), name.lower())]
        if not meant:
            kind = "column like" if is_pattern else "column"
            raise MissingColumnError(
                f"{frame.name} has no {kind} {shown(name)}; it has {listing(columns, 12)}. Choose one with {role}= "
                f"({flag_of(role)})"
            )
        chosen |= dict.fromkeys(meant)
    return [name for name in columns if name in chosen]


def one_column(frame: Frame, wanted: str, role: str) -> str:
    """Return the only column that a name or a pattern selects.

    Raises:
        OptionError: it selects several columns.
    """
    names = columns_named(frame, wanted, role)
    if len(names) > 1:
        raise OptionError(f"{role}= ({flag_of(role)}) names one column, got {listing(names)}")
    return names[0]


def columns_of_option(frame: Frame, option: Any) -> list[str]:
    """Return the columns that an option names; the inverse of `join_names`."""
    text = str(option or "")
    return [text] if text in frame.columns else list(split_names(text))


def column_pattern(frame: Frame, names: Sequence[str]) -> str:
    """Return the value of an option that selects these columns: a pattern that matches no other, or a list."""
    beginning = common_prefix(names)
    ending = common_prefix([name[::-1] for name in names])[::-1]
    for pattern in (f"{beginning}*", f"*{ending}"):
        is_plain = len(pattern) > 2 and not re.search(r"[\[\]?,\"]", pattern)
        if is_plain and set(columns_named(frame, pattern, "workers")) == set(names):
            return pattern
    return join_names(names)
