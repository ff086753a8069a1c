"""Read further columns of the rows from which answers were read: texts of tasks, durations, covariates of answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

import quorate.arrow_compute as pc
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, take, to_numpy
from quorate.errors import ColumnTypeError, MissingColumnError, OptionError, listing, rows_phrase, visible
from quorate.io.columns import positions
from quorate.io.exports.content import Content
from quorate.io.options import split_names
from quorate.io.read import Reading
from quorate.io.several_files import content_of
from quorate.io.timestamps import time_numbers, times_of
from quorate.io.values import BLANKS, keys_among


@dataclass(frozen=True)
class RowColumns:
    """The rows of a source, with the task and the worker of each row."""

    content: Content
    answers: Answers
    task: IntArray  # code of the task of each row; -1 if the answers do not have it
    worker: IntArray | None  # code of the worker of each row; None if rows have answers of several workers

    def column(self, name: str, option: str) -> pa.Array:
        """Return the text of each row in a column, null where it is blank. A dotted name is a path in nested JSON.

        Raises:
            MissingColumnError: there is no such column.
        """
        if name in self.content.fields:
            return texts_of(self.content, name)
        values: list[str | None] = []
        if "." in name and self.content.layout == "records":
            from quorate.io.exports.llm_judges import part  # with its imports 5 ms, and few sources are nested

            inner = [part(record, *name.split(".")) for record in self.content.records]
            values = [None if isinstance(value, dict | list) else str(value) for value in inner]
        if all(value is None for value in values):
            raise MissingColumnError(
                f"There is no column {name!r}; the columns are {listing(self.content.fields, 12)}. Choose one with "
                f"{option}"
            )
        return pa.array(values, pa.large_string())

    def by_task(self, name: str, option: str) -> list[str | None]:
        """Return, for each task, the first value of a column that is not blank; None if there is none."""
        values = _first_values(self.column(name, option), self.task, self.answers.n_tasks)
        return list(values.to_pylist())

    def by_answer(self, name: str, option: str) -> list[str | None]:
        """Return, for each answer, the value of a column; if rows have several workers, the value of the task."""
        return list(self._first_by_answer(self.column(name, option)).to_pylist())

    def numbers_by_answer(self, name: str, option: str) -> FloatArray:
        """Return, for each answer, the number in a column; NaN where it is blank.

        Raises:
            ColumnTypeError: a value is not a number.
        """
        column = self.column(name, option)
        values = self._first_by_answer(column)
        try:
            return to_numpy(pc.utf8_trim(values, BLANKS).cast(pa.float64()).fill_null(np.nan))
        except pa.ArrowInvalid:  # Python reads a few numbers that Arrow does not, such as 1_000
            pass
        numbers = np.full(len(values), np.nan)
        for row, value in enumerate(values.to_pylist()):
            try:
                numbers[row] = np.nan if value is None else float(value)
            except ValueError:
                where = rows_phrase([column.index(value).as_py()])
                problem = f"{name!r} has {value!r}, which is not a number, in {where}"
                raise ColumnTypeError(f"{problem}; correct it") from None
        return numbers

    def _first_by_answer(self, values: pa.Array) -> pa.Array:
        if self.worker is None:
            return take(_first_values(values, self.task, self.answers.n_tasks), self.answers.task)
        return _first_values(values, self._answer_of_row, self.answers.n_answers)

    @cached_property
    def _answer_of_row(self) -> IntArray:
        assert self.worker is not None
        n_workers = self.answers.n_workers
        key_of_answer = self.answers.task.astype(np.int64) * n_workers + self.answers.worker
        key_of_row = np.where((self.task < 0) | (self.worker < 0), -1, self.task * n_workers + self.worker)
        if len(key_of_answer) == 0:
            return np.full(len(key_of_row), -1)
        order = np.argsort(key_of_answer, kind="stable")
        sorted_keys = key_of_answer[order]
        position = np.searchsorted(sorted_keys, key_of_row).clip(max=len(sorted_keys) - 1)
        is_matched = sorted_keys[position] == key_of_row
        return np.where(is_matched, order[position], -1)


def content_in_rows(reading: Reading, option: str) -> Content:
    """Return the `Content` of the table that answers were read from.

    Raises:
        OptionError: the answers were not read from rows of a table that can be read again.
    """
    if reading.source is None or reading.answers.questions is not None:
        raise OptionError(f"{option} needs answers in a file or a table, with one label per answer")
    content = content_of(reading.source, reading.options)
    if content.parts:  # several files: the combined table from which the answers were read
        from quorate.io.frame import frame_of

        columns = dict(frame_of(content, sample=False).columns)
        content = Content(content.source, content.name, "rows", tuple(columns), ready=pa.table(columns))
    if content.layout not in ("rows", "records"):
        raise OptionError(f"{option} works for tables of answers, and {content.name} has no rows")
    return content


def row_columns(reading: Reading, option: str) -> RowColumns:
    """Return the rows that answers were read from, with the task and the worker of each.

    Args:
        reading: the answers and their source.
        option: the option that needs the rows; messages name it.

    Raises:
        OptionError: the answers were not read from rows of a table that can be read again.

    >>> from quorate.io.options import ReadOptions
    >>> from quorate.io.read import read_source
    >>> rows = {"item": [1, 1, 2], "text": ["a", "a", "b"], "worker": list("xyx"), "label": list("cdc")}
    >>> row_columns(read_source(rows, ReadOptions(task="item")), "--show").by_task("text", "--show")
    ['a', 'b']
    """
    answers = reading.answers
    content = content_in_rows(reading, option)
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


def answer_times(reading: Reading, column: str) -> FloatArray:
    """Return the time of each answer as a number, from the rows of the source; NaN where it is not known.

    Raises:
        MissingColumnError: there is no such column.
        ColumnTypeError: the times are neither numbers nor dates.

    >>> from quorate.io.read import read_source
    >>> rows = {"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"], "at": ["2024-05-01", "2024-05-02"]}
    >>> first, second = answer_times(read_source(rows), "at")
    >>> bool(first < second)
    True
    """
    if reading.export is None:
        return times_of(reading.source, reading.answers, column, reading.options)
    option = "time= (--time)"
    values = row_columns(reading, option).by_answer(column, option)
    return time_numbers(pa.chunked_array([pa.array(values, pa.string())]), column)


def _codes(content: Content, key: Sequence[str] | None, names: pa.Array) -> IntArray | None:
    """Return the code of the id of each row, from the key columns or from the first column that contains all ids.

    The code is the index among the names, -1 for an id that is not there; None if no column contains all ids.
    """
    if key is not None and set(key) <= set(content.fields):
        parts = [texts_of(content, name) for name in key]
        codes = _codes_among(parts[0], names)
        if len(parts) == 1 and (codes >= 0).all():
            return codes
        joined = keys_among([part.to_pylist() for part in parts], names)
        codes_of_keys = _codes_among(pa.array(joined, pa.large_string()), names)
        return codes_of_keys if len(parts) > 1 else np.where(codes >= 0, codes, codes_of_keys)  # 1.0 may be read as 1
    texts = pa.array([str(name) for name in names.to_pylist()], pa.large_string())
    for name in content.fields:
        values = texts_of(content, name)
        if (positions(texts, values.unique()) >= 0).all():
            return _codes_among(values, names)
    return None


def texts_of(content: Content, name: str) -> pa.Array:
    """Return the text of each row in a column; null where it is blank.

    >>> from quorate.io.exports.content import look
    >>> texts_of(look([{"text": "a"}, {"text": " "}]), "text").to_pylist()
    ['a', None]
    """
    if content.layout == "rows" and pa.types.is_string(content.table.column(name).type):
        values = content.table.column(name).cast(pa.large_string()).combine_chunks()
        return pc.if_else(pc.equal(pc.utf8_trim(values, BLANKS), ""), pa.scalar(None, values.type), values)
    return pa.array(content.column(name), pa.large_string())


def _codes_among(values: pa.Array, names: pa.Array) -> IntArray:
    return np.where(to_numpy(values.is_null()), -1, positions(values, names.cast(pa.string()).cast(values.type)))


def _first_values(values: pa.Array, codes: IntArray, n: int) -> pa.Array:
    """Return the first value that is not blank for each of n codes; null where there is none.

    >>> _first_values(pa.array([None, "a", "b", "c"]), np.array([1, 1, 1, -1]), 2).to_pylist()
    [None, 'a']
    """
    rows = np.flatnonzero((codes >= 0) & to_numpy(values.is_valid()))[::-1]
    row_of_code = np.full(n, -1)
    row_of_code[codes[rows]] = rows  # rows are in reverse order: the last assignment, which remains, is the first row
    return values.take(pa.array(row_of_code, mask=row_of_code < 0))


MAX_TEXT = 100  # characters of a task's text in a message; files contain the complete text


@dataclass(frozen=True)
class TaskTexts:
    """One column of the rows for every task, such as its text."""

    name: str  # name of the column
    values: tuple[str | None, ...]  # by the task's code

    def short(self, task: int) -> str:
        """Return the text of a task on one line, cut to 100 characters; empty if the task has none."""
        text = visible(" ".join((self.values[task] or "").split()))
        return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def task_texts(reading: Reading, column: str | None) -> TaskTexts | None:
    """Return the texts of the tasks; None if no column is requested.

    Raises:
        OptionError: the answers were not read from rows of a table that can be read again.
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
