"""Further columns of the answers that tests need, by name or as values: durations, covariates, systems, pairs."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.arrays import FloatArray
from quorate.diagnostics.haste import is_duration_name
from quorate.diagnostics.judge_bias import Covariate
from quorate.errors import ColumnTypeError, OptionError, count
from quorate.io.extra_columns import RowColumns, content_in_rows, row_columns
from quorate.io.read import Reading

DURATION = "durations= (--duration)"
COVARIATE = "covariates= (--covariate)"
SYSTEM = "systems= (--system)"
PAIR = "pairs= (--pair)"


@dataclass(frozen=True)
class AnswerColumns:
    """Values of each answer other than task, worker and label; None where they are not given."""

    durations: FloatArray | None = None
    covariates: tuple[Covariate, ...] = ()
    systems: Sequence[Any] | None = None
    pairs: Sequence[Any] | None = None


def answer_columns(
    reading: Reading,
    *,
    durations: str | Sequence[float] | FloatArray | None = None,
    covariates: str | Covariate | Sequence[str | Covariate] = (),
    systems: str | Sequence[Any] | None = None,
    pairs: str | Sequence[Any] | None = None,
) -> AnswerColumns:
    """Read the columns that are named, and check those that are given as values.

    Without ``durations``, the only column with a usual name for durations is used, if there is one.

    Raises:
        OptionError: a column cannot be used for its test, for the reason stated, or the rows cannot be read again.
        MissingColumnError: there is no such column.

    >>> from quorate.io.read import read_source
    >>> rows = {"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"], "length": [3, 5]}
    >>> answer_columns(read_source(rows), covariates="length").covariates[0].values.tolist()
    [3.0, 5.0]
    """
    listed = [covariates] if isinstance(covariates, str | Covariate) else list(covariates)
    is_named = any(isinstance(covariate, str) for covariate in (durations, *listed, systems, pairs))
    rows = _rows(reading, is_named=is_named, finds_durations=durations is None)
    n = reading.answers.n_answers
    if isinstance(durations, str):
        assert rows is not None
        seconds: FloatArray | None = rows.numbers_by_answer(_usable(reading, durations, DURATION), DURATION)
    elif durations is not None:
        seconds = np.asarray(_checked(durations, n, DURATION), np.float64)
    else:
        seconds = None if rows is None else _found_durations(reading, rows)
    return AnswerColumns(
        seconds,
        tuple(_covariate(reading, rows, covariate, n) for covariate in listed),
        _values(reading, rows, systems, n, SYSTEM),
        _pairs_checked(reading, _values(reading, rows, pairs, n, PAIR), pairs),
    )


def _rows(reading: Reading, *, is_named: bool, finds_durations: bool) -> RowColumns | None:
    """Return the columns of the rows, if a column is named or one has a usual name for durations; else None."""
    if not is_named and (not finds_durations or reading.source is None):
        return None
    try:
        fields = content_in_rows(reading, COVARIATE).fields
        if not is_named and not any(is_duration_name(name) for name in fields):
            return None  # no further column is needed: the rows need not be read again
        return row_columns(reading, COVARIATE)
    except OptionError:
        if is_named:
            raise
        return None


def _usable(reading: Reading, name: str, option: str) -> str:
    """Return the name of a column; raise OptionError for the columns of tasks, workers and labels."""
    task, worker, label = reading.options.columns
    what = {worker: "the workers", label: "the labels"}
    if "," not in task:
        what[task] = "the tasks"
    if name in what:
        raise OptionError(f"{option} cannot use {name!r}, which is the column of {what[name]}. Name another column")
    return name


def _values(
    reading: Reading, rows: RowColumns | None, source: str | Sequence[Any] | None, n: int, option: str
) -> Sequence[Any] | None:
    if source is None:
        return None
    if not isinstance(source, str):
        return _checked(source, n, option)
    assert rows is not None
    values = rows.by_answer(_usable(reading, source, option), option)
    known = {value for value in values if value is not None}
    tasks = {task for task, value in zip(reading.answers.task.tolist(), values, strict=True) if value is not None}
    if option == SYSTEM and len(known) >= max(len(tasks), 2):
        raise OptionError(
            f"{option} cannot use {source!r}: it has a different value for each of "
            f"{count(len(tasks), 'task')}. Name the column with the system that wrote each output"
        )
    return values


def _pairs_checked(reading: Reading, pairs: Sequence[Any] | None, source: Any) -> Sequence[Any] | None:
    """Return the pairs; raise OptionError if no worker judged any pair exactly twice."""
    if pairs is None:
        return None
    answers = reading.answers
    shown: dict[tuple[int, str], int] = {}
    for worker, pair in zip(answers.worker.tolist(), pairs, strict=True):
        if pair is not None:
            shown[worker, str(pair)] = shown.get((worker, str(pair)), 0) + 1
    if not any(times == 2 for times in shown.values()):
        name = repr(source) if isinstance(source, str) else "these values"
        raise OptionError(
            f"{PAIR} cannot use {name}: no worker judged any pair exactly twice. Name a column that has "
            "the same value for the two tasks of a pair, one per order"
        )
    return pairs


def _checked(values: Any, n: int, option: str) -> list[Any]:
    """Return values as a list, one per answer."""
    listed = list(values)
    if len(listed) != n:
        raise OptionError(f"{option} needs a column name, or one value per answer: {n:,}, not {len(listed):,}")
    return listed


def _covariate(reading: Reading, rows: RowColumns | None, source: str | Covariate, n: int) -> Covariate:
    """Return a covariate: numbers or, for a column of texts, their lengths."""
    if isinstance(source, Covariate):
        _checked(source.values, n, COVARIATE)
        return source
    if not isinstance(source, str):
        raise OptionError(f"{COVARIATE} takes names of columns, not {type(source).__name__}")
    assert rows is not None
    name = _usable(reading, source, COVARIATE)
    try:
        covariate = Covariate(name, rows.numbers_by_answer(name, COVARIATE))
    except ColumnTypeError:
        texts = rows.by_answer(name, COVARIATE)
        lengths = np.array([np.nan if text is None else len(text) for text in texts], np.float64)
        covariate = Covariate(name, lengths, is_length=True)
    stated = covariate.values[~np.isnan(covariate.values)]
    if len(stated) == 0 or np.ptp(stated) == 0:
        kind = "length" if covariate.is_length else "value"
        raise OptionError(f"{COVARIATE} cannot use {name!r}: it has the same {kind} in every row")
    return covariate


def _found_durations(reading: Reading, rows: RowColumns) -> FloatArray | None:
    reserved = set(reading.options.columns)
    names = [name for name in rows.content.fields if is_duration_name(name) and name not in reserved]
    if len(names) != 1:
        return None
    with suppress(ColumnTypeError):  # a column of another type with this name
        return rows.numbers_by_answer(names[0], DURATION)
    return None
