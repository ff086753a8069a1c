"""Amazon Mechanical Turk: the CSV file with the results of a batch.

Field names: the requester site's batch results, and
https://docs.aws.amazon.com/AWSMechTurk/latest/AWSMturkAPI/ApiReference_AssignmentDataStructureArticle.html for
HITId, WorkerId and AssignmentStatus (Submitted, Approved, Rejected). A form field is a column Answer.NAME. For radio
buttons and check boxes, each option is a column Answer.NAME.OPTION, true or false. Newer forms write all answers as
JSON to Answer.taskAnswers.
"""

import fnmatch
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quorate.errors import ColumnTypeError, MissingColumnError, OptionError, WrongFormatError, count, listing, shown
from quorate.io.detect_values import MAX_CLASSES
from quorate.io.exports.content import Content, as_text
from quorate.io.exports.export import Export, Format, FoundAnswer, OwnColumns, assemble
from quorate.io.exports.questions import QuestionInfo, QuestionKind, describe_question
from quorate.io.options import ReadOptions, split_names
from quorate.io.proposals import with_command
from quorate.io.values import FROM_FILE, group_by, natural_order

PREFIX = "Answer."
INPUT = "Input."
AMOUNT = re.compile(r"[$€£]?\s*\d+(?:[.,]\d+)?\s*[$€£]?")
EMPTY = "{}"  # written by MTurk for a blank field
FORM = "Answer.taskAnswers"
TRUTH = {"true": True, "false": False}


def _recognise(content: Content) -> bool:
    answers = any(name.startswith(PREFIX) for name in content.fields)
    return {"HITId", "WorkerId"} <= set(content.fields) and answers


def _read(content: Content, reading: ReadOptions) -> Export:
    columns = _answers(content)
    folded = _combine_option_columns(columns)
    questions = {name: folded[name] for name in natural_order(list(folded))}  # q2 before q10
    hidden = [*_copies_of_inputs(content, columns), *_repeated_fields(questions)]
    questions = {name: values for name, values in questions.items() if name not in hidden}
    notes: tuple[str, ...] = ()
    if content.padding:
        notes = (f"{' and '.join(content.padding)} are empty, as MTurk leaves them",)
    if hidden:
        notes = (*notes, f"{listing(hidden, 6)} repeat another field, and are not separate answers")
    if reading.fold is not None:
        return _read_folded(content, reading, {**columns, **questions}, notes)
    hits = content.column("HITId")
    kinds = {name: describe_question(values, hits) for name, values in questions.items()}
    kinds |= _numbered_texts(questions)
    usable = [name for name, kind in kinds.items() if kind.is_class]
    if reading.question is None and not usable:
        _refuse_text(content, kinds)
    chosen = reading.question
    answers: dict[str, list[Any]] = {**columns, **questions}
    if chosen is not None and chosen.removeprefix(PREFIX) in answers:
        reading = replace(reading, question=chosen.removeprefix(PREFIX))
    names = list(questions) if reading.question in (None, *questions) else [*questions, str(reading.question)]
    if reading.question is None and len(usable) == 1 and len(questions) > 1:
        texts = [name for name in questions if name not in usable]
        notes = (*notes, f"the question {usable[0]!r} was read; left out as free text: {listing(texts, 8)}")
        reading = replace(reading, question=usable[0])
    about = QuestionInfo(
        {name: kind.about for name, kind in kinds.items()},
        _proposal(content, kinds, usable, columns),
        content.files,
        _assignments(content),
        _fold_options(kinds, usable),
    )
    if reading.task is None and "task" in about.options:
        error = OptionError(
            f"{_assignments(content)} The batches have no HIT in common, but {about.options['task']} has "
            "the same values in them: use it as the task with task= (--task)"
        )
        raise with_command(error, content.files, about.options)
    names = [name for name in names if name in answers] or list(questions)
    export = assemble(
        "mturk",
        content,
        reading,
        names,
        lambda q: _find(content, reading, _choices(answers[q], kinds.get(q))),
        notes=notes,
        about=about,
    )
    inputs = tuple(name for name in content.fields if name.startswith(INPUT))
    labels = (f"{PREFIX}{export.question}", export.question)
    return replace(export, columns=OwnColumns(_task_column(content, reading), "WorkerId", labels, inputs))


FORMAT = Format(
    "mturk",
    "Mechanical Turk batch results: CSV",
    "the columns 'HITId' and 'WorkerId', and one that begins with 'Answer.'",
    _recognise,
    _read,
)


def _choices(values: list[Any], kind: QuestionKind | None) -> list[Any]:
    """Split labels that are joined in one field; return other answers unchanged."""
    if kind is None or kind.kind != "joined":
        return values
    return [None if value is None else value.split("|") for value in values]


def _copies_of_inputs(content: Content, columns: Mapping[str, list[str | None]]) -> list[str]:
    """Return the names of form fields that only repeat an input of the requester, or a part of it.

    A field that repeats a part of an input is returned only if it has one value per HIT, which workers did not change.
    """
    inputs = [list(map(_plain, content.column(name))) for name in content.fields if name.startswith(INPUT)]
    hits = content.column("HITId")
    hidden = []
    for name, values in columns.items():
        texts = list(map(_plain, values))
        if not any(texts):
            continue
        is_copy = texts in inputs
        is_part = any(all(text and text in cell for text, cell in zip(texts, column, strict=True)) for column in inputs)
        if is_copy or (is_part and _is_of_hit(texts, hits)):
            hidden.append(name)
    return hidden


def _plain(value: str | None) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join((value or "").casefold().split())


def _is_of_hit(texts: Sequence[str], hits: Sequence[Any]) -> bool:
    """Whether a field has one value per HIT, not the same in all HITs, and some HITs have several assignments."""
    n_hits = len(set(hits))
    return n_hits < len(hits) and len(set(zip(hits, texts, strict=True))) == n_hits and len(set(texts)) > 1


def _repeated_fields(questions: Mapping[str, list[Any]]) -> list[str]:
    """Return the names of fields with the same words as an earlier field, in another order or with other separators."""
    seen: dict[tuple[Any, ...], str] = {}
    repeated = []
    for name, values in questions.items():
        if any(isinstance(value, list) for value in values) or not any(values):
            continue
        key = tuple(tuple(sorted(re.split(r"[|\s,;]+", value.lower().strip()))) if value else () for value in values)
        if len(set(key)) > 2 and seen.setdefault(key, name) != name:
            repeated.append(name)
    return repeated


def _numbered_texts(questions: Mapping[str, list[Any]]) -> dict[str, QuestionKind]:
    """Return the kind "text" for numbered fields (item1, item2, ...) that together have free text or amounts."""
    families = group_by(questions, lambda name: re.sub(r"\d+", "#", name))
    kinds: dict[str, QuestionKind] = {}
    for names in families.values():
        pooled = [str(value).strip() for name in names for value in questions[name] if value is not None]
        if len(names) > 2 and (len(set(pooled)) > MAX_CLASSES or _are_amounts(pooled)):
            kinds |= {name: QuestionKind("text", "free text", len(set(map(str, questions[name])))) for name in names}
    return kinds


def _are_amounts(values: Collection[str]) -> bool:
    """Whether values are amounts, such as prices: 70% are numbers, some with a fraction or a currency sign."""
    numbers = [value for value in values if AMOUNT.fullmatch(value)]
    return 10 * len(numbers) >= 7 * len(values) and any(not value.isdecimal() for value in numbers)


def _assignments(content: Content) -> str:
    workers = content.column("WorkerId")
    padding = f" {' and '.join(content.padding)} are empty, as MTurk leaves them." if content.padding else ""
    people = count(len({worker for worker in workers if worker}), "worker")
    return f"MTurk results: {count(len(workers), 'assignment')} by {people}.{padding}"


def _refuse_text(content: Content, kinds: Mapping[str, QuestionKind]) -> None:
    listed = ", ".join(f"{name} ({count(kind.n_values, 'value')})" for name, kind in list(kinds.items())[:6])
    more = f" and {len(kinds) - 6} more" if len(kinds) > 6 else ""
    raise ColumnTypeError(
        f"{_assignments(content)} Every question of {content.name} is answered in free text: {listed}{more}. "
        "Quorate needs a limited set of labels; map= (--map) groups answers"
    )


def _proposal(
    content: Content, kinds: Mapping[str, QuestionKind], usable: Sequence[str], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options to propose, with one question: a choice is preferred to tick-boxes, and these to a scale."""
    if not usable:
        return {}
    order = ("choice", "joined", "boxes", "scale")
    best = min(usable, key=lambda name: (order.index(kinds[name].kind), list(kinds).index(name)))
    options: dict[str, Any] = {"question": best}
    if kinds[best].kind == "boxes":  # each box is a separate question
        boxes = natural_order([name for name in columns if name.startswith(f"{best}.")])
        options["question"] = boxes[0] if boxes else best
    task = _shared_input(content)
    if task:
        options["task"] = task
    return options


def _fold_options(kinds: Mapping[str, QuestionKind], usable: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """Return the options ``fold`` that read numbered questions of the same kind as separate tasks."""
    numbered = [name for name in usable if re.search(r"\d", name)]
    families = group_by(numbered, lambda name: re.sub(r"\d+", "*", name))
    repeated_stems = {stem: names for stem, names in families.items() if len(names) > 1}
    return tuple(
        {"fold": stem} for stem, names in repeated_stems.items() if len({kinds[name].kind for name in names}) == 1
    )


def _shared_input(content: Content) -> str:
    """Return the input column that identifies a task in batches with different HITs; "" if there is none."""
    if content.ready is None or FROM_FILE not in content.ready.column_names:
        return ""
    files = content.ready.column(FROM_FILE).to_pylist()
    hits = content.column("HITId")
    if _shares(hits, files):
        return ""
    for name in content.fields:
        if name.startswith(INPUT):
            values = content.column(name)
            per_hit: dict[Any, set[Any]] = {}
            for hit, value in zip(hits, values, strict=True):
                per_hit.setdefault(hit, set()).add(value)
            n_pairs = len(set(zip(values, files, strict=True)))
            one_each = all(len(tasks) == 1 for tasks in per_hit.values()) and n_pairs == len(per_hit)
            if None not in values and one_each and _shares(values, files):
                return name
    return ""


def _shares(values: Sequence[Any], files: Sequence[Any]) -> bool:
    return len(set(zip(values, files, strict=True))) > len(set(values))


def _read_folded(
    content: Content, reading: ReadOptions, questions: Mapping[str, list[Any]], notes: tuple[str, ...]
) -> Export:
    """Read several questions as separate tasks."""
    assert reading.fold is not None  # the caller has checked it
    patterns = [pattern.removeprefix(PREFIX) for pattern in split_names(reading.fold)]
    names = [name for name in questions if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    if any("." not in pattern for pattern in patterns):  # a pattern of questions, not of their options
        names = [name for name in names if "." not in name] or names
    names = natural_order(names)
    if not names:
        raise OptionError(
            f"No question of {content.name} matches {reading.fold!r}. The questions are {listing(questions, 12)}"
        )

    def find(_: str) -> Iterator[FoundAnswer]:
        for name in names:
            values = _choices(questions[name], describe_question(questions[name]))
            for answer in _find(content, reading, values):
                yield replace(answer, task=None if answer.task is None else f"{answer.task} / {name}")

    notes = (*notes, f"{count(len(names), 'question')} folded into tasks: {listing(names, 12)}")
    return assemble("mturk", content, replace(reading, question=None), [reading.fold], find, notes=notes)


def _answers(content: Content) -> dict[str, list[str | None]]:
    """Return name -> values of every column of answers, including those in Answer.taskAnswers."""
    columns = {
        name.removeprefix(PREFIX): [None if value == EMPTY else value for value in content.column(name)]
        for name in content.fields
        if name.startswith(PREFIX) and name != FORM
    }
    if FORM in content.fields:
        rows = [_flatten(text, number) for number, text in enumerate(content.column(FORM), start=1)]
        for name in dict.fromkeys(name for row in rows for name in row):
            columns[name] = [row.get(name) for row in rows]
    return columns


def _flatten(text: str | None, number: int) -> dict[str, str | None]:
    """Return a form such as [{"tone": {"label": "glad"}}] as {"tone.label": "glad"}."""
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


def _combine_option_columns(columns: dict[str, list[str | None]]) -> dict[str, list[Any]]:
    """Combine the columns of the options of a question to one; each answer is the list of ticked options."""
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


def _task_column(content: Content, reading: ReadOptions) -> str:
    """Return the column that identifies the task; the caller may name an input without its prefix."""
    name = reading.task or "HITId"
    return f"{INPUT}{name}" if name not in content.fields and f"{INPUT}{name}" in content.fields else name


def _find(content: Content, reading: ReadOptions, values: list[Any]) -> Iterator[FoundAnswer]:
    name = _task_column(content, reading)
    if name not in content.fields:
        inputs = [field for field in content.fields if field.startswith("Input.")]
        alternatives = f" or one of {listing(inputs, 12)}" if inputs else ""
        raise MissingColumnError(f"{content.name} has no column {name!r}; 'HITId'{alternatives} can identify the task")
    statuses = content.optional_column("AssignmentStatus")
    rows = zip(content.column(name), content.column("WorkerId"), statuses, values, strict=True)
    for number, (task, worker, status, value) in enumerate(rows, start=1):
        rejected = (status or "").lower() == "rejected" and not reading.keep_rejected
        yield FoundAnswer(task, worker, value, f"row {number:,}", "rejected" if rejected else "")
