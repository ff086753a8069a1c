"""What intervals need to know of skills that were estimated from pairs: three sums by pairs, one by the engine.

`uncertainty.rank_one_score` has the formulae. The sums over a worker's tasks of q_2, q_3 and q_4 (the sums of x_j^r
over its peers) are N x^r, which the pairs know. Only the sum of q_2² is not: it takes one query with the squares of the
skills joined in.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from quorate.arrays import FloatArray, IntArray, table_of, to_numpy
from quorate.errors import NotInMemoryError
from quorate.skills.moments import Moments
from quorate.uncertainty import WorkerScore
from quorate.warehouse.clean import Cleaned
from quorate.warehouse.engine import Engine
from quorate.warehouse.engine_gold import EngineGold
from quorate.warehouse.expressions import Column


@dataclass(frozen=True)
class PairInference:
    """Rank-one skills, gold's included, and the sums behind them."""

    skills: FloatArray  # NaN where not determined
    moments: Moments  # with the weights N_ij
    per_worker: IntArray
    # skills -> for each worker, the sum over its tasks of (the sum of x_j² over all who answered)²: asks the engine
    square_sums: Callable[[FloatArray], FloatArray] = field(repr=False)
    n_classes: int
    n_answers: int

    def at(self, skills: FloatArray) -> "PairInference":
        """Return the same for other skills."""
        return replace(self, skills=skills)

    @cached_property
    def _squares(self) -> FloatArray:
        return self.square_sums(self.skills)

    def score(self) -> WorkerScore:
        """Return each worker's raw estimate and the variance it has."""
        x, n, m = np.nan_to_num(self.skills), self.per_worker.astype(np.float64), self.n_classes
        q2, q3, q4 = (self.moments.shared @ x**power for power in (2, 3, 4))
        # (Q - x_i²)² summed over i's tasks, Q the sum with its own part, which is q_2 + n x_i² in total
        q2_squared = self._squares - 2 * x**2 * (q2 + n * x**2) + n * x**4
        pairs = q2_squared - q4
        scale = np.where(q2 > 0, q2, np.nan)
        return WorkerScore(
            (self.moments.signed @ x) / scale,
            (q2 + pairs) / ((m - 1) * scale**2),
            (m - 2) / (m - 1) * (q3 + pairs) / scale**2,
            q2_squared / scale**2,
        )

    def inflation(self, *, draws: int, seed: int) -> FloatArray:
        """Refuse: the draws need every answer again and again.

        Raises:
            NotInMemoryError: always.
        """
        raise no_full_intervals()

    def scored(self) -> "ScoredSkills":
        """Ask the engine now, and return what needs it no more."""
        return ScoredSkills(self.skills, self.n_classes, self.n_answers, self.score())


@dataclass(frozen=True)
class ScoredSkills:
    """Rank-one skills and their score, gold's included: all that a fast interval needs, and nothing of the engine."""

    skills: FloatArray  # NaN where not determined
    n_classes: int
    n_answers: int
    found: WorkerScore

    def score(self) -> WorkerScore:
        """Return each worker's raw estimate and the variance it has."""
        return self.found

    def inflation(self, *, draws: int, seed: int) -> FloatArray:
        """Refuse: the draws need every answer again and again.

        Raises:
            NotInMemoryError: always.
        """
        raise no_full_intervals()


def no_full_intervals() -> NotInMemoryError:
    """Say why there are no full intervals in an engine, and what to do.

    >>> print(no_full_intervals())
    full intervals need many passes over the answers; in an engine choose intervals='fast'
    """
    return NotInMemoryError("full intervals need many passes over the answers; in an engine choose intervals='fast'")


def square_sums(engine: Engine, found: Cleaned, skills: FloatArray, gold: EngineGold | None = None) -> FloatArray:
    """For each worker (gold is the last), sum over its tasks the square of the sum of x_j² over all who answered.

    One query over the answers, which reads them twice.

    >>> from quorate.warehouse.clean import clean
    >>> from quorate.warehouse.source import open_source
    >>> engine, source = open_source({"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")})
    >>> square_sums(engine, clean(engine, source), np.array([1.0, 2.0])).tolist()
    [26.0, 25.0]
    """
    x = np.nan_to_num(skills)
    answers = found.answers.select("task", "w")
    if gold is not None:
        answers = answers.union(gold.table.select("task", w=_constant(len(x) - 1)))
    squares = engine.upload(table_of({"w": np.arange(len(x), dtype=np.int32), "square": x * x}))
    joined = answers.join(squares, "w")
    tasks = joined.group_by("task").agg(q=joined.square.sum())
    each = answers.join(tasks.mutate(q=tasks.q * tasks.q), "task")
    rows = engine.fetch(each.group_by("w").agg(q=each.q.sum()), "weighing the peers")
    sums = np.zeros(len(x))
    sums[to_numpy(rows["w"].combine_chunks().cast(pa.int64()))] = to_numpy(rows["q"].combine_chunks())
    return sums


def _constant(code: int) -> Column:
    import ibis

    constant: Column = ibis.literal(code, "int32")
    return constant
