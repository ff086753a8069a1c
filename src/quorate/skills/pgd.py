"""Projected gradient descent with a fixed step, the paper's PGD [Ma20, Section 4.1; Theorem 11], and its step sizes.

`descend` is the loop of two solvers. Its step is either fixed, as in the paper's experiments, or the spectral step of
Barzilai and Borwein, halved until the loss falls enough (Armijo's rule).
"""

from collections.abc import Callable

import numpy as np

from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.progress import listener
from quorate.skills.moments import Moments
from quorate.skills.objective import CAPPED, CONVERGED, STALLED, Problem, Solution

ARMIJO = 1e-4  # share of the linear decrease that a step must achieve
MAX_SPECTRAL_SWEEPS = 200  # with spectral steps, before Newton steps begin; most crowds need fewer

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
    """Iterate u <- P(u - step · gradient) until the change and the projected gradient are within the tolerance.

    Args:
        problem: for the box of u, and the average that the stopping rule uses.
        evaluate: u -> (loss, gradient).
        start: the first u; projected onto the box.
        solver: the name to report.
        step: a fixed step; by default the spectral step with Armijo's rule.
        to_skills: u -> skills.
        max_iterations: maximum number of evaluations of the loss.
        tolerance: for the mean change of the skills and the projected-gradient norm.
        record: keep the trajectory.
    """
    u = problem.clip(start)
    loss, gradient = evaluate(u)
    path = [to_skills(u)] if record else []
    trial = step or 1 / max(problem.moments.degree.max(initial=0.0), 1e-300)
    on_progress = listener.get()
    status = CAPPED
    sweeps = 0
    while sweeps < max_iterations:
        new = problem.clip(u - trial * gradient)
        new_loss, new_gradient = evaluate(new)
        sweeps += 1
        if on_progress is not None:
            on_progress("estimating skills", sweeps, None)
        promised = gradient @ (new - u)
        if step is None and new_loss > loss + ARMIJO * promised + problem.rounding:
            trial /= 2
            if not np.any(problem.clip(u - trial * gradient) != u):
                status = STALLED
                break
            continue
        change = problem.mean_size(to_skills(new) - to_skills(u))
        moved = new - u
        gradient_change = new_gradient - gradient
        u = new
        loss = new_loss
        gradient = new_gradient
        if record:
            path.append(to_skills(u))
        if change <= tolerance and problem.stationarity(u, gradient) <= tolerance:
            status = CONVERGED
            break
        curvature = moved @ gradient_change
        if step is None:
            trial = float(moved @ moved / curvature) if curvature > 0 else 4 * trial
    norm = problem.stationarity(u, gradient)
    return Solution(to_skills(u), solver, status, sweeps, loss, norm, tuple(path))


THEORY = "theory"  # value of ``step`` for the step size of the theorem


def lipschitz_step(moments: Moments) -> float:
    """Return a step with which projected gradient descent never raises the loss from any point of the box.

    A row of the Hessian, diag(N x²) + N∘(2xxᵀ - C), sums to at most sum_j N_ij (1 + 3) in absolute value.

    >>> from quorate.skills.objective import triangle
    >>> lipschitz_step(triangle([0.8, 0.6, 0.5]).moments)
    0.125
    """
    return float(1 / (4 * max(moments.degree.max(initial=0.0), 1e-300)))


def exponentiated_step(n_workers: int, norm: float, K: float = 1.0) -> float:
    """Return alpha = 1 / (2 sqrt(W) ||N||_2 K²) [Ma20, Theorem 12, pert]; ``norm`` is ||N||_2.

    >>> exponentiated_step(4, norm=5.0)
    0.05
    """
    return float(1 / (2 * np.sqrt(n_workers) * norm * K**2))


def corollary_step(moments: Moments, *, kappa: float, K: float = 1.0) -> float:
    """Return kappa² / (K² ||N D_s²||_inf) for skills and start in [kappa, K] [Ma20, Corollary 14, corbound].

    >>> from quorate.skills.objective import triangle
    >>> corollary_step(triangle([0.8, 0.6, 0.5]).moments, kappa=0.5)
    0.125
    """
    return float(checked_kappa(kappa, K) ** 2 / (K**4 * moments.degree.max()))


def first_order_constant(moments: Moments, *, kappa: float, K: float = 1.0) -> float:
    """Return 4 W ||N||_F K⁴ / kappa², Lipschitz constant of the gradient on [kappa, K] [Ma20, Prop. 15, firstorder].

    Without a table of pairs, an upper bound of ||N||_F is used: the root of the largest row sum times the total sum.

    >>> from quorate.skills.objective import triangle
    >>> round(first_order_constant(triangle([0.8, 0.6, 0.5]).moments, kappa=0.5), 3)
    117.576
    """
    if moments.table is None:
        norm = np.sqrt(moments.degree.max() * moments.degree.sum())
    else:
        norm = np.sqrt(2 * np.sum(moments.table()[2] ** 2))
    return float(4 * moments.n_workers * norm * K**4 / checked_kappa(kappa, K) ** 2)


def theory_step(moments: Moments, *, kappa: float, K: float = 1.0) -> float:
    """Return the step of [Ma20, Theorem 11, noiselessPGD]: the corollary's, or 1/L if that is shorter.

    >>> from quorate.skills.objective import triangle
    >>> round(theory_step(triangle([0.8, 0.6, 0.5]).moments, kappa=0.5), 6)
    0.008505
    """
    constant = first_order_constant(moments, kappa=kappa, K=K)
    return min(corollary_step(moments, kappa=kappa, K=K), 1 / constant)


def fixed_step(step: float | str, theory: float) -> float:
    """Return the caller's step, or the step of the theory for ``theory``.

    Raises:
        OptionError: the step is neither a positive number nor ``theory``.

    >>> fixed_step("theory", 0.1), fixed_step(0.5, 0.1)
    (0.1, 0.5)
    """
    if step == THEORY:
        return theory
    if isinstance(step, str) or not 0 < step < float("inf"):
        raise OptionError(f"The option step must be a positive number, or 'theory', got {step!r}")
    return float(step)


def spectral_bound(moments: Moments) -> float:
    """Return 1.001 ||N||_2 by the power method; the factor keeps a step computed from it from being too long.

    >>> from quorate.skills.objective import triangle
    >>> round(spectral_bound(triangle([0.8, 0.6, 0.5]).moments), 3)
    2.002
    """
    v = np.ones(moments.n_workers)
    for _ in range(200):
        v = moments.shared @ v + v  # shifted by one: otherwise v would oscillate on a bipartite graph
        v /= np.linalg.norm(v)
    return float(1.001 * (v @ (moments.shared @ v)))


def checked_kappa(kappa: float, K: float) -> float:
    """Return kappa, the least skill, if it is positive and at most K.

    Raises:
        OptionError: kappa is not in (0, K].

    >>> checked_kappa(0.1, 1.0)
    0.1
    """
    if not 0 < kappa <= K:
        raise OptionError(f"The options kappa and K must satisfy 0 < kappa <= K, got {kappa:g} and {K:g}")
    return kappa


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
        start: x(0), by default one half everywhere; the theory requires it to be positive.
        step: of every iteration; ``theory`` for that of the theorem, which is short; by default 1/(4 max degree), with
            which the loss never rises (`quorate.skills.pgd.lipschitz_step`).
        max_iterations: maximum number of sweeps over the data.
        tolerance: for the mean change of a skill in a sweep, and for the projected-gradient norm.
        record: keep the trajectory.
        kappa: least skill, for the step of the theorem, which assumes skills and start in [kappa, K].
        K: greatest skill, for the step of the theorem.

    Raises:
        OptionError: the step is neither a positive number nor ``theory``.

    >>> from quorate.skills.objective import triangle
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
