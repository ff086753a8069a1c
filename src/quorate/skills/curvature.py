"""How the least-squares objective curves: H = diag(N x²) + N∘(2xxᵀ - C), formed, or known by its products."""

from functools import cache

import numpy as np

from quorate.arrays import FloatArray
from quorate.skills.newton import DENSE, Landscape
from quorate.skills.objective import Problem

# The gradient is a cubic, so its difference over so short a way is H v to about seven digits.
WAY = 1e-7


def least_squares(problem: Problem) -> Landscape:
    """Describe the objective with its curvature; the Hessian is formed where there is a table of pairs of few workers.

    >>> from quorate.skills.examples import triangle
    >>> land = least_squares(triangle([0.8, 0.6, 0.5]))
    >>> land.dense(np.array([0.8, 0.6, 0.5])).round(2).tolist()
    [[0.61, 0.48, 0.4], [0.48, 0.89, 0.3], [0.4, 0.3, 1.0]]
    """
    moments = problem.moments
    small = moments.table is not None and moments.n_workers <= DENSE

    @cache
    def matrices() -> tuple[FloatArray, FloatArray]:
        return formed(problem)

    def diagonal(x: FloatArray) -> FloatArray:
        squares: FloatArray = moments.shared @ (x * x) + problem.ridge
        return squares

    def dense(x: FloatArray) -> FloatArray:
        shared, signed = matrices()
        hessian = 2 * shared * np.outer(x, x) - signed
        np.fill_diagonal(hessian, shared @ (x * x) + problem.ridge)
        return hessian

    def product(x: FloatArray, gradient: FloatArray, v: FloatArray) -> FloatArray:
        if moments.both is None:
            told = (moments.shared @ (x * x) + problem.ridge) * v
            return told + 2 * x * (moments.shared @ (x * v)) - moments.signed @ v
        size = WAY / max(float(np.abs(v).max()), 1e-300)
        turned: FloatArray = (problem.loss_and_gradient(x + size * v)[1] - gradient) / size
        return turned

    return Landscape(problem, problem.loss_and_gradient, diagonal, dense if small else None, product)


def formed(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Form N and N∘C from the table of pairs.

    >>> from quorate.skills.examples import triangle
    >>> formed(triangle([0.8, 0.6, 0.5]))[0].tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    assert problem.moments.table is not None  # asked by the caller
    i, j, weights, correlation = problem.moments.table()
    shared, signed = np.zeros((2, problem.moments.n_workers, problem.moments.n_workers))
    shared[i, j] = shared[j, i] = weights
    signed[i, j] = signed[j, i] = weights * correlation
    return shared, signed
