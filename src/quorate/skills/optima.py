"""Which optimum: descents from several starts, the least loss kept, and whether another is nearly as good.

From a positive start, descent on exact correlations of positive skills ends at the skills [Ma20, Thm noiselessPGD].
With noise, or where skills have both signs, it can end elsewhere. So a descent starts where the logarithms of the
correlations lead, ln|C_ij| = z_i + z_j: that is linear, and exact where the correlations are, as the proof of
learnability is [Ma20, Lemma asylearn]. Then groups of workers that hang on little evidence are turned round, and
descent goes on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.meetings.graph import breadth_first_tree
from quorate.skills.coordinate import coordinate_descent
from quorate.skills.newton import DENSE
from quorate.skills.objective import Problem
from quorate.skills.signs import strongest_tree, weighed_signs
from quorate.skills.solution import Rival, Solution

# Two optima are nearly as good if their losses are no further apart than this, in units of the noise (the loss of a
# pair is about 1/2 by chance): half the 95 % point of chi-squared, what a likelihood-ratio test would not tell apart.
NEARLY = 1.92
DIFFERENT = 0.1  # of a skill: what makes it another one
FLAT = 0.1  # least curvature below which a landscape is flat
TURNS = 32  # tries without a lower loss before the search ends; the experiment `least-loss` counts how often that fails
COORDINATE = "coordinate"  # the name of the solver that looks round
LEAST = 1e-3  # below it, the logarithm of a correlation is noise


@dataclass(frozen=True)
class PairTable:
    """Every pair that counts, and how large chance makes its part of the loss."""

    i: IntArray
    j: IntArray
    weights: FloatArray
    correlation: FloatArray
    noise: float = 1.0  # of sqrt(weight)·correlation, squared: one for weights N_ij


Run = Callable[[FloatArray | None], Solution]  # a start, or None for the usual one -> where descent ends


def least(problem: Problem, pairs: PairTable, run: Run, *, turns: int = TURNS) -> Solution:
    """Descend from several starts, and keep the least loss.

    Args:
        problem: what is minimised.
        pairs: what it is made of.
        run: the descent.
        turns: tries without a lower loss before the search ends.

    Returns:
        The best solution, with all sweeps counted, and its rival if another optimum is nearly as good.

    >>> from quorate.skills import coordinate_descent
    >>> from quorate.skills.examples import triangle
    >>> problem = triangle([0.8, -0.6, 0.5])
    >>> pairs = PairTable(*problem.moments.table())
    >>> least(problem, pairs, lambda start: coordinate_descent(problem, start)).skills.round(4).tolist()
    [0.8, -0.6, 0.5]
    """
    begin = logarithmic_start(problem, pairs)
    found = [run(begin)]
    floor = (problem.moments.energy - float(pairs.weights @ pairs.correlation**2)) / 2
    if found[0].loss > floor + max(problem.rounding, 1e-9 * pairs.noise):  # otherwise all pairs are met exactly
        found.append(run(None))
        if found[0].converged and found[0].solver != COORDINATE:  # what that finds, the others need not miss
            other = coordinate_descent(problem, begin)
            found += [other, run(other.skills)]
    best = min((each for each in found if each.solver == found[0].solver), key=lambda each: each.loss)
    is_better = True
    while is_better:
        is_better = False
        for start in islice(_elsewhere(problem, best, pairs), turns):
            # Coordinate descent looks round, whatever the solver: it takes the fewest sweeps to where a turn leads.
            found.append(coordinate_descent(problem, _anchored(problem, pairs, start)))
            if found[-1].loss < best.loss - max(problem.rounding, 1e-9 * pairs.noise):
                best, is_better = run(found[-1].skills), True
                found.append(best)
                break
    sweeps = sum(each.iterations for each in found)
    return replace(best, iterations=sweeps, rival=_rival(best, found, pairs))


def logarithmic_start(problem: Problem, pairs: PairTable) -> FloatArray:
    """Fit ln|C_ij| = z_i + z_j by least squares, weights N_ij C_ij², and give each skill the sign of its evidence.

    >>> from quorate.skills.examples import triangle
    >>> problem = triangle([0.8, -0.6, 0.5])
    >>> logarithmic_start(problem, PairTable(*problem.moments.table())).round(9).tolist()
    [0.8, -0.6, 0.5]
    """
    i, j, n = pairs.i, pairs.j, problem.moments.n_workers
    size = np.maximum(np.abs(pairs.correlation), LEAST)
    weight = pairs.weights * size**2
    known = problem.lower == problem.upper  # gold: its logarithm is given
    given = np.where(known, np.log(np.maximum(problem.upper, LEAST)), np.nan)
    z = logarithms(n, i, j, weight, np.log(size), given)
    x = np.exp(np.clip(z, np.log(LEAST), np.log(np.maximum(problem.upper, LEAST))))
    sign = weighed_signs(n, i, j, pairs.weights * pairs.correlation * x[i] * x[j]).sign
    return _anchored(problem, pairs, sign * x)


def logarithms(
    n: int, i: IntArray, j: IntArray, weight: FloatArray, target: FloatArray, given: FloatArray | None = None
) -> FloatArray:
    """Fit z_i + z_j to the targets by weighted least squares; what is given of z (not NaN) stays.

    >>> logarithms(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3), np.array([3.0, 4.0, 5.0])).round(9).tolist()
    [1.0, 2.0, 3.0]
    """
    free = np.ones(n, dtype=bool) if given is None else np.isnan(given)
    z = np.zeros(n) if given is None else np.nan_to_num(given)
    for _ in range(3):  # each round mends what rounding left of the last
        z += _signless_solve(n, i, j, weight, weight * (target - z[i] - z[j]), free)
    return z


def _anchored(problem: Problem, pairs: PairTable, x: FloatArray) -> FloatArray:
    """Turn each component so that a known skill in it has its sign, and keep to the box."""
    known = problem.lower == problem.upper
    component = _components(pairs, len(x))
    wrong = np.bincount(component[known], x[known] * problem.upper[known], minlength=int(component.max()) + 1) < 0
    return problem.clip(np.where(wrong[component], -x, x))


def _components(pairs: PairTable, n: int) -> IntArray:
    from scipy import sparse
    from scipy.sparse import csgraph

    links = sparse.coo_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=(n, n))
    component: IntArray = csgraph.connected_components(links.tocsr(), directed=False)[1]
    return component


def _signless_solve(
    n: int, i: IntArray, j: IntArray, weight: FloatArray, residual: FloatArray, free: BoolArray
) -> FloatArray:
    """Solve L_s z = sums of the residuals, L_s the signless Laplacian of these weights; bipartite parts as well."""
    target = np.bincount(i, residual, n) + np.bincount(j, residual, n)
    scale = np.bincount(i, weight, n) + np.bincount(j, weight, n)
    free = free & (scale > 0)
    root = np.sqrt(np.where(free, scale, 1.0))
    z = np.zeros(n)
    if n <= DENSE:
        matrix = np.zeros((n, n))
        matrix[i, j] = matrix[j, i] = weight
        np.fill_diagonal(matrix, scale)
        scaled = (matrix / np.outer(root, root))[np.ix_(free, free)]
        values, vectors = np.linalg.eigh(scaled)
        kept = values > 1e-13 * len(values)  # a bipartite part leaves one direction open: the least solution there
        z[free] = vectors[:, kept] @ ((vectors[:, kept].T @ (target / root)[free]) / values[kept]) / root[free]
        return z
    from scipy import sparse
    from scipy.sparse.linalg import cg

    upper = sparse.coo_array((weight, (i, j)), shape=(n, n))
    matrix = upper + upper.T + sparse.diags_array(scale)
    scaled = (sparse.diags_array(1 / root) @ matrix @ sparse.diags_array(1 / root)).tocsr()[free][:, free]
    z[free] = cg(scaled, (target / root)[free], rtol=1e-6, maxiter=200)[0] / root[free]
    return z


def _elsewhere(problem: Problem, best: Solution, pairs: PairTable) -> Iterator[FloatArray]:
    """Yield where else to start: with a group turned round, and with one worker as skilled as can be.

    The groups are those that hang on least: the parts into which the strongest tree falls without one of its edges.
    Once a group is turned, the pairs that joined it to the rest contradict it, and the best they can do is to go to
    zero, at a loss of N_ij C_ij²/2; so only groups are tried that would lose no more than they do now, or little more.
    One worker alone is a group only where the landscape is flat, and the others follow: given them, its best skill is
    one. There, too, peers can rise where their peers fall, until somebody is as skilled as can be; who that is makes an
    optimum of its own, and those with most to tell are tried first.
    """
    x, n = best.skills, len(best.skills)
    if n > DENSE:
        return
    i, j, c = pairs.i, pairs.j, pairs.correlation
    fitted = x[i] * x[j]
    given_up = np.where(c * fitted > 0, pairs.weights * c**2 / 2, 0.0)
    cost = np.zeros((n, n))
    cost[i, j] = cost[j, i] = given_up - pairs.weights * (c - fitted) ** 2 / 2
    side = _sides(n, i, j, pairs.weights * np.abs(c * fitted))
    is_flat = _flatness(n, pairs, x) < FLAT
    if not is_flat:
        side = side[side.sum(axis=1) > 1]
    rise = ((side @ cost) * (1 - side)).sum(axis=1)
    order = np.argsort(rise, kind="stable")
    turned = (np.where(side[k] > 0, -x, x) for k in order[rise[order] <= NEARLY * pairs.noise])
    tells = np.bincount(i, pairs.weights * c**2, n) + np.bincount(j, pairs.weights * c**2, n)
    rising = [k for k in np.argsort(-tells, kind="stable") if is_flat and abs(x[k]) < problem.upper[k]]
    raised = (np.where(np.arange(n) == k, np.copysign(problem.upper[k], x[k]), x) for k in rising)
    for pair in zip_longest(turned, raised):
        yield from (start for start in pair if start is not None)


def _flatness(n: int, pairs: PairTable, x: FloatArray) -> float:
    """Return the least curvature of the loss, each skill in units of its own: at most two, and near zero where flat."""
    i, j = pairs.i, pairs.j
    told = np.bincount(i, pairs.weights * x[j] ** 2, n) + np.bincount(j, pairs.weights * x[i] ** 2, n)
    root = np.sqrt(np.maximum(told, 1e-300))
    hessian = np.eye(n)
    hessian[i, j] = hessian[j, i] = pairs.weights * (2 * x[i] * x[j] - pairs.correlation) / (root[i] * root[j])
    informed = told > 0
    return float(np.linalg.eigvalsh(hessian[np.ix_(informed, informed)])[0]) if informed.any() else 0.0


def _sides(n: int, i: IntArray, j: IntArray, strength: FloatArray) -> FloatArray:
    """Return, for each edge of the strongest tree, the workers below it, and each worker alone: ones and zeros."""
    on_tree = strongest_tree(n, i, j, strength)
    tree_i, tree_j = i[on_tree], j[on_tree]
    below = np.eye(n)
    alone = below.copy()
    order: list[tuple[int, int]] = []
    seen: set[int] = set()
    for root in range(n):
        if root not in seen:
            tree = breadth_first_tree(n, tree_i, tree_j, root=root)
            seen |= set(tree)
            order += [(worker, parent) for worker, parent in tree.items() if parent >= 0]
    for worker, parent in reversed(order):
        below[parent] += below[worker]
    groups = [worker for worker, _ in order if below[worker].sum() > 1]
    return np.concatenate([below[groups], alone])


def _rival(best: Solution, found: list[Solution], pairs: PairTable) -> Rival | None:
    """Find the nearest other optimum, if it is nearly as good; a whole component turned round is no other."""
    nearest: Rival | None = None
    for each in found:
        excess = (each.loss - best.loss) / pairs.noise
        if not each.converged or excess > NEARLY or (nearest is not None and excess >= nearest.excess):
            continue
        away = _apart(best.skills, each.skills, pairs)
        if np.any(away > DIFFERENT):
            nearest = Rival(max(float(excess), 0.0), int((away > DIFFERENT).sum()), float(away.max()))
    return nearest


def _apart(one: FloatArray, two: FloatArray, pairs: PairTable) -> FloatArray:
    """Return how far apart skills are, each component turned to where they are nearest."""
    component = _components(pairs, len(one))
    alike = np.bincount(component, one * two) >= 0
    gap: FloatArray = np.abs(one - np.where(alike[component], two, -two))
    return gap
