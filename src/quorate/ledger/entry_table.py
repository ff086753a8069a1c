"""Entries of a ledger in memory, by task and worker, to which small batches are added one answer at a time.

Ids have codes in the order of arrival, so that the time to add an answer depends only on the answers to its task.
"""

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray
from quorate.io.columns import in_order_of_ids
from quorate.ledger.entries import (
    COLUMNS,
    DROPPED,
    Entries,
    check_type,
    entry_keys,
    first_contradiction,
    ids_of,
    keys_of,
    one_type,
    recode,
    standing_label,
)

if TYPE_CHECKING:
    from quorate.graph.pairs import PairStats
    from quorate.ledger.pair_counts import PairTally


class Names:
    """Ids of one kind and their codes; `learn` changes this object.

    >>> names = Names("tasks")
    >>> names.learn(pa.array(["b", "a"])).tolist(), names.find(pa.array(["a", "c"])).tolist()
    ([0, 1], [1, -1])
    """

    __slots__ = ("codes", "kind", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self.kind = pa.null()  # no type yet
        self.codes: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def find(self, names: pa.Array) -> IntArray:
        """Return the code of each id, -1 for unknown ids.

        Raises:
            ColumnTypeError: the ids are of another type than those of this object.
        """
        keys = keys_of(self._checked(names))
        return np.fromiter((self.codes.get(key, -1) for key in keys), np.int64, len(keys))

    def learn(self, names: pa.Array) -> IntArray:
        """Return the code of each id; unknown ids get new codes."""
        names = self._checked(names)
        if len(names):
            self.kind = names.type
        codes = self.codes
        return np.fromiter((codes.setdefault(key, len(codes)) for key in keys_of(names)), np.int64, len(names))

    def array(self) -> pa.Array:
        """Return all ids, in order of arrival."""
        return ids_of(list(self.codes), self.kind)

    def _checked(self, names: pa.Array) -> pa.Array:
        names = one_type(names, self.what)
        if len(names) and self.codes:
            check_type(names.type, self.kind, self.what)
        return names


class EntryTable:
    """Labels by task and worker, with the number of rows that gave them. `add` changes this object.

    >>> from quorate.io.options import ReadOptions
    >>> from quorate.ledger.entries import no_entries, read_entries
    >>> table = EntryTable(no_entries())
    >>> table.add(read_entries({"task": ["t"], "worker": ["a"], "label": ["x"]}, ReadOptions()), "error")
    >>> table.n_answers, table.labels_of_task
    (1, [{0: 0}])
    """

    def __init__(self, entries: Entries) -> None:
        self.tasks, self.workers, self.labels = (Names(what) for what in COLUMNS)
        self.labels_of_task: list[dict[int, int]] = []  # [tasks], worker -> label, or DROPPED
        self.rows: dict[tuple[int, int], int] = {}  # (task, worker) -> number of rows; missing if 1
        self.clashed: set[tuple[int, int]] = set()  # (task, worker) whose rows gave more than one label
        self.n_answers = 0
        self.n_repeats = 0
        self.n_conflicting = 0
        self.n_skipped = 0
        self.pairs: PairTally | None = None  # pair counts, updated by `add`; None until `count_pairs`
        self.add(entries, "error")

    def count_pairs(self, pairs: "PairStats") -> None:
        """Update these pair counts in all later changes; the workers' codes in `pairs` are those of the sorted ids."""
        from quorate.ledger.pair_counts import PairTally

        rank, _ = self.rank(self.workers)
        self.pairs = PairTally(pairs, np.argsort(rank))

    def rank(self, names: Names) -> tuple[IntArray, pa.Array]:
        """Return the rank of each code in canonical order, and the ids in that order."""
        return in_order_of_ids(np.arange(len(names)), names.array())

    def add(self, entries: Entries, on_conflict: str) -> None:
        """Add entries; if they raise an error, nothing has changed.

        Raises:
            ColumnTypeError: ids are of another type than those of the table.
            ConflictingAnswersError: entries contradict the table, and the policy is ``error``.
        """
        columns = list(zip((self.tasks, self.workers, self.labels), entries.names, strict=True))
        known = [names.find(ids) for names, ids in columns]
        if on_conflict == "error":
            self._refuse_contradictions(entries, known)
        tasks, workers, labels = (names.learn(ids) for names, ids in columns)
        self.labels_of_task += [{} for _ in range(len(self.tasks) - len(self.labels_of_task))]
        self.n_skipped += entries.n_skipped
        arrays = (tasks[entries.task], workers[entries.worker], recode(entries.label, labels))
        for task, worker, label, rows, clashed in zip(
            *(array.tolist() for array in (*arrays, entries.rows, entries.clashed)), strict=True
        ):
            by_worker = self.labels_of_task[task]
            if rows == 1 and worker not in by_worker:  # almost all entries
                self._set_label(by_worker, worker, None, label)
            else:
                self._join(task, worker, label, rows, clashed, on_conflict)

    def entries(self) -> Entries:
        """Return all entries, in the order of the ids."""
        task_rank, tasks = self.rank(self.tasks)
        worker_rank, workers = self.rank(self.workers)
        label_rank, labels = self.rank(self.labels)
        sizes = [len(by_worker) for by_worker in self.labels_of_task]
        n = sum(sizes)
        task = task_rank[np.repeat(np.arange(len(sizes)), sizes)].astype(np.int32)
        worker = worker_rank[np.fromiter(chain.from_iterable(self.labels_of_task), np.int64, n)].astype(np.int32)
        values = chain.from_iterable(by_worker.values() for by_worker in self.labels_of_task)
        label = recode(np.fromiter(values, np.int64, n), label_rank.astype(np.int32))
        key = entry_keys(task, worker)
        order = np.argsort(key, kind="stable")
        rows = np.ones(n, np.int64)
        clashed = np.zeros(n, dtype=bool)
        several = np.array(list(self.rows), np.int64).reshape(-1, 2)
        keys = entry_keys(task_rank[several[:, 0]], worker_rank[several[:, 1]])
        position = np.searchsorted(key[order], keys)
        rows[position] = list(self.rows.values())
        clashed[position] = [pair in self.clashed for pair in self.rows]
        return Entries(
            task[order], worker[order], label[order], rows, clashed, (tasks, workers, labels), self.n_skipped
        )

    def _refuse_contradictions(self, entries: Entries, known: list[IntArray]) -> None:
        """Raise an error if entries have another label than the table for the same task and worker."""
        tasks, workers, labels = known
        task = tasks[entries.task]
        worker = workers[entries.worker]
        # A label that the table does not have gets a code that differs from all others.
        label = recode(entries.label, np.where(labels < 0, len(self.labels), labels))
        both_known = np.flatnonzero((task >= 0) & (worker >= 0))
        clashes = []
        for k, t, w, new in zip(
            both_known.tolist(), *(codes[both_known].tolist() for codes in (task, worker, label)), strict=True
        ):
            old = self.labels_of_task[t].get(w)
            if old is not None and old != new:
                clashes.append((k, old))
        if clashes:
            raise first_contradiction(entries, clashes, lambda code: self.labels.array()[code].as_py())

    def _join(self, task: int, worker: int, label: int, rows: int, clashed: bool, on_conflict: str) -> None:
        """Combine an entry with the entry of the table for its task and worker, if there is one."""
        key = (task, worker)
        by_worker = self.labels_of_task[task]
        old = by_worker.get(worker)
        standing = label
        if old is not None:
            rows_before = self.rows.get(key, 1)
            self._count_left_out(-(rows_before - (old != DROPPED)), key in self.clashed)
            rows += rows_before
            clashed = clashed or key in self.clashed or label != old
            standing = standing_label(old, label, on_conflict)
        self._count_left_out(rows - (standing != DROPPED), clashed)
        self.rows[key] = rows
        if clashed:
            self.clashed.add(key)
        self._set_label(by_worker, worker, old, standing)

    def _count_left_out(self, rows: int, clashed: bool) -> None:
        if clashed:
            self.n_conflicting += rows
        else:
            self.n_repeats += rows

    def _set_label(self, by_worker: dict[int, int], worker: int, old: int | None, label: int) -> None:
        """Set a label, and update the pair counts; the time grows with the number of answers to the task."""
        if old is not None and old != DROPPED:
            self._count(by_worker, worker, old, -1)
        by_worker[worker] = label
        if label != DROPPED:
            self._count(by_worker, worker, label, 1)

    def _count(self, by_worker: dict[int, int], worker: int, label: int, by: int) -> None:
        self.n_answers += by
        if self.pairs is not None:
            self.pairs.count(by_worker, worker, label, by)
