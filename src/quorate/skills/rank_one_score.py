"""Score and variance of a rank-one skill by sums over tasks, from which intervals are computed.

For worker i on task t let q_r be the sum of x_j^r over its peers there, and psi_ti = sum_j (a_ijt - x_i x_j) x_j, whose
sum over t is minus the gradient of the least squares. With D = sum_t q_2, the raw estimate is r = x_i + (sum_t psi_ti)
/ D. If the skill of i were u, psi_ti would have the variance

    (q_2 + q_2² - q_4)/(M-1) + u (M-2)/(M-1) (q_3 + q_2² - q_4) - u² q_2²,

because, if j and k give the true class, the mean of a_ijt a_ikt over the answers of i is 1/(M-1) + u (M-2)/(M-1). The
sums over workers are computed by `quorate.blocks.kernels`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.kernels import agreement_products, power_sums
from quorate.blocks.memory import Answered, blocks_of, collect_answers
from quorate.skills.intervals import PeerError, WorkerScore

if TYPE_CHECKING:
    from quorate.skills.weak_identification import WeakIdentification


@dataclass(frozen=True, eq=False)
class SkillInference:
    """Skills, and the answers from which they were estimated.

    >>> import quorate
    >>> SkillInference(quorate.simulate.crowd(30, 3, 3).answers, np.array([0.5, np.nan, 0.7])).n_classes
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
        """Number of answers, gold included."""
        return self.crowd.n_answers

    @property
    def needs_peer_error(self) -> bool:
        """Whether the errors of the peers' skills can matter in addition to the errors of own answers: always."""
        return True

    @property
    def per_worker(self) -> IntArray:
        """N_i, gold included."""
        return self.crowd.per_worker

    @property
    def answers(self) -> Answers:
        """The answers in memory, which full intervals need."""
        return self.crowd if isinstance(self.crowd, Answers) else collect_answers(self.crowd)

    def score(self) -> WorkerScore:
        """Return raw estimates of the skills and their variances, for fixed skills of the peers."""
        raise NotImplementedError

    def agreement_score(self, skills: FloatArray) -> WorkerScore:
        """Return the rank-one score at these skills, which is used to test which workers are informative."""
        raise NotImplementedError

    @property
    def is_known_before(self) -> BoolArray:
        """Mask of the workers whose skills are known from an earlier run."""
        return np.zeros(len(self.skills), dtype=bool)

    def weak(self, n_workers: int) -> "WeakIdentification":
        """Test which of the first workers are only weakly identified; the others are gold."""
        from quorate.skills.pendant import pendant_trees
        from quorate.skills.weak_identification import BlockGraph, weak_identification  # only worker tables need it

        blocks = blocks_of(self.crowd)
        is_anchor = (np.arange(len(self.skills)) >= n_workers) | self.is_known_before
        score = self.agreement_score(self.skills)
        pendant = pendant_trees(blocks, is_anchor)
        z = score.z_at_zero()
        if pendant is not None:
            without = self.agreement_score(np.where(pendant.is_pendant, np.nan, self.skills)).z_at_zero()
            z = np.where(pendant.is_pendant, np.nan, np.where(pendant.n_pairs > 0, without, z))
        return weak_identification(
            BlockGraph(blocks),
            self.skills,
            z,
            np.sqrt(np.maximum(score.alpha, 0.0)),
            lowest=-1 / (self.n_classes - 1),
            is_anchor=is_anchor,
            pendant=pendant,
        ).first(n_workers)

    @cached_property
    def _x(self) -> FloatArray:
        """The skills, zero where not determined: such workers have no information about the others."""
        return np.nan_to_num(self.skills)


@dataclass(frozen=True, eq=False)
class OneCoinInference(SkillInference):
    """Rank-one skills, and the answers from which they were estimated.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 3, 3, skills=np.array([0.8, 0.6, 0.4]), seed=0)
    >>> inference = OneCoinInference(crowd.answers, crowd.skills, np.ones(3, bool))
    >>> bool(np.all(np.abs(inference.score().raw - crowd.skills) < 0.3))
    True
    """

    is_free: BoolArray  # workers whose skill, if they have one, is an estimate: not gold

    def with_skills(self, skills: FloatArray) -> "OneCoinInference":
        """Return the inference with other skills."""
        return replace(self, skills=skills)

    def agreement_score(self, skills: FloatArray) -> WorkerScore:
        """Return the score at these skills."""
        return self.with_skills(skills).score()

    def scale_range(self) -> tuple[float, float]:
        """Return (1, 1): the model of even classes fixes the scale of the skills."""
        return 1.0, 1.0

    def peer_squares(self, skills: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of x_j² over each worker's peers on its tasks, and of x_j² x_k² over every two of them there.

        Args:
            skills: x of each worker, gold included.
        """
        (sums,) = blocks_of(self.crowd).sum(power_sums, skills, np.zeros(len(skills)), True)
        q2, _, _, q4, q2_squared, _ = sums
        return q2, q2_squared - q4

    def score(self) -> WorkerScore:
        """Return each worker's raw estimate and its variance, in O(answers)."""
        m = self.n_classes
        x = self._x
        blocks = blocks_of(self.crowd)
        (sums,) = blocks.sum(power_sums, x, np.zeros(len(x)), True)
        q2, _, q3, q4, q2_squared, _ = sums
        pairs = q2_squared - q4  # sum over two different peers of x_j² x_k²
        scale = np.where(q2 > 0, q2, np.nan)
        agreed, _ = blocks.sum(agreement_products, x, m)
        return WorkerScore(
            agreed / scale,
            (q2 + pairs) / ((m - 1) * scale**2),
            (m - 2) / (m - 1) * (q3 + pairs) / scale**2,
            q2_squared / scale**2,
        )

    def peer_error(self, *, draws: int, seed: int) -> PeerError:
        """Return what the errors of the peers' skills add to the variances of the raw estimates."""
        from quorate.skills.variance_inflation import Curvature, ScoreContributions, peer_error, task_sums

        m = self.n_classes
        x = self._x
        sums = task_sums(self.answers, x, np.full((len(x), m), 1 / m), 1 - 1 / m, even=True)
        (powers,) = blocks_of(self.crowd).sum(power_sums, x, np.zeros(len(x)), True)
        curvature = Curvature(powers[0], sums.peers, self.is_free & ~np.isnan(self.skills))
        return peer_error(
            curvature, ScoreContributions(sums.block, sums.contributions(x)), sums.shared, x, draws=draws, seed=seed
        )
