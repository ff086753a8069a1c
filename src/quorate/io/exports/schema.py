"""Schemas of the files that tools write; a file is checked against its schema before it is read.

A schema is one of the constants below; a list with the schema of its items, ``[schema]``; a record ``{field: schema}``,
in which fields may be missing or null and further fields are allowed; `Each` for a record with arbitrary names; or
`Either` for alternatives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quorate.errors import WrongFormatError, shown

ANYTHING = "anything"
VALUE = "a text, a number, true or false"
TEXT = "a text"


@dataclass(frozen=True)
class Each:
    """A record with arbitrary names, and the schema of its values."""

    of: Any


@dataclass(frozen=True)
class Either:
    """One of several alternatives."""

    shapes: tuple[Any, ...]

    def __init__(self, *shapes: Any) -> None:
        object.__setattr__(self, "shapes", shapes)


def check_records(records: Sequence[Any], shape: Any, tool: str, what: str) -> None:
    """Refuse records that do not match the schema of a tool.

    Args:
        records: records of the export.
        shape: schema of a record.
        tool: name of the tool, for messages.
        what: word for a record, for messages.

    Raises:
        WrongFormatError: a record does not match; the message names it and the field.

    >>> check_records([{"id": 7, "data": {}}], {"id": VALUE, "data": Each(ANYTHING)}, "Label Studio", "task")
    >>> check_records([{"id": 7, "data": [1]}], {"id": VALUE, "data": Each(ANYTHING)}, "Label Studio", "task")
    Traceback (most recent call last):
    quorate.errors.WrongFormatError: task 1: 'data' is a list, but Label Studio writes a record: [1]
    """
    for number, record in enumerate(records, start=1):
        wrong = _misfit(record, shape)
        if wrong is not None:
            where, value, expected = wrong
            place = f"{what} {number:,}" + (f": {where[1:]}" if where else "")
            raise WrongFormatError(f"{place} is {_kind(value)}, but {tool} writes {expected}: {shown(value)}")


def _misfit(value: Any, shape: Any) -> tuple[str, Any, str] | None:
    """Return the path of the first value that does not match, the value, and the expected type; None if all match."""
    if shape == ANYTHING or (shape == VALUE and not isinstance(value, dict | list | tuple)):
        return None
    if isinstance(shape, Either):
        return _misfit_of_all(value, shape)
    if shape == TEXT:
        return None if isinstance(value, str) else ("", value, TEXT)
    if isinstance(shape, list):
        if not isinstance(value, list | tuple):
            return "", value, "a list"
        return _first((f" item {k}", item, shape[0]) for k, item in enumerate(value, start=1))
    if isinstance(shape, Each | dict):
        if not isinstance(value, Mapping):
            return "", value, "a record"
        if isinstance(shape, Each):
            inner = ((f" {shown(name, 30)}", item, shape.of) for name, item in value.items() if item is not None)
        else:
            inner = ((f" {name!r}", value[name], of) for name, of in shape.items() if value.get(name) is not None)
        return _first(inner)
    return "", value, str(shape)


def _first(inside: Any) -> tuple[str, Any, str] | None:
    for where, value, shape in inside:
        wrong = _misfit(value, shape)
        if wrong is not None:
            return f"{where}{wrong[0] and ','}{wrong[0]}", *wrong[1:]
    return None


def _misfit_of_all(value: Any, shape: Either) -> tuple[str, Any, str] | None:
    """Return the misfit in the first alternative that has the type of the value; if none has, one with all types."""
    wrongs = [_misfit(value, alternative) for alternative in shape.shapes]
    if any(wrong is None for wrong in wrongs):
        return None
    deeper = [wrong for wrong in wrongs if wrong is not None and wrong[0]]
    return deeper[0] if deeper else ("", value, " or ".join(wrong[2] for wrong in wrongs if wrong is not None))


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    kinds = {str: "a text", int: "a number", float: "a number", list: "a list", tuple: "a list"}
    return next((word for kind, word in kinds.items() if isinstance(value, kind)), "a record")
