"""Rows that say nothing of the class: what a caller names, blank fields, and what a format says could not be read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray, is_text, take
from quorate.errors import OptionError, shown
from quorate.reading.columns import positions
from quorate.reading.options import ReadOptions
from quorate.reading.spelling import respelled
from quorate.said import Said


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
        key = task.astype(np.int64) * n + worker
        kept_key, first = np.unique(key, return_index=True)  # of several, the first that was said
        first = first[~np.isin(kept_key, answers.task.astype(np.int64) * n + answers.worker)]
        m = answers.n_classes
        symbols = _joined(answers.classes, self.names)
        points_to = np.concatenate([np.arange(m), np.full(len(self.names), -1)])
        silent = (task[first], worker[first], (self.symbol[first] + m).astype(np.int32))
        superseded = len(key) - len(first)
        said = Said(symbols, points_to, answers.label, *silent, n_superseded=superseded, unheard=self.unheard)
        return replace(answers, said=said)


def silences_of(
    labels: IntArray,
    names: pa.Array,
    there: BoolArray,
    reading: ReadOptions,
    reasons: tuple[IntArray, pa.Array] | None = None,
) -> Silences | None:
    """Find the rows that abstain; None where none may.

    Args:
        labels: code of each row, -1 where the label is missing.
        names: the labels behind the codes.
        there: which rows have a task, a worker and, where there are groups, a group.
        reading: what is no answer (``abstain``), and what becomes of missing fields.
        reasons: code of each row (-1: none) and the texts behind them, of rows whose label is missing for a reason.

    Raises:
        OptionError: what is no answer is among the classes that the caller lists.

    >>> labels, names, reading = np.array([0, 1, -1]), pa.array(["cat", "n/a"]), ReadOptions(abstain=["n/a"])
    >>> found = silences_of(labels, names, np.ones(3, bool), reading)
    >>> found.rows.tolist(), found.names.to_pylist()
    ([False, True, False], ['n/a'])
    """
    blanks = takes_blanks(reading) and bool((labels < 0).any())
    if not reading.abstain and reasons is None and not blanks:
        return None
    _check(reading)
    code = _codes_of(reading.abstain, names, merging=reading.merge_spellings)
    heard = np.flatnonzero(np.bincount(labels[labels >= 0], minlength=len(names)))
    named = np.unique(code[np.isin(code, heard)])
    unheard = tuple(str(value) for value, place in zip(reading.abstain, code, strict=True) if place not in named)
    unheard = tuple(value for value in unheard if value.strip())
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
    return reading.skip_missing or any(_is_blank(value) for value in reading.abstain)


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _check(reading: ReadOptions) -> None:
    listed = {str(value) for value in reading.classes or ()}
    both = [value for value in reading.abstain if str(value) in listed]
    if both:
        raise OptionError(
            f"{shown(both[0])} is both a class (classes=, --classes) and no answer (abstain=, --abstain); choose one"
        )


def _codes_of(values: Sequence[Any], names: pa.Array, *, merging: bool) -> IntArray:
    """Find values among names, whatever type these have; -1 for one that is not there."""
    found = np.full(len(values), -1, np.int64)
    for k, value in enumerate(values):
        if _is_blank(value):
            continue
        try:
            one = pa.array([value]).cast(names.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue  # labels of another type cannot be it
        found[k] = positions(respelled(one, names) if merging else one, names)[0]
    return found


def _joined(names: pa.Array, more: pa.Array) -> pa.Array:
    """Put names after names, as text where they are of two types."""
    if names.type == more.type:
        return pa.concat_arrays([names, more])
    return pa.concat_arrays([_as_text(names), _as_text(more)])


def _as_text(names: pa.Array) -> pa.Array:
    if is_text(names.type):
        return names.cast(pa.string())
    return pa.array([None if name is None else str(name) for name in names.to_pylist()], pa.string())
