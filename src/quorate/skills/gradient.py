"""Projected gradient descent, the paper's algorithm [Ma20, §PGD; Thm noiselessPGD].

With a step that is given it is that and nothing else. Otherwise Newton's steps end it, as they end coordinate descent.
"""

from quorate.arrays import FloatArray
from quorate.skills.curvature import least_squares
from quorate.skills.descent import MANY, descend
from quorate.skills.newton import certified
from quorate.skills.objective import Problem
from quorate.skills.solution import Solution
from quorate.skills.steps import fixed_step, theory_step


def projected_gradient(
    problem: Problem,
    start: FloatArray | None = None,
    *,
    step: float | str | None = None,
    max_iterations: int = 10_000,
    tolerance: float = 1e-5,
    record: bool = False,
    kappa: float = 0.1,
    K: float = 1.0,
) -> Solution:
    """Follow x_i <- P[x_i + step · sum_j N_ij (C_ij - x_i x_j) x_j].

    Args:
        problem: what to minimise.
        start: x(0), by default one half everywhere; the theory wants it positive.
        step: fixed; ``theory`` for that of the theorem, which is short; by default the longest tried step that lowers
            the loss enough.
        max_iterations: sweeps over the data at the most.
        tolerance: for the distance of a skill from the optimum, on average over answers; with a fixed step, for the
            mean change of a skill in a sweep, and for the projected-gradient norm.
        record: keep the trajectory.
        kappa: for the step of the theorem: skills and start lie in [kappa, K].
        K: the greatest.

    Raises:
        OptionError: the step is neither a positive number nor ``theory``.

    >>> from quorate.skills.examples import triangle
    >>> projected_gradient(triangle([0.8, 0.6, 0.5]), tolerance=1e-9).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    fixed = fixed_step(step, theory_step(problem.moments, kappa=kappa, K=K)) if step is not None else None
    descended = descend(
        problem,
        problem.loss_and_gradient,
        problem.middle() if start is None else start,
        solver="gradient",
        step=fixed,
        max_iterations=max_iterations if fixed else min(max_iterations, MANY),
        tolerance=tolerance,
        record=record,
    )
    if fixed:
        return descended
    return certified(descended, least_squares(problem), tolerance=tolerance, max_sweeps=max_iterations, record=record)
