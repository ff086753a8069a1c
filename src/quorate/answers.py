"""Answers: integer codes of tasks, workers and labels with their names; abstentions, grades and questions.

A symbol is what a worker can give: it stands for a class (several symbols of one class are grades), or for none
(an abstention). Classes are those that a worker gave, or that gold has.
"""

import warnings
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.arrays import BoolArray, FloatArray, IntArray, Shown, Table, counts_of_codes, starts_of, table_of, take
from quorate.errors import TooLargeError, count, shown

BLANK = "blank"  # what a field without a label is called


@dataclass(frozen=True, eq=False)
class AnswerSymbols:
    """Symbols of the answers, and the abstentions, which are not among the answers.

    >>> yes_no_unsure = pa.array(["no", "yes", "unsure"])
    >>> answer_symbols = AnswerSymbols(
    ...     yes_no_unsure, np.array([0, 1, -1]), np.array([0]), np.array([3]), np.array([1]), np.array([2])
    ... )
    >>> answer_symbols.n_abstained, answer_symbols.reasons(), answer_symbols.to_lines()
    (1, {'unsure': 1}, ['1 abstention by 1 worker on 1 task: unsure (1).'])
    """

    symbols: pa.Array  # null stands for a blank field
    class_of_symbol: IntArray  # the class of each symbol; -1 for none
    symbol: IntArray  # of each answer
    task: IntArray  # of each abstention, never decreasing
    worker: IntArray
    abstention_symbol: IntArray  # its symbol
    n_superseded: int = 0  # abstentions beside an answer, or another abstention, of the worker to the task: left out
    unused_abstention_labels: tuple[str, ...] = ()  # labels declared as abstentions that do not occur

    @property
    def n_abstained(self) -> int:
        """How many abstentions there are."""
        return len(self.task)

    @property
    def n_blank(self) -> int:
        """How many abstentions are blank fields."""
        is_blank = self.symbols.is_null().to_numpy(zero_copy_only=False)
        return int(is_blank[self.abstention_symbol].sum())

    @property
    def has_grades(self) -> bool:
        """Whether several symbols point to one class."""
        return bool(np.bincount(self.class_of_symbol + 1)[1:].max(initial=0) > 1)

    @property
    def is_more_than_classes(self) -> bool:
        """Whether symbols carry more than the class: abstentions or grades."""
        return self.n_abstained > 0 or self.has_grades

    def per_task(self, n_tasks: int) -> IntArray:
        """Count the abstentions of each task."""
        return np.bincount(self.task, minlength=n_tasks)

    def per_worker(self, n_workers: int) -> IntArray:
        """Count the abstentions of each worker."""
        return np.bincount(self.worker, minlength=n_workers)

    def reasons(self) -> dict[str, int]:
        """Count the abstentions by symbol."""
        times = np.bincount(self.abstention_symbol, minlength=len(self.symbols)).tolist()
        names = (BLANK if name is None else str(name) for name in self.symbols.to_pylist())
        n_by_reason: dict[str, int] = {}
        for name, n in zip(names, times, strict=True):
            if n:
                n_by_reason[name] = n_by_reason.get(name, 0) + n
        return n_by_reason

    def to_lines(self) -> list[str]:
        """Return lines on the number of abstentions, by symbol."""
        lines = []
        if self.has_grades:
            graded = self.class_of_symbol[self.class_of_symbol >= 0]
            lines.append(
                f"{count(len(graded), 'grade')} {'was' if len(graded) == 1 else 'were'} mapped to "
                f"{count(len(np.unique(graded)), 'class')}."
            )
        if self.n_abstained:
            who, where = (len(np.unique(codes)) for codes in (self.worker, self.task))
            reasons = ", ".join(f"{name} ({n:,})" for name, n in self.reasons().items())
            by = f"by {count(who, 'worker')} on {count(where, 'task')}"
            lines.append(f"{count(self.n_abstained, 'abstention')} {by}: {reasons}.")
        if self.n_superseded:
            lines.append(f"{count(self.n_superseded, 'abstention')} left out: the same worker also answered the task.")
        return lines

    def where(self, kept: BoolArray) -> "AnswerSymbols":
        """Keep some answers, and every abstention."""
        return replace(self, symbol=self.symbol[kept])

    def only(self, kept: BoolArray, tasks: BoolArray) -> "AnswerSymbols":
        """Keep some answers, and the abstentions of some tasks, which are numbered anew."""
        is_kept = tasks[self.task]
        code = (np.cumsum(tasks) - 1).astype(self.task.dtype)
        fewer = replace(
            self,
            task=code[self.task[is_kept]],
            worker=self.worker[is_kept],
            abstention_symbol=self.abstention_symbol[is_kept],
        )
        return fewer.where(kept)


def unused_abstention_line(unused_abstention_labels: tuple[str, ...]) -> str:
    """Return a sentence on declared abstention labels that do not occur.

    >>> unused_abstention_line(("n/a",))
    "no answer is 'n/a', which abstain= (--abstain) names; check the spelling"
    """
    names = ", ".join(shown(name) for name in unused_abstention_labels)
    return f"no answer is {names}, which abstain= (--abstain) names; check the spelling"


@dataclass(frozen=True, eq=False)
class Questions:
    """Which label of which task each yes/no question is about, where a task may have several labels.

    >>> labels = pa.array(["cat", "dog"])
    >>> questions = Questions(np.array([0, 0]), np.array([0, 1]), pa.array([7]), labels, np.array([3]), ",")
    >>> questions.n_tasks, questions.names().to_pylist()
    (1, ['7: cat', '7: dog'])
    """

    task: IntArray  # of each question
    label: IntArray
    task_names: pa.Array
    label_names: pa.Array
    per_task: IntArray  # how many answered each task
    separator: str  # between two labels, where they are written as text

    @property
    def n_tasks(self) -> int:
        """How many tasks."""
        return len(self.task_names)

    @property
    def n_labels(self) -> int:
        """How many labels a task may have."""
        return len(self.label_names)

    def names(self) -> pa.Array:
        """Name the questions: the task, and the label that it may have."""
        tasks, labels = ([str(name) for name in names.to_pylist()] for names in (self.task_names, self.label_names))
        return pa.array([f"{tasks[t]}: {labels[k]}" for t, k in zip(self.task, self.label, strict=True)], pa.string())


if TYPE_CHECKING:
    from scipy import sparse

MOST_CELLS_PER_ANSWER = 8  # up to which counting in a table costs less memory and time than sorting the answers
MOST_CELLS = 100_000_000  # of tasks × classes: 800 MB for each table of them, and a vote makes a few


class Sized(Protocol):
    """Numbers of tasks, workers, classes and answers."""

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


class Counted(Sized, Protocol):
    """Counts and names of a crowd, which are all that a summary needs; the answers may be in an engine."""

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
    def n_abstained(self) -> int:
        """How many."""

    @property
    def n_blank(self) -> int:
        """How many of them are blank fields, which are also among the rows that lack a field."""

    @property
    def abstained_per_worker(self) -> IntArray | None:
        """Those of each worker; None where nobody abstained."""

    def abstained_lines(self) -> list[str]:
        """Return a line on the number of abstentions."""

    @property
    def n_repeats(self) -> int:
        """Rows that repeat an answer exactly; counted once."""

    @property
    def n_conflicting(self) -> int:
        """Rows left out by the conflict policy."""

    @property
    def n_skipped(self) -> int:
        """Rows left out because a field was missing."""


class _NamedCrowd:
    """Numbers of workers and classes, from their names."""

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
class CrowdInfo(_NamedCrowd):
    """Who answered and how much, of answers that stay in an engine; worker codes follow the order of the ids there.

    >>> names = {"worker_names": pa.array(["ann", "bob"]), "classes": pa.array(["cat"])}
    >>> CrowdInfo(engine="duckdb", **names, per_worker=np.array([3, 0]), n_tasks=3, n_rows=3).n_workers
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
    unused_abstention_labels: tuple[str, ...] = ()  # labels declared as abstentions that do not occur

    @property
    def n_abstained(self) -> int:
        """How many abstentions there are."""
        return 0 if self.abstained_per_worker is None else int(self.abstained_per_worker.sum())

    @property
    def n_blank(self) -> int:
        """How many abstentions are blank fields: not counted in an engine."""
        return 0

    def abstained_lines(self) -> list[str]:
        """Return a line on the number of abstentions."""
        return [count(self.n_abstained, "abstention")] if self.n_abstained else []

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return int(self.per_worker.sum())

    def n_peers(self) -> IntArray | None:
        """Return how many others each worker shares a task with; None where that was not counted."""
        return None


def check_vote_size(n_tasks: int, n_classes: int) -> None:
    """Refuse a table of tasks × classes that would not fit in memory, before it is made.

    Raises:
        TooLargeError: there are too many classes for so many tasks, as where answers are free text.

    >>> check_vote_size(1_000, 1_000)
    """
    if n_tasks * n_classes > MOST_CELLS:
        raise TooLargeError(
            f"a vote needs one number per task and class ({n_tasks:,} tasks, {n_classes:,} classes), and "
            f"the limit is {MOST_CELLS:,} numbers. If the labels are free text, group them into classes; "
            "otherwise merge rare classes, or give the tasks in parts"
        )


@dataclass(frozen=True, repr=False)
class Answers(_NamedCrowd, Shown):
    """Who answered what, as integer codes: one entry per answer, ordered by task, then by worker.

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
    group: IntArray | None = None  # of each worker, -1 for none: workers who may err together; None without groups
    group_names: pa.Array | None = None
    questions: Questions | None = None  # the task and label of each task here, where a task may have several labels
    is_model: BoolArray | None = None  # which workers are models that were added (predictions=); None where none is
    judges: bool | None = None  # whether all workers are language models; None where nothing states it
    answer_symbols: AnswerSymbols | None = None  # where symbols carry more than the class

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: samples, blocks and results that are kept with the answers are computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def summary(self) -> str:
        """Return the numbers of answers, tasks, workers and classes.

        >>> import quorate
        >>> quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
        <Answers: 2 answers by 2 workers to 1 task, 2 classes>
        """
        by = f"{count(self.n_answers, 'answer')} by {count(self.n_workers, 'worker')}"
        abstained = f", {count(self.n_abstained, 'abstention')}" if self.n_abstained else ""
        return f"{by} to {count(self.n_tasks, 'task')}, {count(self.n_classes, 'class')}{abstained}"

    def _tables(self) -> tuple[Table, ...]:
        return (self.where(np.arange(self.n_answers) <= 10).to_table(),)

    @property
    def asked(self) -> Questions | None:
        """The deprecated name of `questions`."""
        warnings.warn("Answers.asked is now Answers.questions", DeprecationWarning, stacklevel=2)
        return self.questions

    @property
    def engine(self) -> None:
        """No engine: the answers are in memory."""
        return None

    @property
    def n_abstained(self) -> int:
        """How many abstentions there are; they are not among the answers."""
        return 0 if self.answer_symbols is None else self.answer_symbols.n_abstained

    @property
    def n_blank(self) -> int:
        """How many of the abstentions are blank fields."""
        return 0 if self.answer_symbols is None else self.answer_symbols.n_blank

    @property
    def abstained_per_task(self) -> IntArray | None:
        """The abstentions of each task; None where nobody abstained."""
        symbols = self.answer_symbols
        return symbols.per_task(self.n_tasks) if symbols is not None and self.n_abstained else None

    @property
    def abstained_per_worker(self) -> IntArray | None:
        """The abstentions of each worker; None where nobody abstained."""
        symbols = self.answer_symbols
        return symbols.per_worker(self.n_workers) if symbols is not None and self.n_abstained else None

    def abstained_lines(self) -> list[str]:
        """Describe how many abstained and why, and what was left out of that."""
        return [] if self.answer_symbols is None else self.answer_symbols.to_lines()

    @property
    def unused_abstention_labels(self) -> tuple[str, ...]:
        """Labels declared as abstentions that do not occur."""
        return () if self.answer_symbols is None else self.answer_symbols.unused_abstention_labels

    @cached_property
    def n_answers(self) -> int:
        """How many answers there are."""
        return len(self.task)

    @cached_property
    def n_tasks(self) -> int:
        """How many tasks there are, including tasks whose answers were all left out."""
        return len(self.task_names)

    @cached_property
    def per_task(self) -> IntArray:
        """R_t, the answers of each task."""
        return counts_of_codes(self.task, self.n_tasks)

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i, the answers of each worker."""
        return counts_of_codes(self.worker, self.n_workers)

    @cached_property
    def start(self) -> IntArray:
        """Index of the first answer of each task, and the number of answers as the last entry; shape (tasks + 1,)."""
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

    def filled_cells(self) -> tuple[IntArray, IntArray]:
        """Return the `cells` that have an answer, in order, and how many answers each has.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> [values.tolist() for values in answers.filled_cells()]
        [[0, 3], [2, 1]]
        """
        n_cells = self.n_tasks * self.n_classes
        if n_cells > MOST_CELLS_PER_ANSWER * self.n_answers:
            cells, n = np.unique(self.cells, return_counts=True)
            return cells, n
        table = np.bincount(self.cells, minlength=n_cells)
        cells = np.flatnonzero(table)
        return cells, table[cells]

    def count_at(self, cells: IntArray) -> IntArray:
        """Count the answers in some of the `cells`, each as often as it is named.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> answers.count_at(np.array([3, 0, 1])).tolist()
        [1, 2, 0]
        """
        n_cells = self.n_tasks * self.n_classes
        if n_cells <= MOST_CELLS_PER_ANSWER * self.n_answers:
            return np.bincount(self.cells, minlength=n_cells)[cells]
        filled, n = self.filled_cells()
        position = np.minimum(np.searchsorted(filled, cells), len(filled) - 1)
        return np.where(filled[position] == cells, n[position], 0)

    def check_cells(self) -> None:
        """Refuse a table of tasks × classes that would not fit in memory, before it is made.

        Raises:
            TooLargeError: there are too many classes for so many tasks, as where answers are free text.
        """
        check_vote_size(self.n_tasks, self.n_classes)

    def by_task(self, values: NDArray[Any]) -> FloatArray:
        """Sum a value of each answer, or a row of values, over the answers of each task."""
        if values.ndim == 2:
            return np.stack([self.by_task(column) for column in values.T], axis=1)
        return np.bincount(self.task, values, self.n_tasks).astype(np.float64, copy=False)

    def by_worker(self, values: NDArray[Any]) -> FloatArray:
        """Sum a value of each answer over the answers of each worker."""
        return np.bincount(self.worker, values, self.n_workers).astype(np.float64, copy=False)

    def alike(self, label: IntArray) -> FloatArray:
        """Count how often each worker gave the class that ``label`` has for the task."""
        return self.by_worker(self.label == label[self.task])

    def matrix(self, values: NDArray[Any] | None = None) -> "sparse.csr_array":
        """Return a matrix of tasks × workers with a value of each answer; ones by default."""
        from scipy import sparse  # a fifth of a second, and few need it

        entries = np.ones(self.n_answers) if values is None else values
        return sparse.csr_array((entries, self.worker, self.start), shape=(self.n_tasks, self.n_workers))

    def where(self, kept: BoolArray) -> "Answers":
        """Keep some answers; the codes of tasks, workers and classes do not change.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> answers.where(answers.label == 1).per_task.tolist()
        [0, 1]
        """
        names = (self.task_names, self.worker_names, self.classes)
        kept_answers = Answers(self.task[kept], self.worker[kept], self.label[kept], *names)
        answer_symbols = None if self.answer_symbols is None else self.answer_symbols.where(kept)
        return replace(
            kept_answers,
            group=self.group,
            group_names=self.group_names,
            answer_symbols=answer_symbols,
            judges=self.judges,
        )

    def only(self, tasks: BoolArray) -> "Answers":
        """Keep some tasks, with new codes, and every worker and class.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> answers.only(np.array([False, True])).to_table().to_pylist()
        [{'task': 2, 'worker': 'a', 'label': 'y'}]
        """
        chosen = tasks[self.task]
        kept = self.where(chosen)
        code = (np.cumsum(tasks) - 1).astype(self.task.dtype)
        answer_symbols = None if self.answer_symbols is None else self.answer_symbols.only(chosen, tasks)
        return replace(
            kept,
            task=code[kept.task],
            task_names=take(self.task_names, np.flatnonzero(tasks)),
            answer_symbols=answer_symbols,
        )

    def to_table(self) -> Table:
        """Return the answers as `quorate.read` takes them: task, worker, label."""
        columns = {
            "task": (self.task_names, self.task),
            "worker": (self.worker_names, self.worker),
            "label": (self.classes, self.label),
        }
        return Table(table_of({name: take(names, codes) for name, (names, codes) in columns.items()}))

    def with_worker(self, labels: IntArray) -> "Answers":
        """Add one worker, the last, who gives task t the class ``labels[t]``, or does not answer if that is -1.

        Symbols and abstentions of the others are left out.
        """
        answered = np.flatnonzero(labels >= 0)
        task = np.concatenate([self.task, answered.astype(self.task.dtype)])
        order = np.argsort(task, kind="stable")
        worker = np.concatenate([self.worker, np.full(len(answered), self.n_workers, self.worker.dtype)])
        label = np.concatenate([self.label, labels[answered].astype(self.label.dtype)])
        names = pa.concat_arrays([self.worker_names, pa.nulls(1, self.worker_names.type)])
        group = None if self.group is None else np.append(self.group, -1)
        task = task[order]
        worker = worker[order]
        label = label[order]
        return replace(
            self, task=task, worker=worker, label=label, worker_names=names, group=group, answer_symbols=None
        )


@dataclass(frozen=True, eq=False)
class UsedClasses:
    """The answers, with those classes only that a worker gave or that gold has: the others have no effect."""

    answers: Answers
    known: IntArray | None
    codes: IntArray  # of these classes, among all
    n_classes: int  # all of them

    def spread(self, columns: FloatArray, fill: float) -> FloatArray:
        """Put the columns where their classes stand among all, and ``fill`` into the others."""
        full = np.full((len(columns), self.n_classes), fill)
        full[:, self.codes] = columns
        return full


def used_classes(answers: Answers, known: IntArray | None) -> UsedClasses:
    """Leave out the classes that neither a worker gave nor gold has.

    >>> import quorate
    >>> answers = quorate.read({"task": [1], "worker": ["a"], "label": ["y"]}, classes=["x", "y"])
    >>> used = used_classes(answers, None)
    >>> used.answers.n_classes, used.spread(np.ones((1, 1)), 0.0).tolist()
    (1, [[0.0, 1.0]])
    """
    codes = answers.label if known is None else np.concatenate([answers.label, known[known >= 0]])
    kept = np.flatnonzero(np.bincount(codes, minlength=answers.n_classes))
    if len(kept) == 0:  # a conflict policy left no answer at all
        kept = np.arange(answers.n_classes)
    new_code = np.full(answers.n_classes, -1, np.int32)
    new_code[kept] = np.arange(len(kept))
    fewer = replace(answers, label=new_code[answers.label], classes=take(answers.classes, kept))
    new_known = None
    if known is not None:
        new_known = np.where(known < 0, -1, new_code[known])
    return UsedClasses(fewer, new_known, kept, answers.n_classes)
