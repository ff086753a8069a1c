"""Groups that are loosely tied to the rest: one rule, for the finding that names them and the advice that settles them.

Whether the skills of a group are turned the right way round against the rest's is told by the tasks that both answered,
and by nothing else. Three workers a task, ten workers and a group of five, half of the groups contrary: with so many
tying tasks, the sign came out wrong in this share of 100 crowds (rank-one; `python benchmarks/tied_groups.py`).

| tying tasks | 2 | 5 | 10 | 20 | 35 | 50 | 75 | 100 |
|---|---|---|---|---|---|---|---|---|
| one worker ties | .26 | .12 | .06 | .05 | .01 | .01 | .00 | .00 |
| two do | .24 | .12 | .11 | .06 | .02 | .02 | .00 | .00 |
| five do | | .25 | .12 | .08 | .04 | .00 | .00 | .00 |

So what counts is the number of tasks, however many workers bridge, and at FEW_TIES the risk has come down to one or two
in a hundred. The rule needs a group to ask about, and any half of a small crowd shares few tasks with the other half. A
group is one that hangs by a single worker (`weak_ties.py`), or shares a quarter of its tasks at the most
(`weak_ties.py`).

The weakest cuts of the interaction graph: the groups of workers that the fewest of their meetings hold.

With weights N_ij, let A be the graph's matrix scaled by its row sums. Its smallest eigenvalue is close to -1 (the
smallest of the signless Laplacian, so scaled, is close to 0) when some group is nearly bipartite: two sides that met
each other often, but met their own side, or anyone outside, on few tasks. Those few alone fix the scale of the group's
skills. Its second eigenvalue is close to 1 when some group met hardly anyone else: those few tasks alone say whether
its skills are turned the right way round. Each eigenvector ranks the workers, and the best cut along the ranking is
the group [Ma20, Thm pert says what a small eigenvalue costs].

Where a crowd hangs together by one worker only: the blocks of the graph of workers and tasks.

A worker whose leaving would divide the crowd is a joint: the relative sign and scale of the two sides rest on that
worker's answers alone. All joints are found, and exactly, in linear time.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of, take
from quorate.graph.laplacian import eigenvector, symmetric_table
from quorate.graph.pairs import PairStats

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
    first = np.minimum(rank[pairs.i], rank[pairs.j])
    last = np.maximum(rank[pairs.i], rank[pairs.j])
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
    i = pairs.i
    j = pairs.j
    n = pairs.shared
    out = int(n[chosen[i] != chosen[j]].sum())
    inside = chosen[i] & chosen[j]
    own = out + int(n[inside].sum())
    within = 0 if side is None else int(n[inside & (side[i] == side[j])].sum())
    return Cut(chosen, np.zeros_like(chosen) if side is None else side, out + within, own, eigenvalue)


MOST_GROUPS = 100  # the largest are told: nobody reads more, and settling each takes dozens of answers
LEAST_CROWD = 5  # workers: a joint, and two on either side


@dataclass(frozen=True)
class ArticulationPoint:
    """A group of workers, and how firmly it is tied to the rest."""

    members: IntArray  # codes of workers
    shared: int  # tasks that tie it to the rest
    by: int = -1  # the worker that does, if it is one


@dataclass(frozen=True)
class _Tree:
    """A spanning tree by breadth, numbered so that a subtree is a range: preorder[v] ... preorder[v] + size[v] - 1."""

    parent: IntArray  # -1 for the root and for what it does not reach
    levels: list[IntArray]  # nodes by their distance from the root
    preorder: IntArray
    size: IntArray


def articulation_points(answers: Answers, most: int) -> list[ArticulationPoint]:
    """Find the groups that one worker ties to the rest by fewer than ``most`` shared tasks, the largest first.

    A group has two workers at the least besides the joint; so has the rest. Each of the two sides of a joint can be the
    thin one; the group is the smaller side, with the joint where the group's own tie to it is the thicker.

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
    if n < LEAST_CROWD:
        return []
    tree = _spanning_tree(answers)
    block = _blocks(answers, tree)
    # The workers below each node, by the numbers of the preorder.
    is_worker = np.zeros(n + answers.n_tasks, np.int64)
    reached = np.concatenate(tree.levels)
    is_worker[tree.preorder[reached[reached < n]]] = 1
    up_to = starts_of(is_worker)
    below = up_to[tree.preorder + tree.size] - up_to[tree.preorder]
    # A joint is a worker v with a child in another block than its parent; the group hangs from v's children there.
    child = reached[1:][tree.parent[reached[1:]] < n]
    v = tree.parent[child]
    hangs = block[child] != block[v]
    child = child[hangs]
    v = v[hangs]
    key = v.astype(np.int64) * (n + answers.n_tasks) + block[child]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    pieces = _thin_pieces(answers, most, v[first], np.bincount(group, below[child]), np.bincount(group))
    everyone = np.flatnonzero(answers.per_worker)
    found: dict[tuple[int, ...], ArticulationPoint] = {}  # a joint at the root is found from either side
    for k, worker, inside, outside in pieces[:MOST_GROUPS]:
        hanging = child[group == k] if k >= 0 else child[v == worker]
        under = np.concatenate([_workers_below(tree, each, n) for each in hanging.tolist()])
        rest = np.setdiff1d(everyone, np.append(under, worker))
        piece, rest = (under, rest) if k >= 0 else (rest, under)
        joint = _smaller_side(piece, rest, worker, inside, outside)
        found[tuple(joint.members.tolist())] = joint
    return sorted(found.values(), key=lambda joint: (-len(joint.members), joint.members.tolist()))


def _thin_pieces(
    answers: Answers, most: int, joint: IntArray, size: IntArray, inside: IntArray
) -> list[tuple[int, int, int, int]]:
    """List the pieces into which a worker's leaving would divide the crowd, if the worker ties them by too few tasks.

    Each is a number of what hangs below (-1: all that is not below), the worker, and its shared tasks on either side.
    """
    compared = answers.by_worker(answers.per_task[answers.task] > 1).astype(np.int64)
    total = int((answers.per_worker > 0).sum()) - 1
    sums = (size, inside * (size > 0))  # a task that nobody else answered hangs below too, and ties nobody
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
    """Make the group of the smaller side; the joint goes with the side that it is tied to by more tasks."""
    group, own, other = (piece, inside, outside) if len(piece) <= len(rest) else (rest, outside, inside)
    if own >= other:
        return ArticulationPoint(np.sort(np.append(group, joint)), other, joint)
    return ArticulationPoint(np.sort(group), own, joint)


def _workers_below(tree: _Tree, node: int, n_workers: int) -> IntArray:
    first = tree.preorder[node]
    inside = (tree.preorder[:n_workers] >= first) & (tree.preorder[:n_workers] < first + tree.size[node])
    return np.flatnonzero(inside)


def _spanning_tree(answers: Answers) -> _Tree:
    """Grow a tree from the busiest worker; nodes are workers, then tasks."""
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
        own = starts_of(size[level])[:-1]
        first = np.searchsorted(parent_rank := _rank(parent[level]), parent_rank)
        preorder[level] = preorder[parent[level]] + 1 + own - own[first]
    return _Tree(parent, levels, preorder, np.where(preorder < nodes, size, 0))


def _rank(keys: IntArray) -> IntArray:
    """Count the runs of equal keys."""
    return np.concatenate([[0], np.cumsum(keys[1:] != keys[:-1])])


def _blocks(answers: Answers, tree: _Tree) -> IntArray:
    """Return the block of the link from each node to its parent, by Tarjan and Vishkin's rule.

    Two links of the tree are in one block if a link outside the tree closes a circle through both: it joins the two
    nodes it ends in, where neither is above the other; and it joins a node's link to its parent's, where it leads from
    the node's subtree to outside the parent's.
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
    apart = ~(_above(u, w, pre, size) | _above(w, u, pre, size))
    node = np.concatenate(tree.levels[2:]) if len(tree.levels) > 2 else np.zeros(0, np.int64)
    over = tree.parent[node]
    leaves = (low[node] < pre[over]) | (high[node] >= pre[over] + size[over])
    i = np.concatenate([u[apart], node[leaves]])
    j = np.concatenate([w[apart], over[leaves]])
    graph = sparse.coo_array((np.ones(len(i), dtype=bool), (i, j)), shape=(nodes, nodes)).tocsr()
    block: IntArray = csgraph.connected_components(graph, directed=False)[1]
    return block.astype(np.int64)


def _above(a: IntArray, b: IntArray, pre: IntArray, size: IntArray) -> BoolArray:
    """Whether node a is on the way from node b to the root."""
    above: BoolArray = (pre[a] <= pre[b]) & (pre[b] < pre[a] + size[a])
    return above


FEW_TIES = 50  # tasks: from so many on the sign is settled, by the table above
MOST_SHARED = 0.25  # of a group's tasks; in 600 crowds drawn at random, the weakest cut shared 0.27 of them and more
MOST_MET = 0.1  # of a group's meetings: where a few tasks have many answers, their meetings tell a group sooner


@dataclass(frozen=True)
class LooseGroup:
    """A group of workers that few tasks tie to the rest."""

    workers: IntArray  # codes; never gold's own
    ties: int  # tasks that someone of the group and someone of the rest answered
    own: int  # tasks that someone of the group answered, those included
    by: int = -1  # the only worker of either side who bridges, if it is one
    exact: bool = True  # False: the ties, and the group's own, are counted as meetings, of which a task has one or more


def loose_groups(
    members: IntArray, pairs: PairStats | None, answers: Answers | None, *, anchor: int | None = None
) -> list[LooseGroup]:
    """Find the loosely tied groups of a component: those that hang by one worker, and the one of the weakest cut.

    Args:
        members: the component's workers, gold's own code among them if it belongs there.
        pairs: of the component, over its own codes (places among the members); without, no cut is looked for.
        answers: of the component, over its own codes too, as `within` gives them. Without, as where only counts are at
            hand, the one group of the weakest cut is looked for, and its ties are counted as meetings: it is named less
            often, and never wrongly.
        anchor: the place of gold among the members: the groups are those without it, else the smaller side.

    >>> import quorate
    >>> from quorate.graph.pairs import pair_stats
    >>> two = [(t, w) for t in range(9) for w in "abc"] + [(t, w) for t in range(9, 18) for w in "xyz"] + [(0, "x")]
    >>> tasks, workers = zip(*two)
    >>> answers = quorate.read({"task": tasks, "worker": workers, "label": ["lr"[t % 2] for t in tasks]})
    >>> (group,) = loose_groups(np.arange(6), pair_stats(answers), answers)
    >>> group.workers.tolist(), group.ties, group.own, group.by
    ([3, 4, 5], 1, 10, 3)
    """
    found: list[LooseGroup] = []
    if answers is not None:
        for joint in articulation_points(answers, FEW_TIES):
            inside = _without(anchor, joint.members, len(members))
            found.append(LooseGroup(inside, joint.shared, tying_tasks(answers, inside)[1], joint.by))
    cut = weakest_cut(pairs, len(members), two_sided=False, anchor=anchor) if pairs is not None else None
    # A joint may stand on either side of one and the same division.
    if cut is not None and all(_apart(cut.workers, each.workers) > 1 for each in found):
        found += _of_cut(cut, answers)
    found.sort(key=lambda group: (-len(group.workers), group.workers.tolist()))
    return [
        replace(group, workers=members[group.workers], by=int(members[group.by]) if group.by >= 0 else -1)
        for group in found
    ]


def _of_cut(cut: Cut, answers: Answers | None) -> list[LooseGroup]:
    inside = np.flatnonzero(cut.workers)
    if answers is None:
        return [LooseGroup(inside, cut.holding, cut.own, exact=False)] if held_by_few(cut) else []
    ties, own = tying_tasks(answers, inside)
    is_group = ties <= MOST_SHARED * own or cut.holding <= MOST_MET * cut.own
    return [LooseGroup(inside, ties, own)] if is_group and ties < FEW_TIES else []


def _without(anchor: int | None, group: IntArray, n: int) -> IntArray:
    """Take the other side of a division if gold is on this one."""
    return np.setdiff1d(np.arange(n), group) if anchor is not None and anchor in group else group


def within(crowd: Answers, positions: IntArray, members: IntArray) -> Answers:
    """Keep the answers of one component, its workers called by their places among the members, and its tasks alone.

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
    """Whether so few meetings hold a group that, counted as they are, they settle nothing.

    >>> held_by_few(Cut(np.ones(4, dtype=bool), np.array([True, True, False, False]), 1, 241, 0.01))
    True
    """
    return cut.holding < FEW_TIES and cut.holding <= MOST_MET * cut.own


def tying_tasks(answers: Answers, workers: IntArray) -> tuple[int, int]:
    """Count the tasks that both these workers and others answered, and all that these answered.

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
