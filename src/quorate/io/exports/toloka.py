"""Toloka: the TSV file of a pool's results.

Field names: https://toloka.ai/docs/guide/result-of-eval (INPUT:, OUTPUT:, GOLDEN:, HINT:text, ASSIGNMENT:worker_id,
ASSIGNMENT:status); ASSIGNMENT:task_id is there where the file came through the API (toloka-kit's
`get_assignments_df`).
"""

import json
from collections.abc import Iterator

from quorate.errors import MissingColumnError, listing
from quorate.io.exports.content import Content
from quorate.io.exports.export import Export, Format, FoundAnswer, assemble
from quorate.io.options import ReadOptions

WORKER = "ASSIGNMENT:worker_id"
TASK = "ASSIGNMENT:task_id"
STATUS = "ASSIGNMENT:status"
# Assignments that were never handed in, beside those that the requester rejected.
UNFINISHED = ("ACTIVE", "SKIPPED", "EXPIRED")


def _recognise(content: Content) -> bool:
    return WORKER in content.fields and any(name.startswith("OUTPUT:") for name in content.fields)


def _read(content: Content, reading: ReadOptions) -> Export:
    questions = [name.removeprefix("OUTPUT:") for name in content.fields if name.startswith("OUTPUT:")]
    return assemble("toloka", content, reading, questions, lambda q: _find(content, reading, q))


FORMAT = Format(
    "toloka",
    "Toloka results: TSV",
    "the column 'ASSIGNMENT:worker_id', and one that begins with 'OUTPUT:'",
    _recognise,
    _read,
)


def _find(content: Content, reading: ReadOptions, question: str) -> Iterator[FoundAnswer]:
    tasks = _tasks(content, reading.task)
    blanks: list[str | None] = [None] * len(tasks)
    golden = content.column(f"GOLDEN:{question}") if f"GOLDEN:{question}" in content.fields else blanks
    statuses = content.column(STATUS) if STATUS in content.fields else blanks
    rows = zip(tasks, content.column(WORKER), content.column(f"OUTPUT:{question}"), golden, statuses, strict=True)
    for number, (task, worker, value, known, status) in enumerate(rows, start=1):
        where = f"row {number:,}"
        status = (status or "").upper()
        if status in UNFINISHED:
            yield FoundAnswer(task, worker, value, where, status.lower())
        elif status == "REJECTED" and not reading.keep_rejected:
            yield FoundAnswer(task, worker, value, where, "rejected")
        else:
            yield FoundAnswer(task, worker, value, where)
        if known is not None:
            yield FoundAnswer(task, None, known, where, known=True, is_row=False)


def _tasks(content: Content, name: str | None) -> list[str | None]:
    """Identify tasks: by the column that was named, by the task's id, or by all inputs shown to the worker."""
    seen = [field for field in content.fields if field.startswith("INPUT:")]
    if name is not None:
        field_of_task = next((field for field in (name, f"INPUT:{name}") if field in content.fields), None)
        if field_of_task is None:
            raise MissingColumnError(f"{content.name} has no column {name!r}; it has {listing(content.fields, 20)}")
        return content.column(field_of_task)
    if TASK in content.fields:
        return content.column(TASK)
    if not seen:
        raise MissingColumnError(
            f"{content.name} has neither {TASK!r} nor a column INPUT:…. Name the column of the task with task= (--task)"
        )
    if len(seen) == 1:
        return content.column(seen[0])
    rows = zip(*(content.column(field) for field in seen), strict=True)
    return [json.dumps(row, ensure_ascii=False) for row in rows]
