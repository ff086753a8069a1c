"""How far off skills are, in figures to act on: a bound by the paper's proof, the error to expect, tasks still needed.

The printed bound [Ma20, Thm pert] takes the noise of the worst pair for every pair, and the least skill for every
skill, so on real crowds it says nothing. Its proof needs less: with v_i = sum_j N_ij Δ_ij, the noise of the pairs of
worker i, ||ln x - ln s|| <= ||v|| / mu, where mu = kappa² lambda_min(L_s) may have the weights N_ij inside L_s, and
each Δ_ij its own noise. The paper's threshold drops guessers, who would set kappa. All of it is about the limit of
exponentiated gradient; kappa and K are estimated; and it holds if the noise is small enough, which is checked.
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import OptionError
from quorate.meetings.graph import identify_pairs
from quorate.meetings.pairs import PairStats, drop_weak
from quorate.meetings.spectrum import DENSE, signless_laplacian, smallest_eigenvalue

CUBE = 2.0  # the cube of the theorem reaches from the least skill over this to one


@dataclass(frozen=True)
class SkillError:
    """How far off the skills of the workers above the threshold are."""

    kept: BoolArray  # the workers it is about: the largest part of those whose pairs stand out from chance
    kappa: float  # the least |skill| among them, estimated
    K: float  # the greatest
    smallest: float  # lambda_min of the signless Laplacian with weights N_ij
    radius: float  # of ||ln x - ln s||_2, with probability 1 - delta
    delta: float
    expected: float  # root mean square error of a skill, to first order; NaN for more than a thousand workers

    @property
    def bound(self) -> float:
        """Bound ||x - s||_2 with probability 1 - delta."""
        return self.K * self.radius

    @property
    def small_enough(self) -> bool:
        """Whether the noise is small enough for the theorem: the limit stays inside its cube [Ma20, Lemma int]."""
        return bool(self.radius <= np.log(CUBE))

    def tasks_needed(self, n_tasks: int, epsilon: float) -> int | None:
        """Return how many tasks more, answered alike, an expected error of epsilon takes; None if nothing is known.

        Raises:
            OptionError: epsilon is not above zero.
        """
        return _needed(n_tasks, self.expected, epsilon)

    def tasks_needed_for_sure(self, n_tasks: int, epsilon: float) -> int | None:
        """Return the same for the bound: the worst that can happen with probability 1 - delta.

        Raises:
            OptionError: epsilon is not above zero.
        """
        return _needed(n_tasks, self.bound, epsilon)


def _needed(n_tasks: int, error: float, epsilon: float) -> int | None:
    if not epsilon > 0:
        raise OptionError(f"epsilon is an error of skills, above zero, not {epsilon:g}")
    if not np.isfinite(error):
        return None
    return int(np.ceil(max(n_tasks * ((error / epsilon) ** 2 - 1), 0.0)))  # errors fall as one over the root of tasks


def skill_error(
    pairs: PairStats, n_workers: int, n_classes: int, skills: FloatArray, *, delta: float = 0.05
) -> SkillError:
    """Judge how far off skills are that these pairs gave.

    Args:
        pairs: who met whom, and agreed how often.
        n_workers: W.
        n_classes: M.
        skills: estimated; NaN where not determined.
        delta: the probability with which the bound may fail.

    Raises:
        OptionError: delta is no probability.

    >>> import quorate
    >>> from quorate.meetings.pairs import pair_stats
    >>> crowd = quorate.simulate.crowd(2000, 10, 5, skills=np.linspace(0.3, 0.9, 10), seed=0)
    >>> result = quorate.aggregate(crowd.answers, "rank-one")
    >>> found = skill_error(pair_stats(crowd.answers), 10, 2, result.skills)
    >>> off = result.skills - crowd.skills
    >>> bool(np.linalg.norm(off) <= found.bound), 0.5 < float(np.sqrt(np.mean(off**2))) / found.expected < 2
    (True, True)
    >>> found.tasks_needed(2000, epsilon=found.expected / 2)
    6000
    """
    if not 0 < delta < 1:
        raise OptionError(f"delta is a probability, not {delta}")
    strong = drop_weak(pairs, n_classes, n_workers, 0.0)
    known = ~np.isnan(skills) & (skills != 0)
    strong = strong.among(known[strong.i] & known[strong.j])
    verdict = identify_pairs(strong, n_workers)
    good = verdict.identifiable & (verdict.sizes > 2)
    if not good.any():
        return SkillError(np.zeros(n_workers, dtype=bool), 0.0, 0.0, 0.0, float("inf"), delta, float("nan"))
    kept = verdict.component == int(np.argmax(np.where(good, verdict.sizes, 0)))
    place = np.cumsum(kept) - 1
    own = strong.among(kept[strong.i] & kept[strong.j])
    i, j, shared = place[own.i], place[own.j], own.shared.astype(np.float64)
    x = np.abs(skills[kept])
    n = len(x)
    kappa, K = float(x.min()), float(x.max())
    smallest = smallest_eigenvalue(signless_laplacian(n, i, j, shared))
    # |Δ_ij| of all pairs at once, by Hoeffding's inequality: an a_ijt has a range of M/(M-1).
    spread = n_classes / (n_classes - 1)
    noise = spread * np.sqrt(np.log(2 * len(own) / delta) / 2) * np.sqrt(shared)
    pull = np.bincount(i, noise, n) + np.bincount(j, noise, n)
    mu = (kappa / CUBE) ** 2 * smallest
    radius = float(np.linalg.norm(pull) / mu) if mu > 0 else float("inf")
    return SkillError(kept, kappa, K, smallest, radius, delta, _expected(i, j, own, x, n_classes))


def _expected(i: IntArray, j: IntArray, own: PairStats, x: FloatArray, n_classes: int) -> float:
    """Return the root mean square error to first order: ln x is off by J⁻¹ v, J the curvature, v the pairs' noise."""
    n = len(x)
    if n > DENSE:
        return float("nan")
    shared = own.shared.astype(np.float64)
    agreement = ((n_classes - 1) * np.minimum(x[i] * x[j], 1.0) + 1) / n_classes
    variance = (n_classes / (n_classes - 1)) ** 2 * np.maximum(agreement * (1 - agreement), 0.25 / shared)
    curvature = signless_laplacian(n, i, j, shared * x[i] * x[j]).toarray()
    spread = signless_laplacian(n, i, j, shared * variance).toarray()
    half = np.linalg.solve(curvature, spread)
    covariance = np.linalg.solve(curvature, half.T)
    return float(np.sqrt(np.mean(x**2 * np.maximum(np.diag(covariance), 0.0))))
