"""How often each two workers shared a task and agreed on it, kept up to date answer by answer."""

from collections.abc import Mapping

import numpy as np

from quorate.arrays import IntArray
from quorate.ledger.entries import DROPPED
from quorate.meetings.pairs import PairStats

BITS = 32  # of a number: a pair's key is two codes in one, and its count is `shared` and `agreed` in one


class PairTally:
    """Pair counts that answers are counted into and out of, each at the cost of one step for each peer.

    >>> tally = PairTally(PairStats.none(), np.zeros(0, np.int64))
    >>> tally.count({0: 7, 1: 7, 2: 8}, worker=1, label=7, by=1)  # meets 0, who said the same, and 2
    >>> pairs = tally.stats(np.arange(3))
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.agreed.tolist()
    ([0, 1], [1, 2], [1, 0])
    """

    def __init__(self, pairs: PairStats, code: IntArray) -> None:
        """Start from counts; ``code[k]`` is the code here of the worker that they call k."""
        i, j = code[pairs.i], code[pairs.j]
        keys, counts = _packed(np.minimum(i, j), np.maximum(i, j)), _packed(pairs.shared, pairs.agreed)
        self.counts = dict(zip(keys.tolist(), counts.tolist(), strict=True))

    def count(self, said: Mapping[int, int], worker: int, label: int, by: int) -> None:
        """Count a worker's answer in (``by`` = 1) or out (-1), given what its task's workers said."""
        counts, unlike, alike = self.counts, by << BITS, (by << BITS) + by
        for peer, reply in said.items():
            if peer == worker or reply == DROPPED:
                continue
            key = worker << BITS | peer if worker < peer else peer << BITS | worker
            total = counts.get(key, 0) + (alike if reply == label else unlike)
            if total:
                counts[key] = total
            else:  # unobserved is absent
                del counts[key]

    def stats(self, rank: IntArray) -> PairStats:
        """Return the counts, with ``rank[code]`` for each worker's code, sorted by i, then j."""
        n = len(self.counts)
        rank = rank.astype(np.int64)
        one, two = (rank[codes] for codes in _unpacked(np.fromiter(self.counts, np.int64, n)))
        i, j = np.minimum(one, two), np.maximum(one, two)
        order = np.lexsort([j, i])
        return PairStats(i[order], j[order], *_unpacked(np.fromiter(self.counts.values(), np.int64, n)[order]))


def _packed(high: IntArray, low: IntArray) -> IntArray:
    """Put two numbers into one, so that a dictionary is asked and told once."""
    both: IntArray = high.astype(np.int64) << BITS | low
    return both


def _unpacked(both: IntArray) -> tuple[IntArray, IntArray]:
    return both >> BITS, both & ((1 << BITS) - 1)
