"""`Ledger`: answers added in any batches and any order; counts, skills and labels are those of one batch, exactly.

What arrives is kept by codes in order of arrival, so that adding an answer touches its own task and no more. What is
handed out is in canonical order (`quorate.arrays.canonical_order`), so that it depends on what was added and not on
how: the same rows give the same bytes.

A batch that says something else than the ledger does -> an error that names the worker and the task.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, Unpack

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import IntArray, Table
from quorate.errors import ConflictingAnswersError, NoRowsError, shown, unknown
from quorate.graph.pairs import PairStats, pair_stats
from quorate.io.columns import in_order_of_ids, order_classes
from quorate.io.options import POLICIES, TableKeywords, read_options, split_reading
from quorate.io.read_table import Source
from quorate.io.rows import read_rows
from quorate.ledger.entries import DROPPED, Added, Entries, Names, coded, read_entries
from quorate.ledger.pair_counts import PairTally, pair_skills
from quorate.ledger.storage import load_entries, write_entries
from quorate.methods.registry import aggregate
from quorate.result import Result, count


def refuse_contradictions(
    entries: Entries, known: Sequence[IntArray], said: Sequence[Mapping[int, int]], labels: Names
) -> None:
    """Refuse entries that say something else than what is known of the same task and worker.

    Args:
        entries: what is new.
        known: the ledger's codes for the entries' tasks, workers and labels; -1 for strangers.
        said: of each of the ledger's tasks, worker -> label.
        labels: of the ledger.

    Raises:
        ConflictingAnswersError: some do.

    >>> from quorate.ledger.entries import read_entries
    >>> from quorate.io.options import AS_USUAL
    >>> entries = read_entries({"task": [1], "worker": ["ann"], "label": ["cat"]}, AS_USUAL)
    >>> labels = Names("labels")
    >>> code = labels.learn(pa.array(["cat"]))
    >>> refuse_contradictions(entries, [code, code, code], [{0: 0}], labels)
    """
    tasks, workers, codes = known
    task, worker = tasks[entries.task], workers[entries.worker]
    label = coded(entries.label, np.where(codes < 0, len(labels), codes))  # a new label differs from all
    met = np.flatnonzero((task >= 0) & (worker >= 0))
    columns = (each[met].tolist() for each in (task, worker, label))
    clashes = [
        (k, old)
        for k, t, w, new in zip(met.tolist(), *columns, strict=True)
        if (old := said[t].get(w)) is not None and old != new
    ]
    if not clashes:
        return
    (k, old), n = clashes[0], len(clashes)
    of_task, of_worker = (entries.names[0][int(entries.task[k])], entries.names[1][int(entries.worker[k])])
    raise ConflictingAnswersError(
        f"{n:,} answer{'s' if n > 1 else ''} of this batch contradict{'s' if n == 1 else ''} the ledger; worker "
        f"{shown(of_worker.as_py())} gave task {shown(of_task.as_py())} {_told(labels.array(), old)} before and now "
        f"{_told(entries.names[2], int(entries.label[k]))}. Nothing was added. "
        "Choose on_conflict='first', 'last' or 'drop' (--on-conflict)"
    )


def _told(names: pa.Array, label: int) -> str:
    return "several labels, which were dropped," if label == DROPPED else shown(names[label].as_py())


T = TypeVar("T")
# What the labels mean is said when they are read; how many batches there were does not matter then.
MEANING = ("abstain", "classes", "judges", "map", "merge_spellings")
MEANINGFUL = TableKeywords.__optional_keys__ - {*MEANING, "group", "multi"}  # how a batch may be read
REMEDIES = {
    **{name: f"the ledger keeps labels as they are given: say Ledger.aggregate({name}=...)" for name in MEANING},
    "group": "say Ledger.aggregate(group={worker: group})",
    "multi": "put the batches together and give them to quorate.read",
}
MANY = 8  # a batch of more than one answer for so many here is not counted in pair by pair: counting anew is quicker


class Ledger:
    """Answers that arrive over time.

    >>> ledger = Ledger()
    >>> ledger.add({"task": [1, 1], "worker": ["ann", "bob"], "label": ["cat", "dog"]}).n_answers
    2
    >>> ledger.add({"task": [1, 2, 2], "worker": ["cy", "bob", "ann"], "label": ["cat", "cat", "cat"]}).n_answers
    3
    >>> ledger.pairs.shared.tolist(), ledger.pairs.agreed.tolist(), ledger.answers.worker_names.to_pylist()
    ([2, 1, 1], [1, 1, 0], ['ann', 'bob', 'cy'])
    """

    def __init__(self) -> None:
        self._tasks, self._workers, self._labels = Names("tasks"), Names("workers"), Names("labels")
        self._said: list[dict[int, int]] = []  # of each task: worker -> label, DROPPED where their rows conflict
        self._rows: dict[tuple[int, int], int] = {}  # rows behind a task and worker, where more than one
        self._clashed: set[tuple[int, int]] = set()  # where those rows gave more than one label
        self._per_worker: list[int] = []  # answers of each worker
        self._per_label: list[int] = []  # and of each label
        self._n_repeats = self._n_conflicting = self._n_skipped = 0
        self._tally: PairTally | None = None  # counted when first asked for, and kept up to date from then on
        self._handed_out: dict[str, Any] = {}  # what was asked for since the last change

    def __len__(self) -> int:
        """How many answers there are."""
        return sum(self._per_label)

    def __repr__(self) -> str:
        return f"<Ledger: {self.sizes()}>"

    def sizes(self) -> str:
        """Say how many answers, tasks and workers there are."""
        numbers = {"answer": len(self), "task": len(self._tasks), "worker": len(self._workers)}
        return ", ".join(count(n, what) for what, n in numbers.items())

    def add(self, source: Source, **reading: Unpack[TableKeywords]) -> Added:
        """Add a batch of answers: all of it, or nothing where it is refused.

        Takes what `quorate.read` takes of a plain table and keeps its promises across batches: an exact repeat counts
        once, and a worker who gives a task another label than before is refused, unless ``on_conflict`` says whose
        label stands. Labels are kept as they are given; what they mean (``abstain``, ``map``, ``classes``,
        ``merge_spellings``) is said to `aggregate`.

        Raises:
            OptionError: an option would change what the labels mean, or make several questions of a task.
            InputError: the batch cannot be used; each cause has its own class, and the ledger is as it was.
        """
        options = read_options(reading)
        options.refuse_but(MEANINGFUL, "for a batch of a ledger", REMEDIES)
        entries = read_entries(source, options)
        before = self._figures()
        self._absorb(entries, options.on_conflict)
        return Added(int(entries.rows.sum()) + entries.n_skipped, *(self._figures() - before).tolist())

    def merge(self, other: "Ledger", *, on_conflict: str = "error") -> None:
        """Add all that another ledger holds, as if its rows had been added here; the other stays as it is.

        Args:
            other: a ledger, over the same tasks, others, or some of both.
            on_conflict: where both have a label for a task and worker, and not the same: ``error``, keep ours
                (``first``) or theirs (``last``), or ``drop`` both.

        Raises:
            ConflictingAnswersError: the two contradict each other.
            ColumnTypeError: their ids are of different types.
        """
        if on_conflict not in POLICIES:
            raise unknown(on_conflict, POLICIES, "conflict policy")
        self._absorb(other._entries(), on_conflict)

    def __add__(self, other: "Ledger") -> "Ledger":
        """Return a new ledger with all that both hold; a contradiction between them is an error."""
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
            NoRowsError: there are none yet.
        """
        return self._once("answers", self._form_answers)

    @property
    def pairs(self) -> PairStats:
        """How often each two workers shared a task and agreed; the codes are those of ``answers.worker_names``.

        Counted when first asked for; from then on each answer that is added is counted in as it comes.
        """
        return self._once("pairs", self._form_pairs)

    def aggregate(self, method: str = "quorate", **options: Any) -> Result:
        """Turn all answers into labels and skills; `quorate.aggregate` of `answers`.

        Args:
            method: a name from `quorate.methods.registry.METHODS`.
            options: what the labels mean, as `quorate.read` takes it (``abstain``, ``map``, ``classes``,
                ``merge_spellings``); all others for the method.

        >>> ledger = Ledger()
        >>> added = ledger.add({"task": [1, 1], "worker": ["ann", "bob"], "label": ["cat", "unsure"]})
        >>> ledger.aggregate(abstain=["unsure"]).answers.classes.to_pylist()
        ['cat']
        """
        reading, others = split_reading(options)
        meaning = read_options(reading)
        meaning.refuse_but(MEANING, "for answers that a ledger holds")
        answers = self.answers
        judges = reading.pop("judges", None)
        if reading:
            kept = read_rows(answers.to_table(), meaning)
            counts = {name: getattr(answers, name) for name in ("n_rows", "n_repeats", "n_conflicting", "n_skipped")}
            answers = replace(kept, **counts)
        return aggregate(replace(answers, judges=judges), method, **others)

    def skills(self) -> Table:
        """Estimate skills from the pair counts alone: worker, skill, n_answers, n_peers, status.

        They are the skills of the method ``rank-one``, up to the tolerance of its solver.
        """
        rank, names = self._ranked(self._workers)
        per_worker = np.array(self._per_worker, np.int64)[np.argsort(rank)]
        return pair_skills(self.pairs, names, per_worker, int(np.count_nonzero(self._per_label)))

    def save(self, path: str | Path) -> None:
        """Write one file; whoever opens it sees the old state or the new one, never half of one.

        Raises:
            UnwritableFileError: the folder is not there, or may not be written to.
        """
        write_entries(self._entries(), path)

    @classmethod
    def load(cls, path: str | Path) -> "Ledger":
        """Read what `save` wrote.

        Raises:
            UnreadableFileError: the file is not there, is a folder, or may not be read.
            LedgerFileError: it is no ledger, is cut short or damaged, or was written by a newer version.
        """
        ledger = cls()
        ledger._absorb(load_entries(path), "error")
        return ledger

    # --- taking in ---

    def _absorb(self, entries: Entries, on_conflict: str) -> None:
        """Take entries in; where they are refused, that is before anything has changed."""
        index = tuple(zip((self._tasks, self._workers, self._labels), entries.names, strict=True))
        known = [names.find(given) for names, given in index]
        if on_conflict == "error":
            refuse_contradictions(entries, known, self._said, self._labels)
        tasks, workers, labels = (names.learn(given) for names, given in index)
        self._said += [{} for _ in range(len(self._tasks) - len(self._said))]
        self._per_worker += [0] * (len(self._workers) - len(self._per_worker))
        self._per_label += [0] * (len(self._labels) - len(self._per_label))
        if len(entries.task) * MANY > len(self):
            self._tally = None
        self._n_skipped += entries.n_skipped
        self._handed_out = {}
        columns = (tasks[entries.task], workers[entries.worker], coded(entries.label, labels))
        everything = (each.tolist() for each in (*columns, entries.rows, entries.clashed))
        for task, worker, label, rows, clashed in zip(*everything, strict=True):
            said = self._said[task]
            if rows == 1 and worker not in said:  # nearly always
                self._let_stand(said, worker, None, label)
            else:
                self._settle(task, worker, label, rows, clashed, on_conflict)

    def _settle(self, task: int, worker: int, label: int, rows: int, clashed: bool, on_conflict: str) -> None:
        """Join what is known of a task and worker with what is new, and count the rows that do not count."""
        key, said = (task, worker), self._said[task]
        old = said.get(worker)
        if old is None:
            stands = label
        else:
            rows_before = self._rows.get(key, 1)
            self._leave_out(-(rows_before - (old != DROPPED)), key in self._clashed)
            rows, clashed = rows + rows_before, clashed or key in self._clashed or label != old
            stands = label if on_conflict == "last" or label == old else DROPPED if on_conflict == "drop" else old
        self._leave_out(rows - (stands != DROPPED), clashed)
        self._rows[key] = rows
        if clashed:
            self._clashed.add(key)
        self._let_stand(said, worker, old, stands)

    def _leave_out(self, rows: int, clashed: bool) -> None:
        if clashed:
            self._n_conflicting += rows
        else:
            self._n_repeats += rows

    def _let_stand(self, said: dict[int, int], worker: int, old: int | None, label: int) -> None:
        """Write a label down, and count the pairs that it changes; costs the answers on its task."""
        if old is not None and old != DROPPED:
            self._count(said, worker, old, -1)
        said[worker] = label
        if label != DROPPED:
            self._count(said, worker, label, 1)

    def _count(self, said: dict[int, int], worker: int, label: int, by: int) -> None:
        self._per_worker[worker] += by
        self._per_label[label] += by
        if self._tally is not None:
            self._tally.count(said, worker, label, by)

    # --- handing out ---

    def _once(self, name: str, form: Callable[[], T]) -> T:
        """Form something once for each state of the ledger."""
        if name not in self._handed_out:
            self._handed_out[name] = form()
        found: T = self._handed_out[name]
        return found

    def _ranked(self, names: Names) -> tuple[IntArray, pa.Array]:
        """Return the rank of each code, and the names in order."""
        return self._once(names.what, lambda: in_order_of_ids(np.arange(len(names)), names.array()))

    def _entries(self) -> Entries:
        """Return all there is, in the order of the names: the same for the same rows, however they came."""
        (task_rank, tasks), (worker_rank, workers), (label_rank, labels) = (
            self._ranked(names) for names in (self._tasks, self._workers, self._labels)
        )
        n = sum(map(len, self._said))
        task = task_rank[np.repeat(np.arange(len(self._said)), [len(said) for said in self._said])]
        worker = worker_rank[np.fromiter(chain.from_iterable(self._said), np.int64, n)]
        label = np.fromiter(chain.from_iterable(said.values() for said in self._said), np.int64, n)
        place = task.astype(np.int64) << 32 | worker
        order = np.argsort(place, kind="stable")
        rows, clashed = np.ones(n, np.int64), np.zeros(n, dtype=bool)
        many = np.array(list(self._rows), np.int64).reshape(-1, 2)
        at = np.searchsorted(place[order], task_rank[many[:, 0]].astype(np.int64) << 32 | worker_rank[many[:, 1]])
        rows[at] = list(self._rows.values())
        clashed[at] = [key in self._clashed for key in self._rows]
        columns = (task[order], worker[order], coded(label[order], label_rank))
        return Entries(*columns, rows, clashed, (tasks, workers, labels), self._n_skipped)

    def _form_answers(self) -> Answers:
        if not len(self):
            raise NoRowsError("the ledger holds no answers yet; add some")
        entries = self._entries()
        stand = entries.label != DROPPED
        tasks, workers, label_names = entries.names
        labels, classes = order_classes(entries.label[stand], label_names, None)
        return Answers(
            entries.task[stand].astype(np.int32),
            entries.worker[stand].astype(np.int32),
            labels,
            tasks,
            workers,
            classes,
            n_rows=int(entries.rows.sum()) + self._n_skipped,
            n_repeats=self._n_repeats,
            n_conflicting=self._n_conflicting,
            n_skipped=self._n_skipped,
        )

    def _form_pairs(self) -> PairStats:
        rank, _ = self._ranked(self._workers)
        if self._tally is None:
            pairs = pair_stats(self.answers)
            self._tally = PairTally(pairs, np.argsort(rank))
            return pairs
        return self._tally.stats(rank)

    def _figures(self) -> IntArray:
        return np.array([len(self), self._n_repeats, self._n_conflicting, self._n_skipped])
