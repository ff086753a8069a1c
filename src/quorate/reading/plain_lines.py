"""JSON lines that are all written alike, as a program writes them: proven plain by their bytes, then read by Arrow.

Arrow reads ten times as fast as Python, but makes dates of texts and fractions of large numbers, and some lines end the
process. So it is given only lines of which a pattern, made of the first one, says that each is an object of the same
fields in the same order, whose values are texts without escapes, whole numbers of at most 18 digits, or true and false;
and it is told the types. Everything else is for `json_lines.py`.
"""

import json
import re
from typing import Any

import pyarrow as pa

from quorate.reading.objects import Columns

LEAST = 1 << 16  # bytes, below which the way round costs more than it saves
CHUNK = 1 << 22  # bytes that are looked at together
MOST_FIELDS = 1_000  # of a line: a pattern of more takes longer to make than the lines to read
VALUES: dict[type, tuple[bytes, pa.DataType]] = {
    str: (rb'"[^"\\\x00-\x1f]*"', pa.string()),
    int: (rb"(?:0|-?[1-9][0-9]{0,17})", pa.int64()),
    bool: (rb"(?:true|false)", pa.bool_()),
}


def read_plain(data: pa.Buffer, columns: Columns) -> pa.Table | None:
    r"""Read lines that are all written alike; None where they are not, or lack a column.

    Args:
        data: the file, which is valid UTF-8.
        columns: that are wanted.

    >>> line = b'{"task": "2024-05-01", "label": 7}'
    >>> read_plain(pa.py_buffer(b"\n".join([line] * 3000)), {"task": "", "label": ""}).slice(0, 1).to_pylist()
    [{'task': '2024-05-01', 'label': 7}]
    >>> read_plain(pa.py_buffer(line), {"task": ""}) is None
    True
    """
    if len(data) < LEAST:
        return None
    raw = memoryview(data)
    start = 3 if bytes(raw[:3]) == b"\xef\xbb\xbf" else 0
    first = bytes(raw[start : start + CHUNK]).partition(b"\n")[0]
    made = _pattern(first)
    if made is None or not set(columns) <= set(made[1]):
        return None
    pattern, types = made
    return _by_arrow(data.slice(start), columns, types) if _are_alike(raw, start, pattern) else None


def _pattern(line: bytes) -> tuple[re.Pattern[bytes], dict[str, type]] | None:
    """Make the pattern of lines like this one, and say the type of each field."""
    try:
        pairs: list[tuple[str, Any]] = json.loads(line, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    if (
        not isinstance(pairs, list)
        or not 0 < len(pairs) <= MOST_FIELDS
        or not all(isinstance(each, tuple) for each in pairs)
    ):
        return None
    types = {name: type(value) for name, value in pairs}
    if len(types) < len(pairs) or not set(types.values()) <= set(VALUES):
        return None
    parts = [(json.dumps(name, ensure_ascii=False).encode(), VALUES[kind][0]) for name, kind in types.items()]
    if any(b"\\" in name for name, _ in parts):
        return None
    fields = rb" ?, ?".join(re.escape(name) + rb" ?: ?" + value for name, value in parts)
    # What matched is never given back: whatever the bytes are, each is looked at once.
    return re.compile(rb"(?>\{ ?" + fields + rb" ?\}(?:\r?\n|\Z))*+"), types


def _are_alike(raw: memoryview, start: int, pattern: re.Pattern[bytes]) -> bool:
    """Whether the pattern holds from line to line to the end."""
    while start < len(raw):
        end = len(raw)
        if end - start > CHUNK:
            cut = bytes(raw[start : start + CHUNK]).rfind(b"\n")
            if cut < 0:
                return False
            end = start + cut + 1
        if pattern.fullmatch(raw, start, end) is None:
            return False
        start = end
    return True


def _by_arrow(data: pa.Buffer, columns: Columns, types: dict[str, type]) -> pa.Table | None:
    from pyarrow import json as arrow_json

    schema = pa.schema([(name, VALUES[types[name]][1]) for name in columns])
    parsing = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = arrow_json.read_json(pa.BufferReader(data), parse_options=parsing)
    except pa.ArrowException:  # as of a line that is longer than Arrow's blocks
        return None
    return table.select(list(columns))
