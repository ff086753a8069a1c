"""Step sizes, ranges and numbers of iterations of [Ma20] that no solver uses; for the others see `skills.pgd`."""

import numpy as np

from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.skills.moments import Moments
from quorate.skills.pgd import checked_kappa, exponentiated_step


def lyapunov_step(moments: Moments, skills: FloatArray, start: FloatArray) -> float:
    """Return the largest step for which V(x) = max_i max(x_i/s_i, s_i/x_i) cannot grow [Ma20, Prop. 13, lyapunov].

    The condition is step · ||N D_s²||_inf · V(start)² <= 1. If only a range [kappa, K] of s and x(0) is known, give K
    for all ``skills`` and kappa for all of ``start``: this is the corollary's step kappa² / (K² ||N D_s²||_inf).

    >>> from quorate.skills.objective import triangle
    >>> s = np.array([0.8, 0.6, 0.5])
    >>> round(lyapunov_step(triangle(s).moments, s, np.full(3, 0.4)), 6)
    0.25
    """
    if not (np.all(skills > 0) and np.all(start > 0)):
        raise OptionError("The Lyapunov condition needs positive skills and a positive start")
    ratio = np.max(np.maximum(start / skills, skills / start))
    return float(1 / ((moments.shared @ skills**2).max() * ratio**2))


def exponentiated_iterations(
    n_workers: int, norm: float, smallest: float, least_shared: float, *, kappa: float, K: float = 1.0, epsilon: float
) -> float:
    """Return a bound on the iterations until ||x(t) - x*||² <= epsilon: (4L/mu) ln(W K⁴ L / (epsilon mu kappa²)).

    It follows from the proof of [Ma20, Theorem 12, pert].

    Args:
        n_workers: W.
        norm: ||N||_2.
        smallest: lambda_min of the signless Laplacian with unit weights.
        least_shared: N_min.
        kappa: least skill.
        K: greatest skill.
        epsilon: required squared distance.

    >>> round(exponentiated_iterations(3, 2.0, 1.0, 1.0, kappa=0.5, epsilon=1e-6))
    2175
    """
    lipschitz = 1 / exponentiated_step(n_workers, norm, K)
    mu = kappa**2 * least_shared * smallest
    if mu == 0:
        return float("inf")
    return float(4 * lipschitz / mu * np.log(n_workers * K**4 * lipschitz / (epsilon * mu * kappa**2)))


def corollary_range(*, kappa: float, K: float = 1.0) -> tuple[float, float]:
    """Return [kappa²/K, K²/kappa], which PGD with the corollary's step never leaves [Ma20, Corollary 14, corbound].

    >>> corollary_range(kappa=0.25, K=0.5)
    (0.125, 1.0)
    """
    return checked_kappa(kappa, K) ** 2 / K, K**2 / kappa


def least_eigenvalue(n_workers: int) -> float:
    """Return 1/W³, a lower bound of the least eigenvalue of L_s with an odd cycle [Ma20, before Theorem 12, pert].

    >>> least_eigenvalue(10)
    0.001
    """
    return float(n_workers) ** -3
