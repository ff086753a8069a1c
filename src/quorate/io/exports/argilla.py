"""Argilla 2: read its records in any of three layouts, and write results as suggestions.

Field names: https://docs.argilla.io/latest/how_to_guides/import_export (what `to_json`, `to_list` and `to_dict`
write), https://docs.argilla.io/latest/reference/argilla/records/responses and .../suggestions.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.errors import WrongFormatError, shown
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import NEVER, OTHER_QUESTION, Export, Format, FoundAnswer, assemble
from quorate.io.exports.llm_judges import first_of
from quorate.io.exports.schema import ANYTHING, VALUE, Each, Either, check_records
from quorate.io.options import ReadOptions
from quorate.io.values import first_filled

LEFT_OUT = ("draft", "discarded")  # statuses of responses that were not submitted

Response = tuple[str, Any, Any, str | None]  # question, value, user, status

# The fields that are read here: responses by question (to_json), or in the form of the server.
USER_FIELDS = {"user_id": VALUE, "status": VALUE}
RECORD = {
    **dict.fromkeys(("id", "external_id", "_server_id"), VALUE),
    **dict.fromkeys(("fields", "metadata"), Each(ANYTHING)),
    "responses": Either(
        Each([{"value": ANYTHING, **USER_FIELDS}]), [{"values": Each({"value": ANYTHING}), **USER_FIELDS}]
    ),
    "suggestions": Either(Each(ANYTHING), [ANYTHING]),
}


def _recognise(content: Content) -> bool:
    flat = any(name.endswith(".responses") and f"{name}.users" in content.fields for name in content.fields)
    nested = "responses" in content.fields and bool({"fields", "suggestions", "values"} & set(content.fields))
    return flat or (content.layout == "records" and nested)


def _read(content: Content, reading: ReadOptions) -> Export:
    check_records(content.records, RECORD, "Argilla", "record")
    responses = [list(responses_of(record, number)) for number, record in enumerate(content.records, start=1)]
    questions = list(dict.fromkeys(question for of_record in responses for question, *_ in of_record if question))
    questions_read = (reading.question,) if reading.question else questions
    n_without_status = sum(
        status is None for of_record in responses for question, *_, status in of_record if question in questions_read
    )
    notes: tuple[str, ...] = ()
    if n_without_status:
        notes = (
            (
                f"{n_without_status:,} responses have no status, because `to_json` does not write the status, so "
                "drafts and discarded responses are counted as answers. To leave them out, export with "
                "`to_list(flatten=True)`"
            ),
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


def responses_of(record: Record, number: int) -> Iterator[Response]:
    """Yield (question, value, user, status) of every response of a record, in any of the three layouts."""
    by_question = record.get("responses")
    if isinstance(by_question, Mapping):  # to_json: {question: [{value, user_id}]}
        for question, responses in by_question.items():
            for response in responses or []:
                yield question, response.get("value"), response.get("user_id"), _status(response.get("status"))
    elif isinstance(by_question, list):  # form of the server: [{values: {question: {value}}, user_id, status}]
        for response in by_question:
            user = response.get("user_id")
            status = _status(response.get("status"))
            for question, answer in (response.get("values") or {"": {}}).items():  # a discarded response has no values
                yield question, (answer or {}).get("value"), user, status
    for name in record:  # flattened: three lists of one length
        if isinstance(name, str) and name.endswith(".responses") and f"{name}.users" in record:
            for value, user, status in _flattened(record, name, number):
                yield name.removesuffix(".responses"), value, user, _status(status)


def _flattened(record: Record, name: str, number: int) -> list[tuple[Any, Any, Any]]:
    values, users, statuses = (record.get(f"{name}{part}") for part in ("", ".users", ".status"))
    columns = {name: [ANYTHING], f"{name}.users": [VALUE], f"{name}.status": [VALUE]}
    check_records([{key: record.get(key) for key in columns}], columns, "Argilla", f"record {number:,}, of which part")
    values = values or []
    users = users or [None] * len(values)
    statuses = statuses or [None] * len(values)
    if not len(values) == len(users) == len(statuses):
        raise WrongFormatError(
            f"record {number:,} has {len(values):,} values in {shown(name)}, but {len(users):,} users and "
            f"{len(statuses):,} statuses; Argilla writes the same number of each"
        )
    return list(zip(values, users, statuses, strict=True))


def _status(value: Any) -> str | None:
    return None if value is None else str(value).lower()


def _find(
    records: list[Record], responses: list[list[Response]], reading: ReadOptions, question: str
) -> Iterator[FoundAnswer]:
    for number, (record, of_record) in enumerate(zip(records, responses, strict=True), start=1):
        task = _task_of(record, reading.task)
        to_question = [response for response in of_record if response[0] in (question, "")]
        if not to_question:
            yield FoundAnswer(task, None, None, f"record {shown(task)}", NEVER)
        for question_of_response, value, user, status in of_record:
            where = f"the response of {shown(user)} to record {shown(task or number)}"
            why = status if status in LEFT_OUT else ""
            if question_of_response not in (question, ""):
                why = OTHER_QUESTION
            yield FoundAnswer(task, user, value, where, why)


def _task_of(record: Record, name: str | None) -> Any:
    default_task = first_filled(record.get(name) for name in ("external_id", "id", "_server_id"))
    return first_of(name, default_task, record, record.get("fields"), record.get("metadata"))


def suggestions(export: Export, labels: Mapping[str, tuple[Any, float | None]], agent: str) -> list[Record]:
    """Return the records with labels as suggestions, for `Record.from_dict` and `dataset.records.from_json`.

    Responses are left out, so that importing the file changes only the suggestions.

    Args:
        export: result of `read_export`.
        labels: task -> its label with the value in the export, and its confidence.
        agent: name that Argilla shows as the origin of the suggestion.

    >>> from quorate.io.exports.detect import read_export
    >>> record = {"id": "7", "fields": {"text": "hi"}, "responses": {"tone": [{"value": "glad", "user_id": "u"}]}}
    >>> suggestions(read_export([record]), {"7": ("glad", 0.9)}, "quorate")[0]["suggestions"]
    {'tone': {'value': 'glad', 'score': 0.9, 'agent': 'quorate'}}
    """
    written = []
    for record in export.records:
        label = labels.get(as_text(_task_of(record, export.task_field)) or "")
        unchanged: Record = {
            name: record[name] for name in ("fields", "metadata", "vectors", "_server_id") if name in record
        }
        before = record.get("suggestions")
        suggested: Record = {**before} if isinstance(before, Mapping) else {}
        if label is not None:
            suggested[export.question] = {"value": label[0], "score": label[1], "agent": agent}
        written.append({"id": _task_of(record, None), **unchanged, "suggestions": suggested})
    return written
