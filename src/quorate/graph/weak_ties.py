"""Groups of workers that few tasks link to the rest: weakest cuts and articulation points of the interaction graph.

The sign of a group's skills relative to the others is determined by the tasks that both answered. The table has the
share of 100 simulated crowds in which `rank-one` gets this sign wrong, with three answers per task, ten workers and a
group of five, half of the groups of opposite sign (`python benchmarks/tied_groups.py`).

| linking tasks | 2 | 5 | 10 | 20 | 35 | 50 | 75 | 100 |
|---|---|---|---|---|---|---|---|---|
| by one worker | .26 | .12 | .06 | .05 | .01 | .01 | .00 | .00 |
| by two | .24 | .12 | .11 | .06 | .02 | .02 | .00 | .00 |
| by five | | .25 | .12 | .08 | .04 | .00 | .00 | .00 |

So the risk depends on the number of tasks, and not on the number of workers who link; from MIN_SAFE_TIES on it is one
or two in a hundred. In a small crowd any half shares few tasks with the other half, so a group is reported only if one
worker links it (an articulation point) or if it shares at most a quarter of its tasks with the rest (a cut).

**Cuts.** With weights N_ij, let A be the adjacency matrix scaled by its row sums. Its smallest eigenvalue is close to
-1 (and the smallest of the signless Laplacian with this scaling close to 0) if a group is nearly bipartite: two sides
that share many tasks with each other, and few tasks within a side or with other workers; these few tasks determine the
scale of the group's skills. Its second eigenvalue is close to 1 if a group shares few tasks with all others; these few
tasks determine the sign of its skills. The eigenvector ranks the workers, and the group is the best cut along this
ranking ([Ma20, Theorem 12, pert] states the cost of a small eigenvalue).

**Articulation points.** If removing one worker divides the crowd, the relative sign and scale of the two sides are
determined only by that worker's answers. All such workers are found exactly, in linear time, from the blocks
(biconnected components) of the graph of workers and tasks.
"""

from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, distinct, starts_of, take
from quorate.blocks.numpy_kernels import unite
from quorate.graph.laplacian import eigenvector
from quorate.graph.pairs import PairStats

MIN_GROUP_WORKERS = 3  # the answers of fewer workers do not identify their skills


@dataclass(frozen=True)
class Cut:
    """A group of workers, and the answer pairs that link it."""

    workers: BoolArray  # [workers of the component]: whether in the group
    side: BoolArray  # [workers of the component]: whether on the first side, for a group of two sides
    n_linking: int  # number of answer pairs that link it: with other workers and, with two sides, within a side
    n_pairs: int  # number of all answer pairs of its workers
    eigenvalue: float  # 1 - or 1 + the eigenvalue of A: zero without linking pairs


def weakest_cut(pairs: PairStats, n_workers: int, *, two_sided: bool, anchor: int | None = None) -> Cut | None:
    """Return the group with the smallest share of linking answer pairs along the ranking; None if there is none.

    Args:
        pairs: of a connected component, with codes from zero in this component.
        n_workers: number of workers of the component.
        two_sided: search for a nearly bipartite group; otherwise for one weakly linked to the rest.
        anchor: the code of gold, if it is in the component: the group is the side without it, otherwise the smaller.

    >>> square = PairStats(*np.array([[0, 1, 2, 0, 0], [1, 2, 3, 3, 2], [60, 60, 60, 60, 1], [40, 40, 40, 40, 1]]))
    >>> cut = weakest_cut(square, 4, two_sided=True)
    >>> cut.n_linking, cut.n_pairs, cut.side.tolist()
    (1, 241, [True, False, True, False])
    """
    if len(pairs) == 0 or (not two_sided and n_workers < 2 * MIN_GROUP_WORKERS):  # too few workers for a group
        return None
    weights = pairs.shared.astype(np.float64)
    degree = pairs.by_worker(n_workers, weights)
    scaled = weights / np.sqrt(degree[pairs.i] * degree[pairs.j])
    eigenpair = eigenvector(n_workers, pairs.i, pairs.j, scaled, lowest=two_sided)
    if eigenpair is None:
        return None
    value, vector = eigenpair
    position = vector / np.sqrt(degree)
    if two_sided:
        side = position > 0
        chosen = _best_prefix(pairs, np.argsort(-np.abs(position), kind="stable"), degree, side)
        first_worker = np.argmax(chosen)
        if not side[first_worker]:  # the sign of an eigenvector is arbitrary: the first worker is on the first side
            side = ~side
        return _cut(pairs, chosen, side & chosen, max(1 + value, 0.0))
    chosen = _best_prefix(pairs, np.argsort(-position, kind="stable"), degree, None)
    is_rest = 2 * chosen.sum() > n_workers if anchor is None else chosen[anchor]
    return _cut(pairs, ~chosen if is_rest else chosen, None, max(1 - value, 0.0))


def _best_prefix(pairs: PairStats, order: IntArray, degree: FloatArray, side: BoolArray | None) -> BoolArray:
    """Return the prefix of the ranking with the smallest share of linking answer pairs, as a mask of workers.

    An answer pair links a group if it is with a worker outside or, in a group of two sides, within one side. A group
    without sides and the rest need MIN_GROUP_WORKERS each.
    """
    n = len(order)
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    first = np.minimum(rank[pairs.i], rank[pairs.j])
    last = np.maximum(rank[pairs.i], rank[pairs.j])
    w = pairs.shared.astype(np.float64)
    # For the prefix up to rank k, a pair is with a worker outside if first <= k < last, and inside if last <= k.
    n_linking = np.cumsum(np.bincount(first, w, n) - np.bincount(last, w, n))
    volume = np.cumsum(degree[order])
    if side is None:
        volume = np.minimum(volume, volume[-1] - volume)
    else:
        n_linking += 2 * np.cumsum(np.bincount(last, np.where(side[pairs.i] == side[pairs.j], w, 0.0), n))
    low = 1
    high = n
    if side is None:
        low = MIN_GROUP_WORKERS - 1
        high = n - MIN_GROUP_WORKERS
    share = n_linking / np.maximum(volume, 1e-9)
    chosen = np.zeros(n, dtype=bool)
    chosen[order[: low + int(np.argmin(share[low:high])) + 1]] = True
    return chosen


def _cut(pairs: PairStats, chosen: BoolArray, side: BoolArray | None, eigenvalue: float) -> Cut:
    """Return the cut of a group, with the numbers of its answer pairs and of those that link it."""
    i = pairs.i
    j = pairs.j
    n = pairs.shared
    n_outward = int(n[chosen[i] != chosen[j]].sum())
    inside = chosen[i] & chosen[j]
    n_pairs = n_outward + int(n[inside].sum())
    if side is None:
        return Cut(chosen, np.zeros_like(chosen), n_outward, n_pairs, eigenvalue)
    n_within_sides = int(n[inside & (side[i] == side[j])].sum())
    return Cut(chosen, side, n_outward + n_within_sides, n_pairs, eigenvalue)


MAX_GROUPS = 100  # that are reported, the largest first; each of them needs dozens of additional answers
MIN_CROWD_WORKERS = 5  # an articulation point, and two workers on each side


@dataclass(frozen=True)
class ArticulationPoint:
    """A group of workers that one worker links to the rest."""

    members: IntArray  # codes of workers
    shared: int  # number of tasks that link it to the rest
    by: int = -1  # the linking worker


@dataclass(frozen=True)
class _Tree:
    """A breadth-first tree whose subtrees are ranges of the preorder: preorder[v] ... preorder[v] + size[v] - 1."""

    parent: IntArray  # -1 for the root and for nodes that it does not reach
    levels: list[IntArray]  # nodes by their distance from the root
    preorder: IntArray  # number of each node
    size: IntArray  # number of nodes of each subtree


def articulation_points(answers: Answers, most: int) -> list[ArticulationPoint]:
    """Return the groups that one worker links to the rest by fewer than ``most`` shared tasks, the largest first.

    The group and the rest have at least two workers each besides the articulation point. The group is the smaller side,
    with the articulation point if it shares at least as many tasks with the group as with the rest.

    Args:
        answers: who answered what; all workers with an answer are connected.
        most: groups with this number of shared tasks or more are left out.

    >>> import quorate
    >>> two = [(t, w) for t in range(9) for w in "abc"] + [(t, w) for t in range(9, 18) for w in "xyz"] + [(0, "x")]
    >>> tasks, workers = zip(*two)
    >>> answers = quorate.read({"task": tasks, "worker": workers, "label": ["lr"[t % 2] for t in tasks]})
    >>> points = articulation_points(answers, 50)
    >>> [(answers.worker_names.take(point.members.tolist()).to_pylist(), point.shared) for point in points]
    [(['x', 'y', 'z'], 1)]
    """
    n = answers.n_workers
    if n < MIN_CROWD_WORKERS:
        return []
    tree = _spanning_tree(answers)
    block = _blocks(answers, tree)
    # Number of workers in the subtree of each node.
    is_worker = np.zeros(n + answers.n_tasks, np.int64)
    reached = np.concatenate(tree.levels)
    is_worker[tree.preorder[reached[reached < n]]] = 1
    up_to = starts_of(is_worker)
    below = up_to[tree.preorder + tree.size] - up_to[tree.preorder]
    # An articulation point is a worker v with a child in another block than its parent; the group is that subtree.
    child = reached[1:][tree.parent[reached[1:]] < n]
    v = tree.parent[child]
    is_other_block = block[child] != block[v]
    child = child[is_other_block]
    v = v[is_other_block]
    key = v.astype(np.int64) * (n + answers.n_tasks) + block[child]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    pieces = _thin_pieces(answers, most, v[first], np.bincount(group, below[child]), np.bincount(group))
    all_workers = np.flatnonzero(answers.per_worker)
    # An articulation point at the root is found from both sides.
    by_members: dict[tuple[int, ...], ArticulationPoint] = {}
    for k, worker, inside, outside in pieces[:MAX_GROUPS]:
        subtree_roots = child[group == k] if k >= 0 else child[v == worker]
        below_worker = np.concatenate([_workers_below(tree, root, n) for root in subtree_roots.tolist()])
        all_others = np.setdiff1d(all_workers, np.append(below_worker, worker))
        if k >= 0:
            point = _smaller_side(below_worker, all_others, worker, inside, outside)
        else:
            point = _smaller_side(all_others, below_worker, worker, inside, outside)
        by_members[tuple(point.members.tolist())] = point
    return sorted(by_members.values(), key=lambda point: (-len(point.members), point.members.tolist()))


def _thin_pieces(
    answers: Answers, most: int, joint: IntArray, size: IntArray, inside: IntArray
) -> list[tuple[int, int, int, int]]:
    """Return the pieces into which removing a worker divides the crowd, if few of its tasks link them to the rest.

    Each is a tuple: number of the subtree below (-1: all other workers), the worker, and its numbers of shared tasks
    inside and outside of the piece.
    """
    compared = answers.by_worker(answers.per_task[answers.task] > 1).astype(np.int64)
    total = int((answers.per_worker > 0).sum()) - 1
    sums = (size, inside * (size > 0))  # a task without other answers is also a subtree, but links no worker
    n_below, shared_below = (np.bincount(joint, values, answers.n_workers).astype(np.int64) for values in sums)
    with_workers_below = distinct(joint[size > 0])
    number = np.concatenate([np.arange(len(joint)), np.full(len(with_workers_below), -1)])
    worker = np.concatenate([joint, with_workers_below])
    n_workers = np.concatenate([size.astype(np.int64), total - n_below[with_workers_below]])
    shared = np.concatenate([inside, compared[with_workers_below] - shared_below[with_workers_below]])
    smaller = np.minimum(n_workers, total - n_workers)
    thin = np.flatnonzero((smaller >= 2) & (np.minimum(shared, compared[worker] - shared) < most))
    thin = thin[np.lexsort([worker[thin], -smaller[thin]])]
    columns = (number[thin], worker[thin], shared[thin], compared[worker[thin]] - shared[thin])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _smaller_side(piece: IntArray, rest: IntArray, worker: int, inside: int, outside: int) -> ArticulationPoint:
    """Return the smaller side as the group, with the articulation point if it shares at least as many tasks with it.

    Args:
        piece: workers of one side.
        rest: workers of the other side.
        worker: the articulation point.
        inside: number of tasks that it shares with the piece.
        outside: number of tasks that it shares with the rest.
    """
    group = piece
    shared_with_group = inside
    shared_with_others = outside
    if len(piece) > len(rest):
        group = rest
        shared_with_group = outside
        shared_with_others = inside
    if shared_with_group >= shared_with_others:
        return ArticulationPoint(np.sort(np.append(group, worker)), shared_with_others, worker)
    return ArticulationPoint(np.sort(group), shared_with_group, worker)


def _workers_below(tree: _Tree, node: int, n_workers: int) -> IntArray:
    """Return the workers in the subtree of a node."""
    first = tree.preorder[node]
    inside = (tree.preorder[:n_workers] >= first) & (tree.preorder[:n_workers] < first + tree.size[node])
    return np.flatnonzero(inside)


def _spanning_tree(answers: Answers) -> _Tree:
    """Return the breadth-first tree from the worker with most answers; nodes are workers, then tasks.

    The search takes 5 ms for 50,000 answers; with scipy.sparse.csgraph 3 ms, and 0.15 seconds for its import.
    """
    n = answers.n_workers
    nodes = n + answers.n_tasks
    start, links = _links(answers)
    parent = np.full(nodes, -1)
    is_new = np.ones(nodes, dtype=bool)
    root = int(answers.per_worker.argmax())
    is_new[root] = False
    first_position = np.empty(nodes, np.int64)
    levels = [np.array([root])]
    while True:  # the children of a level follow in the order of their parents
        level = levels[-1]
        degree = start[level + 1] - start[level]
        offset = starts_of(degree)
        neighbour = links[np.repeat(start[level] - offset[:-1], degree) + np.arange(offset[-1])]
        of_parent = np.repeat(level, degree)[is_new[neighbour]]
        child = neighbour[is_new[neighbour]]
        if len(child) == 0:
            break
        position = np.arange(len(child))
        first_position[child[::-1]] = position[::-1]
        is_first = first_position[child] == position
        child = child[is_first]
        parent[child] = of_parent[is_first]
        is_new[child] = False
        levels.append(child)
    size = np.ones(nodes, np.int64)
    for level in reversed(levels[1:]):
        size += np.bincount(parent[level], size[level], nodes).astype(np.int64)
    preorder = np.full(nodes, nodes)  # nodes that are not reached come last
    preorder[root] = 0
    for level in levels[1:]:
        offset = starts_of(size[level])[:-1]
        parent_rank = _rank(parent[level])
        first = np.searchsorted(parent_rank, parent_rank)
        preorder[level] = preorder[parent[level]] + 1 + offset - offset[first]
    return _Tree(parent, levels, preorder, np.where(preorder < nodes, size, 0))


def _links(answers: Answers) -> tuple[IntArray, IntArray]:
    """Return the neighbours of each node in ascending order, and the start of each node's neighbours."""
    n = answers.n_workers
    task = answers.task.astype(np.int64)
    by_worker = np.sort(answers.worker.astype(np.int64) * answers.n_tasks + task)
    by_task = np.sort(task * n + answers.worker)
    start = starts_of(np.concatenate([answers.per_worker, answers.per_task]))
    return start, np.concatenate([n + by_worker % answers.n_tasks, by_task % n])


def _rank(keys: IntArray) -> IntArray:
    """Return for each key the number of its run of equal keys, from zero."""
    return np.concatenate([[0], np.cumsum(keys[1:] != keys[:-1])])


def _blocks(answers: Answers, tree: _Tree) -> IntArray:
    """Return the block of the link from each node to its parent, by Tarjan and Vishkin's rule.

    Two links of the tree are in one block if a link outside the tree closes a cycle through both. Such a link joins the
    blocks of its two ends, if neither is an ancestor of the other; and it joins the block of a node to that of its
    parent, if it leads from the node's subtree to a node outside the parent's subtree.
    """
    nodes = len(tree.parent)
    worker = answers.worker.astype(np.int64)
    task = answers.n_workers + answers.task.astype(np.int64)
    inside = tree.preorder[worker] < nodes
    outside_tree = inside & (tree.parent[worker] != task) & (tree.parent[task] != worker)
    u = worker[outside_tree]
    w = task[outside_tree]
    pre = tree.preorder
    size = tree.size
    low = pre.copy()
    high = pre.copy()
    for a, b in ((u, w), (w, u)):
        np.minimum.at(low, a, pre[b])
        np.maximum.at(high, a, pre[b])
    for level in reversed(tree.levels[1:]):
        np.minimum.at(low, tree.parent[level], low[level])
        np.maximum.at(high, tree.parent[level], high[level])
    is_cross_edge = ~(_is_ancestor(u, w, pre, size) | _is_ancestor(w, u, pre, size))
    node = np.concatenate(tree.levels[2:]) if len(tree.levels) > 2 else np.zeros(0, np.int64)
    parent = tree.parent[node]
    leads_outside = (low[node] < pre[parent]) | (high[node] >= pre[parent] + size[parent])
    i = np.concatenate([u[is_cross_edge], node[leads_outside]])
    j = np.concatenate([w[is_cross_edge], parent[leads_outside]])
    block = np.arange(nodes)
    unite(block, i, j)
    return block


def _is_ancestor(a: IntArray, b: IntArray, pre: IntArray, size: IntArray) -> BoolArray:
    """Return whether node a is an ancestor of node b, or b itself."""
    is_ancestor: BoolArray = (pre[a] <= pre[b]) & (pre[b] < pre[a] + size[a])
    return is_ancestor


MIN_SAFE_TIES = 50  # with this number of linking tasks the sign is reliable, by the table in the module docstring
MAX_SHARED_TASKS = 0.25  # share of a group's tasks; in 600 random crowds the weakest cut shared at least 0.27 of them
MAX_SHARED_PAIRS = 0.1  # share of a group's answer pairs, a better measure if few tasks have many answers


@dataclass(frozen=True)
class LooseGroup:
    """A group of workers that few tasks link to the rest."""

    workers: IntArray  # codes; never that of gold
    ties: int  # number of tasks that workers of the group and of the rest answered
    n_tasks: int  # number of all tasks that workers of the group answered
    by: int = -1  # the linking worker, if all ties are by one worker of a side
    exact: bool = True  # False: ties and n_tasks count answer pairs, of which a task has one or more


def loose_groups(
    members: IntArray, pairs: PairStats | None, answers: Answers | None, *, anchor: int | None = None
) -> list[LooseGroup]:
    """Return the weakly linked groups of a component: those linked by one worker, and the group of the weakest cut.

    Args:
        members: the component's workers, with the code of gold if it belongs to the component.
        pairs: of the component, with positions in `members` as codes; None: no search for a cut.
        answers: of the component, with the same codes (`within`). None if only counts are available: then only the
            weakest cut is searched, with ties counted as answer pairs; fewer groups are found, but none wrongly.
        anchor: position of gold in `members`: the groups are the sides without it, otherwise the smaller sides.

    >>> import quorate
    >>> from quorate.graph.pairs import pair_stats
    >>> two = [(t, w) for t in range(9) for w in "abc"] + [(t, w) for t in range(9, 18) for w in "xyz"] + [(0, "x")]
    >>> tasks, workers = zip(*two)
    >>> answers = quorate.read({"task": tasks, "worker": workers, "label": ["lr"[t % 2] for t in tasks]})
    >>> (group,) = loose_groups(np.arange(6), pair_stats(answers), answers)
    >>> group.workers.tolist(), group.ties, group.n_tasks, group.by
    ([3, 4, 5], 1, 10, 3)
    """
    groups: list[LooseGroup] = []
    if answers is not None and not (pairs is not None and _has_no_articulation_point(pairs, len(members))):
        for point in articulation_points(answers, MIN_SAFE_TIES):
            inside = point.members
            if anchor is not None and anchor in inside:  # report the side without gold
                inside = np.setdiff1d(np.arange(len(members)), inside)
            groups.append(LooseGroup(inside, point.shared, count_linking_tasks(answers, inside)[1], point.by))
    cut = None if pairs is None else weakest_cut(pairs, len(members), two_sided=False, anchor=anchor)
    # The articulation point may be on either side of the same division.
    if cut is not None and all(_n_different_workers(cut.workers, group.workers) > 1 for group in groups):
        group_of_cut = _group_of_cut(cut, answers)
        if group_of_cut is not None:
            groups.append(group_of_cut)
    groups.sort(key=lambda group: (-len(group.workers), group.workers.tolist()))
    return [
        replace(group, workers=members[group.workers], by=int(members[group.by]) if group.by >= 0 else -1)
        for group in groups
    ]


def _has_no_articulation_point(pairs: PairStats, n_workers: int) -> bool:
    """Return whether the numbers of peers show that no worker is an articulation point.

    This is so if two workers share tasks with all others, or every worker shares tasks with at least half of the
    workers: without any one worker, two others then still share tasks or have a peer in common.
    """
    n_peers = pairs.n_peers(n_workers)
    return int((n_peers == n_workers - 1).sum()) >= 2 or 2 * int(n_peers.min()) >= n_workers


def _group_of_cut(cut: Cut, answers: Answers | None) -> LooseGroup | None:
    """Return the group of a cut if few tasks link it or, without answers, few answer pairs; otherwise None."""
    inside = np.flatnonzero(cut.workers)
    if answers is None:
        if not has_few_links(cut):
            return None
        return LooseGroup(inside, cut.n_linking, cut.n_pairs, exact=False)
    ties, n_tasks = count_linking_tasks(answers, inside)
    is_loose = ties <= MAX_SHARED_TASKS * n_tasks or cut.n_linking <= MAX_SHARED_PAIRS * cut.n_pairs
    return LooseGroup(inside, ties, n_tasks) if is_loose and ties < MIN_SAFE_TIES else None


def within(crowd: Answers, positions: IntArray, members: IntArray) -> Answers:
    """Return the answers and tasks of one component, with positions in `members` as codes of workers.

    Args:
        crowd: who answered what.
        positions: of the component's answers, in order.
        members: the component's workers, sorted.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2, 3], "worker": list("aba"), "label": list("xyx")})
    >>> within(answers, np.array([1]), np.array([1])).worker.tolist()
    [0]
    """
    if len(positions) == crowd.n_answers and len(members) == crowd.n_workers and crowd.per_task.all():
        return crowd  # with its table of pairs, if that is cached
    tasks, task = np.unique(crowd.task[positions], return_inverse=True)
    return Answers(
        task,
        np.searchsorted(members, crowd.worker[positions]),
        crowd.label[positions],
        take(crowd.task_names, tasks),
        take(crowd.worker_names, members),
        crowd.classes,
    )


def has_few_links(cut: Cut) -> bool:
    """Return whether so few answer pairs link a group that its sign is unreliable.

    >>> has_few_links(Cut(np.ones(4, dtype=bool), np.array([True, True, False, False]), 1, 241, 0.01))
    True
    """
    return cut.n_linking < MIN_SAFE_TIES and cut.n_linking <= MAX_SHARED_PAIRS * cut.n_pairs


def count_linking_tasks(answers: Answers, workers: IntArray) -> tuple[int, int]:
    """Return the number of tasks that both these workers and others answered, and of all that these workers answered.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2, 3], "worker": list("abab"), "label": list("xyxx")})
    >>> count_linking_tasks(answers, np.array([0]))
    (1, 2)
    """
    inside: BoolArray = np.zeros(answers.n_workers, dtype=bool)
    inside[workers] = True
    n = answers.by_task(inside[answers.worker])
    return int(((n > 0) & (n < answers.per_task)).sum()), int((n > 0).sum())


def _n_different_workers(one: BoolArray, other: IntArray) -> int:
    """Return the number of workers by which two divisions of a component differ, given one side of each division."""
    n_different = len(np.setxor1d(np.flatnonzero(one), other))
    return min(n_different, len(one) - n_different)
