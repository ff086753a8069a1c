"""Connected components and odd cycles of the interaction graph: which skills the answers identify.

A connected component of the interaction graph identifies its workers' skills if it has an odd cycle [Ma20, Theorem 8,
learnability] or contains a worker of known skill (gold). For skills of zero on the cycle see
`quorate.skills.weak_identification`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray, starts_of
from quorate.blocks.block import Blocks
from quorate.blocks.memory import Answered, MemoryBlocks, blocks_of, collect_answers
from quorate.blocks.numpy_kernels import unite
from quorate.errors import NotInMemoryError
from quorate.graph.pairs import PairStats

MAX_TABLE_NODES = 600  # up to this a dense table of links is searched: 10 ms, less than to import scipy.sparse.csgraph

Edges: TypeAlias = Callable[[], tuple[IntArray, IntArray]]


@dataclass(frozen=True, eq=False)
class Component:
    """One connected component, with an odd cycle or two sides as its witness."""

    workers: IntArray  # codes
    bipartite: bool
    identifiable: bool
    odd_cycle: tuple[int, ...] = ()  # consecutive workers share tasks, and so do the last and the first
    sides: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # no two workers of a side share a task


@dataclass(frozen=True, eq=False)
class Identifiability:
    """The components of the interaction graph and whether each is identifiable; component 0 is the largest."""

    component: IntArray  # of each worker
    bipartite: BoolArray  # of each component
    identifiable: BoolArray  # of each component
    edges: Edges = field(repr=False)  # () -> pairs that suffice to connect each component and to show its odd cycles

    @property
    def n_components(self) -> int:
        """Number of components; a worker who shares no task is a separate component."""
        return len(self.bipartite)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of workers in each component."""
        return np.bincount(self.component, minlength=self.n_components)

    @property
    def determined(self) -> BoolArray:
        """Whether each worker's skill is determined."""
        return self.identifiable[self.component]

    @property
    def isolated(self) -> BoolArray:
        """Whether each worker shares no task with others."""
        isolated: BoolArray = self.sizes[self.component] == 1
        return isolated

    def with_edges_of(self, answers: Answers) -> "Identifiability":
        """Return the same components, with witnesses from these answers."""
        return replace(self, edges=partial(_edges_of_answers, answers))

    def components(self) -> Iterator[Component]:
        """Yield every component with its witness, the largest first."""
        cycles, is_odd_distance = _witnesses(self.component, *self.edges())
        for number, workers in enumerate(grouped(self.component, self.n_components)):
            cycle = cycles.get(number, ())
            is_other_side = is_odd_distance[workers]
            yield Component(
                workers,
                bool(self.bipartite[number]),
                bool(self.identifiable[number]),
                odd_cycle=cycle,
                sides=((), ())
                if cycle
                else (tuple(workers[~is_other_side].tolist()), tuple(workers[is_other_side].tolist())),
            )


def identify(answers: Answered, known: BoolArray | None = None) -> Identifiability:
    """Return the components of the interaction graph of these answers, in linear time.

    Args:
        answers: who answered what.
        known: mask of workers of known skill; each of them makes its component identifiable.

    >>> import quorate
    >>> triangle = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> identify(triangle).identifiable.tolist()
    [True]
    """
    component, bipartite = components_of_roots(blocks_of(answers).component_roots())
    edges: Edges = _edges_not_in_memory
    if isinstance(answers, Answers):
        edges = partial(_edges_of_answers, answers)
    elif _is_in_memory(answers):
        edges = partial(_edges_of_blocks, answers)
    return _identifiability(component, bipartite, known, edges)


def _is_in_memory(blocks: Blocks) -> bool:
    """Return whether the stored blocks, before any change, are those of answers in memory."""
    if type(blocks) is MemoryBlocks:
        return True
    from quorate.blocks.transform import TransformedBlocks  # a crowd in memory without gold does not need it

    while isinstance(blocks, TransformedBlocks):
        blocks = blocks.blocks
    return type(blocks) is MemoryBlocks


def components_of_roots(root: IntArray) -> tuple[IntArray, BoolArray]:
    """Return each worker's component, and whether each component is bipartite, from the roots of the double cover.

    The double cover has two copies of every worker; a shared task links the first copy of a worker with the second copy
    of the other. A component has an odd cycle if and only if both copies of a worker have the same root. The largest
    component is 0; components of equal size are ordered by their first worker.

    >>> roots = np.array([0, 1, 2, 1, 0, 5])  # workers 0 and 1 share a task, worker 2 shares none
    >>> component, bipartite = components_of_roots(roots)
    >>> component.tolist(), bipartite.tolist()
    ([0, 0, 1], [True, True])
    """
    n = len(root) // 2
    first = np.minimum(root[:n], root[n:])  # first worker of the component, as first or second copy
    roots, root_index = np.unique(np.where(first < n, first, first - n), return_inverse=True)
    sizes = np.bincount(root_index, minlength=len(roots))
    rank = np.empty(len(roots), np.int64)
    rank[np.lexsort([roots, -sizes])] = np.arange(len(roots))
    component: IntArray = rank[root_index]
    bipartite = np.ones(len(roots), dtype=bool)
    bipartite[component[root[:n] == root[n:]]] = False
    return component, bipartite


def identify_pairs(pairs: PairStats, n_workers: int, known: BoolArray | None = None) -> Identifiability:
    """Return the components of the graph whose edges are these pairs.

    >>> identify_pairs(PairStats(*np.array([[0], [1], [5], [4]])), n_workers=3).bipartite.tolist()
    [True, True]
    """
    root = np.arange(2 * n_workers)
    n = n_workers
    unite(root, np.concatenate([pairs.i, pairs.i + n]), np.concatenate([pairs.j + n, pairs.j]))
    return _identifiability(*components_of_roots(root), known, partial(_edges_of_pairs, pairs))


def _identifiability(
    component: IntArray, bipartite: BoolArray, known: BoolArray | None, edges: Edges
) -> Identifiability:
    identifiable = ~bipartite
    if known is not None:
        identifiable[component[known]] = True
    return Identifiability(component, bipartite, identifiable, edges)


def _links_of_neighbours(answers: Answers, gap: int) -> tuple[IntArray, IntArray]:
    """Return links of each worker of a task with the worker ``gap`` positions later."""
    same = answers.task[gap:] == answers.task[:-gap]
    return answers.worker[:-gap][same], answers.worker[gap:][same]


def _edges_of_answers(answers: Answers) -> tuple[IntArray, IntArray]:
    """Return links of each worker of a task with the next worker and the one after it.

    These links, at most twice as many as answers, connect the same workers as all pairs, and contain an odd cycle if a
    task has three workers.
    """
    first_links = _links_of_neighbours(answers, 1)
    second_links = _links_of_neighbours(answers, 2)
    return np.concatenate([first_links[0], second_links[0]]), np.concatenate([first_links[1], second_links[1]])


def _edges_of_blocks(blocks: Blocks) -> tuple[IntArray, IntArray]:
    return _edges_of_answers(collect_answers(blocks))


def _edges_not_in_memory() -> tuple[IntArray, IntArray]:
    raise NotInMemoryError("This needs the answers in memory. Aggregate some of the tasks in memory")


def _edges_of_pairs(pairs: PairStats) -> tuple[IntArray, IntArray]:
    """Return the first and the second worker of every pair."""
    return pairs.i, pairs.j


def grouped(keys: IntArray, n_keys: int) -> list[IntArray]:
    """Return the positions of each key, in order.

    >>> [positions.tolist() for positions in grouped(np.array([1, 0, 1]), 3)]
    [[1], [0, 2], []]
    """
    order = np.argsort(keys, kind="stable")
    ends = starts_of(np.bincount(keys, minlength=n_keys)).tolist()
    return [order[start:stop] for start, stop in pairwise(ends)]  # np.split takes ten times as long per key


def components_with_triangles(crowd: Answers, identifiability: Identifiability) -> Iterator[Component]:
    """Yield every component with its witness; the odd cycle is the first three workers of a task, if there is one.

    This needs no search of the graph, except in components in which no task has three workers.

    Args:
        crowd: who answered what.
        identifiability: the components of the crowd.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(400, 12, 4, seed=0).answers
    >>> (part,) = components_with_triangles(answers, identify(answers))
    >>> len(part.workers), len(part.odd_cycle)
    (12, 3)
    """
    component = identifiability.component
    triangles = np.flatnonzero(crowd.task[2:] == crowd.task[:-2])  # positions of the first of three workers of a task
    first = np.full(identifiability.n_components, -1)
    first[component[crowd.worker[triangles[::-1]]]] = triangles[::-1]  # the last assignment counts
    has_triangle = first >= 0
    searched = crowd.where(~has_triangle[component[crowd.worker]])
    for number, part in enumerate(identifiability.with_edges_of(searched).components()):
        if has_triangle[number]:
            cycle = tuple(crowd.worker[first[number] : first[number] + 3].tolist())
            part = replace(part, odd_cycle=cycle, sides=((), ()))
        yield part


def _witnesses(component: IntArray, i: IntArray, j: IntArray) -> tuple[dict[int, tuple[int, ...]], BoolArray]:
    """Return an odd cycle of each component that has one, and which workers have odd distance to its first worker."""
    n = len(component)
    if len(i) == 0:
        return {}, np.zeros(n, dtype=bool)
    first = np.sort(np.unique(component, return_index=True)[1])
    # An additional node, connected to the first worker of each component, allows one search for all components.
    tree = breadth_first_tree(n + 1, np.concatenate([i, first]), np.concatenate([j, np.full(len(first), n)]), root=n)
    steps = [-1] * (n + 1)
    for node, parent in tree.items():  # in order of discovery, so a parent comes before its children
        if parent >= 0:
            steps[node] = steps[parent] + 1
    depth = np.array(steps[:n], np.int64)
    odd = depth % 2 == 1
    closing = np.flatnonzero(odd[i] == odd[j])
    # An edge within a side closes an odd cycle with the tree; the edge of least depth gives a short cycle.
    edge = closing[np.lexsort([depth[i[closing]] + depth[j[closing]], component[i[closing]]])]
    numbers, shallowest = np.unique(component[i[edge]], return_index=True)
    ends = (ends[edge[shallowest]].tolist() for ends in (i, j))
    return {
        number: _cycle(one, two, tree, steps) for number, one, two in zip(numbers.tolist(), *ends, strict=True)
    }, odd


def _cycle(one: int, two: int, tree: dict[int, int], steps: list[int]) -> tuple[int, ...]:
    """Return the cycle that an edge closes: the paths up the tree from both ends until they meet."""
    left = [one]
    right = [two]
    while left[-1] != right[-1]:
        side = left if steps[left[-1]] >= steps[right[-1]] else right
        side.append(tree[side[-1]])
    return (*left, *reversed(right[:-1]))


def breadth_first_tree(n: int, i: IntArray, j: IntArray, root: int = 0) -> dict[int, int]:
    """Return the parent of each node that the root reaches (-1 for the root), in order of discovery.

    >>> breadth_first_tree(4, np.array([0, 1]), np.array([1, 2]))
    {0: -1, 1: 0, 2: 1}
    """
    if n <= MAX_TABLE_NODES:
        return _tree_of_table(n, i, j, root)
    from scipy import sparse
    from scipy.sparse import csgraph

    links = sparse.coo_array((np.ones(len(i), dtype=bool), (i, j)), shape=(n, n)).tocsr()
    order, parents = csgraph.breadth_first_order(links, root, directed=False)
    parents[root] = -1
    return dict(zip(order.tolist(), parents[order].tolist(), strict=True))


def _tree_of_table(n: int, i: IntArray, j: IntArray, root: int) -> dict[int, int]:
    """Return `breadth_first_tree` from a table of links, in the order of csgraph: links from a node first."""
    is_link = np.zeros((n, n), dtype=bool)
    is_link[i, j] = True
    is_new = np.ones(n, dtype=bool)
    is_new[root] = False
    parent = {root: -1}
    queue = [root]
    for node in queue:  # grows during the loop
        for linked in (is_link[node], is_link[:, node]):
            new = np.flatnonzero(linked & is_new)
            is_new[new] = False
            children = new.tolist()
            parent.update(dict.fromkeys(children, node))
            queue += children
    return parent
