"""Signs of workers from the signs of the pairs, and the sum rule: the skills of a component sum to more than zero."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.numpy_kernels import unite
from quorate.graph.components import breadth_first_tree
from quorate.graph.laplacian import MAX_TABLE_WORKERS


@dataclass(frozen=True, eq=False)
class Signs:
    """A sign for each worker, and how much of the evidence speaks against them."""

    sign: FloatArray  # +1 or -1
    contradicted: float  # share of the evidence (|N_ij C_ij x_i x_j|) whose pair has the other sign


def contradicted_share(sign: FloatArray, i: IntArray, j: IntArray, evidence: FloatArray) -> float:
    """Return the share of the evidence that contradicts these signs.

    >>> contradicted_share(np.array([1.0, 1.0, -1.0]), np.array([0, 0]), np.array([1, 2]), np.array([3.0, 1.0]))
    0.25
    """
    total = np.abs(evidence).sum()
    against = np.abs(evidence[evidence * sign[i] * sign[j] < 0]).sum()
    return float(against / total) if total > 0 else 0.0


def breadth_first_signs(n_workers: int, i: IntArray, j: IntArray, evidence: FloatArray) -> Signs:
    """Spread signs from each component's first worker along a breadth-first tree [Ma20, Section 5.2, post-processing].

    The signs depend on which worker is first: over orders of the workers the error of the labels is .19 to .59 on RTE1
    and .07 to .42 on Temp (`python -m experiments.paper.sign_roots`).

    >>> breadth_first_signs(3, np.array([0, 1]), np.array([1, 2]), np.array([0.3, -0.2])).sign.tolist()
    [1.0, 1.0, -1.0]
    """
    sign = _spread(n_workers, i, j, evidence)
    return Signs(sign, contradicted_share(sign, i, j, evidence))


def weighed_signs(n_workers: int, i: IntArray, j: IntArray, evidence: FloatArray) -> Signs:
    """Choose signs that as much of the evidence as possible agrees with.

    Noise makes different paths contradict each other, and a breadth-first tree uses the shortest. Here the tree takes
    the strongest evidence first, and then every worker is flipped whose evidence opposes its sign.

    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> weighed_signs(3, i, j, np.array([-0.1, 5.0, 4.0]))
    Signs(sign=array([1., 1., 1.]), contradicted=0.010...)
    """
    return orient_components(tree_signs(n_workers, i, j, evidence), i, j, evidence)


def tree_signs(n_workers: int, i: IntArray, j: IntArray, evidence: FloatArray) -> FloatArray:
    """Return the signs that agree with every pair of the spanning trees of strongest evidence.

    >>> tree_signs(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([-0.1, 5.0, 4.0])).tolist()
    [1.0, 1.0, 1.0]
    """
    on_tree = strongest_tree(n_workers, i, j, np.abs(evidence))
    return _spread(n_workers, i[on_tree], j[on_tree], evidence[on_tree])


def strongest_tree(n_workers: int, i: IntArray, j: IntArray, strength: FloatArray) -> IntArray:
    """Return the positions of the pairs on the spanning tree (one for each component) of greatest strength.

    >>> strongest_tree(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([3.0, 1.0, 2.0])).tolist()
    [0, 2]
    """
    # Ranks are distinct, so that only one tree is cheapest; of equal pairs the first is the stronger.
    rank = np.empty(len(strength))
    rank[np.argsort(-strength, kind="stable")] = np.arange(1, len(strength) + 1)
    if n_workers <= MAX_TABLE_WORKERS:
        return _cheapest_tree_of_table(n_workers, i, j, rank)
    from scipy import sparse
    from scipy.sparse import csgraph

    ends = (i.astype(np.int32), j.astype(np.int32))  # before scipy 1.17.1 a tree is found for 32 bits only
    costs = sparse.coo_array((rank, ends), shape=(n_workers, n_workers))
    tree = csgraph.minimum_spanning_tree(costs.tocsr()).tocoo()
    return np.sort(_find(n_workers, i, j, tree.row, tree.col))


def _cheapest_tree_of_table(n_workers: int, i: IntArray, j: IntArray, cost: FloatArray) -> IntArray:
    """Return the positions of the pairs on the cheapest spanning trees, by Prim's algorithm on a table of all pairs."""
    cost_of = np.full((n_workers, n_workers), np.inf)
    cost_of[i, j] = cost_of[j, i] = cost
    position = np.zeros((n_workers, n_workers), dtype=np.int64)
    position[i, j] = position[j, i] = np.arange(len(i))
    least = np.full(n_workers, np.inf)  # of the pairs that link each remaining worker to the tree
    link = np.zeros(n_workers, dtype=np.int64)  # its other end
    is_left = np.ones(n_workers, dtype=bool)
    tree = []
    for _ in range(n_workers):
        left = np.flatnonzero(is_left)
        worker = int(left[np.argmin(least[left])])
        if least[worker] < np.inf:  # else it begins another component
            tree.append(position[worker, link[worker]])
        is_left[worker] = False
        is_less = cost_of[worker] < least
        least[is_less] = cost_of[worker, is_less]
        link[is_less] = worker
    return np.sort(np.array(tree, dtype=np.int64))


def orient_components(sign: FloatArray, i: IntArray, j: IntArray, evidence: FloatArray) -> Signs:
    """Flip, one at a time, the worker whose evidence opposes its sign most, until there is none.

    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> orient_components(np.array([1.0, 1.0, -1.0]), i, j, np.array([1.0, 1.0, 1.0])).sign.tolist()
    [1.0, 1.0, 1.0]
    """
    from scipy import sparse

    n = len(sign)
    upper = sparse.coo_array((evidence, (i, j)), shape=(n, n))
    matrix = (upper + upper.T).tocsr()
    sign = sign.copy()
    support = sign * (matrix @ sign)
    slack = -1e-12 * max(np.abs(evidence).sum(), 1e-300)
    while n and support.min() < slack:
        worst = int(np.argmin(support))
        sign[worst] = -sign[worst]
        support[worst] = -support[worst]
        peers = slice(matrix.indptr[worst], matrix.indptr[worst + 1])
        peer = matrix.indices[peers]
        support[peer] += 2 * sign[worst] * matrix.data[peers] * sign[peer]
    return Signs(sign, contradicted_share(sign, i, j, evidence))


def orient(skills: FloatArray, component: IntArray, anchored: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Flip every component whose skills sum to less than zero, unless gold anchors it.

    Returns the skills, and which components were flipped.

    >>> orient(np.array([-0.5, 0.2, -0.9]), np.array([0, 0, 1]), np.array([False, True]))
    (array([ 0.5, -0.2, -0.9]), array([ True, False]))
    """
    sums = np.bincount(component, skills, minlength=len(anchored))
    flipped = (sums < 0) & ~anchored
    return np.where(flipped[component], -skills, skills), flipped


def _spread(n: int, i: IntArray, j: IntArray, evidence: FloatArray) -> FloatArray:
    """Follow the pair signs from the first worker of each component along a breadth-first tree."""
    joined = evidence != 0
    i = i[joined]
    j = j[joined]
    evidence = evidence[joined]
    # A root above the components' first workers makes one tree of all of them.
    first_of_component = np.arange(n)
    unite(first_of_component, i, j)
    first = np.unique(first_of_component)
    tree = breadth_first_tree(n + 1, np.concatenate([i, first]), np.concatenate([j, np.full(len(first), n)]), root=n)
    child = np.array([worker for worker in tree if worker != n], dtype=np.int64)
    parent = np.array([tree[int(worker)] for worker in child], dtype=np.int64)
    sign = np.ones(n + 1)
    inner = parent < n
    agree = np.ones(len(child))
    agree[inner] = np.sign(evidence[_find(n, i, j, child[inner], parent[inner])])
    for worker, above, same in zip(child.tolist(), parent.tolist(), agree.tolist(), strict=True):
        sign[worker] = sign[above] * same
    return sign[:n]


def _find(n: int, i: IntArray, j: IntArray, one: IntArray, two: IntArray) -> IntArray:
    """Return the position, among the pairs i, j, of each pair one, two; they are all there."""
    keys = np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j)
    order = np.argsort(keys)
    wanted = np.minimum(one, two).astype(np.int64) * n + np.maximum(one, two)
    positions: IntArray = order[np.searchsorted(keys, wanted, sorter=order)]
    return positions
