"""How far off skills are, in figures to act on: a bound by the paper's proof, the error to expect, tasks still needed.

The printed bound [Ma20, Theorem 12, pert] takes the noise of the worst pair for every pair, and the least skill for
every skill, so on real crowds it is empty. Its proof needs less. With v_i = sum_j N_ij Δ_ij, the noise of the pairs of
worker i, and z = ln x - ln s, it is H z = v for an H between the curvatures of a cube around x. So with S² the diagonal
of the curvature, ||S z|| <= ||S⁻¹v|| / lambda, lambda the least eigenvalue of S⁻¹HS⁻¹: each pair has its own noise,
each worker its own weight, and nobody sets kappa for all. The paper's threshold drops guessers, whose ln x is
arbitrary. It is about the limit of exponentiated gradient, skills are estimated, and the noise must be small enough,
which is checked.
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, Shown
from quorate.errors import OptionError, check_delta, count
from quorate.graph.components import identify_pairs
from quorate.graph.laplacian import MAX_DENSE_WORKERS, Parts, products
from quorate.graph.pairs import PairStats, stand_out

CUBE = 1.5  # the cube of the theorem reaches from each skill over this to each skill times this


@dataclass(frozen=True, repr=False)
class SkillErrorBound(Shown):
    """Expected error of the skills."""

    kept: BoolArray  # the workers the bound is about: the largest part of those whose pairs stand out from chance
    eigenvalue: float  # lambda, of the curvature in units of its diagonal: at most one, and zero for two sides
    bound: float  # on ||x - s||_2 of those, with probability 1 - delta
    small_enough: bool  # whether the noise is small enough for the bound to hold [Ma20, Lemma 16, int]
    delta: float
    expected: float  # root mean square error of a skill over answers, to first order; NaN where it is not known

    def summary(self) -> str:
        """State the expected error and the bound."""
        workers = count(int(self.kept.sum()), "worker")
        if not np.isfinite(self.expected):
            return f"The error of the skills is not known: {workers} can be compared"
        return f"Expected error of a skill {self.expected:.3g}; bound {self.bound:.3g} for {workers}"

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
        raise OptionError(f"epsilon must be a positive error of skills, got {epsilon:g}")
    if not np.isfinite(error):
        return None
    return int(np.ceil(max(n_tasks * ((error / epsilon) ** 2 - 1), 0.0)))  # errors fall as one over the root of tasks


def pair_error(
    pairs: PairStats, n_classes: int, skills: FloatArray, per_worker: IntArray, *, delta: float = 0.05
) -> SkillErrorBound:
    """Judge how far off skills are that these pairs gave.

    Args:
        pairs: workers who share tasks, and how often they agree.
        n_classes: M.
        skills: estimated; NaN where not determined.
        per_worker: how many answers each worker gave.
        delta: the probability with which the bound may fail.

    Raises:
        OptionError: delta is no probability.

    >>> import quorate
    >>> from quorate.graph.pairs import pair_stats
    >>> crowd = quorate.simulate.crowd(2000, 10, 5, skills=np.linspace(0.3, 0.9, 10), seed=0)
    >>> a, x = crowd.answers, quorate.aggregate(crowd.answers, "rank-one").skills
    >>> error = pair_error(pair_stats(a), 2, x, a.per_worker)
    >>> off = x - crowd.skills
    >>> bool(np.linalg.norm(off) <= error.bound), bool(0.5 < np.sqrt(np.mean(off**2)) / error.expected < 2)
    (True, True)
    >>> error.tasks_needed(2000, epsilon=error.expected / 2)
    6000
    """
    return pair_errors(Parts.beside([len(skills)], [pairs]), n_classes, skills, per_worker, delta=delta)[0]


def pair_errors(
    parts: Parts, n_classes: int, skills: FloatArray, per_worker: IntArray, *, delta: float = 0.05
) -> list[SkillErrorBound]:
    """Do the same for components side by side.

    >>> import quorate
    >>> from quorate.graph.pairs import pair_stats
    >>> crowd = quorate.simulate.crowd(2000, 10, 5, skills=np.linspace(0.3, 0.9, 10), seed=0)
    >>> a, x = crowd.answers, quorate.aggregate(crowd.answers, "rank-one").skills
    >>> two = Parts.beside([10, 10], [pair_stats(a)] * 2)
    >>> one, same = pair_errors(two, 2, np.tile(x, 2), np.tile(a.per_worker, 2))
    >>> one.bound == same.bound == pair_error(pair_stats(a), 2, x, a.per_worker).bound
    True
    """
    check_delta(delta)
    n = len(parts.size)
    small = (parts.size <= MAX_DENSE_WORKERS) & (n_classes > 1)
    inside = small[parts.of_worker]
    asked, _ = parts.among(inside)
    kept = np.zeros(parts.n_workers, dtype=bool)
    figures = (np.zeros(n), np.full(n, np.inf), np.zeros(n, dtype=bool))
    expected = np.full(n, np.nan)
    if inside.any():
        kept[inside], figures = _bounded(asked, n_classes, skills[inside], delta)
        expected = _expected(asked, np.nan_to_num(skills[inside]), per_worker[inside], n_classes)
    whom = np.split(kept, np.cumsum(parts.size)[:-1])
    lists = [column.tolist() for column in (*figures, expected)]
    return [
        SkillErrorBound(worker, eigenvalue, bound, small_enough=fits, delta=delta, expected=error)
        for worker, eigenvalue, bound, fits, error in zip(whom, *lists, strict=True)
    ]


def _bounded(
    parts: Parts, n_classes: int, skills: FloatArray, delta: float
) -> tuple[BoolArray, tuple[FloatArray, FloatArray, BoolArray]]:
    """Return whom the bound of each component is about, its eigenvalue, the bound, and if the noise is small enough."""
    known = ~np.isnan(skills) & (skills != 0)
    of_pair = np.repeat(parts.size, parts.n_pairs)
    strong = stand_out(parts.pairs, n_classes, of_pair, 0.0) & known[parts.pairs.i] & known[parts.pairs.j]
    verdict = identify_pairs(parts.pairs.among(strong), parts.n_workers)
    good = np.flatnonzero(verdict.identifiable & (verdict.sizes > 2))  # the largest first
    first = np.unique(verdict.component, return_index=True)[1]
    largest = good[np.unique(parts.of_worker[first[good]], return_index=True)[1]]
    kept = np.isin(verdict.component, largest)
    inner, _ = parts.among(kept, strong)
    i = inner.pairs.i
    j = inner.pairs.j
    x = np.abs(skills[kept])
    shared = inner.pairs.shared.astype(np.float64)
    weights = shared * x[i] * x[j]
    ends = np.concatenate([i, j])
    partners = np.concatenate([j, i])
    row_by_row = np.lexsort([partners, ends])
    sums = np.add.reduceat(np.tile(weights, 2)[row_by_row], np.unique(ends[row_by_row], return_index=True)[1])
    scale = np.sqrt(sums)
    # |Δ_ij| of all pairs at once, by Hoeffding's inequality: an a_ijt has a range of M/(M-1).
    spread = n_classes / (n_classes - 1)
    n_pairs = np.repeat(inner.n_pairs, inner.n_pairs)
    noise = spread * np.sqrt(np.log(2 * n_pairs / delta) / 2) * np.sqrt(shared)
    pull = inner.pairs.by_worker(len(x), noise) / scale
    n = len(parts.size)
    eigenvalue = np.zeros(n)
    bound = np.full(n, np.inf)
    small_enough = np.zeros(n, dtype=bool)
    for stack in inner.batched_components():
        scale_of_worker = scale[stack.workers]
        level = stack.matrices(weights, sums) / (scale_of_worker[:, :, np.newaxis] * scale_of_worker[:, np.newaxis, :])
        # Over the cube the curvature is 1/CUBE² of this at the least: it grows with the weights.
        least = np.maximum(np.linalg.eigvalsh(level)[:, 0], 0.0)
        length = np.sqrt(products(pull[stack.workers], pull[stack.workers])) * CUBE**2
        radius = np.divide(length, least, out=np.full(len(least), np.inf), where=least > 0)
        eigenvalue[stack.numbers] = least
        bound[stack.numbers] = radius * CUBE * (x[stack.workers] / scale_of_worker).max(axis=1)
        small_enough[stack.numbers] = radius / scale_of_worker.min(axis=1) <= np.log(CUBE)
    return kept, (eigenvalue, bound, small_enough)


def _expected(parts: Parts, x: FloatArray, per_worker: IntArray, n_classes: int) -> FloatArray:
    """Return the root mean square error over answers, to first order: least squares is off by H⁻¹g, g the pairs' noise.

    Pairs of a worker on one task share its answer, so that their noise adds up: with r peers an answer, r - 1 times the
    squared mean of s_j², of what the worker itself leaves open.
    """
    pairs = parts.pairs
    n = len(x)
    i = pairs.i
    j = pairs.j
    shared = pairs.shared.astype(np.float64)
    product = np.clip(x[i] * x[j], -1 / (n_classes - 1), 1.0)
    agreement = ((n_classes - 1) * product + 1) / n_classes
    variance = (n_classes / (n_classes - 1)) ** 2 * np.maximum(agreement * (1 - agreement), 0.25 / shared)
    information = pairs.by_worker(n, shared * x[j] ** 2, shared * x[i] ** 2)
    degree = np.maximum(pairs.by_worker(n, shared, shared), 1e-300)
    together = degree * np.maximum(degree / np.maximum(per_worker, 1) - 1, 0.0) * (information / degree) ** 2
    pair_noise = pairs.by_worker(n, shared * variance * x[j] ** 2, shared * variance * x[i] ** 2)
    open_itself = np.maximum((x + 1 / (n_classes - 1)) * (1 - x), 0.0)  # 1 - s² for two classes
    noise = pair_noise + together * open_itself
    both = shared * x[i] * x[j]
    expected = np.full(len(parts.size), np.nan)
    informed = information > 0
    inner, kept = parts.among(informed)
    level = (information + 1e-12 * information)[informed]  # a part with two sides leaves one direction open
    for stack in inner.batched_components():
        curvature = stack.matrices(both[kept], level)
        half = np.linalg.solve(curvature, stack.matrices((both * variance)[kept], noise[informed]))
        covariance = np.linalg.solve(curvature, half.swapaxes(1, 2))
        squared = np.clip(np.diagonal(covariance, axis1=1, axis2=2), 0.0, 1.0)  # a skill is hardly off by more than one
        answers = per_worker[informed][stack.workers]
        share = answers / np.maximum(answers.sum(axis=1, keepdims=True), 1)
        expected[stack.numbers] = np.sqrt(products(share, squared))
    return expected
