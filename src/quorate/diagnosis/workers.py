"""Spammers, adversaries, and workers of whom too little is known: by the score test that gives the intervals.

If a worker's skill were u, its raw estimate r would have the variance f·(alpha + beta u - gamma u²); so (r - u) over
its root is a test of skill u, and the interval is every u that passes. An adversary is a worker whose skill is tested
to be below zero, a spammer one whose skill is tested to be within MARGIN of zero on both sides. Who is named passes the
test adjusted over all workers, and its interval lies below zero, or within the margin.
"""

from collections.abc import Iterator

import numpy as np

from quorate.arrays import BoolArray, FloatArray
from quorate.diagnosis.discovery import LEVEL, adjusted
from quorate.diagnosis.finding import Finding, named
from quorate.diagnosis.one_button import button_findings, one_button
from quorate.diagnosis.since_before import since_before
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
    # Of the skills that are the same up to the scale of all skills, the one that fits best is tried, as intervals do.
    scales = np.sort(skill / np.array(result.intervals.scale))
    tried = np.clip(np.nan_to_num(score.raw), scales[0], scales[1])
    above = (score.raw - tried)[:n]
    error = np.sqrt(score.variance(tried)[:n] * result.intervals.inflation)
    counts = result.workforce.gold_counts
    if counts is not None:
        at_skill = np.full(n, skill)
        weight = counts.weight
        above = (1 - weight) * above + weight * np.where(weight > 0, counts.score.raw - skill, 0.0)
        error = counts.standard_error(error, at_skill)
    z = np.full(n, np.nan)
    np.divide(above, error, out=z, where=(error > 0) & ~np.isnan(result.intervals.low))
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
    """Tell of adversaries and spammers, the surest first, and of those who cannot be judged yet.

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
        "worker {name} is wrong more often than someone who guesses, by {n}: it may have understood the question the "
        "other way round, or mean harm",
    )
    yield from _each(
        result,
        "spammer",
        np.where(is_spammer, spammers, np.nan),
        "worker {name} answers next to at random, by {n}",
    )
    yield from too_few_answers(result)


def _each(result: Result, kind: str, adjusted_p: FloatArray, sentence: str) -> Iterator[Finding]:
    """Yield a finding for each worker whose value is not NaN, the smallest first."""
    chosen = np.flatnonzero(~np.isnan(adjusted_p))
    sure, answers = result.intervals, result.roster
    for worker in chosen[np.lexsort([result.skills[chosen], adjusted_p[chosen]])].tolist():
        low, high, n = float(sure.low[worker]), float(sure.high[worker]), int(answers.per_worker[worker])
        yield Finding(
            kind,
            sentence.format(name=named(answers.worker_names, [worker]), n=count(n, "answer")),
            float(adjusted_p[worker]),
            "adjusted p-value",
            workers=(worker,),
            evidence={"skill": float(result.skills[worker]), "low": low, "high": high, "answers": n},
            figures=f"worker {named(answers.worker_names, [worker])}: skill between {_figure(low)} and "
            f"{_figure(high)} ({sure.level:.0%})",
        )


def _figure(skill: float) -> str:
    """Two digits, and no minus before nothing."""
    return f"{round(skill, 2) + 0.0:.2f}"


def unsettled(low: FloatArray, high: FloatArray, n_classes: int) -> BoolArray:
    """Say whose interval of skill is wider than half the range and holds zero: who cannot be judged yet.

    >>> unsettled(np.array([-0.6, 0.1, -0.2, np.nan]), np.array([0.6, 0.9, 0.3, np.nan]), 2).tolist()
    [True, False, False, False]
    """
    half = n_classes / max(n_classes - 1, 1) / 2  # of the range [-1/(M-1), 1]
    wide: BoolArray = (high - low > half) & (low <= 0) & (high >= 0)
    return wide


def too_few_answers(result: Result) -> list[Finding]:
    """Name the workers whose answers do not tell them from someone who guesses, in one finding.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(5, 4, 4, seed=0).answers, "rank-one")
    >>> len(too_few_answers(result)[0].workers)
    4
    """
    sure, answers = result.intervals, result.roster
    chosen = np.flatnonzero(unsettled(sure.low, sure.high, answers.n_classes))
    if len(chosen) == 0:
        return []
    chosen = chosen[np.lexsort([chosen, -sure.width[chosen], -answers.per_worker[chosen]])]
    known = int((~np.isnan(sure.width)).sum())
    usual = float(np.median(answers.per_worker[chosen]))
    return [
        Finding(
            "cannot-be-judged",
            f"{len(chosen):,} of {count(known, 'worker')} cannot be judged yet: too few answers ({usual:g} at the "
            f"median) to tell them from someone who guesses: {named(answers.worker_names, chosen)}",
            len(chosen) / known,
            "share of workers",
            workers=tuple(chosen.tolist()),
            evidence={
                "reason": "too few answers",
                "widths": sure.width[chosen].tolist(),
                "answers": answers.per_worker[chosen].tolist(),
                "limit": answers.n_classes / max(answers.n_classes - 1, 1) / 2,
            },
            figures="their intervals of skill hold zero and are wider than half the range",
        )
    ]


def about_workers(judged: Result) -> Iterator[Finding]:
    """Tell who presses one button, who else answers at random or worse, and who is not what was known before.

    >>> import quorate
    >>> found = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, -0.7]).answers, "rank-one")
    >>> [finding.kind for finding in about_workers(found)]
    ['adversary']
    """
    buttons = one_button(judged.answers, judged.ballot.posterior)
    yield from button_findings(buttons, judged)
    for finding in worker_findings(judged):
        # Who presses one button answers at random, too; that it does is told once.
        if finding.kind != "spammer" or not buttons.named[list(finding.workers)].any():
            yield finding
    yield from since_before(judged)
