"""The end of a descent: its certificate is the distance to the optimum, whatever the conditioning."""

from dataclasses import replace

import numpy as np
import pytest

from quorate import simulate
from quorate.arrays import FloatArray
from quorate.skills.coordinate import coordinate_descent, coordinate_sweeps
from quorate.skills.moments import from_answers, from_pairs
from quorate.skills.newton import least_squares, newton_steps
from quorate.skills.objective import Problem, box
from quorate.skills.solvers import SOLVERS
from tests.skills.samples import exact_problem, noisy_problem


def on_ring(n: int, tasks: int, seed: int) -> Problem:
    """The correlations that so many shared tasks an edge would give, of skills on the paper's grid."""
    rng = np.random.default_rng(seed)
    skills, (i, j) = simulate.grid_skills(n, seed=rng), simulate.ring(n)
    agreed = rng.binomial(tasks, (1 + skills[i] * skills[j]) / 2)
    moments = from_pairs(n, i, j, np.full(n, float(tasks)), 2 * agreed / tasks - 1)
    return Problem(moments, *box(np.full(n, 2 * tasks), 2, 1.0), np.full(n, 2.0 * tasks))


def with_table(problem: Problem, crowd: simulate.Crowd) -> Problem:
    from quorate.skills.identification import identify_workers

    identification = identify_workers(crowd.answers)
    return replace(problem, moments=replace(problem.moments, table=lambda: identification.table))


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "gradient"])  # its step is fixed
@pytest.mark.parametrize("seed", range(6))
def test_on_the_papers_ring_a_tighter_tolerance_moves_no_skill(solver: str, seed: int) -> None:
    """With 330 tasks an edge a change of 1e-5 in a sweep can mean a skill .4 off; the tolerance bounds the distance."""
    problem = on_ring(11, 330, seed)
    loose, tight = SOLVERS[solver](problem), SOLVERS[solver](problem, tolerance=1e-9)
    assert loose.converged
    assert tight.converged
    assert loose.distance is not None
    assert loose.distance <= 1e-5
    assert loose.skills == pytest.approx(tight.skills, abs=1e-4)
    assert loose.loss == pytest.approx(tight.loss, abs=1e-6)


def test_sweeps_alone_stop_far_from_the_optimum_there() -> None:
    """What the certificate is for: own bests that are 1e-5 away on average, and skills that are .01 off."""
    skills = simulate.grid_skills(11, seed=np.random.default_rng(0))
    problem = exact_problem(skills, *simulate.ring(11), np.full(11, 330.0))
    start = np.sign(skills) * 0.5
    swept = coordinate_sweeps(problem, start)
    assert swept.converged
    assert np.abs(swept.skills - skills).max() > 0.01
    assert coordinate_descent(problem, start).skills == pytest.approx(skills, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_step_that_is_left_is_the_distance(seed: int) -> None:
    """Newton's step from a point near the optimum is as long as the way to the optimum."""
    crowd = simulate.crowd(400, 15, 4, seed=seed)
    problem = with_table(noisy_problem(crowd), crowd)
    best = coordinate_descent(problem, tolerance=1e-12).skills
    is_inside = (best > problem.lower) & (best < problem.upper)
    moved = np.where(is_inside, np.random.default_rng(seed).normal(0, 1e-4, 15), 0.0)
    start = problem.clip(best + moved)
    end = newton_steps(least_squares(problem), start, tolerance=1.0, max_sweeps=10)  # one step
    assert end.distance == pytest.approx(problem.mean_size(start - best), rel=0.02)
    assert problem.mean_size(end.u - best) < 1e-2 * end.distance


@pytest.mark.parametrize("seed", range(5))
def test_conjugate_gradients_end_where_the_factorisation_does(seed: int) -> None:
    crowd = simulate.crowd(400, 15, 4, n_classes=3, seed=seed)
    by_products = noisy_problem(crowd)
    by_products = replace(by_products, moments=replace(by_products.moments, table=None))
    start = coordinate_sweeps(by_products, tolerance=1e-2).skills
    ends = [
        newton_steps(least_squares(problem), start, tolerance=1e-7, max_sweeps=1_000)
        for problem in (by_products, with_table(by_products, crowd))
    ]
    assert least_squares(by_products).dense is None
    assert [end.status for end in ends] == ["converged", "converged"]
    assert ends[0].u == pytest.approx(ends[1].u, abs=1e-6)
    assert ends[0].sweeps > ends[1].sweeps  # its products are looks at the data


def test_a_saddle_is_left() -> None:
    """At zero the gradient of two skills is zero; from beside it the loss falls all the way."""
    problem = Problem(from_pairs(2, np.array([0]), np.array([1]), np.array([100.0]), np.array([0.36])), *_unit(2))
    end = newton_steps(least_squares(problem), np.array([1e-3, 1e-3]), tolerance=1e-8, max_sweeps=200)
    assert end.loss == pytest.approx(0.0, abs=1e-9)


def _unit(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    return -np.ones(n), np.ones(n), np.ones(n)


def test_looks_at_the_data_are_capped_and_reported() -> None:
    problem = on_ring(51, 330, 0)
    found = coordinate_descent(problem, max_iterations=45)
    assert not found.converged
    assert "cap" in found.status
    assert found.iterations == 45


@pytest.mark.parametrize("shape", [(2_000, 600, 3, 2), (3_000, 50, 4, 3)])
def test_large_crowds_have_their_distance_by_the_sweeps_themselves(shape: tuple[int, int, int, int]) -> None:
    n_tasks, n_workers, per_task, n_classes = shape
    crowd = simulate.crowd(n_tasks, n_workers, per_task, n_classes=n_classes, seed=0)
    a = crowd.answers
    problem = Problem(from_answers(a), *box(a.per_worker, n_classes, 1.0), a.per_worker.astype(float))
    found = coordinate_descent(problem)
    truth = problem.mean_size(found.skills - coordinate_descent(problem, tolerance=1e-10).skills)
    assert found.converged
    assert found.distance is not None
    assert found.distance <= 1e-5
    assert truth <= 3 * found.distance  # an estimate, from a few directions
