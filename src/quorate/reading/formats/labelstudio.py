"""Label Studio: its JSON export, and results as its predictions. The flat exports have a file of their own.

Field names: https://labelstud.io/guide/task_format (tasks and annotations) and https://labelstud.io/guide/predictions
(what is imported as a prediction). Before version 1.0 annotations were called completions.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from quorate.errors import NoRowsError, OptionError, WrongFormatError, shown
from quorate.reading.formats import labelstudio_flat as flat
from quorate.reading.formats.content import Content, Record, as_text
from quorate.reading.formats.export import NEVER, Export, Format, FoundAnswer, assemble
from quorate.reading.formats.shape import ANYTHING, TEXT, VALUE, Each, Either, check_records
from quorate.reading.options import ReadOptions

# The types of result that are one class, and the field of `value` that holds it: https://labelstud.io/tags/choices,
# rating, pairwise. Others (rectangles, spans, free text) are no answers that can be voted on.
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
    "textarea": "free texts",
    "taxonomy": "taxonomies of regions",
}
# What Label Studio writes, of what is read here.
CLASSES = Either(VALUE, [VALUE])
RESULT = {"type": TEXT, "from_name": TEXT, "to_name": TEXT, "value": dict.fromkeys(CLASS_OF.values(), CLASSES)}
ANNOTATION = {
    "id": VALUE,
    "completed_by": flat.PERSON,
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
    return nested or flat.is_flat(content)


def _read(content: Content, reading: ReadOptions) -> Export:
    if flat.is_flat(content):
        return flat.read(content, reading)
    check_records(content.records, TASK, "Label Studio", "task")
    questions = list(dict.fromkeys(result["from_name"] for result in _results(content)))
    if not questions:
        _refuse_marks(content)
    return assemble(
        "labelstudio", content, reading, questions, lambda q: _find(content, reading, q), takes_results=True
    )


def _refuse_marks(content: Content) -> None:
    """Say what annotations hold that are no classes."""
    kinds: Counter[str] = Counter()
    for task in content.records:
        for annotation in [*(task.get("annotations") or []), *(task.get("completions") or [])]:
            for result in annotation.get("result") or [] if isinstance(annotation, dict) else []:
                kinds[str(result.get("type"))] += 1
    if kinds:
        said = ", ".join(f"{n:,} {MARKS.get(kind, kind)}" for kind, n in kinds.most_common(4))
        raise NoRowsError(
            f"{content.name} holds {said}, and no answers that are one of several classes (choices, rating, pairwise). "
            "Spans, boxes and free text cannot be combined"
        )


FORMAT = Format(
    "labelstudio",
    "Label Studio: JSON, JSON_MIN, CSV or TSV",
    "objects with 'data' and 'annotations', or the fields 'annotator' and 'annotation_id'",
    _recognise,
    _read,
)


def _annotations(record: Record) -> list[Record]:
    given = [*(record.get("annotations") or []), *(record.get("completions") or [])]
    for annotation in given:
        if not isinstance(annotation, Mapping):
            raise WrongFormatError(
                f"task {shown(record.get('id'))} names its annotations by id only; export the project as JSON instead"
            )
    return given


def _results(content: Content) -> Iterator[Record]:
    """Give every result that is one class; the questions are the names of their controls."""
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
            worker = flat.name_of(annotation.get("completed_by"))
            where = f"annotation {shown(annotation.get('id'))} of task {shown(task or number)}"
            cancelled = annotation.get("was_cancelled") or annotation.get("skipped")
            chosen = [
                _class_in(result)
                for result in annotation.get("result") or []
                if result.get("from_name") == question and result.get("type") in CLASS_OF
            ]
            value = [each for some in chosen for each in (some if isinstance(some, list) else [some])]
            known = bool(annotation.get("ground_truth"))
            yield FoundAnswer(task, worker, value, where, "cancelled" if cancelled else "", known)


def _task_of(record: Record, name: str | None) -> Any:
    if name is None:
        return record.get("id")
    return record[name] if name in record else (record.get("data") or {}).get(name)


def _class_in(result: Record) -> Any:
    return (result.get("value") or {}).get(CLASS_OF[result["type"]])


def predictions(export: Export, labels: Mapping[str, tuple[Any, float | None]], model_version: str) -> list[Record]:
    """Write labels as predictions, each into its task, with the control that the export's own results name.

    Args:
        export: what `read_export` read.
        labels: task -> its label, as it was in the export, and how sure it is.
        model_version: what Label Studio shows as the origin of the prediction.

    Raises:
        OptionError: the export is flat, and does not say which control labels what.

    >>> from quorate.reading.exports import read_export
    >>> result = {"from_name": "tone", "to_name": "text", "type": "choices", "value": {"choices": ["glad"]}}
    >>> task = {"id": 7, "data": {"text": "hi"}, "annotations": [{"id": 1, "completed_by": 3, "result": [result]}]}
    >>> predictions(read_export([task]), {"7": ("glad", 0.9)}, "quorate")[0]["predictions"][0]["score"]
    0.9
    """
    if not export.records or "annotator" in export.records[0]:
        raise OptionError(
            "a flat export does not say which control labels what; export the project as JSON to write predictions"
        )
    written = []
    control: Record = {}
    for record in export.records:  # a task that nobody annotated takes the control of the others
        own = [
            result
            for annotation in _annotations(record)
            for result in annotation.get("result") or []
            if result.get("from_name") == export.question and result.get("type") in CLASS_OF
        ]
        control = control or (own[0] if own else {})
    for record in export.records:
        label = labels.get(as_text(_task_of(record, export.task_field)) or "")
        found = [] if label is None else [_prediction(control, *label, model_version)]
        written.append({"id": record.get("id"), "data": record.get("data"), "predictions": found})
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
