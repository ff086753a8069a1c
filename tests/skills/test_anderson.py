"""Anderson acceleration: the fixed point of the damped iteration, in fewer steps."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.arrays import FloatArray
from quorate.skills.anderson import AndersonSteps


def steps_to_fixed_point(matrix: FloatArray, target: FloatArray, tolerance: float) -> tuple[FloatArray, int]:
    """Iterate u <- A u + c, whose fixed point solves (I - A) u = c."""
    steps = AndersonSteps()
    state = np.zeros(len(target))
    for n in range(1, 2000):
        residual = matrix @ state + target - state
        if np.linalg.norm(residual) < tolerance:
            return state, n
        state = steps.next(state, residual)
    raise AssertionError("no convergence")


@given(st.integers(1, 12), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_contraction_reaches_its_fixed_point(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n, n))
    matrix *= 0.95 / np.linalg.norm(matrix, 2)
    target = rng.normal(size=n)
    state, _ = steps_to_fixed_point(matrix, target, 1e-9)
    np.testing.assert_allclose(state, np.linalg.solve(np.eye(n) - matrix, target), atol=1e-6)


def test_slow_directions_take_few_steps() -> None:
    matrix = np.diag([0.99, 0.9, 0.5, -0.8])
    _, n_steps = steps_to_fixed_point(matrix, np.ones(4), 1e-8)
    assert n_steps < 30  # damped steps shrink the slowest direction by .995 each: 3,700


def test_a_growing_residual_is_followed_by_a_damped_step() -> None:
    steps = AndersonSteps()
    state = np.array([1.0])
    for residual in (0.5, 0.4, 0.3, 0.2, 0.1):
        steps.next(state, np.array([residual]))
    assert steps.next(state, np.array([0.6])).tolist() == [1.3]
