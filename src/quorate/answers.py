"""`Answers`: integer codes of tasks, workers and labels with their names; abstentions, grades and questions.

A symbol is a value that a worker can give. It means a class (several symbols of one class are grades), or no class (an
abstention).
"""

import warnings
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quorate.arrays import BoolArray, FloatArray, IntArray, Shown, Table, counts_of_codes, starts_of, table_of, take
from quorate.errors import TooLargeError, count

BLANK = "blank"  # name of the symbol for a field without a label


@dataclass(frozen=True, eq=False)
class AnswerSymbols:
    """Symbols of the answers, and the abstentions, which are not in `Answers.label`.

    >>> yes_no_unsure = pa.array(["no", "yes", "unsure"])
    >>> answer_symbols = AnswerSymbols(
    ...     yes_no_unsure, np.array([0, 1, -1]), np.array([0]), np.array([3]), np.array([1]), np.array([2])
    ... )
    >>> answer_symbols.n_abstained, answer_symbols.reasons(), answer_symbols.to_lines()
    (1, {'unsure': 1}, ['1 abstention by 1 worker on 1 task: unsure (1).'])
    """

    symbols: pa.Array  # names; null for a blank field
    class_of_symbol: IntArray  # the class of each symbol; -1 for none
    symbol: IntArray  # symbol of each answer
    task: IntArray  # task of each abstention, sorted
    worker: IntArray  # worker of each abstention
    abstention_symbol: IntArray  # symbol of each abstention
    n_superseded: int = 0  # abstentions left out, because the worker gave the task an answer or another abstention
    unused_abstention_labels: tuple[str, ...] = ()  # labels declared as abstentions that do not occur

    @property
    def n_abstained(self) -> int:
        """Number of abstentions."""
        return len(self.task)

    @property
    def n_blank(self) -> int:
        """Number of abstentions that are blank fields."""
        is_blank = self.symbols.is_null().to_numpy(zero_copy_only=False)
        return int(is_blank[self.abstention_symbol].sum())

    @property
    def has_grades(self) -> bool:
        """Whether several symbols mean the same class."""
        return bool(np.bincount(self.class_of_symbol + 1)[1:].max(initial=0) > 1)

    @property
    def is_more_than_classes(self) -> bool:
        """Whether symbols have more information than the classes: abstentions or grades."""
        return self.n_abstained > 0 or self.has_grades

    def per_task(self, n_tasks: int) -> IntArray:
        """Return the number of abstentions of each task; shape (tasks,)."""
        return np.bincount(self.task, minlength=n_tasks)

    def per_worker(self, n_workers: int) -> IntArray:
        """Return the number of abstentions of each worker; shape (workers,)."""
        return np.bincount(self.worker, minlength=n_workers)

    def reasons(self) -> dict[str, int]:
        """Return name of the symbol -> number of abstentions."""
        times = np.bincount(self.abstention_symbol, minlength=len(self.symbols)).tolist()
        names = (BLANK if name is None else str(name) for name in self.symbols.to_pylist())
        n_by_reason: dict[str, int] = {}
        for name, n in zip(names, times, strict=True):
            if n:
                n_by_reason[name] = n_by_reason.get(name, 0) + n
        return n_by_reason

    def to_lines(self) -> list[str]:
        """Return sentences on grades and on the number of abstentions by symbol."""
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

    def where(self, mask: BoolArray) -> "AnswerSymbols":
        """Return the symbols of the answers where the mask is true, and all abstentions."""
        return replace(self, symbol=self.symbol[mask])

    def only(self, mask: BoolArray, tasks: BoolArray) -> "AnswerSymbols":
        """Return the symbols of the answers and the abstentions of the tasks in two masks; tasks are recoded."""
        is_chosen = tasks[self.task]
        code = (np.cumsum(tasks) - 1).astype(self.task.dtype)
        fewer = replace(
            self,
            task=code[self.task[is_chosen]],
            worker=self.worker[is_chosen],
            abstention_symbol=self.abstention_symbol[is_chosen],
        )
        return fewer.where(mask)


@dataclass(frozen=True, eq=False)
class Questions:
    """Task and label of each yes/no question, for data in which a task may have several labels.

    >>> labels = pa.array(["cat", "dog"])
    >>> questions = Questions(np.array([0, 0]), np.array([0, 1]), pa.array([7]), labels, np.array([3]), ",")
    >>> questions.n_tasks, questions.names().to_pylist()
    (1, ['7: cat', '7: dog'])
    """

    task: IntArray  # task of each question
    label: IntArray  # label of each question
    task_names: pa.Array
    label_names: pa.Array
    per_task: IntArray  # number of workers who answered each task
    separator: str  # between two labels, if they are written as text

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.task_names)

    @property
    def n_labels(self) -> int:
        """Number of labels that a task may have."""
        return len(self.label_names)

    def names(self) -> pa.Array:
        """Return the names of the questions, such as "7: cat", from task and label."""
        tasks, labels = ([str(name) for name in names.to_pylist()] for names in (self.task_names, self.label_names))
        return pa.array([f"{tasks[t]}: {labels[k]}" for t, k in zip(self.task, self.label, strict=True)], pa.string())


if TYPE_CHECKING:
    from scipy import sparse

# Cells of the table tasks × classes per answer; up to this, counting in the table needs less memory and time than
# sorting the answers.
MAX_CELLS_PER_ANSWER = 8
MAX_CELLS = 100_000_000  # of a table tasks × classes: 800 MB as float64, and a vote needs a few such tables


class Sized(Protocol):
    """Numbers of tasks, workers, classes and answers."""

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""

    @property
    def n_workers(self) -> int:
        """Number of workers."""

    @property
    def n_classes(self) -> int:
        """M, the number of classes."""

    @property
    def n_answers(self) -> int:
        """Number of answers."""

    @property
    def per_worker(self) -> IntArray:
        """N_i, the number of answers of each worker."""


class Counted(Sized, Protocol):
    """Counts and names of a crowd, which are sufficient for a summary; the answers may be in an engine."""

    @property
    def engine(self) -> str | None:
        """The engine that contains the answers; None if they are in memory."""

    @property
    def worker_names(self) -> pa.Array:
        """Ids of the workers, in the order of their codes."""

    @property
    def classes(self) -> pa.Array:
        """Classes, in the order of their codes."""

    @property
    def n_abstained(self) -> int:
        """Number of abstentions."""

    @property
    def n_blank(self) -> int:
        """Number of abstentions that are blank fields, which `n_skipped` also counts."""

    @property
    def abstained_per_worker(self) -> IntArray | None:
        """Number of abstentions of each worker; None if there are none."""

    def abstained_lines(self) -> list[str]:
        """Return sentences on the number of abstentions; empty if there are none."""

    @property
    def n_repeats(self) -> int:
        """Number of rows that repeat an answer exactly; these answers count once."""

    @property
    def n_conflicting(self) -> int:
        """Number of rows left out by the conflict policy."""

    @property
    def n_skipped(self) -> int:
        """Number of rows left out because a field was missing."""


class _NamedCrowd:
    """Numbers of workers and classes, from their names."""

    worker_names: pa.Array
    classes: pa.Array

    @cached_property
    def n_workers(self) -> int:
        """Number of workers, including workers whose answers were all left out."""
        return len(self.worker_names)

    @cached_property
    def n_classes(self) -> int:
        """M, the number of classes."""
        return len(self.classes)


@dataclass(frozen=True, kw_only=True)
class CrowdInfo(_NamedCrowd):
    """Counts and names for answers that stay in an engine; the worker codes follow the order of the ids in the engine.

    >>> names = {"worker_names": pa.array(["ann", "bob"]), "classes": pa.array(["cat"])}
    >>> CrowdInfo(engine="duckdb", **names, per_worker=np.array([3, 0]), n_tasks=3, n_rows=3).n_workers
    2
    """

    engine: str  # name of the engine
    worker_names: pa.Array
    classes: pa.Array
    per_worker: IntArray  # N_i, the number of answers of each worker
    n_tasks: int
    n_rows: int
    n_repeats: int = 0  # rows that repeat an answer exactly; these answers count once
    n_conflicting: int = 0  # rows left out by the conflict policy
    n_skipped: int = 0  # rows left out because a field was missing
    abstained_per_worker: IntArray | None = None  # number of abstentions; None if there are none
    unused_abstention_labels: tuple[str, ...] = ()  # labels declared as abstentions that do not occur

    @property
    def n_abstained(self) -> int:
        """Number of abstentions."""
        return 0 if self.abstained_per_worker is None else int(self.abstained_per_worker.sum())

    @property
    def n_blank(self) -> int:
        """Number of abstentions that are blank fields; 0, because it is not counted in an engine."""
        return 0

    def abstained_lines(self) -> list[str]:
        """Return sentences on the number of abstentions; empty if there are none."""
        return [count(self.n_abstained, "abstention")] if self.n_abstained else []

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return int(self.per_worker.sum())

    def n_peers(self) -> IntArray | None:
        """Return the number of workers with whom each worker shares a task; None, because it was not counted."""
        return None


def check_vote_size(n_tasks: int, n_classes: int) -> None:
    """Refuse a table of tasks × classes that would not fit in memory, before it is made.

    Raises:
        TooLargeError: there are too many classes for this number of tasks, for example with free text.

    >>> check_vote_size(1_000, 1_000)
    """
    if n_tasks * n_classes > MAX_CELLS:
        raise TooLargeError(
            f"a vote needs one number per task and class ({n_tasks:,} tasks, {n_classes:,} classes), and "
            f"the limit is {MAX_CELLS:,} numbers. If the labels are free text, group them into classes; "
            "otherwise merge rare classes, or give the tasks in parts"
        )


@dataclass(frozen=True, repr=False)
class Answers(_NamedCrowd, Shown):
    """Answers as integer codes of task, worker and label: one entry per answer, ordered by task, then by worker.

    `quorate.read` numbers tasks, workers and classes in canonical order (`quorate.arrays.canonical_order`: numbers by
    value, other ids by their UTF-8 text), so that no result depends on the order of the rows or on the type of the ids.
    """

    task: IntArray  # shape (answers,), sorted
    worker: IntArray
    label: IntArray
    task_names: pa.Array
    worker_names: pa.Array
    classes: pa.Array
    n_rows: int = 0  # number of rows read, including all that were left out
    n_repeats: int = 0  # rows that repeat an answer exactly; these answers count once
    n_conflicting: int = 0  # rows left out by the conflict policy
    n_skipped: int = 0  # rows left out because a field was missing
    group: IntArray | None = None  # group of each worker (errors may be correlated within it), -1 for none
    group_names: pa.Array | None = None
    questions: Questions | None = None  # with several labels per task: the real task and the label of each task here
    is_model: BoolArray | None = None  # mask of the workers that are added models (predictions=); None without any
    judges: bool | None = None  # whether all workers are language models; None if it is not stated
    answer_symbols: AnswerSymbols | None = None  # if symbols have more information than the classes

    def __getstate__(self) -> dict[str, Any]:
        """Return only the fields, without the samples, blocks and results that are cached with the answers."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def summary(self) -> str:
        """Return the numbers of answers, workers, tasks and classes, as text.

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
        """Number of abstentions; they are not counted as answers."""
        return 0 if self.answer_symbols is None else self.answer_symbols.n_abstained

    @property
    def n_blank(self) -> int:
        """Number of abstentions that are blank fields."""
        return 0 if self.answer_symbols is None else self.answer_symbols.n_blank

    @property
    def abstained_per_task(self) -> IntArray | None:
        """Number of abstentions of each task; None if there are none."""
        symbols = self.answer_symbols
        return symbols.per_task(self.n_tasks) if symbols is not None and self.n_abstained else None

    @property
    def abstained_per_worker(self) -> IntArray | None:
        """Number of abstentions of each worker; None if there are none."""
        symbols = self.answer_symbols
        return symbols.per_worker(self.n_workers) if symbols is not None and self.n_abstained else None

    def abstained_lines(self) -> list[str]:
        """Return sentences on grades, and on the number of abstentions by reason."""
        return [] if self.answer_symbols is None else self.answer_symbols.to_lines()

    @property
    def unused_abstention_labels(self) -> tuple[str, ...]:
        """Labels declared as abstentions that do not occur."""
        return () if self.answer_symbols is None else self.answer_symbols.unused_abstention_labels

    @cached_property
    def n_answers(self) -> int:
        """Number of answers."""
        return len(self.task)

    @cached_property
    def n_tasks(self) -> int:
        """Number of tasks, including tasks whose answers were all left out."""
        return len(self.task_names)

    @cached_property
    def per_task(self) -> IntArray:
        """R_t, the number of answers of each task."""
        return counts_of_codes(self.task, self.n_tasks)

    @cached_property
    def per_worker(self) -> IntArray:
        """N_i, the number of answers of each worker."""
        return counts_of_codes(self.worker, self.n_workers)

    @cached_property
    def start(self) -> IntArray:
        """Index of the first answer of each task, and the number of answers as the last entry; shape (tasks + 1,)."""
        return starts_of(self.per_task)

    @cached_property
    def cells(self) -> IntArray:
        """Index of each answer in a flattened table tasks × classes: task·M + label."""
        cells: IntArray = self.task.astype(np.intp) * self.n_classes + self.label
        return cells

    @property
    def worker_cells(self) -> IntArray:
        """Index of each answer in a flattened table workers × classes: worker·M + label."""
        cells: IntArray = self.worker.astype(np.intp) * self.n_classes + self.label
        return cells

    @cached_property
    def counts(self) -> FloatArray:
        """Number of workers who gave each task each class; shape (tasks, classes)."""
        self.check_cells()
        flat = np.bincount(self.cells, np.ones(self.n_answers), self.n_tasks * self.n_classes)
        return flat.reshape(self.n_tasks, self.n_classes).astype(np.float64, copy=False)

    def filled_cells(self) -> tuple[IntArray, IntArray]:
        """Return the distinct `cells` that have an answer, ascending, and the number of answers in each.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> [values.tolist() for values in answers.filled_cells()]
        [[0, 3], [2, 1]]
        """
        n_cells = self.n_tasks * self.n_classes
        if n_cells > MAX_CELLS_PER_ANSWER * self.n_answers:
            cells, n = np.unique(self.cells, return_counts=True)
            return cells, n
        table = np.bincount(self.cells, minlength=n_cells)
        cells = np.flatnonzero(table)
        return cells, table[cells]

    def count_at(self, cells: IntArray) -> IntArray:
        """Return the number of answers in each of the given `cells`, which may contain repetitions.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> answers.count_at(np.array([3, 0, 1])).tolist()
        [1, 2, 0]
        """
        n_cells = self.n_tasks * self.n_classes
        if n_cells <= MAX_CELLS_PER_ANSWER * self.n_answers:
            return np.bincount(self.cells, minlength=n_cells)[cells]
        filled, n = self.filled_cells()
        position = np.minimum(np.searchsorted(filled, cells), len(filled) - 1)
        return np.where(filled[position] == cells, n[position], 0)

    def check_cells(self) -> None:
        """Refuse a table of tasks × classes that would not fit in memory, before it is made.

        Raises:
            TooLargeError: there are too many classes for this number of tasks, for example with free text.
        """
        check_vote_size(self.n_tasks, self.n_classes)

    def by_task(self, values: NDArray[Any]) -> FloatArray:
        """Return the sum of values (answers,) or (answers, k) over the answers of each task."""
        if values.ndim == 2:
            return np.stack([self.by_task(column) for column in values.T], axis=1)
        return np.bincount(self.task, values, self.n_tasks).astype(np.float64, copy=False)

    def by_worker(self, values: NDArray[Any]) -> FloatArray:
        """Return the sum of values (answers,) over the answers of each worker."""
        return np.bincount(self.worker, values, self.n_workers).astype(np.float64, copy=False)

    def alike(self, label: IntArray) -> FloatArray:
        """Return, for each worker, the number of answers that equal ``label`` (tasks,)."""
        return self.by_worker(self.label == label[self.task])

    def matrix(self, values: NDArray[Any] | None = None) -> "sparse.csr_array":
        """Return a sparse matrix (tasks × workers) with the value of each answer, by default 1."""
        from scipy import sparse  # the import takes 0.2 s, and few calls need it

        entries = np.ones(self.n_answers) if values is None else values
        return sparse.csr_array((entries, self.worker, self.start), shape=(self.n_tasks, self.n_workers))

    def where(self, kept: BoolArray) -> "Answers":
        """Return the answers where the mask ``kept`` is true; the codes of tasks, workers and classes do not change.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> answers.where(answers.label == 1).per_task.tolist()
        [0, 1]
        """
        names = (self.task_names, self.worker_names, self.classes)
        selected = Answers(self.task[kept], self.worker[kept], self.label[kept], *names)
        answer_symbols = None if self.answer_symbols is None else self.answer_symbols.where(kept)
        return replace(
            selected,
            group=self.group,
            group_names=self.group_names,
            answer_symbols=answer_symbols,
            judges=self.judges,
        )

    def only(self, tasks: BoolArray) -> "Answers":
        """Return the answers to the tasks where the mask is true; tasks are recoded, workers and classes are not.

        >>> import quorate
        >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
        >>> answers.only(np.array([False, True])).to_table().to_pylist()
        [{'task': 2, 'worker': 'a', 'label': 'y'}]
        """
        chosen = tasks[self.task]
        selected = self.where(chosen)
        code = (np.cumsum(tasks) - 1).astype(self.task.dtype)
        answer_symbols = None if self.answer_symbols is None else self.answer_symbols.only(chosen, tasks)
        return replace(
            selected,
            task=code[selected.task],
            task_names=take(self.task_names, np.flatnonzero(tasks)),
            answer_symbols=answer_symbols,
        )

    def to_table(self) -> Table:
        """Return a table for `quorate.read` with one row per answer: task, worker, label."""
        columns = {
            "task": (self.task_names, self.task),
            "worker": (self.worker_names, self.worker),
            "label": (self.classes, self.label),
        }
        return Table(table_of({name: take(names, codes) for name, (names, codes) in columns.items()}))

    def with_worker(self, labels: IntArray) -> "Answers":
        """Return the answers with one more worker, who gives task t the class ``labels[t]``, or no answer if it is -1.

        The new worker has the last code. Symbols and abstentions of the others are left out.
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
    """Answers with only the classes that a worker gave or that gold has; the other classes have no effect."""

    answers: Answers
    known: IntArray | None
    codes: IntArray  # original codes of these classes
    n_classes: int  # number of all classes

    def spread(self, columns: FloatArray, fill: float) -> FloatArray:
        """Return the columns of these classes at their original codes, with ``fill`` in the columns of the others."""
        full = np.full((len(columns), self.n_classes), fill)
        full[:, self.codes] = columns
        return full


def used_classes(answers: Answers, known: IntArray | None) -> UsedClasses:
    """Return the answers and gold without the classes that neither a worker gave nor gold has.

    >>> import quorate
    >>> answers = quorate.read({"task": [1], "worker": ["a"], "label": ["y"]}, classes=["x", "y"])
    >>> used = used_classes(answers, None)
    >>> used.answers.n_classes, used.spread(np.ones((1, 1)), 0.0).tolist()
    (1, [[0.0, 1.0]])
    """
    codes = answers.label if known is None else np.concatenate([answers.label, known[known >= 0]])
    used = np.flatnonzero(np.bincount(codes, minlength=answers.n_classes))
    if len(used) == 0:  # a conflict policy left no answer
        used = np.arange(answers.n_classes)
    new_code = np.full(answers.n_classes, -1, np.int32)
    new_code[used] = np.arange(len(used))
    fewer = replace(answers, label=new_code[answers.label], classes=take(answers.classes, used))
    new_known = None
    if known is not None:
        new_known = np.where(known < 0, -1, new_code[known])
    return UsedClasses(fewer, new_known, used, answers.n_classes)
