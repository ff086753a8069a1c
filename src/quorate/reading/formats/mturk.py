"""Amazon Mechanical Turk: the CSV file of a batch's results.

Field names: the requester site's batch results, and
https://docs.aws.amazon.com/AWSMechTurk/latest/AWSMturkAPI/ApiReference_AssignmentDataStructureArticle.html for
HITId, WorkerId and AssignmentStatus (Submitted, Approved, Rejected). A form field becomes a column Answer.NAME;
a radio button or a check box one column Answer.NAME.OPTION, true or false, for each option; newer forms put all
their answers as JSON into Answer.taskAnswers.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from quorate.errors import MissingColumnError, WrongFormatError, listing, shown
from quorate.reading.formats.content import Content, as_text
from quorate.reading.formats.export import Export, Format, FoundAnswer, assemble
from quorate.reading.options import ReadOptions

PREFIX = "Answer."
FORM = "Answer.taskAnswers"
TRUTH = {"true": True, "false": False}


def _recognise(content: Content) -> bool:
    answers = any(name.startswith(PREFIX) for name in content.fields)
    return {"HITId", "WorkerId"} <= set(content.fields) and answers


def _read(content: Content, reading: ReadOptions) -> Export:
    answers = _fold(_answers(content))
    return assemble("mturk", content, reading, list(answers), lambda q: _find(content, reading, answers[q]))


FORMAT = Format(
    "mturk",
    "Mechanical Turk batch results: CSV",
    "the columns 'HITId' and 'WorkerId', and one that begins with 'Answer.'",
    _recognise,
    _read,
)


def _answers(content: Content) -> dict[str, list[str | None]]:
    """Return every answer column by its name, those inside Answer.taskAnswers among them."""
    columns = {
        name.removeprefix(PREFIX): content.column(name)
        for name in content.fields
        if name.startswith(PREFIX) and name != FORM
    }
    if FORM in content.fields:
        rows = [_flatten(text, number) for number, text in enumerate(content.column(FORM), start=1)]
        for name in dict.fromkeys(name for row in rows for name in row):
            columns[name] = [row.get(name) for row in rows]
    return columns


def _flatten(text: str | None, number: int) -> dict[str, str | None]:
    """Flatten [{"tone": {"label": "glad"}}] to {"tone.label": "glad"}."""
    try:
        forms = json.loads(text) if text else []
        pairs = [(name, value) for form in forms for name, value in form.items()]
    except (ValueError, RecursionError, AttributeError, TypeError):
        raise WrongFormatError(f"row {number:,}: {FORM} is not the JSON of a form: {shown(text)}") from None
    flat: dict[str, str | None] = {}
    for name, value in pairs:
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": as_text(inner) for key, inner in value.items()}
        else:
            flat[name] = as_text(value)
    return flat


def _fold(columns: dict[str, list[str | None]]) -> dict[str, list[Any]]:
    """Make one question of the columns that are the options of one; each answer is the list of those ticked."""
    options = defaultdict(list)
    for name, values in columns.items():
        if "." in name and all(value is None or value.lower() in TRUTH for value in values):
            options[name.rpartition(".")[0]].append(name)
    folded: dict[str, list[Any]] = {}
    for name, values in columns.items():
        group = options.get(name.rpartition(".")[0], [])
        if name not in group or len(group) < 2:
            folded[name] = list(values)
            continue
        question = name.rpartition(".")[0]
        if question not in folded:
            folded[question] = [
                [
                    option.rpartition(".")[2]
                    for option, ticked in zip(group, row, strict=True)
                    if ticked and TRUTH[ticked.lower()]
                ]
                for row in zip(*(columns[option] for option in group), strict=True)
            ]
    return folded


def _find(content: Content, reading: ReadOptions, values: list[Any]) -> Iterator[FoundAnswer]:
    name = reading.task or "HITId"
    if name not in content.fields and f"Input.{name}" in content.fields:
        name = f"Input.{name}"
    if name not in content.fields:
        raise MissingColumnError(
            f"{content.name} has no column {name!r}; 'HITId' or one of "
            f"{listing([field for field in content.fields if field.startswith('Input.')], 12)} tells tasks apart"
        )
    n = len(values)
    statuses = content.column("AssignmentStatus") if "AssignmentStatus" in content.fields else [None] * n
    rows = zip(content.column(name), content.column("WorkerId"), statuses, values, strict=True)
    for number, (task, worker, status, value) in enumerate(rows, start=1):
        rejected = (status or "").lower() == "rejected" and not reading.keep_rejected
        yield FoundAnswer(task, worker, value, f"row {number:,}", "rejected" if rejected else "")
