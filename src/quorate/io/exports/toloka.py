"""Toloka: the TSV file with the results of a pool.

Field names: https://toloka.ai/docs/guide/result-of-eval (INPUT:, OUTPUT:, GOLDEN:, HINT:text, ASSIGNMENT:worker_id,
ASSIGNMENT:status). Files from the API (toloka-kit's `get_assignments_df`) also have ASSIGNMENT:task_id.
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
# Statuses of assignments that were never submitted; rejected assignments are left out as well.
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
    """Return the task of each row: the column that the caller named, the task's id, or all inputs as JSON."""
    inputs = [field for field in content.fields if field.startswith("INPUT:")]
    if name is not None:
        return content.column(f"INPUT:{name}" if f"INPUT:{name}" in inputs and name not in content.fields else name)
    if TASK in content.fields:
        return content.column(TASK)
    if not inputs:
        raise MissingColumnError(
            f"{content.name} has neither {TASK!r} nor a column INPUT:…. Name the column of the task with task= (--task)"
        )
    if len(inputs) == 1:
        return content.column(inputs[0])
    rows = zip(*(content.column(field) for field in inputs), strict=True)
    return [json.dumps(row, ensure_ascii=False) for row in rows]
