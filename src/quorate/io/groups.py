"""Groups of workers: convert a column read with the answers, or an argument, to a group code per worker."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Counted
from quorate.arrays import BoolArray, IntArray, canonical_order, from_strings
from quorate.errors import ConflictingGroupsError, OptionError, listing, rows_phrase, shown
from quorate.io.columns import codes_among


def group_of_workers(
    worker: IntArray,
    worker_names: pa.Array,
    group: IntArray,
    group_names: pa.Array,
    present: BoolArray,
    phrase_rows: Callable[[Sequence[int]], str] = rows_phrase,
) -> IntArray:
    """Return the group of each worker, from the group of each row; -1 for a worker without rows.

    Args:
        worker: code of the worker of each row.
        worker_names: ids of the workers, by code.
        group: code of the group of each row.
        group_names: names of the groups, by code.
        present: mask of the rows that are used.
        phrase_rows: function that names rows in messages.

    Raises:
        ConflictingGroupsError: a worker is in two groups; the message names the row.

    >>> names = pa.array(["ann", "bob"]), pa.array(["north", "south"])
    >>> group_of_workers(np.array([0, 1, 0]), names[0], np.array([1, 0, 1]), names[1], np.ones(3, bool)).tolist()
    [1, 0]
    """
    group_of_worker = np.full(len(worker_names), -1, np.int64)
    rows = np.flatnonzero(present)[::-1]
    group_of_worker[worker[rows]] = group[rows]  # in reverse order, so that the first row of a worker counts
    clash = np.flatnonzero(present & (group_of_worker[worker] != group))
    if len(clash):
        who = worker_names[int(worker[clash[0]])].as_py()
        is_same_worker = worker[clash] == worker[clash[0]]
        both = [group_names[int(code)].as_py() for code in (group_of_worker[worker[clash[0]]], group[clash[0]])]
        raise ConflictingGroupsError(
            f"worker {shown(who)} is in two groups, {shown(both[0])} and {shown(both[1])} "
            f"({phrase_rows(clash[is_same_worker].tolist())}). Give every worker one group"
        )
    return group_of_worker


def groups_of(group: Any, answers: Counted) -> IntArray:
    """Return the group of each worker as a code, -1 for none, from the argument of a caller.

    Args:
        group: a mapping from worker to group, in which workers may be missing, or a code per worker, -1 for none.
        answers: answers of the workers.

    Raises:
        OptionError: ``group`` is of another type, or names a worker without answers.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["ann", "bob"], "label": ["x", "y"]})
    >>> groups_of({"bob": "north"}, answers).tolist(), groups_of(np.array([1, 1]), answers).tolist()
    ([-1, 0], [1, 1])
    """
    if isinstance(group, Mapping):
        return _by_name(group, answers)
    if isinstance(group, str):
        raise OptionError(
            f"group={group!r} names a column, and these answers have been read already; give it to quorate.read"
        )
    codes = np.asarray(group)
    if codes.shape != (answers.n_workers,) or not np.issubdtype(codes.dtype, np.integer):
        raise OptionError(
            f"group= must be a mapping from worker to group, or a whole number for each of {answers.n_workers:,} "
            "workers in the order of their codes (-1: none)"
        )
    return codes.astype(np.int64)


def _by_name(group: Mapping[Any, Any], answers: Counted) -> IntArray:
    worker_codes = codes_among(list(group), answers.worker_names, "workers of group=")
    if (worker_codes < 0).any():
        unknown_ids = [name for name, code in zip(group, worker_codes, strict=True) if code < 0]
        raise OptionError(f"group= names workers who gave no answer: {listing(unknown_ids)}; check the names")
    names = list(dict.fromkeys(group.values()))
    order = canonical_order(from_strings([str(name) for name in names]))
    number = {names[k]: code for code, k in enumerate(order.tolist())}
    codes = np.full(answers.n_workers, -1, np.int64)
    codes[worker_codes] = [number[name] for name in group.values()]
    return codes
