"""The rating of each worker in one word, the same in the report, the charts and notebooks.

The limits are conventional: skill is agreement with the truth corrected for chance, as Cohen's kappa is, and Landis and
Koch (1977) call 0.41 to 0.60 moderate and more than 0.60 substantial.
"""

from collections.abc import Iterable

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray
from quorate.diagnostics.finding import Finding, named
from quorate.diagnostics.one_button import one_button_test
from quorate.diagnostics.right_shares import (
    extra_wrong_answers,
    share_of_right_answers,
    shows_agreement_only,
    typical_accuracy,
    typical_share,
)
from quorate.diagnostics.workers import GOOD_SKILL, MIN_EXTRA_WRONG, is_below_typical, is_surely_opposite, is_unrated
from quorate.io.arguments import check_arguments
from quorate.result import Result, count
from quorate.skills.identification import NOT_ESTIMATED
from quorate.voting.vote import Vote, accuracy, skill_of

RATINGS = (
    "reliable",
    "good",
    "weak",
    "may be guessing",
    "often opposite",
    "too few answers",
    "not checked",
    "not estimated",
    "same answer",
)
RELIABLE, GOOD, WEAK, MAY_GUESS, OPPOSITE, TOO_FEW, NOT_CHECKED, NO_ESTIMATE, SAME_ANSWER = range(len(RATINGS))
RELIABLE_SKILL = 0.6
NEAR_GUESSING = 0.1  # skill that counts as guessing, where the method has no intervals


def ratings(result: Result) -> IntArray:
    """Return the rating of each worker as an index into RATINGS; the first condition in the code that holds decides.

    A worker may be guessing if the interval of its skill is not above zero; it is weak if `is_below_typical` marks it.
    Of the others, reliable workers have a skill of at least RELIABLE_SKILL and an interval that reaches the typical
    skill. Good workers have a skill of at least GOOD_SKILL, or an interval of the share right above the accuracy of
    this skill. All remaining workers are weak. Language models without known labels are not checked: their skill is
    agreement with others.

    >>> import quorate
    >>> skills = [0.9, 0.9, 0.9, 0.5, 0.0, -0.8]
    >>> result = quorate.aggregate(quorate.simulate.crowd(600, 6, 5, skills=skills, seed=0).answers)
    >>> [RATINGS[code] for code in ratings(result)[2:]]
    ['reliable', 'good', 'may be guessing', 'often opposite']
    """
    skills = result.skills
    has_interval = ~np.isnan(result.intervals.low) & ~np.isnan(result.intervals.high)
    low = np.where(has_interval, result.intervals.low, skills - NEAR_GUESSING)
    high = np.where(has_interval, result.intervals.high, skills + NEAR_GUESSING)
    n_classes = result.info.n_classes
    typical_skill = skill_of(np.array([typical_accuracy(result)]), n_classes)[0] if n_classes > 1 else 0.0
    is_too_few = np.isnan(skills) | (has_interval & is_unrated(low, high, n_classes))
    # If one class is frequent, a worker of low skill may still be right as often as a good worker of another crowd.
    often_right = share_of_right_answers(result).low >= accuracy(np.array(GOOD_SKILL), n_classes)
    # The tests of the findings decide, so that the rating of a worker agrees with the findings.
    is_opposite = np.where(has_interval, is_surely_opposite(result), high < 0)
    conditions = [
        gives_one_answer(result),
        result.status == NOT_ESTIMATED,
        is_too_few,
        shows_agreement_only(result),
        is_opposite,
        low <= 0,
        is_below_typical(result),
        (skills >= RELIABLE_SKILL) & (high >= typical_skill),
        (skills >= GOOD_SKILL) | (often_right & ~shows_agreement_only(result)),
    ]
    codes = [SAME_ANSWER, NO_ESTIMATE, TOO_FEW, NOT_CHECKED, OPPOSITE, MAY_GUESS, WEAK, RELIABLE, GOOD]
    rating: IntArray = np.select(conditions, codes, WEAK)
    return rating


def gives_one_answer(result: Result) -> BoolArray:
    """Whether each worker gives one class independent of the task; always False if the answers stay in an engine.

    >>> import quorate
    >>> gives_one_answer(quorate.aggregate(quorate.simulate.crowd(200, 3, 3, seed=0).answers)).tolist()
    [False, False, False]
    """
    if not isinstance(result.info, Answers) or not isinstance(result.label_source, Vote):
        return np.zeros(result.info.n_workers, dtype=bool)
    return one_button_test(result).named


@check_arguments
def worker_ratings(result: Result) -> list[str]:
    """Return the rating of each worker in words, in the order of ``result.workers``.

    >>> import quorate
    >>> skills = [0.9, 0.9, 0.9, 0.5, 0.0, -0.8]
    >>> worker_ratings(quorate.aggregate(quorate.simulate.crowd(600, 6, 5, skills=skills, seed=0).answers))[3:]
    ['good', 'may be guessing', 'often opposite']
    """
    return [RATINGS[code] for code in ratings(result)]


@check_arguments
def possible_guessers_text(result: Result, findings: Iterable[Finding]) -> str:
    """Return sentences on workers who may be guessing or are weak and whom no finding with an action names; or "".

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 8, 5, skills=np.full(8, 0.7), seed=0)
    >>> possible_guessers_text(quorate.aggregate(crowd.answers), [])
    ''
    """
    named_before = {code for finding in findings if finding.action for code in finding.workers}
    rating = ratings(result)
    is_open = ~np.isin(np.arange(len(rating)), list(named_before))
    guessers = np.flatnonzero(is_open & (rating == MAY_GUESS))
    is_costly = extra_wrong_answers(result) >= MIN_EXTRA_WRONG
    weak = np.flatnonzero(is_open & (rating == WEAK) & is_below_typical(result) & is_costly)
    sentences = []
    if len(guessers):
        who = named(result.info.worker_names, guessers)
        them = "Retest them or collect more of their answers" if len(guessers) > 1 else "Retest this worker"
        sentences.append(f"{count(len(guessers), 'worker')} may be guessing; this is not certain: {who}. {them}.")
    if len(weak):
        is_rated = "is" if len(weak) == 1 else "are"
        typical = f"a typical worker is right about {typical_share(result):.0%} of the time"
        sentences.append(f"{count(len(weak), 'worker')} {is_rated} weak ({typical}): {_with_shares(result, weak)}.")
    return " ".join(sentences)


MAX_NAMED = 5


def _with_shares(result: Result, codes: IntArray) -> str:
    """Name workers, those with the most answers first, each with its share of right answers."""
    share = share_of_right_answers(result).share
    ranked = codes[np.lexsort([codes, -result.info.per_worker[codes]])]
    texts = [f"{named(result.info.worker_names, [code])} ({share[code]:.0%})" for code in ranked[:MAX_NAMED].tolist()]
    more = f" and {len(ranked) - MAX_NAMED:,} more" if len(ranked) > MAX_NAMED else ""
    return f"{', '.join(texts)}{more}"
