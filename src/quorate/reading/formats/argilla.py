"""Argilla 2: its records in any of three layouts, and results as its suggestions.

Field names: https://docs.argilla.io/latest/how_to_guides/import_export (what `to_json`, `to_list` and `to_dict`
write), https://docs.argilla.io/latest/reference/argilla/records/responses and .../suggestions.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.reading.formats.content import Content, Record, as_text
from quorate.reading.formats.export import NEVER, Export, Format, FoundAnswer, assemble
from quorate.reading.options import ReadOptions

LEFT_OUT = ("draft", "discarded")  # the statuses of responses that were not submitted

Response = tuple[str, Any, Any, str | None]  # question, value, user, status


def _recognise(content: Content) -> bool:
    flat = any(name.endswith(".responses") and f"{name}.users" in content.fields for name in content.fields)
    nested = "responses" in content.fields and bool({"fields", "suggestions", "values"} & set(content.fields))
    return flat or (content.layout == "records" and nested)


def _read(content: Content, reading: ReadOptions) -> Export:
    responses = [list(_responses(record)) for record in content.records]
    questions = list(dict.fromkeys(question for some in responses for question, *_ in some if question))
    asked = (reading.question,) if reading.question else questions
    untold = sum(status is None for some in responses for question, *_, status in some if question in asked)
    notes: tuple[str, ...] = ()
    if untold:
        notes = (
            f"{untold:,} responses come without a status, as `to_json` writes them, so drafts and discarded ones are "
            "among the answers; `to_list(flatten=True)` writes the status",
        )
    return assemble(
        "argilla",
        content,
        reading,
        questions,
        lambda q: _find(content.records, responses, reading, q),
        notes=notes,
        takes_results=True,
    )


FORMAT = Format(
    "argilla",
    "Argilla 2 records: to_json, to_list or to_dict, nested or flattened",
    "objects with 'responses' beside 'fields' or 'suggestions', or 'QUESTION.responses' and 'QUESTION.responses.users'",
    _recognise,
    _read,
)


def _responses(record: Record) -> Iterator[Response]:
    """Give every response of a record, whatever its layout."""
    given = record.get("responses")
    if isinstance(given, Mapping):  # to_json: {question: [{value, user_id}]}
        for question, responses in given.items():
            for response in responses or []:
                yield question, response.get("value"), response.get("user_id"), _status(response.get("status"))
    elif isinstance(given, list):  # as the server has it: [{values: {question: {value}}, user_id, status}]
        for response in given:
            user, status = response.get("user_id"), _status(response.get("status"))
            for question, answer in (response.get("values") or {"": {}}).items():  # discarded: to no question
                yield question, answer.get("value"), user, status
    for name, values in record.items():  # flattened: three lists of one length
        if name.endswith(".responses") and f"{name}.users" in record:
            values = values or []
            users = record[f"{name}.users"] or [None] * len(values)
            statuses = record.get(f"{name}.status") or [None] * len(values)
            for value, user, status in zip(values, users, statuses, strict=True):
                yield name.removesuffix(".responses"), value, user, _status(status)


def _status(value: Any) -> str | None:
    return None if value is None else str(value).lower()


def _find(
    records: list[Record], responses: list[list[Response]], reading: ReadOptions, question: str
) -> Iterator[FoundAnswer]:
    for number, (record, some) in enumerate(zip(records, responses, strict=True), start=1):
        task = _task_of(record, reading.task)
        own = [response for response in some if response[0] in (question, "")]
        if not own:
            yield FoundAnswer(task, None, None, f"record {task}", NEVER)
        for _, value, user, status in own:
            where = f"the response of {user} to record {task or number}"
            yield FoundAnswer(task, user, value, where, status if status in LEFT_OUT else "")


def _task_of(record: Record, name: str | None) -> Any:
    if name is not None:
        return next(
            (part[name] for part in (record, record.get("fields"), record.get("metadata")) if part and name in part),
            None,
        )
    return record.get("external_id") or record.get("id") or record.get("_server_id")


def suggestions(export: Export, labels: Mapping[str, tuple[Any, float | None]], agent: str) -> list[Record]:
    """Write labels as suggestions, in the layout that `Record.from_dict` and `dataset.records.from_json` read.

    Responses are left out, so that importing the file changes nothing but the suggestions.

    Args:
        export: what `read_export` read.
        labels: task -> its label, as it was in the export, and how sure it is.
        agent: what Argilla shows as the origin of the suggestion.

    >>> from quorate.reading.exports import read_export
    >>> record = {"id": "7", "fields": {"text": "hi"}, "responses": {"tone": [{"value": "glad", "user_id": "u"}]}}
    >>> suggestions(read_export([record]), {"7": ("glad", 0.9)}, "quorate")[0]["suggestions"]
    {'tone': {'value': 'glad', 'score': 0.9, 'agent': 'quorate'}}
    """
    written = []
    for record in export.records:
        label = labels.get(as_text(_task_of(record, export.task_field)) or "")
        kept: Record = {
            name: record[name] for name in ("fields", "metadata", "vectors", "_server_id") if name in record
        }
        given = record.get("suggestions")
        others: Record = {**given} if isinstance(given, Mapping) else {}
        if label is not None:
            others[export.question] = {"value": label[0], "score": label[1], "agent": agent}
        written.append({"id": _task_of(record, None), **kept, "suggestions": others})
    return written
