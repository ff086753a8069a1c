"""The default solver where pairs contradict each other, so that half way to each worker's best can be too far."""

import numpy as np
import pytest

from quorate import simulate
from quorate.arrays import FloatArray
from quorate.skills.coordinate import MAX_SWEEPS_BEFORE_NEWTON, coordinate_sweeps, sweeps_left
from quorate.skills.solvers import Problem, box, coordinate_descent, from_answers, from_pairs
from tests.skills.samples import exact_problem


def frustrated(seed: int) -> tuple[Problem, FloatArray]:
    """Correlations drawn at random, with weights of very different size, and a start of any size."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    i, j = np.triu_indices(n, k=1)
    weights, correlation, ones = np.exp(rng.uniform(0, 6, len(i))), rng.uniform(-1, 1, len(i)), np.ones(n)
    start = rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-3, 0)
    return Problem(from_pairs(n, i, j, weights, correlation), -ones, ones, ones), start


@pytest.mark.parametrize("seed", [3, 6, 10])  # these take steps back
def test_a_step_that_is_too_far_is_taken_back_and_halved(seed: int) -> None:
    problem, start = frustrated(seed)
    found = coordinate_descent(problem, start, record=True)
    assert found.converged
    assert len(found.trajectory) - 1 < found.iterations  # some sweeps were taken back
    losses = [problem.loss_and_gradient(x)[0] for x in found.trajectory]
    assert np.all(np.diff(losses) <= problem.rounding)
    best = problem.own_best(found.skills, *problem.moments.products(found.skills))
    assert np.abs(best - found.skills).mean() <= 1e-5  # the tolerance
    assert found.loss == losses[-1]


def test_the_path_is_kept_only_if_it_is_asked_for() -> None:
    problem, start = frustrated(6)
    assert coordinate_descent(problem, start).trajectory == ()
    path = coordinate_descent(problem, start, record=True).trajectory
    assert path[0] == pytest.approx(start)


def test_at_the_solution_there_is_nothing_to_sweep() -> None:
    skills = np.array([0.8, 0.6, 0.5])
    i, j = np.triu_indices(3, k=1)
    found = coordinate_descent(exact_problem(skills, i, j, np.ones(3)), skills)
    assert (found.iterations, found.status) == (0, "converged")
    assert found.skills == pytest.approx(skills)


def test_extrapolation_saves_sweeps_and_changes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    a = simulate.crowd(800, 25, 4, seed=3).answers
    from quorate.skills.solvers import from_answers

    ones = np.ones(25)
    problem = Problem(from_answers(a), -ones, ones, a.per_worker.astype(float))
    fast = coordinate_sweeps(problem, tolerance=1e-9)
    monkeypatch.setattr("quorate.skills.coordinate._Memory.extrapolate", lambda self, point, move: point)
    plain = coordinate_sweeps(problem, tolerance=1e-9)
    assert fast.skills == pytest.approx(plain.skills, abs=1e-7)
    assert fast.iterations < 0.7 * plain.iterations


@pytest.mark.parametrize(
    ("before", "now", "left"), [(1e-2, 1e-3, 2), (1e-3, 1e-3, 44), (0.0, 1e-3, 44), (1e-2, 1e-5, 0), (1e-2, 9e-6, 0)]
)
def test_the_guess_of_what_is_left(before: float, now: float, left: int) -> None:
    """If each sweep goes on as the last, and never faster than it: 0.9^44 is 0.01."""
    assert sweeps_left(before, now, 1e-5) == left
    assert sweeps_left(before, now, 0.0) == 0


def test_skills_of_few_answers_are_solved_as_far_as_the_answers_determine_them() -> None:
    """Each of 1,000 workers has five answers; the objective is flat, and a skill has a standard error of about 0.4."""
    crowd = simulate.crowd(1000, 1000, 5, seed=0)
    n_answers = crowd.answers.per_worker
    bounds = box(n_answers, crowd.answers.n_classes, 1.0)
    problem = Problem(from_answers(crowd.answers), *bounds, n_answers.astype(np.float64))
    found = coordinate_descent(problem)
    assert found.converged
    assert found.iterations == MAX_SWEEPS_BEFORE_NEWTON
    exact = coordinate_descent(problem, tolerance=1e-6)
    assert exact.iterations > MAX_SWEEPS_BEFORE_NEWTON
    assert problem.mean_size(found.skills - exact.skills) < 0.4 / 4
    assert problem.mean_size(found.skills - crowd.skills) <= problem.mean_size(exact.skills - crowd.skills)
