"""Signs of workers from the signs of the pairs, and the sum rule: the skills of a component have a sum above zero."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, distinct
from quorate.blocks.numpy_kernels import unite
from quorate.graph.components import breadth_first_tree
from quorate.graph.laplacian import MAX_TABLE_WORKERS


@dataclass(frozen=True, eq=False)
class Signs:
    """A sign for each worker, and how much of the evidence contradicts them."""

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
    """Propagate signs from each component's first worker along a breadth-first tree [Ma20, Section 5.2].

    The signs depend on which worker is first: for different orders of the workers the error of the labels is .19 to .59
    on RTE1 and .07 to .42 on Temp (`python -m experiments.paper.sign_roots`).

    >>> breadth_first_signs(3, np.array([0, 1]), np.array([1, 2]), np.array([0.3, -0.2])).sign.tolist()
    [1.0, 1.0, -1.0]
    """
    sign = _propagate_signs(n_workers, i, j, evidence)
    return Signs(sign, contradicted_share(sign, i, j, evidence))


def weighed_signs(n_workers: int, i: IntArray, j: IntArray, evidence: FloatArray) -> Signs:
    """Return signs with which much of the evidence agrees, by a greedy search.

    With noise, different paths contradict each other, and a breadth-first tree uses the shortest ones. Here the tree
    uses the pairs of strongest evidence, and then workers are flipped whose evidence contradicts their sign.

    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> weighed_signs(3, i, j, np.array([-0.1, 5.0, 4.0]))
    Signs(sign=array([1., 1., 1.]), contradicted=0.010...)
    """
    return orient_components(tree_signs(n_workers, i, j, evidence), i, j, evidence)


def tree_signs(n_workers: int, i: IntArray, j: IntArray, evidence: FloatArray) -> FloatArray:
    """Return signs that agree with every pair on the spanning trees of strongest evidence.

    >>> tree_signs(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([-0.1, 5.0, 4.0])).tolist()
    [1.0, 1.0, 1.0]
    """
    on_tree = strongest_tree(n_workers, i, j, np.abs(evidence))
    return _propagate_signs(n_workers, i[on_tree], j[on_tree], evidence[on_tree])


def strongest_tree(n_workers: int, i: IntArray, j: IntArray, strength: FloatArray) -> IntArray:
    """Return the positions of the pairs on the maximum spanning trees, one tree per component.

    >>> strongest_tree(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([3.0, 1.0, 2.0])).tolist()
    [0, 2]
    """
    # Ranks are distinct, so that only one tree is cheapest; of pairs of equal strength the first has the lower cost.
    rank = np.empty(len(strength))
    rank[np.argsort(-strength, kind="stable")] = np.arange(1, len(strength) + 1)
    if n_workers <= MAX_TABLE_WORKERS:
        return _cheapest_tree_of_table(n_workers, i, j, rank)
    from scipy import sparse
    from scipy.sparse import csgraph

    ends = (i.astype(np.int32), j.astype(np.int32))  # before scipy 1.17.1, trees need 32-bit indices
    costs = sparse.coo_array((rank, ends), shape=(n_workers, n_workers))
    tree = csgraph.minimum_spanning_tree(costs.tocsr()).tocoo()
    return np.sort(_pair_positions(n_workers, i, j, tree.row, tree.col))


def _cheapest_tree_of_table(n_workers: int, i: IntArray, j: IntArray, cost: FloatArray) -> IntArray:
    """Return the positions of the pairs on the cheapest spanning trees, by Prim's algorithm on a table of all pairs."""
    cost_of = np.full((n_workers, n_workers), np.inf)
    cost_of[i, j] = cost_of[j, i] = cost
    position = np.zeros((n_workers, n_workers), dtype=np.int64)
    position[i, j] = position[j, i] = np.arange(len(i))
    least = np.full(n_workers, np.inf)  # cost of the cheapest pair of each remaining worker with the tree
    link = np.zeros(n_workers, dtype=np.int64)  # the other worker of this pair
    is_remaining = np.ones(n_workers, dtype=bool)
    tree = []
    for _ in range(n_workers):
        remaining = np.flatnonzero(is_remaining)
        worker = int(remaining[np.argmin(least[remaining])])
        if least[worker] < np.inf:  # otherwise it is the first of another component
            tree.append(position[worker, link[worker]])
        is_remaining[worker] = False
        is_less = cost_of[worker] < least
        least[is_less] = cost_of[worker, is_less]
        link[is_less] = worker
    return np.sort(np.array(tree, dtype=np.int64))


def orient_components(sign: FloatArray, i: IntArray, j: IntArray, evidence: FloatArray) -> Signs:
    """Flip one worker at a time, the one whose evidence contradicts its sign most, until there is none.

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
    """Flip every component whose skills sum to less than zero, unless it is anchored.

    Returns the skills, and which components were flipped.

    >>> orient(np.array([-0.5, 0.2, -0.9]), np.array([0, 0, 1]), np.array([False, True]))
    (array([ 0.5, -0.2, -0.9]), array([ True, False]))
    """
    sums = np.bincount(component, skills, minlength=len(anchored))
    flipped = (sums < 0) & ~anchored
    return np.where(flipped[component], -skills, skills), flipped


def _propagate_signs(n: int, i: IntArray, j: IntArray, evidence: FloatArray) -> FloatArray:
    """Return signs by the signs of the pairs from the first worker of each component along a breadth-first tree."""
    has_sign = evidence != 0
    i = i[has_sign]
    j = j[has_sign]
    evidence = evidence[has_sign]
    # An additional root, connected to the first worker of each component, makes one tree of all components.
    first_of_component = np.arange(n)
    unite(first_of_component, i, j)
    first = distinct(first_of_component)
    tree = breadth_first_tree(n + 1, np.concatenate([i, first]), np.concatenate([j, np.full(len(first), n)]), root=n)
    child = np.array([worker for worker in tree if worker != n], dtype=np.int64)
    parent = np.array([tree[int(worker)] for worker in child], dtype=np.int64)
    sign = np.ones(n + 1)
    has_worker_parent = parent < n
    pair_sign = np.ones(len(child))
    positions = _pair_positions(n, i, j, child[has_worker_parent], parent[has_worker_parent])
    pair_sign[has_worker_parent] = np.sign(evidence[positions])
    for worker, above, relative in zip(child.tolist(), parent.tolist(), pair_sign.tolist(), strict=True):
        sign[worker] = sign[above] * relative
    return sign[:n]


def _pair_positions(n: int, i: IntArray, j: IntArray, one: IntArray, two: IntArray) -> IntArray:
    """Return the position of each pair (one, two) in the list of pairs (i, j), which must contain it."""
    keys = np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j)
    order = np.argsort(keys)
    wanted = np.minimum(one, two).astype(np.int64) * n + np.maximum(one, two)
    positions: IntArray = order[np.searchsorted(keys, wanted, sorter=order)]
    return positions
