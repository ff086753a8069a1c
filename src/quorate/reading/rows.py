"""A plain table -> `Answers`: columns encoded, rows ordered, repeats and conflicts settled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray
from quorate.errors import (
    BlankFieldError,
    ConflictingAnswersError,
    NanLabelError,
    NoRowsError,
    listing,
    rows_phrase,
    shown,
)
from quorate.progress import report
from quorate.reading.columns import encode, order_classes
from quorate.reading.files import Source, read_table
from quorate.reading.groups import group_of_workers
from quorate.reading.options import AS_USUAL, ReadOptions
from quorate.reading.spelling import merged


def read_rows(source: Source, reading: ReadOptions = AS_USUAL) -> Answers:
    """Read answers from a plain table, one row an answer.

    Args:
        source: what `quorate.reading.files.read_table` takes.
        reading: how.

    Raises:
        InputError: the data cannot be used; each cause has its own class, and the message names the rows.

    >>> answers = read_rows({"task": [1, 1, 2], "worker": ["ann", "bob", "ann"], "label": ["cat", "dog", "cat"]})
    >>> answers.n_tasks, answers.n_workers, answers.classes.to_pylist()
    (2, 2, ['cat', 'dog'])
    """
    table = read_table(source, reading.wanted(), reading)
    if table.num_rows == 0:
        raise NoRowsError("there are columns, but no answers under them")
    names = (*reading.columns, *([] if reading.group is None else [reading.group]))
    columns = []
    for k, name in enumerate(names):
        report("encoding", k, len(names))
        columns.append(encode(table.column(name), name, is_label=k == 2))
    report("encoding", len(columns), len(columns))
    if reading.merge_spellings:
        columns[2] = merged(*columns[2])
    present = np.logical_and.reduce([codes >= 0 for codes, _ in columns])
    if not present.all() and not reading.skip_missing:
        _refuse_missing(table, {name: codes for name, (codes, _) in zip(names, columns, strict=True)})
    if not present.any():
        raise NoRowsError(f"all {table.num_rows:,} rows lack a field; no answer is left")
    del table  # the text is the largest thing in memory
    answers = _settled([codes for codes, _ in columns[:3]], [values for _, values in columns[:3]], present, reading)
    if len(columns) == 3:
        return answers
    _, worker, _, group = columns
    return replace(answers, group=group_of_workers(*worker, *group, present), group_names=group[1])


def _settled(codes: list[IntArray], names: list[pa.Array], present: BoolArray, reading: ReadOptions) -> Answers:
    """Order the answers, and let one of those stand that repeat or contradict each other."""
    tasks, workers, labels = codes
    if not present.all():
        tasks, workers, labels = tasks[present], workers[present], labels[present]
    n_repeats = n_conflicting = 0
    in_order = _sorted(tasks, workers, labels)
    if np.any((in_order[0][1:] == in_order[0][:-1]) & (in_order[1][1:] == in_order[1][:-1])):
        order = np.lexsort([workers, tasks])  # stable: the rows of a repeat stay in their order
        tasks, workers, labels = tasks[order], workers[order], labels[order]
        keep, clash = _settle_repeats(tasks, workers, labels, reading.on_conflict)
        if reading.on_conflict == "error" and clash.any():
            rows = np.flatnonzero(present)[order]
            _refuse_conflicts(clash, rows, *zip((tasks, workers, labels), names, strict=True))
        if not keep.any():
            raise NoRowsError(f"all {len(present):,} rows conflict; no answer is left. Keep the 'first' or the 'last'")
        n_conflicting = int((~keep & clash).sum())
        n_repeats = int((~keep).sum()) - n_conflicting
        in_order = tasks[keep], workers[keep], labels[keep]
    tasks, workers, labels = in_order
    labels, class_names = order_classes(labels, names[2], reading.classes)
    return Answers(
        tasks,
        workers,
        labels,
        names[0],
        names[1],
        class_names,
        n_rows=len(present),
        n_repeats=n_repeats,
        n_conflicting=n_conflicting,
        n_skipped=len(present) - int(present.sum()),
    )


def _refuse_missing(table: pa.Table, codes: dict[str, IntArray]) -> None:
    """Say which column lacks a value, and in which rows."""
    name, rows = next((name, np.flatnonzero(column < 0)) for name, column in codes.items() if (column < 0).any())
    value = table.column(name)[int(rows[0])].as_py()
    remedy = "fill it in, or leave such rows out with skip_missing=True (--skip-missing)"
    if value is not None and str(value).strip().lower() == "nan":
        raise NanLabelError(f"{name!r} is NaN in {rows_phrase(rows.tolist())}; {remedy}")
    raise BlankFieldError(f"{name!r} is missing in {rows_phrase(rows.tolist())}; {remedy}")


def _sorted(task: IntArray, worker: IntArray, label: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Sort by task, then worker, then label: as one 64-bit number an answer, which numpy sorts fastest."""
    step = task[1:] - task[:-1]
    if np.all((step > 0) | ((step == 0) & (worker[1:] >= worker[:-1]))):
        return task, worker, label
    bits = [max(int(codes.max()).bit_length(), 1) for codes in (task, worker, label)]
    if sum(bits) > 63:
        order = np.lexsort([label, worker, task])
        return task[order], worker[order], label[order]
    packed = task.astype(np.int64)
    for codes, width in ((worker, bits[1]), (label, bits[2])):
        packed <<= width
        packed |= codes
    packed.sort()
    labels = (packed & ((1 << bits[2]) - 1)).astype(np.int32)
    packed >>= bits[2]
    workers = (packed & ((1 << bits[1]) - 1)).astype(np.int32)
    packed >>= bits[1]
    return packed.astype(np.int32), workers, labels


def _settle_repeats(tasks: IntArray, workers: IntArray, labels: IntArray, policy: str) -> tuple[BoolArray, BoolArray]:
    """Which answers stay, and which belong to a worker and task with more than one label."""
    same = (tasks[1:] == tasks[:-1]) & (workers[1:] == workers[:-1])
    first = np.concatenate([[True], ~same])
    group = np.cumsum(first) - 1
    differs = same & (labels[1:] != labels[:-1])
    clash = np.bincount(group[1:][differs], minlength=group[-1] + 1)[group] > 0
    last = np.concatenate([~same, [True]])
    keep = np.where(clash, {"first": first, "last": last}.get(policy, np.zeros_like(first)), first)
    return keep, clash


def _refuse_conflicts(clash: BoolArray, rows: IntArray, *columns: tuple[IntArray, pa.Array]) -> None:
    pairs: dict[tuple[Any, Any], list[tuple[int, Any]]] = {}
    (tasks, task_names), (workers, worker_names), (labels, label_names) = columns
    for k in np.flatnonzero(clash):
        who = (task_names[int(tasks[k])].as_py(), worker_names[int(workers[k])].as_py())
        pairs.setdefault(who, []).append((int(rows[k]), label_names[int(labels[k])].as_py()))
    (task, worker), given = min(pairs.items(), key=lambda item: item[1][0])
    raise ConflictingAnswersError(
        f"{len(pairs):,} worker{'s' if len(pairs) > 1 else ''} answered a task in two ways; "
        f"worker {shown(worker)} gave task {shown(task)} {listing([label for _, label in given])} "
        f"in {rows_phrase([row for row, _ in given])}. "
        "Choose on_conflict='first', 'last' or 'drop' (--on-conflict)"
    )
