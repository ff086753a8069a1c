"""Conjugate gradients that stop at negative or small curvature, for which scipy's `cg` does not test."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from quorate.arrays import FloatArray

Product = Callable[[FloatArray], FloatArray]  # v -> A v


class TruncatedSolution(NamedTuple):
    """The solution at which `truncated_cg` stopped."""

    x: FloatArray
    n_products: int  # products with the matrix
    is_positive: bool  # whether every direction had positive curvature


def truncated_cg(
    product: Product, target: FloatArray, diagonal: FloatArray | float, *, tolerance: float, max_products: int
) -> TruncatedSolution:
    """Solve A x = target, preconditioned by a diagonal; stop at the first direction of curvature zero or below.

    If already the first direction has no positive curvature, x is this direction; otherwise x is the last iterate.

    Args:
        product: multiplies by A.
        target: right-hand side.
        diagonal: of A, or an approximation of it.
        tolerance: for the residual, relative to the right-hand side.
        max_products: maximum number of products.

    >>> solution = truncated_cg(lambda v: 2 * v, np.array([2.0, 4.0]), 1.0, tolerance=1e-6, max_products=5)
    >>> solution.x.tolist(), solution.n_products
    ([1.0, 2.0], 1)
    """
    x = np.zeros(len(target))
    residual = target.copy()
    preconditioned = residual / diagonal
    direction = preconditioned
    size = float(residual @ preconditioned)
    target_size = size * tolerance**2
    n_products = 0
    while n_products < max_products and size > target_size:
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
) -> tuple[FloatArray, FloatArray]:
    """Solve A x = b for many right-hand sides together, preconditioned by the diagonal; return x and b - A x.

    Each column stops independently. One product with 128 columns costs a fraction of the 128 products with one column
    that scipy's ``cg`` would take.

    Args:
        product: multiplies the columns that have not stopped by A.
        right_sides: rows × columns.
        diagonal: of A.
        tolerance: for the residual, relative to the right-hand side.
        max_products: maximum number of products.
        min_curvature: relative to the diagonal; a column stops at a direction of this curvature or less.

    >>> matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> b = np.array([[3.0], [3.0]])
    >>> block_cg(lambda v: matrix @ v, b, np.full(2, 2.0), tolerance=1e-6, max_products=9)[0].tolist()
    [[1.0], [1.0]]
    """
    scale = diagonal[:, None]
    x = np.zeros_like(right_sides)
    residual = right_sides.copy()
    directions = residual / scale
    size = (residual * directions).sum(axis=0)
    target_size = tolerance**2 * size
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
        active = active[new_size > target_size[active]]
    return x, residual
