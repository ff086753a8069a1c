"""Advice: which worker should answer which task next, the share of wrong labels, and how many answers are needed."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.advice.available_workers import AvailableWorkers
from quorate.advice.stopping import AnswersNeeded
from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, Shown, Table, from_numpy, from_strings, table_of, take
from quorate.blocks.sampling import TaskSample, sample_for_plans, sample_for_tests
from quorate.calibration.confidence import advised_labels
from quorate.errors import in_python, visible
from quorate.io.model_names import models_of
from quorate.notes import change_of, expert_command, without_later_advice
from quorate.renamed import renamed_attribute
from quorate.result import Result, count, left_out, percent, sizes

if TYPE_CHECKING:
    from quorate.advice.prospect import Prospect

INFORMATION = "most useful"
MAX_NAMED = 8  # workers whose number of assignments the summary states


@dataclass(frozen=True, repr=False)
class Advice(Shown):
    """Assignments, the most useful first, and how many more answers the labels need."""

    answers: Answers
    budget: float  # number of answers; an amount if answers have costs
    worker_pool: AvailableWorkers
    task: IntArray  # codes, one for each assignment
    worker: IntArray  # codes in the worker pool
    reasons: tuple[str, ...]  # of the first assignments, for repair; all others are for information
    gain: FloatArray  # expected information of each assignment in nats; NaN for repair
    posterior: FloatArray  # tasks × classes
    skills: FloatArray  # expected skills of the worker pool; that of a new worker is the mean of the crowd
    answers_needed: AnswersNeeded
    stops: bool  # whether a target was given and is reached
    notes: tuple[str, ...]  # what a reader must know, the most important first
    is_stated: BoolArray | None = None  # tasks whose confidence the answers support; None for all
    unsupported: str | None = None  # why the answers support no confidence
    result: Result | None = None  # that the advice is based on
    has_new_workers: bool = False  # whether some available workers have not answered yet
    dependence: float = 0.0  # correlation of the errors of answers to a task that the plan assumes
    batch: int | None = None  # tasks per work package

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return renamed_attribute(self, name, {"need": "answers_needed"})

    @property
    def sample(self) -> TaskSample | None:
        """The sample of tasks that decides whether more answers help, or proposes groups; None: all tasks."""
        return next(iter(self._samples().values()), None)

    def _samples(self) -> dict[str, TaskSample]:
        """Return what is examined on a sample, with the sample: components and weak workers need all tasks."""
        if self.result is None or sample_for_plans(self.answers) is None:
            return {}
        from quorate.advice.advise import advice_basis

        samples = {}
        if self.prospect is not None and self.prospect.sample is not None:
            samples["whether more answers help"] = self.prospect.sample
        of_tests = sample_for_tests(self.answers)
        if of_tests is not None and advice_basis(self.result).identifiability.n_components == 1:
            samples["which groups share few tasks"] = of_tests
        return samples

    @property
    def n_assignments(self) -> int:
        """How many answers are advised."""
        return len(self.task)

    @property
    def expected_error(self) -> float | None:
        """The share of labels that are expected to be wrong; None if no confidence is stated."""
        return self.answers_needed.expected_error if self.unsupported is None else None

    @cached_property
    def prospect(self) -> "Prospect | None":
        """Whether more answers would help, independent of the budget; None without a result."""
        if self.result is None:
            return None
        from quorate.advice.prospect import prospect  # imported here: it imports `advise_result`

        return prospect(self.result)

    @property
    def is_recommended(self) -> bool:
        """Whether these answers should be collected: not if they change few labels, then an expert is better."""
        if self.reasons or self.has_new_workers or self.stops or self.prospect is None:
            return True
        return self.prospect.helps

    @cached_property
    def expected_error_after(self) -> float | None:
        """The share of labels that are probably wrong after these answers; None if no confidence is stated."""
        if self.expected_error is None or self.result is None:
            return None
        from quorate.advice.expected_error import error_after

        return float(error_after(self, self.dependence).mean())

    @cached_property
    def assignments(self) -> Table:
        """One row per further answer: task, worker, reason, gain; the gain, in nats, is null for repair.

        With costs there is a column cost, and with work packages a column batch.
        """
        texts = [*dict.fromkeys(self.reasons), INFORMATION]
        code_of_text = {text: k for k, text in enumerate(texts)}
        codes = np.full(len(self.task), len(texts) - 1)
        codes[: len(self.reasons)] = [code_of_text[text] for text in self.reasons]
        columns = {
            "task": take(self.answers.task_names, self.task),
            "worker": take(self.worker_pool.names, self.worker),
            "reason": take(from_strings(texts), codes),
            "gain": from_numpy(self.gain, mask=np.isnan(self.gain)),
        }
        if self.worker_pool.priced:
            columns["cost"] = self.worker_pool.cost[self.worker]
        if self.batch is not None:
            columns["batch"] = self.batches
        return Table(table_of(columns))

    @property
    def total_cost(self) -> float | None:
        """The total cost of the assignments; None if answers have no costs."""
        return float(self.worker_pool.cost[self.worker].sum()) if self.worker_pool.priced else None

    @cached_property
    def batches(self) -> IntArray:
        """The number of the work package of each assignment: at most ``batch`` tasks for one worker.

        Packages are numbered from 1, in the order of their first assignments.
        """
        size = self.n_assignments if self.batch is None else self.batch
        turn = np.zeros(self.n_assignments, np.int64)
        for worker in np.unique(self.worker):
            is_of_worker = self.worker == worker
            turn[is_of_worker] = np.arange(int(is_of_worker.sum()))
        packages = np.stack([self.worker, turn // max(size, 1)], axis=1)
        _, first, package = np.unique(packages, axis=0, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(1, len(first) + 1)
        return rank[package.ravel()]

    @cached_property
    def tasks(self) -> Table:
        """One row per task: task, confidence, enough (at the target), further (estimated number of answers it needs).

        `confidence` is that of the labels, null where none is stated; `further` is null if no number of answers
        reaches the target.
        """
        unstated = None if self.is_stated is None else ~self.is_stated
        columns = {
            "task": self.answers.task_names,
            "confidence": from_numpy(1 - self.answers_needed.error, mask=unstated),
            "enough": self.answers_needed.is_task_done,
            "further": from_numpy(self.answers_needed.per_task, mask=self.answers_needed.is_unreachable),
        }
        return Table(table_of(columns))

    def to_dict(self, *, assignments: bool = True, tasks: bool = True) -> dict[str, Any]:
        """Return what `quorate advise --json` prints; the two long lists may be left out.

        >>> import quorate
        >>> from quorate.advice.advise import advise
        >>> advice = advise(quorate.simulate.crowd(50, 8, 2, seed=0).answers, budget=5)
        >>> advice.to_dict(tasks=False)["assignments"][0]["reason"]
        'most useful'
        """
        kinds = [text.split(":")[0] for text in self.reasons]
        for_mean_error = self.answers_needed.answers_for_mean_error
        listed: dict[str, Any] = {
            **sizes(self.answers),
            "budget": self.budget,
            "advised": self.n_assignments,
            "cost": self.total_cost,
            "batches": None if self.batch is None or not self.n_assignments else int(self.batches.max()),
            "repair": kinds.count("repair"),
            "settle": kinds.count("settle"),
            "information": self.n_assignments - len(kinds),
            "available_workers": int(self.worker_pool.available.sum()),
            "expected_error": self.expected_error,
            "expected_error_after": self.expected_error_after,
            "recommended": self.is_recommended,
            "target_error": self.answers_needed.target_error,
            "stop": self.stops,
            "tasks_with_enough": int(self.answers_needed.is_task_done.sum()),
            "further_answers_for_the_rest": self.answers_needed.answers_for_reachable_tasks,
            "further_answers_for_the_whole": for_mean_error if np.isfinite(for_mean_error) else None,
            "tasks_beyond_more_answers": int(self.answers_needed.is_unreachable.sum()),
            "skills_by": "one-coin",
            "notes": list(self.notes),
        }
        if self.sample is not None:
            listed["test_sample"] = self.sample.to_dict()
        if assignments:
            listed["assignments"] = self.assignments.to_pylist()
        if tasks:
            listed["task_needs"] = self.tasks.to_pylist()
        return listed

    def summary(self, *, anyway: bool = False) -> str:
        """Return a summary: what these answers change, which workers give them, and when to stop.

        >>> import quorate
        >>> from quorate.advice.advise import advise
        >>> answers = quorate.simulate.crowd(200, 12, 3, seed=0).answers
        >>> print(advise(answers, budget=20, target_error=0.05).summary())
        20 more answers would lower the share of wrong labels from about ...% to ...%.
        20 assignments: 20 tasks, 5 of 12 available workers (w0: 4, w5: 4, w6: 4, w9: 4, w10: 4).
        ... of 200 labels already have at least 95% confidence.
        About ... more answers would bring ... more labels to 95% confidence.
        ... labels probably cannot reach 95% confidence with answers from these workers...
        """
        warnings = [] if self.result is None else self.result.judge_warnings()
        lines = [*self._lines(anyway=anyway), *self.notes, *left_out(self.answers), *self._sample_lines()]
        return in_python("\n".join([*without_later_advice(warnings, lines), *lines]))

    def __repr__(self) -> str:
        return f"<Advice: {count(self.n_assignments, 'assignment')}>"

    def _tables(self) -> tuple[Table, ...]:
        return (self.assignments,)

    def _lines(self, *, anyway: bool) -> list[str]:
        lines = self._effect_lines(anyway=anyway)
        n_available = count(int(self.worker_pool.available.sum()), "available worker")
        if self.n_assignments and (self.is_recommended or anyway):
            n_tasks = len(np.unique(self.task))
            workers, n_answers = np.unique(self.worker, return_counts=True)
            order = np.lexsort([workers, -n_answers])
            names = [str(self.worker_pool.names[int(workers[k])].as_py()) for k in order[:MAX_NAMED]]
            is_number = any(name.isdigit() for name in names)  # an id that is a number could be read as a count
            loads = [
                f"{'worker ' if is_number else ''}{name}: {n_answers[k]}"
                for name, k in zip(names, order[:MAX_NAMED], strict=True)
            ]
            more = f" and {len(workers) - MAX_NAMED:,} more" if len(workers) > MAX_NAMED else ""
            lines.append(
                f"{count(self.n_assignments, 'assignment')}: {count(n_tasks, 'task')}, {len(workers):,} of "
                f"{n_available} ({visible(', '.join(loads))}{more})."
            )
            if self.total_cost is not None:
                lines.append(f"They cost {self.total_cost:,.6g} of a budget of {self.budget:,.6g}.")
            if self.batch is not None:
                n_batches = count(int(self.batches.max()), "batch")
                lines.append(f"{n_batches} of at most {count(self.batch, 'task')}, each for one worker.")
        if self.reasons:
            verb = "makes" if len(self.reasons) == 1 else "make"
            lines.append(f"{len(self.reasons):,} of these answers {verb} workers comparable; collect these first.")
        return [*lines, *self._need_lines()]

    def _sample_lines(self) -> list[str]:
        """Return a line on each sample of a large crowd."""
        examined: dict[str, list[str]] = {}
        for what, sample in self._samples().items():
            examined.setdefault(sample.text(), []).append(what)
        lines = []
        for text, parts in examined.items():
            subject = ", and ".join(parts)
            comma = "," if len(parts) > 1 else ""
            lines.append(f"{subject[0].upper()}{subject[1:]}{comma} was examined on {text}.")
        return lines

    def _effect_lines(self, *, anyway: bool) -> list[str]:
        """Return lines on what the answers change, and on what helps more if they change little."""
        if self.unsupported is not None:
            return [f"{self.unsupported}."]
        now = self.answers_needed.expected_error
        after = self.expected_error_after
        if self.n_assignments == 0:
            return [f"There are no answers to assign. About {percent(now)} of the labels are probably wrong."]
        n = count(self.n_assignments, "more answer")
        if self.is_recommended:
            if after is None or after > 0.995 * now:
                return [f"About {percent(now)} of the labels are probably wrong."]
            return [f"{n} would lower the share of wrong labels from about {change_of(now, after)}."]
        assert self.prospect is not None
        has_models = models_of(self.answers, self.answers.judges) is not None
        n_expert = advised_labels(self.answers.n_tasks, has_models=has_models)
        better = f": {expert_command(n_expert)}" if n_expert else ""
        return [
            f"{self.prospect.sentence()}.",
            f"Not recommended. It is better to have an expert label some tasks{better}",
            "You can also list workers who have not answered yet (--available FILE)."
            + ("" if anyway else " To assign these answers anyway, add --anyway."),
        ]

    def _shared_mistakes(self) -> str:
        """Return the end of a sentence: shared mistakes as the reason, stated as a fact only if the answers show it."""
        basis = None if self.result is None else self.result.confidence_basis
        if basis is None or self.dependence != basis.error_correlation:
            return ", because these workers share mistakes, as you declared"
        if basis.shares_mistakes:
            return f", because these workers probably share mistakes: {basis.effective_votes_text()}"
        return f". If they share mistakes as workers of comparable crowds do, {basis.effective_votes_text()}"

    def _need_lines(self) -> list[str]:
        """Return lines on the number of answers that tasks below the target confidence need."""
        needed = self.answers_needed
        n_enough = int(needed.is_task_done.sum())
        n_never = int(needed.is_unreachable.sum())
        n_open = int((~needed.is_task_done).sum()) - n_never
        target = percent(needed.target_error)
        confidence = percent(1 - needed.target_error)
        have = "has" if n_enough <= 1 else "have"
        number = f"{n_enough:,}" if n_enough else "None"
        already = "already " if n_enough else ""
        line = f"{number} of {count(self.answers.n_tasks, 'label')} {already}{have} at least {confidence} confidence"
        if self.is_recommended and not needed.is_mean_reached and np.isfinite(needed.answers_for_mean_error):
            in_all = count(int(np.ceil(needed.answers_for_mean_error)), "more answer")
            line += f"; for at most {target} wrong labels in all you need about {in_all}"
        lines = [f"{line}."]
        if n_open and self.is_recommended:
            which = "all other labels" if n_never == 0 else count(n_open, "more label")
            n_needed = count(round(needed.answers_for_reachable_tasks), "more answer")
            lines.append(f"About {n_needed} would bring {which} to {confidence} confidence.")
        if n_never:
            lines.append(
                f"{count(n_never, 'label')} probably cannot reach {confidence} confidence with answers from these "
                f"workers{self._shared_mistakes()}. Ask an expert or other workers."
            )
        return lines
