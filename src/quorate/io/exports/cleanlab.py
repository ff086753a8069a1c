"""cleanlab's wide table: one row per task, one column per annotator, blank where there is no answer.

https://docs.cleanlab.ai/stable/cleanlab/multiannotator.html (`labels_multiannotator`). The columns have names of
annotators, so that only the values distinguish this table from others; see `_recognise`.
"""

from collections import Counter
from typing import Any

import numpy as np

from quorate.arrays import Table, from_strings, table_of, take
from quorate.errors import NoRowsError, OptionError, WrongFormatError, listing
from quorate.io.columns import encode
from quorate.io.detect_values import MAX_CLASSES
from quorate.io.exports.content import Content, as_text
from quorate.io.exports.export import NEVER, Export, Format
from quorate.io.options import ReadOptions
from quorate.io.values import id_text


def _recognise(content: Content) -> bool:
    """Whether a table is wide, by its values: unique ids, then three or more columns with common values and blanks.

    A table without blanks may also be a long table with other names (id, rater, rating). It is not recognised, and the
    user must name the tool.
    """
    if content.layout != "rows" or len(content.fields) < 3 or len(set(content.fields)) < len(content.fields):
        return False
    fields = [*content.index[:1], *_not_in_index(content)]
    ids, *annotators = [[as_text(row.get(name)) for row in content.sample] for name in fields]
    if not content.index and len(set(ids)) < len(ids):  # not ids, so perhaps an annotator
        annotators = [ids, *annotators]
    return len(annotators) > 2 and any(None in column for column in annotators) and _share_values(annotators)


def _share_values(columns: list[list[str | None]]) -> bool:
    """Whether each column with values has one in common with another column, and there are few distinct values."""
    value_sets = [{value for value in column if value is not None} for column in columns]
    value_sets = [values for values in value_sets if values]
    return (
        len(value_sets) > 1
        and len(set().union(*value_sets)) <= MAX_CLASSES
        and all(any(values & other for other in value_sets if other is not values) for values in value_sets)
    )


def _read(content: Content, reading: ReadOptions) -> Export:
    if reading.question is not None:
        raise OptionError("a wide table holds the answers to one question; leave out question= (--question)")
    if content.layout != "rows" or len(content.fields) < 2:
        raise WrongFormatError(f"{content.name} is not a table with one row per task and one column per annotator")
    id_column, annotators = _roles(content, reading.task)
    if id_column is None:
        tasks = _row_labels(content)
    else:
        codes, names = encode(content.table.column(id_column), id_column)
        texts_of_ids = [as_text(name) or "" for name in names.to_pylist()]
        tasks = ["" if code < 0 else texts_of_ids[code] for code in codes.tolist()]
        _check_ids(tasks, id_column, content.name, is_chosen=reading.task is not None)
    rows = []
    columns = []
    labels = []
    values_of: dict[str, set[str]] = {}
    for k, name in enumerate(annotators):
        codes, names = encode(content.table.column(name), name, is_label=True)
        values_of[name] = {as_text(value) or "" for value in names.to_pylist()}
        answered = np.flatnonzero(codes >= 0)
        texts = np.array([as_text(value) for value in names.to_pylist()], dtype=object)
        rows.append(answered)
        columns.append(np.full(len(answered), k))
        labels.append(texts[codes[answered]] if len(answered) else np.array([], dtype=object))
    row = np.concatenate(rows)
    column = np.concatenate(columns)
    label = np.concatenate(labels)
    if not len(row):
        raise NoRowsError(f"{content.name} has columns, but no answers in them")
    _refuse_other_columns(content.name, id_column, values_of, len(row))
    order = np.lexsort([column, row])  # by task, then by annotator
    table = {
        "task": take(from_strings(tasks), row[order]),
        "worker": take(from_strings(annotators), column[order]),
        "label": from_strings(label[order].tolist()),
    }
    unanswered = len(tasks) - len(np.unique(row))
    left_out = {"empty cells": len(tasks) * len(annotators) - len(row), NEVER: unanswered}
    if id_column is not None:
        ids = f"ids in {id_column!r}"
    elif tasks == [str(number) for number in range(len(tasks))]:
        ids = "no column of ids, so tasks are numbered from 0"
    else:
        ids = "ids in the index"
    return Export(
        Table(table_of(table)),
        None,
        "cleanlab",
        "label",
        ("label",),
        {why: n for why, n in left_out.items() if n},
        (f"Read as one row per task: {ids}, answers in {listing(annotators)}",),
    )


def _refuse_other_columns(name: str, id_column: str | None, values_of: dict[str, set[str]], n_answers: int) -> None:
    """Refuse a table if columns without common values have more distinct values than those with common values.

    A column with one value is not counted, because it may be an annotator with a single answer.

    Raises:
        WrongFormatError: such columns are ids, texts or known labels, not annotators.
    """
    times: Counter[str] = Counter(value for values in values_of.values() for value in values)
    sharing = [column for column, values in values_of.items() if any(times[value] > 1 for value in values)]
    classes = {value for column in sharing for value in values_of[column]}
    different = [column for column, values in values_of.items() if column not in sharing and len(values) > 1]
    if len(sharing) < 2 or sum(len(values_of[column]) for column in different) <= len(classes):
        return
    error = WrongFormatError(
        f"{name} has {len(times):,} different values among {n_answers:,} answers: some of its columns are not "
        f"annotators. These columns share their values: {listing(sharing)}. These do not: {listing(different)}. Name "
        "the columns of the annotators with workers= (--workers), and known labels with gold_column= (--gold-column)"
    )
    from quorate.io.proposals import with_command

    raise with_command(error, [name], {"task": id_column, "workers": ",".join(sharing)})


FORMAT = Format(
    "cleanlab",
    "a table with one row per task and one column per annotator (cleanlab, MACE)",
    "three or more columns that share their values and have blanks, after a column of ids if there is one",
    _recognise,
    _read,
)


def _roles(content: Content, task: str | None) -> tuple[str | None, list[str]]:
    """Return the column of ids and those of the annotators; None for the ids if the first column is an annotator."""
    if task is not None:
        content.column(task)  # raises the error that lists the columns
    first, *more_columns = [*content.index[:1], *_not_in_index(content)]
    if task is None and content.index:
        task = first
    if task is None:
        ids = {value for value in content.column(first) if value is not None}
        rest = {as_text(row.get(name)) for row in content.sample for name in more_columns}
        task = None if ids and ids <= rest else first
    return task, [name for name in _not_in_index(content) if name != task]


def _not_in_index(content: Content) -> list[str]:
    return [name for name in content.fields if name not in content.index]


def _row_labels(content: Content) -> list[str]:
    """Return the row labels of a data frame if they are unique; otherwise the row numbers from 0."""
    index: Any = getattr(content.source, "index", None)
    if getattr(index, "nlevels", 0) == 1 and index.is_unique:
        labels = [id_text(label) for label in index.tolist()]
        if None not in labels:
            return [label or "" for label in labels]
    return [str(row) for row in range(content.table.num_rows)]


def _check_ids(tasks: list[str], column: str, name: str, *, is_chosen: bool) -> None:
    seen: dict[str, int] = {}
    for number, task in enumerate(tasks, start=1):
        if not task.strip() or task in seen:
            why = "is blank" if not task.strip() else f"is the same as in row {seen[task]:,} ({task!r})"
            remedy = (
                "Choose another column with task= (--task)"
                if is_chosen
                else "Name the column of ids with task= (--task)"
            )
            raise OptionError(
                f"in row {number:,} of {name}, {column!r} {why}; a wide table has one row per task. {remedy}"
            )
        seen[task] = number
