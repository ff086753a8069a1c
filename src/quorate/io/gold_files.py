"""Combine known labels of several files into one table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorate.addresses import render_address
from quorate.errors import BlankFieldError, ColumnTypeError, ConflictingGoldError, shown
from quorate.io.read_table import Source, read_table
from quorate.io.values import is_blank

INCLUSION_PROBABILITY = "inclusion_probability"  # the column that `quorate advise --expert` writes


@dataclass(frozen=True)
class KnownColumns:
    """A table of known labels, and which of its columns are used."""

    source: Source
    task: str
    label: str
    has_probability: bool  # whether it has the column `INCLUSION_PROBABILITY`: a file that an expert fills in


def combine_files(source: Source, columns_of: Callable[[Source], KnownColumns]) -> Source:
    """Return the known labels of several files as one table of task and label; any other source unchanged.

    In files that `quorate advise --expert` wrote, rows without a label are left out. The tasks of such a file were
    sampled from the tasks without a label in earlier files. In the combined table, only the tasks of the last such file
    have their inclusion probability, and all other tasks have probability 1, as labels that were known before the last
    sample was drawn. Given these labels, the estimate from the last sample is unbiased for the remaining tasks.

    Args:
        source: names of several files, in the order in which they were made; or any other source.
        columns_of: function that returns the columns of one file.

    Raises:
        BlankFieldError: a file that an expert fills in contains no label yet.
        ConflictingGoldError: a task has different labels.

    >>> def usual(source):
    ...     return KnownColumns(source, "task", "label", False)
    >>> combine_files({"task": [1], "label": ["cat"]}, usual)
    {'task': [1], 'label': ['cat']}
    """
    files = listed_files(source)
    if files is None:
        return source
    if len(files) == 1:
        return files[0]
    tables = [columns_of(file) for file in files]
    last_sample = max((k for k, table in enumerate(tables) if table.has_probability), default=None)
    label_of: dict[Any, tuple[Any, str]] = {}
    probability_of: dict[Any, float] = {}
    for k, (file, table) in enumerate(zip(files, tables, strict=True)):
        name = render_address(file)
        for task, label, probability in _rows(table, name):
            other, where = label_of.setdefault(task, (label, name))
            if other != label:
                both = f"in {where}" if where == name else f"{shown(other)} in {where} and {shown(label)} in {name}"
                raise ConflictingGoldError(f"task {shown(task)} has two different known labels, {both}; keep one")
            certain = k != last_sample or task in probability_of
            probability_of[task] = 1.0 if certain else probability
    combined = {"task": list(label_of), "label": [label for label, _ in label_of.values()]}
    return combined if last_sample is None else {**combined, INCLUSION_PROBABILITY: list(probability_of.values())}


def listed_files(source: Source) -> Sequence[str | Path] | None:
    """Return the source if it is a list of file names, None for any other source.

    >>> listed_files(["a.csv", "b.csv"]), listed_files("a.csv"), listed_files([])
    (['a.csv', 'b.csv'], None, None)
    """
    if not isinstance(source, list | tuple) or not source or not all(isinstance(name, str | Path) for name in source):
        return None
    return source


def _rows(table: KnownColumns, name: str) -> list[tuple[Any, Any, float]]:
    """Return task, label and inclusion probability of each row; blank rows of an expert's file are left out."""
    remedy = f"Known labels need the columns {table.task!r} and {table.label!r}; rename your columns"
    columns = {table.task: remedy, table.label: remedy}
    if table.has_probability:
        columns[INCLUSION_PROBABILITY] = ""
    read = read_table(table.source, columns, fixed=True)
    tasks = read.column(table.task).to_pylist()
    labels = read.column(table.label).to_pylist()
    if not table.has_probability:
        return [(task, label, 1.0) for task, label in zip(tasks, labels, strict=True)]
    try:
        probabilities = [float(value) for value in read.column(INCLUSION_PROBABILITY).to_pylist()]
    except (TypeError, ValueError):
        raise ColumnTypeError(
            f"the column {INCLUSION_PROBABILITY!r} of {name} holds a value that is not a number; correct it"
        ) from None
    rows = [row for row in zip(tasks, labels, probabilities, strict=True) if not is_blank(row[1])]
    if not rows:
        raise BlankFieldError(f"no task of {name} has a label yet; fill in the column {table.label!r}")
    return rows
