"""Skills from answers centred at each worker's habit: rank one for any class prior, and shrunk where data are few.

Suppose a worker knows the answer with probability x_i and otherwise follows a habit of its own. Take from each answer,
as a vector e_l, the worker's answer frequencies f_i: z_it = e_l - f_i. Then E[z_it · z_jt] = x_i x_j (1 - sum_g pi_g²),
with pi the class prior, so the same rank-one completion gives the skills, without the assumption that classes are alike
frequent and alike hard. For two classes this covers every confusion matrix.
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import centred_products, power_sums
from quorate.blocks.memory import Answered, blocks_of
from quorate.skills.centred_pairs import CentredPairs, centred_pairs, pairs_pay
from quorate.skills.kept_pass import KeptPass, kept_pass
from quorate.skills.moments import Moments
from quorate.skills.objective import Problem
from quorate.skills.priors import Priors
from quorate.skills.shrinkage import BIAS_PSEUDO_ANSWERS, MARGIN, ResponseBias, response_bias, shrunk_skills
from quorate.skills.solution import CAPPED, CONVERGED, Solution

HABIT_ANSWERS = BIAS_PSEUDO_ANSWERS
Habits = ResponseBias


@dataclass(frozen=True)
class Centred:
    """Skills by centred rank-one completion."""

    solution: Solution
    mean: float  # mu, the crowd's mean skill, averaged over answers
    habits: Habits
    problem: Problem  # that was solved last
    ridge: float  # toward the mean
    pull: FloatArray | None = None  # toward what is known of each worker from before; None where that is nothing


def habits_of(answers: Answered, priors: Priors | None = None) -> Habits:
    """Return the response bias of each worker, and the class prior by the plurality of each task.

    >>> import quorate
    >>> habits_of(quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})).prior.tolist()
    [0.5, 0.5]
    """
    return response_bias(blocks_of(answers), priors)


def task_weights(answers: Answers) -> FloatArray:
    """Return omega_t = 1/(R_t - 1), with which each answer counts once, however many it meets.

    >>> import quorate
    >>> task_weights(quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xxyx")})).tolist()
    [0.5, 1.0]
    """
    omega: FloatArray = 1 / np.maximum(answers.per_task - 1.0, 1.0)
    return omega


def centred_answers(answers: Answers, habits: Habits) -> FloatArray:
    """Return z_it = e_l - f_i of each answer; shape (answers, classes).

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    >>> centred_answers(answers, habits_of(answers))[0].round(2).tolist()
    [0.42, -0.42]
    """
    z = -habits.frequency[answers.worker]
    z[np.arange(len(z)), answers.label] += 1
    return z


@dataclass(frozen=True)
class _Meetings:
    """N with a weight omega for each task: sums over the others of each worker's tasks."""

    blocks: Blocks

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        met: FloatArray = self.blocks.sums(power_sums, np.zeros(len(v)), v, False)[0][-1]
        return met


@dataclass(frozen=True)
class _CentredSums:
    """N∘C of the centred answers: Y_t = sum_j v_j z_jt, then z_it · (Y_t - v_i z_it) over each worker's tasks."""

    blocks: Blocks
    habits: Habits
    in_memory: CentredPairs | KeptPass | None  # instead of the blocks, where they are there

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        return self.both(v)[0]

    def both(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N∘C) x and N x²."""
        if self.in_memory is None:
            signed, squares = self.blocks.sums(centred_products, x, self.habits.frequency)
        else:
            signed, squares = self.in_memory.both(x)
        return signed / self.habits.spread, squares


def centred_moments(answers: Answered, habits: Habits) -> Moments:
    """Form the moments of the centred answers, each task weighing 1/(R_t - 1), so that each answer counts once.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(2000, 3, 3, skills=np.array([0.8, 0.6, 0.4]), seed=0)
    >>> moments = centred_moments(crowd.answers, habits_of(crowd.answers))
    >>> products = (moments.signed @ np.ones(3)) / 1000  # each pair weighs half of the 2,000 tasks: s_i (s_j + s_k)
    >>> bool(np.abs(products - [0.8, 0.72, 0.56]).max() < 0.1)
    True
    """
    in_memory: CentredPairs | KeptPass | None
    if isinstance(answers, Answers) and pairs_pay(answers):
        in_memory = centred_pairs(answers, habits.frequency, task_weights(answers))
    else:
        in_memory = kept_pass(answers, habits.frequency)
    blocks, everyone = blocks_of(answers), np.ones(answers.n_workers)
    degree: FloatArray = blocks.sums(power_sums, np.zeros(len(everyone)), everyone, False)[0][-1]
    signed = _CentredSums(blocks, habits, in_memory)
    # The sum of squares of the correlations is no sum over tasks; the loss is known up to that constant.
    return Moments(_Meetings(blocks), signed, degree, energy=0.0, both=signed.both)


def centred_skills(
    answers: Answered,
    *,
    is_gold: BoolArray | None = None,
    priors: Priors | None = None,
    tolerance: float = 1e-4,
) -> Centred:
    """Solve for the skills of centred answers, shrunk by empirical Bayes (`quorate.skills.shrinkage`).

    Args:
        answers: who answered what.
        is_gold: marks the gold worker, of skill one.
        priors: what is known of the workers from before, on the scale of these skills.
        tolerance: mean change of a skill at which the passes stop.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(1000, 20, 5, prior=np.array([0.8, 0.2]), seed=0)
    >>> found = centred_skills(crowd.answers)
    >>> bool(np.abs(found.solution.skills - crowd.skills).mean() < 0.12)
    True
    """
    habits = habits_of(answers, priors)
    blocks = blocks_of(answers)
    gold = np.zeros(answers.n_workers, dtype=bool) if is_gold is None else is_gold
    found = shrunk_skills(blocks, habits, is_gold=gold, known=priors, tolerance=tolerance)
    lowest = -1 / (answers.n_classes - 1) + MARGIN
    lower = np.where(gold, 1.0, lowest)
    upper = np.where(gold, 1.0, 1 - MARGIN)
    ridge = found.noise / found.prior_variance  # in units of the peers' squared skills
    empty = Problem(centred_moments(answers, habits), lower, upper, answers.per_worker.astype(np.float64))
    solution = Solution(
        found.mean,
        "empirical Bayes",
        CONVERGED if found.converged else CAPPED,
        found.n_passes,
        loss=0.0,  # mean field minimises no least squares
        gradient_norm=found.change,
    )
    pull = None if priors is None else priors.precision * found.noise
    return Centred(solution, found.average, habits, empty, ridge, pull)
