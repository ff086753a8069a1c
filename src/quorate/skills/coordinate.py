"""Coordinate descent: every worker moves half way to its own best skill, and the last few moves are extrapolated.

With the others fixed, the best x_i is sum_j N_ij C_ij x_j / sum_j N_ij x_j². Moving all workers there at once can
overshoot: where x = c·s the next x would be s/c. Half way is safe: with D = diag(N x²), the Hessian at exact
correlations is D + N∘xxᵀ, and D - N∘xxᵀ is a sum of squares (x_j v_i - x_i v_j)², so the Hessian is at most 2D.
Anderson's extrapolation from the last sweeps then halves their number. A sweep that raises the loss is taken back.
"""

import numpy as np

from quorate.arrays import FloatArray
from quorate.progress import listener
from quorate.skills.objective import Problem
from quorate.skills.solution import CAPPED, CONVERGED, STALLED, Solution

MEMORY = 5  # sweeps that the extrapolation looks back on


def coordinate_descent(
    problem: Problem,
    start: FloatArray | None = None,
    *,
    max_iterations: int = 10_000,
    tolerance: float = 1e-5,
    record: bool = False,
) -> Solution:
    """Move every worker toward its own minimiser, all at once, half way and extrapolated.

    Args:
        problem: what to minimise.
        start: x(0), by default one half everywhere.
        max_iterations: sweeps over the data at the most.
        tolerance: for the mean distance of a skill from its own best, which bounds the projected-gradient norm.
        record: keep the trajectory.

    >>> from quorate.skills.examples import triangle
    >>> coordinate_descent(triangle([0.8, 0.6, 0.5]), tolerance=1e-9).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    x = problem.middle() if start is None else problem.clip(start)
    loss, gradient, own_best = _look(problem, x)
    path, memory, damping = [x], _Memory(problem.n_answers), 0.5
    told = listener.get()
    status, sweeps, away = CONVERGED, 0, problem.mean_size(own_best - x)
    while away > tolerance:
        if sweeps == max_iterations:
            status = CAPPED
            break
        plain = x + damping * (own_best - x)
        proposal = problem.clip(memory.extrapolate(plain, plain - x))
        new_loss, new_gradient, new_best = _look(problem, proposal)
        sweeps += 1
        if new_loss > loss + problem.rounding:
            if memory.used:
                memory.clear()  # the extrapolation went too far: the next try is the plain step
            else:
                damping /= 2
                if not np.any(x + damping * (own_best - x) != x):
                    status = STALLED
                    break
            continue
        damping = min(2 * damping, 0.5)  # what was too far there need not be too far here
        x, loss, gradient, own_best = proposal, new_loss, new_gradient, new_best
        before, away = away, problem.mean_size(own_best - x)
        if told is not None:
            told("sweeps", sweeps, sweeps + sweeps_left(before, away, tolerance))
        if record:
            path.append(x)
    norm = problem.stationarity(x, gradient)
    return Solution(x, "coordinate", status, sweeps, loss, norm, tuple(path) if record else ())


def sweeps_left(before: float, change: float, tolerance: float) -> int:
    """Guess how many sweeps are left, if each goes on to shrink the change as the last one did.

    >>> sweeps_left(1e-2, 1e-3, tolerance=1e-5)
    2
    """
    if not 0 < tolerance < change:
        return 0
    shrinking = min(change / before, 0.9) if before > 0 else 0.9
    return int(np.ceil(np.log(tolerance / change) / np.log(shrinking) - 1e-9))


def _look(problem: Problem, x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Evaluate the loss, the gradient, and each worker's best skill given the others'."""
    signed, squares = problem.moments.products(x)
    return *problem.evaluate(x, signed, squares), problem.own_best(x, signed, squares)


class _Memory:
    """The last plain steps, and the combination of them whose movement would be least."""

    def __init__(self, weights: FloatArray) -> None:
        self.weights, self.used = weights, False
        self.points: list[FloatArray] = []
        self.moves: list[FloatArray] = []

    def clear(self) -> None:
        self.points, self.moves, self.used = [], [], False

    def extrapolate(self, point: FloatArray, move: FloatArray) -> FloatArray:
        self.points, self.moves = [*self.points[-MEMORY + 1 :], point], [*self.moves[-MEMORY + 1 :], move]
        self.used = len(self.moves) > 1
        if not self.used:
            return point
        turns = np.stack([move - old for old in self.moves[:-1]])
        weighted = turns * self.weights
        normal = weighted @ turns.T
        ridge = 1e-10 * np.trace(normal) + 1e-300
        mix = np.linalg.solve(normal + ridge * np.eye(len(normal)), weighted @ move)
        ahead: FloatArray = point - mix @ np.stack([point - old for old in self.points[:-1]])
        return ahead
