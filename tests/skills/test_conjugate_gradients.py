"""Conjugate gradients solve positive definite systems, and stop where a matrix is not positive definite."""

import numpy as np
import pytest

from quorate.arrays import FloatArray
from quorate.skills.conjugate_gradients import block_cg, truncated_cg


def positive_definite(n: int, seed: int) -> FloatArray:
    root = np.random.default_rng(seed).standard_normal((n, n))
    return np.asarray(root @ root.T + n * np.eye(n))


def test_every_column_is_solved() -> None:
    matrix = positive_definite(30, 0)
    right_sides = np.random.default_rng(1).standard_normal((30, 5))
    right_sides[:, 2] = 0.0
    x, residual = block_cg(lambda v: matrix @ v, right_sides, np.diag(matrix), tolerance=1e-6, max_products=300)
    np.testing.assert_allclose(x, np.linalg.solve(matrix, right_sides), atol=1e-5)
    np.testing.assert_allclose(residual, right_sides - matrix @ x, atol=1e-9)
    assert not x[:, 2].any()


def test_a_column_stops_at_a_direction_of_small_curvature() -> None:
    diagonal = np.array([1.0, 1.0])
    curvature = np.array([1.0, 1e-6])
    x, _ = block_cg(
        lambda v: curvature[:, None] * v, np.eye(2), diagonal, tolerance=1e-9, max_products=9, min_curvature=1e-3
    )
    assert x.tolist() == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("is_scaled", [False, True])
def test_one_system_is_solved_with_and_without_a_preconditioner(is_scaled: bool) -> None:
    matrix = positive_definite(20, 2)
    target = np.arange(20.0)
    diagonal: FloatArray | float = np.diag(matrix) if is_scaled else 1.0
    solution = truncated_cg(lambda v: matrix @ v, target, diagonal, tolerance=1e-10, max_products=200)
    assert solution.is_positive
    np.testing.assert_allclose(solution.x, np.linalg.solve(matrix, target), rtol=1e-6)


def test_negative_curvature_is_reported_and_the_first_direction_returned() -> None:
    target = np.array([0.0, 1.0])
    solution = truncated_cg(lambda v: np.array([1.0, -1.0]) * v, target, 1.0, tolerance=1e-6, max_products=5)
    assert not solution.is_positive
    assert solution.x.tolist() == target.tolist()


def test_negative_curvature_later_keeps_what_was_reached() -> None:
    """The first direction (2, 1) has curvature 3; the second is negative."""
    target = np.array([2.0, 1.0])
    solution = truncated_cg(lambda v: np.array([1.0, -1.0]) * v, target, 1.0, tolerance=1e-6, max_products=5)
    assert not solution.is_positive
    assert solution.n_products == 2
    np.testing.assert_allclose(solution.x, target * 5 / 3)


def test_products_are_limited() -> None:
    matrix = positive_definite(20, 3)
    solution = truncated_cg(lambda v: matrix @ v, np.arange(20.0), 1.0, tolerance=1e-12, max_products=3)
    assert solution.n_products == 3
