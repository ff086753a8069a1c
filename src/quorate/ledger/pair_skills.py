"""Pair counts -> skills: the paper's estimate, from the counts alone."""

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray, Table, from_numpy, from_strings, table_of, take
from quorate.meetings.graph import identify_pairs
from quorate.meetings.pairs import PairStats, correlations
from quorate.skills import Moments, from_pairs
from quorate.skills.evidence import IDENTIFIED, STATUSES, WEAKLY_IDENTIFIED, Evidence
from quorate.skills.solve import Estimate, solve
from quorate.skills.weak_identification import PairGraph, weak_identification


def pair_skills(pairs: PairStats, names: pa.Array, per_worker: IntArray, n_classes: int) -> Table:
    """Estimate skills by rank-one completion of the agreements [Ma20], in time of the number of pairs.

    Args:
        pairs: how often each two workers shared a task and agreed.
        names: of the workers, by their codes.
        per_worker: the answers of each worker.
        n_classes: how many classes there are.

    >>> import quorate
    >>> from quorate.meetings.pairs import pair_stats
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
