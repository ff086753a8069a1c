"""What charts and pages say of a worker in a word, in a colour and in a shape; and ids as text that fits."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.arrays import IntArray
from quorate.diagnosis.workers import unsettled
from quorate.reporting.charts.specification import Spec, coded
from quorate.reporting.charts.style import PALETTE
from quorate.result import Result
from quorate.skills.evidence import NOT_ESTIMATED

STANDINGS = ("better than guessing", "may be guessing", "worse than guessing", "cannot be judged", "not estimated")
BETTER, GUESSING, WORSE, UNKNOWN, UNASKED = range(len(STANDINGS))
COLOURS = (PALETTE["good"], PALETTE["doubt"], PALETTE["bad"], PALETTE["unknown"], PALETTE["unknown"])
SHAPES = ("circle", "square", "triangle-down", "diamond", "diamond")
NEAR_GUESSING = 0.1  # where there is no interval, a skill this small counts as guessing
LONGEST = 28  # characters of a name in a chart


def standings(result: Result) -> IntArray:
    """Judge each worker by the interval of its skill, or by the skill where there is none.

    Who cannot be judged is who the diagnosis says cannot: no skill, or an interval that holds zero and half the range.
    A method that estimates no skills judges nobody.

    >>> import quorate
    >>> skills = np.array([0.9, 0.9, 0.9, 0.0, -0.8])
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 5, 4, skills=skills, seed=0).answers)
    >>> [STANDINGS[code] for code in standings(result)[2:]]
    ['better than guessing', 'may be guessing', 'worse than guessing']
    """
    skills, low, high = result.skills, result.intervals.low, result.intervals.high
    unasked = result.status == NOT_ESTIMATED
    unknown = np.isnan(skills) | unsettled(low, high, result.answers.n_classes)
    bare = np.isnan(low) | np.isnan(high)
    low, high = np.where(bare, skills - NEAR_GUESSING, low), np.where(bare, skills + NEAR_GUESSING, high)
    found: IntArray = np.select([unasked, unknown, low > 0, high < 0], [UNASKED, UNKNOWN, BETTER, WORSE], GUESSING)
    return found


def legend(rows: Sequence[Spec]) -> Spec:
    """Encode the standing of each row by colour and shape; "not estimated" only where it occurs.

    >>> legend([{"standing": "may be guessing"}])["shape"]["scale"]["domain"][-1]
    'cannot be judged'
    """
    n = len(STANDINGS) if any(row["standing"] == STANDINGS[UNASKED] for row in rows) else UNASKED
    return {
        "color": coded("standing", STANDINGS[:n], COLOURS[:n]),
        "shape": coded("standing", STANDINGS[:n], SHAPES[:n]),
    }


def short_names(names: Sequence[Any], longest: int = LONGEST) -> list[str]:
    """Write ids as text that fits a chart, all different: a long one is cut, and numbered where that makes two alike.

    Characters that nobody sees, such as those that turn the direction of writing, become visible.

    >>> short_names([7, "ann", "x" * 50, "x" * 51], longest=5)
    ['7', 'ann', 'xxxx…', 'xxxx… (2)']
    """
    shown: dict[str, None] = {}
    for name in map(str, names):
        text = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in " ".join(name.split()))
        text = text if len(text) <= longest else text[: longest - 1] + "…"
        unlike, number = text, 1
        while unlike in shown:
            number += 1
            unlike = f"{text} ({number})"
        shown[unlike] = None
    return list(shown)
