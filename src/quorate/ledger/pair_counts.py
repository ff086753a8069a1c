"""How often each two workers shared a task and agreed on it, kept up to date answer by answer.

Pair counts -> skills: the paper's estimate, from the counts alone.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray, Table, from_numpy, from_strings, table_of, take
from quorate.graph.components import identify_pairs
from quorate.graph.pairs import PairStats, correlations
from quorate.ledger.entries import DROPPED
from quorate.skills import Moments, from_pairs
from quorate.skills.estimate_skills import Estimate, solve
from quorate.skills.identification import IDENTIFIED, STATUSES, WEAKLY_IDENTIFIED, Evidence
from quorate.skills.weak_identification import PairGraph, weak_identification

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


def pair_skills(pairs: PairStats, names: pa.Array, per_worker: IntArray, n_classes: int) -> Table:
    """Estimate skills by rank-one completion of the agreements [Ma20], in time of the number of pairs.

    Args:
        pairs: how often each two workers shared a task and agreed.
        names: of the workers, by their codes.
        per_worker: the answers of each worker.
        n_classes: how many classes there are.

    >>> import quorate
    >>> from quorate.graph.pairs import pair_stats
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> a = crowd.answers
    >>> found = pair_skills(pair_stats(a), a.worker_names, a.per_worker, a.n_classes)
    >>> bool(np.abs(np.array(found["skill"].to_pylist()) - crowd.skills).mean() < 0.1)
    True
    """
    n = len(names)
    nobody = np.zeros(n, dtype=bool)  # is gold

    def moments() -> Moments:
        return from_pairs(n, pairs.i, pairs.j, pairs.shared.astype(np.float64), correlations(pairs, n_classes))

    verdict = identify_pairs(pairs, n, nobody)
    evidence = Evidence(
        per_worker, n_classes, nobody, None, "shared", verdict, int(pairs.shared.sum()), lambda: pairs, moments
    )
    found = solve(evidence)
    status = _with_weak(found, pairs, n_classes)
    columns = {
        "worker": names,
        "skill": from_numpy(found.skills, mask=np.isnan(found.skills)),
        "n_answers": per_worker,
        "n_peers": pairs.n_peers(n),
        "status": take(from_strings(STATUSES), status),
    }
    return Table(table_of(columns))


def _with_weak(found: Estimate, pairs: PairStats, n_classes: int) -> IntArray:
    """Mark the weakly identified workers, each pair's shared tasks taken to be independent of the others'."""
    n = len(found.skills)
    if n_classes < 2:
        return found.status
    x = np.nan_to_num(found.skills)
    weights = pairs.shared.astype(np.float64)
    signed = weights * correlations(pairs, n_classes)
    agreed = pairs.by_worker(n, signed * x[pairs.j], signed * x[pairs.i])
    information = pairs.by_worker(n, weights * x[pairs.j] ** 2, weights * x[pairs.i] ** 2)
    scale = np.where(information > 0, information, np.nan)
    lowest = -1 / (n_classes - 1)
    nobody = np.zeros(n, dtype=bool)
    weak = weak_identification(
        PairGraph(pairs, n), found.skills, agreed / scale, np.sqrt(-lowest / scale), lowest=lowest, is_anchor=nobody
    )
    return np.where((found.status == IDENTIFIED) & weak.is_weak, WEAKLY_IDENTIFIED, found.status)
