"""EM from two starts: all workers better than guessing, or signed as their agreements say; the likelier end wins.

EM climbs from where it starts. A group that is mostly wrong, and tied to the rest by a few shared tasks, stays right in
its own eyes if it was first taken to be: to turn it, EM would have to pass through guessing.
"""

from typing import Any

import numpy as np

from quorate.advice.coins import START, Coins, fit_coins, log_likelihood_of
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.meetings.graph import Identifiability
from quorate.methods.over_blocks import aggregate_in_memory
from quorate.voting.vote import accuracy

MOST_ANSWERS = 200_000  # above, only the first start is tried: a thin joint is rare there, and the check costs as much


def fit_either_way(
    answers: Answers, crowd: Answers, known: IntArray | None, verdict: Identifiability, **options: Any
) -> Coins:
    """Fit one accuracy a worker by EM from both starts, and keep the likelier fit.

    Args:
        answers: who answered what.
        crowd: the same, with the known labels as one more worker.
        known: the known class of each task, -1 where unknown; None where no gold is given.
        verdict: the components of that crowd.
        options: of `fit_coins`.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=8, per_task=3, seed=0)
    >>> from quorate.meetings.graph import identify
    >>> fit_either_way(crowd.answers, crowd.answers, None, identify(crowd.answers)).converged
    True
    """
    first = fit_coins(answers, known, verdict, **options)
    if answers.n_answers > MOST_ANSWERS:
        return first
    start = _signed_start(crowd, answers.n_workers, verdict)
    if np.all(start >= 1 / answers.n_classes):
        return first
    second = fit_coins(answers, known, verdict, start=start, **options)
    fits = [log_likelihood_of(answers, each.accuracy, known) for each in (first, second)]
    return second if fits[1] > fits[0] + 1e-6 else first


def _signed_start(crowd: Answers, n_workers: int, verdict: Identifiability) -> FloatArray:
    """Return accuracies of skill 0.5, or as far below guessing, as the workers' agreements sign them."""
    m = crowd.n_classes
    skills = aggregate_in_memory("rank-one", crowd).skills
    for gold in range(n_workers, crowd.n_workers):  # known labels are right, whatever the sum of skills says
        if skills[gold] < 0:
            skills = np.where(verdict.component == verdict.component[gold], -skills, skills)
    return accuracy(np.where(skills[:n_workers] < 0, -START / (m - 1), START), m)
