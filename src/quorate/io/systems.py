"""Read the system of each task, and the item to which it belongs, from columns of the answers or a table of tasks."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray
from quorate.errors import (
    ConflictingGoldError,
    MissingColumnError,
    NoRowsError,
    about_argument,
    did_you_mean,
    listing,
    shown,
)
from quorate.io.columns import codes_among, encode
from quorate.io.gold import column_names, with_joined_key
from quorate.io.options import ReadOptions, split_names
from quorate.io.read import Reading
from quorate.io.read_table import Source, read_table


def system_columns(
    result: Reading, tasks: Source, by: str, pair_by: str | None = None
) -> tuple[IntArray, list[Any], IntArray | None]:
    """Return the system code of each task (-1: none), the names of the systems, and the item code of each task or None.

    Args:
        result: the answers and their source.
        tasks: a table of tasks; None if the columns are in the table of answers.
        by: column of the systems.
        pair_by: column of the items; by default, the columns of a composite task other than ``by``, if there are any.

    Raises:
        MissingColumnError: a column is missing.
        ConflictingGoldError: a task has two values.

    >>> import quorate
    >>> from quorate.io.read import read_source
    >>> rows = {"task": [1, 2], "system": ["old", "new"], "worker": list("aa"), "label": list("xy")}
    >>> code, values, item = system_columns(read_source(rows), None, "system")
    >>> code.tolist(), values, item
    ([1, 0], ['new', 'old'], None)
    """
    with nullcontext() if tasks is None else about_argument("tasks= (--tasks)"):
        key = split_names(result.options.task) if result.options.task else ()
        source = result.source if tasks is None else tasks
        reading = result.options if tasks is None else ReadOptions(task=result.options.task)
        names = [] if source is None else column_names(source, reading)
        if by not in names:
            message = f'by= (--by) needs a column "{by}" in the answers, or a table of tasks (tasks=, --tasks)'
            if names:
                message += f"; the columns are {listing(names, 12)}"
            suggestion = did_you_mean(by, names)
            if suggestion:
                message += f". {suggestion}"
            raise MissingColumnError(message)
        if pair_by is not None and pair_by not in names:
            raise MissingColumnError(
                f"there is no column {shown(pair_by)} to pair by; the columns are {listing(names, 12)}"
            )
        items: list[str] = []
        if pair_by is not None:
            items = [pair_by]
        elif by in key:
            items = [name for name in key if name != by]
        is_composite = len(key) > 1 and set(key) <= set(names)
        needed = dict.fromkeys([*(key if is_composite else (result.options.columns[0],)), by, *items])
        table = read_table(source, {name: f"The column {name!r} is needed" for name in needed}, reading)
        columns = {name: table.column(name).to_pylist() for name in needed}
        if is_composite:
            joined = with_joined_key(columns, ReadOptions(task=result.options.task), result.answers.task_names)
            task_ids = joined["task"] if isinstance(joined, dict) else []
        else:
            task_ids = columns[result.options.columns[0]]
        values, codes = np.unique(np.array([str(value) for value in columns[by]], dtype=object), return_inverse=True)
        code = _per_task(result, task_ids, codes, by)
        item = None
        if items:
            pairs = list(zip(*(columns[name] for name in items), strict=True))
            _, item_codes = np.unique(np.array([str(pair) for pair in pairs], dtype=object), return_inverse=True)
            item = _per_task(result, task_ids, item_codes, items[0])
        return code, values.tolist(), item


def _per_task(result: Reading, task_ids: list[Any], codes: IntArray, name: str) -> IntArray:
    """Return one code per task, -1 for a task that is not in the table."""
    task_codes, ids = encode(pa.chunked_array([pa.array(task_ids)]), "task")
    if len(ids) == 0:
        raise NoRowsError("No row names a task")
    position = codes_among(ids, result.answers.task_names, "tasks")
    task_of_row = np.where(task_codes >= 0, position[task_codes], -1)
    has_answers = task_of_row >= 0
    code_of_task = np.full(result.answers.n_tasks, -1, np.int64)
    code_of_task[task_of_row[has_answers]] = codes[has_answers]
    clash = np.flatnonzero(code_of_task[task_of_row[has_answers]] != codes[has_answers])
    if len(clash):
        task = result.answers.task_names[int(task_of_row[has_answers][clash[0]])].as_py()
        raise ConflictingGoldError(f"task {shown(task)} has two values in the column {name!r}; every task needs one")
    return code_of_task
