"""The bytes of a file of JSON lines -> an Arrow table of the columns asked for."""

import io
import json

import pyarrow as pa

from quorate.errors import ColumnTypeError, WrongFormatError
from quorate.reading.delimited import BLOCK, explain_bytes
from quorate.reading.objects import Columns, check_columns


def read_json_lines(data: pa.Buffer, name: str, columns: Columns) -> pa.Table:
    """Parse JSON lines.

    Args:
        data: the file, uncompressed.
        name: of the file, for messages.
        columns: as in `quorate.reading.files.read_table`.

    Raises:
        InputError: it is no such file; each cause has its own class.

    >>> data = pa.py_buffer(b'{"task": "2024-05-01", "label": "x"}')
    >>> read_json_lines(data, "a.jsonl", {"task": ""}).to_pydict()
    {'task': ['2024-05-01']}
    """
    from pyarrow import json as arrow_json

    def parse(schema: pa.Schema | None = None) -> pa.Table:
        return arrow_json.read_json(
            pa.BufferReader(data),
            read_options=arrow_json.ReadOptions(block_size=BLOCK),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema),
        )

    try:
        table = parse()
        check_columns(table.column_names, columns, name)
        table = table.select(list(columns))
        # The reader turns text that looks like a date into a date; an id must come back as it went in.
        dates = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
        if dates:
            table = parse(pa.schema([(column, pa.string()) for column in dates])).select(list(columns))
    except pa.ArrowInvalid as error:
        explain_bytes(data, name, "utf-8")
        _explain_lines(data, name)
        raise ColumnTypeError(
            f"a column of {name} changes its type from line to line; make it one type ({error})"
        ) from None
    return table


def _explain_lines(data: pa.Buffer, name: str) -> None:
    """Say which line is no JSON object, if one is not."""
    for number, line in enumerate(io.BytesIO(data), start=1):
        try:
            found = json.loads(line) if line.strip() else {}
        except json.JSONDecodeError:
            raise WrongFormatError(
                f"line {number:,} of {name} is not JSON: {line[:60]!r}. Write one object a line"
            ) from None
        if not isinstance(found, dict):
            raise WrongFormatError(
                f"line {number:,} of {name} is no JSON object: {line[:60]!r}. Write one object a line"
            )
