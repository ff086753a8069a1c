"""Skills that stay unbiased when the next answers were chosen by looking at the first: one-coin EM [Dawid79].

Who agrees with whom depends on which tasks were asked again, and those are the contested ones, so that estimates from
agreement come out too low. The likelihood does not mind: given all answers so far, the choice of the next question
says nothing more about the skills.
"""

from dataclasses import dataclass

import numpy as np

from quorate.advice.coins import check_classes, judge, with_gold, without_own
from quorate.advice.orientation import fit_either_way
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError
from quorate.gold import known_classes
from quorate.reading.files import Source
from quorate.voting.vote import skill_of

HALVINGS = 30  # of an interval of length one: to 1e-9


@dataclass(frozen=True)
class AdaptiveSkills:
    """Skills with likelihood-ratio intervals; NaN where the data do not determine them."""

    skills: FloatArray
    low: FloatArray
    high: FloatArray
    level: float  # what share of such intervals holds the skill
    converged: bool


def adaptive_skills(answers: Answers, *, gold: Source = None, level: float = 0.95) -> AdaptiveSkills:
    """Estimate skills by one-coin EM, with intervals that hold after adaptive collection too.

    The interval of worker i is {p : 2 (l_max - l_i(p)) <= chi²}, l_i = sum ln(q p + (1 - q)(1 - p)/(M - 1)) over its
    answers, q the probability of the answered class by everyone else's answers.

    Args:
        answers: who answered what, collected by advice or not.
        gold: known labels of some tasks.
        level: of the intervals.

    Raises:
        OptionError: the level is not between 0 and 1, or there is one class only.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> found = adaptive_skills(crowd.answers)
    >>> int(((found.low <= crowd.skills) & (crowd.skills <= found.high)).sum())  # of ten
    9
    """
    from scipy.special import chdtri

    if not 0 < level < 1:
        raise OptionError(f"the level of an interval lies between 0 and 1, not at {level}")
    check_classes(answers)
    known = known_classes(gold, answers)
    crowd = with_gold(answers, known)
    verdict = judge(crowd, answers.n_workers)
    coins = fit_either_way(answers, crowd, known, verdict)
    low, high = likelihood_intervals(answers, coins.accuracy, known, float(chdtri(1, 1 - level)))
    unknown = ~verdict.determined[: answers.n_workers]
    fitted, below, above = (
        np.where(unknown, np.nan, skill_of(p, answers.n_classes)) for p in (coins.accuracy, low, high)
    )
    return AdaptiveSkills(fitted, below, above, level, coins.converged)


def likelihood_intervals(
    answers: Answers, accuracy: FloatArray, known: IntArray | None, threshold: float
) -> tuple[FloatArray, FloatArray]:
    """Find both ends of each worker's interval of accuracy by bisection: the likelihood is concave in it.

    Args:
        answers: who answered what.
        accuracy: of each worker, where the likelihood is largest.
        known: the known class of each task, -1 where unknown; None where no gold is given.
        threshold: of twice the fall of the log-likelihood.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(40, 1, 1, skills=np.array([0.6]), seed=0).answers
    >>> truth = answers.label.copy()
    >>> truth[:8] = 1 - truth[:8]  # of 40 known answers 32 are right
    >>> low, high = likelihood_intervals(answers, np.array([0.8]), truth, 3.841)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.66, 0.903)
    """
    m, n, worker = answers.n_classes, answers.n_workers, answers.worker
    others = without_own(answers, accuracy, known)

    def likelihood(p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each worker's log-likelihood and its slope."""
        own = p[worker]
        inside = np.maximum(others * own + (1 - others) * (1 - own) / (m - 1), 1e-300)
        slope = (others - (1 - others) / (m - 1)) / inside
        value, rise = (np.bincount(worker, each, n).astype(np.float64) for each in (np.log(inside), slope))
        return value, rise

    low, high = np.full(n, 0.0), np.full(n, 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rising = likelihood(middle)[1] > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    best = (low + high) / 2
    least = likelihood(best)[0] - threshold / 2

    def end(edge: float) -> FloatArray:
        far, near = np.full(n, edge), best
        reached = likelihood(far)[0] >= least  # even the end of the scale is likely enough
        for _ in range(HALVINGS):
            middle = (far + near) / 2
            inside = likelihood(middle)[0] >= least
            far, near = np.where(inside, far, middle), np.where(inside, middle, near)
        found: FloatArray = np.where(reached, np.full(n, edge), near)
        return found

    return end(0.0), end(1.0)
