"""Spammers, adversaries, and workers of whom too little is known: by the score test that gives the intervals.

If a worker's skill were u, its raw estimate r would have the variance f·(alpha + beta u - gamma u²); so (r - u) over
its root is a test of skill u, and the interval is every u that passes. An adversary is a worker whose skill is tested
to be below zero, a spammer one whose skill is tested to be within MARGIN of zero on both sides. Who is named passes the
test adjusted over all workers, and its interval lies below zero, or within the margin.
"""

from collections.abc import Callable, Iterator

import numpy as np

from quorate.arrays import FloatArray
from quorate.diagnosis.discovery import LEVEL, adjusted
from quorate.diagnosis.finding import Finding, named
from quorate.result import Result, count

# Information grows with the square of the skill: an answer of skill 0.25 is worth a tenth of one of skill 0.8.
MARGIN = 0.25


def skill_test(result: Result, skill: float) -> FloatArray:
    """Return z for each worker: by how many standard errors its raw estimate lies above a skill; NaN if undetermined.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 3, 3, skills=[0.8, 0.8, 0.0]).answers, "rank-one")
    >>> (np.abs(skill_test(result, 0.0)) > 3).tolist()
    [True, True, False]
    """
    n = result.roster.n_workers
    if result.inference is None or result.intervals.kind == "none":
        return np.full(n, np.nan)
    score = result.inference.score()
    at = np.full(len(score.raw), skill)
    variance = score.variance(at)[:n] * result.intervals.inflation
    z = np.full(n, np.nan)
    np.divide(score.raw[:n] - skill, np.sqrt(variance), out=z, where=(variance > 0) & ~np.isnan(result.intervals.low))
    return z


def adversary_p(result: Result) -> FloatArray:
    """Return the p-value of each worker's skill being zero or more.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, -0.8]).answers, "rank-one")
    >>> (adversary_p(result) < 0.001).tolist()
    [False, False, False, True]
    """
    from scipy.special import ndtr

    p: FloatArray = ndtr(skill_test(result, 0.0))
    return p


def spammer_p(result: Result) -> FloatArray:
    """Return the p-value of each worker's skill being MARGIN or more away from zero: two one-sided tests.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(800, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers, "rank-one")
    >>> (spammer_p(result) < 0.025).tolist()
    [False, False, False, True]
    """
    from scipy.special import ndtr

    lowest = -1 / max(result.roster.n_classes - 1, 1)
    p: FloatArray = ndtr(skill_test(result, MARGIN))
    if lowest < -MARGIN:  # with many classes no skill is so far below
        p = np.maximum(p, ndtr(-skill_test(result, -MARGIN)))
    return p


def worker_findings(result: Result) -> Iterator[Finding]:
    """Tell of adversaries and spammers, the surest first, and of those whose interval says next to nothing.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, -0.8]).answers, "rank-one")
    >>> [finding.kind for finding in worker_findings(result)]
    ['adversary']
    """
    adversaries = adjusted(adversary_p(result))
    spammers = adjusted(spammer_p(result))
    sure = result.intervals
    is_adversary = (adversaries <= LEVEL) & (sure.high < 0)
    is_spammer = (spammers <= LEVEL) & (sure.low > -MARGIN) & (sure.high < MARGIN) & ~is_adversary
    yield from _each(
        result,
        "adversary",
        np.where(is_adversary, adversaries, np.nan),
        lambda name, interval, n: f"worker {name} is worse than guessing: its skill lies {interval}, by {n}",
    )
    yield from _each(
        result,
        "spammer",
        np.where(is_spammer, spammers, np.nan),
        lambda name, interval, n: f"worker {name} answers next to at random: its skill lies {interval}, by {n}",
    )
    yield from wide_intervals(result)


def _each(result: Result, kind: str, adjusted_p: FloatArray, tell: Callable[[str, str, str], str]) -> Iterator[Finding]:
    """Yield a finding for each worker whose value is not NaN, the smallest first."""
    chosen = np.flatnonzero(~np.isnan(adjusted_p))
    sure, answers = result.intervals, result.roster
    for worker in chosen[np.lexsort([result.skills[chosen], adjusted_p[chosen]])].tolist():
        low, high, n = float(sure.low[worker]), float(sure.high[worker]), int(answers.per_worker[worker])
        yield Finding(
            kind,
            tell(
                named(answers.worker_names, [worker]), f"between {_figure(low)} and {_figure(high)}", count(n, "answer")
            ),
            float(adjusted_p[worker]),
            "adjusted p-value",
            workers=(worker,),
            evidence={"skill": float(result.skills[worker]), "low": low, "high": high, "answers": n},
        )


def _figure(skill: float) -> str:
    """Two digits, and no minus before nothing."""
    return f"{round(skill, 2) + 0.0:.2f}"


def wide_intervals(result: Result) -> list[Finding]:
    """Name the workers whose interval is wider than half the range of skill, in one finding.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(5, 4, 4, seed=0).answers, "rank-one")
    >>> len(wide_intervals(result)[0].workers)
    4
    """
    width, answers = result.intervals.width, result.roster
    half = answers.n_classes / max(answers.n_classes - 1, 1) / 2  # of the range [-1/(M-1), 1]
    wide = np.flatnonzero(width > half)
    if len(wide) == 0:
        return []
    wide = wide[np.argsort(-width[wide], kind="stable")]
    known = int((~np.isnan(width)).sum())
    usual = float(np.median(answers.per_worker[wide]))
    return [
        Finding(
            "wide-intervals",
            f"the answers of {len(wide):,} of {count(known, 'worker')} tell little of their skill (intervals wider "
            f"than {half:.2f}, half the range; {usual:g} answers at the median): {named(answers.worker_names, wide)}",
            len(wide) / known,
            "share of workers",
            workers=tuple(wide.tolist()),
            evidence={"widths": width[wide].tolist(), "answers": answers.per_worker[wide].tolist(), "limit": half},
        )
    ]
