"""Of a large crowd, whom to draw: those the reader asked about, some of every component, and the most active."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, take
from quorate.meetings.pairs import PairStats, pair_stats


def choose_workers(answers: Answers, component: IntArray, most: int, first: Sequence[int] = ()) -> IntArray:
    """Choose at most so many workers: those named first, then in turn the most active of each component.

    Small components are there to be seen, so each gives one worker before any gives its second; no component but the
    largest gives more than a dozen.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 30, 3).answers
    >>> choose_workers(answers, np.zeros(30, int), 3, first=[7]).tolist()[0]
    7
    """
    active = np.lexsort([np.arange(answers.n_workers), -answers.per_worker])
    round_of = np.zeros(answers.n_workers, np.int64)
    by_component = active[np.argsort(component[active], kind="stable")]
    starts = np.searchsorted(component[by_component], component[by_component])
    round_of[by_component] = np.arange(answers.n_workers) - starts
    late = (component > 0) & (round_of >= 12)
    # A quarter of the places is enough for the first of each small component.
    crowded = (component > most // 4) & (round_of >= 0)
    order = np.lexsort([active.argsort(), round_of, crowded, late])
    named = np.array(list(dict.fromkeys(first)), np.int64)
    return np.concatenate([named, order[~np.isin(order, named)]])[:most].astype(np.int64)


def pairs_among(answers: Answers, chosen: IntArray) -> PairStats:
    """Count the pairs of chosen workers, by their places among them; the others' answers are not looked at.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2, 2], "worker": list("abcac"), "label": list("xxyxx")})
    >>> met = pairs_among(answers, np.array([2, 0]))
    >>> met.i.tolist(), met.j.tolist(), met.shared.tolist(), met.agreed.tolist()
    ([0], [1], [2], [1])
    """
    place = np.full(answers.n_workers, -1)
    place[chosen] = np.arange(len(chosen))
    inside = answers.where(place[answers.worker] >= 0)
    names = take(answers.worker_names, chosen)
    return pair_stats(replace(inside, worker=place[inside.worker], worker_names=names))


def strongest(pairs: PairStats, n: int, most: int) -> IntArray:
    """Choose at most so many pairs: first those that hold each component together, then those who share most.

    Args:
        pairs: over n workers.
        n: workers.
        most: pairs to choose.

    >>> pairs = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [5, 4, 3], [5, 0, 3]]))
    >>> strongest(pairs, 3, 2).tolist()
    [0, 1]
    """
    if len(pairs) <= most:
        return np.arange(len(pairs))
    from scipy import sparse
    from scipy.sparse import csgraph

    cost: FloatArray = 1.0 / pairs.shared
    ends = (pairs.i.astype(np.int32), pairs.j.astype(np.int32))  # before scipy 1.17.1 a tree is found for 32 bits only
    tree = csgraph.minimum_spanning_tree(sparse.coo_array((cost, ends), shape=(n, n)).tocsr()).tocoo()
    row, col = tree.row.astype(np.int64), tree.col.astype(np.int64)
    holds = np.isin(pairs.i * n + pairs.j, np.minimum(row, col) * n + np.maximum(row, col))
    order = np.lexsort([np.arange(len(pairs)), -pairs.shared, ~holds])
    return np.sort(order[:most])
