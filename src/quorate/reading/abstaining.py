"""Rows that say nothing of the class: what a caller names, blank fields, and what a format says could not be read."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import TEXT, BoolArray, IntArray, is_among, take
from quorate.errors import ColumnTypeError, OptionError, shown
from quorate.reading.columns import as_type, positions
from quorate.reading.grades import Grades
from quorate.reading.options import ReadOptions
from quorate.reading.spelling import respelled
from quorate.said import Said

NO_ROWS = (np.zeros(0, np.int32),) * 3  # of tasks, workers and symbols: no abstention


@dataclass(frozen=True)
class Silences:
    """Which rows abstain, and how they say so."""

    rows: BoolArray  # which rows of the table
    symbol: IntArray  # of each of these rows, among the names
    names: pa.Array  # null for a blank field
    unheard: tuple[str, ...] = ()  # what would have been an abstention, and nobody said

    def beside(self, answers: Answers, task: IntArray, worker: IntArray) -> Answers:
        """Put the abstentions beside the answers; one that stands beside an answer of its worker gives way to it.

        Args:
            answers: those of the other rows.
            task: code of each row of the table.
            worker: code of each row of the table.
        """
        task, worker = task[self.rows], worker[self.rows]
        n = answers.n_workers
        # Grades of their own, or the classes themselves.
        base = answers.said or Said(answers.classes, np.arange(answers.n_classes), answers.label, *NO_ROWS)
        key = task.astype(np.int64) * n + worker
        kept_key, first = np.unique(key, return_index=True)  # of several, the first that was said
        first = first[~is_among(kept_key, answers.task.astype(np.int64) * n + answers.worker)]
        said = replace(
            base,
            symbols=_joined(base.symbols, self.names),
            points_to=np.concatenate([base.points_to, np.full(len(self.names), -1)]),
            task=task[first],
            worker=worker[first],
            silence=(self.symbol[first] + len(base.symbols)).astype(np.int32),
            n_superseded=len(key) - len(first),
            unheard=self.unheard,
        )
        return replace(answers, said=said)


def silences_of(
    labels: IntArray,
    names: pa.Array,
    there: BoolArray,
    reading: ReadOptions,
    reasons: tuple[IntArray, pa.Array] | None = None,
    grades: Grades | None = None,
) -> Silences | None:
    """Find the rows that abstain; None where none may.

    Args:
        labels: code of each row, -1 where the label is missing.
        names: the labels behind the codes.
        there: which rows have a task, a worker and, where there are groups, a group.
        reading: what is no answer (``abstain``), and what becomes of missing fields.
        reasons: code of each row (-1: none) and the texts behind them, of rows whose label is missing for a reason.
        grades: which class each label points to, where some point to none.

    Raises:
        OptionError: what is no answer is among the classes that the caller lists.

    >>> labels, names, reading = np.array([0, 1, -1]), pa.array(["cat", "n/a"]), ReadOptions(abstain=["n/a"])
    >>> found = silences_of(labels, names, np.ones(3, bool), reading)
    >>> found.rows.tolist(), found.names.to_pylist()
    ([False, True, False], ['n/a'])
    """
    blanks = takes_blanks(reading) and bool((labels < 0).any())
    pointless = np.zeros(0, np.int64) if grades is None else np.flatnonzero(grades.class_of < 0)
    if not reading.abstain and reasons is None and not blanks and not len(pointless):
        return None
    code = codes_of(reading, names)
    heard = np.flatnonzero(np.bincount(labels[labels >= 0], minlength=len(names)))
    named = np.intersect1d(np.concatenate([code, pointless]), heard)
    unheard = tuple(
        str(value)
        for value, place in zip(reading.abstain, code, strict=True)
        if place not in named and not is_blank(value)
    )
    place = np.full(len(names) + 1, -1, np.int64)  # the last is what a missing label finds
    place[named] = np.arange(len(named))
    symbol = place[labels]
    symbols = take(names, named)
    if reasons is not None and len(reasons[1]):
        told = (labels < 0) & (reasons[0] >= 0)
        symbol = np.where(told, len(symbols) + reasons[0], symbol)
        symbols = _joined(symbols, reasons[1])
    if blanks:
        blank = (labels < 0) & (symbol < 0) & there
        if blank.any():
            symbol = np.where(blank, len(symbols), symbol)
            symbols = pa.concat_arrays([symbols, pa.nulls(1, symbols.type)])
    rows = there & (symbol >= 0)
    return Silences(rows, symbol[rows], symbols, unheard)


def takes_blanks(reading: ReadOptions) -> bool:
    """Whether a row without a label abstains, instead of being refused.

    >>> takes_blanks(ReadOptions()), takes_blanks(ReadOptions(abstain=["", "n/a"]))
    (False, True)
    """
    return reading.skip_missing or any(is_blank(value) for value in reading.abstain)


def is_blank(value: Any) -> bool:
    """Whether a value stands for a blank field.

    >>> is_blank(" "), is_blank("n/a")
    (True, False)
    """
    return value is None or (isinstance(value, str) and not value.strip())


def codes_of(reading: ReadOptions, names: pa.Array) -> IntArray:
    """Find the labels that are no answers among names, whatever type these have; -1 for one that is not there.

    Raises:
        OptionError: one of them is among the classes that the caller lists.

    >>> codes_of(ReadOptions(abstain=["n/a", "skip"]), pa.array(["cat", "n/a"])).tolist()
    [1, -1]
    """
    listed = {str(value) for value in reading.classes or ()}
    both = [value for value in reading.abstain if str(value) in listed]
    if both:
        raise OptionError(
            f"{shown(both[0])} is both a class (classes=, --classes) and no answer (abstain=, --abstain); choose one"
        )
    found = np.full(len(reading.abstain), -1, np.int64)
    for k, value in enumerate(reading.abstain):
        if is_blank(value):
            continue
        try:
            one = as_type([value], names.type, "labels that are no answers")
        except ColumnTypeError:
            continue  # labels of another type cannot be it
        found[k] = positions(respelled(one, names) if reading.merge_spellings else one, names)[0]
    return found


def _joined(names: pa.Array, more: pa.Array) -> pa.Array:
    """Put names after names, as text where they are of two types."""
    if names.type == more.type:
        return pa.concat_arrays([names, more])
    return pa.concat_arrays([_as_text(names), _as_text(more)])


def _as_text(names: pa.Array) -> pa.Array:
    if names.type in TEXT:
        return names.cast(pa.string())
    return pa.array([None if name is None else str(name) for name in names.to_pylist()], pa.string())
