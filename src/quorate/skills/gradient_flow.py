"""The gradient flow x' = -grad L inside the box, followed by linearly implicit steps (I + hH) d = -h grad L.

Projected gradient descent [Ma20, Section 4.1 PGD] is the explicit Euler method for this flow. An implicit step can be
long where the flow is nearly straight, so the same limit is reached in tens of steps instead of thousands of sweeps; as
h grows the step becomes Newton's. Coordinate descent has another metric, in which a worker with few shared tasks moves
as fast as one with many, and ended at another optimum in 29 % of sparse crowds (measured with a reference
implementation). `python -m experiments.rank_one.accuracy` shows that the flow and gradient descent end at the same
point.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.blocks.numpy_kernels import unite
from quorate.errors import OptionError
from quorate.graph.pairs import sums_of_ends
from quorate.progress import listener
from quorate.skills.conjugate_gradients import truncated_cg
from quorate.skills.coordinate import coordinate_descent
from quorate.skills.objective import CAPPED, CONVERGED, STALLED, Problem, Solution

# Step control, chosen for the accuracy of the prototype in docs/theory.md: longer steps leave the flow, shorter ones
# cost time.
MAX_MOVE = 0.1  # of a skill in one step; after a longer move the next step is shorter
MAX_ACCEPTED_MOVE = 0.25  # of a skill in one step; a longer move is rejected
GROWTH = 1.7  # factor on h after an accepted step
SHRINK = 3.0  # divisor of h after a step that moves too far or raises the loss
SHRINK_INDEFINITE = 4.0  # divisor of h if I + hH is not positive definite: the step leaves the convex neighbourhood
MAX_STATIONARY_MOVE = 1e-7  # Newton steps begin when no skill moves more, although h exceeds the inverse curvatures
NEWTON_STEP = 1e9  # h times the greatest curvature in a Newton step: I + hH is hH, except along flat directions
# A smaller move of a skill is rounding: sums over some thousand pairs, of skills that are at most one.
MAX_ROUNDING_MOVE = 1e-12
# A factorisation is used up to this number of workers (4 ms at 500), above it conjugate gradients. Only workers that
# are left after the elimination of workers with one or two peers count: at most 2 (pairs - workers).
MAX_FACTORED_WORKERS = 500
DENSE_SHARE = 1 / 20  # pairs / workers² above which a dense factorisation takes less time than a sparse one
# Maximum number of steps by conjugate gradients; then coordinate descent continues. Among 100,000 workers with five
# answers each, some worker always moves, so the steps stay short (100 steps take 10 s; with 20,000 workers the flow
# ends after 40).
MAX_CG_STEPS = 60
MAX_CG_PRODUCTS = 200  # per step
CG_RESIDUAL = 1e-3  # relative to the right-hand side; steps are repeated, so each may be inexact


@dataclass(frozen=True)
class _Pairs:
    """The pair table of a problem, with the linear algebra of one implicit step."""

    n: int
    i: IntArray
    j: IntArray
    weights: FloatArray
    correlation: FloatArray

    def at_workers(self, for_i: FloatArray, for_j: FloatArray | None = None) -> FloatArray:
        """Sum values of pairs over the pairs of each worker: `for_i` as worker i, `for_j` (default: `for_i`) as j."""
        return sums_of_ends(self.n, self.i, self.j, for_i, for_j)

    @property
    def is_factored(self) -> bool:
        """Whether the system of a step is solved by a factorisation."""
        n_left = min(self.n, max(2 * (len(self.i) - self.n), 0))
        return n_left <= MAX_FACTORED_WORKERS

    def in_moving_components(self, moves: FloatArray, free: BoolArray) -> BoolArray:
        """Return which workers are in a component of free workers in which a worker moves by more than rounding.

        Equal workers take equal steps, so the flow of a component can end at a saddle, as projected gradient descent
        does. There I + hH is not positive definite for larger h. If such a component were not left out, it would keep
        the steps of all other components short: a path of 500 workers, cut into pieces by the bounds of the box, took
        12 s.
        """
        inside = free[self.i] & free[self.j]
        root = np.arange(self.n)
        unite(root, self.i[inside], self.j[inside])
        moving = np.bincount(root, moves > MAX_ROUNDING_MOVE, minlength=self.n) > 0
        is_moving: BoolArray = moving[root]
        return is_moving

    def loss(self, x: FloatArray) -> float:
        """Return half the weighted sum of squared residuals."""
        return 0.5 * float(self.weights @ (self.correlation - x[self.i] * x[self.j]) ** 2)

    def solve(self, free: BoolArray, off: FloatArray, diagonal: FloatArray, target: FloatArray) -> FloatArray | None:
        """Solve A d = target over the free workers; return None if A is not positive definite."""
        off = off * (free[self.i] & free[self.j])
        diagonal = np.where(free, diagonal, 1.0)
        target = np.where(free, target, 0.0)
        if not self.is_factored:
            return self._conjugate_gradients(off, diagonal, target)
        if len(self.i) > DENSE_SHARE * self.n**2:
            return self._dense(off, diagonal, target)
        return self._sparse(off, diagonal, target)

    def _dense(self, off: FloatArray, diagonal: FloatArray, target: FloatArray) -> FloatArray | None:
        matrix = np.diag(diagonal)
        matrix[self.i, self.j] = off
        matrix[self.j, self.i] = off
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return None
        # A second factorisation, of at most MAX_FACTORED_WORKERS rows, takes less time than the import of scipy.linalg.
        return np.asarray(np.linalg.solve(matrix, target), dtype=np.float64)

    @cached_property
    def _position(self) -> IntArray:
        """Position of each worker in a minimum-degree order; cached, because it takes as long as a factorisation."""
        from scipy import sparse

        from quorate.graph.laplacian import signless_laplacian

        pattern = signless_laplacian(self.n, self.i, self.j) + sparse.eye_array(self.n)
        position: IntArray = _factor(pattern.tocsc(), "MMD_AT_PLUS_A").perm_c
        return position

    @cached_property
    def _layout(self) -> tuple[IntArray, IntArray, IntArray]:
        """Order of the values (off, off, diagonal) in compressed sparse columns, their rows, and the column starts."""
        row = self._position[np.concatenate([self.i, self.j, np.arange(self.n)])]
        column = self._position[np.concatenate([self.j, self.i, np.arange(self.n)])]
        order = np.lexsort([row, column])
        return order, row[order].astype(np.int32), starts_of(np.bincount(column, minlength=self.n)).astype(np.int32)

    def _sparse(self, off: FloatArray, diagonal: FloatArray, target: FloatArray) -> FloatArray | None:
        from scipy import sparse

        order, rows, starts = self._layout
        values = np.concatenate([off, off, diagonal])[order]
        matrix = sparse.csc_array((values, rows, starts), shape=(self.n, self.n))
        matrix.has_canonical_format = True
        try:
            factor = _factor(matrix, "NATURAL")
        except RuntimeError:  # exactly singular
            return None
        if not (factor.U.diagonal() > 0).all():
            return None
        in_order = np.empty(self.n)
        in_order[self._position] = target
        return np.asarray(factor.solve(in_order), dtype=np.float64)[self._position]

    def _conjugate_gradients(self, off: FloatArray, diagonal: FloatArray, target: FloatArray) -> FloatArray | None:
        """Solve by products, preconditioned by the diagonal; return None at a direction of negative curvature."""
        from quorate.graph.laplacian import symmetric

        if not (diagonal > 0).all():
            return None
        matrix = symmetric(self.n, self.i, self.j, off)
        solution = truncated_cg(
            lambda v: matrix @ v + diagonal * v, target, diagonal, tolerance=CG_RESIDUAL, max_products=MAX_CG_PRODUCTS
        )
        return solution.x if solution.is_positive else None


def _factor(matrix: Any, column_order: str) -> Any:
    """Factor a symmetric matrix with diagonal pivots: it is positive definite if the diagonal of U is positive."""
    from scipy.sparse.linalg import splu

    options = {"SymmetricMode": True}
    return splu(matrix, permc_spec=column_order, diag_pivot_thresh=0.0, panel_size=1, options=options)


def follow_gradient_flow(
    problem: Problem,
    start: FloatArray | None = None,
    *,
    max_iterations: int = 10_000,
    tolerance: float = 1e-5,
    record: bool = False,
) -> Solution:
    """Follow the gradient flow from the start to its end by linearly implicit steps, then take Newton steps.

    Args:
        problem: what to minimise; its moments must have a pair table.
        start: x(0), by default one half everywhere.
        max_iterations: maximum number of steps.
        tolerance: stop when the skills are closer to the optimum, on average over answers.
        record: keep the trajectory (Python only).

    Raises:
        OptionError: the moments have no pair table.

    >>> from quorate.skills.objective import triangle
    >>> follow_gradient_flow(triangle([0.8, 0.6, 0.5])).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    if problem.moments.table is None:
        raise OptionError("solver 'flow' needs the correlation of each pair, and these moments have no pair table")
    pairs = _Pairs(problem.moments.n_workers, *problem.moments.table())
    lower = problem.lower
    upper = problem.upper
    x = problem.middle() if start is None else problem.clip(start)
    path = [x]
    loss = pairs.loss(x)
    degree = pairs.at_workers(pairs.weights)
    scale = np.maximum(degree, 1e-300)
    h = 0.5 / float(scale.max(initial=1e-300))
    is_newton = False
    distance: float | None = None
    on_progress = listener.get()
    status = CAPPED
    steps = 0
    max_steps = max_iterations if pairs.is_factored else min(max_iterations, MAX_CG_STEPS)
    while steps < max_steps:
        steps += 1
        if on_progress is not None:
            on_progress("estimating skills", steps, None)
        x_i = x[pairs.i]
        x_j = x[pairs.j]
        residual = pairs.weights * (pairs.correlation - x_i * x_j)
        gradient = -pairs.at_workers(residual * x_j, residual * x_i)
        curvature = pairs.at_workers(pairs.weights * x_j**2, pairs.weights * x_i**2)
        newton_step = NEWTON_STEP / max(float(curvature.max(initial=0.0)), 1e-30)
        h = newton_step if is_newton else min(h, newton_step)
        at_bound = ((x <= lower) & (gradient >= 0)) | ((x >= upper) & (gradient <= 0))
        is_moving = pairs.in_moving_components(np.abs(problem.clip(x - gradient / scale) - x), ~at_bound)
        if not is_moving.any():
            status = CONVERGED
            break
        off_diagonal = h * pairs.weights * (2 * x_i * x_j - pairs.correlation)
        move = pairs.solve(is_moving & ~at_bound, off_diagonal, 1 + h * curvature, -h * gradient)
        new = x if move is None else problem.clip(x + move)
        reach = np.inf if move is None else float(np.abs(move).max(initial=0.0))
        new_loss = pairs.loss(new)
        rises = new_loss > loss + 1e-12 * (1 + loss)
        is_rejected = move is None or rises or reach > MAX_ACCEPTED_MOVE
        if is_newton and is_rejected:  # no step lowers the loss by more than rounding, or the objective is flat here
            status = CONVERGED if problem.stationarity(x, gradient) <= tolerance else STALLED
            break
        if is_rejected or reach > MAX_MOVE:
            h /= SHRINK_INDEFINITE if move is None else SHRINK
        else:
            h *= GROWTH
        if is_rejected:
            continue
        moved = float(np.abs(new - x).max(initial=0.0))
        distance = problem.mean_size(new - x)
        x = new
        loss = new_loss
        if record:
            path.append(x)
        if is_newton and distance <= tolerance:
            status = CONVERGED
            break
        least_curvature = float(curvature[curvature > 0].min(initial=1.0))
        is_newton = is_newton or (moved < MAX_STATIONARY_MOVE and h > 10 / max(least_curvature, 1e-3))
    if status == CAPPED and steps < max_iterations:
        rest = coordinate_descent(problem, x, tolerance=tolerance, max_iterations=max_iterations - steps, record=record)
        trajectory = (*path[:-1], *rest.trajectory) if record else ()
        return replace(rest, solver="flow", iterations=steps + rest.iterations, trajectory=trajectory)
    end_loss, end_gradient = problem.loss_and_gradient(x)
    norm = problem.stationarity(x, end_gradient)
    return Solution(x, "flow", status, steps, end_loss, norm, tuple(path) if record else (), distance)
