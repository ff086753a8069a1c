"""Significance of a chi-square statistic, without scipy where the classes are few: importing it takes longer."""

from functools import lru_cache
from math import erfc, exp, gamma, sqrt

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray

MAX_SUMMED = 100  # degrees of freedom up to which the tail is summed here
BISECTIONS = 64  # after which the limits are neighbouring numbers


def is_significant(statistic: FloatArray, freedom: IntArray, level: float) -> BoolArray:
    """Return which statistics a chi-square variable with so many degrees of freedom exceeds with less than ``level``.

    >>> is_significant(np.array([3.8, 3.9, 9.0]), np.array([1, 1, 0]), 0.05).tolist()
    [False, True, False]
    """
    limit = np.full(int(freedom.max(initial=0)) + 1, np.inf)
    for degrees in {*freedom[freedom > 0].tolist()}:
        limit[degrees] = critical_value(degrees, level)
    significant: BoolArray = statistic > limit[np.maximum(freedom, 0)]
    return significant


@lru_cache(maxsize=1024)
def critical_value(freedom: int, level: float) -> float:
    """Return the number that a chi-square variable exceeds with probability ``level``.

    >>> round(critical_value(1, 0.05), 3), round(critical_value(4, 0.01), 3)
    (3.841, 13.277)
    """
    if freedom > MAX_SUMMED:
        from scipy.special import chdtri

        return float(chdtri(freedom, level))
    low = 0.0
    high = 2.0 * freedom
    while _tail(high, freedom) > level:
        high *= 2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if _tail(middle, freedom) > level:
            low = middle
        else:
            high = middle
    return high


def _tail(x: float, freedom: int) -> float:
    """Return P(chi-square > x): exp(-h) sum h^p / Gamma(p + 1) over p = freedom/2 - 1, freedom/2 - 2, …; h = x/2."""
    h = x / 2
    first = freedom % 2 / 2  # 0 or 1/2
    total = erfc(sqrt(h)) if first else 0.0
    term = exp(-h) * h**first / gamma(first + 1)
    for step in range(freedom // 2):
        total += term
        term *= h / (first + step + 1)
    return total
