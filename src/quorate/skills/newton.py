"""Newton steps at the end of a descent; their length is the distance to the optimum.

A step of gradient or coordinate descent is short where the objective is flat: if only an odd ring of weak pairs
determines the skills, steps are as short as 1e-5 far from the solution. The Newton step d with H d = -gradient is the
distance to the optimum, and -gradient·d/2 the remaining decrease. For least squares H = diag(N x²) + N∘(2xxᵀ - C),
computed as a matrix or applied by products.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from quorate.arrays import BoolArray, FloatArray
from quorate.skills.conjugate_gradients import truncated_cg
from quorate.skills.objective import CAPPED, CONVERGED, STALLED, Problem, Solution

MAX_FACTORED_WORKERS = 500  # up to this, H d = -gradient is solved by a factorisation (20 ms), above by CG
CG_RESIDUAL = 1e-4  # relative to the gradient
MAX_CG_PRODUCTS = 200  # per step
MAX_HALVINGS = 30  # of one step
MIN_CURVATURE = 1e-12  # added to the scaled Hessian, whose eigenvalues are at most two; smaller ones are rounding
ARMIJO = 1e-4  # share of the linear decrease that a step must achieve


@dataclass(frozen=True)
class Objective:
    """A function minimised over a box: loss, gradient and Hessian."""

    problem: Problem  # for the box, and the average over answers
    evaluate: Callable[[FloatArray], tuple[float, FloatArray]]  # u -> loss, gradient
    diagonal: Callable[[FloatArray], FloatArray]  # u -> diagonal of the Hessian, or an upper bound of it
    dense: Callable[[FloatArray], FloatArray] | None  # u -> Hessian; None if it is too large
    product: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # (u, gradient, v) -> H v


@dataclass(frozen=True)
class End:
    """The end of a sequence of Newton steps."""

    u: FloatArray
    status: str
    loss: float
    gradient: FloatArray
    distance: float  # to the optimum, on average over answers: the length of the last step
    sweeps: int
    path: tuple[FloatArray, ...]


def newton_steps(
    objective: Objective, start: FloatArray, *, tolerance: float, max_sweeps: int, record: bool = False
) -> End:
    """Take Newton steps until one is shorter than the tolerance; the loss never rises.

    Args:
        objective: what to minimise.
        start: the first point, in the box.
        tolerance: for the distance to the optimum, on average over answers.
        max_sweeps: maximum number of passes over the data.
        record: keep all points.

    >>> from quorate.skills.objective import triangle
    >>> from quorate.skills.newton import least_squares
    >>> end = newton_steps(least_squares(triangle([0.8, 0.6, 0.5])), np.full(3, 0.5), tolerance=1e-9, max_sweeps=100)
    >>> end.u.round(6).tolist(), end.status
    ([0.8, 0.6, 0.5], 'converged')
    """
    problem = objective.problem
    u = start
    loss, gradient = objective.evaluate(u)
    sweeps = 0
    distance = float("inf")
    path: list[FloatArray] = []
    while True:
        direction, cost = _direction(objective, u, gradient)
        sweeps = sweeps + cost
        distance = problem.mean_size(problem.clip(u + direction) - u)
        if not distance > 0:
            return End(u, CONVERGED, loss, gradient, 0.0, sweeps, tuple(path))
        if sweeps >= max_sweeps:
            return End(u, CAPPED, loss, gradient, distance, max_sweeps, tuple(path))
        step = _search(objective, u, loss, gradient, direction)
        sweeps += step.n_evaluations
        if step.u is u:  # no step lowers the loss
            status = CONVERGED if distance <= tolerance else STALLED
            return End(u, status, loss, gradient, distance, sweeps, tuple(path))
        u = step.u
        loss = step.loss
        gradient = step.gradient
        if record:
            path.append(u)
        if distance <= tolerance and step.is_full_step:
            return End(u, CONVERGED, loss, gradient, distance, sweeps, tuple(path))


def with_newton_steps(
    swept: Solution,
    objective: Objective,
    *,
    tolerance: float,
    max_sweeps: int,
    record: bool,
    start: FloatArray | None = None,
    to_skills: Callable[[FloatArray], FloatArray] = lambda u: u,
) -> Solution:
    """Continue with Newton steps from the end of the sweeps; the result states the distance to the optimum.

    Args:
        swept: result of the sweeps.
        objective: what they minimised.
        tolerance: for the distance to the optimum, on average over answers.
        max_sweeps: maximum number of passes over the data, including those of the sweeps.
        record: keep the trajectory.
        start: the point at which the sweeps ended; by default their skills.
        to_skills: point -> skills.

    >>> from quorate.skills.newton import least_squares
    >>> from quorate.skills.coordinate import coordinate_sweeps
    >>> from quorate.skills.objective import triangle
    >>> problem = triangle([0.8, 0.6, 0.5])
    >>> swept = coordinate_sweeps(problem, tolerance=0.01)
    >>> solution = with_newton_steps(swept, least_squares(problem), tolerance=1e-6, max_sweeps=100, record=False)
    >>> solution.status, bool(solution.distance < 1e-6 < np.abs(swept.skills - solution.skills).max())
    ('converged', True)
    """
    if swept.iterations >= max_sweeps:
        return replace(swept, status=CAPPED)
    u = swept.skills if start is None else start
    end = newton_steps(objective, u, tolerance=tolerance, max_sweeps=max_sweeps - swept.iterations, record=record)
    return replace(
        swept,
        skills=to_skills(end.u),
        status=end.status,
        iterations=swept.iterations + end.sweeps,
        loss=end.loss,
        gradient_norm=objective.problem.stationarity(end.u, end.gradient),
        trajectory=swept.trajectory + tuple(to_skills(logits) for logits in end.path),
        distance=end.distance,
    )


@dataclass(frozen=True)
class _LineSearch:
    """Result of a line search: the first point if no point is better."""

    u: FloatArray
    loss: float
    gradient: FloatArray
    n_evaluations: int
    is_full_step: bool


def _search(
    objective: Objective, u: FloatArray, loss: float, gradient: FloatArray, direction: FloatArray
) -> _LineSearch:
    """Halve the step until the loss falls enough; if it never does, try half steps to each worker's own minimiser."""
    problem = objective.problem
    n_evaluations = 0
    scaled = -gradient / np.maximum(objective.diagonal(u), 1e-300) / 2
    before = problem.stationarity(u, gradient)
    for along in (direction, scaled):
        size = 1.0
        for _ in range(MAX_HALVINGS):
            new = problem.clip(u + size * along)
            new_loss, new_gradient = objective.evaluate(new)
            n_evaluations += 1
            promised = float(gradient @ (new - u))
            fell = promised < 0 and new_loss <= loss + ARMIJO * promised
            # Near the optimum the losses are equal up to rounding, and the gradient decides.
            is_flat = abs(new_loss - loss) <= problem.rounding and problem.stationarity(new, new_gradient) < before
            if fell or is_flat:
                return _LineSearch(new, new_loss, new_gradient, n_evaluations, along is direction and size == 1)
            if abs(promised) <= problem.rounding:
                break
            size /= 2
    return _LineSearch(u, loss, gradient, n_evaluations, is_full_step=False)


def _direction(objective: Objective, u: FloatArray, gradient: FloatArray) -> tuple[FloatArray, int]:
    """Return d with H d = -gradient for the skills that are free to move, and the number of products."""
    problem = objective.problem
    at_bound = ((u <= problem.lower) & (gradient >= 0)) | ((u >= problem.upper) & (gradient <= 0))
    scale = objective.diagonal(u)
    free: BoolArray = ~at_bound & (problem.lower < problem.upper) & (scale > 0) & (gradient != 0)
    direction = np.zeros(len(u))
    if not free.any():
        return direction, 0
    free = ~at_bound & (problem.lower < problem.upper) & (scale > 0)
    root = np.sqrt(scale[free])
    if objective.dense is not None:
        matrix = objective.dense(u)[np.ix_(free, free)] / np.outer(root, root)
        step = _solve(matrix, -gradient[free] / root)
        cost = 0
    else:

        def times(v: FloatArray) -> FloatArray:
            full = np.zeros(len(u))
            full[free] = v / root
            return objective.product(u, gradient, full)[free] / root

        # Where the first direction has negative curvature, the step is that direction.
        solution = truncated_cg(times, -gradient[free] / root, 1.0, tolerance=CG_RESIDUAL, max_products=MAX_CG_PRODUCTS)
        step = solution.x
        cost = solution.n_products
    direction[free] = step / root
    reach = np.abs(direction).max()
    return direction / max(reach, 1.0), cost  # at most one, the range of skills


def _solve(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """Solve by a factorisation; where the matrix is not positive definite, use the absolute eigenvalues."""
    matrix = matrix + MIN_CURVATURE * np.eye(len(matrix))
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        return np.asarray(vectors @ ((vectors.T @ target) / np.maximum(np.abs(values), 1e-10)), dtype=np.float64)
    return np.asarray(np.linalg.solve(matrix, target), dtype=np.float64)


# The gradient is a cubic, so a difference over this distance is H v to about seven digits.
DIFFERENCE_STEP = 1e-7


def least_squares(problem: Problem) -> Objective:
    """Return the least-squares objective; its Hessian is a matrix for a small crowd with a table of pairs.

    >>> from quorate.skills.objective import triangle
    >>> objective = least_squares(triangle([0.8, 0.6, 0.5]))
    >>> objective.dense(np.array([0.8, 0.6, 0.5])).round(2).tolist()
    [[0.61, 0.48, 0.4], [0.48, 0.89, 0.3], [0.4, 0.3, 1.0]]
    """
    moments = problem.moments
    small = moments.table is not None and moments.n_workers <= MAX_FACTORED_WORKERS

    @cache
    def matrices() -> tuple[FloatArray, FloatArray]:
        return pair_matrices(problem)

    latest: list[FloatArray] = []  # the point evaluated last, and N x² there

    def evaluate(x: FloatArray) -> tuple[float, FloatArray]:
        signed, squares = moments.products(x)
        latest[:] = [x, squares]
        return problem.evaluate(x, signed, squares)

    def diagonal(x: FloatArray) -> FloatArray:
        squares: FloatArray = latest[1] if latest and latest[0] is x else moments.shared @ (x * x)
        return squares + problem.ridge

    def dense(x: FloatArray) -> FloatArray:
        shared, signed = matrices()
        hessian = 2 * shared * np.outer(x, x) - signed
        np.fill_diagonal(hessian, shared @ (x * x) + problem.ridge)
        return hessian

    def product(x: FloatArray, gradient: FloatArray, v: FloatArray) -> FloatArray:
        if moments.signed_and_squares is None:
            on_diagonal = (moments.shared @ (x * x) + problem.ridge) * v
            return on_diagonal + 2 * x * (moments.shared @ (x * v)) - moments.signed @ v
        size = DIFFERENCE_STEP / max(float(np.abs(v).max()), 1e-300)
        image: FloatArray = (problem.loss_and_gradient(x + size * v)[1] - gradient) / size
        return image

    return Objective(problem, evaluate, diagonal, dense if small else None, product)


def pair_matrices(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return N and N∘C as matrices from the table of pairs.

    >>> from quorate.skills.objective import triangle
    >>> pair_matrices(triangle([0.8, 0.6, 0.5]))[0].tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    assert problem.moments.table is not None  # tested by the caller
    i, j, weights, correlation = problem.moments.table()
    shared, signed = np.zeros((2, problem.moments.n_workers, problem.moments.n_workers))
    shared[i, j] = shared[j, i] = weights
    signed[i, j] = signed[j, i] = weights * correlation
    return shared, signed
