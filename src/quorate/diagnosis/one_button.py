"""One-button workers: who nearly always gives one class, more than their tasks and the crowd's habit explain.

Had a worker answered as the others do on the same tasks, its favourite class would have come up about as often as they
gave it there; had it answered rightly, as often as that class is believed there. Its excess over both, against the law
of as many draws, is one test. The other is that its answer does not move: neither with what the others say nor with
what is believed. An able worker of a skewed crowd gives one class often, too, but moves.
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.diagnosis.discovery import LEVEL, adjusted
from quorate.diagnosis.finding import Finding, named
from quorate.result import Result, count

LEAST_ANSWERS = 10  # of a worker that is looked at
NEARLY = 0.9  # of a worker's answers are one class: a button
TELLS = (
    0.15  # from guessing (0) to knowing (1): chosen on 26 public crowds, where those named have next to no information
)
LEAST_RESOLUTION = 0.5  # of the posterior, to divide by: where less, chance would decide
SHOWN = 3  # workers whose figures the sentence tells


@dataclass(frozen=True)
class Buttons:
    """Every worker, and whether it presses one button."""

    favourite: IntArray  # the class that each gives most
    share: FloatArray  # of its answers
    expected: FloatArray  # that share, had it answered as the others did on its tasks, or as is believed
    tells: FloatArray  # how much more often it gives the favourite where others do, or where it is believed
    p: FloatArray  # of so many or more; NaN where it is not looked at
    named: BoolArray
    cost: IntArray  # answers that say nothing: all those with the button; 0 for whoever is not named

    @property
    def ranked(self) -> IntArray:
        """Those named, the costliest first."""
        chosen = np.flatnonzero(self.named)
        return chosen[np.lexsort([chosen, -self.cost[chosen]])]


def one_button(answers: Answers, posterior: FloatArray) -> Buttons:
    """Test every worker with enough answers.

    Args:
        answers: who answered what.
        posterior: what is believed, tasks × classes.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(500, 10, 5, seed=0)
    >>> int(one_button(crowd.answers, np.eye(2)[crowd.truth]).named.sum())
    0
    """
    from scipy.special import betainc

    m, n, w = answers.n_classes, answers.per_worker, answers.n_workers
    given = np.bincount(answers.worker.astype(np.int64) * m + answers.label, minlength=w * m).reshape(w, m)
    favourite = given.argmax(axis=1)
    share = given.max(axis=1) / np.maximum(n, 1)
    expected, tells = _explained(answers, posterior, favourite)
    looked_at = (n >= LEAST_ANSWERS) & (share >= NEARLY)
    hits = share * n
    at_least = betainc(np.maximum(hits, 1e-9), n - hits + 1.0, np.clip(expected, 1e-6, 1 - 1e-6))
    p = np.where(looked_at, at_least, np.nan)
    is_named = looked_at & (np.nan_to_num(adjusted(p), nan=1.0) <= LEVEL) & (tells < TELLS)
    cost = np.where(is_named, given.max(axis=1), 0)
    return Buttons(favourite, share, expected, tells, p, is_named, cost)


def _explained(answers: Answers, posterior: FloatArray, favourite: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return how often each favourite was to be expected, and how much its worker's answers move with the task."""
    n, mine = np.maximum(answers.per_worker, 1), favourite[answers.worker]
    own = (answers.label == mine).astype(np.float64)
    habit = np.bincount(answers.label, minlength=answers.n_classes) / max(answers.n_answers, 1)
    # What share of a task's others gave it; one answer of the whole crowd's is added, for tasks that have no others.
    others = (_given(answers, mine) - own + habit[mine]) / answers.per_task[answers.task]
    believed = posterior[answers.task, mine]
    by_others, by_belief = answers.by_worker(others) / n, answers.by_worker(believed) / n
    # The slope of its answer on the others': 0 for a button, near 1 for someone who goes along with them.
    centred = others - by_others[answers.worker]
    slope = answers.by_worker(centred * own) / (answers.by_worker(centred**2) + 1.0)
    # How much more often it gives its favourite where that is believed than where it is not. The others' answers alone
    # make able workers of a skewed crowd look like buttons; belief alone repeats the worker's own vote.
    where = answers.by_worker(own * believed) / np.maximum(answers.by_worker(believed), 1e-9)
    elsewhere = answers.by_worker(own * (1 - believed)) / np.maximum(answers.by_worker(1 - believed), 1e-9)
    # A probability between 0 and 1 makes that difference smaller, by the factor that it has for the truth itself.
    squared = answers.by_worker(believed**2)
    total = answers.by_worker(believed)
    resolution = squared / np.maximum(total, 1e-9) - (total - squared) / np.maximum(n - total, 1e-9)
    moves = (where - elsewhere) / np.maximum(resolution, LEAST_RESOLUTION)
    return np.maximum(by_others, by_belief), np.maximum(slope, moves)


def _given(answers: Answers, label: IntArray) -> IntArray:
    """Count, for each answer, how many gave its task this class."""
    cells, n = np.unique(answers.cells, return_counts=True)
    wanted = answers.cells - answers.label + label
    place = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    return np.where(cells[place] == wanted, n[place], 0)


def button_findings(found: Buttons, result: Result) -> list[Finding]:
    """Tell in one finding who presses one button, and how many answers that costs.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(500, 10, 5, seed=0).answers)
    >>> button_findings(one_button(result.answers, result.ballot.posterior), result)
    []
    """
    ranked, answers = found.ranked, result.answers
    if len(ranked) == 0:
        return []
    cost = int(found.cost.sum())
    presses = "worker presses" if len(ranked) == 1 else "workers press"
    first = ", ".join(_told(found, answers, worker) for worker in ranked[:SHOWN].tolist())
    more = f" and {len(ranked) - SHOWN:,} more" if len(ranked) > SHOWN else ""
    return [
        Finding(
            "one-button",
            f"{len(ranked):,} {presses} one button, whatever the task: {first}{more}. "
            f"{count(cost, 'answer')} of {answers.n_answers:,} say nothing of their task",
            cost / answers.n_answers,
            "share of all answers",
            workers=tuple(ranked.tolist()),
            evidence={
                "class": [answers.classes[int(found.favourite[k])].as_py() for k in ranked],
                "answers": answers.per_worker[ranked].tolist(),
                "cost": found.cost[ranked].tolist(),
                "share": found.share[ranked].tolist(),
                "expected_share": found.expected[ranked].tolist(),
                "moves_with_the_task": found.tells[ranked].tolist(),
                "p": found.p[ranked].tolist(),
            },
            figures=f"nine in ten of their answers or more are one class, where their tasks explain "
            f"{np.median(found.expected[ranked]):.0%} at the median; with the task that share moves by less than "
            f"{TELLS:g}, where 1 is knowing",
        )
    ]


def _told(found: Buttons, answers: Answers, worker: int) -> str:
    button = answers.classes[int(found.favourite[worker])].as_py()
    return (
        f"{named(answers.worker_names, [worker])} ({found.cost[worker]:,} of {answers.per_worker[worker]:,} answers "
        f"are {button!r})"
    )
