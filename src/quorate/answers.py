"""Table or file -> `Answers`: integer codes and the names behind them. Nothing later on the path knows names."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.arrays import BoolArray, FloatArray, IntArray, Shown, Table, starts_of, table_of, take
from quorate.errors import TooLargeError, count
from quorate.said import Abstaining, Asked, CountsAbstentions, Said

if TYPE_CHECKING:
    from scipy import sparse

MOST_CELLS = 100_000_000  # of tasks × classes: 800 MB for each table of them, and a vote makes a few


class Sized(Protocol):
    """How many there are of everything."""

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


class Counted(Sized, CountsAbstentions, Protocol):
    """How many there are of everything, and who: what a summary needs, wherever the answers themselves lie."""

    @property
    def engine(self) -> str | None:
        """The engine that holds the answers; None where they are in memory."""

    @property
    def worker_names(self) -> pa.Array:
        """The ids of the workers, in the order of their codes."""

    @property
    def classes(self) -> pa.Array:
        """The classes, in the order of their codes."""

    @property
    def n_repeats(self) -> int:
        """Rows that repeat an answer exactly; counted once."""

    @property
    def n_conflicting(self) -> int:
        """Rows left out by the conflict policy."""

    @property
    def n_skipped(self) -> int:
        """Rows left out because a field was missing."""


class _Names:
    """What both kinds of answers know by the names that they have."""

    worker_names: pa.Array
    classes: pa.Array

    @cached_property
    def n_workers(self) -> int:
        """How many workers there are, those whose answers were all left out included."""
        return len(self.worker_names)

    @cached_property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return len(self.classes)


@dataclass(frozen=True, kw_only=True)
class Roster(_Names):
    """Who answered and how much, of answers that stay in an engine; worker codes follow the order of the ids there.

    >>> names = {"worker_names": pa.array(["ann", "bob"]), "classes": pa.array(["cat"])}
    >>> Roster(engine="duckdb", **names, per_worker=np.array([3, 0]), n_tasks=3, n_rows=3).n_workers
    2
    """

    engine: str  # its name
    worker_names: pa.Array
    classes: pa.Array
    per_worker: IntArray  # N_i
    n_tasks: int
    n_rows: int
    n_repeats: int = 0  # rows that repeat an answer exactly; counted once
    n_conflicting: int = 0  # rows left out by the conflict policy
    n_skipped: int = 0  # rows left out because a field was missing
    abstained_per_worker: IntArray | None = None  # None where nobody abstained
    unheard: tuple[str, ...] = ()  # what would have been an abstention, and nobody said

    @property
    def n_abstained(self) -> int:
        """How many abstentions there are."""
        return 0 if self.abstained_per_worker is None else int(self.abstained_per_worker.sum())

    def abstained_lines(self) -> list[str]:
        """Tell how many abstained."""
        return [count(self.n_abstained, "abstention")] if self.n_abstained else []

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return int(self.per_worker.sum())

    def n_peers(self) -> IntArray | None:
        """Return how many others each worker shares a task with; None where that was not counted."""
        return None


@dataclass(frozen=True, repr=False)
class Answers(_Names, Abstaining, Shown):
    """Who answered what, as integer codes: one entry an answer, ordered by task, then by worker.

    `quorate.read` numbers tasks, workers and classes in canonical order (`quorate.arrays.canonical_order`: numbers by
    value, other ids by their UTF-8 text), so that no result depends on the order of the rows or on the type of the ids.
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
    group: IntArray | None = None  # of each worker, -1 for none: who may err together; None where nothing was said
    group_names: pa.Array | None = None
    asked: Asked | None = None  # of which task and label each of these tasks is, where a task may have several labels
    is_model: BoolArray | None = None  # which workers are models that were added (predictions=); None where none is
    judges: bool | None = None  # whether all workers are language models; None where nothing states it
    said: Said | None = None  # what was said, where that is more than a class; most methods look at classes only

    def summary(self) -> str:
        """Count what there is.

        >>> import quorate
        >>> quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
        <Answers: 2 answers by 2 workers to 1 task, 2 classes>
        """
        by = f"{count(self.n_answers, 'answer')} by {count(self.n_workers, 'worker')}"
        silent = f", {count(self.n_abstained, 'abstention')}" if self.n_abstained else ""
        return f"{by} to {count(self.n_tasks, 'task')}, {count(self.n_classes, 'class')}{silent}"

    def _tables(self) -> tuple[Table, ...]:
        return (self.where(np.arange(self.n_answers) <= 10).to_table(),)

    @property
    def engine(self) -> None:
        """No engine: the answers are in memory."""
        return None

    @cached_property
    def n_answers(self) -> int:
        """How many answers there are."""
        return len(self.task)

    @cached_property
    def n_tasks(self) -> int:
        """How many tasks there are, those whose answers were all left out included."""
        return len(self.task_names)

    @cached_property
    def per_task(self) -> IntArray:
        """R_t, the answers of each task."""
        return np.bincount(self.task, minlength=self.n_tasks)

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i, the answers of each worker."""
        return np.bincount(self.worker, minlength=self.n_workers)

    @cached_property
    def start(self) -> IntArray:
        """Where the answers of each task begin, and last where they all end; shape (tasks + 1,)."""
        return starts_of(self.per_task)

    @cached_property
    def cells(self) -> IntArray:
        """task·M + label of each answer: its place in a table of tasks × classes, laid out in one row."""
        cells: IntArray = self.task.astype(np.intp) * self.n_classes + self.label
        return cells

    @property
    def worker_cells(self) -> IntArray:
        """worker·M + label of each answer: its place in a table of workers × classes, laid out in one row."""
        cells: IntArray = self.worker.astype(np.intp) * self.n_classes + self.label
        return cells

    @cached_property
    def counts(self) -> FloatArray:
        """How many workers gave each task each class; shape (tasks, classes)."""
        self.check_cells()
        flat = np.bincount(self.cells, np.ones(self.n_answers), self.n_tasks * self.n_classes)
        return flat.reshape(self.n_tasks, self.n_classes).astype(np.float64, copy=False)

    def check_cells(self) -> None:
        """Refuse a table of tasks × classes that would not fit in memory, before it is made.

        Raises:
            TooLargeError: there are too many classes for so many tasks, as where answers are free text.
        """
        if self.n_tasks * self.n_classes > MOST_CELLS:
            raise TooLargeError(
                f"a vote needs a number for each of {self.n_tasks:,} tasks and {self.n_classes:,} classes, and there "
                f"may be {MOST_CELLS:,} of them. If the labels are free text, make classes of them; merge rare ones, "
                "or give the tasks in parts"
            )

    def by_task(self, values: NDArray[Any]) -> FloatArray:
        """Sum a value of each answer, or a row of values, over the answers of each task."""
        if values.ndim == 2:
            return np.stack([self.by_task(column) for column in values.T], axis=1)
        return np.bincount(self.task, values, self.n_tasks).astype(np.float64, copy=False)

    def by_worker(self, values: NDArray[Any]) -> FloatArray:
        """Sum a value of each answer over the answers of each worker."""
        return np.bincount(self.worker, values, self.n_workers).astype(np.float64, copy=False)

    def alike(self, label: IntArray) -> FloatArray:
        """How often each worker gave the class that ``label`` has for the task."""
        return self.by_worker(self.label == label[self.task])

    def matrix(self, values: NDArray[Any] | None = None) -> "sparse.csr_array":
        """Lay a value of each answer out as tasks × workers; ones by default."""
        from scipy import sparse  # a fifth of a second, and few need it

        entries = np.ones(self.n_answers) if values is None else values
        return sparse.csr_array((entries, self.worker, self.start), shape=(self.n_tasks, self.n_workers))

    def where(self, kept: BoolArray) -> "Answers":
        """Keep some answers; tasks, workers and classes stay, and so do their codes.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> answers.where(answers.label == 1).per_task.tolist()
        [0, 1]
        """
        names = (self.task_names, self.worker_names, self.classes)
        kept_answers = Answers(self.task[kept], self.worker[kept], self.label[kept], *names)
        said = None if self.said is None else self.said.where(kept)
        return replace(kept_answers, group=self.group, group_names=self.group_names, said=said, judges=self.judges)

    def only(self, tasks: BoolArray) -> "Answers":
        """Keep some tasks, numbered anew, and every worker and class.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> answers.only(np.array([False, True])).to_table().to_pylist()
        [{'task': 2, 'worker': 'a', 'label': 'y'}]
        """
        chosen = tasks[self.task]
        kept = self.where(chosen)
        code = (np.cumsum(tasks) - 1).astype(self.task.dtype)
        said = None if self.said is None else self.said.only(chosen, tasks)
        return replace(kept, task=code[kept.task], task_names=take(self.task_names, np.flatnonzero(tasks)), said=said)

    def to_table(self) -> Table:
        """Return the answers as `quorate.read` takes them: task, worker, label."""
        columns = {
            "task": (self.task_names, self.task),
            "worker": (self.worker_names, self.worker),
            "label": (self.classes, self.label),
        }
        return Table(table_of({name: take(names, codes) for name, (names, codes) in columns.items()}))

    def with_worker(self, labels: IntArray) -> "Answers":
        """Add one worker, the last, who gives task t the class ``labels[t]``, or does not answer where that is -1.

        What the others said beside classes is left out.
        """
        answered = np.flatnonzero(labels >= 0)
        task = np.concatenate([self.task, answered.astype(self.task.dtype)])
        order = np.argsort(task, kind="stable")
        worker = np.concatenate([self.worker, np.full(len(answered), self.n_workers, self.worker.dtype)])
        label = np.concatenate([self.label, labels[answered].astype(self.label.dtype)])
        names = pa.concat_arrays([self.worker_names, pa.nulls(1, self.worker_names.type)])
        group = None if self.group is None else np.append(self.group, -1)
        task, worker, label = task[order], worker[order], label[order]
        return replace(self, task=task, worker=worker, label=label, worker_names=names, group=group, said=None)
