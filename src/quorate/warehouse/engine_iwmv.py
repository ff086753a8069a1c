"""IWMV inside the engine: a fixed number of votes at the most, each two queries over the answers [Li14]."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from quorate.arrays import FloatArray, to_numpy
from quorate.progress import report
from quorate.warehouse.clean import Cleaned
from quorate.warehouse.engine import Engine
from quorate.warehouse.engine_gold import EngineGold
from quorate.warehouse.engine_vote import Weighing, decide
from quorate.warehouse.expressions import EngineTable

VOTES = 20  # at the most; the public sets settle after 2 to 17


@dataclass(frozen=True)
class Reweighted:
    """What the last vote used, and each worker's agreement with it."""

    vote: Weighing
    agreement: FloatArray
    settled: bool


def vote_again(engine: Engine, found: Cleaned, gold: EngineGold | None, *, max_iterations: int = VOTES) -> Reweighted:
    """Vote, weigh each worker by M·w - 1, w its share of agreement with the labels, and vote again.

    In memory it stops when the labels stand still; here when the weights do, which come from the labels: the labels
    are the same, and no vote has to be kept to be compared with the next.

    >>> from quorate.warehouse.clean import clean
    >>> from quorate.warehouse.source import open_source
    >>> rows = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxy")}
    >>> engine, source = open_source(rows)
    >>> vote_again(engine, clean(engine, source), None).settled
    True
    """
    m, n = found.roster.n_classes, found.roster.per_worker
    weights = np.ones(len(n))
    if m < 2:
        return Reweighted(Weighing(weights, log_odds=False), weights, True)
    agreement = weights
    for k in range(max_iterations):
        report("votes", k, max_iterations)
        ballot = decide(engine, found, Weighing(weights, log_odds=False), gold).select("task", label="c")
        alike = _alike(engine, found.answers, ballot, len(n))
        new = np.where(n > 0, alike / np.maximum(n, 1), 1 / m)
        settled = k > 0 and bool(np.array_equal(new, agreement))
        agreement = new
        if settled or k == max_iterations - 1:
            return Reweighted(Weighing(weights, log_odds=False), agreement, settled)
        weights = m * agreement - 1
    return Reweighted(Weighing(weights, log_odds=False), agreement, False)


def _alike(engine: Engine, answers: EngineTable, ballot: EngineTable, n: int) -> FloatArray:
    """Count each worker's answers that agree with the labels."""
    joined = answers.join(ballot, "task")
    rows = engine.fetch(
        joined.group_by("w").agg(alike=(joined.c == joined.label).cast("int64").sum()), "scoring the workers"
    )
    counts = np.zeros(n)
    counts[to_numpy(rows["w"].combine_chunks().cast(pa.int64()))] = to_numpy(
        rows["alike"].combine_chunks().cast(pa.int64())
    )
    return counts
