"""Skills from answers centred at each worker's habit: rank one for any class prior, and shrunk where data are few.

Suppose a worker knows the answer with probability x_i and otherwise follows a habit of its own. Take from each answer,
as a vector e_l, the worker's answer frequencies f_i: z_it = e_l - f_i. Then E[z_it · z_jt] = x_i x_j (1 - sum_g pi_g²),
with pi the class prior, so the same rank-one completion gives the skills, without the assumption that classes are alike
frequent and alike hard. For two classes this covers every confusion matrix.
"""

from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import centred_products, habit_counts, power_sums
from quorate.blocks.memory import Answered, blocks_of
from quorate.skills.centred_pairs import CentredPairs, centred_pairs, pairs_pay
from quorate.skills.coordinate import coordinate_sweeps
from quorate.skills.kept_pass import KeptPass, kept_pass
from quorate.skills.moments import Moments
from quorate.skills.objective import Problem
from quorate.skills.priors import Priors
from quorate.skills.solution import Solution

HABIT_ANSWERS = 2.0  # pseudo-answers by which a worker's habit is shrunk toward the crowd's
# How many answers a worker's skill is worth before its data speak: STRENGTH / mu⁴, mu the crowd's mean skill. A meeting
# tells of x_i in proportion to the peer's squared skill, about mu², and skills differ by about mu: in a good crowd two
# answers tell as much as the mean does, in a poor one hundreds.
STRENGTH = 0.7
LEAST_MEAN = 0.05  # of the crowd's skill: below, nothing could be told at all
LEAST_SCALE = 0.1  # of mu inside the strength, which is finite so
FIRST_MEAN = 0.5  # half way from guessing to perfect
ROUNDS = 8  # means at the most, three or four are usual: poor crowds that tell little of their mean stay near the first
STANDS = 1e-3  # change of the mean


@dataclass(frozen=True)
class Habits:
    """What the answers are centred at."""

    frequency: FloatArray  # f_i, workers × classes: each worker's answers, shrunk toward the crowd's
    prior: FloatArray  # pi, of the classes
    spread: float  # G = 1 - sum pi²
    crowd: FloatArray  # how often each class is given by all


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
    """Count each worker's answers, and the classes of the plurality.

    Args:
        answers: who answered what.
        priors: what is known of the workers, as answers that they gave before.

    >>> import quorate
    >>> habits = habits_of(quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")}))
    >>> habits.prior.tolist(), habits.frequency.round(2).tolist()
    ([0.5, 0.5], [[0.58, 0.42], [0.78, 0.22]])
    """
    given, leading = blocks_of(answers).sums(habit_counts, answers.n_workers, answers.n_classes)
    prior = (leading + 1.0) / (leading + 1.0).sum()
    if priors is not None:
        given = given + priors.answered(prior).sum(axis=2)
    crowd = given.sum(axis=0) / given.sum()
    frequency = (given + HABIT_ANSWERS * crowd) / (given.sum(axis=1, keepdims=True) + HABIT_ANSWERS)
    return Habits(frequency, prior, float(1 - prior @ prior), crowd)


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
    max_iterations: int = 1000,
) -> Centred:
    """Solve for the skills, shrunk toward the crowd's mean skill, which is refitted on the way until it stands still.

    Args:
        answers: who answered what.
        is_gold: which workers are known labels, of skill one.
        priors: what is known of the workers from before, on the scale of these skills.
        tolerance: for the mean change of a skill, and for the projected-gradient norm.
        max_iterations: sweeps at the most.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(1000, 20, 5, prior=np.array([0.8, 0.2]), seed=0)
    >>> found = centred_skills(crowd.answers)
    >>> bool(np.abs(found.solution.skills - crowd.skills).mean() < 0.12)
    True
    """
    habits = habits_of(answers, priors)
    n_answers = answers.per_worker.astype(np.float64)
    known = np.zeros(answers.n_workers, dtype=bool) if is_gold is None else is_gold
    share = np.where(known, 0.0, n_answers) / max(n_answers[~known].sum(), 1.0)
    empty = Problem(centred_moments(answers, habits), *(np.zeros(answers.n_workers),) * 2, n_answers)
    start = _start(empty.moments, known, priors)
    drawn = _Drawn(answers, empty, share, known, priors, start)
    solution = coordinate_sweeps(
        drawn.problem,
        start,
        tolerance=tolerance,
        max_iterations=max_iterations,
        renewed=drawn.renewed,
    )
    mean = drawn.mean_of(solution.skills)
    solution = replace(solution, solver="centred coordinate")
    return Centred(solution, mean, habits, drawn.problem, drawn.ridge, drawn.pull)


class _Drawn:
    """The problem of skills that are drawn to their mean, and to what is known of them."""

    def __init__(
        self,
        answers: Answered,
        empty: Problem,
        share: FloatArray,
        known: BoolArray,
        priors: Priors | None,
        start: FloatArray,
    ) -> None:
        self.answers, self.empty, self.share, self.known, self.priors = answers, empty, share, known, priors
        self.rounds, self.stands = 0, False
        self._draw(float(np.copysign(FIRST_MEAN, self.mean_of(start))))

    def mean_of(self, skills: FloatArray) -> float:
        """Return mu, away from zero; below it only where known labels say that the crowd is wrong more than right."""
        mean = float(self.share @ skills)
        if self.known.any() and mean < 0:
            return min(mean, -LEAST_MEAN)
        return max(mean, LEAST_MEAN)

    def renewed(self, skills: FloatArray) -> Problem | None:
        """Draw the skills to their own mean, until that stands still."""
        if self.stands or self.rounds == ROUNDS:
            return None
        before = self.mean
        self._draw(self.mean_of(skills))
        self.stands = abs(self.mean - before) < STANDS
        return self.problem

    def _draw(self, mean: float) -> None:
        """Set the ridge and the box that a mean skill implies; gold stays at one."""
        mu, n_classes, n_answers = max(abs(mean), LEAST_SCALE), self.answers.n_classes, self.empty.n_answers
        self.rounds, self.mean = self.rounds + 1, mean
        self.ridge, self.pull = STRENGTH / mu**2, None
        ridge: float | FloatArray = self.ridge
        centre: float | FloatArray = mean
        if self.priors is not None:
            met = np.where(self.known, 1.0, self.priors.filled(mean))
            self.pull = self.priors.pull(self.answers, met, n_classes)
            # What is known takes the place of the mean, up to what the mean is worth: it was drawn there once before.
            to_mean = np.maximum(self.ridge - self.pull, 0.0)
            ridge = to_mean + self.pull
            centre = (to_mean * mean + self.pull * self.priors.skill) / ridge
            n_answers = n_answers + self.priors.worth
        reach = 1 - 1 / np.sqrt(n_answers + STRENGTH / mu**4)  # the paper's box, with the mean's answers added
        lower = np.where(self.known, 1.0, -np.minimum(reach, 1 / (n_classes - 1)))
        upper = np.where(self.known, 1.0, reach)
        self.problem = replace(self.empty, lower=lower, upper=upper, ridge=ridge, centre=centre)


def _start(moments: Moments, known: BoolArray, priors: Priors | None) -> FloatArray:
    """Start at one half, or where a worker met gold, at its agreement with that: it says which way round skills are.

    Who is known from before starts there.
    """
    start = np.full(len(known), 0.5)
    if known.any():
        gold = known.astype(np.float64)
        start = np.where(known, 1.0, (moments.signed @ gold + 0.5) / (moments.shared @ gold + 1.0))
    return start if priors is None else np.where(priors.is_known, priors.skill, start)
