"""Zooniverse: classification exports, as downloaded, flattened to a row per task, or extracted to a value.

A downloaded file (https://help.zooniverse.org/next-steps/data-exports) has one row per classification, with JSON in
``annotations``: ``[{"task": "T0", "task_label": ..., "value": ...}]``. Programs of the Zooniverse flatten it to one row
per task (``task``, ``value``, or a column ``choice`` for survey tasks), or extract one answer (``val``).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quorate.errors import ColumnTypeError, MissingColumnError, OptionError, WrongFormatError, count, listing, shown
from quorate.io.exports.content import Content
from quorate.io.exports.export import Export, Format, FoundAnswer, assemble
from quorate.io.exports.questions import QuestionInfo, describe_question
from quorate.io.options import ReadOptions
from quorate.io.proposals import with_command

SUBJECT_COLUMNS = ("subject_ids", "subject_id")
PERSON_COLUMNS = ("user_name", "user_id")
VALUE_COLUMNS = ("val", "answer", "value", "choice", "label", "data.value")
MISSING = ("", "na", "nan", "null", "none")
NOTHING = "empty"  # column of a flattened survey with the answer that an image shows nothing
MIN_SHARE = 0.1  # of the classifications must answer a question for it to be proposed


def _recognise(content: Content) -> bool:
    fields = set(content.fields)
    people = bool(fields & set(PERSON_COLUMNS)) and bool(fields & set(SUBJECT_COLUMNS))
    return people and "classification_id" in fields and bool(fields & {"annotations", "value", *VALUE_COLUMNS})


def _read(content: Content, reading: ReadOptions) -> Export:
    if "annotations" in content.fields:
        questions, drawing_tasks = _of_annotations(content)
        if not questions and drawing_tasks:
            marks = listing(drawing_tasks, 3)
            raise ColumnTypeError(
                f"{content.name} is a Zooniverse export of drawn marks ({marks}: positions, not classes). Quorate "
                "needs a limited set of labels"
            )
    else:
        questions = _of_flat(content)
        drawing_tasks = []
    n = max((len(answers) for answers in questions.values()), default=0)
    rare = [
        name
        for name, answers in questions.items()
        if len(answers) < MIN_SHARE * max(n, len(content.column("classification_id")))
    ]
    if reading.question is None and drawing_tasks and set(questions) <= set(rare):
        marks = listing(drawing_tasks, 3)
        raise ColumnTypeError(
            f"{content.name} is a Zooniverse export of drawn marks ({marks}: positions, not classes); few "
            f"classifications answer anything else ({listing(rare, 3)})"
        )
    kinds = {name: describe_question([answer[3] for answer in answers]) for name, answers in questions.items()}
    usable = [name for name, kind in kinds.items() if kind.is_class and name not in rare]
    names = list(questions)
    if reading.question is None and len(usable) == 1:
        names = usable
    about = QuestionInfo(
        {name: kind.about for name, kind in kinds.items()},
        {"question": usable[0]} if usable else {},
        content.files,
        "Zooniverse classifications.",
    )
    export = assemble(
        "zooniverse", content, reading, names, lambda q: _find(content, reading, questions[q]), about=about
    )
    _refuse_conflicts(content, reading, export)
    return export


FORMAT = Format(
    "zooniverse",
    "Zooniverse classification exports: CSV, also flattened or extracted",
    "the columns 'classification_id', 'user_name' and 'subject_ids', and 'annotations' or a column of values",
    _recognise,
    _read,
)

Found = tuple[int, Any, Any, Any]  # row, subject, person, value


def _people(content: Content) -> tuple[list[Any], list[Any]]:
    """Return the subject and the person of each row; the name is preferred, because visitors have no id."""
    subject = next(name for name in SUBJECT_COLUMNS if name in content.fields)
    person = next(name for name in PERSON_COLUMNS if name in content.fields)
    return content.column(subject), content.column(person)


def _of_annotations(content: Content) -> tuple[dict[str, list[Found]], list[str]]:
    """Return task of the workflow -> its answers, and the tasks in which something was drawn."""
    subjects, people = _people(content)
    by_title: dict[str, list[Found]] = {}
    drawing_tasks: dict[str, None] = {}
    for row, text in enumerate(content.column("annotations")):
        for entry in _entries(text, row):
            name = str(entry.get("task") or "task")
            for inner in _answers_in(entry):
                title = str(inner.get("task") or name)
                value = inner.get("value")
                if _is_drawing(value):
                    drawing_tasks[title] = None
                    continue
                by_title.setdefault(title, []).append((row, subjects[row], people[row], _classes(value)))
    answered = {name: answers for name, answers in by_title.items() if any(answer[3] for answer in answers)}
    return answered, list(drawing_tasks)


def _entries(text: str | None, row: int) -> list[Mapping[str, Any]]:
    try:
        entries = json.loads(text or "[]")
    except (ValueError, RecursionError):
        raise WrongFormatError(f"row {row + 1:,}: 'annotations' is not JSON: {shown(text)}") from None
    if not isinstance(entries, list):
        raise WrongFormatError(f"row {row + 1:,}: 'annotations' is not a list: {shown(text)}")
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _answers_in(entry: Mapping[str, Any]) -> list[Any]:
    """Return the answers of an entry: those to the tasks of a combination task, or the entry itself."""
    value = entry.get("value")
    if isinstance(value, list) and value and all(isinstance(part, Mapping) and "task" in part for part in value):
        return value
    return [entry]


def _is_drawing(value: Any) -> bool:
    marks = value if isinstance(value, list) else [value]
    return any(isinstance(mark, Mapping) and ({"x", "y", "points", "tool"} & set(mark)) for mark in marks)


def _classes(value: Any) -> Any:
    """Return the class or the classes in a value; for a survey, the choices."""
    if isinstance(value, Mapping):
        return _text(value.get("choice") or value.get("value") or value.get("label"))
    if isinstance(value, list):
        texts = [_classes(item) for item in value]
        flat = [text for item in texts for text in (item if isinstance(item, list) else [item]) if text is not None]
        return flat or None
    return _text(value)


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return None if value.strip().lower() in MISSING else value.strip()
    return value


def _of_flat(content: Content) -> dict[str, list[Found]]:
    """Return task of the workflow -> its answers, from a file with one row per task or per answer."""
    subjects, people = _people(content)
    fields = list(content.fields)
    name = next((candidate for candidate in ("choice", *VALUE_COLUMNS) if candidate in fields), None)
    if name is None:
        raise MissingColumnError(f"{content.name} has no column of answers; it has {listing(fields, 12)}")
    values = content.column(name)
    blanks = content.optional_column(NOTHING)
    tasks = content.optional_column("task")
    ids = content.column("classification_id")
    # task of the workflow, classification -> row, answer
    answers_of_task: dict[tuple[str, Any], list[tuple[int, Any]]] = {}
    for row, value in enumerate(values):
        answer = _text(value)
        key = (tasks[row] or name, (ids[row], subjects[row], people[row]))
        answers_of_task.setdefault(key, []).append((row, _text(blanks[row]) if answer is None else answer))
    by_task: dict[str, list[Found]] = {}
    for (task, _), rows in answers_of_task.items():
        row = rows[0][0]
        answers = list(dict.fromkeys(answer for _, answer in rows if answer is not None))
        # A classification with several choices has a row for each of them.
        classes: Any = answers if len(answers) > 1 else next(iter(answers), None)
        by_task.setdefault(task, []).append((row, subjects[row], people[row], classes))
    return by_task


def _find(content: Content, reading: ReadOptions, answers: Sequence[Found]) -> Iterator[FoundAnswer]:
    tasks = None if reading.task is None else content.column(reading.task)
    for row, subject, person, value in answers:
        yield FoundAnswer(subject if tasks is None else tasks[row], person, value, f"row {row + 1:,}")


def _refuse_conflicts(content: Content, reading: ReadOptions, export: Export) -> None:
    """Refuse different classifications of a subject by one person, which Zooniverse allows, and propose the command."""
    if reading.on_conflict != "error" or export.several:
        return
    seen: dict[tuple[str, str], str] = {}
    clashing: set[tuple[str, str]] = set()
    for row in export.table.to_pylist():
        key = row["task"], row["worker"]
        if seen.setdefault(key, row["label"]) != row["label"]:
            clashing.add(key)
    if not clashing:
        return
    error = OptionError(
        f"{content.name} is a Zooniverse export of {count(len(export.table), 'answer')}. "
        f"In {count(len(clashing), 'case')} ({count(len({person for _, person in clashing}), 'person')}) somebody "
        "classified a subject twice, and differently. Choose on_conflict='first', 'last' or 'drop' (--on-conflict)"
    )
    options: dict[str, Any] = {"on_conflict": "first"}
    if reading.question is not None:
        options["question"] = reading.question
    raise with_command(error, content.files or (content.name,), options)
