"""The rating of each worker in one word, the same in the report, the charts and notebooks.

The limits are conventional: skill is agreement with the truth corrected for chance, as Cohen's kappa is, and Landis and
Koch (1977) call 0.41 to 0.60 moderate and more than 0.60 substantial.
"""

from collections.abc import Iterable

import numpy as np

from quorate.arrays import IntArray
from quorate.diagnostics.finding import Finding, named
from quorate.diagnostics.workers import is_unrated, shows_agreement_only, typical_accuracy
from quorate.result import Result, count
from quorate.skills.identification import NOT_ESTIMATED
from quorate.voting.vote import skill_of

RATINGS = (
    "reliable",
    "good",
    "weak",
    "may be guessing",
    "often opposite",
    "too few answers",
    "not checked",
    "not estimated",
)
RELIABLE, GOOD, WEAK, MAY_GUESS, OPPOSITE, TOO_FEW, NOT_CHECKED, NO_ESTIMATE = range(len(RATINGS))
RELIABLE_SKILL = 0.6
GOOD_SKILL = 0.4
NEAR_GUESSING = 0.1  # skill that counts as guessing, where the method has no intervals


def ratings(result: Result) -> IntArray:
    """Rate each worker: a position in RATINGS.

    Reliable workers have a skill above RELIABLE_SKILL and are not surely below the typical worker; good ones have a
    skill above GOOD_SKILL; the others are weak if the interval of their skill lies above zero. Language models without
    known labels are not checked: their skill is agreement with each other.

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
    n_classes = result.crowd_info.n_classes
    typical_skill = skill_of(np.array([typical_accuracy(result)]), n_classes)[0] if n_classes > 1 else 0.0
    is_too_few = np.isnan(skills) | (has_interval & is_unrated(low, high, n_classes))
    conditions = [
        result.status == NOT_ESTIMATED,
        is_too_few,
        shows_agreement_only(result),
        high < 0,
        low <= 0,
        (skills >= RELIABLE_SKILL) & (high >= typical_skill),
        skills >= GOOD_SKILL,
    ]
    codes = [NO_ESTIMATE, TOO_FEW, NOT_CHECKED, OPPOSITE, MAY_GUESS, RELIABLE, GOOD]
    rating: IntArray = np.select(conditions, codes, WEAK)
    return rating


def worker_ratings(result: Result) -> list[str]:
    """Return the rating of each worker in words, in the order of ``result.workers``.

    >>> import quorate
    >>> skills = [0.9, 0.9, 0.9, 0.5, 0.0, -0.8]
    >>> worker_ratings(quorate.aggregate(quorate.simulate.crowd(600, 6, 5, skills=skills, seed=0).answers))[3:]
    ['good', 'may be guessing', 'often opposite']
    """
    return [RATINGS[code] for code in ratings(result)]


def possible_guessers_text(result: Result, findings: Iterable[Finding]) -> str:
    """Name the workers who may be guessing and whom no finding names, because chance could explain it; or nothing.

    >>> import quorate
    >>> possible_guessers_text(quorate.aggregate(quorate.simulate.crowd(400, 8, 5, seed=0).answers), [])
    ''
    """
    named_before = {code for finding in findings if finding.action for code in finding.workers}
    rating = ratings(result)
    codes = [k for k in np.flatnonzero((rating == MAY_GUESS) | (rating == OPPOSITE)).tolist() if k not in named_before]
    if not codes:
        return ""
    who = named(result.crowd_info.worker_names, codes)
    return f"{count(len(codes), 'worker')} may be guessing, but there are too few answers to be sure: {who}."
