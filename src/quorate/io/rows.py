"""Convert a plain table to `Answers`: encode columns, order rows, resolve repeats and conflicts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, AnswerSymbols
from quorate.arrays import BoolArray, IntArray
from quorate.errors import (
    BlankFieldError,
    NanLabelError,
    NoRowsError,
    count,
    rows_phrase,
)
from quorate.io.columns import SKIP_REMEDY, encode, in_order_of_ids, order_classes, positions
from quorate.io.conflicts import refuse_first_conflict, refuse_if_none_left, resolve_conflicts
from quorate.io.groups import group_of_workers
from quorate.io.labels import (
    NO_ROWS,
    Grades,
    abstentions_of,
    codes_of,
    grades_of,
    merge_spellings,
    one_spelling_of_numbers,
)
from quorate.io.multilabel import has_several, read_several
from quorate.io.open_file import Loaded
from quorate.io.options import AS_USUAL, ReadOptions
from quorate.io.read_table import Source, format_of, read_encoded_table, read_table
from quorate.progress import tracked

RowsPhrase: TypeAlias = Callable[[Sequence[int]], str]  # returns how messages name rows


def read_rows(
    source: Source, reading: ReadOptions = AS_USUAL, *, ordered: bool = True, reason: str | None = None
) -> Answers:
    """Read answers from a plain table, one row per answer.

    Args:
        source: what `quorate.io.read_table.read_table` takes.
        reading: reading options.
        ordered: whether the rows have a fixed order; for rows of a database, messages give the number of rows instead
            of row numbers.
        reason: column with the reason why a label is missing; a row with a reason is an abstention.

    Raises:
        InputError: the data cannot be used; each cause has its own class, and the message names the rows.

    >>> answers = read_rows({"task": [1, 1, 2], "worker": ["ann", "bob", "ann"], "label": ["cat", "dog", "cat"]})
    >>> answers.n_tasks, answers.n_workers, answers.classes.to_pylist()
    (2, 2, ['cat', 'dog'])
    """
    required = (
        reading.required_columns()
        if reason is None
        else {**reading.required_columns(), reason: "It says why labels are missing"}
    )
    names = (*reading.columns, *([] if reading.group is None else [reading.group]))
    # Several labels in a field are text, and encoding overwrites codes, so that each column can be taken once only.
    is_encodable = reading.multi is None and len({*names, reason}) == len(names) + 1
    read = read_encoded_table if is_encodable else read_table
    table = reading.completed(read(source, required, reading))
    if table.num_rows == 0:
        raise NoRowsError("There is a header, but no answers below it")
    if not reading.is_score and has_several(table.column(reading.columns[2]), reading):
        return read_several(table, reading)
    columns = [
        in_order_of_ids(*encode(table.column(name), name, is_label=k == 2))
        for k, name in tracked("reading columns", [*enumerate(names)])
    ]
    file = source.name if isinstance(source, Loaded) else source
    if isinstance(file, str | Path) and (reading.format or format_of(file)) in ("csv", "tsv"):  # every field is text
        columns[2] = one_spelling_of_numbers(*columns[2])
    if reading.merge_spellings:
        columns[2] = merge_spellings(*columns[2])
    why = None if reason is None else in_order_of_ids(*encode(table.column(reason), reason))
    has_ids = np.logical_and.reduce([codes >= 0 for k, (codes, _) in enumerate(columns) if k != 2])
    present = has_ids & (columns[2][0] >= 0)
    phrase_rows = rows_phrase if ordered else _rows_counted
    grades = grades_of(*columns[2], reading, codes_of(reading, columns[2][1]), phrase_rows)
    abstentions = abstentions_of(*columns[2], has_ids, reading, why, grades)
    if reading.is_score:
        from quorate.io.scores import as_scores  # imported here, because it imports this module

        columns[2] = as_scores(*columns[2], reading, phrase_rows)
        present = has_ids & (columns[2][0] >= 0)
    is_stated = present if abstentions is None else present | abstentions.rows
    if not is_stated.all() and not reading.skip_missing:
        lacking = {name: np.where(is_stated, 0, codes) for name, (codes, _) in zip(names, columns, strict=True)}
        _refuse_missing(table if isinstance(table, pa.Table) else table.parsed_again(), lacking, phrase_rows)
    counts = present if abstentions is None else present & ~abstentions.rows
    if not counts.any():
        lacking_phrase = "lack a field" if abstentions is None else "lack a field or abstain"
        raise NoRowsError(f"all {table.num_rows:,} rows {lacking_phrase}; no answer is left")
    del table  # it needs more memory than the codes
    coded = [codes for codes, _ in columns[:3]], [values for _, values in columns[:3]]
    is_complete = present if why is None else present | (why[0] >= 0)  # a row with a reason is not counted as skipped
    overwrite = abstentions is None and len(columns) == 3  # the codes of the rows are not needed later
    answers = _answers_of(*coded, counts, reading, phrase_rows, grades, overwrite=overwrite)
    answers = replace(answers, n_skipped=int((~is_complete).sum()))
    if abstentions is not None and not reading.is_score:
        answers = abstentions.add_to(answers, *coded[0][:2])
    if len(columns) == 3:
        return answers
    _, worker, _, group = columns
    return replace(answers, group=group_of_workers(*worker, *group, has_ids, phrase_rows), group_names=group[1])


def _rows_counted(rows: Sequence[int]) -> str:
    return count(len(rows), "row")


def _answers_of(
    codes: list[IntArray],
    names: list[pa.Array],
    present: BoolArray,
    reading: ReadOptions,
    phrase_rows: RowsPhrase,
    grades: Grades | None,
    *,
    overwrite: bool,
) -> Answers:
    """Return `Answers` from the codes of rows: one answer for each task and worker, with the classes in order.

    With ``overwrite``, the arrays of codes may be overwritten to save memory.
    """
    tasks, workers, labels = codes
    if not present.all():
        tasks = tasks[present]
        workers = workers[present]
        labels = labels[present]
    resolved = resolve_conflicts(tasks, workers, labels, reading.on_conflict, overwrite=overwrite)
    if reading.on_conflict == "error" and resolved.clashing is not None and len(resolved.clashing):
        clash = resolved.clashing
        refuse_first_conflict(
            np.flatnonzero(present)[clash],
            [tasks[clash], workers[clash], labels[clash]],
            names,
            have_numbers=phrase_rows is not _rows_counted,
            is_score=reading.is_score,
        )
    refuse_if_none_left(len(resolved.task), len(present))
    answer_symbols = None
    if grades is None:
        labels, class_names = order_classes(resolved.label, names[2], reading.classes)
    else:
        labels = grades.class_of[resolved.label].astype(np.int32)
        class_names = grades.classes
        symbol, symbols = order_classes(resolved.label, names[2], None)
        answer_symbols = AnswerSymbols(symbols, grades.class_of[positions(symbols, names[2])], symbol, *NO_ROWS)
    return Answers(
        resolved.task,
        resolved.worker,
        labels,
        names[0],
        names[1],
        class_names,
        n_rows=len(present),
        n_repeats=resolved.n_repeats,
        n_conflicting=resolved.n_conflicting,
        answer_symbols=answer_symbols,
    )


def _refuse_missing(table: pa.Table, codes: dict[str, IntArray], phrase_rows: RowsPhrase) -> None:
    """Raise an error that names the column and the rows; for rows without numbers, it lists their other fields."""
    name, rows = next((name, np.flatnonzero(column < 0)) for name, column in codes.items() if (column < 0).any())
    value = table.column(name)[int(rows[0])].as_py()
    where = phrase_rows(rows.tolist())
    if phrase_rows is _rows_counted:
        where = other_fields({other: table.column(other)[int(rows[0])].as_py() for other in codes if other != name})
    raise missing_value_error(name, value, len(rows), where)


def other_fields(fields: Mapping[str, Any]) -> str:
    """Return the description of a row without a number by its other fields.

    >>> other_fields({"task": 1, "worker": "b"})
    "for example the row with task 1, worker 'b'"
    """
    return f"for example the row with {', '.join(f'{name} {value!r}' for name, value in fields.items())}"


def missing_value_error(name: str, value: Any, n_rows: int, where: str) -> BlankFieldError | NanLabelError:
    """Return the error that rows have a missing value or NaN in a column.

    >>> missing_value_error("label", None, 1, "row 2")
    BlankFieldError("1 row has no value in 'label' (row 2). Fill it in, or ignore such rows with skip_missing=True")
    """
    has = "has" if n_rows == 1 else "have"
    if value is not None and str(value).strip().lower() == "nan":
        return NanLabelError(f"{count(n_rows, 'row')} {has} NaN in {name!r} ({where}). {SKIP_REMEDY}")
    return BlankFieldError(f"{count(n_rows, 'row')} {has} no value in {name!r} ({where}). {SKIP_REMEDY}")
