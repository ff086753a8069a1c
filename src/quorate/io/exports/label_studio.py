"""Label Studio: read its JSON export and its flat exports (JSON_MIN, CSV, TSV), and write labels as predictions.

Field names: https://labelstud.io/guide/task_format (tasks and annotations), https://labelstud.io/guide/export (flat)
and https://labelstud.io/guide/predictions. Before version 1.0, annotations were called completions. A row of a flat
export is one annotation: the data of the task, one field for each control, and the fields that Label Studio adds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from quorate.errors import NoRowsError, OptionError, WrongFormatError, shown
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import NEVER, Export, Format, FoundAnswer, OwnColumns, assemble
from quorate.io.exports.questions import differs_within
from quorate.io.exports.schema import ANYTHING, TEXT, VALUE, Each, Either, check_records
from quorate.io.json_documents import parse_json
from quorate.io.options import ReadOptions

NAMES = ("email", "first_name", "last_name", "username", "id")
PERSON = Either(VALUE, dict.fromkeys(NAMES, VALUE))  # an object or an id, depending on the options of the export
GOLD_FIELD = "ground_truth"
YES = ("true", "1", "1.0", "yes")
NO = ("false", "0", "0.0", "no", "none", "null")
ROW = {"id": VALUE, "annotator": PERSON, "was_cancelled": VALUE, GOLD_FIELD: VALUE}
ADDED_FIELDS = (
    *("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "was_cancelled", "agreement"),
    *("history", "review", GOLD_FIELD),
)
MIN_TEXTS = 6  # with fewer values, a column is not recognised as free text
MIN_WORDS = 3  # median number of words of free text


def name_of(person: Any) -> Any:
    """Return the first of these that an export has for an annotator: e-mail address, name, user name, number.

    >>> name_of({"id": 3, "first_name": "Ann", "last_name": "Lee"}), name_of(3), name_of({"id": 3, "email": "a@b.c"})
    ('Ann Lee', 3, 'a@b.c')
    """
    if not isinstance(person, Mapping):
        return person
    called = " ".join(str(person[part]) for part in ("first_name", "last_name") if person.get(part))
    return person.get("email") or called or person.get("username") or person.get("id")


def is_flat(content: Content) -> bool:
    """Whether the content is a flat export, by the fields that Label Studio adds.

    >>> from quorate.io.exports.content import look
    >>> is_flat(look([{"id": 1, "tone": "glad", "annotator": 3, "annotation_id": 9}]))
    True
    """
    return "annotator" in content.fields and bool({"annotation_id", "lead_time"} & set(content.fields))


def read(content: Content, reading: ReadOptions) -> Export:
    """Read a flat export.

    >>> from quorate.io.exports.content import look
    >>> rows = [{"text": "hi", "id": 1, "tone": "glad", "annotator": 3, "annotation_id": 9}]
    >>> read(look(rows), ReadOptions()).table.to_pylist()
    [{'task': '1', 'worker': '3', 'label': 'glad'}]
    """
    check_records(content.records, ROW, "Label Studio", "row")
    questions, note = _questions(content)
    if reading.question is not None and reading.question in content.fields:
        questions = list(dict.fromkeys([*questions, reading.question]))
    notes = (note,) if note and reading.question is None else ()
    return assemble("labelstudio", content, reading, questions, lambda q: _find_flat(content, reading, q), notes=notes)


def _questions(content: Content) -> tuple[list[str], str]:
    """Return the names of the controls, without the fields of the task's data, and a note (or "") about the choice."""
    if content.layout == "records":  # JSON_MIN writes the data, then the id, then the controls, then the annotator
        named: dict[str, None] = {}
        for record in content.records:
            names = list(record)
            if {"id", "annotator"} <= set(names):
                named |= dict.fromkeys(names[names.index("id") + 1 : names.index("annotator")])
        return _classes(content, [name for name in named if name not in ADDED_FIELDS]), ""
    # In CSV, the columns are sorted by name. The data of a task are the same in all its rows, and answers differ.
    candidates = _classes(content, [name for name in content.fields if name not in ADDED_FIELDS])
    if len(candidates) == 1 or "id" not in content.fields:
        return candidates, ""
    tasks = content.column("id")
    differing = [name for name in candidates if differs_within(tasks, content.column(name))]
    if not differing:
        return candidates, ""
    note = f"question {differing[0]!r}: the only column in which annotators of one task differ"
    return differing, note if len(differing) == 1 else ""


def _classes(content: Content, names: list[str]) -> list[str]:
    """Return the names without columns of free text or of marked regions; all names if none would be left."""
    with_classes = [name for name in names if not _is_free([record.get(name) for record in content.records])]
    return with_classes or names


def _is_free(values: list[Any]) -> bool:
    """Whether values are free text or marked regions; classes have few words and are repeated."""
    values_in = [unwrapped for unwrapped in map(_class_in_flat, values) if unwrapped not in (None, "")]
    parts = [part for value in values_in for part in (value if isinstance(value, list) else [value])]
    if any(isinstance(part, Mapping) for part in parts):
        return True
    texts = [value for value in values_in if isinstance(value, str)]
    if len(texts) < MIN_TEXTS or 2 * len(set(texts)) <= len(texts):
        return False
    return sorted(len(text.split()) for text in texts)[len(texts) // 2] >= MIN_WORDS


def _find_flat(content: Content, reading: ReadOptions, question: str) -> Iterator[FoundAnswer]:
    name = reading.task or "id"
    for number, row in enumerate(content.records, start=1):
        cancelled = (as_text(row.get("was_cancelled")) or "").lower() in YES
        value = _class_in_flat(row.get(question))
        where = f"row {number:,}"
        task = row.get(name)
        ground_truth = as_text(row.get(GOLD_FIELD)) or ""
        is_known = ground_truth.lower() in YES
        yield FoundAnswer(task, name_of(row.get("annotator")), value, where, "cancelled" if cancelled else "", is_known)
        if ground_truth and ground_truth.lower() not in (*YES, *NO):  # the data of the task have the label itself
            yield FoundAnswer(task, None, ground_truth, f"{GOLD_FIELD} of row {number:,}", known=True, is_row=False)


def _class_in_flat(value: Any) -> Any:
    """Return the choice or choices in a field: text, or JSON if there is more than one choice."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = parse_json(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        record: Record = value
        for key in ("choices", "rating", "selected"):
            if key in record:
                return record[key]
    return value


# Types of results that are classes -> the field of `value` that has the class: https://labelstud.io/tags/choices,
# rating, pairwise. Other types (rectangles, spans, free text) cannot be combined by voting.
CLASS_OF = {"choices": "choices", "rating": "rating", "pairwise": "selected"}

MARKS = {
    "rectanglelabels": "boxes",
    "rectangle": "boxes",
    "polygonlabels": "polygons",
    "ellipselabels": "ellipses",
    "keypointlabels": "points",
    "brushlabels": "masks",
    "labels": "text spans",
    "hypertextlabels": "text spans",
    "paragraphlabels": "text spans",
    "timeserieslabels": "time spans",
    "textarea": "answers in free text",
    "taxonomy": "taxonomies of regions",
}
# The fields of an export that are read here.
CLASSES = Either(VALUE, [VALUE])
RESULT = {"type": TEXT, "from_name": TEXT, "to_name": TEXT, "value": dict.fromkeys(CLASS_OF.values(), CLASSES)}
ANNOTATION = {
    "id": VALUE,
    "completed_by": PERSON,
    "result": [RESULT],
    **dict.fromkeys(("was_cancelled", "skipped", "ground_truth"), VALUE),
}
TASK = {
    "id": VALUE,
    "data": Each(ANYTHING),
    "annotations": [Either(ANNOTATION, VALUE)],
    "completions": [Either(ANNOTATION, VALUE)],
}


def _recognise(content: Content) -> bool:
    fields = set(content.fields)
    nested = content.layout == "records" and bool(fields & {"annotations", "completions"}) and "data" in fields
    return nested or is_flat(content)


def _read(content: Content, reading: ReadOptions) -> Export:
    if is_flat(content):
        return read(content, reading)
    check_records(content.records, TASK, "Label Studio", "task")
    questions = list(dict.fromkeys(result["from_name"] for result in _results(content)))
    if not questions:
        _refuse_marks(content)
    export = assemble(
        "labelstudio", content, reading, questions, lambda q: _find(content, reading, q), takes_results=True
    )
    texts = [name for name, value in (content.records[0].get("data") or {}).items() if isinstance(value, str)]
    return replace(export, columns=OwnColumns("task", "worker", ("label",), tuple(f"data.{name}" for name in texts)))


def _refuse_marks(content: Content) -> None:
    """Raise an error that lists the annotations that are not classes, if there are any."""
    kinds: Counter[str] = Counter()
    for task in content.records:
        for annotation in [*(task.get("annotations") or []), *(task.get("completions") or [])]:
            for result in annotation.get("result") or [] if isinstance(annotation, dict) else []:
                kinds[str(result.get("type"))] += 1
    if kinds:
        kinds_found = ", ".join(f"{MARKS.get(kind, kind)} ({n:,})" for kind, n in kinds.most_common(4))
        raise NoRowsError(
            f"{content.name} holds {kinds_found}, and no answers that are one of several classes (choices, rating, "
            "pairwise). Spans, boxes and free text cannot be combined"
        )


FORMAT = Format(
    "labelstudio",
    "Label Studio: JSON, JSON_MIN, CSV or TSV",
    "objects with 'data' and 'annotations', or the fields 'annotator' and 'annotation_id'",
    _recognise,
    _read,
)


def _annotations(record: Record) -> list[Record]:
    annotations = [*(record.get("annotations") or []), *(record.get("completions") or [])]
    for annotation in annotations:
        if not isinstance(annotation, Mapping):
            raise WrongFormatError(
                f"task {shown(record.get('id'))} has only the ids of its annotations. Export the project as JSON "
                "instead"
            )
    return annotations


def _results(content: Content) -> Iterator[Record]:
    """Yield every result that is a class and names its control (the question)."""
    for record in content.records:
        for annotation in _annotations(record):
            for result in annotation.get("result") or []:
                if result.get("type") in CLASS_OF and result.get("from_name") is not None:
                    yield result


def _find(content: Content, reading: ReadOptions, question: str) -> Iterator[FoundAnswer]:
    for number, record in enumerate(content.records, start=1):
        task = _task_of(record, reading.task)
        annotations = _annotations(record)
        if not annotations:
            yield FoundAnswer(task, None, None, f"task {shown(task)}", NEVER)
        for annotation in annotations:
            worker = name_of(annotation.get("completed_by"))
            where = f"annotation {shown(annotation.get('id'))} of task {shown(task or number)}"
            cancelled = annotation.get("was_cancelled") or annotation.get("skipped")
            chosen = [
                (result.get("value") or {}).get(CLASS_OF[result["type"]])
                for result in annotation.get("result") or []
                if result.get("from_name") == question and result.get("type") in CLASS_OF
            ]
            value = [part for choice in chosen for part in (choice if isinstance(choice, list) else [choice])]
            known = bool(annotation.get("ground_truth"))
            yield FoundAnswer(task, worker, value, where, "cancelled" if cancelled else "", known)


def _task_of(record: Record, name: str | None) -> Any:
    if name is None:
        return record.get("id")
    return record[name] if name in record else (record.get("data") or {}).get(name)


def predictions(export: Export, labels: Mapping[str, tuple[Any, float | None]], model_version: str) -> list[Record]:
    """Return the tasks with labels as predictions, for the control that the results in the export name.

    Args:
        export: result of `read_export`.
        labels: task -> its label with the value in the export, and its confidence.
        model_version: name that Label Studio shows as the origin of the prediction.

    Raises:
        OptionError: the export is flat, and does not have the names of the controls.

    >>> from quorate.io.exports.detect import read_export
    >>> result = {"from_name": "tone", "to_name": "text", "type": "choices", "value": {"choices": ["glad"]}}
    >>> task = {"id": 7, "data": {"text": "hi"}, "annotations": [{"id": 1, "completed_by": 3, "result": [result]}]}
    >>> predictions(read_export([task]), {"7": ("glad", 0.9)}, "quorate")[0]["predictions"][0]["score"]
    0.9
    """
    if not export.records or "annotator" in export.records[0]:
        raise OptionError(
            "A flat export does not have the names of the controls. Export the project as JSON to write predictions"
        )
    written = []
    control: Record = {}
    for record in export.records:  # also for tasks without annotations, the control of the first annotation is used
        controls = [
            result
            for annotation in _annotations(record)
            for result in annotation.get("result") or []
            if result.get("from_name") == export.question and result.get("type") in CLASS_OF
        ]
        control = control or (controls[0] if controls else {})
    for record in export.records:
        label = labels.get(as_text(_task_of(record, export.task_field)) or "")
        predictions = [] if label is None else [_prediction(control, *label, model_version)]
        written.append({"id": record.get("id"), "data": record.get("data"), "predictions": predictions})
    return written


def _prediction(control: Record, value: Any, score: float | None, model_version: str) -> Record:
    kind = control["type"]
    if kind == "choices" and not isinstance(value, list):
        value = [value]
    elif isinstance(value, list) and kind != "choices":
        value = value[0] if value else None
    result = {
        "id": "quorate",
        "from_name": control["from_name"],
        "to_name": control.get("to_name"),
        "type": kind,
        "value": {CLASS_OF[kind]: value},
    }
    return {"model_version": model_version, "score": score, "result": [result]}
