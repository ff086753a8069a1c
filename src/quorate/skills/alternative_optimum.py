"""One alternative optimum of the rank-one objective, compared with the end of the gradient flow group by group.

If the skills are positive and the correlations exact, the flow from a positive start ends at the skills [Ma20,
Theorem 11, thm:noiselessPGD]. With noise, or with skills of both signs, another optimum can have a lower loss. A lower
loss is no evidence by itself: if few tasks connect a group of workers to the others, chance decides which sign of their
skills fits better. So the other optimum is adopted only if its gain in log-likelihood exceeds the prior cost of its
additional negative workers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, distinct
from quorate.blocks.numpy_kernels import unite
from quorate.graph.laplacian import MAX_TABLE_WORKERS, symmetric, symmetric_table
from quorate.graph.pairs import sums_of_ends
from quorate.skills.objective import AlternativeOptimum, Problem, Solution
from quorate.skills.signs import tree_signs

if TYPE_CHECKING:
    from scipy import sparse

# Prior share of workers of negative skill. Of the 2,444 workers of the public sets whose skill differs from zero
# (|z| > 2.6), 87 are negative (3.6 %). Each additional negative worker costs the log odds, log 19 nats.
NEGATIVE_SHARE = 0.05
NATS_PER_NEGATIVE_WORKER = float(np.log((1 - NEGATIVE_SHARE) / NEGATIVE_SHARE))
# Half the 95 % point of chi-squared with one degree of freedom: a smaller gain may be chance (likelihood-ratio test).
CHANCE_NATS = 1.92
MIN_DIFFERENCE = 0.1  # two optima whose estimates of a skill differ by less agree on it
MIN_CORRELATION = 1e-3  # smaller correlations are raised to it, because their logarithm is noise
EXACT_FIT = 1e-12  # relative to the weighted sum of squared correlations: a smaller loss is rounding
MAX_CHECKED_WORKERS = 2_000  # larger crowds are not checked, because each group takes a descent
MAX_CHECKED_GROUPS = 50  # only the largest groups are checked


@dataclass(frozen=True)
class PairTable:
    """All pairs with their weights and correlations, and the variance of a correlation of weight one at skill zero."""

    i: IntArray
    j: IntArray
    weights: FloatArray
    correlation: FloatArray
    noise: float = 1.0  # 1/(M-1) for weights N_ij

    def loss(self, x: FloatArray) -> float:
        """Return half the weighted sum of squared residuals."""
        return 0.5 * float(self.weights @ (self.correlation - x[self.i] * x[self.j]) ** 2)


Descent = Callable[[FloatArray], Solution]  # start -> end of the flow from this start


def check_alternative(problem: Problem, pairs: PairTable, solution: Solution, descend: Descent) -> Solution:
    """Compare a solution with one alternative optimum, and adopt the groups whose gain exceeds their prior cost.

    The alternative is the end of the flow from `logarithmic_start`. The workers whose skill has the other sign there
    are split into connected groups. Each group alone is flipped, the flow is continued, and its gain is compared.

    Args:
        problem: what is minimised.
        pairs: its pair table.
        solution: the end of the flow from the positive start, components oriented by the sum rule.
        descend: follows the flow from a start.

    Returns:
        The solution, with the adopted groups flipped and the groups to report in `alternatives`.

    >>> from quorate.skills.objective import triangle
    >>> from quorate.skills.gradient_flow import follow_gradient_flow
    >>> problem = triangle([0.8, 0.6, 0.5])
    >>> pairs = PairTable(*problem.moments.table())
    >>> descend = lambda start: follow_gradient_flow(problem, start)
    >>> check_alternative(problem, pairs, follow_gradient_flow(problem), descend).alternatives
    ()
    """
    n = len(solution.skills)
    if n > MAX_CHECKED_WORKERS or len(pairs.i) == 0:
        return solution
    alternative = descend(logarithmic_start(problem, pairs))
    sweeps = solution.iterations + alternative.iterations
    exact = EXACT_FIT * float(pairs.weights @ pairs.correlation**2)
    n_connected = len(distinct(np.concatenate([pairs.i, pairs.j])))
    fits_exactly = pairs.loss(alternative.skills) <= exact < pairs.loss(solution.skills)
    if fits_exactly and len(pairs.i) > n_connected:  # with as many pairs as workers, an exact fit is no evidence
        return replace(alternative, iterations=sweeps)
    current = solution
    reported = []
    component = _components(pairs.i, pairs.j, n)
    other_skills = _align_signs(problem, component, solution.skills, alternative.skills)
    for group in _groups_of_other_sign(pairs, solution.skills, other_skills):
        start = current.skills.copy()
        start[group] = other_skills[group]
        flipped = descend(start)
        sweeps += flipped.iterations
        flipped = replace(flipped, skills=_align_signs(problem, component, current.skills, flipped.skills))
        difference = np.abs(flipped.skills - current.skills)
        gain = (pairs.loss(current.skills) - pairs.loss(flipped.skills)) / pairs.noise
        n_more_negative = int((flipped.skills < 0).sum()) - int((current.skills < 0).sum())
        required = max(NATS_PER_NEGATIVE_WORKER * n_more_negative, 0.0) + CHANCE_NATS
        is_adopted = gain > required
        if gain > -CHANCE_NATS and difference.max() > MIN_DIFFERENCE:
            reported.append(
                AlternativeOptimum(
                    gain=gain,
                    required=required,
                    n_workers=int((difference > MIN_DIFFERENCE).sum()),
                    difference=float(difference.max()),
                    is_adopted=is_adopted,
                )
            )
        if is_adopted:
            current = flipped
    return replace(current, iterations=sweeps, alternatives=tuple(reported))


def _align_signs(problem: Problem, component: IntArray, reference: FloatArray, skills: FloatArray) -> FloatArray:
    """Return the skills with every component flipped whose product with the reference is negative.

    A component in which all skills are flipped is the same optimum. Components with a known skill (gold) or with a
    skill that the box does not allow to flip stay unchanged.
    """
    is_fixed = problem.lower == problem.upper
    outside = (-skills < problem.lower) | (-skills > problem.upper) | is_fixed
    can_flip = np.bincount(component, outside) == 0
    is_flipped = (np.bincount(component, reference * skills) < 0) & can_flip
    return np.where(is_flipped[component], -skills, skills)


def _groups_of_other_sign(pairs: PairTable, one: FloatArray, two: FloatArray) -> list[IntArray]:
    """Return the connected groups of workers whose skills have opposite signs, the largest first."""
    differs = one * two < 0
    inside = differs[pairs.i] & differs[pairs.j]
    component = _components(pairs.i[inside], pairs.j[inside], len(one))
    numbers, sizes = np.unique(component[differs], return_counts=True)
    largest = numbers[np.argsort(-sizes, kind="stable")][:MAX_CHECKED_GROUPS]
    return [np.flatnonzero(differs & (component == number)) for number in largest]


def logarithmic_start(problem: Problem, pairs: PairTable) -> FloatArray:
    """Return skills from the least-squares fit ln|C_ij| = z_i + z_j with weights N_ij C_ij².

    Their signs follow the strongest spanning tree. With exact correlations these are the skills, as in the proof of
    identifiability [Ma20, Lemma 9, asylearn]. A component is flipped if its skills sum to less than zero, or, if it
    contains known skills (gold), if these have the other sign.

    >>> from quorate.skills.objective import triangle
    >>> problem = triangle([0.8, -0.6, 0.5])
    >>> logarithmic_start(problem, PairTable(*problem.moments.table())).round(6).tolist()
    [0.8, -0.6, 0.5]
    """
    n = problem.moments.n_workers
    i = pairs.i
    j = pairs.j
    size = np.maximum(np.abs(pairs.correlation), MIN_CORRELATION)
    is_known = problem.lower == problem.upper
    known_logs = np.where(is_known, np.log(np.maximum(problem.upper, MIN_CORRELATION)), np.nan)
    z = fit_logarithms(n, i, j, pairs.weights * size**2, np.log(size), known_logs)
    x = np.exp(np.clip(z, np.log(MIN_CORRELATION), np.log(np.maximum(problem.upper, MIN_CORRELATION))))
    x = x * tree_signs(n, i, j, pairs.weights * pairs.correlation * x[i] * x[j])
    component = _components(i, j, n)
    total = np.bincount(component, x)
    has_known = np.zeros(len(total), dtype=bool)
    has_known[component[is_known]] = True
    known_total = np.bincount(component[is_known], (x * problem.upper)[is_known], minlength=len(total))
    is_flipped = np.where(has_known, known_total < 0, total < 0)
    return problem.clip(np.where(is_flipped[component], -x, x))


def fit_logarithms(
    n: int, i: IntArray, j: IntArray, weights: FloatArray, target: FloatArray, known: FloatArray | None = None
) -> FloatArray:
    """Return z such that z_i + z_j fits the targets by weighted least squares; entries of `known` other than NaN stay.

    In a bipartite component one direction of z is not determined; along it the fit stays near zero.

    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> fit_logarithms(3, i, j, np.ones(3), np.array([3.0, 4.0, 5.0])).round(6).tolist()
    [1.0, 2.0, 3.0]
    """
    is_free: BoolArray = np.ones(n, dtype=bool) if known is None else np.isnan(known)
    z = np.zeros(n) if known is None else np.nan_to_num(known)
    scale = sums_of_ends(n, i, j, weights)
    is_free = is_free & (scale > 0)
    free_workers = np.flatnonzero(is_free)
    if len(free_workers) == 0:
        return z
    # With a small ridge, because the matrix of a bipartite component is singular.
    diagonal = (scale + 1e-9 * scale)[free_workers]
    position = np.cumsum(is_free) - 1
    inside = is_free[i] & is_free[j]
    pairs = (position[i[inside]], position[j[inside]], weights[inside])
    solve: Callable[[FloatArray], FloatArray]
    if len(free_workers) <= MAX_TABLE_WORKERS:
        solve = partial(np.linalg.solve, symmetric_table(len(free_workers), *pairs) + np.diag(diagonal))
    else:
        solve = _sparse_solver(symmetric(len(free_workers), *pairs), diagonal)
    for _ in range(3):  # iterative refinement: the ridge and rounding make each solution inexact
        residual = weights * (target - z[i] - z[j])
        right = sums_of_ends(n, i, j, residual)[free_workers]
        z[free_workers] += solve(right)
    return z


def _sparse_solver(matrix: "sparse.csr_array", diagonal: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return a function that solves the system of a matrix plus a diagonal, by factorisation or conjugate gradients."""
    from scipy import sparse
    from scipy.sparse.linalg import cg, splu

    n = len(diagonal)
    system = (matrix + sparse.diags_array(diagonal, format="csr")).tocsc()
    n_left = min(n, max(matrix.nnz - 2 * n, 0))
    if n_left <= MAX_CHECKED_WORKERS:
        factor: Callable[[FloatArray], FloatArray] = splu(system).solve
        return factor
    return lambda right: cg(system, right, rtol=1e-6, maxiter=200)[0]


def _components(i: IntArray, j: IntArray, n: int) -> IntArray:
    """Number the connected components in the order of their first workers."""
    first = np.arange(n)
    unite(first, i, j)
    return np.unique(first, return_inverse=True)[1]
