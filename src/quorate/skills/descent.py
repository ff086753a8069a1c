"""Projected gradient descent over a box, the loop behind two solvers.

The step is either fixed, as in the paper's experiments, or the spectral one (Barzilai and Borwein), halved until the
loss falls enough (Armijo's rule): a step that is guaranteed to descend, and that needs no constant.
"""

from collections.abc import Callable

import numpy as np

from quorate.arrays import FloatArray
from quorate.progress import listener
from quorate.skills.objective import Problem
from quorate.skills.solution import CAPPED, CONVERGED, STALLED, Solution

SUFFICIENT = 1e-4  # share of the promised decrease that a step must bring
MANY = 200  # sweeps after which Newton's steps take over, where the step is not fixed: on most crowds fewer are enough

Evaluate = Callable[[FloatArray], tuple[float, FloatArray]]


def descend(
    problem: Problem,
    evaluate: Evaluate,
    start: FloatArray,
    *,
    solver: str,
    step: float | None = None,
    to_skills: Callable[[FloatArray], FloatArray] = lambda u: u,
    max_iterations: int,
    tolerance: float,
    record: bool,
) -> Solution:
    """Follow u <- P(u - step · gradient) until u and the projected gradient stand still.

    Args:
        problem: gives the box of u, and the average that the stopping rule uses.
        evaluate: u -> (loss, gradient).
        start: the first u; projected onto the box.
        solver: the name to report.
        step: a fixed step; by default the spectral step with Armijo's rule.
        to_skills: u -> skills.
        max_iterations: evaluations of the loss at the most.
        tolerance: for the mean change of the skills and the projected-gradient norm.
        record: keep the trajectory.
    """
    u = problem.clip(start)
    loss, gradient = evaluate(u)
    path = [to_skills(u)] if record else []
    trial = step or 1 / max(problem.moments.degree.max(initial=0.0), 1e-300)
    told = listener.get()
    status, sweeps = CAPPED, 0
    while sweeps < max_iterations:
        new = problem.clip(u - trial * gradient)
        new_loss, new_gradient = evaluate(new)
        sweeps += 1
        if told is not None:
            told("sweeps", sweeps, None)
        promised = gradient @ (new - u)
        if step is None and new_loss > loss + SUFFICIENT * promised + problem.rounding:
            trial /= 2
            if not np.any(problem.clip(u - trial * gradient) != u):
                status = STALLED
                break
            continue
        change = problem.mean_size(to_skills(new) - to_skills(u))
        moved, turned = new - u, new_gradient - gradient
        u, loss, gradient = new, new_loss, new_gradient
        if record:
            path.append(to_skills(u))
        if change <= tolerance and problem.stationarity(u, gradient) <= tolerance:
            status = CONVERGED
            break
        curvature = moved @ turned
        if step is None:
            trial = float(moved @ moved / curvature) if curvature > 0 else 4 * trial
    norm = problem.stationarity(u, gradient)
    return Solution(to_skills(u), solver, status, sweeps, loss, norm, tuple(path))
