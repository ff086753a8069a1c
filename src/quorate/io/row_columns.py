"""Further columns of the rows that answers were read from: texts of tasks, durations, covariates of answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import ColumnTypeError, MissingColumnError, OptionError, listing, rows_phrase, visible
from quorate.io.columns import as_type, positions
from quorate.io.exports.content import Content
from quorate.io.options import split_names
from quorate.io.read import Reading
from quorate.io.several_files import content_of


@dataclass(frozen=True)
class RowColumns:
    """The rows of a source, and the task and the worker that each is about."""

    content: Content
    answers: Answers
    task: IntArray  # the task of each row; -1 where it has no answers
    worker: IntArray | None  # the worker of each row; None where a row has the answers of several

    def column(self, name: str, option: str) -> list[str | None]:
        """Return one column, row by row; a dotted name is a path into nested JSON.

        Raises:
            MissingColumnError: there is no such column.
        """
        if name in self.content.fields:
            return self.content.column(name)
        values: list[str | None] = []
        if "." in name and self.content.layout == "records":
            values = [_at(record, name.split(".")) for record in self.content.records]
        if all(value is None for value in values):
            raise MissingColumnError(
                f"there is no column {name!r}; the columns are {listing(self.content.fields, 12)}. Choose one with "
                f"{option}"
            )
        return values

    def by_task(self, name: str, option: str) -> list[str | None]:
        """Return the first value of a column for every task of the answers."""
        texts: list[str | None] = [None] * self.answers.n_tasks
        for task, value in zip(self.task.tolist(), self.column(name, option), strict=True):
            if task >= 0 and texts[task] is None:
                texts[task] = value
        return texts

    def by_answer(self, name: str, option: str) -> list[str | None]:
        """Return the value of a column for every answer; of rows with several workers, that of the task."""
        if self.worker is None:
            texts = self.by_task(name, option)
            return [texts[task] for task in self.answers.task.tolist()]
        found: list[str | None] = [None] * self.answers.n_answers
        for place, value in zip(self._answer_of_row.tolist(), self.column(name, option), strict=True):
            if place >= 0 and found[place] is None:
                found[place] = value
        return found

    def numbers_by_answer(self, name: str, option: str) -> FloatArray:
        """Return a column of numbers for every answer; NaN where it is blank.

        Raises:
            ColumnTypeError: a value is not a number.
        """
        values = self.by_answer(name, option)
        numbers = np.full(len(values), np.nan)
        for row, value in enumerate(values):
            if value is None:
                continue
            try:
                numbers[row] = float(value)
            except ValueError:
                first = self.column(name, option).index(value)
                raise ColumnTypeError(
                    f"{name!r} has {value!r} in {rows_phrase([first])}, which is not a number; correct it"
                ) from None
        return numbers

    @cached_property
    def _answer_of_row(self) -> IntArray:
        assert self.worker is not None
        n = self.answers.n_workers
        keys = self.answers.task.astype(np.int64) * n + self.answers.worker
        order = np.argsort(keys, kind="stable")
        wanted = np.where((self.task < 0) | (self.worker < 0), -1, self.task * n + self.worker)
        place = np.searchsorted(keys[order], wanted).clip(max=max(len(keys) - 1, 0))
        is_there = keys[order][place] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
        return np.where(is_there, order[place] if len(keys) else -1, -1)


def row_columns(reading: Reading, option: str) -> RowColumns:
    """Look at the rows that answers were read from.

    Args:
        reading: the answers, and from where they were read.
        option: for which the rows are needed; messages name it.

    Raises:
        OptionError: the answers do not stand in rows that can be read again.

    >>> from quorate.io.options import ReadOptions
    >>> from quorate.io.read import read_source
    >>> rows = {"item": [1, 1, 2], "text": ["a", "a", "b"], "worker": list("xyx"), "label": list("cdc")}
    >>> row_columns(read_source(rows, ReadOptions(task="item")), "--show").by_task("text", "--show")
    ['a', 'b']
    """
    answers = reading.answers
    if reading.source is None or answers.asked is not None:
        raise OptionError(f"{option} needs answers in a file or a table, with one label per answer")
    content = content_of(reading.source, reading.options)
    if content.layout not in ("rows", "records"):
        raise OptionError(f"{option} works for tables of answers, and {content.name} has no rows")
    is_export = reading.export is not None
    task_key = None if reading.options.task is None else split_names(reading.options.task)
    worker_key = None if reading.options.worker is None else split_names(reading.options.worker)
    usual = reading.options.columns
    task = _codes(content, [usual[0]] if task_key is None and not is_export else task_key, answers.task_names)
    if task is None:
        raise OptionError(
            f"{option} cannot find the tasks of {content.name} among its columns: {listing(content.fields, 12)}. Name "
            "the column of tasks with task= (--task)"
        )
    worker = _codes(content, [usual[1]] if worker_key is None and not is_export else worker_key, answers.worker_names)
    return RowColumns(content, answers, task, worker)


def _codes(content: Content, key: Sequence[str] | None, names: pa.Array) -> IntArray | None:
    """Return the id of each row among the names: by the columns of a key, or by the first column that has all ids."""
    if key is not None and set(key) <= set(content.fields):
        parts = [content.column(name) for name in key]
        return _places([None if None in row else " / ".join(map(str, row)) for row in zip(*parts, strict=True)], names)
    wanted = {str(name) for name in names.to_pylist()}
    for name in content.fields:
        values = content.column(name)
        if wanted <= set(values):
            return _places(values, names)
    return None


def _places(values: Sequence[str | None], names: pa.Array) -> IntArray:
    ids = pa.array(values, pa.string())
    place: IntArray = positions(as_type(ids, pa.string(), "ids"), names.cast(pa.string()))
    return np.where(np.asarray(ids.is_null()), -1, place)


def _at(record: Any, path: Sequence[str]) -> str | None:
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return None if record is None or isinstance(record, dict | list) else str(record)


LONGEST_TEXT = 100  # characters of a task's text in a message; files have all


@dataclass(frozen=True)
class TaskTexts:
    """One column of the rows for every task, such as its text."""

    name: str  # of the column
    values: tuple[str | None, ...]  # by the task's code

    def short(self, task: int) -> str:
        """Return the text of a task on one line, cut where it is long; empty where it has none."""
        text = visible(" ".join((self.values[task] or "").split()))
        return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def task_texts(reading: Reading, column: str | None) -> TaskTexts | None:
    """Return the texts of the tasks; None where no column is wanted.

    Raises:
        OptionError: the answers do not stand in rows that can be read again.
        MissingColumnError: there is no such column.

    >>> from quorate.io.read import read_source
    >>> rows = {"task": [1, 1, 2], "text": ["a", "a", "b"], "worker": list("xyx"), "label": list("cdc")}
    >>> task_texts(read_source(rows), "text").short(1)
    'b'
    """
    if column is None:
        return None
    option = "show= (--show)"
    return TaskTexts(column, tuple(row_columns(reading, option).by_task(column, option)))
