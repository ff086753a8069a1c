"""The group of each worker, read from a column of an engine's table."""

from typing import Any

import pyarrow as pa

from quorate.backends.partition import plain_column
from quorate.backends.source import EngineSource
from quorate.errors import BlankFieldError, ConflictingGroupsError, shown


def read_groups(engine_source: EngineSource) -> dict[Any, Any] | None:
    """Return a mapping from worker to group; None if no column of groups was named.

    Raises:
        BlankFieldError: a group is missing.
        ConflictingGroupsError: a worker is in two groups.

    >>> from quorate.io.options import ReadOptions
    >>> from quorate.backends.engine import EngineOptions
    >>> from quorate.backends.source import find_answers
    >>> rows = {"task": [1, 1], "worker": ["ann", "bob"], "label": ["x", "y"], "site": ["north", "south"]}
    >>> read_groups(find_answers(rows, ReadOptions(group="site"), EngineOptions(most=0)))
    {'ann': 'north', 'bob': 'south'}
    """
    name = engine_source.reading.group
    if name is None:
        return None
    worker_column = engine_source.reading.columns[1]
    table = engine_source.table
    pairs = table.select(worker=table[worker_column], group=table[name]).distinct().order_by("worker")
    group_of_worker: dict[Any, Any] = {}
    for batch in engine_source.engine.stream(pairs, "reading the groups", engine_source.n_rows):
        columns = pa.Table.from_batches([batch])
        workers, groups = (plain_column(columns.column(k).combine_chunks()).to_pylist() for k in (0, 1))
        for worker, group in zip(workers, groups, strict=True):
            if worker is None:
                continue  # reported or skipped with the rows
            if group is None or str(group).strip() == "":
                raise BlankFieldError(f"{name!r} is missing in a row of worker {shown(worker)}; fill it in")
            if group_of_worker.setdefault(worker, group) != group:
                both = f"{shown(group_of_worker[worker])} and {shown(group)}"
                raise ConflictingGroupsError(
                    f"worker {shown(worker)} is in two groups, {both}. Give every worker one group"
                )
    return group_of_worker
