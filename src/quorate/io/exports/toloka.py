"""Toloka: the TSV file of a pool's results.

Field names: https://toloka.ai/docs/guide/result-of-eval (INPUT:, OUTPUT:, GOLDEN:, HINT:text, ASSIGNMENT:worker_id,
ASSIGNMENT:status); ASSIGNMENT:task_id is there where the file came through the API (toloka-kit's
`get_assignments_df`).
"""

import json
from collections.abc import Iterator

from quorate.errors import MissingColumnError
from quorate.io.exports.content import Content
from quorate.io.exports.export import Export, Format, FoundAnswer, assemble
from quorate.io.options import ReadOptions

WORKER = "ASSIGNMENT:worker_id"
TASK = "ASSIGNMENT:task_id"
STATUS = "ASSIGNMENT:status"
# Assignments that were never handed in, beside those that the requester rejected.
UNFINISHED = ("active", "skipped", "expired")


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
    golden = content.optional_column(f"GOLDEN:{question}")
    statuses = content.optional_column(STATUS)
    rows = zip(
        _tasks(content, reading.task),
        content.column(WORKER),
        content.column(f"OUTPUT:{question}"),
        golden,
        statuses,
        strict=True,
    )
    for number, (task, worker, value, known, status) in enumerate(rows, start=1):
        where = f"row {number:,}"
        status = (status or "").lower()
        is_left_out = status in UNFINISHED or (status == "rejected" and not reading.keep_rejected)
        yield FoundAnswer(task, worker, value, where, status if is_left_out else "")
        if known is not None:
            yield FoundAnswer(task, None, known, where, known=True, is_row=False)


def _tasks(content: Content, name: str | None) -> list[str | None]:
    """Identify tasks: by the column that was named, by the task's id, or by all inputs shown to the worker."""
    seen = [field for field in content.fields if field.startswith("INPUT:")]
    if name is not None:
        return content.column(f"INPUT:{name}" if f"INPUT:{name}" in seen and name not in content.fields else name)
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
