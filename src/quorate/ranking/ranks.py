"""Ranks of the items, the probability that each is the best, and tiers of items that are not clearly different."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from quorate.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Ranks:
    """Rank of each item in its part, the interval of the rank, and the probability of being first [items]."""

    rank: IntArray
    low: IntArray
    high: IntArray
    p_best: FloatArray


def ranks_of(strength: FloatArray, draws: FloatArray, part: IntArray, level: float) -> Ranks:
    """Return the ranks of items within their part, with intervals from the draws.

    >>> draws = np.array([[0.0, 0.1], [0.0, -0.1]])
    >>> ranks_of(np.array([1.0, 0.0]), draws, np.array([0, 0]), 0.95).rank.tolist()
    [1, 2]
    """
    n = len(strength)
    rank = np.zeros(n, np.int64)
    low = np.zeros(n, np.int64)
    high = np.zeros(n, np.int64)
    p_best = np.zeros(n)
    for number in range(int(part.max()) + 1):
        members = np.flatnonzero(part == number)
        rank[members[np.argsort(-strength[members], kind="stable")]] = np.arange(1, len(members) + 1)
        values = strength[members] + draws[:, members]
        order = np.argsort(-values, axis=1, kind="stable")
        rank_of_draw = np.empty_like(order)
        np.put_along_axis(rank_of_draw, order, np.arange(1, len(members) + 1)[None, :].repeat(len(values), 0), axis=1)
        bounds = np.quantile(rank_of_draw, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
        low[members] = bounds[0]
        high[members] = bounds[1]
        p_best[members] = (rank_of_draw == 1).mean(axis=0)
    return Ranks(rank, np.minimum(low, rank), np.maximum(high, rank), p_best)


def tiers_of(
    strength: FloatArray, part: IntArray, gap_error: Callable[[IntArray, IntArray], FloatArray], level: float
) -> IntArray:
    """Return the tier of each item, from 1 in each part; no member of a tier is clearly below its first item.

    Args:
        strength: estimates [items].
        part: component of each item.
        gap_error: standard error of the differences of pairs.
        level: level of the intervals of the differences.
    """
    z = ndtri(0.5 + level / 2)
    tier = np.zeros(len(strength), np.int64)
    for number in range(int(part.max()) + 1):
        members = np.flatnonzero(part == number)
        members = members[np.argsort(-strength[members], kind="stable")]
        start = 0
        tier_number = 0
        while start < len(members):
            tier_number += 1
            rest = members[start:]
            leader = np.full(len(rest), rest[0])
            gap = strength[leader] - strength[rest]
            is_apart: BoolArray = gap > z * gap_error(leader, rest)
            size = int(is_apart.argmax()) if is_apart.any() else len(rest)
            tier[rest[:size]] = tier_number
            start += max(size, 1)
    return tier
