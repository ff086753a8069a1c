"""Read a column of times into one number per answer, by which the answers of a worker are ordered."""

from contextlib import suppress
from dataclasses import replace
from typing import Unpack

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, to_numpy
from quorate.errors import BlankFieldError, ColumnTypeError, OptionError, rows_phrase, shown
from quorate.io.arguments import check_arguments
from quorate.io.columns import codes_among, encode
from quorate.io.labels import spell_as_classes
from quorate.io.options import AS_USUAL, ReadOptions, TableKeywords, read_options
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source, read_table

KINDS = (pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC"))  # types of times; texts are parsed as one of them


@check_arguments
@keep_pipes()
def read_times(
    source: Source,
    answers: Answers,
    *,
    time: str = "time",
    **reading: Unpack[TableKeywords],
) -> FloatArray:
    """Return the time of each answer as a number, in the order of the answers; only the order of times is used.

    Args:
        source: the source from which the answers were read.
        answers: the result of `quorate.read`.
        time: column of times: numbers, dates, or texts of these, such as 2024-05-01 12:30:00.
        reading: as in `quorate.read`; with ``skip_missing``, an answer without a time gets NaN.

    Raises:
        BlankFieldError: a time is missing.
        ColumnTypeError: the times are neither numbers nor dates.

    >>> import quorate
    >>> table = {"task": [1, 2], "worker": ["a", "a"], "label": ["x", "x"], "time": ["2024-05-02", "2024-05-01"]}
    >>> first, second = read_times(table, quorate.read(table))
    >>> bool(first > second)
    True
    """
    return times_of(source, answers, time, read_options(reading))


def times_of(source: Source, answers: Answers, time: str, reading: ReadOptions = AS_USUAL) -> FloatArray:
    """Return the time of each answer as a number, as `read_times` does, with the options in one object.

    >>> import quorate
    >>> table = {"task": [1], "worker": ["a"], "label": ["x"], "when": [3]}
    >>> times_of(table, quorate.read(table), "when").tolist()
    [3.0]
    """
    remedy = "Choose one with time= (--time)"
    if answers.questions is not None:
        raise OptionError(
            "time= (--time) orders the answers of a worker, and with multi= (--multi) each answer is one to several "
            "questions at once; leave one of them out"
        )
    table = read_table(source, {**replace(reading, group=None).required_columns(), time: remedy}, reading)
    when = time_numbers(table.column(time), time)
    index, has_answer = answers_of_rows(table, answers, reading)
    missing = np.flatnonzero(has_answer & np.isnan(when))
    if len(missing) and not reading.skip_missing:
        raise BlankFieldError(
            f"{time!r} is missing in {rows_phrase(missing.tolist())}; fill it in, or use "
            "skip_missing=True (--skip-missing), which reads these answers without a time"
        )
    first_time = np.full(answers.n_answers, np.inf)
    # Of repeated answers, the first time.
    np.minimum.at(first_time, index[has_answer], np.where(np.isnan(when), np.inf, when)[has_answer])
    return np.where(np.isinf(first_time), np.nan, first_time)


def answers_of_rows(table: pa.Table, answers: Answers, reading: ReadOptions) -> tuple[IntArray, BoolArray]:
    """Return the index of the answer for each row of the source, and a mask of the rows that have one."""
    task, worker, label = reading.columns
    labels = (
        (answers.classes, answers.label)
        if answers.answer_symbols is None
        else (answers.answer_symbols.symbols, answers.answer_symbols.symbol)
    )
    codes = [
        _codes(table.column(task), task, answers.task_names),
        _codes(table.column(worker), worker, answers.worker_names),
        _codes(table.column(label), label, labels[0], is_label=True, merge_spellings=reading.merge_spellings),
    ]
    sizes = answers.n_workers, len(labels[0])
    row_key = _keys(codes, *sizes)
    answer_key = _keys([answers.task, answers.worker, labels[1]], *sizes)
    # The keys are ascending, because answers are sorted by task and worker, and there is one for each of these pairs.
    index = np.minimum(np.searchsorted(answer_key, row_key), len(answer_key) - 1)
    has_answer = (answer_key[index] == row_key) & np.logical_and.reduce([column >= 0 for column in codes])
    return index, has_answer


def _keys(codes: list[IntArray], n_workers: int, n_labels: int) -> IntArray:
    task, worker, label = (column.astype(np.int64) for column in codes)
    return (task * n_workers + worker) * n_labels + label


def _codes(
    column: pa.ChunkedArray, name: str, known: pa.Array, *, is_label: bool = False, merge_spellings: bool = False
) -> IntArray:
    """Return the code of each value of a column among the names of the answers; -1 for a value that is not there."""
    rows, values = encode(column, name, is_label=is_label)
    if len(values) == 0:
        return rows.astype(np.int64)
    if merge_spellings:
        values = spell_as_classes(values, known)
    index = codes_among(values, known, f"values of {name!r}")
    return np.where(rows >= 0, index[rows], -1)


def time_numbers(column: pa.ChunkedArray, name: str) -> FloatArray:
    """Return times as numbers, NaN where they are missing.

    >>> time_numbers(pa.chunked_array([["3", None]]), "when").tolist()
    [3.0, nan]
    """
    rows, values = encode(column, name, is_quantity=True)
    if len(values) == 0:
        return np.full(len(rows), np.nan)
    for kind in KINDS:
        numbers = _as_kind(values, kind)
        if numbers is not None:
            return np.where(rows >= 0, numbers[rows], np.nan)
    kinds = [kind for kind in KINDS if _as_kind(values[:1], kind) is not None]
    odd = next((k for k in range(len(values)) if not kinds or _as_kind(values[k : k + 1], kinds[0]) is None), 0)
    raise ColumnTypeError(
        f"column {name!r} holds {shown(values[odd].as_py())}, which is not a time like the others, in "
        f"{rows_phrase(np.flatnonzero(rows == odd).tolist())}. Use numbers in every row, or in every row dates such "
        "as 2024-05-01 12:30:00"
    )


def _as_kind(values: pa.Array, kind: pa.DataType) -> FloatArray | None:
    """Return the values as numbers if all of them can be converted to this type; otherwise None."""
    with suppress(pa.ArrowException, ValueError):
        cast = values.cast(kind)
        numbers = to_numpy(cast.cast(pa.int64()) if pa.types.is_temporal(kind) else cast).astype(np.float64)
        return numbers if np.isfinite(numbers).all() else None
    return None
