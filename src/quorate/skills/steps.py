"""Steps and iteration counts that the theory gives, beside the practical step that the solvers find by themselves."""

import numpy as np

from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.skills.moments import Moments


def lipschitz_step(moments: Moments) -> float:
    """Return a step with which projected gradient descent never raises the loss, wherever it is in the box.

    A row of the Hessian, diag(N x²) + N∘(2xxᵀ - C), sums to at most sum_j N_ij (1 + 3) in absolute value.

    >>> from quorate.skills.examples import triangle
    >>> lipschitz_step(triangle([0.8, 0.6, 0.5]).moments)
    0.125
    """
    return float(1 / (4 * moments.degree.max()))


def lyapunov_step(moments: Moments, skills: FloatArray, start: FloatArray) -> float:
    """Return the largest step for which V(x) = max_i max(x_i/s_i, s_i/x_i) cannot grow [Ma20, Prop. lyapunov].

    The condition is step · ||N D_s²||_inf · V(start)² <= 1. With s and x(0) known only to lie in [kappa, K], give
    K everywhere for ``skills`` and kappa for ``start``: that is the corollary's kappa² / (K² ||N D_s²||_inf).

    >>> from quorate.skills.examples import triangle
    >>> s = np.array([0.8, 0.6, 0.5])
    >>> round(lyapunov_step(triangle(s).moments, s, np.full(3, 0.4)), 6)
    0.25
    """
    if not (np.all(skills > 0) and np.all(start > 0)):
        raise OptionError("the Lyapunov condition is about positive skills and a positive start")
    ratio = np.max(np.maximum(start / skills, skills / start))
    return float(1 / ((moments.shared @ skills**2).max() * ratio**2))


def exponentiated_step(n_workers: int, norm: float, K: float = 1.0) -> float:
    """Return alpha = 1 / (2 sqrt(W) ||N||_2 K²) [Ma20, Thm pert]; ``norm`` is ||N||_2.

    >>> exponentiated_step(4, norm=5.0)
    0.05
    """
    return float(1 / (2 * np.sqrt(n_workers) * norm * K**2))


def exponentiated_iterations(
    n_workers: int, norm: float, smallest: float, least_shared: float, *, kappa: float, K: float = 1.0, epsilon: float
) -> float:
    """Bound the iterations until ||x(t) - x*||² <= epsilon: (4L/mu) ln(W K⁴ L / (epsilon mu kappa²)) [Ma20, Thm pert].

    Args:
        n_workers: W.
        norm: ||N||_2.
        smallest: lambda_min of the signless Laplacian with unit weights.
        least_shared: N_min.
        kappa: the least skill.
        K: the greatest skill.
        epsilon: the squared distance wanted.

    >>> round(exponentiated_iterations(3, 2.0, 1.0, 1.0, kappa=0.5, epsilon=1e-6))
    2175
    """
    lipschitz = 1 / exponentiated_step(n_workers, norm, K)
    mu = kappa**2 * least_shared * smallest
    if mu == 0:
        return float("inf")
    return float(4 * lipschitz / mu * np.log(n_workers * K**4 * lipschitz / (epsilon * mu * kappa**2)))
