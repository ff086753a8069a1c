"""Figure Eight (CrowdFlower, Appen): the full report, with one row per judgment.

Columns: https://success.appen.com/hc/en-us/articles/202703075 (guide to reports). Columns that begin with ``_`` are
those of the platform; ``NAME_gold`` has the known answers to the question NAME, one per line if several are accepted.
An aggregated report has one row per unit and columns ``NAME:confidence``, but no judgments of single workers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quorate.errors import ColumnTypeError, NoRowsError, count, listing
from quorate.io.exports.content import Content
from quorate.io.exports.export import Export, Format, FoundAnswer, assemble
from quorate.io.exports.questions import QuestionInfo, QuestionKind, describe_question, differs_within
from quorate.io.options import ReadOptions

UNIT = "_unit_id"
WORKER = "_worker_id"
GOLD = "_gold"
CONFIDENCE = re.compile(r"(.+):confidence")
POSITIONS = re.compile(r"\d+(?:[-\s,]\d+)+")  # numbers of marked words or characters: 58-81-92


def _recognise(content: Content) -> bool:
    fields = content.fields
    is_aggregated = "_trusted_judgments" in fields or any(CONFIDENCE.fullmatch(name) for name in fields)
    return UNIT in fields and (WORKER in fields or is_aggregated)


def _read(content: Content, reading: ReadOptions) -> Export:
    if WORKER not in content.fields:
        results = [match[1] for match in map(CONFIDENCE.fullmatch, content.fields) if match]
        raise NoRowsError(
            f"{content.name} is an aggregated report of Figure Eight: one row per unit with the result of the vote"
            f"{f' ({listing(results, 3)})' if results else ''}, and no judgments of single workers. Download the full "
            "report"
        )
    columns = _questions(content, reading)
    units = content.column(UNIT)
    kinds = {name: describe_question(values, units) for name, values in columns.items()}
    usable = [name for name, kind in kinds.items() if kind.is_class and not _are_positions(columns[name])]
    if reading.question is None and not usable:
        _refuse(content, kinds)
    names = list(columns)
    notes: tuple[str, ...] = ()
    if reading.question is None:
        texts = [name for name in names if name not in usable]
        names = usable
        notes = (f"left out as free text or marks: {listing(texts, 6)}",) if texts else ()
    about = QuestionInfo(
        {name: kind.about for name, kind in kinds.items()},
        {"question": usable[0]} if usable else {},
        content.files,
        f"Figure Eight full report: {count(len(units), 'judgment')}.",
    )
    return assemble(
        "figure8", content, reading, names, lambda q: _find(content, reading, q, columns[q]), notes=notes, about=about
    )


FORMAT = Format(
    "figure8",
    "Figure Eight, CrowdFlower or Appen full reports: CSV",
    "the columns '_unit_id' and '_worker_id'",
    _recognise,
    _read,
)


def _questions(content: Content, reading: ReadOptions) -> dict[str, list[Any]]:
    """Return the columns of answers: those with a column of known answers or, if there are none, those that vary."""
    fields = set(content.fields)
    own_fields = [name for name in content.fields if not name.startswith(("_", "orig_"))]
    with_gold = [name for name in own_fields if f"{name}{GOLD}" in fields]
    if reading.question is not None and reading.question in fields:
        return {reading.question: _answers(content.column(reading.question))}
    questions = {}
    units = content.column(UNIT)
    for name in own_fields:
        if name.endswith((GOLD, "_gold_reason")) or (with_gold and name not in with_gold):
            continue
        values = content.column(name)
        # A value that is the same in all rows of a unit comes from the requester.
        if any(values) and (with_gold or differs_within(units, [value or "" for value in values])):
            questions[name] = _answers(values)
    return questions


def _answers(values: Sequence[str | None]) -> list[Any]:
    """Return the answers; if one has several lines (ticked boxes), each answer as the list of its lines."""
    if not any(value is not None and "\n" in value.strip() for value in values):
        return list(values)
    return [None if value is None else _lines_of(value) for value in values]


def _lines_of(value: str | None) -> list[str]:
    return [part.strip() for part in (value or "").split("\n") if part.strip()]


def _are_positions(values: Sequence[Any]) -> bool:
    """Whether most values are positions that were marked in a text."""
    texts = [value for value in values if isinstance(value, str)]
    return bool(texts) and 2 * sum(POSITIONS.fullmatch(value.strip()) is not None for value in texts) > len(texts)


def _refuse(content: Content, kinds: Mapping[str, QuestionKind]) -> None:
    listed = ", ".join(f"{name} ({count(kind.n_values, 'value')})" for name, kind in list(kinds.items())[:6])
    raise ColumnTypeError(
        f"{content.name} is a full report of Figure Eight in which workers marked spans or wrote free text: "
        f"{listed or 'no column differs within a unit'}. Quorate needs a limited set of labels"
    )


def _find(content: Content, reading: ReadOptions, question: str, values: list[Any]) -> Iterator[FoundAnswer]:
    tasks = content.column(reading.task or UNIT)
    tainted = content.optional_column("_tainted")
    gold = content.optional_column(f"{question}{GOLD}")
    rows = zip(tasks, content.column(WORKER), values, tainted, gold, strict=True)
    known: set[str | None] = set()
    for number, (task, worker, value, flag, accepted_text) in enumerate(rows, start=1):
        where = f"row {number:,}"
        is_tainted = (flag or "").lower() == "true" and not reading.keep_rejected
        yield FoundAnswer(task, worker, value, where, "tainted" if is_tainted else "")
        accepted = _lines_of(accepted_text)
        if len(accepted) == 1 and task not in known:
            known.add(task)
            yield FoundAnswer(task, None, accepted[0], where, known=True, is_row=False)
