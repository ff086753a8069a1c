"""What a sweep promises: the loss never rises, theory's steps hold, a cap is told, large crowds are summed alike."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.evaluation import simulate
from quorate.meetings.pairs import correlations, pair_stats
from quorate.meetings.spectrum import signless_laplacian, smallest_eigenvalue, spectral_norm
from quorate.skills import SOLVERS, WEIGHTINGS, Problem, from_answers
from quorate.skills.evidence import gather
from quorate.skills.matrices import matrix_products
from quorate.skills.solve import solve_signed
from quorate.skills.steps import exponentiated_iterations, exponentiated_step, lipschitz_step, lyapunov_step
from tests.crowds import connected_odd_graph, of_several_classes
from tests.skills.samples import exact_problem, noisy_problem

TIGHT: dict[str, Any] = {"tolerance": 1e-11, "max_iterations": 200_000}


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
    norm = spectral_norm(laplacian - sparse.diags_array(laplacian.diagonal()))
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


def test_a_known_skill_stays_where_it_is() -> None:
    problem = noisy_problem(simulate.crowd(400, 15, 4, seed=9))
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[3] = upper[3] = 1.0
    for solver in SOLVERS.values():
        assert solver(replace(problem, lower=lower, upper=upper)).skills[3] == 1.0


@given(of_several_classes())
def test_products_by_matrices_equal_those_by_sums(answers: Answers) -> None:
    x = np.linspace(-0.4, 0.9, answers.n_workers)
    for by_sums, by_matrix in zip(from_answers(answers).products(x), matrix_products(answers)(x), strict=True):
        np.testing.assert_allclose(by_matrix, by_sums, atol=1e-9)  # rounding of sums of a few dozen terms


def test_pairs_weigh_as_often_as_they_met_or_all_alike_or_by_the_square() -> None:
    shared = np.array([1, 2, 5])
    assert {name: weigh(shared).tolist() for name, weigh in WEIGHTINGS.items()} == {
        "shared": [1, 2, 5],
        "binary": [1, 1, 1],
        "squared": [1, 4, 25],
    }


def test_large_crowds_are_summed_by_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = simulate.crowd(50, 6, 3, n_classes=3, seed=0).answers
    for many, by_matrices in ((answers.n_answers + 1, False), (answers.n_answers, True)):
        monkeypatch.setattr("quorate.skills.moments.MANY", many)
        both = from_answers(answers).both
        assert both is not None
        assert ("matrix_products" in both.__qualname__) is by_matrices


def test_the_signs_tell_how_much_of_the_evidence_contradicts_them() -> None:
    """The share of N_ij |C_ij x_i x_j| whose correlation has not the sign of x_i x_j, by a loop over pairs."""
    crowd = simulate.crowd(60, 10, 3, skills=np.linspace(-0.3, 0.6, 10), seed=2)
    evidence, problem = gather(crowd.answers), noisy_problem(crowd)
    solution, signs = solve_signed(problem, evidence)
    pairs = pair_stats(crowd.answers)
    total = against = 0.0
    for i, j, n, c in zip(pairs.i, pairs.j, pairs.shared, correlations(pairs, 2), strict=True):
        weight = n * abs(c * solution.skills[i] * solution.skills[j])
        total += weight
        against += weight * (c * solution.skills[i] * solution.skills[j] < 0)
    assert signs is not None
    assert signs.contradicted == pytest.approx(against / total)
    assert signs.contradicted > 0.01


def test_signs_are_checked_up_to_a_size_and_wherever_pairs_were_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = simulate.crowd(60, 10, 3, seed=2)
    problem, evidence = noisy_problem(crowd), gather(crowd.answers)
    monkeypatch.setattr("quorate.skills.solve.CHECKED", evidence.n_meetings)
    assert solve_signed(problem, evidence)[1] is not None
    monkeypatch.setattr("quorate.skills.solve.CHECKED", evidence.n_meetings - 1)
    assert solve_signed(problem, evidence)[1] is None
    assert solve_signed(problem, gather(crowd.answers, weighting="binary"))[1] is not None
