"""Write tables to files; each file is written completely or not at all."""

import csv
import io
import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

import quorate.arrow_compute as pc
from quorate.arrays import TEXT, Table, from_strings
from quorate.errors import OptionError, not_installed, shown, unknown_name_error
from quorate.io.arguments import check_arguments
from quorate.io.atomic import after_writing, atomic_append, atomic_batch, atomic_write
from quorate.io.write_csv import csv_batches

FORMATS = ("csv", "parquet", "jsonl", "xlsx")
SCHEMA_VERSION = 1  # of the JSON objects that commands print; increased when a key is removed or its meaning changes
MAX_EXCEL_ROWS = 1_048_576  # of a sheet, including the header: Excel's limit
MAX_EXCEL_CHARACTERS = 32_767  # of a cell: Excel's limit; openpyxl cuts longer text without an error
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # characters that an Excel cell cannot contain
# Text that a spreadsheet program reads as a formula, and text that matches this but is a number.
FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@check_arguments
def write_table(table: Table, path: str | Path, format: str | None = None, *, excel_safe: bool = False) -> None:
    """Write a table as CSV, Parquet, JSON lines or an Excel workbook; ``-`` is standard output.

    Args:
        table: table to write.
        path: path of the file, which is written atomically.
        format: by default, the extension of the path decides; CSV if it has none.
        excel_safe: in CSV, put an apostrophe before text that a spreadsheet program would evaluate as a formula.

    Raises:
        OptionError: the extension is not that of a supported format.
        UnwritableFileError: the folder does not exist, or is not writable.

    >>> write_table(Table(pa.table({"task": [1], "label": ["cat"]})), "-", "jsonl")
    {"task": 1, "label": "cat"}
    """
    written_as = format or _format_of(path)
    if written_as not in FORMATS:
        raise unknown_name_error(written_as, FORMATS, "format= (--output-format)")
    if written_as == "xlsx" and str(path) == "-":
        raise OptionError("an Excel workbook cannot go to standard output; name a file that ends in .xlsx")
    writers = {"csv": _write_csv, "parquet": _write_parquet, "jsonl": _write_json_lines, "xlsx": _write_excel}
    write = writers[written_as]
    arrow = without_formulas(with_text(table.arrow)) if excel_safe and written_as == "csv" else table.arrow
    _write_to(path, lambda stream: write(arrow, stream))


def write_tables(
    tables: Iterable[tuple[Table | Callable[[], Table], str | Path | None]],
    format: str | None = None,
    *,
    excel_safe: bool = False,
) -> None:
    """Write several tables, all files or none; a table without a path is left out.

    Args:
        tables: (table, path) pairs; a table may be given as a function, which is called when the table is written.
        format: as in `write_table`.
        excel_safe: as in `write_table`.

    Raises:
        UnwritableFileError: a file cannot be written; then no file is written.

    >>> write_tables([(Table(pa.table({"task": [1]})), "-"), (Table(pa.table({"worker": [1]})), None)])
    task
    1
    """
    with atomic_batch():
        for table, path in tables:
            if path is None:
                continue
            write_table(table if isinstance(table, Table) else table(), path, format, excel_safe=excel_safe)


# Extension -> format; the last one is for a name without extension.
WRITTEN = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
    "": "csv",
}
# Extensions of spreadsheet formats that Quorate cannot write.
SPREADSHEETS = (".xls", ".xlsm", ".xlsb", ".ods")


def write_json(value: Any, path: str | Path) -> None:
    """Write one JSON value, completely or not at all; ``-`` is standard output.

    >>> write_json([{"id": 1}], "-")
    [{"id": 1}]
    """
    _write_to(path, lambda stream: _write_text(to_json(value) + "\n", stream))


def write_text(text: str, path: str | Path) -> None:
    """Write text, completely or not at all; ``-`` is standard output.

    >>> write_text("a page", "-")
    a page
    """
    _write_to(path, lambda stream: _write_text(text, stream))


def append_text(text: str, path: str | Path) -> None:
    """Add text to the end of a file, all of it or nothing; ``-`` is standard output.

    >>> append_text("a page", "-")
    a page
    """
    if str(path) == "-":
        write_text(text, path)
    else:
        atomic_append(path, text.encode())


def without_formulas(table: pa.Table) -> pa.Table:
    """Return the table with an apostrophe before each text that a spreadsheet would evaluate, except numbers.

    >>> without_formulas(pa.table({"label": ["=1+1", "-3", "cat"]}))["label"].to_pylist()
    ["'=1+1", '-3', 'cat']
    """
    for k, field in enumerate(table.schema):
        if field.type in TEXT:
            column = table.column(k)
            risky = pc.match_substring_regex(column, FORMULA)
            number = pc.match_substring_regex(column, NUMBER)
            quoted = pc.binary_join_element_wise(pa.scalar("'", field.type), column, pa.scalar("", field.type))
            table = table.set_column(k, field.name, pc.if_else(pc.and_not(risky, number), quoted, column))
    return table


def _write_to(path: str | Path, write: Callable[[Any], None]) -> None:
    """Call a writer with the stream of a file or, after the current batch of files, of standard output."""
    if str(path) == "-":
        after_writing(lambda: to_standard_output(write))
    else:
        atomic_write(path, write)


def to_standard_output(write: Callable[[Any], None]) -> None:
    """Call a writer with the binary stream of standard output."""
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # standard output was replaced by a stream that takes only text
        buffer = pa.BufferOutputStream()
        write(buffer)
        sys.stdout.write(buffer.getvalue().to_pybytes().decode())
    else:
        write(stream)
        stream.flush()


def _write_text(text: str, stream: BinaryIO) -> None:
    stream.write(text.encode())


def _format_of(path: str | Path) -> str:
    ending = Path(path).suffix.lower()
    if ending in SPREADSHEETS:
        raise OptionError(
            f"'{path}': Quorate cannot write this format. Name the file {Path(path).stem}.xlsx or "
            f"{Path(path).stem}.csv (with --excel-safe if ids may look like formulas)"
        )
    if ending not in WRITTEN:
        raise OptionError(
            f"'{path}': tables are written as {', '.join(WRITTEN)[:-2]}. End the name in one of these, or choose the "
            "format with format= (--output-format csv)"
        )
    return WRITTEN[ending]


def _write_excel(table: pa.Table, stream: BinaryIO) -> None:
    """Write one sheet, with text stored as text, so that no id becomes a formula, a number or a date."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError:
        raise not_installed(
            "an Excel workbook", "openpyxl", "[excel]", instead="write CSV, which Excel opens", error=OptionError
        ) from None
    if table.num_rows >= MAX_EXCEL_ROWS:
        raise OptionError(
            f"a sheet of Excel has at most {MAX_EXCEL_ROWS:,} rows, and the table has {table.num_rows:,}; write CSV "
            "or Parquet"
        )
    table = with_text(table)
    for field in table.schema:
        longest = pc.max(pc.utf8_length(table.column(field.name))).as_py() if field.type in TEXT else None
        if longest is not None and longest > MAX_EXCEL_CHARACTERS:
            raise OptionError(
                f"a cell of Excel has at most {MAX_EXCEL_CHARACTERS:,} characters, and column {shown(field.name)} has "
                f"a text of {longest:,}; write CSV or Parquet"
            )
    workbook = Workbook(write_only=True)
    sheet = workbook.create_sheet("quorate")

    def cell(value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):  # Excel has no such number
            return None if math.isnan(value) else str(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        excel_cell = WriteOnlyCell(sheet, value=CONTROL.sub("", str(value)))
        excel_cell.data_type = "s"
        return excel_cell

    sheet.append([cell(name) for name in table.column_names])
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        sheet.append([cell(value) for value in row])
    packed = io.BytesIO()
    workbook.save(packed)
    stream.write(packed.getvalue())


def _write_csv(table: pa.Table, stream: BinaryIO) -> None:
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(table.column_names)
    stream.write(header.getvalue().encode())
    for rows in csv_batches(with_text(table)):
        stream.write(rows)


def with_text(table: pa.Table) -> pa.Table:
    """Return the table with lists as text, joined by the separator of their column (by default a comma).

    >>> with_text(pa.table({"labels": [["cat", "dog"], []]}))["labels"].to_pylist()
    ['cat,dog', '']
    """
    for k, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            separator = (field.metadata or {}).get(b"separator", b",").decode()
            lists = table.column(k).cast(pa.list_(pa.string()))
            table = table.set_column(k, field.name, pc.binary_join(lists, separator))
    return table


def _write_parquet(table: pa.Table, stream: BinaryIO) -> None:
    from pyarrow import parquet

    parquet.write_table(table, stream)


def _write_json_lines(table: pa.Table, stream: BinaryIO) -> None:
    keys = [pa.scalar(f"{', ' if k else '{'}{to_json(name)}: ") for k, name in enumerate(table.column_names)]
    for batch in table.to_batches(max_chunksize=1 << 16):
        fields = [text for key, column in zip(keys, batch.columns, strict=True) for text in (key, _json_texts(column))]
        rows = pc.binary_join_element_wise(*fields, pa.scalar("}\n"), pa.scalar(""))
        stream.write("".join(rows.to_pylist()).encode())


def _json_texts(column: pa.Array) -> pa.Array:
    """Return each value of a column as JSON text."""
    if pa.types.is_integer(column.type):
        return pc.fill_null(column.cast(pa.string()), "null")
    if column.type not in TEXT:
        return from_strings([to_json(value) for value in column.to_pylist()])
    encoded = column.dictionary_encode()  # so that each distinct text is converted once
    texts = from_strings([to_json(text) for text in encoded.dictionary.to_pylist()])
    return pc.fill_null(texts.take(encoded.indices), "null")


def to_json(value: Any) -> str:
    """Return a value as JSON text; dates become text, NaN and infinity null.

    >>> to_json({"a": float("nan"), "b": [1, float("inf")]})
    '{"a": null, "b": [1, null]}'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:  # there is NaN or infinity; searching for them first would take ten times as long as writing
        value = _plain(value)
        text = json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # an incomplete character, as in another tool's export: it is written unchanged, escaped
        text = json.dumps(value, default=str, allow_nan=False)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
