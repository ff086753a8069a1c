"""Which rater should score which task next: first repair, then the tasks with the widest intervals."""

import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from scipy.special import stdtrit

from quorate.advice.available_workers import AvailableWorkers, gather_available_workers
from quorate.arrays import FloatArray, IntArray, Shown, Table, from_numpy, from_strings, table_of, take
from quorate.errors import OptionError, count
from quorate.graph.components import identify
from quorate.graph.repair import repair
from quorate.io.arguments import check_arguments
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.io.scores import GroupedScoreKeywords, Scores, read_scores
from quorate.io.write_table import SCHEMA_VERSION
from quorate.rating.rate import rate
from quorate.rating.rating import Rating

REPAIR = "repair"
INFORMATION = "information"


@dataclass(frozen=True, repr=False)
class ScoreAdvice(Shown):
    """Further answers in the order of asking, and the half-widths that are expected after them."""

    scores: Scores
    rating: Rating
    worker_pool: AvailableWorkers
    task: IntArray
    worker: IntArray
    n_repair: int
    gain: FloatArray  # expected decrease of the standard error of the task; NaN for repair
    half_width: FloatArray  # of each task, expected after the answers
    max_half_width: float | None

    @cached_property
    def assignments(self) -> Table:
        """One row per further answer: task, worker, reason, gain."""
        is_repair = np.arange(len(self.task)) < self.n_repair
        reasons = take(from_strings([INFORMATION, REPAIR]), is_repair.astype(np.int64))
        columns = {
            "task": take(self.scores.answers.task_names, self.task),
            "worker": take(self.worker_pool.names, self.worker),
            "reason": reasons,
            "gain": from_numpy(self.gain, mask=np.isnan(self.gain)),
        }
        return Table(table_of(columns))

    @cached_property
    def tasks(self) -> Table:
        """One row per task: half-width now and expected after the answers, and whether it is small enough."""
        scores = self.rating.tasks
        now = (scores.high - scores.low) / 2
        columns: dict[str, Any] = {
            "task": self.scores.answers.task_names,
            "half_width": from_numpy(now, mask=scores.n_answers == 0),
            "half_width_after": self.half_width,
        }
        if self.max_half_width is not None:
            columns["enough"] = self.half_width <= self.max_half_width
        return Table(table_of(columns))

    def summary(self) -> str:
        """Return the summary, a few lines."""
        scores = self.rating.tasks
        now = np.median((scores.high - scores.low)[scores.n_answers > 0]) / 2
        lines = [
            f"{count(len(self.task), 'more answer')} would reduce the median half-width of the intervals from "
            f"{now:.3g} to about {np.median(self.half_width):.3g}."
        ]
        if self.n_repair:
            lines.append(
                f"The first {count(self.n_repair, 'answer')} connect groups of raters or identify their scales."
            )
        if self.max_half_width is not None:
            n_above = int((self.half_width > self.max_half_width).sum())
            above = "no task has"
            if n_above:
                above = f"{count(n_above, 'task')} {'has' if n_above == 1 else 'have'}"
            lines.append(f"After these answers, {above} an interval with a half-width above {self.max_half_width:g}.")
        return "\n".join(lines)

    def to_dict(self, *, assignments: bool = True, tasks: bool = True) -> dict[str, Any]:
        """Return everything for a program."""
        out: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "n_assignments": len(self.task),
            "n_repair": self.n_repair,
        }
        if assignments:
            out["assignments"] = self.assignments.to_pylist()
        if tasks:
            out["tasks"] = self.tasks.to_pylist()
        return out

    def _tables(self) -> tuple[Table, ...]:
        return (self.assignments,)


@check_arguments
@keep_pipes()
def advise_scores(
    source: Source | Scores,
    budget: int,
    *,
    workers: Source = None,
    per_worker: int | None = None,
    cost: str | None = None,
    max_half_width: float | None = None,
    gold: Source = None,
    **reading: Unpack[GroupedScoreKeywords],
) -> ScoreAdvice:
    """Advise which rater should score which task next.

    Args:
        source: what `quorate.read_scores` takes.
        budget: maximum number of further answers.
        workers: available raters, as in `quorate.advise`.
        per_worker: maximum number of further tasks per rater.
        cost: the column of ``workers`` with the cost of an answer.
        max_half_width: stop if the interval of a task is expected to have this half-width.
        gold: known scores; no answers are requested for their tasks.
        reading: options of `quorate.read_scores`.

    Raises:
        OptionError: an option has an invalid value.
        ScoreError: the scores determine nothing.

    >>> from quorate.rating.simulate import score_crowd
    >>> advice = advise_scores(score_crowd(20, 6, 3).answer_table, 4)
    >>> len(advice.assignments)
    4
    """
    if budget < 1:
        raise OptionError(f"budget= (--budget) must be at least 1, got {budget:g}")
    if max_half_width is not None and not max_half_width > 0:
        raise OptionError(f"max_half_width= (--max-half-width) must be greater than 0, got {max_half_width:g}")
    scores = read_scores(source, **reading)
    if not scores.has_workers:
        raise OptionError("advice needs the raters' ids: name their column with worker= (--worker)")
    rating = rate(scores, gold=gold)
    answers = scores.answers
    worker_pool = gather_available_workers(answers, budget, available=workers, per_worker=per_worker, cost=cost)
    available = np.flatnonzero(worker_pool.available & (worker_pool.room > 0))
    repairs = repair(
        answers, identify(answers), available=available[np.lexsort([available, -worker_pool.load[available]])]
    )
    task = repairs.task[:budget]
    worker = repairs.worker[:budget]
    room = worker_pool.after(worker).room.copy()
    has_answered = set(zip(answers.task.tolist(), answers.worker.tolist(), strict=True))
    has_answered |= set(zip(task.tolist(), worker.tolist(), strict=True))
    plan = _Plan(rating, worker_pool, room, has_answered, max_half_width)
    chosen = plan.choose(budget - len(task))
    gain = np.concatenate([np.full(len(task), np.nan), [choice[2] for choice in chosen]])
    return ScoreAdvice(
        scores,
        rating,
        worker_pool,
        np.concatenate([task, np.array([choice[0] for choice in chosen], np.int64)]),
        np.concatenate([worker, np.array([choice[1] for choice in chosen], np.int64)]),
        len(task),
        gain,
        plan.half_width(),
        max_half_width,
    )


class _Plan:
    """Greedy choice of answers. This object changes with each choice."""

    def __init__(
        self,
        rating: Rating,
        worker_pool: AvailableWorkers,
        room: IntArray,
        has_answered: set[tuple[int, int]],
        max_half_width: float | None,
    ) -> None:
        tasks = rating.tasks
        raters = rating.raters
        is_rated = tasks.n_answers > 0
        self.unit_variance = np.where(is_rated & ~tasks.is_known, tasks.unit_variance, 0.0)
        self.variance = np.where(is_rated, tasks.se**2 - self.unit_variance, rating.reliability.task)
        self.variance[tasks.is_known] = 0.0
        self.quantile = stdtrit(np.maximum(tasks.df, 1.0), 0.5 + rating.level / 2)
        # What one answer of a rater adds to the precision of a task; a new rater has the crowd's mean.
        n_known = len(raters.scale)
        information = raters.scale**2 / raters.noise**2
        has_scored = raters.n_answers > 0
        mean_information = float(np.average(information[has_scored], weights=raters.n_answers[has_scored]))
        precision = np.full(worker_pool.size, mean_information)
        precision[:n_known] = np.where(has_scored, information, mean_information)
        self.room = room
        self.has_answered = has_answered
        self.limit = max_half_width
        precision_per_cost = precision / worker_pool.cost
        usable = np.flatnonzero(worker_pool.available)
        self.order = usable[np.lexsort([usable, -precision_per_cost[usable]])]
        self.precision = precision

    def half_width(self) -> FloatArray:
        """Return the half-width of the interval of each task, with the answers chosen so far."""
        half: FloatArray = self.quantile * np.sqrt(self.variance + self.unit_variance)
        return half

    def choose(self, budget: int) -> list[tuple[int, int, float]]:
        """Return (task, rater, gain) of each answer: the task with the widest interval, and the best rater per cost."""
        waiting = [(-width, task) for task, width in enumerate(self.half_width().tolist()) if width > 0]
        heapq.heapify(waiting)
        chosen: list[tuple[int, int, float]] = []
        while waiting and len(chosen) < budget:
            width, task = heapq.heappop(waiting)
            if self.limit is not None and -width <= self.limit:
                break
            worker = next(
                (
                    rater
                    for rater in self.order.tolist()
                    if self.room[rater] > 0 and (task, rater) not in self.has_answered
                ),
                None,
            )
            if worker is None:
                continue
            before = np.sqrt(self.variance[task] + self.unit_variance[task])
            self.variance[task] = 1 / (1 / self.variance[task] + self.precision[worker])
            after = np.sqrt(self.variance[task] + self.unit_variance[task])
            self.room[worker] -= 1
            self.has_answered.add((task, worker))
            chosen.append((task, worker, float(before - after)))
            heapq.heappush(waiting, (-float(self.quantile[task] * after), task))
        return chosen
