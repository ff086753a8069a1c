"""Centred rank-one completion: skills from answers minus each worker's response bias, for any class prior.

Suppose a worker knows the answer with probability x_i and otherwise answers according to its label frequencies f_i.
With the answer as a unit vector e_l, let z_it = e_l - f_i. Then E[z_it · z_jt] = x_i x_j (1 - sum_g pi_g²), with pi the
class prior, so rank-one completion gives the skills without the assumption that classes are equally frequent and
equally hard. For two classes this covers every confusion matrix.

The products are sums over blocks.
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import centred_products
from quorate.blocks.memory import Answered, blocks_of
from quorate.models.response_bias import ResponseBias
from quorate.skills.moments import Moments, SharedTasks
from quorate.skills.objective import CAPPED, CONVERGED, Solution
from quorate.skills.priors import Priors
from quorate.skills.shrinkage import MARGIN, response_bias, shrunk_skills


@dataclass(frozen=True, eq=False)
class Centred:
    """Skills by centred rank-one completion."""

    solution: Solution
    mean: float  # mu, the crowd's mean skill, averaged over answers
    bias_of_workers: ResponseBias
    lower: FloatArray  # smallest possible skill of each worker
    upper: FloatArray  # greatest
    ridge: float  # strength of the shrinkage toward the mean, in units of the peers' squared skills
    # Strength of the shrinkage toward each worker's skill from earlier runs; None without such skills.
    prior_strength: FloatArray | None = None

    def clip(self, skills: FloatArray) -> FloatArray:
        """Return the skills, clipped to their range."""
        return np.clip(skills, self.lower, self.upper)


@dataclass(frozen=True)
class _CentredSums:
    """N∘C of the centred answers: Y_t = sum_j v_j z_jt, then z_it · (Y_t - v_i z_it) over each worker's tasks."""

    blocks: Blocks
    bias_of_workers: ResponseBias

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        return self.signed_and_squares(v)[0]

    def signed_and_squares(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N∘C) x and N x²."""
        signed, squares = self.blocks.sum(centred_products, x, self.bias_of_workers.frequency)
        return signed / self.bias_of_workers.spread, squares


def centred_moments(answers: Answered, bias_of_workers: ResponseBias) -> Moments:
    """Return the moments of the centred answers; a task of R answers has weight 1/(R - 1), so each answer counts once.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(2000, 3, 3, skills=np.array([0.8, 0.6, 0.4]), seed=0)
    >>> moments = centred_moments(crowd.answers, response_bias(crowd.answers))
    >>> products = (moments.signed @ np.ones(3)) / 1000  # a pair has 2,000 tasks of weight 1/2: s_i (s_j + s_k)
    >>> bool(np.abs(products - [0.8, 0.72, 0.56]).max() < 0.1)
    True
    """
    blocks = blocks_of(answers)
    shared = SharedTasks(blocks, even=False)
    signed = _CentredSums(blocks, bias_of_workers)
    # The sum of squared correlations cannot be computed as a sum over tasks; the loss omits this constant.
    return Moments(
        shared, signed, shared @ np.ones(answers.n_workers), energy=0.0, signed_and_squares=signed.signed_and_squares
    )


def centred_skills(
    answers: Answered,
    *,
    is_gold: BoolArray | None = None,
    priors: Priors | None = None,
    tolerance: float = 1e-4,
) -> Centred:
    """Estimate skills from centred answers, shrunk by empirical Bayes (`quorate.skills.shrinkage`).

    Args:
        answers: who answered what.
        is_gold: marks the gold worker, of skill one.
        priors: skills of workers from earlier runs, on the scale of these skills.
        tolerance: the passes stop when the mean change of a skill is smaller.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(1000, 20, 5, prior=np.array([0.8, 0.2]), seed=0)
    >>> centred = centred_skills(crowd.answers)
    >>> bool(np.abs(centred.solution.skills - crowd.skills).mean() < 0.12)
    True
    """
    bias_of_workers = response_bias(answers, priors)
    blocks = blocks_of(answers)
    gold = np.zeros(answers.n_workers, dtype=bool) if is_gold is None else is_gold
    shrunk = shrunk_skills(blocks, bias_of_workers, is_gold=gold, known=priors, tolerance=tolerance)
    lowest = -1 / (answers.n_classes - 1) + MARGIN
    lower = np.where(gold, 1.0, lowest)
    upper = np.where(gold, 1.0, 1 - MARGIN)
    ridge = shrunk.noise / shrunk.prior_variance  # in units of the peers' squared skills
    solution = Solution(
        shrunk.mean,
        "empirical Bayes",
        CONVERGED if shrunk.converged else CAPPED,
        shrunk.n_passes,
        loss=0.0,  # the mean-field iteration has no least-squares objective
        gradient_norm=shrunk.change,
    )
    prior_strength = None if priors is None else priors.precision * shrunk.noise
    return Centred(solution, shrunk.average, bias_of_workers, lower, upper, ridge, prior_strength)
