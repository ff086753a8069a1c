"""What an interval needs to know of rank-one skills: the score of each worker, by sums over tasks.

For worker i on task t let q_r be the sum of x_j^r over its peers there, and psi_ti = sum_j (a_ijt - x_i x_j) x_j, whose
sum over t is the gradient of the least squares. With D = sum_t q_2 the raw estimate is r = x_i + sum_t psi_ti / D, and
if the skill of i were u, psi_ti would have the variance

    (q_2 + q_2² - q_4)/(M-1) + u (M-2)/(M-1) (q_3 + q_2² - q_4) - u² q_2²,

since a_ijt a_ikt, given the truth, averages to 1/(M-1) + u (M-2)/(M-1) over i's answers that agree with both.
"""

from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.kernels import agreement_products, power_sums
from quorate.blocks.memory import blocks_of
from quorate.uncertainty.estimated import Estimated
from quorate.uncertainty.intervals import WorkerScore


@dataclass(frozen=True)
class OneCoinInference(Estimated):
    """Rank-one skills, and the answers behind them.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 3, 3, skills=np.array([0.8, 0.6, 0.4]), seed=0)
    >>> inference = OneCoinInference(crowd.answers, crowd.skills, np.ones(3, bool))
    >>> bool(np.all(np.abs(inference.score().raw - crowd.skills) < 0.3))
    True
    """

    is_free: BoolArray  # neither gold nor at an end of the range it was kept in: it moves if the data do

    def at(self, skills: FloatArray) -> "OneCoinInference":
        """Return the same for other skills."""
        return replace(self, skills=skills)

    def scale_range(self) -> tuple[float, float]:
        """Return (1, 1): agreement of even classes sets the scale of the skills."""
        return 1.0, 1.0

    def score(self) -> WorkerScore:
        """Return each worker's raw estimate and the variance it has, in O(answers)."""
        m, x, blocks = self.n_classes, self._x, blocks_of(self.crowd)
        (sums,) = blocks.sums(power_sums, x, np.zeros(len(x)), True)
        q2, _, q3, q4, both, _ = sums
        pairs = both - q4  # sum over two different peers of x_j² x_k²
        scale = np.where(q2 > 0, q2, np.nan)
        agreed, _ = blocks.sums(agreement_products, x, m)
        return WorkerScore(
            agreed / scale,
            (q2 + pairs) / ((m - 1) * scale**2),
            (m - 2) / (m - 1) * (q3 + pairs) / scale**2,
            both / scale**2,
        )

    def inflation(self, *, draws: int, seed: int) -> FloatArray:
        """Return f, with psi and the curvature as sums over tasks."""
        from quorate.uncertainty.inflation import Curvature, agreement_parts, by_task, gram, inflation  # and scipy

        sums, m, a = self._sums, self.n_classes, self.answers
        x = self._x[sums.worker]
        q2 = sums.of_mates(x * x)
        psi = sums.agreement(x) - x - x * q2
        order = np.argsort(sums.cell, kind="stable")
        given = np.bincount(sums.cell, minlength=a.n_tasks * m)
        one = np.ones(a.n_answers)
        met = by_task(sums.worker, one, a.per_task, a.n_workers)
        alike = by_task(sums.worker[order], one, given, a.n_workers)
        parts = agreement_parts(
            (by_task(sums.worker, x, a.per_task, a.n_workers), np.ones(a.n_tasks)),
            [(met, np.full(a.n_tasks, -1 / (m - 1))), (alike, np.full(a.n_tasks * m, m / (m - 1)))],
        )
        curvature = Curvature(sums.by_worker(q2), gram(parts, a.n_tasks), self.is_free)
        return inflation(curvature, by_task(sums.worker, psi, a.per_task, a.n_workers), draws=draws, seed=seed)
