"""The error of estimated skills: a bound by the paper's proof, the expected error, and the number of tasks needed.

The printed bound [Ma20, Theorem 12, pert] assumes the noise of the worst pair for every pair, and the least skill for
every skill, so for real crowds it is not informative. Its proof needs less. With v_i = sum_j N_ij Δ_ij, the noise of
the pairs of worker i, and z = ln x - ln s, H z = v for an H between the curvatures in a cube around x. With S² the
diagonal of the curvature and lambda the least eigenvalue of S⁻¹HS⁻¹, this gives ||S z|| <= ||S⁻¹v|| / lambda, in which
each pair has its own noise and each worker its own weight, without one kappa for all. The paper's threshold drops
guessers, whose ln x is arbitrary. The bound is for the limit of exponentiated gradient and uses estimated skills; it
holds only if the noise is small enough, which is tested.
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, Shown
from quorate.errors import OptionError, check_delta, count
from quorate.graph.components import identify_pairs
from quorate.graph.laplacian import MAX_DENSE_WORKERS, Parts, products
from quorate.graph.pairs import PairStats, exceeds_threshold

CUBE_FACTOR = 1.5  # the cube of the theorem extends from each skill divided by this to each skill times this


@dataclass(frozen=True, repr=False)
class SkillErrorBound(Shown):
    """Expected error of the skills, and a bound."""

    kept: BoolArray  # workers of the bound: the largest identifiable component of pairs above the guesser threshold
    eigenvalue: float  # lambda, of the curvature scaled by its diagonal: at most one; zero if bipartite
    bound: float  # on ||x - s||_2 of these workers, with probability 1 - delta
    small_enough: bool  # whether the noise is small enough for the bound to hold [Ma20, Lemma 16, int]
    delta: float
    expected: float  # root mean square error of a skill, weighted by answers, to first order; NaN if not known

    def summary(self) -> str:
        """Return a text with the expected error and the bound."""
        workers = count(int(self.kept.sum()), "worker")
        if not np.isfinite(self.expected):
            return f"The error of the skills is not known: {workers} can be compared"
        return f"Expected error of a skill {self.expected:.3g}; bound {self.bound:.3g} for {workers}"

    def tasks_needed(self, n_tasks: int, epsilon: float) -> int | None:
        """Return the number of additional tasks for an expected error of epsilon; None if the error is not known.

        They must be answered by the same workers in the same way.

        Raises:
            OptionError: epsilon is not above zero.
        """
        return _needed(n_tasks, self.expected, epsilon)

    def tasks_needed_for_sure(self, n_tasks: int, epsilon: float) -> int | None:
        """Return the number of additional tasks for a bound of epsilon, with probability 1 - delta; None if infinite.

        Raises:
            OptionError: epsilon is not above zero.
        """
        return _needed(n_tasks, self.bound, epsilon)


def _needed(n_tasks: int, error: float, epsilon: float) -> int | None:
    if not epsilon > 0:
        raise OptionError(f"epsilon must be a positive error of skills, got {epsilon:g}")
    if not np.isfinite(error):
        return None
    return int(np.ceil(max(n_tasks * ((error / epsilon) ** 2 - 1), 0.0)))  # errors are proportional to 1/sqrt(tasks)


def pair_error(
    pairs: PairStats, n_classes: int, skills: FloatArray, per_worker: IntArray, *, delta: float = 0.05
) -> SkillErrorBound:
    """Return the expected error of skills that were estimated from these pairs, and a bound.

    Args:
        pairs: workers who share tasks, and how often they agree.
        n_classes: M.
        skills: estimated skills; NaN where not determined.
        per_worker: number of answers of each worker.
        delta: probability with which the bound may fail.

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
    return pair_errors(Parts.concatenated([len(skills)], [pairs]), n_classes, skills, per_worker, delta=delta)[0]


def pair_errors(
    parts: Parts, n_classes: int, skills: FloatArray, per_worker: IntArray, *, delta: float = 0.05
) -> list[SkillErrorBound]:
    """Return `pair_error` of several components.

    >>> import quorate
    >>> from quorate.graph.pairs import pair_stats
    >>> crowd = quorate.simulate.crowd(2000, 10, 5, skills=np.linspace(0.3, 0.9, 10), seed=0)
    >>> a, x = crowd.answers, quorate.aggregate(crowd.answers, "rank-one").skills
    >>> two = Parts.concatenated([10, 10], [pair_stats(a)] * 2)
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
    kept_of_component = np.split(kept, np.cumsum(parts.size)[:-1])
    lists = [column.tolist() for column in (*figures, expected)]
    return [
        SkillErrorBound(workers, eigenvalue, bound, small_enough=fits, delta=delta, expected=error)
        for workers, eigenvalue, bound, fits, error in zip(kept_of_component, *lists, strict=True)
    ]


def _bounded(
    parts: Parts, n_classes: int, skills: FloatArray, delta: float
) -> tuple[BoolArray, tuple[FloatArray, FloatArray, BoolArray]]:
    """Return the workers of the bounds and, per component, eigenvalue, bound, and whether the noise is small enough."""
    known = ~np.isnan(skills) & (skills != 0)
    of_pair = np.repeat(parts.size, parts.n_pairs)
    strong = exceeds_threshold(parts.pairs, n_classes, of_pair, 0.0) & known[parts.pairs.i] & known[parts.pairs.j]
    identifiability = identify_pairs(parts.pairs.among(strong), parts.n_workers)
    good = np.flatnonzero(identifiability.identifiable & (identifiability.sizes > 2))  # the largest first
    first = np.unique(identifiability.component, return_index=True)[1]
    largest = good[np.unique(parts.of_worker[first[good]], return_index=True)[1]]
    kept = np.isin(identifiability.component, largest)
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
    # Bound of |Δ_ij| for all pairs together by Hoeffding's inequality: a_ijt has the range M/(M-1).
    spread = n_classes / (n_classes - 1)
    n_pairs = np.repeat(inner.n_pairs, inner.n_pairs)
    noise = spread * np.sqrt(np.log(2 * n_pairs / delta) / 2) * np.sqrt(shared)
    scaled_noise = inner.pairs.by_worker(len(x), noise) / scale
    n = len(parts.size)
    eigenvalue = np.zeros(n)
    bound = np.full(n, np.inf)
    small_enough = np.zeros(n, dtype=bool)
    for stack in inner.batched_components():
        scale_of_worker = scale[stack.workers]
        curvature = stack.matrices(weights, sums)
        curvature /= scale_of_worker[:, :, np.newaxis] * scale_of_worker[:, np.newaxis, :]
        # The curvature grows with the weights, so in the cube it is at least 1/CUBE_FACTOR² of this.
        least = np.maximum(np.linalg.eigvalsh(curvature)[:, 0], 0.0)
        length = np.sqrt(products(scaled_noise[stack.workers], scaled_noise[stack.workers])) * CUBE_FACTOR**2
        radius = np.divide(length, least, out=np.full(len(least), np.inf), where=least > 0)
        eigenvalue[stack.numbers] = least
        bound[stack.numbers] = radius * CUBE_FACTOR * (x[stack.workers] / scale_of_worker).max(axis=1)
        small_enough[stack.numbers] = radius / scale_of_worker.min(axis=1) <= np.log(CUBE_FACTOR)
    return kept, (eigenvalue, bound, small_enough)


def _expected(parts: Parts, x: FloatArray, per_worker: IntArray, n_classes: int) -> FloatArray:
    """Return the root mean square error of a skill, weighted by answers, of each component.

    To first order the error of least squares is H⁻¹g, with g the noise of the pairs. The pairs of a worker on one task
    share its answer, so their noise is correlated: with r peers per answer this adds r - 1 times the squared mean of
    s_j², times the variance of the worker's own answer.
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
    n_peers = degree / np.maximum(per_worker, 1)  # per answer
    correlated = degree * np.maximum(n_peers - 1, 0.0) * (information / degree) ** 2
    pair_noise = pairs.by_worker(n, shared * variance * x[j] ** 2, shared * variance * x[i] ** 2)
    own_variance = np.maximum((x + 1 / (n_classes - 1)) * (1 - x), 0.0)  # 1 - s² for two classes
    noise = pair_noise + correlated * own_variance
    both = shared * x[i] * x[j]
    expected = np.full(len(parts.size), np.nan)
    informed = information > 0
    inner, kept = parts.among(informed)
    diagonal = (information + 1e-12 * information)[informed]  # a ridge, because a bipartite component is singular
    for stack in inner.batched_components():
        curvature = stack.matrices(both[kept], diagonal)
        half = np.linalg.solve(curvature, stack.matrices((both * variance)[kept], noise[informed]))
        covariance = np.linalg.solve(curvature, half.swapaxes(1, 2))
        squared = np.clip(np.diagonal(covariance, axis1=1, axis2=2), 0.0, 1.0)  # errors above one are hardly possible
        answers = per_worker[informed][stack.workers]
        share = answers / np.maximum(answers.sum(axis=1, keepdims=True), 1)
        expected[stack.numbers] = np.sqrt(products(share, squared))
    return expected
