"""Sweeps: the loss never rises, theory's steps hold, a cap is reported, large crowds have the same sums."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from quorate import simulate
from quorate.arrays import FloatArray
from quorate.graph.laplacian import signless_laplacian, smallest_eigenvalue
from quorate.skills.coordinate import Evaluation, coordinate_sweeps
from quorate.skills.moments import WEIGHTINGS
from quorate.skills.objective import STALLED, Problem
from quorate.skills.pgd import descend, exponentiated_step, lipschitz_step
from quorate.skills.solvers import SOLVERS
from quorate.theory.steps import exponentiated_iterations, lyapunov_step
from tests.crowds import connected_odd_graph
from tests.skills.samples import exact_problem, noisy_problem


def losses(problem: Problem, path: tuple[FloatArray, ...]) -> FloatArray:
    return np.array([problem.loss_and_gradient(x)[0] for x in path])


def test_no_sweep_raises_the_loss() -> None:
    problem = noisy_problem(simulate.crowd(400, 15, 4, seed=9))
    for solver in ("coordinate", "gradient"):
        path = losses(problem, SOLVERS[solver](problem, record=True).trajectory)
        assert (np.diff(path) <= 1e-9 * path[0]).all(), solver
    fixed = SOLVERS["gradient"](problem, step=lipschitz_step(problem.moments), record=True, max_iterations=500)
    assert (np.diff(losses(problem, fixed.trajectory)) <= 0).all()
    assert len(fixed.trajectory) == fixed.iterations + 1


def test_the_lyapunov_function_never_grows_with_the_theorys_step() -> None:
    rng = np.random.default_rng(4)
    i, j = connected_odd_graph(8, rng)
    skills = rng.uniform(0.3, 0.9, 8)
    problem = exact_problem(skills, i, j, rng.integers(1, 9, len(i)).astype(float))
    start = np.full(8, 0.5)
    step = lyapunov_step(problem.moments, skills, start)
    path = SOLVERS["gradient"](problem, start, step=step, record=True, max_iterations=300).trajectory
    spread = [np.maximum(x / skills, skills / x).max() for x in path]
    assert (np.diff(spread) <= 1e-12).all()


def test_exponentiated_gradient_keeps_the_theorems_promise_of_iterations() -> None:
    skills, epsilon, kappa = np.array([0.8, 0.6, 0.7]), 1e-6, 0.5
    i, j = simulate.clique(3)
    problem = exact_problem(skills, i, j, np.ones(3))
    laplacian = signless_laplacian(3, i, j)
    norm = float(np.linalg.norm((laplacian - sparse.diags_array(laplacian.diagonal())).toarray(), 2))
    bound = exponentiated_iterations(3, norm, smallest_eigenvalue(laplacian), 1.0, kappa=kappa, epsilon=epsilon)
    solution = SOLVERS["exponentiated"](
        problem, step=exponentiated_step(3, norm), max_iterations=int(bound), tolerance=0.0, kappa=kappa
    )
    assert ((solution.skills - skills) ** 2).sum() <= epsilon


def test_a_capped_run_says_so() -> None:
    problem = noisy_problem(simulate.crowd(400, 15, 4, seed=9))
    for solver in SOLVERS.values():
        solution = solver(problem, max_iterations=2)
        assert not solution.converged
        assert "cap" in solution.status
        assert solution.iterations == 2


def test_where_every_step_raises_the_loss_steps_are_halved_until_they_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No loss of real answers does so. What was refused is not remembered: none of these is extrapolated."""
    problem = exact_problem(np.array([0.8, 0.6, 0.7]), *simulate.clique(3), np.ones(3))
    start, best = np.array([0.5, 0.4, 0.3]), np.array([0.75, 0.5, 0.1])
    tried: list[FloatArray] = []

    def rising(_: Problem, x: FloatArray, products: tuple[FloatArray, FloatArray]) -> Evaluation:
        tried.append(x)
        return Evaluation(x, products, float(len(tried)), np.zeros(3), best, 1.0)

    monkeypatch.setattr("quorate.skills.coordinate._evaluate", rising)
    solution = coordinate_sweeps(problem, start, max_iterations=1000)
    assert (solution.status, solution.skills.tolist()) == (STALLED, start.tolist())
    steps = [0.5**k * (best - start) for k in range(1, 200)]
    assert np.array_equal(tried[1:], [start + step for step in steps if np.any(start + step != start)])


def test_gradient_descent_halves_its_steps_until_they_change_nothing() -> None:
    problem = exact_problem(np.array([0.8, 0.6, 0.7]), *simulate.clique(3), np.ones(3))
    start, gradient = np.array([0.5, 0.4, 0.3]), np.array([0.25, -0.1, 0.2])
    tried: list[FloatArray] = []

    def rising(x: FloatArray) -> tuple[float, FloatArray]:
        tried.append(x)
        return float(len(tried)), gradient

    solution = descend(problem, rising, start, solver="rising", max_iterations=1000, tolerance=1e-5, record=False)
    assert (solution.status, solution.skills.tolist()) == (STALLED, start.tolist())
    steps = [0.5**k * gradient for k in range(1, 200)]  # each worker met two others: the first step is one half
    assert np.array_equal(tried[1:], [start - step for step in steps if np.any(start - step != start)])


def test_a_known_skill_stays_where_it_is() -> None:
    problem = noisy_problem(simulate.crowd(400, 15, 4, seed=9))
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[3] = upper[3] = 1.0
    for solver in SOLVERS.values():
        assert solver(replace(problem, lower=lower, upper=upper)).skills[3] == 1.0


def test_pairs_weigh_as_often_as_they_met_or_all_alike_or_by_the_square() -> None:
    shared = np.array([1, 2, 5])
    assert {name: weigh(shared).tolist() for name, weigh in WEIGHTINGS.items()} == {
        "shared": [1, 2, 5],
        "binary": [1, 1, 1],
        "squared": [1, 4, 25],
    }
