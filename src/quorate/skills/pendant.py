"""Pendant trees of the interaction graph, and the test of a skill by pairs with them.

The skill of a worker with a single peer is estimated from this pair alone, as C / x of the peer, with any noise in C.
So it always confirms the skill of its peer. In stars of 30 workers with a guesser as centre and 1,000 tasks per pair,
the sum over the pairs of C_ij x_j exceeded 2.576 standard errors in 98 % of crowds, all workers were called identified,
and 16 % of their intervals did not contain the skill. If the skill of the centre is zero, each of these pairs has a
correlation of zero, so (M-1) N_ij C_ij² of each pair is chi-squared with one degree of freedom; the pairs with all
other peers together have one degree of freedom. The same holds for trees that only one worker joins to the rest of the
graph: workers with one peer are removed until none is left.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.graph.pairs import PairStats, correlations, pairs_of_two

# Maximum number of answers of workers who may be pendant (2 s and 500 MB); with more, pendant trees are not searched.
MAX_PENDANT_ANSWERS = 10_000_000


@dataclass(frozen=True)
class PendantTrees:
    """Workers on pendant trees, and the pairs that join them to others; one entry per worker."""

    is_pendant: BoolArray
    square: FloatArray  # sum of (M-1) N_ij C_ij² over pairs with pendant peers; of a pendant worker, over all its pairs
    n_pairs: IntArray  # number of those pairs


def pendant_trees(blocks: Blocks, is_anchor: BoolArray) -> PendantTrees | None:
    """Return the pendant trees of answers in blocks; None if there are none, or too many answers to search.

    Two other workers of a task would form a triangle with a pendant worker, so pendant workers have only tasks with one
    or two answers.

    Args:
        blocks: of complete tasks.
        is_anchor: workers of known skill (gold, or known from earlier runs), who are never pendant.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> rows = {"task": [1, 1, 2, 2, 3, 3, 4, 4], "worker": list("abacbcad"), "label": list("xxyyxxxy")}
    >>> trees = pendant_trees(blocks_of(quorate.read(rows)), np.zeros(4, dtype=bool))
    >>> trees.is_pendant.tolist(), trees.square.tolist(), trees.n_pairs.tolist()
    ([False, False, False, True], [1.0, 0.0, 0.0, 1.0], [1, 0, 0, 1])
    """
    if blocks.n_classes < 2:
        return None
    n_paired, n_alone = blocks.sum(_answers_to_small_tasks, blocks.n_workers)
    is_candidate = (n_paired > 0) & (n_paired + n_alone == blocks.per_worker) & ~is_anchor
    if not is_candidate.any() or n_paired[is_candidate].sum() > MAX_PENDANT_ANSWERS:
        return None
    pairs = PairStats.none()
    for part in blocks.map(pairs_of_two, is_candidate):
        pairs = pairs + part if len(pairs) else part
    return trees_of_pairs(pairs, blocks.n_workers, blocks.n_classes, is_candidate)


def trees_of_pairs(pairs: PairStats, n_workers: int, n_classes: int, is_candidate: BoolArray) -> PendantTrees | None:
    """Return the pendant trees of a table of pairs; None if there are none.

    Args:
        pairs: all pairs of the candidates.
        n_workers: W.
        n_classes: M.
        is_candidate: workers who may be removed.

    >>> pairs = PairStats(*np.array([[0, 0, 0, 1, 3], [1, 2, 3, 2, 4], [4] * 5, [4, 4, 4, 4, 1]]))
    >>> trees = trees_of_pairs(pairs, 5, 2, np.ones(5, dtype=bool))
    >>> trees.is_pendant.tolist(), trees.square.tolist()
    ([False, False, False, True, True], [4.0, 0.0, 0.0, 5.0, 1.0])
    """
    joins = _joining_pairs(pairs, n_workers, is_candidate)
    if len(joins) == 0:
        return None
    numbers, child, parent = joins.T
    is_pendant = np.zeros(n_workers, dtype=bool)
    is_pendant[child] = True
    square = (n_classes - 1) * pairs.shared[numbers] * correlations(pairs, n_classes)[numbers] ** 2
    ends = np.concatenate([child, parent])
    return PendantTrees(
        is_pendant,
        np.bincount(ends, np.tile(square, 2), n_workers).astype(np.float64, copy=False),
        np.bincount(ends, minlength=n_workers),
    )


def _answers_to_small_tasks(blocks: Iterable[Block], n_workers: int) -> Sums:
    """Count the answers of each worker to tasks with two answers, and to tasks with one."""
    n_paired = np.zeros(n_workers)
    n_alone = np.zeros(n_workers)
    for block in blocks:
        size = block.per_task
        first = block.start[:-1]
        pair = first[size == 2]
        n_paired += np.bincount(block.worker[pair], minlength=n_workers)
        n_paired += np.bincount(block.worker[pair + 1], minlength=n_workers)
        n_alone += np.bincount(block.worker[first[size == 1]], minlength=n_workers)
    return n_paired, n_alone


def _joining_pairs(pairs: PairStats, n_workers: int, is_candidate: BoolArray) -> IntArray:
    """Remove workers with one peer until none is left; return rows (pair, removed worker, its peer)."""
    numbers = np.arange(len(pairs))
    degree = pairs.n_peers(n_workers)
    # Exclusive or of the numbers of a worker's remaining pairs: if one pair remains, its number.
    remaining_pair = np.zeros(n_workers, dtype=np.int64)
    np.bitwise_xor.at(remaining_pair, pairs.i, numbers)
    np.bitwise_xor.at(remaining_pair, pairs.j, numbers)
    rounds = [np.zeros((0, 3), dtype=np.int64)]
    leaves = np.flatnonzero(is_candidate & (degree == 1))
    while len(leaves):
        # Of two leaves that have only each other, one is removed.
        pair, first = np.unique(remaining_pair[leaves], return_index=True)
        leaves = leaves[first]
        peer = pairs.i[pair] + pairs.j[pair] - leaves
        rounds.append(np.stack([pair, leaves, peer], axis=1))
        degree[leaves] = 0
        np.subtract.at(degree, peer, 1)
        np.bitwise_xor.at(remaining_pair, peer, pair)
        peers = np.unique(peer)
        leaves = peers[is_candidate[peers] & (degree[peers] == 1)]
    return np.concatenate(rounds)
