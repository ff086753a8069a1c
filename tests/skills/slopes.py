"""The gradient by finite differences."""

import numpy as np
import pytest

from quorate.skills.objective import Problem


def assert_that_the_gradient_is_the_slope(problem: Problem, n_workers: int) -> None:
    """At a point drawn at random; steps of 1e-6 leave errors of about 1e-6 in slopes of about one."""
    x = np.random.default_rng(0).uniform(-0.5, 0.9, n_workers)
    _, gradient = problem.loss_and_gradient(x)
    for k in range(n_workers):
        step = np.eye(n_workers)[k] * 1e-6
        slope = (problem.loss_and_gradient(x + step)[0] - problem.loss_and_gradient(x - step)[0]) / 2e-6
        assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-5)
