"""Groups of workers that few tasks link to the rest: weakest cuts and articulation points of the interaction graph.

The sign of a group's skills relative to the others rests on the tasks that both answered. Simulated with three answers
per task, ten workers and a group of five, half of the groups of opposite sign: share of 100 crowds in which `rank-one`
gets the sign wrong (`python benchmarks/tied_groups.py`).

| linking tasks | 2 | 5 | 10 | 20 | 35 | 50 | 75 | 100 |
|---|---|---|---|---|---|---|---|---|
| by one worker | .26 | .12 | .06 | .05 | .01 | .01 | .00 | .00 |
| by two | .24 | .12 | .11 | .06 | .02 | .02 | .00 | .00 |
| by five | | .25 | .12 | .08 | .04 | .00 | .00 | .00 |

So the number of tasks decides, whatever the number of workers who link, and from FEW_TIES on the risk is one or two in
a hundred. Any half of a small crowd shares few tasks with the other half, so a group must also hang by one worker
(an articulation point) or share at most a quarter of its tasks with the rest (a cut).

**Cuts.** With weights N_ij, let A be the adjacency matrix scaled by its row sums. Its smallest eigenvalue is near -1
(the smallest of the signless Laplacian, so scaled, close to 0) when a group is nearly bipartite: two sides that share
many tasks with each other, and few within a side or with other workers; those few fix the scale of the group's skills.
Its second eigenvalue is close to 1 when a group shares few tasks with all others; those few fix the sign of its skills.
Each eigenvector ranks the workers, and the best cut along the ranking is the group [Ma20, Theorem 12, pert states
the cost of a small eigenvalue].

**Articulation points.** Where removing one worker divides the crowd, the relative sign and scale of the two sides rest
on that worker's answers. All such workers are found exactly, in linear time, from the blocks of the graph of workers
and tasks.
"""

from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of, take
from quorate.graph.laplacian import eigenvector, symmetric_table
from quorate.graph.pairs import PairStats

MIN_GROUP_WORKERS = 3  # the skills of fewer are not identified by their answers


@dataclass(frozen=True)
class Cut:
    """A group of workers, and the answer pairs that link it."""

    workers: BoolArray  # [workers of the component]: whether in the group
    side: BoolArray  # whether on the first side, where it has two
    holding: int  # answer pairs that link it: with the outside, and within a side
    n_pairs: int  # all answer pairs of its workers
    eigenvalue: float  # 1 ± the eigenvalue of A: zero without links


def weakest_cut(pairs: PairStats, n_workers: int, *, two_sided: bool, anchor: int | None = None) -> Cut | None:
    """Return the group with the smallest share of linking answer pairs; None where there is none.

    Args:
        pairs: of a connected component, over its own codes.
        n_workers: of the component.
        two_sided: search for a nearly bipartite group; else for one weakly linked to the rest.
        anchor: the code of gold, if it is among them: the group is the one without it, else the smaller.

    >>> square = PairStats(*np.array([[0, 1, 2, 0, 0], [1, 2, 3, 3, 2], [60, 60, 60, 60, 1], [40, 40, 40, 40, 1]]))
    >>> cut = weakest_cut(square, 4, two_sided=True)
    >>> cut.holding, cut.n_pairs, cut.side.tolist()
    (1, 241, [True, False, True, False])
    """
    if len(pairs) == 0 or (not two_sided and n_workers < 2 * MIN_GROUP_WORKERS):  # a worker alone, or no two groups
        return None
    weights = pairs.shared.astype(np.float64)
    degree = pairs.by_worker(n_workers, weights)
    scaled = weights / np.sqrt(degree[pairs.i] * degree[pairs.j])
    eigenpair = eigenvector(symmetric_table(n_workers, pairs.i, pairs.j, scaled), lowest=two_sided)
    if eigenpair is None:
        return None
    value, vector = eigenpair
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
    """Choose the prefix of the ranking with the smallest share of linking answer pairs.

    An answer pair links a group if it leads out of it or, in a group of two sides, lies within one side. A group
    without sides and the rest need MIN_GROUP_WORKERS each.
    """
    n = len(order)
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    first = np.minimum(rank[pairs.i], rank[pairs.j])
    last = np.maximum(rank[pairs.i], rank[pairs.j])
    w = pairs.shared.astype(np.float64)
    # With the workers up to rank k taken, a pair leads out while first <= k < last, and lies within from last on.
    holding = np.cumsum(np.bincount(first, w, n) - np.bincount(last, w, n))
    volume = np.cumsum(degree[order])
    if side is None:
        volume = np.minimum(volume, volume[-1] - volume)
    else:
        holding += 2 * np.cumsum(np.bincount(last, np.where(side[pairs.i] == side[pairs.j], w, 0.0), n))
    least, most = (1, n) if side is not None else (MIN_GROUP_WORKERS - 1, n - MIN_GROUP_WORKERS)
    share = holding / np.maximum(volume, 1e-9)
    chosen = np.zeros(n, dtype=bool)
    chosen[order[: least + int(np.argmin(share[least:most])) + 1]] = True
    return chosen


def _cut(pairs: PairStats, chosen: BoolArray, side: BoolArray | None, eigenvalue: float) -> Cut:
    """Count the answer pairs of a group, and those that link it."""
    i = pairs.i
    j = pairs.j
    n = pairs.shared
    out = int(n[chosen[i] != chosen[j]].sum())
    inside = chosen[i] & chosen[j]
    n_pairs = out + int(n[inside].sum())
    within = 0 if side is None else int(n[inside & (side[i] == side[j])].sum())
    return Cut(chosen, np.zeros_like(chosen) if side is None else side, out + within, n_pairs, eigenvalue)


MAX_GROUPS = 100  # reported, the largest first; each needs dozens of further answers
MIN_CROWD_WORKERS = 5  # an articulation point, and two workers on either side


@dataclass(frozen=True)
class ArticulationPoint:
    """A group of workers that one worker links to the rest."""

    members: IntArray  # codes of workers
    shared: int  # tasks that link it to the rest
    by: int = -1  # the linking worker, if it is one


@dataclass(frozen=True)
class _Tree:
    """A spanning tree by breadth, numbered so that a subtree is a range: preorder[v] ... preorder[v] + size[v] - 1."""

    parent: IntArray  # -1 for the root and for what it does not reach
    levels: list[IntArray]  # nodes by their distance from the root
    preorder: IntArray
    size: IntArray


def articulation_points(answers: Answers, most: int) -> list[ArticulationPoint]:
    """Return the groups that one worker links to the rest by fewer than ``most`` shared tasks, the largest first.

    A group has at least two workers besides the articulation point; so has the rest. The group is the smaller side,
    with the articulation point if it shares more tasks with the group than with the rest.

    Args:
        answers: who answered what; all workers with an answer are connected.
        most: shared tasks that are enough.

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
    # The workers below each node, by the numbers of the preorder.
    is_worker = np.zeros(n + answers.n_tasks, np.int64)
    reached = np.concatenate(tree.levels)
    is_worker[tree.preorder[reached[reached < n]]] = 1
    up_to = starts_of(is_worker)
    below = up_to[tree.preorder + tree.size] - up_to[tree.preorder]
    # An articulation point is a worker v with a child in another block than its parent; the group is below that child.
    child = reached[1:][tree.parent[reached[1:]] < n]
    v = tree.parent[child]
    hangs = block[child] != block[v]
    child = child[hangs]
    v = v[hangs]
    key = v.astype(np.int64) * (n + answers.n_tasks) + block[child]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    pieces = _thin_pieces(answers, most, v[first], np.bincount(group, below[child]), np.bincount(group))
    all_workers = np.flatnonzero(answers.per_worker)
    by_members: dict[
        tuple[int, ...], ArticulationPoint
    ] = {}  # an articulation point at the root is found from either side
    for k, worker, inside, outside in pieces[:MAX_GROUPS]:
        hanging = child[group == k] if k >= 0 else child[v == worker]
        under = np.concatenate([_workers_below(tree, root, n) for root in hanging.tolist()])
        rest = np.setdiff1d(all_workers, np.append(under, worker))
        piece, rest = (under, rest) if k >= 0 else (rest, under)
        point = _smaller_side(piece, rest, worker, inside, outside)
        by_members[tuple(point.members.tolist())] = point
    return sorted(by_members.values(), key=lambda point: (-len(point.members), point.members.tolist()))


def _thin_pieces(
    answers: Answers, most: int, joint: IntArray, size: IntArray, inside: IntArray
) -> list[tuple[int, int, int, int]]:
    """Return the pieces into which removing a worker divides the crowd, where few of its tasks link them.

    Each is the number of the subtree below (-1: everything else), the worker, and its shared tasks on either side.
    """
    compared = answers.by_worker(answers.per_task[answers.task] > 1).astype(np.int64)
    total = int((answers.per_worker > 0).sum()) - 1
    sums = (size, inside * (size > 0))  # a task without other answers is below too, and links nobody
    under, tied = (np.bincount(joint, values, answers.n_workers).astype(np.int64) for values in sums)
    above = np.unique(joint[size > 0])
    number = np.concatenate([np.arange(len(joint)), np.full(len(above), -1)])
    worker = np.concatenate([joint, above])
    workers = np.concatenate([size.astype(np.int64), total - under[above]])
    shared = np.concatenate([inside, compared[above] - tied[above]])
    smaller = np.minimum(workers, total - workers)
    thin = np.flatnonzero((smaller >= 2) & (np.minimum(shared, compared[worker] - shared) < most))
    thin = thin[np.lexsort([worker[thin], -smaller[thin]])]
    columns = (number[thin], worker[thin], shared[thin], compared[worker[thin]] - shared[thin])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _smaller_side(piece: IntArray, rest: IntArray, joint: int, inside: int, outside: int) -> ArticulationPoint:
    """Return the smaller side; the articulation point belongs to the side with which it shares more tasks."""
    group, n_inside, other = (piece, inside, outside) if len(piece) <= len(rest) else (rest, outside, inside)
    if n_inside >= other:
        return ArticulationPoint(np.sort(np.append(group, joint)), other, joint)
    return ArticulationPoint(np.sort(group), n_inside, joint)


def _workers_below(tree: _Tree, node: int, n_workers: int) -> IntArray:
    first = tree.preorder[node]
    inside = (tree.preorder[:n_workers] >= first) & (tree.preorder[:n_workers] < first + tree.size[node])
    return np.flatnonzero(inside)


def _spanning_tree(answers: Answers) -> _Tree:
    """Return the breadth-first tree from the most active worker; nodes are workers, then tasks."""
    from scipy import sparse
    from scipy.sparse import csgraph

    n = answers.n_workers
    nodes = n + answers.n_tasks
    links = sparse.csr_array(
        (np.ones(answers.n_answers, dtype=bool), (answers.worker, n + answers.task.astype(np.int64))),
        shape=(nodes, nodes),
    )
    order, parent = csgraph.breadth_first_order(links, int(answers.per_worker.argmax()), directed=False)
    parent = np.where(parent < 0, -1, parent).astype(np.int64)
    order = order.astype(np.int64)
    depth = np.zeros(nodes, np.int64)
    levels = [order[:1]]
    at = 1
    while at < len(order):  # breadth first: the children of a level follow it, in the order of their parents
        depth[levels[-1]] = len(levels)
        stop = at + int(np.searchsorted(depth[parent[order[at:]]] != len(levels), True))
        levels.append(order[at:stop])
        at = stop
    size = np.ones(nodes, np.int64)
    for level in reversed(levels[1:]):
        size += np.bincount(parent[level], size[level], nodes).astype(np.int64)
    preorder = np.full(nodes, nodes)  # out of reach: after all others
    preorder[order[0]] = 0
    for level in levels[1:]:
        offset = starts_of(size[level])[:-1]
        first = np.searchsorted(parent_rank := _rank(parent[level]), parent_rank)
        preorder[level] = preorder[parent[level]] + 1 + offset - offset[first]
    return _Tree(parent, levels, preorder, np.where(preorder < nodes, size, 0))


def _rank(keys: IntArray) -> IntArray:
    """Count the runs of equal keys."""
    return np.concatenate([[0], np.cumsum(keys[1:] != keys[:-1])])


def _blocks(answers: Answers, tree: _Tree) -> IntArray:
    """Return the block of the link from each node to its parent, by Tarjan and Vishkin's rule.

    Two links of the tree are in one block if a link outside the tree closes a cycle through both: it joins the two
    nodes it ends in, where neither is above the other; and it joins a node's link to its parent's, where it leads from
    the node's subtree to outside the parent's.
    """
    from scipy import sparse
    from scipy.sparse import csgraph

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
    is_cross_edge = ~(_above(u, w, pre, size) | _above(w, u, pre, size))
    node = np.concatenate(tree.levels[2:]) if len(tree.levels) > 2 else np.zeros(0, np.int64)
    over = tree.parent[node]
    leaves = (low[node] < pre[over]) | (high[node] >= pre[over] + size[over])
    i = np.concatenate([u[is_cross_edge], node[leaves]])
    j = np.concatenate([w[is_cross_edge], over[leaves]])
    graph = sparse.coo_array((np.ones(len(i), dtype=bool), (i, j)), shape=(nodes, nodes)).tocsr()
    block: IntArray = csgraph.connected_components(graph, directed=False)[1]
    return block.astype(np.int64)


def _above(a: IntArray, b: IntArray, pre: IntArray, size: IntArray) -> BoolArray:
    """Whether node a is an ancestor of node b, or b itself."""
    above: BoolArray = (pre[a] <= pre[b]) & (pre[b] < pre[a] + size[a])
    return above


FEW_TIES = 50  # linking tasks from which on the sign is reliable, by the table above
MAX_SHARED_TASKS = 0.25  # of a group's tasks; in 600 random crowds the weakest cut shared at least 0.27 of them
MAX_SHARED_PAIRS = 0.1  # of a group's answer pairs, which are the better measure where few tasks have many answers


@dataclass(frozen=True)
class LooseGroup:
    """A group of workers that few tasks link to the rest."""

    workers: IntArray  # codes; never that of gold
    ties: int  # tasks that someone of the group and someone of the rest answered
    n_tasks: int  # tasks that someone of the group answered, those included
    by: int = -1  # the only worker of either side who links, if it is one
    exact: bool = True  # False: ties and n_tasks count answer pairs, of which a task has one or more


def loose_groups(
    members: IntArray, pairs: PairStats | None, answers: Answers | None, *, anchor: int | None = None
) -> list[LooseGroup]:
    """Return the weakly linked groups of a component: those linked by one worker, and the one of the weakest cut.

    Args:
        members: the component's workers, the code of gold among them if it belongs there.
        pairs: of the component, coded by positions among the members; None: no search for a cut.
        answers: of the component, coded likewise (`within`). None, where only counts are available: only the group of
            the weakest cut, with its ties counted as answer pairs, so that fewer groups are found and none wrongly.
        anchor: position of gold among the members: the groups are those without it, else the smaller side.

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
    if answers is not None and not (pairs is not None and _has_two_hubs(pairs, len(members))):
        for point in articulation_points(answers, FEW_TIES):
            inside = _without(anchor, point.members, len(members))
            groups.append(LooseGroup(inside, point.shared, tying_tasks(answers, inside)[1], point.by))
    cut = weakest_cut(pairs, len(members), two_sided=False, anchor=anchor) if pairs is not None else None
    # The articulation point may be on either side of the same division.
    if cut is not None and all(_apart(cut.workers, group.workers) > 1 for group in groups):
        groups += _of_cut(cut, answers)
    groups.sort(key=lambda group: (-len(group.workers), group.workers.tolist()))
    return [
        replace(group, workers=members[group.workers], by=int(members[group.by]) if group.by >= 0 else -1)
        for group in groups
    ]


def _has_two_hubs(pairs: PairStats, n_workers: int) -> bool:
    """Whether two workers each share tasks with all others: then removing any one worker leaves the rest connected."""
    n_peers = np.bincount(np.concatenate([pairs.i, pairs.j]), minlength=n_workers)
    return int((n_peers == n_workers - 1).sum()) >= 2


def _of_cut(cut: Cut, answers: Answers | None) -> list[LooseGroup]:
    inside = np.flatnonzero(cut.workers)
    if answers is None:
        return [LooseGroup(inside, cut.holding, cut.n_pairs, exact=False)] if held_by_few(cut) else []
    ties, n_tasks = tying_tasks(answers, inside)
    is_group = ties <= MAX_SHARED_TASKS * n_tasks or cut.holding <= MAX_SHARED_PAIRS * cut.n_pairs
    return [LooseGroup(inside, ties, n_tasks)] if is_group and ties < FEW_TIES else []


def _without(anchor: int | None, group: IntArray, n: int) -> IntArray:
    """Return the other side of a division if gold is on this one."""
    return np.setdiff1d(np.arange(n), group) if anchor is not None and anchor in group else group


def within(crowd: Answers, positions: IntArray, members: IntArray) -> Answers:
    """Keep the answers and tasks of one component, workers coded by their positions among the members.

    Args:
        crowd: who answered what.
        positions: of the component's answers, in order.
        members: the component's workers, sorted.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2, 3], "worker": list("aba"), "label": list("xyx")})
    >>> within(answers, np.array([1]), np.array([1])).worker.tolist()
    [0]
    """
    kept, task = np.unique(crowd.task[positions], return_inverse=True)
    return Answers(
        task,
        np.searchsorted(members, crowd.worker[positions]),
        crowd.label[positions],
        take(crowd.task_names, kept),
        take(crowd.worker_names, members),
        crowd.classes,
    )


def held_by_few(cut: Cut) -> bool:
    """Whether so few answer pairs link a group that its sign is unreliable.

    >>> held_by_few(Cut(np.ones(4, dtype=bool), np.array([True, True, False, False]), 1, 241, 0.01))
    True
    """
    return cut.holding < FEW_TIES and cut.holding <= MAX_SHARED_PAIRS * cut.n_pairs


def tying_tasks(answers: Answers, workers: IntArray) -> tuple[int, int]:
    """Count the tasks that both these workers and others answered, and all tasks that these answered.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2, 3], "worker": list("abab"), "label": list("xyxx")})
    >>> tying_tasks(answers, np.array([0]))
    (1, 2)
    """
    inside: BoolArray = np.zeros(answers.n_workers, dtype=bool)
    inside[workers] = True
    n = answers.by_task(inside[answers.worker])
    return int(((n > 0) & (n < answers.per_task)).sum()), int((n > 0).sum())


def _apart(one: BoolArray, other: IntArray) -> int:
    """Count the workers by whom two divisions of a component differ, whichever side each names."""
    unlike = len(np.setxor1d(np.flatnonzero(one), other))
    return min(unlike, len(one) - unlike)
