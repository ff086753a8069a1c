"""What advice is: further assignments, how sure the labels are, and what it takes to be surer."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quorate.advice.available_workers import AvailableWorkers
from quorate.advice.stopping import Need
from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, Shown, Table, from_numpy, from_strings, table_of, take
from quorate.calibration.confidence import advised_labels
from quorate.errors import in_python
from quorate.result import count, left_out, sizes

INFORMATION = "information"
METHOD = (
    "how sure a label is, is what `quorate aggregate` says; whom to ask follows one-coin EM, whose skills stay "
    "unbiased when answers are collected by advice (quorate.adaptive_skills has them, with intervals)"
)


@dataclass(frozen=True, repr=False)
class Advice(Shown):
    """Further assignments, the first to be asked first, and what can be said about stopping."""

    answers: Answers
    budget: int
    worker_pool: AvailableWorkers
    task: IntArray  # codes, one for each assignment
    worker: IntArray  # codes in the crew
    reasons: tuple[str, ...]  # of the repair; all others are for information
    gain: FloatArray  # nats; NaN for repair
    posterior: FloatArray  # tasks × classes
    skills: FloatArray  # of the crew, as expected; a newcomer's is the mean of the others
    need: Need
    stops: bool  # a target was given, and is reached
    notes: tuple[str, ...]  # what a reader must know, the most important first
    is_stated: BoolArray | None = None  # tasks whose confidence the answers support; None for all
    unsupported: str | None = None  # why they support none

    @property
    def n_assignments(self) -> int:
        """How many answers are advised."""
        return len(self.task)

    @property
    def expected_error(self) -> float | None:
        """The share of labels that are expected to be wrong; None where no confidence is stated."""
        return self.need.expected_error if self.unsupported is None else None

    @cached_property
    def assignments(self) -> Table:
        """One row a further answer: task, worker, reason, gain; the gain, in nats, is null for repair."""
        texts = [*dict.fromkeys(self.reasons), INFORMATION]
        place = {text: k for k, text in enumerate(texts)}
        codes = np.full(len(self.task), len(texts) - 1)
        codes[: len(self.reasons)] = [place[text] for text in self.reasons]
        columns = {
            "task": take(self.answers.task_names, self.task),
            "worker": take(self.worker_pool.names, self.worker),
            "reason": take(from_strings(texts), codes),
            "gain": from_numpy(self.gain, mask=np.isnan(self.gain)),
        }
        return Table(table_of(columns))

    @cached_property
    def tasks(self) -> Table:
        """One row a task: task, confidence, enough (at the target), further (answers it will need, an estimate).

        `confidence` is that of the labels, null where none is stated; `further` is null where no number of answers
        will do.
        """
        unstated = None if self.is_stated is None else ~self.is_stated
        columns = {
            "task": self.answers.task_names,
            "confidence": from_numpy(1 - self.need.error, mask=unstated),
            "enough": self.need.settled,
            "further": from_numpy(self.need.further, mask=self.need.beyond),
        }
        return Table(table_of(columns))

    def to_dict(self, *, assignments: bool = True, tasks: bool = True) -> dict[str, Any]:
        """Return what `quorate advise --json` prints; the two long lists may be left out.

        >>> import quorate
        >>> from quorate.advice.advise import advise
        >>> advice = advise(quorate.simulate.crowd(50, 8, 2, seed=0).answers, budget=5)
        >>> advice.to_dict(tasks=False)["assignments"][0]["reason"]
        'information'
        """
        kinds = [text.split(":")[0] for text in self.reasons]
        listed: dict[str, Any] = {
            **sizes(self.answers),
            "budget": self.budget,
            "advised": self.n_assignments,
            "repair": kinds.count("repair"),
            "settle": kinds.count("settle"),
            "information": self.n_assignments - len(kinds),
            "available_workers": int(self.worker_pool.available.sum()),
            "expected_error": self.expected_error,
            "target_error": self.need.target,
            "stop": self.stops,
            "tasks_with_enough": int(self.need.settled.sum()),
            "further_answers_for_the_rest": self.need.for_the_rest,
            "further_answers_for_the_whole": self.need.whole if np.isfinite(self.need.whole) else None,
            "tasks_beyond_more_answers": int(self.need.beyond.sum()),
            "skills_by": "one-coin",
            "notes": list(self.notes),
        }
        if assignments:
            listed["assignments"] = self.assignments.to_pylist()
        if tasks:
            listed["task_needs"] = self.tasks.to_pylist()
        return listed

    def summary(self) -> str:
        """Tell in a few lines what to do next, and when to stop.

        >>> import quorate
        >>> from quorate.advice.advise import advise
        >>> answers = quorate.simulate.crowd(200, 12, 3, seed=0).answers
        >>> print(advise(answers, budget=20, target_error=0.05).summary())
        20 further answers advised, of a budget of 20, to ... tasks by ... of 12 available workers
        expected error now 0...; at 0.05, ... tasks need no more answers
        the other ... tasks will need about ... further answers to be as sure each; about ... bring the mean of all ...
        how sure a label is, is what `quorate.aggregate(answers)` says; whom to ask follows one-coin EM, ...
        """
        return in_python("\n".join([*self.notes, *self._lines(), METHOD, *left_out(self.answers)]))

    def __repr__(self) -> str:
        return f"<Advice: {self._lines()[0]}>"

    def _tables(self) -> tuple[Table, ...]:
        return (self.assignments,)

    def _lines(self) -> list[str]:
        n, needs = self.n_assignments, self.need
        asked, tasks = len(np.unique(self.worker)), len(np.unique(self.task))
        head = f"{count(n, 'further answer')} advised, of a budget of {self.budget:,}"
        if n:
            available = count(int(self.worker_pool.available.sum()), "available worker")
            head += f", to {count(tasks, 'task')} by {asked:,} of {available}"
        if self.reasons:
            head += f"; {count(len(self.reasons), 'answer')} of them to repair the crowd"
        enough = int(needs.settled.sum())
        lines = [
            head,
            f"{f'expected error now {needs.expected_error:.3g}' if self.unsupported is None else self.unsupported}; "
            f"at {needs.target:g}, "
            f"{count(enough, 'task')} need{'s' if enough == 1 else ''} no more answers",
        ]
        return [*lines, *self._open_lines()]

    def _open_lines(self) -> list[str]:
        """Say what the tasks that are not sure enough will need."""
        needs, beyond = self.need, int(self.need.beyond.sum())
        others = int((~needs.settled).sum()) - beyond
        reachable = not needs.reached and np.isfinite(needs.whole)
        whole = f"; about {np.ceil(needs.whole):,.0f} bring the mean of all tasks there" if reachable else ""
        lines = []
        if others:
            lines.append(
                f"the other {count(others, 'task')} will need about {needs.for_the_rest:,.0f} further answers to "
                f"be as sure each{whole}"
            )
        if beyond:
            n = advised_labels(self.answers.n_tasks)
            lines.append(
                f"{count(beyond, 'task')} will not be as sure however many such workers answer, because they err "
                f"together; label some yourself{f' (quorate advise --expert {n})' if n else ''}{whole * (not others)}"
            )
        return lines
