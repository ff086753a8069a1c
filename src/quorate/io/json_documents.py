"""A JSON document of any shape -> one table: columns by dotted path, every field as text, lists as JSON.

Shapes: a list of objects, objects by their id, one object that holds a list of them (also lists within lists), columns
of equal length, and a mapping of mappings such as ``{worker: {task: label}}``.
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
from quorate.io.dataframes import MOST_COLUMNS
from quorate.io.detect_values import MOST_CLASSES
from quorate.io.values import id_text

KEY = "key"  # the column of the names under which objects stand
# the columns of a mapping of mappings
OUTER = "outer"
INNER = "inner"
CELL = "value"
FREE_NAMES = 60  # names of a record's fields that are data (workers) rather than fields: more than a form has
LONGEST_CELL = 1_000_000  # characters of a field that is parsed as a list
DEEPEST = 30  # levels of a document that are looked at
MOST_CELLS = 50_000_000  # of a table made of a document: some gigabytes of text


@dataclass
class Document:
    """A table made of a document. This object is filled while the document is read."""

    columns: dict[str, list[str | None]] = field(default_factory=dict)
    n_rows: int = 0
    shape: str = "records"
    notes: list[str] = field(default_factory=list)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; fields that it lacks are blank."""
        for name, value in row.items():
            column = self.columns.get(name)
            if column is None:
                if len(self.columns) >= MOST_COLUMNS:
                    raise TooLargeError(
                        f"the document has more than {MOST_COLUMNS:,} different fields; it is not a table"
                    )
                column = self.columns[name] = []
            column.extend([None] * (self.n_rows - len(column)))
            column.append(cell_text(value))
        self.n_rows += 1
        if self.n_rows * max(len(self.columns), 1) > MOST_CELLS:
            raise TooLargeError(f"the document has more than {MOST_CELLS:,} fields; give it in parts")

    def finish(self) -> "Document":
        """Fill all columns up to the number of rows."""
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
    """Parse a field that holds a list: as JSON, as Python writes it, or with commas between.

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
    """Parse a field that holds a mapping: as JSON, or as Python writes it.

    >>> parse_object("{'ann': 1}"), parse_object("x")
    ({'ann': 1}, None)
    """
    if text is None or text.strip()[:1] != "{":
        return None
    parsed = _parse_nested(text.strip())
    return parsed if isinstance(parsed, dict) else None


def _parse_nested(text: str) -> Any:
    """Parse a field as JSON, or else as Python writes it; None where it is neither."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) > LONGEST_CELL:
        return None
    try:
        return ast.literal_eval(re.sub(r"\bnan\b", "None", text))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def parse_json(text: Any) -> Any:
    """Parse a text of JSON; return any other value as it is.

    >>> parse_json('{"model": "gpt-4o"}'), parse_json("none")
    ({'model': 'gpt-4o'}, 'none')
    """
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def tabulate(data: Any, name: str) -> Document:
    """Make a table of a document.

    Args:
        data: what the JSON text holds.
        name: of the file, for messages.

    Raises:
        WrongFormatError: it holds no table.

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
        if _are_alike(values):
            records = [{KEY: key, **value} for key, value in data.items()]
            return _of_records(records, {}, "", shape="by id")
    fields = list(_walk(data))
    tables = [(path, value) for path, value, _ in fields if _is_list_of_objects(value)]
    if tables:
        path, records = max(tables, key=lambda table: len(table[1]))
        above = {name: value for name, value, _ in fields if not isinstance(value, list | Mapping)}
        return _of_records(records, above, path, shape="a list within an object")
    columns = _parallel({path: value for path, value, _ in fields if isinstance(value, list)})
    if columns:
        return _of_columns(columns)
    if all(not isinstance(value, list | Mapping) for value in values):
        return _of_records([dict(data)], {}, "")
    raise WrongFormatError(
        f"{name} is one object with the fields {', '.join(shown(str(key), 30) for key in list(data)[:8])} "
        "and has neither a list of records nor columns of equal length. Write a list of objects, one per answer"
    )


def is_matrix(data: Mapping[str, Any]) -> bool:
    """Whether a mapping of mappings holds one class in each cell, so that both keys are ids.

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
        if len(distinct) > MOST_CLASSES:
            return False
    is_form = any(strength(key, role) for key in list(names)[:200] for role in ("worker", "label") if not key.isdigit())
    return n >= 2 * max(len(distinct), 1) and not is_form and len(names) > 1


def _of_matrix(data: Mapping[str, Any]) -> Document:
    document = Document(shape="mapping of mappings")
    for outer, inner in data.items():
        for key, value in inner.items():
            document.add({OUTER: outer, INNER: key, CELL: value})
    document.notes.append(
        f'each value has two keys, which were read as the columns "{OUTER}" and "{INNER}"; the value is "{CELL}"'
    )
    return document


def _are_alike(values: Sequence[Mapping[str, Any]]) -> bool:
    """Whether objects have most of their fields in common, as records do."""
    seen = Counter(key for value in values[:200] for key in value)
    n = len(values[:200])
    return any(times >= 0.8 * n for times in seen.values())


# --- records ---


def _of_records(records: list[Any], above: Mapping[str, Any], path: str, shape: str = "records") -> Document:
    document = Document(shape=shape)
    prefix = f"{path}." if path else ""
    free = _free_names(records)
    inner = _list_to_follow(records)
    n_skipped = 0
    for record in records:
        if not isinstance(record, Mapping):
            raise WrongFormatError(
                f"A list of records holds {shown(record)}, which is not an object. Write one object per answer"
            )
        flat = {**above, **_flattened(record, prefix, free)}
        listed = record.get(inner) if inner else None
        if not isinstance(listed, list):
            document.add(flat)
            continue
        del flat[f"{prefix}{inner}"]
        for entry in listed:
            if isinstance(entry, Mapping):
                document.add({**flat, **_flattened(entry, f"{prefix}{inner}.", free, inner)})
            else:
                n_skipped += 1
    if inner:
        document.notes.append(f'one row per entry of the lists under "{prefix}{inner}"')
    if n_skipped:
        document.notes.append(f"{n_skipped:,} entries that are not objects were left out")
    return document


def _walk(
    data: Mapping[str, Any], prefix: str = "", closed: Collection[str] = (), depth: int = 0
) -> Iterator[tuple[str, Any, bool]]:
    """Yield every field of an object and of the objects inside it: its dotted path, its value, and whether it is open.

    The fields of an open object follow it.

    Args:
        data: the object.
        prefix: of its fields' paths.
        closed: paths of objects into which it does not go.
        depth: how many objects it is inside of.
    """
    for key, value in data.items():
        path = f"{prefix}{key}"
        is_open = isinstance(value, Mapping) and path not in closed and depth < DEEPEST
        yield path, value, is_open
        if is_open:
            yield from _walk(value, f"{path}.", closed, depth + 1)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _free_names(records: Sequence[Any]) -> set[str]:
    """Return the paths of objects whose names are data: many over all records, few in each."""
    names: dict[str, set[str]] = {}
    most: Counter[str] = Counter()
    for record in records:
        for path, inner, _ in _walk(record) if isinstance(record, Mapping) else ():
            if isinstance(inner, Mapping):
                names.setdefault(path, set()).update(map(str, inner))
                most[path] = max(most[path], len(inner))
    return {path for path, keys in names.items() if len(keys) > max(FREE_NAMES, 3 * most[path])}


def _flattened(record: Mapping[str, Any], prefix: str, closed: Collection[str], path: str = "") -> dict[str, Any]:
    """Return the fields of a record by their path within it, after a prefix; objects that are not closed by theirs.

    Args:
        record: the record.
        prefix: of the names.
        closed: paths of objects that stay one field.
        path: of the record itself, as ``closed`` names it.
    """
    own = f"{path}." if path else ""
    fields = _walk(record, own, closed)
    return {f"{prefix}{name.removeprefix(own)}": value for name, value, is_open in fields if not (is_open and value)}


def _list_to_follow(records: Sequence[Any]) -> str:
    """Name the field whose list of objects holds the answers, if the record itself holds none."""
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


def _parallel(lists: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the lists of the length that most of them have, by their path."""
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
