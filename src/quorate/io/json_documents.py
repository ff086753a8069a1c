"""Convert a JSON document to a table: columns named by dotted paths, every field as text, lists as JSON text.

Shapes that are read: a list of objects, objects by their id, one object that contains a list of objects (also nested),
columns of equal length, and a mapping of mappings such as ``{worker: {task: label}}``.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from quorate.errors import ColumnTypeError, TooLargeError, WrongFormatError, shown
from quorate.io.column_names import is_gold, strength
from quorate.io.dataframes import MAX_COLUMNS
from quorate.io.detect_values import MAX_CLASSES
from quorate.io.values import id_text

KEY = "key"  # column of the keys of an object of objects
# Columns of a mapping of mappings.
OUTER = "outer"
INNER = "inner"
CELL = "value"
MAX_FIELD_NAMES = 60  # an inner object with more different names over all records has data (workers) as names
MAX_CELL_LENGTH = 1_000_000  # characters; a longer field is not parsed as a Python list or mapping
MAX_DEPTH = 30  # levels of a document that are searched
MAX_CELLS = 50_000_000  # of a table from one document: some gigabytes of text


@dataclass
class Document:
    """A table from a JSON document; filled while the document is read."""

    columns: dict[str, list[str | None]] = field(default_factory=dict)
    n_rows: int = 0
    shape: str = "records"
    notes: list[str] = field(default_factory=list)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; a field that the row does not have is blank."""
        for name, value in row.items():
            column = self.columns.get(name)
            if column is None:
                if len(self.columns) >= MAX_COLUMNS:
                    raise TooLargeError(
                        f"the document has more than {MAX_COLUMNS:,} different fields; it is not a table"
                    )
                column = self.columns[name] = []
            column.extend([None] * (self.n_rows - len(column)))
            column.append(cell_text(value))
        self.n_rows += 1
        if self.n_rows * max(len(self.columns), 1) > MAX_CELLS:
            raise TooLargeError(f"the document has more than {MAX_CELLS:,} fields; give it in parts")

    def finish(self) -> "Document":
        """Fill all columns with blanks up to the number of rows, and return the document."""
        for column in self.columns.values():
            column.extend([None] * (self.n_rows - len(column)))
        return self


def cell_text(value: Any) -> str | None:
    """Return a value as the text of one field; lists and objects as JSON.

    >>> cell_text(3.0), cell_text(True), cell_text(["a", 1]), cell_text(" ")
    ('3', 'true', '["a", 1]', None)
    """
    is_nested = isinstance(value, dict | list | tuple)
    text = json.dumps(value, ensure_ascii=False) if is_nested else id_text(value) or ""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ColumnTypeError(f"{shown(text)} has an incomplete character and is not valid text; correct it") from None
    return text or None


def parse_list(text: str | None) -> list[Any] | None:
    """Parse a field that holds a list as JSON, in Python syntax, or separated by commas; None if it is not a list.

    >>> parse_list("['a', 'b']"), parse_list('["a", null]'), parse_list("0,1"), parse_list(None)
    (['a', 'b'], ['a', None], ['0', '1'], None)
    """
    if text is None:
        return None
    text = text.strip()
    if text[:1] not in ("[", "("):
        return [part.strip() for part in text.split(",")]
    parsed = _parse_nested(text)
    return list(parsed) if isinstance(parsed, list | tuple) else None


def parse_object(text: str | None) -> dict[str, Any] | None:
    """Parse a field that holds a mapping as JSON or in Python syntax; None if it is not a mapping.

    >>> parse_object("{'ann': 1}"), parse_object("x")
    ({'ann': 1}, None)
    """
    if text is None or text.strip()[:1] != "{":
        return None
    parsed = _parse_nested(text.strip())
    return parsed if isinstance(parsed, dict) else None


def _parse_nested(text: str) -> Any:
    """Parse a field as JSON or, if that fails, as a Python literal; None if it is neither."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) > MAX_CELL_LENGTH:
        return None
    try:
        return ast.literal_eval(re.sub(r"\bnan\b", "None", text))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def parse_json(text: Any) -> Any:
    """Parse JSON text; return any other value unchanged.

    >>> parse_json('{"model": "gpt-4o"}'), parse_json("none")
    ({'model': 'gpt-4o'}, 'none')
    """
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def tabulate(data: Any, name: str) -> Document:
    """Convert a parsed JSON document to a table.

    Args:
        data: the parsed JSON document.
        name: name of the file, for messages.

    Raises:
        WrongFormatError: the document contains no table.

    >>> tabulate([{"id": 1, "judge": {"verdict": "A"}}], "a.json").columns
    {'id': ['1'], 'judge.verdict': ['A']}
    >>> tabulate({"ann": {"t1": "x", "t2": "y"}, "bob": {"t1": "x", "t2": "x"}}, "a.json").columns["outer"]
    ['ann', 'ann', 'bob', 'bob']
    """
    if isinstance(data, Mapping):
        document = _of_object(data, name)
    elif isinstance(data, list | tuple) and data and all(isinstance(record, Mapping) for record in data):
        document = _of_records(list(data), {}, "")
    else:
        raise WrongFormatError(
            f"{name} holds {_kind(data)}, which is not a table of answers. Write a list of objects, one per answer"
        )
    return document.finish()


def _kind(data: Any) -> str:
    if isinstance(data, list | tuple):
        odd = next((entry for entry in data if not isinstance(entry, Mapping)), None)
        return "an empty list" if not data else f"a list of values such as {shown(odd)}"
    return shown(data)


def _of_object(data: Mapping[str, Any], name: str) -> Document:
    values = list(data.values())
    if len(values) > 1 and all(isinstance(value, Mapping) for value in values):
        if is_matrix(data):
            return _of_matrix(data)
        if _have_common_field(values):
            records = [{KEY: key, **value} for key, value in data.items()]
            return _of_records(records, {}, "", shape="by id")
    fields = list(_fields_of(data))
    tables = [(path, value) for path, value, _ in fields if _is_list_of_objects(value)]
    if tables:
        path, records = max(tables, key=lambda table: len(table[1]))
        above = {name: value for name, value, _ in fields if not isinstance(value, list | Mapping)}
        return _of_records(records, above, path, shape="a list within an object")
    columns = _lists_of_equal_length({path: value for path, value, _ in fields if isinstance(value, list)})
    if columns:
        return _of_columns(columns)
    if all(not isinstance(value, list | Mapping) for value in values):
        return _of_records([dict(data)], {}, "")
    raise WrongFormatError(
        f"{name} is one object with the fields {', '.join(shown(str(key), 30) for key in list(data)[:8])} "
        "and has neither a list of records nor columns of equal length. Write a list of objects, one per answer"
    )


def is_matrix(data: Mapping[str, Any]) -> bool:
    """Whether the values of a mapping of mappings are classes, so that both keys are ids of tasks and workers.

    >>> is_matrix({"ann": {"t1": "x", "t2": "y"}, "bob": {"t1": "x", "t2": "x"}})
    True
    >>> is_matrix({"1": {"worker": "ann", "label": "x"}, "2": {"worker": "bob", "label": "x"}})
    False
    """
    distinct: set[str] = set()
    names: dict[str, None] = {}
    n = 0
    for inner in data.values():
        for key, value in inner.items():
            if isinstance(value, dict | list | tuple):
                return False
            names[str(key)] = None
            text = id_text(value)
            if text is not None:
                distinct.add(text)
                n += 1
        if len(distinct) > MAX_CLASSES:
            return False
    has_role_names = any(
        strength(key, role) for key in list(names)[:200] for role in ("worker", "label") if not key.isdigit()
    )
    return n >= 2 * max(len(distinct), 1) and not has_role_names and len(names) > 1


def _of_matrix(data: Mapping[str, Any]) -> Document:
    document = Document(shape="mapping of mappings")
    for outer, inner in data.items():
        for key, value in inner.items():
            document.add({OUTER: outer, INNER: key, CELL: value})
    document.notes.append(
        f'each value has two keys, which were read as the columns "{OUTER}" and "{INNER}"; the value is "{CELL}"'
    )
    return document


def _have_common_field(values: Sequence[Mapping[str, Any]]) -> bool:
    """Whether at least one field occurs in 80% of the objects, as in a list of records."""
    seen = Counter(key for value in values[:200] for key in value)
    n = len(values[:200])
    return any(times >= 0.8 * n for times in seen.values())


# --- records ---


def _of_records(records: list[Any], above: Mapping[str, Any], path: str, shape: str = "records") -> Document:
    document = Document(shape=shape)
    prefix = f"{path}." if path else ""
    data_named = _paths_with_data_names(records)
    inner = _list_of_answers(records)
    n_skipped = 0
    for record in records:
        if not isinstance(record, Mapping):
            raise WrongFormatError(
                f"A list of records holds {shown(record)}, which is not an object. Write one object per answer"
            )
        flat = {**above, **_flattened(record, prefix, data_named)}
        listed = record.get(inner) if inner else None
        if not isinstance(listed, list):
            document.add(flat)
            continue
        del flat[f"{prefix}{inner}"]
        for entry in listed:
            if isinstance(entry, Mapping):
                document.add({**flat, **_flattened(entry, f"{prefix}{inner}.", data_named, inner)})
            else:
                n_skipped += 1
    if inner:
        document.notes.append(f'one row per entry of the lists under "{prefix}{inner}"')
    if n_skipped:
        document.notes.append(f"{n_skipped:,} entries that are not objects were left out")
    return document


def _fields_of(
    data: Mapping[str, Any], prefix: str = "", closed: Collection[str] = (), depth: int = 0
) -> Iterator[tuple[str, Any, bool]]:
    """Yield (dotted path, value, is_open) of every field of an object and of the objects inside it.

    ``is_open`` is true for an inner object whose fields are yielded after it.

    Args:
        data: the object.
        prefix: prefix of the paths.
        closed: paths of inner objects whose fields are not yielded.
        depth: number of objects that contain this one.
    """
    for key, value in data.items():
        path = f"{prefix}{key}"
        is_open = isinstance(value, Mapping) and path not in closed and depth < MAX_DEPTH
        yield path, value, is_open
        if is_open:
            yield from _fields_of(value, f"{path}.", closed, depth + 1)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _paths_with_data_names(records: Sequence[Any]) -> set[str]:
    """Return the paths of inner objects whose field names are data: many over all records, few in each record."""
    names: dict[str, set[str]] = {}
    most: Counter[str] = Counter()
    for record in records:
        for path, inner, _ in _fields_of(record) if isinstance(record, Mapping) else ():
            if isinstance(inner, Mapping):
                names.setdefault(path, set()).update(map(str, inner))
                most[path] = max(most[path], len(inner))
    return {path for path, keys in names.items() if len(keys) > max(MAX_FIELD_NAMES, 3 * most[path])}


def _flattened(record: Mapping[str, Any], prefix: str, closed: Collection[str], path: str = "") -> dict[str, Any]:
    """Return the fields of a record by their dotted path; inner objects are replaced by their fields.

    Args:
        record: the record.
        prefix: added before each path.
        closed: paths of inner objects that remain one field.
        path: path of the record itself, with which the paths in ``closed`` begin.
    """
    path_prefix = f"{path}." if path else ""
    fields = _fields_of(record, path_prefix, closed)
    return {
        f"{prefix}{name.removeprefix(path_prefix)}": value for name, value, is_open in fields if not (is_open and value)
    }


def _list_of_answers(records: Sequence[Any]) -> str:
    """Return the name of the field whose list of objects contains the answers; "" if records have an answer field."""
    fields: Counter[str] = Counter()
    other_fields: set[str] = set()
    for record in records[:500]:
        for key, value in record.items() if isinstance(record, Mapping) else ():
            if not _is_list_of_objects(value):
                other_fields.add(str(key))
            elif any(strength(str(name), "label") and not is_gold(str(name)) for entry in value[:5] for name in entry):
                fields[str(key)] += len(value)
    if not fields or any(strength(name, "label") >= 2 for name in other_fields - set(fields)):
        return ""
    return fields.most_common(1)[0][0]


# --- columns of equal length ---


def _lists_of_equal_length(lists: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the lists of the most frequent length, by their path; empty if no two lists have the same length."""
    lengths = Counter(len(values) for values in lists.values())
    if not lengths:
        return {}
    length, times = max(lengths.items(), key=lambda item: (item[1], item[0]))
    if times < 2 or length < 2:
        return {}
    return {path: values for path, values in lists.items() if len(values) == length}


def _of_columns(columns: dict[str, list[Any]]) -> Document:
    document = Document(shape="columns of equal length")
    expanded: dict[str, list[Any]] = {}
    for path, values in columns.items():
        sizes = {len(value) if isinstance(value, list) else -1 for value in values}
        if len(sizes) == 1 and 2 <= next(iter(sizes)) <= 4:  # a composite id: (query, document)
            for k in range(next(iter(sizes))):
                expanded[f"{path}.{k}"] = [value[k] for value in values]
        else:
            expanded[path] = values
    for row in zip(*expanded.values(), strict=True):
        document.add(dict(zip(expanded, row, strict=True)))
    return document
