"""Conjugate gradients that stop at negative or small curvature, which scipy's `cg` does not test."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from quorate.arrays import FloatArray

Product = Callable[[FloatArray], FloatArray]  # v -> A v


class TruncatedSolution(NamedTuple):
    """Where `truncated_cg` stopped."""

    x: FloatArray
    n_products: int  # products with the matrix
    is_positive: bool  # whether every direction had positive curvature


def truncated_cg(
    product: Product, target: FloatArray, diagonal: FloatArray | float, *, tolerance: float, max_products: int
) -> TruncatedSolution:
    """Solve A x = target, preconditioned by a diagonal, up to the first direction of negative curvature.

    If that is the first direction, x is this direction; else x is what was reached before it.

    Args:
        product: multiplies by A.
        target: right-hand side.
        diagonal: of A, or what is near it.
        tolerance: of the residual, relative to the right-hand side.
        max_products: products at most.

    >>> solution = truncated_cg(lambda v: 2 * v, np.array([2.0, 4.0]), 1.0, tolerance=1e-6, max_products=5)
    >>> solution.x.tolist(), solution.n_products
    ([1.0, 2.0], 1)
    """
    x = np.zeros(len(target))
    residual = target.copy()
    preconditioned = residual / diagonal
    direction = preconditioned
    size = float(residual @ preconditioned)
    enough = size * tolerance**2
    n_products = 0
    while n_products < max_products and size > enough:
        n_products += 1
        image = product(direction)
        curvature = float(direction @ image)
        if curvature <= 0:
            return TruncatedSolution(direction if n_products == 1 else x, n_products, False)
        step = size / curvature
        x = x + step * direction
        residual = residual - step * image
        preconditioned = residual / diagonal
        size_before = size
        size = float(residual @ preconditioned)
        direction = preconditioned + size / size_before * direction
    return TruncatedSolution(x, n_products, True)


def block_cg(
    product: Product,
    right_sides: FloatArray,
    diagonal: FloatArray,
    *,
    tolerance: float,
    max_products: int,
    min_curvature: float = 0.0,
) -> FloatArray:
    """Solve A x = b for many right-hand sides together, preconditioned by the diagonal; each stops by itself.

    One product with 128 columns costs a fraction of 128 products with one, which is what scipy's ``cg`` takes.

    Args:
        product: multiplies some of the columns by A.
        right_sides: rows × columns.
        diagonal: of A.
        tolerance: of the residual, relative to the right-hand side.
        max_products: products at most.
        min_curvature: relative to the diagonal; a column stops at a direction of less curvature.

    >>> matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> b = np.array([[3.0], [3.0]])
    >>> block_cg(lambda v: matrix @ v, b, np.full(2, 2.0), tolerance=1e-6, max_products=9).tolist()
    [[1.0], [1.0]]
    """
    scale = diagonal[:, None]
    x = np.zeros_like(right_sides)
    residual = right_sides.copy()
    directions = residual / scale
    size = (residual * directions).sum(axis=0)
    enough = tolerance**2 * size
    active = np.flatnonzero(size > 0)
    for _ in range(max_products):
        if len(active) == 0:
            break
        direction = directions[:, active]
        image = product(direction)
        curvature = (direction * image).sum(axis=0)
        of_diagonal = (direction * scale * direction).sum(axis=0)
        is_curved = curvature > min_curvature * of_diagonal
        active = active[is_curved]
        direction = direction[:, is_curved]
        image = image[:, is_curved]
        step = size[active] / curvature[is_curved]
        x[:, active] += step * direction
        residual[:, active] -= step * image
        preconditioned = residual[:, active] / scale
        new_size = (residual[:, active] * preconditioned).sum(axis=0)
        directions[:, active] = preconditioned + new_size / size[active] * direction
        size[active] = new_size
        active = active[new_size > enough[active]]
    return x
