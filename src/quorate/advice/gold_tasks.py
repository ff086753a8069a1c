"""Which tasks an expert should label: the least sure ones, and a share drawn at random, which keeps the check honest.

Labels of the least sure tasks teach most, and say nothing of how often the others are right. So a third of them is
drawn at random among all the rest, with a probability that is known: the first kind is certain to be asked
(probability 1), the second has one over the size of its stratum, and a mean that weighs each label by one over its
probability is unbiased for all tasks [Horvitz and Thompson 1952].
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from quorate.advice.advise import believed
from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, Shown, Table, from_numpy, from_strings, table_of, take
from quorate.errors import OptionError, in_python
from quorate.io.gold import answers_and_gold
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.notes import UNSUPPORTED
from quorate.result import Result, count

UNBIASED = (
    1 / 3
)  # of the tasks, drawn at random: ten of thirty tell an error of 20 % to within 25 points, better than none
POOL = 20  # times as many of the least sure tasks are looked at for spread
# Measured on 22 public crowds: 30 labels of the least sure tasks, 30 at random, none; error over all tasks.
BROUGHT = (
    "what such labels bring: over 22 public crowds 30 labels of the least sure tasks took the error of all labels from "
    ".181 to .136, and 30 drawn at random to .151"
)


@dataclass(frozen=True, repr=False)
class GoldAdvice(Shown):
    """Tasks whose labels an expert should give, in the order to label them."""

    result: Result
    task: IntArray  # codes
    inclusion_probability: FloatArray  # 1 for those chosen, less for those drawn
    reasons: tuple[str, ...]

    @property
    def drawn(self) -> BoolArray:
        """Which of them were drawn at random."""
        return np.array([reason.startswith("check") for reason in self.reasons], dtype=bool)

    @cached_property
    def tasks(self) -> Table:
        """One row a task: task, reason, inclusion_probability, current_label, confidence."""
        answers, task_vote = self.result.answers, self.result.task_vote
        columns = {
            "task": take(answers.task_names, self.task),
            "reason": from_strings(self.reasons),
            "inclusion_probability": self.inclusion_probability,
            "current_label": take(answers.classes, task_vote.label[self.task]),
            "confidence": from_numpy(task_vote.confidence[self.task], mask=np.isnan(task_vote.confidence[self.task])),
        }
        return Table(table_of(columns))

    @property
    def expected_wrong(self) -> float | None:
        """How many of their current labels are expected to be wrong; None where no confidence is stated."""
        wrong = float((1 - self.result.task_vote.confidence[self.task]).sum())
        return None if np.isnan(wrong) else wrong

    @property
    def expected_error(self) -> float | None:
        """The share of all labels that are expected to be wrong; None where no confidence is stated."""
        mean = self.result.task_vote.confidence_stats().mean
        return None if mean is None else 1 - mean

    def to_dict(self, *, tasks: bool = True) -> dict[str, Any]:
        """Return what `quorate advise --expert N --json` prints; the list may be left out.

        >>> import quorate
        >>> suggest_gold(quorate.simulate.crowd(50, 8, 3, seed=0).answers, 6).to_dict(tasks=False)["drawn_at_random"]
        2
        """
        listed: dict[str, Any] = {
            "tasks": self.result.answers.n_tasks,
            "advised": len(self.task),
            "drawn_at_random": int(self.drawn.sum()),
            "expected_wrong_among_them": self.expected_wrong,
            "expected_error": self.expected_error,
            "notes": [BROUGHT],
        }
        return {**listed, "gold_tasks": self.tasks.to_pylist()} if tasks else listed

    def _tables(self) -> tuple[Table, ...]:
        return (self.tasks,)

    def summary(self) -> str:
        """Tell in a few lines what to label, why, and what it should bring.

        >>> import quorate
        >>> print(suggest_gold(quorate.simulate.crowd(50, 8, 3, seed=0).answers, 6).summary())
        6 tasks to label yourself: 4 of which the labels are least sure, and 2 drawn at random among the others, so ...
        about ... of their 6 labels should be wrong now; of all labels, ... %
        what such labels bring: over 22 public crowds 30 labels of the least sure tasks took the error ...
        label all of them, without a look at current_label; then give them as known labels: gold=, with the ...
        """
        n, drawn = len(self.task), int(self.drawn.sum())
        head = f"{count(n, 'task')} to label yourself: {n - drawn:,} of which the labels are least sure"
        if drawn:
            head += f", and {drawn:,} drawn at random among the others, so that they check all labels honestly"
        wrong, of_all = self.expected_wrong, self.expected_error
        now = [note.text for note in self.result.notes if note.kind == UNSUPPORTED]
        if wrong is not None and of_all is not None:
            few = f"about {wrong:.1f} of their {count(n, 'label')} should be wrong now"
            now = [f"{few}; of all labels, {100 * of_all:.1f} %"]
        told = [
            head,
            *now,
            BROUGHT,
            "label all of them, without a look at current_label; then give them as known labels: --gold FILE, with the "
            "columns task and label",
        ]
        return in_python("\n".join(told))


@keep_pipes()
def suggest_gold(
    source: Answers | Source, n: int, *, gold: Source = None, seed: int = 0, **reading: Unpack[ReadKeywords]
) -> GoldAdvice:
    """Say which tasks an expert should label.

    Two thirds are those whose labels are least sure, spread over labels, workers and components of the crowd; one third
    is drawn at random among the rest, one from each stratum of confidence, so that it is fair to all tasks.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        n: how many tasks.
        gold: labels that are known already; their tasks are not asked for.
        seed: of the draw.
        reading: as `quorate.read` takes it.

    Raises:
        OptionError: the number makes no sense, or every label is known.
        InputError: the answers or the known labels cannot be used.

    >>> import quorate
    >>> found = suggest_gold(quorate.simulate.crowd(50, 8, 3, seed=0).answers, 6)
    >>> found.tasks["inclusion_probability"].to_pylist().count(1.0), int(found.drawn.sum())
    (4, 2)
    """
    answers, known = answers_and_gold(source, gold, reading)
    return gold_tasks(believed(answers, known), n, seed=seed)


def gold_tasks(result: Result, n: int, *, seed: int = 0) -> GoldAdvice:
    """Say which tasks of a result an expert should label; `suggest_gold` is this after `quorate.aggregate`.

    Args:
        result: of any method whose posterior is one; tasks whose label it was given are not asked for.
        n: how many tasks.
        seed: of the draw.

    Raises:
        OptionError: the number makes no sense, or every label is known.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(50, 8, 3, seed=0).answers)
    >>> len(gold_tasks(result, 50).task), int(gold_tasks(result, 50).drawn.sum())
    (50, 0)
    """
    if n < 1:
        raise OptionError(f"an expert must be asked for one label at the least, not {n}")
    answers = result.answers
    # A task that nobody answered teaches nothing of the crowd.
    open_tasks = (answers.per_task > 0) & (True if result.gold is None else result.gold < 0)
    if not open_tasks.any():
        raise OptionError("every task that somebody answered has a known label: there is nothing left to label")
    n = min(n, int(open_tasks.sum()))
    n_drawn = 0 if n == open_tasks.sum() else round(n * UNBIASED)
    chosen, why = _least_sure(result, np.flatnonzero(open_tasks), n - n_drawn)
    rest = np.setdiff1d(np.flatnonzero(open_tasks), chosen)
    drawn, probability, reasons = _draw(result, rest, n_drawn, np.random.default_rng(seed))
    # Mixed evenly, so that whoever stops half way has labelled some of both kinds.
    place = np.concatenate([(np.arange(len(each)) + 0.5) / max(len(each), 1) for each in (chosen, drawn)])
    order = np.argsort(place, kind="stable")
    told = [*why, *reasons]
    return GoldAdvice(
        result,
        np.concatenate([chosen, drawn])[order],
        np.concatenate([np.ones(len(chosen)), probability])[order],
        tuple(told[k] for k in order.tolist()),
    )


def _least_sure(result: Result, tasks: IntArray, n: int) -> tuple[IntArray, list[str]]:
    """Choose tasks one by one, the least sure first, those favoured that differ from what is chosen already."""
    doubt = 1 - _chosen_probability(result)[tasks]
    first = np.lexsort([tasks, -np.round(doubt, 12)])[: n * POOL]
    pool, doubt = tasks[first], doubt[first]
    spread = _Spread(result, pool)
    chosen, why = [], []
    left = np.ones(len(pool), dtype=bool)
    for _ in range(n):
        unlike = spread.unlike()
        worth = np.where(left, doubt * (1 + np.mean(list(unlike.values()), axis=0)) / 2, -1.0)
        at = int(worth.argmax())
        ahead = int((left & (doubt > doubt[at])).sum())
        new = max(unlike, key=lambda name: float(unlike[name][at]))
        why.append(_why(result, int(pool[at]), f"; before less sure ones for its {new}" if ahead else ""))
        chosen.append(int(pool[at]))
        left[at] = False
        spread.take(at)
    return np.array(chosen, np.int64), why


def _chosen_probability(result: Result) -> FloatArray:
    """Return the posterior probability of each label: an order of the tasks, even where it is no confidence."""
    return replace(result.task_vote, is_stated=None).confidence


def _why(result: Result, task: int, more: str) -> str:
    """Tell how the two likeliest classes of a task stand."""
    answers, posterior = result.answers, result.task_vote.posterior[task]
    best = np.argsort(-posterior, kind="stable")[:2]
    told = " or ".join(f"{answers.classes[int(k)].as_py()!r} {100 * posterior[k]:.0f} %" for k in best)
    return f"unsure: {told}{more}"


class _Spread:
    """How unlike what is chosen each task of a pool is. One object that changes, as choices follow each other."""

    def __init__(self, result: Result, pool: IntArray) -> None:
        answers = result.answers
        place = np.full(answers.n_tasks, -1)
        place[pool] = np.arange(len(pool))
        mine = place[answers.task] >= 0
        self.at, self.worker = place[answers.task[mine]], answers.worker[mine]
        self.n_answers = np.bincount(self.at, minlength=len(pool))
        self.label = result.task_vote.label[pool]
        graph = result.graph
        part = np.zeros(answers.n_workers, np.int64) if graph is None else graph.component[: answers.n_workers]
        self.component = part[answers.worker[answers.start[pool]]]  # a task's workers are all of one component
        self.seen = np.zeros(answers.n_workers, dtype=bool)
        self.taken: list[int] = []

    def unlike(self) -> dict[str, FloatArray]:
        """Return, by name, the share of a task's workers not seen yet, and of the chosen with another label or part."""
        new = np.bincount(self.at, ~self.seen[self.worker], len(self.label)) / np.maximum(self.n_answers, 1)
        found = {"workers": new}
        for name, codes in (("label", self.label), ("part of the crowd", self.component)):
            same = np.bincount(codes[self.taken], minlength=int(codes.max()) + 1)[codes]
            found[name] = 1 - same / max(len(self.taken), 1)
        return found

    def take(self, at: int) -> None:
        """Choose a task."""
        self.taken.append(at)
        self.seen[self.worker[self.at == at]] = True


def _draw(result: Result, tasks: IntArray, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray, list[str]]:
    """Draw one task from each of ``n`` strata of nearly equal size, the least sure in the first."""
    confidence = _chosen_probability(result)
    # Ties in random order, so that a stratum's edge is no rule.
    order = tasks[np.lexsort([rng.random(len(tasks)), confidence[tasks]])]
    drawn, probability, reasons = [], [], []
    for stratum in np.array_split(order, n) if n else []:
        drawn.append(int(stratum[rng.integers(len(stratum))]))
        probability.append(1 / len(stratum))
        low, high = (f"{100 * confidence[stratum[k]]:.0f}" for k in (0, -1))
        sure = f"{low} %" if low == high else f"{low} to {high} %"
        reasons.append(f"check: drawn among {count(len(stratum), 'task')} that are {sure} sure")
    return np.array(drawn, np.int64), np.array(probability), reasons
