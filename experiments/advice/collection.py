"""Collect answers in batches from a simulated crowd: evenly, for the most uncertain tasks, or by advice."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quorate.advice.advice import Advice
from quorate.advice.advise import advise_result
from quorate.advice.information_gain import entropy
from quorate.arrays import FloatArray, IntArray
from quorate.methods.aggregate import aggregate
from quorate.simulate import Crowd, collect, crowd
from quorate.voting.vote import accuracy

# Workers, tasks, and answers per task to begin with.
W = 40
TASKS = 400
FIRST = 2
EVEN = "even allocation"
UNCERTAIN = "most uncertain task, any worker"
ADVICE = "advice, load at most twice the mean"

Choice = Callable[[Crowd, Advice, int, np.random.Generator], tuple[IntArray, IntArray]]


def evenly(now: Crowd, _: Advice, n: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Choose the tasks with the fewest answers, and random workers."""
    tasks = np.lexsort([rng.random(TASKS), now.answers.per_task])[:n]
    return tasks, _any_worker(now, tasks, rng)


def most_uncertain(now: Crowd, advice: Advice, n: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Choose the tasks whose posterior has the largest entropy, and random workers."""
    tasks = np.lexsort([rng.random(TASKS), -entropy(advice.posterior)])[:n]
    return tasks, _any_worker(now, tasks, rng)


def as_advised(_now: Crowd, advice: Advice, _n: int, _rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Choose tasks and workers by `advise_result`."""
    return advice.task, advice.worker


def _any_worker(now: Crowd, tasks: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw for each task a worker who has not answered it."""
    done = np.zeros((TASKS, W), dtype=bool)
    done[now.answers.task, now.answers.worker] = True
    drawn: IntArray = np.where(done[tasks], -1.0, rng.random((len(tasks), W))).argmax(axis=1)
    return drawn


POLICIES: dict[str, Choice] = {EVEN: evenly, UNCERTAIN: most_uncertain, ADVICE: as_advised}


@dataclass(frozen=True)
class Trace:
    """One collection: errors after each batch, and the crowd at which the intervals are evaluated."""

    n_answers: IntArray
    error: FloatArray
    expected: FloatArray  # error that the advice expected
    heaviest: float  # the largest load of a worker over the mean load, at the end
    at_the_end: Crowd  # after the number of answers in the settings

    def further(self, target: float) -> int:
        """Return the number of answers added until the error reached the target; all if it never did."""
        reached = np.flatnonzero(self.error <= target)
        return int(self.n_answers[reached[0] if len(reached) else -1]) - FIRST * TASKS


def collect_by(policy: str, n_classes: int, seed: int, *, batch: int, most: int, after: int, target: float) -> Trace:
    """Collect answers batch by batch, until the error is half the target.

    Args:
        policy: a name from `POLICIES`.
        n_classes: M.
        seed: of the crowd and of its answers.
        batch: answers between two evaluations.
        most: largest number of answers.
        after: number of answers at which the crowd is stored to evaluate its skills.
        target: the error to reach.
    """
    rng = np.random.default_rng([seed, n_classes, 11])
    now = crowd(TASKS, W, FIRST, n_classes=n_classes, seed=rng)
    look: Crowd | None = None
    rows = []
    while True:
        a = now.answers
        advice = advise_result(aggregate(a, dependence="independent"), batch)  # simulated workers err independently
        error = np.mean(advice.posterior.argmax(axis=1) != now.truth)
        rows.append((a.n_answers, error, advice.answers_needed.expected_error))
        if look is None and a.n_answers >= after:
            look = now
        done = look is not None and rows[-1][1] <= target / 2
        if a.n_answers >= most or done or advice.n_assignments == 0:
            break
        now = ask(now, *POLICIES[policy](now, advice, batch, rng), rng)
    n, error, expected = (np.array(column) for column in zip(*rows, strict=True))
    load = now.answers.per_worker
    return Trace(n, error, expected, float(load.max() / load.mean()), look or now)


def ask(now: Crowd, tasks: IntArray, workers: IntArray, rng: np.random.Generator) -> Crowd:
    """Return the answers with simulated ones of these workers added."""
    a = now.answers
    m = now.answers.n_classes
    right = rng.random(len(tasks)) < accuracy(now.skills, m)[workers]
    label = np.where(right, now.truth[tasks], (now.truth[tasks] + rng.integers(1, m, len(tasks))) % m)
    task, worker, all_labels = (
        np.concatenate(pair) for pair in ((a.task, tasks), (a.worker, workers), (a.label, label))
    )
    return collect(task, worker, all_labels, now.truth, now.skills, m)
