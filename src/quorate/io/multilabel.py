"""Several labels per task: each label becomes a yes/no question, answered "yes" by the workers who gave the label."""

from typing import Any

import numpy as np
import pyarrow as pa

import quorate.arrow_compute as pc
from quorate.answers import MAX_CELLS, Answers, Questions
from quorate.arrays import BoolArray, IntArray, from_strings, to_numpy
from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    ConflictingGoldError,
    NoRowsError,
    OptionError,
    TooLargeError,
    UnknownGoldClassError,
    UnknownGoldTaskError,
    listing,
    rows_phrase,
)
from quorate.io.columns import codes_among, encode, in_order_of_ids, order_classes, plain
from quorate.io.dataframes import label_columns
from quorate.io.groups import group_of_workers
from quorate.io.labels import merge_spellings
from quorate.io.options import ReadOptions
from quorate.io.read_table import Source, read_table

NO_YES = ("no", "yes")
USUAL_SEPARATOR = ","  # for writing labels as text that were read from lists


def has_several(column: pa.ChunkedArray, reading: ReadOptions) -> bool:
    """Whether a field of this column may hold several labels: it has lists, or the caller names a separator.

    >>> has_several(pa.chunked_array([[["cat"], []]]), ReadOptions())
    True
    """
    kind = column.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(is_list) or reading.multi is not None


def read_several(table: pa.Table, reading: ReadOptions) -> Answers:
    """Read answers that consist of several labels as answers to yes/no questions, one per task and label.

    Several rows of a worker for a task are one answer with the labels of all these rows.

    Args:
        table: columns of tasks, workers and labels.
        reading: reading options.

    Raises:
        InputError: a field is missing, or there is no label.

    >>> rows = pa.table({"task": [1, 1], "worker": ["ann", "bob"], "label": ["cat,dog", "dog"]})
    >>> answers = read_several(rows, ReadOptions(multi=","))
    >>> answers.task_names.to_pylist(), answers.label.tolist()
    (['1: cat', '1: dog'], [1, 0, 1, 1])
    """
    if reading.on_conflict != "error" or reading.abstain:
        raise OptionError(
            "on_conflict= and abstain= (--on-conflict and --abstain) have no effect with multi= (--multi), where every "
            "label of a worker counts; leave them out"
        )
    names = reading.columns
    tasks, task_names = in_order_of_ids(*encode(table.column(names[0]), names[0]))
    workers, worker_names = in_order_of_ids(*encode(table.column(names[1]), names[1]))
    row, codes, label_names, has_label = _labels(table.column(names[2]), names[2], reading)
    has_ids = (tasks >= 0) & (workers >= 0)
    _check_present({names[0]: tasks >= 0, names[1]: workers >= 0, names[2]: has_label}, reading)
    is_used = has_ids & has_label
    if len(label_names) == 0 or not is_used.any():
        raise NoRowsError(f"no row of {names[2]!r} holds a label")
    codes, label_names = order_classes(codes, label_names, None if reading.classes is None else list(reading.classes))
    n = len(worker_names)
    m = len(label_names)
    pair = tasks.astype(np.int64) * n + workers
    pairs, pair_index = np.unique(pair[is_used], return_inverse=True)
    if len(pairs) * m > MAX_CELLS:
        raise TooLargeError(
            f"{len(pairs):,} answers to {m:,} labels each are too many questions; drop rare labels, or give the tasks "
            "in parts"
        )
    is_chosen = np.zeros((len(pairs), m), dtype=np.int32)
    pair_of_row = np.full(len(tasks), -1)
    pair_of_row[is_used] = pair_index
    is_label_used = is_used[row]
    is_chosen[pair_of_row[row[is_label_used]], codes[is_label_used]] = 1
    n_tasks = len(task_names)
    questions = Questions(
        np.repeat(np.arange(n_tasks), m),
        np.tile(np.arange(m), n_tasks),
        task_names,
        label_names,
        np.bincount(pairs // n, minlength=n_tasks),
        USUAL_SEPARATOR if reading.multi is None else reading.multi,
    )
    question = (pairs // n * m)[:, None] + np.arange(m)
    order = np.lexsort([np.repeat(pairs % n, m), question.ravel()])
    group: dict[str, Any] = {}
    if reading.group is not None:
        group_codes, group_names = in_order_of_ids(*encode(table.column(reading.group), reading.group))
        has_group = has_ids & (group_codes >= 0)
        group["group"] = group_of_workers(workers, worker_names, group_codes, group_names, has_group)
        group["group_names"] = group_names
    return Answers(
        question.ravel()[order].astype(np.int32),
        np.repeat(pairs % n, m)[order].astype(np.int32),
        is_chosen.ravel()[order],
        questions.names(),
        worker_names,
        from_strings(NO_YES),
        n_rows=len(tasks),
        n_repeats=0,
        n_skipped=int((~is_used).sum()),
        questions=questions,
        **group,
    )


def _check_present(columns: dict[str, BoolArray], reading: ReadOptions) -> None:
    for name, present in columns.items():
        if not present.all() and not reading.skip_missing:
            raise BlankFieldError(
                f"{name!r} is missing in {rows_phrase(np.flatnonzero(~present).tolist())}. Fill it in, or ignore such "
                "rows with skip_missing=True (--skip-missing). For an answer without any label, write the separator "
                "alone, or an empty list"
            )


def _labels(column: pa.ChunkedArray, name: str, reading: ReadOptions) -> tuple[IntArray, IntArray, pa.Array, BoolArray]:
    """Split a column of labels; return the row and the code of each label, the names, and a mask of filled rows."""
    if has_several(column, ReadOptions()):
        lists = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
        has_label = to_numpy(lists.is_valid())
        row = to_numpy(pc.list_parent_indices(lists)).astype(np.int64)
        flat = pc.list_flatten(lists)
        if pa.types.is_nested(flat.type):
            raise ColumnTypeError(f"column {name!r} holds {column.type} values; several labels are one list of text")
    else:
        text = plain(column, name).cast(pa.string()).combine_chunks()
        text = text.chunk(0) if isinstance(text, pa.ChunkedArray) else text
        filled = pc.fill_null(pc.utf8_trim_whitespace(text), "")
        has_label = to_numpy(pc.not_equal(filled, ""))
        lists = pc.split_pattern(filled, reading.multi)
        row = to_numpy(pc.list_parent_indices(lists)).astype(np.int64)
        flat = pc.utf8_trim_whitespace(pc.list_flatten(lists))
    codes, names = encode(pa.chunked_array([flat]), name, is_label=True)
    if reading.merge_spellings:
        codes, names = merge_spellings(codes, names)
    is_named = codes >= 0
    return row[is_named], codes[is_named], names, has_label


def several_gold(source: Source, questions: Questions, *, task: str, label: str, what: str) -> dict[str, pa.Array]:
    """Convert known labels of tasks to known answers of their yes/no questions.

    Args:
        source: a table of tasks and labels in the form of the answers, or a mapping from task to its labels.
        questions: the questions of the answers.
        task: name of the column of task ids.
        label: name of the column of labels.
        what: name of the labels in messages.

    Raises:
        GoldError: a task or a label does not occur in the answers, or a task occurs twice.

    >>> labels = pa.array(["cat", "dog"])
    >>> questions = Questions(np.array([0, 0]), np.array([0, 1]), pa.array([7]), labels, np.array([3]), ",")
    >>> several_gold({7: ["dog"]}, questions, task="task", label="label", what="the known labels")["label"].to_pylist()
    ['no', 'yes']
    """
    source = label_columns(source, task, label)
    table = read_table(source, dict.fromkeys((task, label), f"Of {what}, these columns are read; rename yours"))
    reading = ReadOptions(task=task, label=label, multi=questions.separator)
    row, codes, names, has_label = _labels(table.column(label), label, reading)
    _check_present({label: has_label}, ReadOptions())
    task_codes, task_names = encode(table.column(task), task)
    if len(task_names) < len(task_codes):
        raise ConflictingGoldError(f"each task may have only one row among {what}; some tasks occur twice")
    known = codes_among(task_names, questions.task_names, "known tasks")
    if (known < 0).any():
        unknown = [name for name, at in zip(task_names.to_pylist(), known, strict=True) if at < 0]
        raise UnknownGoldTaskError(
            f"The known labels include tasks that nobody answered: {listing(unknown)}. Check the ids"
        )
    label_code = codes_among(names, questions.label_names, "known labels")
    if (label_code[codes] < 0).any():
        unknown = [name for name, at in zip(names.to_pylist(), label_code, strict=True) if at < 0]
        label_names = listing(questions.label_names.to_pylist())
        raise UnknownGoldClassError(
            f"The known labels include {listing(unknown)}, which no worker gave; the labels in the answers are "
            f"{label_names}. "
            "Check the spelling, or list that label too (classes=, --classes)"
        )
    m = questions.n_labels
    yes = np.zeros((len(task_codes), m), dtype=bool)
    yes[row, label_code[codes]] = True
    question_code = (known[task_codes] * m)[:, None] + np.arange(m)
    return {
        "task": questions.names().take(pa.array(question_code.ravel())),
        "label": from_strings([NO_YES[int(answer)] for answer in yes.ravel()]),
    }
