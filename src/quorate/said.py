"""What workers said, where that is more than a class: grades that point to one, and abstentions that point to none."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, IntArray
from quorate.errors import count, shown

BLANK = "blank"  # what a field without a label is called


@dataclass(frozen=True)
class Said:
    """Everything that was said, beside the classes that `quorate.answers.Answers` holds.

    What a worker says and what is true are two alphabets. Symbols are of the first; one that points to a class is an
    answer, and one that points to none is an abstention, which is not among the answers.

    >>> yes_no_unsure = pa.array(["no", "yes", "unsure"])
    >>> said = Said(yes_no_unsure, np.array([0, 1, -1]), np.array([0]), np.array([3]), np.array([1]), np.array([2]))
    >>> said.n_abstained, said.reasons(), said.to_lines()
    (1, {'unsure': 1}, ['1 abstention by 1 worker on 1 task: unsure (1)'])
    """

    symbols: pa.Array  # null stands for a blank field
    points_to: IntArray  # the class of each symbol; -1 for none
    symbol: IntArray  # of each answer
    task: IntArray  # of each abstention, never decreasing
    worker: IntArray
    silence: IntArray  # its symbol
    n_superseded: int = 0  # abstentions beside an answer, or another abstention, of the worker to the task: left out
    unheard: tuple[str, ...] = ()  # what would have been an abstention, and nobody said

    @property
    def n_abstained(self) -> int:
        """How many abstentions there are."""
        return len(self.task)

    @property
    def has_grades(self) -> bool:
        """Whether several symbols point to one class."""
        return bool(np.bincount(self.points_to + 1)[1:].max(initial=0) > 1)

    @property
    def is_more_than_classes(self) -> bool:
        """Whether anything was said that the classes do not say: an abstention, or which of several grades."""
        return self.n_abstained > 0 or self.has_grades

    def per_task(self, n_tasks: int) -> IntArray:
        """Count the abstentions of each task."""
        return np.bincount(self.task, minlength=n_tasks)

    def per_worker(self, n_workers: int) -> IntArray:
        """Count the abstentions of each worker."""
        return np.bincount(self.worker, minlength=n_workers)

    def reasons(self) -> dict[str, int]:
        """Count the abstentions by what was said."""
        times = np.bincount(self.silence, minlength=len(self.symbols)).tolist()
        names = (BLANK if name is None else str(name) for name in self.symbols.to_pylist())
        found: dict[str, int] = {}
        for name, n in zip(names, times, strict=True):
            if n:
                found[name] = found.get(name, 0) + n
        return found

    def to_lines(self) -> list[str]:
        """Tell how many abstained, and why."""
        lines = []
        if self.has_grades:
            graded = self.points_to[self.points_to >= 0]
            lines.append(f"{count(len(graded), 'grade')} point to {count(len(np.unique(graded)), 'class')}")
        if self.n_abstained:
            who, where = (len(np.unique(codes)) for codes in (self.worker, self.task))
            reasons = ", ".join(f"{name} ({n:,})" for name, n in self.reasons().items())
            by = f"by {count(who, 'worker')} on {count(where, 'task')}"
            lines.append(f"{count(self.n_abstained, 'abstention')} {by}: {reasons}")
        if self.n_superseded:
            lines.append(f"{count(self.n_superseded, 'abstention')} left out beside what the same worker said too")
        return lines

    def where(self, kept: BoolArray) -> "Said":
        """Keep some answers, and every abstention."""
        return replace(self, symbol=self.symbol[kept])

    def only(self, kept: BoolArray, tasks: BoolArray) -> "Said":
        """Keep some answers, and the abstentions of some tasks, which are numbered anew."""
        here = tasks[self.task]
        code = (np.cumsum(tasks) - 1).astype(self.task.dtype)
        fewer = replace(self, task=code[self.task[here]], worker=self.worker[here], silence=self.silence[here])
        return fewer.where(kept)


def unheard_line(unheard: tuple[str, ...]) -> str:
    """Name what was to be an abstention and never occurs.

    >>> unheard_line(("n/a",))
    "nobody said 'n/a', which abstain= (--abstain) names; check the spelling"
    """
    names = ", ".join(shown(name) for name in unheard)
    return f"nobody said {names}, which abstain= (--abstain) names; check the spelling"


class CountsAbstentions(Protocol):
    """How many abstentions there are, wherever they lie."""

    @property
    def n_abstained(self) -> int:
        """How many."""

    @property
    def abstained_per_worker(self) -> IntArray | None:
        """Those of each worker; None where nobody abstained."""

    def abstained_lines(self) -> list[str]:
        """Tell how many abstained."""


class Abstaining:
    """What answers know of abstentions."""

    said: Said | None
    task_names: pa.Array
    worker_names: pa.Array

    @property
    def n_abstained(self) -> int:
        """How many abstentions there are; they are not among the answers."""
        return 0 if self.said is None else self.said.n_abstained

    @property
    def abstained_per_task(self) -> IntArray | None:
        """The abstentions of each task; None where nobody abstained."""
        return self.said.per_task(len(self.task_names)) if self.said is not None and self.n_abstained else None

    @property
    def abstained_per_worker(self) -> IntArray | None:
        """The abstentions of each worker; None where nobody abstained."""
        return self.said.per_worker(len(self.worker_names)) if self.said is not None and self.n_abstained else None

    def abstained_lines(self) -> list[str]:
        """Tell how many abstained and why, and what was left out of that."""
        return [] if self.said is None else self.said.to_lines()


@dataclass(frozen=True)
class Asked:
    """Which label of which task each yes/no question is about, where a task may have several labels.

    >>> asked = Asked(np.array([0, 0]), np.array([0, 1]), pa.array([7]), pa.array(["cat", "dog"]), np.array([3]), ",")
    >>> asked.n_tasks, asked.names().to_pylist()
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
