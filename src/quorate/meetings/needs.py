"""How far off skills are, in figures to act on: a bound by the paper's proof, the error to expect, tasks still needed.

The printed bound [Ma20, Thm pert] takes the noise of the worst pair for every pair, and the least skill for every
skill, so on real crowds it says nothing. Its proof needs less. With v_i = sum_j N_ij Δ_ij, the noise of the pairs of
worker i, and z = ln x - ln s, it is H z = v for an H between the curvatures of a cube around x. So with S² the diagonal
of the curvature, ||S z|| <= ||S⁻¹v|| / lambda, lambda the least eigenvalue of S⁻¹HS⁻¹: each pair has its own noise,
each worker its own weight, and nobody sets kappa for all. The paper's threshold drops guessers, whose ln x says
nothing. It is about the limit of exponentiated gradient, skills are estimated, and the noise must be small enough,
which is checked.
"""

from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import OptionError
from quorate.meetings.graph import identify_pairs
from quorate.meetings.pairs import PairStats, drop_weak
from quorate.meetings.spectrum import DENSE, signless_laplacian

CUBE = 1.5  # the cube of the theorem reaches from each skill over this to each skill times this


@dataclass(frozen=True)
class SkillError:
    """How far off the skills are."""

    kept: BoolArray  # the workers the bound is about: the largest part of those whose pairs stand out from chance
    eigenvalue: float  # lambda, of the curvature in units of its diagonal: at most one, and zero for two sides
    bound: float  # on ||x - s||_2 of those, with probability 1 - delta
    small_enough: bool  # whether the noise is small enough for the bound to hold [Ma20, Lemma int]
    delta: float
    expected: float  # root mean square error of a skill over answers, to first order; NaN where it is not known

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


def pair_error(
    pairs: PairStats, n_classes: int, skills: FloatArray, per_worker: IntArray, *, delta: float = 0.05
) -> SkillError:
    """Judge how far off skills are that these pairs gave.

    Args:
        pairs: who met whom, and agreed how often.
        n_classes: M.
        skills: estimated; NaN where not determined.
        per_worker: how many answers each worker gave.
        delta: the probability with which the bound may fail.

    Raises:
        OptionError: delta is no probability.

    >>> import quorate
    >>> from quorate.meetings.pairs import pair_stats
    >>> crowd = quorate.simulate.crowd(2000, 10, 5, skills=np.linspace(0.3, 0.9, 10), seed=0)
    >>> a, x = crowd.answers, quorate.aggregate(crowd.answers, "rank-one").skills
    >>> found = pair_error(pair_stats(a), 2, x, a.per_worker)
    >>> off = x - crowd.skills
    >>> bool(np.linalg.norm(off) <= found.bound), bool(0.5 < np.sqrt(np.mean(off**2)) / found.expected < 2)
    (True, True)
    >>> found.tasks_needed(2000, epsilon=found.expected / 2)
    6000
    """
    if not 0 < delta < 1:
        raise OptionError(f"delta is a probability, not {delta}")
    n = len(skills)
    nobody = SkillError(
        np.zeros(n, dtype=bool), 0.0, float("inf"), small_enough=False, delta=delta, expected=float("nan")
    )
    if n > DENSE or n_classes < 2:
        return nobody
    expected = _expected(pairs, np.nan_to_num(skills), per_worker, n_classes)
    known = ~np.isnan(skills) & (skills != 0)
    strong = drop_weak(pairs, n_classes, n, 0.0)
    strong = strong.among(known[strong.i] & known[strong.j])
    verdict = identify_pairs(strong, n)
    good = verdict.identifiable & (verdict.sizes > 2)
    if not good.any():
        return replace(nobody, expected=expected)
    kept = verdict.component == int(np.argmax(np.where(good, verdict.sizes, 0)))
    place = np.cumsum(kept) - 1
    own = strong.among(kept[strong.i] & kept[strong.j])
    i, j, shared, x = place[own.i], place[own.j], own.shared.astype(np.float64), np.abs(skills[kept])
    curvature = signless_laplacian(len(x), i, j, shared * x[i] * x[j]).toarray()
    scale = np.sqrt(np.diag(curvature))
    # Over the cube the curvature is 1/CUBE² of this at the least: it grows with the weights.
    eigenvalue = max(float(np.linalg.eigvalsh(curvature / np.outer(scale, scale))[0]), 0.0)
    # |Δ_ij| of all pairs at once, by Hoeffding's inequality: an a_ijt has a range of M/(M-1).
    spread = n_classes / (n_classes - 1)
    noise = spread * np.sqrt(np.log(2 * len(own) / delta) / 2) * np.sqrt(shared)
    pull = (np.bincount(i, noise, len(x)) + np.bincount(j, noise, len(x))) / scale
    radius = float(np.linalg.norm(pull)) * CUBE**2 / eigenvalue if eigenvalue > 0 else float("inf")
    return SkillError(
        kept,
        eigenvalue,
        bound=float(radius * CUBE * (x / scale).max()),
        small_enough=bool(radius / scale.min() <= np.log(CUBE)),
        delta=delta,
        expected=expected,
    )


def _expected(pairs: PairStats, x: FloatArray, per_worker: IntArray, n_classes: int) -> float:
    """Return the root mean square error over answers, to first order: least squares is off by H⁻¹g, g the pairs' noise.

    Pairs of a worker on one task share its answer, so that their noise adds up: with r peers an answer, r - 1 times the
    squared mean of s_j², of what the worker itself leaves open.
    """
    n, i, j, shared = len(x), pairs.i, pairs.j, pairs.shared.astype(np.float64)
    product = np.clip(x[i] * x[j], -1 / (n_classes - 1), 1.0)
    agreement = ((n_classes - 1) * product + 1) / n_classes
    variance = (n_classes / (n_classes - 1)) ** 2 * np.maximum(agreement * (1 - agreement), 0.25 / shared)
    told = pairs.by_worker(n, shared * x[j] ** 2, shared * x[i] ** 2)
    degree = np.maximum(pairs.by_worker(n, shared, shared), 1e-300)
    together = degree * np.maximum(degree / np.maximum(per_worker, 1) - 1, 0.0) * (told / degree) ** 2
    hessian, noise = np.zeros((n, n)), np.zeros((n, n))
    hessian[i, j] = hessian[j, i] = shared * x[i] * x[j]
    noise[i, j] = noise[j, i] = shared * x[i] * x[j] * variance
    np.fill_diagonal(hessian, told)
    own = pairs.by_worker(n, shared * variance * x[j] ** 2, shared * variance * x[i] ** 2)
    open_itself = np.maximum((x + 1 / (n_classes - 1)) * (1 - x), 0.0)  # 1 - s² for two classes
    np.fill_diagonal(noise, own + together * open_itself)
    informed = told > 0
    if not informed.any():
        return float("nan")
    inside = np.ix_(informed, informed)
    level = hessian[inside] + 1e-12 * np.diag(told[informed])  # a part with two sides leaves one direction open
    covariance = np.linalg.solve(level, np.linalg.solve(level, noise[inside]).T)
    squared = np.clip(np.diag(covariance), 0.0, 1.0)  # a skill is never off by more than about one
    share = per_worker[informed] / max(per_worker[informed].sum(), 1)
    return float(np.sqrt(share @ squared))
