"""Label Studio's flat exports: JSON_MIN, CSV and TSV, one row an annotation.

Field names: https://labelstud.io/guide/export (JSON_MIN, CSV). A row holds the task's own data, one field for each
control, and these, which Label Studio adds.
"""

import json
from collections.abc import Iterator
from typing import Any

from quorate.reading.formats.content import Content, Record, as_text
from quorate.reading.formats.export import Export, FoundAnswer, assemble
from quorate.reading.formats.shape import VALUE, Either, check_records
from quorate.reading.options import ReadOptions

PERSON = Either(VALUE, {"email": VALUE, "id": VALUE})  # an object where the export was asked for users, an id where not
ROW = {"id": VALUE, "annotator": PERSON, "was_cancelled": VALUE}
ADDED = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "was_cancelled", "agreement")


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
        return [name for name in named if name not in ADDED], ""
    # CSV sorts its columns by name. Within a task the data never differ, and answers do.
    candidates = [name for name in content.fields if name not in ADDED]
    if len(candidates) == 1 or "id" not in content.fields:
        return candidates, ""
    tasks = content.column("id")
    differing = [name for name in candidates if _differs(tasks, content.column(name))]
    if not differing:
        return candidates, ""
    note = f"question {differing[0]!r}: the only column in which annotators of one task differ"
    return differing, note if len(differing) == 1 else ""


def _differs(tasks: list[str | None], values: list[str | None]) -> bool:
    first: dict[str | None, str] = {}
    return any(
        value is not None and first.setdefault(task, value) != value for task, value in zip(tasks, values, strict=True)
    )


def _find(content: Content, reading: ReadOptions, question: str) -> Iterator[FoundAnswer]:
    name = reading.task or "id"
    for number, row in enumerate(content.records, start=1):
        worker = row.get("annotator")
        if isinstance(worker, dict):
            worker = worker.get("email") or worker.get("id")
        cancelled = (as_text(row.get("was_cancelled")) or "").lower() in ("true", "1")
        value = _class_in(row.get(question))
        yield FoundAnswer(row.get(name), worker, value, f"row {number:,}", "cancelled" if cancelled else "")


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
