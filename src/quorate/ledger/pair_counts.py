"""Pair counts that are kept up to date answer by answer, and skills from pair counts alone."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray, Table, from_numpy, from_strings, table_of, take
from quorate.graph.components import identify_pairs
from quorate.graph.pairs import PairStats, correlations
from quorate.ledger.entries import DROPPED
from quorate.skills.estimate_skills import Estimate, solve
from quorate.skills.identification import IDENTIFIED, STATUSES, WEAKLY_IDENTIFIED, Identification
from quorate.skills.moments import Moments, from_pairs
from quorate.skills.pendant import trees_of_pairs
from quorate.skills.weak_identification import PairGraph, weak_identification

BITS = 32  # bits per number: two codes, or the counts `shared` and `agreed`, are packed into one integer


class PairTally:
    """Pair counts of a changing set of answers; the time of `count` is proportional to the answers to the task.

    >>> tally = PairTally(PairStats.none(), np.zeros(0, np.int64))
    >>> tally.count({0: 7, 1: 7, 2: 8}, worker=1, label=7, by=1)  # agrees with 0, not with 2
    >>> pairs = tally.stats(np.arange(3))
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.agreed.tolist()
    ([0, 1], [1, 2], [1, 0])
    """

    def __init__(self, pairs: PairStats, code: IntArray) -> None:
        """Start from counts; ``code[k]`` is this object's code of worker k of `pairs`."""
        i = code[pairs.i]
        j = code[pairs.j]
        keys = _pack(np.minimum(i, j), np.maximum(i, j))
        counts = _pack(pairs.shared, pairs.agreed)
        self.counts = dict(zip(keys.tolist(), counts.tolist(), strict=True))

    def count(self, label_of_worker: Mapping[int, int], worker: int, label: int, by: int) -> None:
        """Add (``by`` = 1) or subtract (-1) the pairs of a worker's answer, given the task's labels by worker."""
        counts = self.counts
        disagreement = by << BITS
        agreement = disagreement + by
        for peer, peer_label in label_of_worker.items():
            if peer == worker or peer_label == DROPPED:
                continue
            key = worker << BITS | peer if worker < peer else peer << BITS | worker
            total = counts.get(key, 0) + (agreement if peer_label == label else disagreement)
            if total:
                counts[key] = total
            else:  # pairs without a shared task are not stored
                del counts[key]

    def stats(self, rank: IntArray) -> PairStats:
        """Return the counts, with ``rank[code]`` instead of each worker's code, sorted by i, then j."""
        n = len(self.counts)
        rank = rank.astype(np.int64)
        one, two = (rank[codes] for codes in _unpack(np.fromiter(self.counts, np.int64, n)))
        i = np.minimum(one, two)
        j = np.maximum(one, two)
        order = np.lexsort([j, i])
        return PairStats(i[order], j[order], *_unpack(np.fromiter(self.counts.values(), np.int64, n)[order]))


def _pack(high: IntArray, low: IntArray) -> IntArray:
    """Pack two numbers into one, so that a dictionary has one entry for both."""
    both: IntArray = high.astype(np.int64) << BITS | low
    return both


def _unpack(both: IntArray) -> tuple[IntArray, IntArray]:
    return both >> BITS, both & ((1 << BITS) - 1)


def pair_skills(pairs: PairStats, names: pa.Array, per_worker: IntArray, n_classes: int) -> Table:
    """Return skills by rank-one completion of the correlations of pairs [Ma20], in time proportional to the pairs.

    Args:
        pairs: shared and agreed tasks of each pair of workers.
        names: ids of the workers, by their codes.
        per_worker: number of answers of each worker.
        n_classes: number of classes.

    >>> import quorate
    >>> from quorate.graph.pairs import pair_stats
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> a = crowd.answers
    >>> skills = pair_skills(pair_stats(a), a.worker_names, a.per_worker, a.n_classes)
    >>> bool(np.abs(np.array(skills["skill"].to_pylist()) - crowd.skills).mean() < 0.1)
    True
    """
    n = len(names)
    is_gold = np.zeros(n, dtype=bool)

    def moments() -> Moments:
        return from_pairs(n, pairs.i, pairs.j, pairs.shared.astype(np.float64), correlations(pairs, n_classes))

    identifiability = identify_pairs(pairs, n, is_gold)
    identification = Identification(
        per_worker, n_classes, is_gold, None, "shared", identifiability, int(pairs.shared.sum()), lambda: pairs, moments
    )
    estimate = solve(identification)
    status = _mark_weakly_identified(estimate, pairs, n_classes)
    columns = {
        "worker": names,
        "skill": from_numpy(estimate.skills, mask=np.isnan(estimate.skills)),
        "n_answers": per_worker,
        "n_peers": pairs.n_peers(n),
        "status": take(from_strings(STATUSES), status),
    }
    return Table(table_of(columns))


def _mark_weakly_identified(estimate: Estimate, pairs: PairStats, n_classes: int) -> IntArray:
    """Return the status with weakly identified workers, if the shared tasks of different pairs are independent."""
    n = len(estimate.skills)
    if n_classes < 2:
        return estimate.status
    x = np.nan_to_num(estimate.skills)
    weights = pairs.shared.astype(np.float64)
    signed = weights * correlations(pairs, n_classes)
    information = pairs.by_worker(n, weights * x[pairs.j] ** 2, weights * x[pairs.i] ** 2)
    lowest = -1 / (n_classes - 1)
    no_worker = np.zeros(n, dtype=bool)
    pendant = trees_of_pairs(pairs, n, n_classes, ~no_worker)
    is_pendant = no_worker if pendant is None else pendant.is_pendant
    is_used = ~(is_pendant[pairs.i] | is_pendant[pairs.j])
    agreed = pairs.by_worker(n, is_used * signed * x[pairs.j], is_used * signed * x[pairs.i])
    used = pairs.by_worker(n, is_used * weights * x[pairs.j] ** 2, is_used * weights * x[pairs.i] ** 2)
    weak = weak_identification(
        PairGraph(pairs, n),
        estimate.skills,
        agreed / np.sqrt(-lowest * np.where(used > 0, used, np.nan)),
        np.sqrt(-lowest / np.where(information > 0, information, np.nan)),
        lowest=lowest,
        is_anchor=no_worker,
        pendant=pendant,
    )
    return np.where((estimate.status == IDENTIFIED) & weak.is_weakly_identified, WEAKLY_IDENTIFIED, estimate.status)
