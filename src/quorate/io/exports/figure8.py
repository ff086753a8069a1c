"""Figure Eight (CrowdFlower, Appen): the full report, one row per judgment.

Columns: https://success.appen.com/hc/en-us/articles/202703075 (guide to reports). Columns that begin with ``_`` are the
platform's; ``NAME_gold`` holds the known answers to the question NAME, one per line where several are accepted. An
aggregated report has one row per unit, with ``NAME:confidence``, and no judgments of workers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from quorate.errors import ColumnTypeError, MissingColumnError, NoRowsError, count, listing
from quorate.io.exports.content import Content
from quorate.io.exports.export import Export, Format, FoundAnswer, QuestionInfo, assemble
from quorate.io.exports.mturk import QuestionKind, describe_question
from quorate.io.options import ReadOptions

UNIT = "_unit_id"
WORKER = "_worker_id"
GOLD = "_gold"
CONFIDENCE = re.compile(r"(.+):confidence")
FLAGS = {"true": True, "false": False}
POSITIONS = re.compile(r"\d+(?:[-\s,]\d+)+")  # words or characters that were marked: 58-81-92


def _recognise(content: Content) -> bool:
    return UNIT in content.fields and (WORKER in content.fields or _is_aggregated(content))


def _is_aggregated(content: Content) -> bool:
    fields = content.fields
    return "_trusted_judgments" in fields or any(CONFIDENCE.fullmatch(name) for name in fields)


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
        f"Figure Eight full report: {count(len(content.column(UNIT)), 'judgment')}.",
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
    """Return the columns of answers: those with a column of known answers, or those that differ within a unit."""
    fields = set(content.fields)
    own_fields = [name for name in content.fields if not name.startswith(("_", "orig_"))]
    with_gold = [name for name in own_fields if f"{name}{GOLD}" in fields]
    if reading.question is not None and reading.question in fields:
        return {reading.question: _answers(content.column(reading.question))}
    questions = {}
    units = _codes(content.column(UNIT))
    for name in own_fields:
        if name.endswith((GOLD, "_gold_reason")) or (with_gold and name not in with_gold):
            continue
        values = content.column(name)
        if any(values) and (with_gold or _differs(units, _codes(values))):
            questions[name] = _answers(values)
    return questions


def _codes(values: Sequence[str | None]) -> Any:
    return np.unique([value or "" for value in values], return_inverse=True)[1]


def _differs(units: Any, values: Any) -> bool:
    """Whether values differ within a unit; what is the same in all rows of a unit was put in by the requester."""
    return len(np.unique(np.stack([units, values]), axis=1)[0]) > len(np.unique(units))


def _answers(values: Sequence[str | None]) -> list[Any]:
    """Part the boxes that were ticked, one per line."""
    several = any(value is not None and "\n" in value.strip() for value in values)
    if not several:
        return list(values)
    return [None if value is None else [part.strip() for part in value.split("\n") if part.strip()] for value in values]


def _are_positions(values: Sequence[Any]) -> bool:
    """Whether values are places in a text that were marked."""
    texts = [value for value in values if isinstance(value, str)]
    return bool(texts) and 2 * sum(POSITIONS.fullmatch(value.strip()) is not None for value in texts) > len(texts)


def _refuse(content: Content, kinds: Mapping[str, QuestionKind]) -> None:
    listed = ", ".join(f"{name} ({count(kind.n_values, 'value')})" for name, kind in list(kinds.items())[:6])
    raise ColumnTypeError(
        f"{content.name} is a full report of Figure Eight in which workers marked spans or wrote free text: "
        f"{listed or 'no column differs within a unit'}. Quorate needs a limited set of labels"
    )


def _find(content: Content, reading: ReadOptions, question: str, values: list[Any]) -> Iterator[FoundAnswer]:
    task = reading.task or UNIT
    if task not in content.fields:
        raise MissingColumnError(f"{content.name} has no column {task!r}; it has {listing(content.fields, 12)}")
    tasks = content.column(task)
    workers = content.column(WORKER)
    n = len(tasks)
    tainted = content.column("_tainted") if "_tainted" in content.fields else [None] * n
    gold = content.column(f"{question}{GOLD}") if f"{question}{GOLD}" in content.fields else [None] * n
    known: dict[str, None] = {}
    for k in range(n):
        where = f"row {k + 1:,}"
        is_tainted = FLAGS.get((tainted[k] or "").lower(), False) and not reading.keep_rejected
        yield FoundAnswer(tasks[k], workers[k], values[k], where, "tainted" if is_tainted else "")
        accepted = [part.strip() for part in (gold[k] or "").split("\n") if part.strip()]
        unit = str(tasks[k])
        if len(accepted) == 1 and unit not in known:
            known[unit] = None
            yield FoundAnswer(tasks[k], None, accepted[0], where, known=True, is_row=False)
