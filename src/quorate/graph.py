"""Who met whom -> which skills the data determine: connected components, and an odd cycle in each, or two sides.

A connected component of the interaction graph determines its workers' skills exactly when it has an odd cycle
[Ma20, Thm learnability], or when a worker of known skill (gold) is in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray
from quorate.pairs import PairStats


@dataclass(frozen=True)
class Component:
    """One connected component and the witness of its verdict."""

    workers: IntArray  # codes
    bipartite: bool
    identifiable: bool
    odd_cycle: tuple[int, ...] = ()  # consecutive workers are pairs, and so are the last and the first
    sides: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # no pair within a side


@dataclass(frozen=True)
class Identifiability:
    """The components of the interaction graph and the verdict on each; component 0 is the largest."""

    component: IntArray  # of each worker
    bipartite: BoolArray  # of each component
    identifiable: BoolArray  # of each component
    i: IntArray  # pairs enough to connect each component and to close its odd cycles
    j: IntArray

    @property
    def n_components(self) -> int:
        """How many components there are; a worker who met nobody is one of its own."""
        return len(self.bipartite)

    @cached_property
    def sizes(self) -> IntArray:
        """The number of workers in each component."""
        return np.bincount(self.component, minlength=self.n_components)

    @property
    def determined(self) -> BoolArray:
        """Whether each worker's skill is determined."""
        return self.identifiable[self.component]

    @property
    def isolated(self) -> BoolArray:
        """Whether each worker shares no task with anyone."""
        alone: BoolArray = self.sizes[self.component] == 1
        return alone

    def components(self) -> Iterator[Component]:
        """Every component with its witness, the largest first."""
        members = grouped(self.component, self.n_components)
        edges = grouped(self.component[self.i], self.n_components)
        for number, (workers, inside) in enumerate(zip(members, edges, strict=True)):
            i, j = (np.searchsorted(workers, ends[inside]) for ends in (self.i, self.j))
            cycle, odd = _witness(len(workers), i, j)
            yield Component(
                workers,
                bool(self.bipartite[number]),
                bool(self.identifiable[number]),
                odd_cycle=tuple(workers[list(cycle)].tolist()),
                sides=((), ()) if cycle else (tuple(workers[~odd].tolist()), tuple(workers[odd].tolist())),
            )


def identify(answers: Answers, known: BoolArray | None = None) -> Identifiability:
    """Judge the interaction graph of these answers in linear time.

    Args:
        answers: who answered what.
        known: which workers' skills are known beforehand; each makes its component identifiable.

    >>> import quorate
    >>> triangle = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> identify(triangle).identifiable.tolist()
    [True]
    """
    # A task's workers in a chain, and the first joined to the third: as connected as all their pairs, with an odd
    # cycle where there are three of them, and only as many pairs as answers.
    task, worker = answers.task, answers.worker
    links = [(worker[:-gap], worker[gap:], task[:-gap] == task[gap:]) for gap in (1, 2)]
    i = np.concatenate([first[same] for first, _, same in links])
    j = np.concatenate([second[same] for _, second, same in links])
    return _judge(answers.n_workers, i, j, known)


def identify_pairs(pairs: PairStats, n_workers: int, known: BoolArray | None = None) -> Identifiability:
    """Judge the graph whose edges are the given pairs.

    >>> identify_pairs(PairStats(*np.array([[0], [1], [5], [4]])), n_workers=3).bipartite.tolist()
    [True, True]
    """
    return _judge(n_workers, pairs.i, pairs.j, known)


def _judge(n: int, i: IntArray, j: IntArray, known: BoolArray | None) -> Identifiability:
    n_found, found = csgraph.connected_components(_adjacency(n, i, j), directed=False)
    # Largest first, then by first worker, so that numbers do not hang on how the graph was traversed.
    sizes, first = np.bincount(found, minlength=n_found), np.full(n_found, n)
    np.minimum.at(first, found, np.arange(n))
    rank = np.empty(n_found, np.int64)
    rank[np.lexsort([first, -sizes])] = np.arange(n_found)
    component = rank[found]
    # Two copies of every worker, each pair joining unlike copies: a component has an odd cycle exactly when a walk
    # leads from a worker to its own other copy.
    _, double = csgraph.connected_components(
        _adjacency(2 * n, np.concatenate([i, i + n]), np.concatenate([j + n, j])), directed=False
    )
    bipartite = np.ones(n_found, dtype=bool)
    bipartite[component[double[:n] == double[n:]]] = False
    identifiable = ~bipartite
    if known is not None:
        identifiable[component[known]] = True
    return Identifiability(component, bipartite, identifiable, i, j)


def _adjacency(n: int, i: IntArray, j: IntArray) -> sparse.coo_array:
    return sparse.coo_array((np.ones(len(i), dtype=bool), (i, j)), shape=(n, n)).tocsr()


def grouped(keys: IntArray, n_keys: int) -> list[IntArray]:
    """List the positions of each key, in order.

    >>> [positions.tolist() for positions in grouped(np.array([1, 0, 1]), 3)]
    [[1], [0, 2], []]
    """
    return np.split(np.argsort(keys, kind="stable"), np.cumsum(np.bincount(keys, minlength=n_keys))[:-1])


def _witness(n: int, i: IntArray, j: IntArray) -> tuple[tuple[int, ...], BoolArray]:
    """Find an odd cycle of a connected graph (or none), and which nodes are an odd number of steps from the first."""
    parent = breadth_first_tree(n, i, j)
    depth = np.zeros(n, np.int64)
    for node in parent:  # in order of discovery: a parent comes before its children
        depth[node] = depth[parent[node]] + 1 if parent[node] >= 0 else 0
    odd = depth % 2 == 1
    closing = np.flatnonzero(odd[i] == odd[j])
    if len(closing) == 0:
        return (), odd
    # An edge within a side closes an odd cycle with the tree; the shallowest gives a short one.
    edge = closing[np.argmin(depth[i[closing]] + depth[j[closing]])]
    left, right = [int(i[edge])], [int(j[edge])]
    while left[-1] != right[-1]:
        side = left if depth[left[-1]] >= depth[right[-1]] else right
        side.append(parent[side[-1]])
    return (*left, *reversed(right[:-1])), odd


def breadth_first_tree(n: int, i: IntArray, j: IntArray, root: int = 0) -> dict[int, int]:
    """Map each node that the root reaches to its parent (the root to -1), in order of discovery.

    >>> breadth_first_tree(4, np.array([0, 1]), np.array([1, 2]))
    {0: -1, 1: 0, 2: 1}
    """
    order, parents = csgraph.breadth_first_order(_adjacency(n, i, j), root, directed=False)
    parents[root] = -1
    return dict(zip(order.tolist(), parents[order].tolist(), strict=True))
