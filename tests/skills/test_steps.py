"""Steps and constants of the theory, within reach of a caller."""

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.errors import OptionError
from quorate.graph.laplacian import signless_laplacian, smallest_eigenvalue
from quorate.skills.pgd import (
    corollary_step,
    first_order_constant,
    spectral_bound,
    theory_step,
)
from quorate.skills.solvers import SOLVERS
from quorate.theory.steps import corollary_range, least_eigenvalue
from tests.crowds import connected_odd_graph
from tests.skills.samples import exact_problem


@pytest.mark.parametrize("seed", range(5))
def test_with_the_corollarys_step_descent_stays_in_its_range(seed: int) -> None:
    rng = np.random.default_rng(seed)
    i, j = connected_odd_graph(8, rng)
    skills, kappa, greatest = rng.uniform(0.4, 0.8, 8), 0.4, 0.8
    problem = exact_problem(skills, i, j, rng.integers(1, 9, len(i)).astype(float))
    step = corollary_step(problem.moments, kappa=kappa, K=greatest)
    path = SOLVERS["gradient"](problem, np.full(8, 0.5), step=step, record=True, max_iterations=300).trajectory
    low, high = corollary_range(kappa=kappa, K=greatest)
    assert all(((low <= x) & (x <= high)).all() for x in path)


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_is_lipschitz_with_the_first_order_constant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    i, j = connected_odd_graph(8, rng)
    problem = exact_problem(rng.uniform(0.4, 0.8, 8), i, j, rng.integers(1, 9, len(i)).astype(float))
    constant = first_order_constant(problem.moments, kappa=0.4, K=0.8)
    for _ in range(50):
        y, z = rng.uniform(0, corollary_range(kappa=0.4, K=0.8)[1], (2, 8))
        apart = problem.loss_and_gradient(y)[1] - problem.loss_and_gradient(z)[1]
        assert np.linalg.norm(apart) <= constant * np.linalg.norm(y - z)
    assert theory_step(problem.moments, kappa=0.4, K=0.8) == pytest.approx(1 / constant)


def test_the_eigenvalue_is_at_least_what_the_theory_says() -> None:
    for n in (3, 5, 11, 51):
        assert smallest_eigenvalue(signless_laplacian(n, *simulate.ring(n))) >= least_eigenvalue(n)


def test_the_norm_by_the_power_method_is_never_too_small() -> None:
    for n in (4, 9):
        problem = exact_problem(np.full(n, 0.5), *simulate.ring(n), np.arange(1.0, n + 1))
        true = np.linalg.norm((problem.moments.shared @ np.eye(n)), 2)
        assert true <= spectral_bound(problem.moments) <= 1.002 * true


@pytest.mark.parametrize("solver", ["gradient", "exponentiated"])
def test_the_theorys_step_can_be_asked_for(solver: str) -> None:
    """It is short, so that the cap comes first; but no sweep raises the loss."""
    answers = simulate.crowd(300, 8, 4, skills=np.linspace(0.4, 0.8, 8), seed=1).answers
    found = quorate.aggregate(answers, "rank-one", solver=solver, step="theory", max_iterations=50)
    assert found.solution is not None
    assert found.solution.iterations == 50
    with pytest.raises(OptionError, match="a positive number, or 'theory', got 'long'"):
        quorate.aggregate(answers, "rank-one", solver=solver, step="long")
    with pytest.raises(OptionError, match="positive number"):
        quorate.aggregate(answers, "rank-one", solver=solver, step=-1.0)
    with pytest.raises(OptionError, match="0 < kappa"):
        quorate.aggregate(answers, "rank-one", solver="gradient", step="theory", kappa=2.0)
