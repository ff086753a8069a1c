"""What charts and pages say of a worker in a word, in a colour and in a shape; and ids as text that fits."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.diagnosis.workers import unsettled
from quorate.reporting.charts.style import PALETTE

STANDINGS = ("better than guessing", "may be guessing", "worse than guessing", "cannot be judged")
BETTER, GUESSING, WORSE, UNKNOWN = range(len(STANDINGS))
COLOURS = (PALETTE["good"], PALETTE["doubt"], PALETTE["bad"], PALETTE["unknown"])
SHAPES = ("circle", "square", "triangle-down", "diamond")
NEAR_GUESSING = 0.1  # where there is no interval, a skill this small counts as guessing
LONGEST = 28  # characters of a name in a chart


def standings(skills: FloatArray, low: FloatArray, high: FloatArray, n_classes: int) -> IntArray:
    """Judge each worker by the interval of its skill, or by the skill where there is none.

    Who cannot be judged is who the diagnosis says cannot: no skill, or an interval that holds zero and half the range.

    >>> skills, low, high = np.array([[0.5, 0.1, -0.4, np.nan], [0.4, -0.1, -0.5, np.nan], [0.6, 0.3, -0.3, np.nan]])
    >>> [STANDINGS[code] for code in standings(skills, low, high, 2)]
    ['better than guessing', 'may be guessing', 'worse than guessing', 'cannot be judged']
    """
    unknown = np.isnan(skills) | unsettled(low, high, n_classes)
    bare = np.isnan(low) | np.isnan(high)
    low, high = np.where(bare, skills - NEAR_GUESSING, low), np.where(bare, skills + NEAR_GUESSING, high)
    found: IntArray = np.select([unknown, low > 0, high < 0], [UNKNOWN, BETTER, WORSE], GUESSING)
    return found


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
