"""Where a crowd hangs together by one worker only: the blocks of the graph of workers and tasks.

A worker whose leaving would divide the crowd is a joint: the relative sign and scale of the two sides rest on that
worker's answers alone. All joints are found, and exactly, in linear time.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray, starts_of

MOST_GROUPS = 100  # the largest are told: nobody reads more, and settling each takes dozens of answers
LEAST_CROWD = 5  # workers: a joint, and two on either side


@dataclass(frozen=True)
class Joint:
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


def joints(answers: Answers, most: int) -> list[Joint]:
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
    >>> [(answers.worker_names.take(each.members.tolist()).to_pylist(), each.shared) for each in joints(answers, 50)]
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
    child, v = child[hangs], v[hangs]
    key = v.astype(np.int64) * (n + answers.n_tasks) + block[child]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    pieces = _thin_pieces(answers, most, v[first], np.bincount(group, below[child]), np.bincount(group))
    everyone = np.flatnonzero(answers.per_worker)
    found: dict[tuple[int, ...], Joint] = {}  # a joint at the root is found from either side
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


def _smaller_side(piece: IntArray, rest: IntArray, joint: int, inside: int, outside: int) -> Joint:
    """Make the group of the smaller side; the joint goes with the side that it is tied to by more tasks."""
    group, own, other = (piece, inside, outside) if len(piece) <= len(rest) else (rest, outside, inside)
    if own >= other:
        return Joint(np.sort(np.append(group, joint)), other, joint)
    return Joint(np.sort(group), own, joint)


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
    levels, at = [order[:1]], 1
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
    worker, task = answers.worker.astype(np.int64), answers.n_workers + answers.task.astype(np.int64)
    inside = tree.preorder[worker] < nodes
    outside_tree = inside & (tree.parent[worker] != task) & (tree.parent[task] != worker)
    u, w = worker[outside_tree], task[outside_tree]
    pre, size = tree.preorder, tree.size
    low, high = pre.copy(), pre.copy()
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
    i, j = np.concatenate([u[apart], node[leaves]]), np.concatenate([w[apart], over[leaves]])
    graph = sparse.coo_array((np.ones(len(i), dtype=bool), (i, j)), shape=(nodes, nodes)).tocsr()
    block: IntArray = csgraph.connected_components(graph, directed=False)[1]
    return block.astype(np.int64)


def _above(a: IntArray, b: IntArray, pre: IntArray, size: IntArray) -> BoolArray:
    """Whether node a is on the way from node b to the root."""
    above: BoolArray = (pre[a] <= pre[b]) & (pre[b] < pre[a] + size[a])
    return above
