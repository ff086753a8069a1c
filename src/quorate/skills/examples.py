"""Small problems with a known answer, for the examples in the documentation."""

from collections.abc import Sequence

import numpy as np

from quorate.skills.moments import from_pairs
from quorate.skills.objective import Problem


def triangle(skills: Sequence[float]) -> Problem:
    """Three workers who all share tasks, with the exact correlations that these skills give.

    >>> triangle([0.8, 0.6, 0.5]).moments.energy > 0
    True
    """
    s = np.asarray(skills, dtype=np.float64)
    i = np.array([0, 0, 1])
    j = np.array([1, 2, 2])
    ones = np.ones(3)
    return Problem(from_pairs(3, i, j, ones, s[i] * s[j]), -ones, ones, ones)
