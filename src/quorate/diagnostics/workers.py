"""Workers who answer badly: at random, with one class only, wrongly on purpose or by mistake, or less well than others.

For a worker of skill u, the raw estimate r has the variance f·(alpha + beta u - gamma u²). So (r - u) divided by the
standard deviation is a test of skill u, and the interval contains every u that is not rejected. An adversary is a
worker for whom a skill of zero or more is rejected; a spammer is one for whom every skill of at least MAX_SPAMMER_SKILL
in size is rejected. A worker is named if the test, adjusted over all workers, rejects and the interval lies below zero,
or between -MAX_SPAMMER_SKILL and MAX_SPAMMER_SKILL.

Other workers are compared with the typical worker of the crowd. A worker who is significantly less often right is a
likely guesser if it is far below the others and the interval of its skill includes zero; otherwise it is below typical.
"""

from collections.abc import Collection, Iterator

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray
from quorate.calibration.right_answers import weighted_median
from quorate.diagnostics.drift import since_before
from quorate.diagnostics.finding import (
    CHECK_PROMPT,
    MAX_FALSE_DISCOVERIES,
    Finding,
    is_discovery,
    named,
    ordered,
    subject,
)
from quorate.diagnostics.judge_bias import side_findings
from quorate.diagnostics.one_button import button_findings, one_button_test
from quorate.diagnostics.right_shares import (
    extra_wrong_answers,
    is_language_model,
    share_of_right_answers,
    shows_agreement_only,
    typical_accuracy,
    typical_share,
    wrong_answers,
)
from quorate.io.arguments import check_arguments
from quorate.result import Result, count
from quorate.skills.identification import WEAKLY_IDENTIFIED
from quorate.statistics import Z_95, benjamini_hochberg, normal_cdf
from quorate.voting.vote import accuracy

# Times the median distance from the median: 2.5 standard deviations of a normal distribution, the conventional rule.
OUTLIER_DISTANCE = 3.7
GOOD_SKILL = 0.4  # conventional: moderate agreement with the truth (Landis and Koch 1977); see diagnostics/ratings.py
MIN_EXTRA_WRONG = 10  # wrong answers in excess of a typical worker's that a worker needs to be named; a judgement


def is_below_typical(result: Result) -> BoolArray:
    """Whether each worker is right less often than a good worker, and significantly less often than a typical one.

    The share right is compared with that of a typical worker by a test adjusted over all workers. False for language
    models without known labels: their share is agreement with the labels.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.1], seed=0).answers)
    >>> is_below_typical(result).tolist()
    [False, False, False, True]
    """
    shares = share_of_right_answers(result)
    n = np.maximum(result.info.per_worker, 1)
    # At least the binomial standard error, which remains if the labels are known.
    of_count = np.sqrt(np.maximum(shares.share * (1 - shares.share), 1 / n) / n)
    error = np.fmax((shares.high - shares.low) / (2 * Z_95), of_count)
    p: FloatArray = normal_cdf((shares.share - typical_share(result)) / error)
    p[shows_agreement_only(result)] = np.nan
    is_below: BoolArray = is_discovery(p) & (shares.share < accuracy(np.array(GOOD_SKILL), result.info.n_classes))
    return is_below


def far_below_typical(result: Result, cost: FloatArray, *, with_below_typical: bool = True) -> list[int]:
    """Return the codes of the workers who are far less often right than the typical worker of this crowd.

    The limit is OUTLIER_DISTANCE median distances below the median accuracy (each worker weighted by its answers). A
    worker is returned if a test adjusted over all workers (Benjamini and Hochberg) shows that its accuracy is below
    the limit or, with ``with_below_typical``, if its estimated accuracy is below the limit and `is_below_typical`
    holds; and if its cost is at least MIN_EXTRA_WRONG. Weakly identified workers are not tested: their standard error
    does not include the uncertain scale of the skills.

    Args:
        result: the aggregation.
        cost: of `extra_wrong_answers`.
        with_below_typical: whether workers of `is_below_typical` with an estimate below the limit are included.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers)
    >>> far_below_typical(result, extra_wrong_answers(result))
    [3]
    """
    m = result.info.n_classes
    right = accuracy(result.skills, m)
    typical = typical_accuracy(result)
    is_rated = ~np.isnan(right) & (result.info.per_worker > 0)
    is_tested = is_rated & (result.status != WEAKLY_IDENTIFIED)
    if not is_tested.any():
        return []
    distance = weighted_median(np.abs(right[is_rated] - typical), result.info.per_worker[is_rated])
    error = result.intervals.standard_error * (m - 1) / m
    limit = typical - OUTLIER_DISTANCE * distance
    p = np.full(len(right), np.nan)
    p[is_tested] = normal_cdf((right[is_tested] - limit) / np.maximum(error[is_tested], 1e-9))
    is_below = is_discovery(p) & (cost >= MIN_EXTRA_WRONG)
    if with_below_typical:
        is_outlier = np.nan_to_num(right, nan=1.0) < limit
        is_below |= is_below_typical(result) & is_outlier & is_tested & (cost >= MIN_EXTRA_WRONG)
    codes: list[int] = np.flatnonzero(is_below).tolist()
    return codes


# Upper limit of the size of a spammer's skill. Information grows with the square of the skill: an answer of skill 0.25
# carries a tenth of the information of one of skill 0.8.
MAX_SPAMMER_SKILL = 0.25


def skill_test(result: Result, skill: float) -> FloatArray:
    """Return z for each worker: by how many standard errors its raw estimate lies above a skill; NaN if undetermined.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 3, 3, skills=[0.8, 0.8, 0.0]).answers, "rank-one")
    >>> (np.abs(skill_test(result, 0.0)) > 3).tolist()
    [True, True, False]
    """
    n = result.info.n_workers
    if result.inference is None or result.intervals.kind == "none":
        return np.full(n, np.nan)
    lowest = -1 / (result.inference.n_classes - 1)
    score = result.inference.score()
    score = score.with_peer_error(result.intervals.peer_error, np.clip(result.inference.skills, lowest, 1.0))
    # The scale of all skills is uncertain: of the skills within its range, the one nearest to the estimate is tested,
    # as for the intervals.
    scales = np.sort(skill / np.array(result.intervals.scale))
    tested_skill = np.clip(np.nan_to_num(score.raw), scales[0], scales[1])
    above = score.raw - tested_skill
    error = np.sqrt(score.variance(tested_skill))
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
    p: FloatArray = normal_cdf(skill_test(result, 0.0))
    return p


def spammer_p(result: Result) -> FloatArray:
    """Return the p-value of each worker's skill being MAX_SPAMMER_SKILL or more away from zero: two one-sided tests.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(800, 4, 4, skills=[0.8, 0.8, 0.8, 0.0]).answers, "rank-one")
    >>> (spammer_p(result) < 0.025).tolist()
    [False, False, False, True]
    """
    lowest = -1 / max(result.info.n_classes - 1, 1)
    p: FloatArray = normal_cdf(skill_test(result, MAX_SPAMMER_SKILL))
    if lowest < -MAX_SPAMMER_SKILL:  # with many classes, no skill can be below -MAX_SPAMMER_SKILL
        p = np.maximum(p, normal_cdf(-skill_test(result, -MAX_SPAMMER_SKILL)))
    return p


def worker_findings(result: Result) -> Iterator[Finding]:
    """Yield a finding for each adversary and then for each spammer, smallest p-value first.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, -0.8]).answers, "rank-one")
    >>> [finding.kind for finding in worker_findings(result)]
    ['adversary']
    """
    intervals = result.intervals
    p_adversary = adversary_p(result)
    p_spammer = spammer_p(result)
    is_adversary = is_surely_opposite(result)
    is_within = (intervals.low > -MAX_SPAMMER_SKILL) & (intervals.high < MAX_SPAMMER_SKILL)
    is_spammer = is_discovery(p_spammer) & is_within & ~is_adversary
    for kind, p, is_named in (("adversary", p_adversary, is_adversary), ("spammer", p_spammer, is_spammer)):
        if not is_named.any():
            continue
        adjusted_p = benjamini_hochberg(p)
        chosen = np.flatnonzero(is_named)
        for worker in chosen[np.lexsort([result.skills[chosen], adjusted_p[chosen]])].tolist():
            yield _about_worker(result, kind, worker, float(adjusted_p[worker]))


def is_surely_opposite(result: Result) -> BoolArray:
    """Whether each worker's skill is below zero: by its interval, and by the test adjusted over all workers.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, -0.8]).answers, "rank-one")
    >>> is_surely_opposite(result).tolist()
    [False, False, False, True]
    """
    is_below: BoolArray = is_discovery(adversary_p(result)) & (result.intervals.high < 0)
    return is_below


def _about_worker(result: Result, kind: str, worker: int, adjusted_p: float) -> Finding:
    """Return the finding that one worker answers badly, in the words of its kind."""
    intervals = result.intervals
    low = float(intervals.low[worker])
    high = float(intervals.high[worker])
    skill = float(result.skills[worker])
    n = int(result.info.per_worker[worker])
    name = subject(result.info.worker_names, [worker])
    interval = f"{intervals.level:.0%} interval {two_digits(low)} to {two_digits(high)}"
    wrong = float(wrong_answers(result)[worker])
    is_judge = shows_agreement_only(result)[worker]
    about = f"about {wrong:,.0f} wrong" if not is_judge else f"about {wrong:,.0f} unlike the others"
    if kind == "adversary":
        what = "disagrees with the other judges" if is_judge else "is wrong"
        remedy = "" if is_judge else ". Explain the instructions again"
        sentence = (
            f"{name} {what} more often than by chance ({count(n, 'answer')}); perhaps this worker swapped "
            f"the labels{remedy}"
        )
    elif kind == "spammer":
        sentence = f"{name} answers almost at random ({count(n, 'answer')}, {about})"
    elif kind == "likely-guesser":
        sentence = f"{name} is probably guessing (skill {two_digits(skill)}, {interval}; {count(n, 'answer')}, {about})"
    else:
        shares = share_of_right_answers(result)
        right = shares.share[worker]
        right_low = shares.low[worker]
        right_high = shares.high[worker]
        typical = typical_share(result)
        what = "agrees with the labels" if is_judge else "is right"
        ends = f"95% interval {right_low:.0%} to {right_high:.0%}"
        if f"{right_low:.0%}" == f"{right_high:.0%}":  # every label of the worker's tasks is known
            ends = "counted on known labels"
        sentence = (
            f"{name} {what} about {right:.0%} of the time ({ends}; {count(n, 'answer')}, {about}); a typical worker "
            f"about {typical:.0%}"
        )
    return Finding(
        kind,
        sentence,
        adjusted_p,
        "adjusted p-value",
        workers=(worker,),
        evidence={"skill": skill, "low": low, "high": high, "answers": n, "wrong": wrong},
        figures=f"{name}: skill {two_digits(skill)}, {interval}",
        own_action=CHECK_PROMPT if is_language_model(result, worker) else None,
    )


def typical_findings(result: Result, named_before: set[int]) -> Iterator[Finding]:
    """Yield a finding for each worker of `far_below_typical`, the most extra wrong answers first.

    An outlier by the test whose interval of skill reaches zero is a likely guesser; the others are below typical.

    Args:
        result: the aggregation.
        named_before: workers that other findings name.

    >>> import quorate
    >>> skills = [0.8, 0.8, 0.8, 0.8, 0.8, 0.25]
    >>> result = quorate.aggregate(quorate.simulate.crowd(400, 6, 4, skills=skills, seed=0).answers)
    >>> [(finding.kind, finding.workers) for finding in typical_findings(result, set())]
    [('below-typical', (5,))]
    """
    extra = extra_wrong_answers(result)
    outliers = set(far_below_typical(result, extra, with_below_typical=False))
    below = [worker for worker in far_below_typical(result, extra) if worker not in named_before]
    for worker in sorted(below, key=lambda code: (-extra[code], code)):
        # Only a worker far below the others: another worker whose interval of skill includes zero may or may not guess.
        is_guesser = result.intervals.low[worker] <= 0 and worker in outliers
        # The strength is an upper bound: every worker here passed the adjusted test.
        yield _about_worker(result, "likely-guesser" if is_guesser else "below-typical", worker, MAX_FALSE_DISCOVERIES)


def two_digits(skill: float) -> str:
    """Return a skill as text with two decimals, without a minus sign before zero.

    >>> two_digits(-0.001), two_digits(0.5)
    ('0.00', '0.50')
    """
    return f"{round(skill, 2) + 0.0:.2f}"


def is_unrated(low: FloatArray, high: FloatArray, n_classes: int) -> BoolArray:
    """Whether an interval of skill is wider than half the range and includes zero: too few answers for a rating.

    >>> is_unrated(np.array([-0.6, 0.1, -0.2, np.nan]), np.array([0.6, 0.9, 0.3, np.nan]), 2).tolist()
    [True, False, False, False]
    """
    half = n_classes / max(n_classes - 1, 1) / 2  # of the range [-1/(M-1), 1]
    wide: BoolArray = (high - low > half) & (low <= 0) & (high >= 0)
    return wide


def too_few_answers(result: Result, named_before: Collection[int] = ()) -> list[Finding]:
    """Return one finding about the workers with too few answers to be distinguished from guessers; or none.

    Weakly identified workers have a finding of their own, `weakly_identified_sentence` of
    `quorate.skills.skill_notes`: more answers of the same kind would not help them, unless all workers have few.

    Args:
        result: the aggregation.
        named_before: workers that other findings name.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(40, 12, 6, seed=0).answers, "rank-one")
    >>> bool((result.info.per_worker[list(too_few_answers(result)[0].workers)] < 20).all())
    True
    """
    intervals = result.intervals
    crowd_info = result.info
    is_open = is_unrated(intervals.low, intervals.high, crowd_info.n_classes) & (result.status != WEAKLY_IDENTIFIED)
    is_open[list(named_before)] = False
    chosen = np.flatnonzero(is_open)
    if len(chosen) == 0:
        return []
    chosen = chosen[np.lexsort([chosen, -intervals.width[chosen], -crowd_info.per_worker[chosen]])]
    n_with_interval = int((~np.isnan(intervals.width)).sum())
    # If tasks have several labels, one answer of a worker is one answer per label to a yes/no question.
    questions = crowd_info.questions if isinstance(crowd_info, Answers) else None
    n_answers = crowd_info.per_worker[chosen] // (1 if questions is None else questions.n_labels)
    median = f"{'' if len(chosen) == 1 else 'median '}{np.median(n_answers):g}"
    have = "has" if len(chosen) == 1 else "have"
    return [
        Finding(
            "cannot-be-judged",
            f"{len(chosen):,} of {count(crowd_info.n_workers, 'worker')} {have} too few answers to be rated "
            f"({median}): {named(crowd_info.worker_names, chosen)}. More answers would make ratings possible",
            len(chosen) / n_with_interval,
            "share of workers",
            workers=tuple(chosen.tolist()),
            evidence={
                "reason": "too few answers",
                "widths": intervals.width[chosen].tolist(),
                "answers": n_answers.tolist(),
                "limit": crowd_info.n_classes / max(crowd_info.n_classes - 1, 1) / 2,
            },
            figures="the intervals of their skills include zero and are wider than half the range",
        )
    ]


def about_workers(result: Result) -> tuple[Finding, ...]:
    """Return every finding about single workers; each worker who answers badly is named once.

    The findings are stored with the result, because `diagnose` and `advise` both need them.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, -0.7]).answers, "rank-one")
    >>> [finding.kind for finding in about_workers(result)]
    ['adversary']
    """
    cache: dict[str, tuple[Finding, ...]] = result.__dict__
    if "_about_workers" not in cache:
        cache["_about_workers"] = tuple(_about_workers(result))
    return cache["_about_workers"]


def _about_workers(result: Result) -> Iterator[Finding]:
    buttons = one_button_test(result)
    yield from button_findings(buttons, result)
    named_before = set(np.flatnonzero(buttons.named).tolist())
    for finding in (*worker_findings(result), *typical_findings(result, named_before)):
        if not named_before.intersection(finding.workers):
            named_before.update(finding.workers)
            yield finding
    yield from too_few_answers(result, named_before)
    yield from since_before(result)
    yield from side_findings(result.answers)


NAMED_ANYWAY = ("position-bias", "cannot-be-judged")  # kinds that summaries list although they have no action


@check_arguments
def unreliable_workers(result: Result) -> tuple[Finding, ...]:
    """Return the findings about workers that summaries list, causes first.

    They are the findings with an action, and those of the kinds position-bias and cannot-be-judged.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, -0.7]).answers)
    >>> [finding.action for finding in unreliable_workers(result)]
    ['train']
    """
    return ordered(finding for finding in about_workers(result) if finding.action or finding.kind in NAMED_ANYWAY)
