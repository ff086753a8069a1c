"""A further column of the answers -> one value for each answer, in the order of the answers."""

from dataclasses import replace
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.errors import ColumnTypeError, OptionError, shown
from quorate.io.options import AS_USUAL, ReadOptions
from quorate.io.read_table import Source, read_table
from quorate.io.timestamps import answers_of_rows

MIN_TEXT_VALUES = (
    0.5  # share of text values that are different from which a column is text, not a category; a judgement
)


def values_of(source: Source, answers: Answers, column: str, reading: ReadOptions = AS_USUAL) -> list[Any]:
    """Return the value of a column for each answer, None where it is missing; of repeated answers the first.

    Args:
        source: what the answers were read from.
        answers: as `quorate.read` returned them.
        column: its name.
        reading: how they were read.

    Raises:
        OptionError: each answer is one to several questions.
        MissingColumnError: there is no such column.

    >>> import quorate
    >>> table = {"task": [2, 1], "worker": ["a", "a"], "label": ["x", "y"], "tokens": [30, 40]}
    >>> values_of(table, quorate.read(table), "tokens")
    [40, 30]
    """
    if answers.asked is not None:
        raise OptionError(f"the column {column!r} cannot be used together with multi= (--multi)")
    wanted = {**replace(reading, group=None).wanted(), column: "Name one of those"}
    table = read_table(source, wanted, reading)
    place, counted = answers_of_rows(table, answers, reading)
    rows = np.flatnonzero(counted)[::-1]  # the first of repeats is written last
    row_of = np.full(answers.n_answers, -1, np.int64)
    row_of[place[rows]] = rows
    values = table.column(column).to_pylist()
    return [None if row < 0 else values[row] for row in row_of.tolist()]


def numbers_of(values: list[Any], column: str) -> tuple[FloatArray, bool]:
    """Return numbers, or the length of texts in characters, and whether they are lengths; NaN where missing.

    Raises:
        ColumnTypeError: the values are categories.

    >>> numbers_of(["3", "4.5", None], "tokens")[0].tolist()
    [3.0, 4.5, nan]
    >>> numbers_of(["a long text", "another text here"], "output")
    (array([11., 17.]), True)
    """
    texts = [None if value is None or str(value).strip() == "" else str(value) for value in values]
    try:
        return np.array([np.nan if text is None else float(text) for text in texts]), False
    except ValueError:
        stated = [text for text in texts if text is not None]
    if max(map(len, stated)) < 2 or sum(" " in text for text in stated) < MIN_TEXT_VALUES * len(stated):
        raise ColumnTypeError(
            f"column {column!r} has neither numbers nor texts (for example {shown(stated[0])}); a covariate is a "
            "number, or a text whose length counts"
        ) from None
    return np.array([np.nan if text is None else float(len(text)) for text in texts]), True
