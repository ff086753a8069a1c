"""`Ledger`: answers added in batches; counts, skills and labels are exactly those of one batch with all answers.

A ledger in memory stores its entries as arrays. The first small batch that is added builds dictionaries by task and
worker, so that the time to add an answer depends only on the number of answers to its task. Results are in canonical
order (`quorate.arrays.canonical_order`), so that they do not depend on how the answers were divided into batches.

`quorate.ledger.storage` stores a ledger on disk; there a batch is added without reading the others.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray, Table
from quorate.errors import NoRowsError, unknown_name_error
from quorate.io.arguments import check_arguments
from quorate.io.columns import order_classes
from quorate.io.options import POLICIES, ConflictPolicy, TableKeywords, read_options, split_reading
from quorate.io.read_table import Source
from quorate.io.rows import read_rows
from quorate.ledger.entries import (
    DROPPED,
    Added,
    Batch,
    Entries,
    combine,
    no_entries,
    read_entries,
)
from quorate.ledger.entry_table import EntryTable
from quorate.ledger.storage import load_entries, save_entries

if TYPE_CHECKING:  # importing methods, graphs and skills takes longer than adding a small batch
    from quorate.graph.pairs import PairStats
    from quorate.result import Result

T = TypeVar("T")
# Options that change the meaning of labels: they apply when all answers are read, not when a batch is added.
MEANING = ("abstain", "classes", "judges", "map", "merge_spellings")
BATCH_OPTIONS = TableKeywords.__optional_keys__ - {*MEANING, "group", "multi"}
REMEDIES = {
    **{name: f"the ledger keeps labels as they are given: use Ledger.aggregate({name}=...)" for name in MEANING},
    "group": "use Ledger.aggregate(group={worker: group})",
    "multi": "put the batches together and give them to quorate.read",
}
# If the ledger has fewer than this number of answers per entry of a batch, both are combined by sorting: it is faster.
MAX_RATIO = 8


class Ledger:
    """Answers that arrive over time. `add` and `merge` change this object.

    >>> ledger = Ledger()
    >>> ledger.add({"task": [1, 1], "worker": ["ann", "bob"], "label": ["cat", "dog"]}).n_answers
    2
    >>> ledger.add({"task": [1, 2, 2], "worker": ["cy", "bob", "ann"], "label": ["cat", "cat", "cat"]}).n_answers
    3
    >>> ledger.pairs.shared.tolist(), ledger.pairs.agreed.tolist(), ledger.answers.worker_names.to_pylist()
    ([2, 1, 1], [1, 1, 0], ['ann', 'bob', 'cy'])
    """

    def __init__(self) -> None:
        self._combined_entries: Entries | None = no_entries()  # None after a change of the table
        self._table: EntryTable | None = None  # created when a small batch is added
        self._cache: dict[str, Any] = {}  # results computed since the last change, by name

    def __len__(self) -> int:
        """Number of answers."""
        return self._table.n_answers if self._table is not None else self._entries.n_answers

    def __repr__(self) -> str:
        return f"<Ledger: {self.sizes()}>"

    def sizes(self) -> str:
        """Return the numbers of answers, tasks and workers as text."""
        if self._table is not None:
            return sizes_text(len(self), len(self._table.tasks), len(self._table.workers))
        tasks, workers, _ = self._entries.names
        return sizes_text(len(self), len(tasks), len(workers))

    @check_arguments
    def add(self, source: Source, **reading: Unpack[TableKeywords]) -> Added:
        """Add a batch of answers: all of it, or nothing if there is an error.

        The source and the options are those of `quorate.read` for a plain table, and its rules apply across batches: an
        exact repeat counts once, and a different label of the same worker for the same task is an error, unless
        ``on_conflict`` chooses which label is used. Labels are stored as they are given; their meaning (``abstain``,
        ``map``, ``classes``, ``merge_spellings``) is an option of `aggregate`.

        Raises:
            OptionError: an option would change the meaning of labels, or divide a task into several questions.
            InputError: the batch cannot be used; each cause has its own class, and the ledger is unchanged.
        """
        options = read_options(reading)
        options.refuse_but(BATCH_OPTIONS, "for a batch of a ledger", REMEDIES)
        entries = read_entries(source, options)
        before = self._counts()
        self._add_entries(entries, options.on_conflict)
        return Added(entries.n_rows, *(self._counts() - before).tolist())

    @check_arguments
    def merge(self, other: "Ledger", *, on_conflict: ConflictPolicy = "error") -> None:
        """Add all answers of another ledger, as if its rows had been added here; the other ledger does not change.

        Args:
            other: a ledger with any tasks, also the same ones.
            on_conflict: if both have different labels for a task and worker: ``error``, keep the label of this ledger
                (``first``) or of the other (``last``), or ``drop`` both.

        Raises:
            ConflictingAnswersError: the two contradict each other.
            ColumnTypeError: their ids are of different types.
        """
        if on_conflict not in POLICIES:
            raise unknown_name_error(on_conflict, POLICIES, "on_conflict= (--on-conflict)")
        self._add_entries(other._entries, on_conflict)

    def __add__(self, other: "Ledger") -> "Ledger":
        """Return a new ledger with the answers of both; a contradiction between them is an error."""
        if not isinstance(other, Ledger):
            return NotImplemented
        both = Ledger()
        both.merge(self)
        both.merge(other)
        return both

    @property
    def answers(self) -> Answers:
        """All answers as one batch; tasks, workers and classes in the order of their names.

        Raises:
            NoRowsError: the ledger is empty.
        """
        return self._cached("answers", self._make_answers)

    @property
    def pairs(self) -> "PairStats":
        """Shared and agreed tasks of every pair of workers; the codes are those of ``answers.worker_names``.

        They are counted at the first use; later, a small batch changes only the counts of its tasks.
        """
        return self._cached("pairs", self._make_pairs)

    @check_arguments
    def aggregate(self, method: str = "quorate", **options: Any) -> "Result":
        """Return labels and skills from all answers: `quorate.aggregate` of `answers`.

        Args:
            method: a name from `quorate.methods.registry.METHODS`.
            options: the meaning of labels, as in `quorate.read` (``abstain``, ``map``, ``classes``,
                ``merge_spellings``); all other options are those of the method.

        >>> ledger = Ledger()
        >>> added = ledger.add({"task": [1, 1], "worker": ["ann", "bob"], "label": ["cat", "unsure"]})
        >>> ledger.aggregate(abstain=["unsure"]).answers.classes.to_pylist()
        ['cat']
        """
        from quorate.methods.aggregate import aggregate

        reading, method_options = split_reading(options)
        meaning = read_options(reading)
        meaning.refuse_but(MEANING, "for answers that a ledger holds")
        answers = self.answers
        judges = reading.pop("judges", None)
        if reading:
            read_again = read_rows(answers.to_table(), meaning)
            counts = {name: getattr(answers, name) for name in ("n_rows", "n_repeats", "n_conflicting", "n_skipped")}
            answers = replace(read_again, **counts)
        return aggregate(replace(answers, judges=judges), method, **method_options)

    def skills(self) -> Table:
        """Estimate skills from the pair counts alone: worker, skill, n_answers, n_peers, status.

        They are the skills of the method ``rank-one``, up to the tolerance of its solver.
        """
        from quorate.ledger.pair_counts import pair_skills

        entries = self._entries
        has_label = entries.label != DROPPED
        per_worker = np.bincount(entries.worker[has_label], minlength=len(entries.names[1]))
        n_classes = len(np.unique(entries.label[has_label]))
        return pair_skills(self.pairs, entries.names[1], per_worker, n_classes)

    @check_arguments
    def save(self, path: str | Path) -> None:
        """Write the ledger to a folder; an existing ledger is replaced atomically.

        `quorate.ledger.append` adds to a ledger on disk without loading it.

        Raises:
            UnwritableFileError: the parent folder does not exist, or writing is not permitted.
        """
        save_entries(self._entries, path)

    @classmethod
    def load(cls, path: str | Path) -> "Ledger":
        """Read a ledger that `save` wrote, or a single-file ledger of version 0.2.

        Raises:
            UnreadableFileError: there is no such ledger, or reading it is not permitted.
            LedgerFileError: it is not a ledger, is incomplete or damaged, or was written by a newer version.
        """
        ledger = cls()
        ledger._combined_entries = load_entries(path)
        return ledger

    def _add_entries(self, entries: Entries, on_conflict: str) -> None:
        """Add entries; if they raise an error, nothing has changed."""
        if len(entries.task) * MAX_RATIO > len(self):
            self._combined_entries = combine([Batch(self._entries, "error"), Batch(entries, on_conflict)])
            self._table = None
        else:
            table = EntryTable(self._entries) if self._table is None else self._table
            if table.pairs is None and "pairs" in self._cache:
                table.count_pairs(self._cache["pairs"])
            table.add(entries, on_conflict)
            self._table = table
            self._combined_entries = None
        self._cache = {}

    @property
    def _entries(self) -> Entries:
        """All entries, in the order of the ids: it does not depend on how the rows were divided into batches."""
        if self._combined_entries is None:
            assert self._table is not None
            self._combined_entries = self._table.entries()
        return self._combined_entries

    def _cached(self, name: str, compute: Callable[[], T]) -> T:
        """Return ``compute()``, evaluated once for each state of the ledger and stored by name."""
        if name not in self._cache:
            self._cache[name] = compute()
        value: T = self._cache[name]
        return value

    def _make_answers(self) -> Answers:
        entries = self._entries
        if not entries.n_answers:
            raise NoRowsError("the ledger holds no answers yet; add some")
        task, worker, label = entries.task, entries.worker, entries.label
        if entries.n_answers < len(label):
            has_label = label != DROPPED
            task = task[has_label]
            worker = worker[has_label]
            label = label[has_label]
        tasks, workers, label_names = entries.names
        labels, classes = order_classes(label, label_names, None)
        return Answers(
            task,
            worker,
            labels,
            tasks,
            workers,
            classes,
            n_rows=entries.n_rows,
            n_repeats=entries.n_repeats,
            n_conflicting=entries.n_conflicting,
            n_skipped=entries.n_skipped,
        )

    def _make_pairs(self) -> "PairStats":
        from quorate.graph.pairs import pair_stats

        table = self._table
        if table is not None and table.pairs is not None:
            return table.pairs.stats(table.rank(table.workers)[0])
        return pair_stats(self.answers)

    def _counts(self) -> IntArray:
        source = self._table if self._table is not None else self._entries
        return np.array([source.n_answers, source.n_repeats, source.n_conflicting, source.n_skipped])


def sizes_text(n_answers: int, n_tasks: int, n_workers: int) -> str:
    """Return the sizes of a ledger as text.

    >>> sizes_text(1, 1, 2)
    '1 answer, 1 task, 2 workers'
    """
    numbers = {"answer": n_answers, "task": n_tasks, "worker": n_workers}
    return ", ".join(f"{n:,} {what}{'' if n == 1 else 's'}" for what, n in numbers.items())
