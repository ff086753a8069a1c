"""The weakest cuts of the interaction graph: the groups of workers that the fewest of their meetings hold.

With weights N_ij, let A be the graph's matrix scaled by its row sums. Its smallest eigenvalue is close to -1 (the
smallest of the signless Laplacian, so scaled, is close to 0) when some group is nearly bipartite: two sides that met
each other often, but met their own side, or anyone outside, on few tasks. Those few alone fix the scale of the group's
skills. Its second eigenvalue is close to 1 when some group met hardly anyone else: those few tasks alone say whether
its skills are turned the right way round. Each eigenvector ranks the workers, and the best cut along the ranking is
the group [Ma20, Thm pert says what a small eigenvalue costs].
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.meetings.pairs import PairStats
from quorate.meetings.spectrum import eigenvector, symmetric_table

LEAST_GROUP = 3  # workers: fewer cannot tell their skills from one another's answers


@dataclass(frozen=True)
class Cut:
    """A group of workers, and what holds it."""

    workers: BoolArray  # which of the component are in it
    side: BoolArray  # and on which side of it, where it has two
    holding: int  # meetings that hold it: with the outside, and within a side
    own: int  # all meetings of its workers
    eigenvalue: float  # 1 ± the eigenvalue of A: zero if nothing held it


def weakest_cut(pairs: PairStats, n_workers: int, *, two_sided: bool, anchor: int | None = None) -> Cut | None:
    """Find the group that the least holds; None where it cannot be found.

    Args:
        pairs: of a connected component, over its own codes.
        n_workers: of the component.
        two_sided: seek a nearly bipartite group; else one that is loosely tied to the rest.
        anchor: the code of gold, if it is among them: the group is the one without it, else the smaller.

    >>> square = PairStats(*np.array([[0, 1, 2, 0, 0], [1, 2, 3, 3, 2], [60, 60, 60, 60, 1], [40, 40, 40, 40, 1]]))
    >>> cut = weakest_cut(square, 4, two_sided=True)
    >>> cut.holding, cut.own, cut.side.tolist()
    (1, 241, [True, False, True, False])
    """
    if len(pairs) == 0 or (not two_sided and n_workers < 2 * LEAST_GROUP):  # a worker alone, or no two groups
        return None
    weights = pairs.shared.astype(np.float64)
    degree = pairs.by_worker(n_workers, weights)
    scaled = weights / np.sqrt(degree[pairs.i] * degree[pairs.j])
    found = eigenvector(symmetric_table(n_workers, pairs.i, pairs.j, scaled), lowest=two_sided)
    if found is None:
        return None
    value, vector = found
    position = vector / np.sqrt(degree)
    if two_sided:
        side = position > 0
        chosen = _best_prefix(pairs, np.argsort(-np.abs(position), kind="stable"), degree, side)
        if not side[np.argmax(chosen)]:  # an eigenvector has no sign of its own: the first worker's side is the first
            side = ~side
        return _cut(pairs, chosen, side & chosen, max(1 + value, 0.0))
    chosen = _best_prefix(pairs, np.argsort(-position, kind="stable"), degree, None)
    is_rest = 2 * chosen.sum() > n_workers if anchor is None else chosen[anchor]
    return _cut(pairs, ~chosen if is_rest else chosen, None, max(1 - value, 0.0))


def _best_prefix(pairs: PairStats, order: IntArray, degree: FloatArray, side: BoolArray | None) -> BoolArray:
    """Take so many of the first workers that the least share of their meetings holds them.

    A meeting holds a group if it leads out of it or, in a group of two sides, lies within one side. A group without
    sides must be able to tell its skills up to their sign, and so must the rest: three workers each.
    """
    n = len(order)
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    first, last = np.minimum(rank[pairs.i], rank[pairs.j]), np.maximum(rank[pairs.i], rank[pairs.j])
    w = pairs.shared.astype(np.float64)
    # With the workers up to rank k taken, a pair leads out while first <= k < last, and lies within from last on.
    holding = np.cumsum(np.bincount(first, w, n) - np.bincount(last, w, n))
    own = np.cumsum(degree[order])
    if side is None:
        own = np.minimum(own, own[-1] - own)
    else:
        holding += 2 * np.cumsum(np.bincount(last, np.where(side[pairs.i] == side[pairs.j], w, 0.0), n))
    least, most = (1, n) if side is not None else (LEAST_GROUP - 1, n - LEAST_GROUP)
    share = holding / np.maximum(own, 1e-9)
    chosen = np.zeros(n, dtype=bool)
    chosen[order[: least + int(np.argmin(share[least:most])) + 1]] = True
    return chosen


def _cut(pairs: PairStats, chosen: BoolArray, side: BoolArray | None, eigenvalue: float) -> Cut:
    """Count the meetings of a group, and those that hold it."""
    i, j, n = pairs.i, pairs.j, pairs.shared
    out = int(n[chosen[i] != chosen[j]].sum())
    inside = chosen[i] & chosen[j]
    own = out + int(n[inside].sum())
    within = 0 if side is None else int(n[inside & (side[i] == side[j])].sum())
    return Cut(chosen, np.zeros_like(chosen) if side is None else side, out + within, own, eigenvalue)
