"""Coordinate descent: every worker moves half way to its own minimiser, with Anderson extrapolation.

With the skills of the others fixed, the best x_i is sum_j N_ij C_ij x_j / sum_j N_ij x_j². Moving all workers there at
once can overshoot: from x = c·s the next x would be s/c. Half the step is safe: with D = diag(N x²), the Hessian at
exact correlations is D + N∘xxᵀ, and D - N∘xxᵀ is a sum of squares (x_j v_i - x_i v_j)², so the Hessian is at most 2D.
Anderson's extrapolation from the last sweeps halves the number of sweeps. A sweep that raises the loss is undone. If
the shrinkage depends on the skills, the problem is updated during the descent. At the end Newton steps are taken: their
length is the distance to the optimum.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import FloatArray
from quorate.progress import listener
from quorate.skills.newton import least_squares, with_newton_steps
from quorate.skills.objective import CAPPED, CONVERGED, STALLED, Problem, Solution

EXTRAPOLATION_SWEEPS = 5  # earlier sweeps that the extrapolation combines
# Newton steps begin at this mean distance of the skills from their own minimisers, or after this number of sweeps,
# which shows that the objective is flat (ten sweeps are usual on the public sets).
NEWTON_DISTANCE = 1e-3
MAX_SWEEPS_BEFORE_NEWTON = 40
TOLERANCE = 1e-5  # default: mean distance of a skill from the optimum, weighted by answers
# Sweeps that do not reach the tolerance still count as converged if the estimated distance from the optimum is at most
# this share of the standard error of a skill, unless the tolerance is below the default. Conventional. The estimate is
# too low where the objective is flat: in 255 simulated crowds on sparse graphs the optimum was up to 0.21 standard
# errors away (in a ring of 201 workers), and nearer to the true skills by at most .001. In crowds of two to five
# answers per worker it was farther from them (mean error .353 instead of .343, .406 instead of .394). With 10^6 workers
# the Newton steps to it took 10 of 16 CPU seconds.
MAX_DISTANCE_IN_ERRORS = 0.05
RENEWAL_DISTANCE = 1e-2  # mean distance from the own minimisers at which the problem is updated; 0.1 takes more sweeps


def coordinate_descent(
    problem: Problem,
    start: FloatArray | None = None,
    *,
    max_iterations: int = 10_000,
    tolerance: float = TOLERANCE,
    record: bool = False,
) -> Solution:
    """Move every worker toward its own minimiser, all at once; then take Newton steps until the optimum is near.

    Args:
        problem: what to minimise.
        start: x(0), by default one half everywhere.
        max_iterations: maximum number of sweeps over the data.
        tolerance: for the distance of a skill from the optimum, on average over answers.
        record: keep the trajectory.

    >>> from quorate.skills.objective import triangle
    >>> coordinate_descent(triangle([0.8, 0.6, 0.5]), tolerance=1e-9).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    objective = least_squares(problem)
    swept = coordinate_sweeps(
        problem,
        start,
        max_iterations=min(max_iterations, MAX_SWEEPS_BEFORE_NEWTON),
        tolerance=tolerance if objective.dense is None else max(tolerance, NEWTON_DISTANCE),
        record=record,
        by_distance=objective.dense is None,
    )
    if objective.dense is None and swept.converged:
        return swept  # a Newton step would cost as many sweeps as were taken
    is_by_counts = problem.moments.table is None  # the weights are N_ij, so the standard errors are known
    if is_by_counts and swept.distance is not None and swept.iterations < max_iterations and tolerance >= TOLERANCE:
        # Standard errors at skill zero if the skills of the others are known, but at most one. A correlation over N_ij
        # shared tasks has the variance 1/((M-1) N_ij); M = 2 is assumed, where it is greatest.
        information = problem.moments.products(swept.skills)[1] + problem.ridge
        standard_error = problem.mean_size(1 / np.sqrt(np.maximum(information, 1.0)))
        if swept.distance <= MAX_DISTANCE_IN_ERRORS * standard_error:
            return replace(swept, status=CONVERGED)
    return with_newton_steps(swept, objective, tolerance=tolerance, max_sweeps=max_iterations, record=record)


def coordinate_sweeps(
    problem: Problem,
    start: FloatArray | None = None,
    *,
    max_iterations: int = 10_000,
    tolerance: float = 1e-5,
    record: bool = False,
    by_distance: bool = False,
    renewed: Callable[[FloatArray], Problem | None] | None = None,
) -> Solution:
    """Move every worker half way toward its own minimiser, all at once, with extrapolation.

    Args:
        problem: what to minimise.
        start: x(0), by default one half everywhere.
        max_iterations: maximum number of sweeps over the data.
        tolerance: for the mean distance of a skill from its own minimiser, which is not its distance from the optimum.
        record: keep the trajectory.
        by_distance: the tolerance is for the distance from the optimum, estimated from the last sweeps.
        renewed: skills -> new problem with the same moments; None if the problem stays the same.

    >>> from quorate.skills.objective import triangle
    >>> coordinate_sweeps(triangle([0.8, 0.6, 0.5]), tolerance=1e-9).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    x = problem.middle() if start is None else problem.clip(start)
    current = _evaluate(problem, x, problem.moments.products(x))
    path = [x]
    memory = _Memory(problem.n_answers)
    damping = 0.5
    on_progress = listener.get()
    status = CONVERGED
    sweeps = 0
    # The curvature is at most one, so it is needed only if the distance from the own minimisers is below the tolerance.
    while current.mean_distance > tolerance or (
        by_distance and current.mean_distance > tolerance * memory.least_curvature()
    ):
        if sweeps == max_iterations:
            status = CAPPED
            break
        plain = current.x + damping * (current.own_best - current.x)
        x = problem.clip(memory.extrapolate(plain, plain - current.x))
        candidate = _evaluate(problem, x, problem.moments.products(x))
        sweeps += 1
        if candidate.loss > current.loss + problem.rounding:
            extrapolated = memory.used
            memory.clear()  # and retry without extrapolation
            if not extrapolated:
                damping /= 2
                if not np.any(current.x + damping * (current.own_best - current.x) != current.x):
                    status = STALLED
                    break
            continue
        damping = min(2 * damping, 0.5)
        before = current.mean_distance
        current = candidate
        if (
            renewed is not None
            and current.mean_distance <= RENEWAL_DISTANCE
            and (new := renewed(current.x)) is not None
        ):
            problem = new
            current = _evaluate(new, current.x, current.products)
        if on_progress is not None:
            on_progress("estimating skills", sweeps, sweeps + sweeps_left(before, current.mean_distance, tolerance))
        if record:
            path.append(current.x)
    norm = problem.stationarity(current.x, current.gradient)
    distance = (
        current.mean_distance / max(memory.least_curvature(), 1e-300) if by_distance and current.mean_distance else None
    )
    return Solution(
        current.x, "coordinate", status, sweeps, current.loss, norm, tuple(path) if record else (), distance
    )


def sweeps_left(before: float, change: float, tolerance: float) -> int:
    """Estimate the number of sweeps left if the change continues to shrink at the rate of the last sweep.

    >>> sweeps_left(1e-2, 1e-3, tolerance=1e-5)
    2
    """
    if not 0 < tolerance < change:
        return 0
    shrinking = min(change / before, 0.9) if before > 0 else 0.9
    return int(np.ceil(np.log(tolerance / change) / np.log(shrinking) - 1e-9))


@dataclass(frozen=True)
class Evaluation:
    """Loss, gradient and own minimisers at some skills."""

    x: FloatArray
    products: tuple[FloatArray, FloatArray]  # (N∘C) x and N x²
    loss: float
    gradient: FloatArray
    own_best: FloatArray  # best skill of each worker given the others
    mean_distance: float  # mean distance of the skills from `own_best`, weighted by answers


def _evaluate(problem: Problem, x: FloatArray, products: tuple[FloatArray, FloatArray]) -> Evaluation:
    """Evaluate the problem at x; the loss is infinite outside the box, so any point inside improves it."""
    loss, gradient = problem.evaluate(x, *products)
    own_best = problem.own_best(x, *products)
    inside = bool(np.all(problem.clip(x) == x))
    return Evaluation(x, products, loss if inside else np.inf, gradient, own_best, problem.mean_size(own_best - x))


class _Memory:
    """Anderson extrapolation from the last plain steps."""

    def __init__(self, weights: FloatArray) -> None:
        self.weights = weights
        self.used = False
        self.points: list[FloatArray] = []
        self.moves: list[FloatArray] = []

    def clear(self) -> None:
        self.points = []
        self.moves = []
        self.used = False

    def extrapolate(self, point: FloatArray, move: FloatArray) -> FloatArray:
        self.points = [*self.points[-EXTRAPOLATION_SWEEPS + 1 :], point]
        self.moves = [*self.moves[-EXTRAPOLATION_SWEEPS + 1 :], move]
        self.used = len(self.moves) > 1
        if not self.used:
            return point
        move_changes = np.stack([move - old for old in self.moves[:-1]])
        weighted = move_changes * self.weights
        normal = weighted @ move_changes.T
        ridge = 1e-10 * np.trace(normal) + 1e-300
        mix = np.linalg.solve(normal + ridge * np.eye(len(normal)), weighted @ move)
        ahead: FloatArray = point - mix @ np.stack([point - old for old in self.points[:-1]])
        return ahead

    def least_curvature(self) -> float:
        """Return the least curvature along the last sweeps, relative to D, from 0 to 1; 0 before three sweeps.

        Along a direction d, (own minimiser - x) falls by D⁻¹H d. In the few directions of the memory this is a small
        matrix. Late sweeps move where the objective is flattest, so the distance to the optimum is about the distance
        to the own minimiser divided by the least eigenvalue.
        """
        if len(self.moves) < 3:
            return 0.0
        start_points = [point - move for point, move in zip(self.points, self.moves, strict=True)]
        directions = np.diff(np.stack(start_points), axis=0)
        images = -2 * np.diff(np.stack(self.moves), axis=0)  # D⁻¹H d; a move is half of own minimiser - x
        weighted = directions * self.weights
        matrix = np.linalg.lstsq(weighted @ directions.T, weighted @ images.T, rcond=1e-8)[0]
        return float(np.clip(np.linalg.eigvals(matrix).real.min(), 0.0, 1.0))
