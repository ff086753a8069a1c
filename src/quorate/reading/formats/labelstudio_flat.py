"""Label Studio's flat exports: JSON_MIN, CSV and TSV, one row an annotation.

Field names: https://labelstud.io/guide/export (JSON_MIN, CSV). A row holds the task's own data, one field for each
control, and these, which Label Studio adds.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from quorate.reading.formats.content import Content, Record, as_text
from quorate.reading.formats.export import Export, FoundAnswer, assemble
from quorate.reading.formats.shape import VALUE, Either, check_records
from quorate.reading.options import ReadOptions

NAMES = ("email", "first_name", "last_name", "username", "id")
PERSON = Either(VALUE, dict.fromkeys(NAMES, VALUE))  # an object where the export was asked for users, an id where not
KNOWN = "ground_truth"
YES, NO = ("true", "1", "1.0", "yes"), ("false", "0", "0.0", "no", "none", "null")
ROW = {"id": VALUE, "annotator": PERSON, "was_cancelled": VALUE, KNOWN: VALUE}
ADDED = (
    *("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "was_cancelled", "agreement"),
    *("history", "review", KNOWN),
)
FEW_VALUES = 6  # of a column, below which nobody can say whether it is free text
WORDS = 3  # in the middle value of free text, at the least


def name_of(person: Any) -> Any:
    """Return the best name that an export has of an annotator: e-mail address, name, user name, or number.

    >>> name_of({"id": 3, "first_name": "Ann", "last_name": "Lee"}), name_of(3), name_of({"id": 3, "email": "a@b.c"})
    ('Ann Lee', 3, 'a@b.c')
    """
    if not isinstance(person, Mapping):
        return person
    called = " ".join(str(person[part]) for part in ("first_name", "last_name") if person.get(part))
    return person.get("email") or called or person.get("username") or person.get("id")


def is_flat(content: Content) -> bool:
    """Tell a flat export by the fields that Label Studio adds.

    >>> from quorate.reading.formats.content import look
    >>> is_flat(look([{"id": 1, "tone": "glad", "annotator": 3, "annotation_id": 9}]))
    True
    """
    return "annotator" in content.fields and bool({"annotation_id", "lead_time"} & set(content.fields))


def read(content: Content, reading: ReadOptions) -> Export:
    """Read a flat export.

    >>> from quorate.reading.formats.content import look
    >>> rows = [{"text": "hi", "id": 1, "tone": "glad", "annotator": 3, "annotation_id": 9}]
    >>> read(look(rows), ReadOptions()).table.to_pylist()
    [{'task': '1', 'worker': '3', 'label': 'glad'}]
    """
    check_records(content.records, ROW, "Label Studio", "row")
    questions, note = _questions(content)
    if reading.question is not None and reading.question in content.fields:
        questions = list(dict.fromkeys([*questions, reading.question]))
    notes = (note,) if note and reading.question is None else ()
    return assemble("labelstudio", content, reading, questions, lambda q: _find(content, reading, q), notes=notes)


def _questions(content: Content) -> tuple[list[str], str]:
    """Tell the controls from the task's own data, which stand among them without a mark."""
    if content.layout == "records":  # JSON_MIN writes the data, then the id, then the controls, then the annotator
        named: dict[str, None] = {}
        for record in content.records:
            names = list(record)
            if {"id", "annotator"} <= set(names):
                named |= dict.fromkeys(names[names.index("id") + 1 : names.index("annotator")])
        return _classes(content, [name for name in named if name not in ADDED]), ""
    # CSV sorts its columns by name. Within a task the data never differ, and answers do.
    candidates = _classes(content, [name for name in content.fields if name not in ADDED])
    if len(candidates) == 1 or "id" not in content.fields:
        return candidates, ""
    tasks = content.column("id")
    differing = [name for name in candidates if _differs(tasks, content.column(name))]
    if not differing:
        return candidates, ""
    note = f"question {differing[0]!r}: the only column in which annotators of one task differ"
    return differing, note if len(differing) == 1 else ""


def _classes(content: Content, names: list[str]) -> list[str]:
    """Leave out what holds no classes: free text, and marks on an image or in a text; all stay if nothing would."""
    kept = [name for name in names if not _is_free([record.get(name) for record in content.records])]
    return kept or names


def _is_free(values: list[Any]) -> bool:
    """Whether these are texts, each of its own, or marks; a class is a few words, and comes again."""
    told = [unwrapped for unwrapped in map(_class_in, values) if unwrapped not in (None, "")]
    if any(isinstance(each, Mapping) or (isinstance(each, list) and _of_records(each)) for each in told):
        return True
    texts = [each for each in told if isinstance(each, str)]
    if len(texts) < FEW_VALUES or 2 * len(set(texts)) <= len(texts):
        return False
    return sorted(len(text.split()) for text in texts)[len(texts) // 2] >= WORDS


def _of_records(values: list[Any]) -> bool:
    return any(isinstance(each, Mapping) for each in values)


def _differs(tasks: list[str | None], values: list[str | None]) -> bool:
    first: dict[str | None, str] = {}
    return any(
        value is not None and first.setdefault(task, value) != value for task, value in zip(tasks, values, strict=True)
    )


def _find(content: Content, reading: ReadOptions, question: str) -> Iterator[FoundAnswer]:
    name = reading.task or "id"
    for number, row in enumerate(content.records, start=1):
        cancelled = (as_text(row.get("was_cancelled")) or "").lower() in YES
        value, where, task = _class_in(row.get(question)), f"row {number:,}", row.get(name)
        told = as_text(row.get(KNOWN)) or ""
        is_known = told.lower() in YES
        yield FoundAnswer(task, name_of(row.get("annotator")), value, where, "cancelled" if cancelled else "", is_known)
        if told and told.lower() not in (*YES, *NO):  # the label itself, where the task's data have it
            yield FoundAnswer(task, None, told, f"{KNOWN} of row {number:,}", known=True, is_row=False)


def _class_in(value: Any) -> Any:
    """Unwrap a value: text, or JSON of what the control holds where that is more than one choice."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        record: Record = value
        for key in ("choices", "rating", "selected"):
            if key in record:
                return record[key]
    return value
