"""What known labels say of a crowd at large: which classes it mixes up, and which of its opinions to follow."""

from itertools import combinations

import numpy as np
import pyarrow as pa

from quorate.arrays import FloatArray, IntArray, canonical_order, take
from quorate.voting.posterior import FLOOR

TURN = 3.0  # nats that exchanging two classes must gain, beyond the logarithm of how many exchanges were tried
MOST_LABEL = 2.5  # nats that one known label may add to that: alone, it turns nothing round, for it may be wrong itself
SWAPS_UP_TO = 40  # classes; beyond, no pair of them has labels enough to be found swapped
MOST_VOTE = 3.0  # nats that a correction may add to one vote
PRIOR_TASKS = 4.0  # that the weights of the opinions are worth before known labels speak
EM_STEPS = 50  # for the weights of three opinions


def folds_of(known: IntArray, n_folds: int, names: pa.Array | None = None) -> IntArray:
    """Deal the known tasks into folds in turn, whatever their labels are; -1 for the others.

    Args:
        known: the known class of each task, -1 where unknown.
        n_folds: how many, at the most.
        names: ids of the tasks, whose order they are dealt in, so that the order of the rows changes nothing; without,
            as they come.

    >>> folds_of(np.array([-1, 0, 1, 0, 1]), 2).tolist()
    [-1, 0, 1, 0, 1]
    >>> folds_of(np.array([-1, 0, 1, 0]), 3, pa.array(["d", "c", "b", "a"])).tolist()
    [-1, 2, 1, 0]
    """
    fold = np.full(len(known), -1)
    rows = np.flatnonzero(known >= 0)
    if names is not None:
        rows = rows[canonical_order(take(names, rows))]
    fold[rows] = np.arange(len(rows)) % max(min(n_folds, len(rows)), 1)
    return fold


def exchanges(belief: FloatArray, label: IntArray) -> tuple[tuple[int, int], ...]:
    """Choose the classes to exchange, two at a time, while the known labels say so clearly.

    Args:
        belief: the posterior of the known tasks.
        label: their known classes.

    >>> exchanges(np.tile([[0.9, 0.1]], (5, 1)), np.ones(5, dtype=int))
    ((0, 1),)
    >>> exchanges(np.tile([[0.9, 0.1]], (5, 1)), np.array([1, 0, 0, 0, 1]))
    ()
    >>> exchanges(np.array([[0.98, 0.01, 0.01]]), np.array([1]))  # one label turns nothing round
    ()
    """
    m = belief.shape[1]
    if m > SWAPS_UP_TO or m < 2:
        return ()
    logs, rows = np.log(np.maximum(belief, FLOOR)), np.arange(len(label))
    pairs = list(combinations(range(m), 2))
    order: IntArray = np.arange(m)
    turned: list[tuple[int, int]] = []
    for _ in range(m - 1):
        now = logs[rows, order[label]]
        gains = [np.minimum(logs[rows, swapped(order, pair)[label]] - now, MOST_LABEL).sum() for pair in pairs]
        best = int(np.argmax(gains))
        if gains[best] < TURN + np.log(len(pairs)):
            break
        order = swapped(order, pairs[best])
        turned.append(pairs[best])
    return tuple(turned)


def swapped(order: IntArray, *pairs: tuple[int, int]) -> IntArray:
    """Exchange entries of an order of the classes, one pair after the other.

    >>> swapped(np.arange(3), (0, 1), (1, 2)).tolist()
    [1, 2, 0]
    """
    new = order.copy()
    for i, j in pairs:
        new[[i, j]] = new[[j, i]]
    return new


def correction(
    counts: FloatArray, belief: FloatArray, label: IntArray, pooled: FloatArray, prior: FloatArray, pseudo: float
) -> tuple[FloatArray, FloatArray]:
    """Return what to add to every vote's score, answers × classes, and to every class.

    Compares the answers on known tasks by true class with the same answers by believed class.

    Args:
        counts: how many workers gave each known task each class, or what those answers are worth.
        belief: the posterior of the known tasks.
        label: their known classes.
        pooled: the crowd's matrix, columns summing to one.
        prior: of the classes.
        pseudo: answers a column that the matrix is worth, and tasks that the prior is.

    >>> right = correction(np.array([[3.0, 0.0]]), np.array([[1.0, 0.0]]), np.array([0]), np.eye(2), np.ones(2) / 2, 10)
    >>> bool(np.abs(right[0]).max() < 1e-9)
    True
    """
    true = np.zeros_like(belief)
    true[np.arange(len(label)), label] = 1.0
    by_true, by_belief = (_columns(counts.T @ side + pseudo * pooled) for side in (true, belief))
    of_true, of_belief = (side.sum(axis=0) + pseudo * prior for side in (true, belief))
    vote = np.log(np.maximum(by_true, FLOOR)) - np.log(np.maximum(by_belief, FLOOR))
    shift = np.log(of_true / of_true.sum()) - np.log(of_belief / of_belief.sum())
    return np.clip(vote, -MOST_VOTE, MOST_VOTE), shift


def mixture_weights(p_true: FloatArray, prior: FloatArray) -> FloatArray:
    """Weigh opinions by EM on the probability that each gave to each known label.

    Args:
        p_true: tasks × opinions.
        prior: the weights before known labels speak.

    >>> mixture_weights(np.tile([0.9, 0.1], (100, 1)), np.array([0.5, 0.5])).round(2).tolist()
    [0.98, 0.02]
    """
    start: FloatArray = prior / prior.sum()
    weights = start
    for _ in range(EM_STEPS):
        share = p_true * weights
        share = share / np.maximum(share.sum(axis=1, keepdims=True), FLOOR)
        weights = (share.sum(axis=0) + PRIOR_TASKS * start) / (len(p_true) + PRIOR_TASKS)
    return weights


def _columns(counts: FloatArray) -> FloatArray:
    total = counts.sum(axis=0)
    shares: FloatArray = counts / np.where(total > 0, total, 1.0)
    return shares
