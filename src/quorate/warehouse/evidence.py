"""Pairs counted in an engine -> the evidence that the same solver takes as in memory."""

from functools import partial

import numpy as np

from quorate.arrays import BoolArray
from quorate.meetings.graph import Identifiability, identify_pairs
from quorate.meetings.pairs import PairStats
from quorate.skills.evidence import Evidence, choose
from quorate.warehouse.crowd import Crowd
from quorate.warehouse.moments import deciding_pairs, moments_of
from quorate.warehouse.pairs import Counted


def evidence_of(
    crowd: Crowd, counted: Counted, n_gold: int, *, weighting: str = "shared", threshold: float | None = None
) -> Evidence:
    """Put together what `quorate.methods.rank_one.solve` takes; gold, if there is any, is the last worker.

    >>> import pyarrow as pa
    >>> crowd = Crowd(pa.array(list("abc")), pa.array(["x", "y"]), np.array([9, 9, 9]), 9, 27)
    >>> pairs = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [9, 9, 9], [8, 8, 8]]))
    >>> evidence_of(crowd, Counted(3, (pairs,), None), 0).verdict.identifiable.tolist()
    [True]
    """
    n = counted.n_workers
    is_gold = np.arange(n) >= crowd.n_workers
    all_pairs = partial(getattr, counted, "table")
    chosen = choose(all_pairs, n, crowd.n_classes, weighting=weighting, threshold=threshold)
    per_worker = np.concatenate([crowd.per_worker, np.full(n - crowd.n_workers, n_gold, np.int64)])
    return Evidence(
        per_worker,
        crowd.n_classes,
        is_gold,
        chosen,
        weighting,
        identify_pairs(chosen, n, is_gold) if chosen is not None else identify_counted(counted, is_gold),
        counted.n_meetings,
        all_pairs,
        partial(moments_of, counted, crowd.n_classes),
    )


def identify_counted(counted: Counted, known: BoolArray | None = None) -> Identifiability:
    """Judge the graph of counted pairs, by the few of them that decide it.

    >>> pairs = PairStats(*np.array([[0], [1], [5], [4]]))
    >>> identify_counted(Counted(3, (pairs,), None)).bipartite.tolist()
    [True, True]
    """
    return identify_pairs(PairStats.linked(*deciding_pairs(counted)), counted.n_workers, known)
