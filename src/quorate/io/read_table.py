"""Read a file, a stream or a table object into an Arrow table of the requested columns.

CSV fields are read as text, so that an id such as ``007`` does not change.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from quorate.errors import EmptyFileError, UnknownFormatError, WrongFormatError
from quorate.io.dataframes import Columns, check_columns, read_object
from quorate.io.dataframes import Source as Source
from quorate.io.encodings import encoding_of
from quorate.io.open_file import COMPRESSIONS, Loaded, load
from quorate.io.options import AS_USUAL, ReadOptions

if TYPE_CHECKING:
    from quorate.io.csv_files import CheckedCsv
    from quorate.io.encoded_table import EncodedTable

# Predictions of one model, a list of predictions, or a mapping from the name of a model to its predictions.
ModelSources: TypeAlias = Source | Sequence[Source] | Mapping[str, Source]
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
    ".yaml": "yaml",
    ".yml": "yaml",
}
NO_TABLES = ("json", "xlsx", "yaml")  # formats that other modules convert to tables


def read_table(source: Source, columns: Columns, reading: ReadOptions = AS_USUAL, *, fixed: bool = False) -> pa.Table:
    """Return an Arrow table with exactly ``columns``, in that order.

    Args:
        source: a path, ``"-"`` for standard input, a mapping from column names to values, or a table object
            (pandas, polars, pyarrow, a DuckDB relation, a Hugging Face data set).
        columns: requested column -> the remedy that an error names if it is missing.
        reading: format, delimiter and encoding; by default, the file's extension decides, and then its content.
        fixed: whether the caller cannot choose these three; messages then do not propose it.

    Raises:
        InputError: the file or the object cannot be read; each cause has its own class.

    >>> read_table({"task": [1, 2], "label": ["a", "b"]}, {"label": ""}).to_pydict()
    {'label': ['a', 'b']}
    """
    table = _table_or_csv(source, columns, reading, fixed)
    return table if isinstance(table, pa.Table) else table.parsed()


def read_encoded_table(
    source: Source, columns: Columns, reading: ReadOptions = AS_USUAL, *, fixed: bool = False
) -> "pa.Table | EncodedTable":
    """Return what `read_table` returns, a CSV file as integer codes if possible, which takes less time and memory."""
    table = _table_or_csv(source, columns, reading, fixed)
    return table if isinstance(table, pa.Table) else table.encoded() or table.parsed()


def _table_or_csv(source: Source, columns: Columns, reading: ReadOptions, fixed: bool) -> "pa.Table | CheckedCsv":
    """Return a table of the columns, or a CSV file that is not yet parsed."""
    if not isinstance(source, str | Path | Loaded):
        return read_object(source, columns)
    loaded = load(source)
    data = loaded.data
    name = loaded.name
    if len(data) == 0:
        raise EmptyFileError(f"{name} is empty")
    written_as = reading.format or format_of(name) or _format_from_content(data, name, fixed)
    if written_as == "parquet":
        from quorate.io.parquet_files import read_parquet

        return read_parquet(data, name, columns)
    if bytes(data[:4]) == b"PAR1":
        remedy = "leave out format= (--from)" if reading.format else "let its name end in .parquet"
        raise WrongFormatError(f"{name} is a Parquet file, not {written_as.upper()}; {remedy}")
    if written_as == "xlsx":
        from quorate.io.excel_files import read_workbook

        table, _ = read_workbook(loaded)
        check_columns(table.column_names, columns, name)
        return table.select(list(columns))
    if written_as in NO_TABLES:
        raise WrongFormatError(
            f"{name} is {written_as.upper()}, and a table of fixed columns is wanted: write it as CSV, JSON lines or "
            "Parquet"
        )
    if written_as == "jsonl":
        from quorate.io.json_lines import read_json_lines

        return read_json_lines(data, name, columns, lists=reading.columns[2:])
    from quorate.io.csv_files import HEAD, check_csv

    delimiter = reading.delimiter or ("\t" if written_as == "tsv" else None)
    names = None if reading.column_names is None else tuple(reading.column_names)
    encoding = encoding_of(bytes(data[:HEAD]), reading.encoding)
    return check_csv(data, name, columns, delimiter=delimiter, encoding=encoding, fixed=fixed, names=names)


def format_of(source: str | Path) -> str | None:
    """Return the format of a file by its extension; None for an unknown extension.

    >>> format_of("answers.csv.gz"), format_of("answers")
    ('csv', None)
    """
    path = Path(source)
    if path.suffix.lower() in COMPRESSIONS:
        path = path.with_suffix("")
    return ENDINGS.get(path.suffix.lower())


def _format_from_content(data: pa.Buffer, name: str, fixed: bool) -> str:
    head = bytes(data[:4096])
    if head[:4] == b"PAR1":
        return "parquet"
    if head.lstrip()[:1] == b"{":
        return "jsonl"
    if re.match(rb"\s*\[\s*[\[{\]]", head):
        return "json"
    first_line = head.split(b"\n", 1)[0]
    if b"\0" not in head and (b"\t" in first_line or b"," in first_line):
        return "tsv" if b"\t" in first_line else "csv"
    say = "" if fixed else ", or use format= (--from csv, tsv, parquet or jsonl)"
    raise UnknownFormatError(f"The format of {name} is not clear. End its name in .csv, .tsv, .parquet or .jsonl{say}")
