"""Rows of complete tasks with codes -> answers in order, repeats and conflicts resolved as in memory."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quorate.answers import CrowdInfo
from quorate.arrays import IntArray, from_numpy, is_among, starts_of, take, to_numpy
from quorate.backends.partition import Coder, PartitionedRows
from quorate.blocks.block import Abstentions
from quorate.io.columns import encode, in_order_of_ids, order_classes
from quorate.io.conflicts import ResolvedRows, refuse_conflict, refuse_if_none_left, resolve_conflicts
from quorate.io.labels import ABSTAINS, UNUSED, takes_blanks
from quorate.io.options import ReadOptions

MAX_CODE_BITS = 31  # an integer id minus the smallest of its file is used as code up to this size


@dataclass
class Totals:
    """Counts of rows, answers and conflicts. This object changes while rows are read."""

    per_worker: IntArray
    per_class: IntArray
    n_tasks: int = 0
    n_answers: int = 0
    n_repeats: int = 0
    n_conflicting: int = 0
    n_skipped: int = 0
    n_clashes: int = 0
    abstained: IntArray | None = None  # the abstentions of each worker; None where there are none
    clash: tuple[Any, Any, list[Any]] | None = None  # task, worker and labels of the first conflict

    def add(self, rows: ResolvedRows, n_tasks: int) -> None:
        """Count the answers of some tasks."""
        self.per_worker += np.bincount(rows.worker, minlength=len(self.per_worker))
        self.per_class += np.bincount(rows.label, minlength=len(self.per_class))
        self.n_tasks += n_tasks
        self.n_answers += len(rows.task)
        self.n_repeats += rows.n_repeats
        self.n_conflicting += rows.n_conflicting

    def count_abstentions(self, worker: IntArray) -> None:
        """Count abstentions, by the worker of each."""
        if len(worker):
            self._add_abstentions(np.bincount(worker, minlength=len(self.per_worker)))

    def _add_abstentions(self, abstained: IntArray | None) -> None:
        if abstained is not None:
            self.abstained = abstained if self.abstained is None else self.abstained + abstained

    def merge(self, other: "Totals") -> None:
        """Add the counts of another partition, except the answers of each worker, which it does not have."""
        self.per_class += other.per_class
        self._add_abstentions(other.abstained)
        for name in ("n_tasks", "n_answers", "n_repeats", "n_conflicting", "n_skipped", "n_clashes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.clash = self.clash or other.clash


@dataclass(frozen=True)
class TaskRows:
    """Complete tasks with their answers."""

    names: pa.Array  # of the tasks, in their order
    rows: ResolvedRows  # the answers; labels are classes
    symbol: IntArray | None  # [answers], the label given, where several labels mean a class
    abstentions: Abstentions | None  # None if workers cannot abstain


def no_totals(rows: PartitionedRows) -> Totals:
    """Return totals of zero.

    >>> nobody = pa.array([], pa.string())
    >>> no_totals(PartitionedRows((), nobody, pa.array(["x"]), np.zeros(0), np.zeros(1), 0, 0)).per_class.tolist()
    [0]
    """
    return Totals(np.zeros(len(rows.worker_names), np.int64), np.zeros(len(rows.classes), np.int64))


def resolve_task_rows(
    table: pa.Table, rows: PartitionedRows, reading: ReadOptions, totals: Totals, missing: Coder
) -> TaskRows:
    """Return rows with tasks coded in the order of their ids, and repeats and conflicts resolved; update the totals.

    Args:
        table: task, w and c (and order), of whole tasks.
        rows: the meaning of w and c.
        reading: how conflicts and missing fields are handled.
        totals: counts that are updated, except those of `Totals.add`.
        missing: counter of rows without a task.

    >>> table = pa.table({"task": ["b", "a"], "w": pa.array([0, 0], pa.int32()), "c": pa.array([0, 0], pa.int32())})
    >>> rows = PartitionedRows((), pa.array(["ann"]), pa.array(["x"]), np.zeros(1, int), np.zeros(1, int), 2, 0)
    >>> tasks = resolve_task_rows(table, rows, ReadOptions(), no_totals(rows), Coder("task"))
    >>> tasks.names.to_pylist(), tasks.rows.worker.tolist()
    (['a', 'b'], [0, 0])
    """
    w, c = (_numbers(table.column(name)) for name in ("w", "c"))
    present = (w >= 0) & (c >= 0)
    worker = np.append(rows.worker_code, -1).astype(np.int32)[w]
    blank = ABSTAINS - rows.n_abstentions + 1 if takes_blanks(reading) else UNUSED  # the last abstention label
    label = np.append(rows.class_code, blank).astype(np.int32)[c]
    column = table.column("task")
    all_answer = present.all() and (label >= 0).all()  # else a task may have no answer left
    task, names = _codes_from_integers(column) if all_answer and reading.on_conflict != "drop" else (None, None)
    if task is None:
        task, names = _code_tasks(column, (worker, label), rows, reading, missing)
        present &= task >= 0
    totals.n_skipped += len(present) - int(present.sum())
    abstentions = (w >= 0) & (task >= 0) & (label <= ABSTAINS)
    present &= label >= 0
    if "order" in table.column_names:
        order = row_order(table.column("order"), label, reading.on_conflict)
        task = task[order]
        worker = worker[order]
        label = label[order]
        present = present[order]
        abstentions = abstentions[order]
    abstained = task[abstentions], worker[abstentions], ABSTAINS - label[abstentions]
    if not present.all():
        task = task[present]
        worker = worker[present]
        label = label[present]
    resolved = resolve_conflicts(task, worker, label, reading.on_conflict)
    if resolved.clashing is not None and len(resolved.clashing):
        _note_clash(resolved.clashing, (task, worker, label), names, column, rows, totals)
    symbol = resolved.label + rows.n_abstentions if rows.has_grades else None
    if rows.class_of_symbol is not None:
        resolved = replace(resolved, label=rows.class_of_symbol[resolved.label].astype(np.int32))
    if names is None:  # codes are differences of ids: number the tasks of the file without gaps
        first = np.ones(len(resolved.task), dtype=bool)
        first[1:] = resolved.task[1:] != resolved.task[:-1]
        names = from_numpy(resolved.task[first].astype(np.int64) + _smallest(column)).cast(column.type)
        resolved = ResolvedRows(
            np.cumsum(first) - 1, resolved.worker, resolved.label, resolved.n_repeats, resolved.n_conflicting
        )
    if rows.n_abstentions:
        abstentions_left = _resolved_abstentions(
            *abstained, resolved, (len(names), len(rows.worker_names)), "order" in table.column_names
        )
        totals.count_abstentions(abstentions_left.worker)
    return TaskRows(names, resolved, symbol, abstentions_left if rows.n_abstentions else None)


def _code_tasks(
    column: pa.ChunkedArray,
    codes: tuple[IntArray, IntArray],
    rows: PartitionedRows,
    reading: ReadOptions,
    missing: Coder,
) -> tuple[IntArray, pa.Array]:
    """Return the codes of tasks in the order of their ids, -1 for rows without one, and the ids; note such a row."""
    task, names = encode(column, reading.columns[0])
    lacking = np.flatnonzero(task < 0)
    if len(lacking):
        one = int(lacking[0])
        worker, label = (int(code[one]) for code in codes)
        who = None if worker < 0 else rows.worker_names[worker].as_py()
        what = None if label < 0 else rows.answered[label].as_py()
        missing.note(len(lacking), {"task": column[one].as_py(), "worker": who, "label": what})
    return in_order_of_ids(task, names)


def _resolved_abstentions(
    task: IntArray, worker: IntArray, symbol: IntArray, resolved: ResolvedRows, sizes: tuple[int, int], ordered: bool
) -> Abstentions:
    """Return one abstention per worker and task, the first one or the first by name; none where there is an answer."""
    n_tasks, n_workers = sizes
    if not ordered:
        by_symbol = np.argsort(symbol, kind="stable")
        task = task[by_symbol]
        worker = worker[by_symbol]
        symbol = symbol[by_symbol]
    pair, first_row = np.unique(task.astype(np.int64) * n_workers + worker, return_index=True)
    answered_pair = resolved.task.astype(np.int64) * n_workers + resolved.worker
    is_alone = ~is_among(pair, answered_pair)
    pair = pair[is_alone]
    first_row = first_row[is_alone]
    start = starts_of(np.bincount(pair // n_workers, minlength=n_tasks))
    return Abstentions(start, (pair % n_workers).astype(np.int32), symbol[first_row])


def _codes_from_integers(column: pa.ChunkedArray) -> tuple[IntArray | None, None]:
    """Return integer ids minus the smallest as codes, if they fit in 31 bits; else None. The second value is None."""
    if not pa.types.is_integer(column.type) or column.null_count:
        return None, None
    low = _smallest(column)
    high = int(pc.max(column).as_py())
    if (high - low).bit_length() > MAX_CODE_BITS or high >= 1 << 62 or low < -(1 << 62):
        return None, None
    return (_numbers(column).astype(np.int64) - low).astype(np.int32), None


def _smallest(column: pa.ChunkedArray) -> int:
    return int(pc.min(column).as_py())


def _numbers(column: pa.ChunkedArray) -> IntArray:
    return np.concatenate([to_numpy(chunk) for chunk in column.chunks])


def row_order(order: pa.ChunkedArray, class_code: IntArray, on_conflict: str) -> IntArray:
    """Return the indices that sort rows by the order column, for a policy by which the first or the last answer counts.

    If two labels have the same position in the order, the first class counts.

    >>> row_order(pa.chunked_array([[2, 1, 1]]), np.array([0, 1, 0]), "first").tolist()
    [2, 1, 0]
    >>> row_order(pa.chunked_array([[2, 1, 1]]), np.array([0, 1, 0]), "last").tolist()
    [1, 2, 0]
    """
    class_order = "ascending" if on_conflict == "first" else "descending"
    keys = pa.table({"order": order, "class": from_numpy(class_code)})
    return to_numpy(pc.sort_indices(keys, [("order", "ascending"), ("class", class_order)])).astype(np.int64)


def _note_clash(
    rows: IntArray,
    codes: tuple[IntArray, IntArray, IntArray],
    names: pa.Array | None,
    column: pa.ChunkedArray,
    partitioned: PartitionedRows,
    totals: Totals,
) -> None:
    """Count the workers who gave a task several labels, and keep the first one as an example."""
    task, worker, label = (code[rows] for code in codes)
    is_first = np.concatenate([[True], (task[1:] != task[:-1]) | (worker[1:] != worker[:-1])])
    n_clashes = int(is_first.sum())
    totals.n_clashes += n_clashes
    if totals.clash is None:
        n_rows = int(np.flatnonzero(is_first)[1]) if n_clashes > 1 else len(is_first)  # of the first clash
        task_id = int(task[0]) + _smallest(column) if names is None else names[int(task[0])].as_py()
        worker_id = partitioned.worker_names[int(worker[0])].as_py()
        labels = take(partitioned.answered, np.sort(label[:n_rows])).to_pylist()
        totals.clash = (task_id, worker_id, labels)


def check_totals(totals: Totals, rows: PartitionedRows, reading: ReadOptions, missing: Coder) -> None:
    """Raise the error of missing tasks, conflicts or no answers, if the options ask for it.

    Raises:
        InputError: tasks are missing, answers contradict each other, or none is left.

    >>> rows = PartitionedRows((), pa.array(["ann"]), pa.array(["x"]), np.zeros(1, int), np.zeros(1, int), 2, 0)
    >>> check_totals(no_totals(rows), rows, ReadOptions(on_conflict="drop"), Coder("task"))
    Traceback (most recent call last):
    quorate.errors.NoRowsError: all 2 rows conflict; no answer is left. Keep some with on_conflict='first' or ...
    """
    if missing.n_missing and not reading.skip_missing:
        missing.refuse("task", reading.columns)
    if reading.on_conflict == "error" and totals.clash is not None:
        task, worker, labels = totals.clash
        refuse_conflict(worker, task, labels, totals.n_clashes)
    refuse_if_none_left(totals.n_answers, rows.n_rows)


def classes_in_use(rows: PartitionedRows, totals: Totals, reading: ReadOptions) -> tuple[pa.Array, IntArray | None]:
    """Return the classes, and their new codes if classes are left out because all of their answers were dropped.

    >>> rows = PartitionedRows((), pa.array(["ann"]), pa.array(["x", "y"]), np.zeros(1, int), np.zeros(2, int), 1, 0)
    >>> classes, code = classes_in_use(rows, Totals(np.array([1]), np.array([0, 1])), ReadOptions())
    >>> classes.to_pylist(), code.tolist()
    (['y'], [0, 0])
    """
    used: IntArray = np.flatnonzero(totals.per_class)
    if reading.classes is not None or rows.class_of_symbol is not None or len(used) == len(rows.classes):
        return rows.classes, None
    new, listed = order_classes(used, rows.classes, None)
    code = np.zeros(len(rows.classes), np.int32)
    code[used] = new
    return listed, code


def points_in_use(totals: Totals, rows: PartitionedRows, classes: pa.Array) -> IntArray | None:
    """Return the class of each symbol, -1 for abstentions; None where every label is a class.

    >>> zero = np.zeros(1, int)
    >>> rows = PartitionedRows((), pa.array(["ann"]), pa.array(["x"]), zero, zero, 1, 0, n_abstentions=1)
    >>> totals = Totals(np.array([1]), np.array([1]), abstained=np.array([2]))
    >>> points_in_use(totals, rows, rows.classes).tolist()
    [-1, 0]
    """
    return rows.symbols(len(classes)) if rows.has_grades or totals.abstained is not None else None


def crowd_info_of(totals: Totals, rows: PartitionedRows, classes: pa.Array, engine: str) -> CrowdInfo:
    """Return the workers, classes and counts of a crowd.

    >>> rows = PartitionedRows((), pa.array(["ann"]), pa.array(["x"]), np.zeros(1, int), np.zeros(1, int), 1, 0)
    >>> crowd_info_of(Totals(np.array([1]), np.array([1]), n_tasks=1), rows, rows.classes, "duckdb").n_answers
    1
    """
    return CrowdInfo(
        engine=engine,
        worker_names=rows.worker_names,
        classes=classes,
        per_worker=totals.per_worker,
        n_tasks=totals.n_tasks,
        n_rows=rows.n_rows,
        n_repeats=totals.n_repeats,
        n_conflicting=totals.n_conflicting,
        n_skipped=totals.n_skipped,
        abstained_per_worker=totals.abstained,
        unused_abstention_labels=rows.unused_abstention_labels,
    )
