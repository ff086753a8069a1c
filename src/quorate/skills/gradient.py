"""Projected gradient descent, the paper's algorithm [Ma20, §PGD; Thm noiselessPGD].

With a step that is given it is that and nothing else. Otherwise Newton's steps end it, as they end coordinate descent.
"""

from quorate.arrays import FloatArray
from quorate.skills.curvature import least_squares
from quorate.skills.descent import MANY, descend
from quorate.skills.newton import certified
from quorate.skills.objective import Problem
from quorate.skills.solution import Solution


def projected_gradient(
    problem: Problem,
    start: FloatArray | None = None,
    *,
    step: float | None = None,
    max_iterations: int = 10_000,
    tolerance: float = 1e-5,
    record: bool = False,
) -> Solution:
    """Follow x_i <- P[x_i + step · sum_j N_ij (C_ij - x_i x_j) x_j].

    Args:
        problem: what to minimise.
        start: x(0), by default one half everywhere; the theory wants it positive.
        step: fixed; by default the longest tried step that lowers the loss enough. See `quorate.skills.steps` for
            the steps that the theory gives.
        max_iterations: sweeps over the data at the most.
        tolerance: for the distance of a skill from the optimum, on average over answers; with a fixed step, for the
            mean change of a skill in a sweep, and for the projected-gradient norm.
        record: keep the trajectory.

    >>> from quorate.skills.examples import triangle
    >>> projected_gradient(triangle([0.8, 0.6, 0.5]), tolerance=1e-9).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    descended = descend(
        problem,
        problem.loss_and_gradient,
        problem.middle() if start is None else start,
        solver="gradient",
        step=step,
        max_iterations=max_iterations if step else min(max_iterations, MANY),
        tolerance=tolerance,
        record=record,
    )
    if step:
        return descended
    return certified(descended, least_squares(problem), tolerance=tolerance, max_sweeps=max_iterations, record=record)
