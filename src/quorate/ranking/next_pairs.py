"""Pairs to compare next, chosen by the share of a gap's variance that one answer removes."""

from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.special import ndtr

from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError, unknown_name_error

Aim: TypeAlias = Literal["information", "order", "best"]
AIMS: tuple[str, ...] = get_args(Aim)
MAX_CANDIDATES = 400  # items whose pairs are considered: those that matter most for the aim
RANDOM_SHARE = 0.2  # of the proposed pairs; intervals keep about their level only if some pairs are chosen at random


def next_pairs(
    strength: FloatArray,
    draws: FloatArray,
    part: IntArray,
    count: int,
    *,
    aim: Aim = "information",
    random_share: float = RANDOM_SHARE,
    seed: int = 0,
) -> tuple[IntArray, IntArray, FloatArray, np.ndarray]:
    """Return the pairs of items whose comparison by a typical judge gains most, each pair once.

    Pairs that join two parts come first: without them the parts have no common order.

    Args:
        strength: estimates [items].
        draws: deviations [draws, items].
        part: component of each item.
        count: number of pairs.
        aim: ``information`` (all gaps), ``order`` (gaps whose sign is uncertain) or ``best`` (who is first).
        random_share: share of the pairs that is chosen at random.
        seed: seed of the random pairs.

    Returns:
        First items, second items, gains (share of the gap's variance that one answer removes, times the weight of the
        aim; NaN for pairs that join parts), and whether a pair was chosen at random.
    """
    if aim not in AIMS:
        raise unknown_name_error(aim, AIMS, "aim= (--aim)")
    if count < 1:
        raise OptionError(f"next= (--next) must be at least 1, got {count}")
    rng = np.random.default_rng(seed)
    links = _links_between_parts(strength, part)[:count]
    candidates = np.arange(len(strength))
    if len(candidates) > MAX_CANDIDATES:
        deviation = draws.std(axis=0)
        priority = deviation if aim == "information" else strength + deviation
        candidates = np.sort(np.argsort(-priority, kind="stable")[:MAX_CANDIDATES])
    first, second = np.triu_indices(len(candidates), 1)
    i = candidates[first]
    j = candidates[second]
    is_comparable = part[i] == part[j]
    i = i[is_comparable]
    j = j[is_comparable]
    gain = pair_gains(strength, draws, candidates, i, j, aim)
    n_rest = min(count - len(links), len(i))
    n_random = round(random_share * n_rest)
    order = np.lexsort((j, i, -np.round(gain, 12)))
    chosen = order[: n_rest - n_random]
    remaining = order[n_rest - n_random :]
    by_chance = rng.choice(remaining, size=min(n_random, len(remaining)), replace=False) if n_random else remaining[:0]
    picked = np.concatenate([chosen, by_chance]).astype(np.int64)
    link_i = np.array([pair[0] for pair in links], np.int64)
    link_j = np.array([pair[1] for pair in links], np.int64)
    is_random = np.concatenate([np.zeros(len(links) + len(chosen), bool), np.ones(len(by_chance), bool)])
    gains = np.concatenate([np.full(len(links), np.nan), gain[picked]])
    return np.concatenate([link_i, i[picked]]), np.concatenate([link_j, j[picked]]), gains, is_random


def pair_gains(
    strength: FloatArray, draws: FloatArray, candidates: IntArray, i: IntArray, j: IntArray, aim: str
) -> FloatArray:
    """Return the gain of one answer on each pair: v/(4 + v)/cosh^2(gap/2), times the weight of the aim.

    Args:
        strength: estimates [items].
        draws: deviations [draws, items].
        candidates: items among which the pairs are, ascending.
        i: first items of the pairs.
        j: second items.
        aim: see `next_pairs`.
    """
    centred = draws[:, candidates] - draws[:, candidates].mean(axis=0)
    covariance = centred.T @ centred / len(draws)
    row = np.searchsorted(candidates, i)
    column = np.searchsorted(candidates, j)
    variance = covariance[row, row] + covariance[column, column] - 2 * covariance[row, column]
    variance = np.maximum(variance, 1e-12)
    gap = strength[i] - strength[j]
    gain = variance / (4 + variance) / np.cosh(np.clip(gap / 2, -300, 300)) ** 2
    if aim == "order":
        gain = gain * ndtr(-np.abs(gap) / np.sqrt(variance))
    if aim == "best":
        best = np.bincount((strength + draws).argmax(axis=1), minlength=len(strength)) / len(draws)
        # An item that is never first in the draws gets half the smallest positive share.
        best = np.maximum(best, 0.5 / len(draws))
        gain = gain * np.sqrt(best[i] * best[j])
    return np.asarray(gain)


def _links_between_parts(strength: FloatArray, part: IntArray) -> list[tuple[int, int]]:
    """Return the fewest pairs that connect all parts: the median item of each part with that of the largest part."""
    n_parts = int(part.max()) + 1
    if n_parts == 1:
        return []
    median_item = []
    for number in range(n_parts):
        members = np.flatnonzero(part == number)
        ordered = members[np.argsort(strength[members], kind="stable")]
        median_item.append(int(ordered[len(ordered) // 2]))
    largest = int(np.bincount(part).argmax())
    return [(median_item[largest], median_item[number]) for number in range(n_parts) if number != largest]
