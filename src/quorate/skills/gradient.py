"""Projected gradient descent with a fixed step, the paper's algorithm PGD [Ma20, §PGD; Theorem 11]."""

from quorate.arrays import FloatArray
from quorate.skills.descent import descend
from quorate.skills.objective import Problem
from quorate.skills.solution import Solution
from quorate.skills.steps import fixed_step, lipschitz_step, theory_step


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
        step: of every iteration; ``theory`` for that of the theorem, which is short; by default 1/(4 max degree), with
            which the loss never rises (`quorate.skills.steps.lipschitz_step`).
        max_iterations: sweeps over the data at the most.
        tolerance: for the mean change of a skill in a sweep, and for the projected-gradient norm.
        record: keep the trajectory.
        kappa: for the step of the theorem: skills and start lie in [kappa, K].
        K: the greatest.

    Raises:
        OptionError: the step is neither a positive number nor ``theory``.

    >>> from quorate.skills.examples import triangle
    >>> projected_gradient(triangle([0.8, 0.6, 0.5]), tolerance=1e-9).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    if step is None:
        chosen = lipschitz_step(problem.moments)
    else:
        chosen = fixed_step(step, theory_step(problem.moments, kappa=kappa, K=K))
    return descend(
        problem,
        problem.loss_and_gradient,
        problem.middle() if start is None else start,
        solver="gradient",
        step=chosen,
        max_iterations=max_iterations,
        tolerance=tolerance,
        record=record,
    )
