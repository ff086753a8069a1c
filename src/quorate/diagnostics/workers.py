"""Spammers, adversaries, and workers of whom too little is known: by the score test that gives the intervals.

If a worker's skill were u, its raw estimate r would have the variance f·(alpha + beta u - gamma u²); so (r - u) over
its root is a test of skill u, and the interval is every u that passes. An adversary is a worker whose skill is tested
to be below zero, a spammer one whose skill is tested to be within MARGIN of zero on both sides. Who is named passes the
test adjusted over all workers, and its interval lies below zero, or within the margin.

What a worker costs: the wrong answers that a usual worker would not have given.

One-button workers: who nearly always gives one class, more than their tasks and the crowd's habit explain.

Had a worker answered as the others do on the same tasks, its favourite class would have come up about as often as they
gave it there; had it answered rightly, as often as that class is believed there. Its excess over both, against the law
of as many draws, is one test. The other is that its answer does not move: neither with what the others say nor with
what is believed. An able worker of a skewed crowd gives one class often, too, but moves.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.diagnostics.drift import since_before
from quorate.diagnostics.finding import LEVEL, Finding, adjusted, named
from quorate.result import Result, count
from quorate.voting.vote import accuracy

FAR = (
    3.7  # times the median distance from the median: two and a half standard deviations of a bell curve, the usual rule
)
WORTH_A_TALK = 10  # wrong answers more than usual, below which nobody is talked to; a judgement, not a measurement


def wrong_answers(result: Result) -> FloatArray:
    """Return how many answers of each worker should be wrong; NaN where its skill is not determined.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> int(wrong_answers(result).argmax())
    3
    """
    wrong: FloatArray = result.crowd_info.per_worker * (1 - accuracy(result.skills, result.crowd_info.n_classes))
    return wrong


def costs(result: Result) -> FloatArray:
    """Return how many more answers of each worker should be wrong than of a usual one who gives as many.

    A usual worker has the crowd's median accuracy, each answer counted once: most answers are by such or better. Of a
    worker with one answer it is less than one, whatever that answer was; of an undetermined one it is nothing.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> bool(costs(result)[3] > 80), bool(abs(costs(result)[:3]).max() < 20)
    (True, True)
    """
    right = accuracy(result.skills, result.crowd_info.n_classes)
    usual = usual_accuracy(result)
    cost: FloatArray = np.where(np.isnan(right), 0.0, result.crowd_info.per_worker * (usual - right))
    return cost


def usual_accuracy(result: Result) -> float:
    """Return the accuracy that half of the answers are at or below, by what is known of their workers.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> round(usual_accuracy(result), 1)
    0.9
    """
    right = accuracy(result.skills, result.crowd_info.n_classes)
    known = np.flatnonzero(~np.isnan(right) & (result.crowd_info.per_worker > 0))
    if len(known) == 0:
        return 1 / max(result.crowd_info.n_classes, 1)
    return _middle(right[known], result.crowd_info.per_worker[known])


def below_usual(result: Result, cost: FloatArray) -> list[int]:
    """Return the workers who are surely less often right than workers of this crowd are, and cost enough to be told.

    Half of any crowd is below its median, so that is no reason to talk to anyone. Whoever is named lies outside of what
    is usual, FAR times the usual distance from the median below it (each answer counted once), by more than errors of
    estimation explain, as many workers being looked at as there are (Benjamini and Hochberg).

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> below_usual(result, costs(result))
    [3]
    """
    from scipy.special import ndtr

    m = result.crowd_info.n_classes
    right, usual = accuracy(result.skills, m), usual_accuracy(result)
    known = ~np.isnan(right) & (result.crowd_info.per_worker > 0)
    if not known.any():
        return []
    apart = _middle(np.abs(right[known] - usual), result.crowd_info.per_worker[known])
    error = result.intervals.standard_error * (m - 1) / m
    p = np.full(len(right), np.nan)
    p[known] = ndtr((right - (usual - FAR * apart))[known] / np.maximum(error[known], 1e-9))
    chosen: list[int] = np.flatnonzero((adjusted(p) <= LEVEL) & (cost >= WORTH_A_TALK)).tolist()
    return chosen


def _middle(values: FloatArray, n: IntArray) -> float:
    """Return the value that half of the answers are at or below."""
    order = np.argsort(values, kind="stable")
    half = np.cumsum(n[order])
    return float(values[order[np.searchsorted(half, half[-1] / 2)]])


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
    >>> button_findings(one_button(result.answers, result.task_vote.posterior), result)
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


# Information grows with the square of the skill: an answer of skill 0.25 is worth a tenth of one of skill 0.8.
MARGIN = 0.25


def skill_test(result: Result, skill: float) -> FloatArray:
    """Return z for each worker: by how many standard errors its raw estimate lies above a skill; NaN if undetermined.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 3, 3, skills=[0.8, 0.8, 0.0]).answers, "rank-one")
    >>> (np.abs(skill_test(result, 0.0)) > 3).tolist()
    [True, True, False]
    """
    n = result.crowd_info.n_workers
    if result.inference is None or result.intervals.kind == "none":
        return np.full(n, np.nan)
    score = result.inference.score()
    # Of the skills that are the same up to the scale of all skills, the one that fits best is tried, as intervals do.
    scales = np.sort(skill / np.array(result.intervals.scale))
    tried = np.clip(np.nan_to_num(score.raw), scales[0], scales[1])
    above = (score.raw - tried)[:n]
    error = np.sqrt(score.variance(tried)[:n] * result.intervals.inflation)
    counts = result.skill_estimates.gold_counts
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

    lowest = -1 / max(result.crowd_info.n_classes - 1, 1)
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
    sure, answers = result.intervals, result.crowd_info
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
    sure, answers = result.intervals, result.crowd_info
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
    buttons = one_button(judged.answers, judged.task_vote.posterior)
    yield from button_findings(buttons, judged)
    for finding in worker_findings(judged):
        # Who presses one button answers at random, too; that it does is told once.
        if finding.kind != "spammer" or not buttons.named[list(finding.workers)].any():
            yield finding
    yield from since_before(judged)
