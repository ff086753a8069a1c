"""Groups of workers whose skills hang on a few shared tasks: the weakest cuts of the interaction graph.

With weights N_ij, let A be the graph's matrix scaled by its row sums. Its smallest eigenvalue is close to -1 (the
smallest of the signless Laplacian, so scaled, is close to 0) when some group is nearly bipartite: two sides that met
each other often, but met their own side, or anyone outside, on few tasks. Those few alone fix the scale of the group's
skills. Its second eigenvalue is close to 1 when some group met hardly anyone else: those few tasks alone say whether
its skills are turned the right way round. Each eigenvector ranks the workers, and the best cut along the ranking is
the group [Ma20, Thm pert says what a small eigenvalue costs].
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from quorate.answers import Counted
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.diagnosis.finding import Finding, named
from quorate.meetings.pairs import PairStats
from quorate.result import count

FEW = 50  # shared tasks: from so many on, scale and sign are settled
LOOSE = 0.1  # of the group's meetings at the most are such as hold it
LEAST_GROUP = 3  # workers of a loosely tied group
DENSE = 500  # workers up to which all eigenvalues are computed at once


@dataclass(frozen=True)
class Cut:
    """A group of workers, and what holds it."""

    workers: BoolArray  # which of the component are in it
    side: BoolArray  # and on which side of it, where it has two
    holding: int  # meetings that hold it: with the outside, and within a side
    own: int  # all meetings of its workers
    eigenvalue: float  # 1 ± the eigenvalue of A: zero if nothing held it

    @property
    def loose(self) -> bool:
        """Whether so little holds it that it should be told."""
        return self.holding < FEW and self.holding <= LOOSE * self.own


def weakest_cut(pairs: PairStats, n_workers: int, *, two_sided: bool, anchor: int | None = None) -> Cut | None:
    """Find the group that the least holds; None where it cannot be found.

    Args:
        pairs: of a connected component, over its own codes.
        n_workers: of the component.
        two_sided: seek a nearly bipartite group; else one that is loosely tied to the rest.
        anchor: the code of gold, if it is among them: the group is the one without it, else the smaller.

    >>> square = PairStats(*np.array([[0, 1, 2, 0, 0], [1, 2, 3, 3, 2], [60, 60, 60, 60, 1], [40, 40, 40, 40, 1]]))
    >>> cut = weakest_cut(square, 4, two_sided=True)
    >>> cut.holding, cut.loose, cut.side.tolist()
    (1, True, [True, False, True, False])
    """
    weights = pairs.shared.astype(np.float64)
    degree: FloatArray = np.bincount(pairs.i, weights, n_workers).astype(np.float64)
    degree += np.bincount(pairs.j, weights, n_workers)
    upper = sparse.coo_array((weights / np.sqrt(degree[pairs.i] * degree[pairs.j]), (pairs.i, pairs.j)))
    upper.resize(n_workers, n_workers)
    found = _eigenvector((upper + upper.T).tocsr(), lowest=two_sided)
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
    if n_workers < 2 * LEAST_GROUP:
        return None
    chosen = _best_prefix(pairs, np.argsort(-position, kind="stable"), degree, None)
    is_rest = 2 * chosen.sum() > n_workers if anchor is None else chosen[anchor]
    return _cut(pairs, ~chosen if is_rest else chosen, None, max(1 - value, 0.0))


def _eigenvector(matrix: sparse.csr_array, *, lowest: bool) -> tuple[float, FloatArray] | None:
    """Return the lowest eigenvalue, or the second highest, with its vector."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = matrix.shape[0]
    if n <= DENSE:
        values, vectors = np.linalg.eigh(matrix.toarray())
    else:
        start = np.ones(n) + np.arange(n) / n  # one that does not depend on the run
        try:
            k, which = (1, "SA") if lowest else (2, "LA")
            values, vectors = eigsh(matrix, k=k, which=which, v0=start, tol=1e-3, maxiter=500)
        except ArpackNoConvergence:
            return None
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
    at = 0 if lowest else len(values) - 2
    return float(values[at]), vectors[:, at]


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


def tie_findings(
    pairs: PairStats, members: IntArray, answers: Counted, *, anchor: int | None = None
) -> Iterator[Finding]:
    """Tell of the groups of a component whose scale or sign hangs on a few shared tasks.

    Args:
        pairs: of the component, over its own codes.
        members: the component's workers, gold's own code among them if it belongs there.
        answers: who answered what.
        anchor: the place of gold among the members.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 8, 4, seed=0).answers
    >>> from quorate.meetings.pairs import pair_stats
    >>> list(tie_findings(pair_stats(answers), np.arange(8), answers))
    []
    """
    names = answers.worker_names
    tied = weakest_cut(pairs, len(members), two_sided=False, anchor=anchor)
    if tied is not None and tied.loose:
        workers = members[tied.workers]
        yield Finding(
            "loosely-tied",
            f"{count(len(workers), 'worker')} met the rest on {count(tied.holding, 'shared task')} only, which decide "
            f"alone whether their skills are turned the right way round: {named(names, workers)}",
            float(tied.holding),
            "shared tasks",
            workers=tuple(workers.tolist()),
            evidence={"ties": tied.holding, "meetings": tied.own, "eigenvalue": tied.eigenvalue},
        )
    near = weakest_cut(pairs, len(members), two_sided=True)
    if near is not None and near.loose and not (anchor is not None and near.workers[anchor]):
        one, two = members[near.side], members[near.workers & ~near.side]
        yield Finding(
            "near-bipartite",
            f"{named(names, one)} met almost only {named(names, two)}, and the reverse: "
            f"{count(near.holding, 'shared task')} of {near.own:,} fix the scale of their skills",
            float(near.holding),
            "shared tasks",
            workers=tuple(members[near.workers].tolist()),
            evidence={
                "sides": [[names[int(code)].as_py() for code in side] for side in (one, two)],
                "ties": near.holding,
                "meetings": near.own,
                "eigenvalue": near.eigenvalue,
            },
        )
