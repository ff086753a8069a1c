"""Table or file -> `Answers`: integer codes and the names behind them. Nothing later on the path knows names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.arrow import table_of, take
from quorate.columns import encode, order_classes
from quorate.errors import (
    BlankFieldError,
    ConflictingAnswersError,
    NanLabelError,
    NoRowsError,
    listing,
    one_of,
    rows_phrase,
)
from quorate.files import Source, read_table
from quorate.progress import report
from quorate.table import Table

POLICIES = ("error", "first", "last", "drop")  # what to do when a worker gave one task two different labels


class Counted(Protocol):
    """How many there are of everything: what a summary needs, wherever the answers themselves lie."""

    @property
    def n_tasks(self) -> int:
        """How many tasks."""

    @property
    def n_workers(self) -> int:
        """How many workers."""

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""

    @property
    def n_answers(self) -> int:
        """How many answers."""

    @property
    def per_worker(self) -> IntArray:
        """N_i, the answers of each worker."""

    @property
    def n_repeats(self) -> int:
        """Rows that repeat an answer exactly; counted once."""

    @property
    def n_conflicting(self) -> int:
        """Rows left out by the conflict policy."""

    @property
    def n_skipped(self) -> int:
        """Rows left out because a field was missing."""


@dataclass(frozen=True)
class Answers:
    """Who answered what, as integer codes: one entry an answer, ordered by task, then by worker.

    The codes of tasks and workers follow their first appearance; those of classes follow the order of the classes
    (numbers by value, text by alphabet), so that nothing depends on the order of the rows.
    """

    task: IntArray  # shape (answers,), never decreasing
    worker: IntArray
    label: IntArray
    task_names: pa.Array
    worker_names: pa.Array
    classes: pa.Array
    n_rows: int = 0  # rows read, before anything below was left out
    n_repeats: int = 0  # rows that repeat an answer exactly; counted once
    n_conflicting: int = 0  # rows left out by the conflict policy
    n_skipped: int = 0  # rows left out because a field was missing

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return len(self.task)

    @property
    def n_tasks(self) -> int:
        """How many tasks there are, those whose answers were all left out included."""
        return len(self.task_names)

    @property
    def n_workers(self) -> int:
        """How many workers there are."""
        return len(self.worker_names)

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return len(self.classes)

    @cached_property
    def per_task(self) -> IntArray:
        """R_t, the answers of each task."""
        return np.bincount(self.task, minlength=self.n_tasks)

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i, the answers of each worker."""
        return np.bincount(self.worker, minlength=self.n_workers)

    @cached_property
    def counts(self) -> FloatArray:
        """How many workers gave each task each class; shape (tasks, classes)."""
        cells = self.task.astype(np.int64) * self.n_classes + self.label
        flat = np.bincount(cells, minlength=self.n_tasks * self.n_classes)
        return flat.reshape(self.n_tasks, self.n_classes).astype(np.float64)

    def to_table(self) -> Table:
        """Return the answers as `quorate.read` takes them: task, worker, label."""
        columns = {
            "task": (self.task_names, self.task),
            "worker": (self.worker_names, self.worker),
            "label": (self.classes, self.label),
        }
        return Table(table_of({name: take(names, codes) for name, (names, codes) in columns.items()}))

    def with_worker(self, labels: IntArray) -> "Answers":
        """Add one worker, the last, who gives task t the class ``labels[t]``, or does not answer where that is -1."""
        answered = np.flatnonzero(labels >= 0)
        task = np.concatenate([self.task, answered.astype(self.task.dtype)])
        order = np.argsort(task, kind="stable")
        worker = np.concatenate([self.worker, np.full(len(answered), self.n_workers, self.worker.dtype)])
        label = np.concatenate([self.label, labels[answered].astype(self.label.dtype)])
        names = pa.concat_arrays([self.worker_names, pa.nulls(1, self.worker_names.type)])
        return replace(self, task=task[order], worker=worker[order], label=label[order], worker_names=names)


def read(
    source: Source,
    *,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    on_conflict: str = "error",
    skip_missing: bool = False,
    classes: Sequence[Any] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Answers:
    """Read answers from a file or a table.

    Args:
        source: a path (CSV, TSV, Parquet, JSON lines, also compressed), ``"-"`` for standard input, a mapping of
            columns, or any table that speaks Arrow (pandas, polars, pyarrow, a DuckDB relation).
        task: the column of task ids.
        worker: the column of worker ids.
        label: the column of labels.
        on_conflict: when a worker gave one task two different labels: ``error``, keep the ``first`` or the ``last``,
            or ``drop`` them all. An exact repeat always counts once.
        skip_missing: leave out rows with a missing field, and count them, instead of refusing.
        classes: every class there is, in order, if some may not occur in the answers.
        format: ``csv``, ``tsv``, ``parquet`` or ``jsonl``, where the name does not say.
        delimiter: what separates the fields of a CSV file, if it is no comma.
        encoding: of a CSV file.

    Raises:
        InputError: the data cannot be used; each cause has its own class, and the message names the rows.

    >>> answers = read({"task": [1, 1, 2], "worker": ["ann", "bob", "ann"], "label": ["cat", "dog", "cat"]})
    >>> answers.n_tasks, answers.n_workers, answers.classes.to_pylist()
    (2, 2, ['cat', 'dog'])
    """
    one_of(on_conflict, POLICIES, "conflict policy")
    table = read_table(source, [task, worker, label], format=format, delimiter=delimiter, encoding=encoding)
    if table.num_rows == 0:
        raise NoRowsError("there are columns, but no answers under them")
    names = (task, worker, label)
    columns = []
    for k, name in enumerate(names):
        report("encoding", k, len(names))
        columns.append(encode(table.column(k), name, is_label=k == 2))
    report("encoding", len(names), len(names))
    present = np.logical_and.reduce([codes >= 0 for codes, _ in columns])
    if not present.all() and not skip_missing:
        _refuse_missing(table, {name: codes for name, (codes, _) in zip(names, columns, strict=True)})
    if not present.any():
        raise NoRowsError(f"all {table.num_rows:,} rows lack a field; no answer is left")
    n_rows = table.num_rows
    del table  # the text is the largest thing in memory
    (tasks, task_names), (workers, worker_names), (labels, label_names) = columns
    if not present.all():
        tasks, workers, labels = tasks[present], workers[present], labels[present]
    n_repeats = n_conflicting = 0
    in_order = _sorted(tasks, workers, labels)
    if np.any((in_order[0][1:] == in_order[0][:-1]) & (in_order[1][1:] == in_order[1][:-1])):
        order = np.lexsort([workers, tasks])  # stable: the rows of a repeat stay in their order
        tasks, workers, labels = tasks[order], workers[order], labels[order]
        keep, clash = _settle_repeats(tasks, workers, labels, on_conflict)
        if on_conflict == "error" and clash.any():
            rows = np.flatnonzero(present)[order]
            _refuse_conflicts(clash, rows, (tasks, task_names), (workers, worker_names), (labels, label_names))
        if not keep.any():
            raise NoRowsError(f"all {n_rows:,} rows conflict; no answer is left. Keep the 'first' or the 'last'")
        n_conflicting = int((~keep & clash).sum())
        n_repeats = int((~keep).sum()) - n_conflicting
        in_order = tasks[keep], workers[keep], labels[keep]
    tasks, workers, labels = in_order
    labels, class_names = order_classes(labels, label_names, classes)
    return Answers(
        tasks,
        workers,
        labels,
        task_names,
        worker_names,
        class_names,
        n_rows=n_rows,
        n_repeats=n_repeats,
        n_conflicting=n_conflicting,
        n_skipped=n_rows - int(present.sum()),
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
        f"worker {worker!r} gave task {task!r} {listing([label for _, label in given])} "
        f"in {rows_phrase([row for row, _ in given])}. "
        "Choose on_conflict='first', 'last' or 'drop' (--on-conflict)"
    )
