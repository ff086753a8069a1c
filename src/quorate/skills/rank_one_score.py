"""Score and variance of a rank-one skill, by sums over tasks; what intervals are computed from.

For worker i on task t let q_r be the sum of x_j^r over its peers there, and psi_ti = sum_j (a_ijt - x_i x_j) x_j, whose
sum over t is the gradient of the least squares. With D = sum_t q_2 the raw estimate is r = x_i + sum_t psi_ti / D, and
if the skill of i were u, psi_ti would have the variance

    (q_2 + q_2² - q_4)/(M-1) + u (M-2)/(M-1) (q_3 + q_2² - q_4) - u² q_2²,

since a_ijt a_ikt, given the truth, averages to 1/(M-1) + u (M-2)/(M-1) over i's answers that agree with both. Sums over
workers are those of `quorate.blocks.kernels`; full intervals also need each answer's psi, over `AnswerSums`.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.blocks.kernels import agreement_products, power_sums
from quorate.blocks.memory import Answered, blocks_of, collected
from quorate.skills.intervals import WorkerScore
from quorate.skills.weak_identification import BlockGraph, WeakIdentification, weak_identification


@dataclass(frozen=True)
class AnswerSums:
    """The answers laid out for sums over tasks and over workers, each one pass through memory.

    A sum over a worker's tasks reads the tasks in their order and adds into a table of workers, which fits in the
    cache; a sparse matrix by worker would jump through the table of tasks, which does not.
    """

    worker: IntArray  # of each answer
    cell: IntArray  # task·M + class of each answer, never decreasing by task
    per_task: IntArray
    n_answers: FloatArray  # of each worker
    n_classes: int

    @cached_property
    def _starts(self) -> tuple[IntArray, IntArray]:
        """The tasks that have answers, and where those begin."""
        answered = np.flatnonzero(self.per_task)
        return answered, starts_of(self.per_task)[answered]

    def by_task(self, values: FloatArray) -> FloatArray:
        """Sum a value of each answer over the answers of each task."""
        answered, starts = self._starts
        sums = np.zeros(len(self.per_task))
        if len(starts):
            sums[answered] = np.add.reduceat(values, starts)
        return sums

    def by_worker(self, values: FloatArray) -> FloatArray:
        """Sum a value of each answer over the answers of each worker."""
        return np.bincount(self.worker, values, len(self.n_answers)).astype(np.float64, copy=False)

    def spread(self, of_task: FloatArray) -> FloatArray:
        """Give each answer the value of its task."""
        return np.repeat(of_task, self.per_task)

    def sum_over_coworkers(self, values: FloatArray) -> FloatArray:
        """Give each answer the sum of a value over the other answers of its task."""
        return self.spread(self.by_task(values)) - values

    def agreement(self, x_of_answer: FloatArray) -> FloatArray:
        """Return, for each answer, the sum over its task of a_ijt x_j, its own part (x_i) included."""
        m = self.n_classes
        alike = np.bincount(self.cell, x_of_answer, len(self.per_task) * m)[self.cell]
        agreed: FloatArray = (m * alike - self.spread(self.by_task(x_of_answer))) / (m - 1)
        return agreed


def answer_sums(answers: Answers) -> AnswerSums:
    """Lay the answers out for sums over tasks and over workers.

    >>> import quorate
    >>> sums = answer_sums(quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")}))
    >>> sums.sum_over_coworkers(np.array([1.0, 10.0, 100.0])).tolist()
    [10.0, 1.0, 0.0]
    """
    return AnswerSums(
        answers.worker.astype(np.intp),
        answers.cells,
        answers.per_task,
        answers.per_worker.astype(np.float64),
        answers.n_classes,
    )


@dataclass(frozen=True)
class Estimated:
    """Skills, and the answers behind them.

    >>> import quorate
    >>> Estimated(quorate.simulate.crowd(30, 3, 3).answers, np.array([0.5, np.nan, 0.7])).n_classes
    2
    """

    crowd: Answered  # its last worker is the known labels, if there are any
    skills: FloatArray  # NaN where not determined

    @property
    def n_classes(self) -> int:
        """M."""
        return self.crowd.n_classes

    @property
    def n_answers(self) -> int:
        """How many answers there are, gold's included."""
        return self.crowd.n_answers

    @property
    def per_worker(self) -> IntArray:
        """N_i, gold's included."""
        return self.crowd.per_worker

    @cached_property
    def _sums(self) -> AnswerSums:
        return answer_sums(self.answers)

    @property
    def answers(self) -> Answers:
        """The answers in memory, which full intervals need."""
        return self.crowd if isinstance(self.crowd, Answers) else collected(self.crowd)

    def score(self) -> WorkerScore:
        """Return what each worker's answers say of its skill."""
        raise NotImplementedError

    def agreement_score(self) -> WorkerScore:
        """Return the score of each worker's agreements, by which strong workers are recognised."""
        return self.score()

    @property
    def is_known_before(self) -> BoolArray:
        """Which workers' skills are known from an earlier run."""
        return np.zeros(len(self.skills), dtype=bool)

    def weak(self, n_workers: int) -> WeakIdentification:
        """Test which of the first workers are only weakly identified; the others are gold."""
        score = self.agreement_score()
        is_gold = np.arange(len(self.skills)) >= n_workers
        return weak_identification(
            BlockGraph(blocks_of(self.crowd)),
            self.skills,
            score.raw,
            np.sqrt(np.maximum(score.alpha, 0.0)),
            lowest=-1 / (self.n_classes - 1),
            is_anchor=is_gold | self.is_known_before,
        ).first(n_workers)

    @cached_property
    def _x(self) -> FloatArray:
        """The skills, zero where they are not determined: such workers tell nothing of the others."""
        return np.nan_to_num(self.skills)


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
        m = self.n_classes
        x = self._x
        blocks = blocks_of(self.crowd)
        (sums,) = blocks.sum(power_sums, x, np.zeros(len(x)), True)
        q2, _, q3, q4, both, _ = sums
        pairs = both - q4  # sum over two different peers of x_j² x_k²
        scale = np.where(q2 > 0, q2, np.nan)
        agreed, _ = blocks.sum(agreement_products, x, m)
        return WorkerScore(
            agreed / scale,
            (q2 + pairs) / ((m - 1) * scale**2),
            (m - 2) / (m - 1) * (q3 + pairs) / scale**2,
            both / scale**2,
        )

    def inflation(self, *, draws: int, seed: int) -> FloatArray:
        """Return f, with psi and the curvature as sums over tasks."""
        from quorate.skills.variance_inflation import Curvature, agreement_parts, by_task, gram, inflation  # and scipy

        sums = self._sums
        m = self.n_classes
        a = self.answers
        x = self._x[sums.worker]
        q2 = sums.sum_over_coworkers(x * x)
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
