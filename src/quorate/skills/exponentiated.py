"""Exponentiated gradient, for the absolute values of the skills [Ma20, Eq. (4), expgrad; Theorem 12, pert].

With z = ln x the update x <- P[x exp(-alpha ∇)] is projected gradient descent on the convex function
g(z) = 1/2 sum_ij N_ij exp(z_i + z_j) - sum_i z_i sum_j N_ij |C_ij|, so `quorate.skills.pgd.descend` computes it. With
exact correlations the minimiser is the skills; with noise it differs from least squares, with an error of the same
order.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.skills.newton import MAX_FACTORED_WORKERS, Objective, pair_matrices, with_newton_steps
from quorate.skills.objective import Problem, Solution
from quorate.skills.pgd import (
    MAX_SPECTRAL_SWEEPS,
    THEORY,
    Evaluate,
    descend,
    exponentiated_step,
    fixed_step,
    spectral_bound,
)


def exponentiated_gradient(
    problem: Problem,
    start: FloatArray | None = None,
    *,
    step: float | str | None = None,
    max_iterations: int = 10_000,
    tolerance: float = 1e-5,
    record: bool = False,
    kappa: float = 0.01,
    K: float = 1.0,
) -> Solution:
    """Follow x <- P[x exp(-step · ∇)], ∇_i = sum_j N_ij (x_i x_j - |C_ij|), in the cube [kappa, K].

    The entries |C_ij| are clipped to [kappa², K²], the range of products of skills in the cube (the paper prints
    [kappa, K]). A worker whose box is one point (gold) stays there.

    Args:
        problem: what to minimise.
        start: x(0), by default one half everywhere.
        step: a fixed step; ``theory`` for that of the theorem, 1 / (2 sqrt(W) ||N||_2 K²); by default the spectral step
            with Armijo's rule, then Newton steps.
        max_iterations: maximum number of sweeps over the data.
        tolerance: for the distance of a skill from the optimum, on average over answers; with a fixed step, for the
            mean change of a skill in a sweep, and for the projected-gradient norm.
        record: keep the trajectory.
        kappa: least skill, above zero.
        K: greatest skill.

    >>> from quorate.skills.objective import triangle
    >>> exponentiated_gradient(triangle([0.8, -0.6, 0.5]), tolerance=1e-9).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    if problem.moments.absolute_sums is None:
        raise OptionError("exponentiated gradient needs the correlation of each pair, and these moments have none")
    known = problem.lower == problem.upper
    lower = np.log(np.where(known & (problem.lower > 0), problem.lower, kappa))
    upper = np.log(np.where(known & (problem.lower > 0), problem.upper, K))
    in_logarithms = replace(problem, lower=lower, upper=upper)
    entries = problem.moments.absolute_sums(kappa**2, K**2)

    def evaluate(z: FloatArray) -> tuple[float, FloatArray]:
        x = np.exp(z)
        fitted = x * (problem.moments.shared @ x)
        return float(fitted.sum() / 2 - z @ entries), fitted - entries

    fixed = None
    if step is not None:
        theory = exponentiated_step(len(lower), spectral_bound(problem.moments), K) if step == THEORY else 0.0
        fixed = fixed_step(step, theory)
    descended = descend(
        in_logarithms,
        evaluate,
        np.log(np.clip(problem.middle() if start is None else start, kappa, K)),
        solver="exponentiated",
        step=fixed,
        to_skills=np.exp,
        max_iterations=max_iterations if fixed else min(max_iterations, MAX_SPECTRAL_SWEEPS),
        tolerance=tolerance,
        record=record,
    )
    if fixed:
        return descended
    return with_newton_steps(
        descended,
        _objective(in_logarithms, evaluate),
        start=in_logarithms.clip(np.log(descended.skills)),
        tolerance=tolerance,
        max_sweeps=max_iterations,
        record=record,
        to_skills=np.exp,
    )


def _objective(problem: Problem, evaluate: Evaluate) -> Objective:
    """Return g as an objective of z, with its Hessian H = diag(x∘Nx) + N∘xxᵀ; g is convex."""
    shared = problem.moments.shared
    small = problem.moments.table is not None and len(problem.lower) <= MAX_FACTORED_WORKERS

    @cache
    def counts() -> FloatArray:
        return pair_matrices(problem)[0]

    def diagonal(z: FloatArray) -> FloatArray:
        x = np.exp(z)
        fitted: FloatArray = x * (shared @ x)
        return fitted

    def dense(z: FloatArray) -> FloatArray:
        x = np.exp(z)
        hessian: FloatArray = counts() * np.outer(x, x)
        np.fill_diagonal(hessian, hessian.sum(axis=1))
        return hessian

    def product(z: FloatArray, _: FloatArray, v: FloatArray) -> FloatArray:
        x = np.exp(z)
        image: FloatArray = x * (shared @ x) * v + x * (shared @ (x * v))
        return image

    return Objective(problem, evaluate, diagonal, dense if small else None, product)
