"""The three solvers: exact where the correlations are exact, at the same optimum where they are not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import simulate
from quorate.answers import Answers
from quorate.graph.pairs import correlations, pair_stats
from quorate.skills.gradient_flow import follow_gradient_flow
from quorate.skills.identification import identify_workers
from quorate.skills.moments import WEIGHTINGS, from_answers, from_pairs
from quorate.skills.objective import Problem
from quorate.skills.solvers import SOLVERS
from quorate.theory.constructive import constructive_skills
from tests.crowds import connected_odd_graph, of_several_classes, signed_skills
from tests.skills.samples import TIGHT, exact_problem, noisy_problem
from tests.skills.slopes import assert_that_the_gradient_is_the_slope


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(25))
def test_exact_correlations_return_the_skills(solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 13))
    i, j = connected_odd_graph(n, rng)
    skills = rng.uniform(0.2, 0.9, n)
    problem = exact_problem(skills, i, j, rng.integers(1, 20, len(i)).astype(float))
    solution = SOLVERS[solver](problem, **TIGHT)
    assert solution.converged
    assert solution.skills == pytest.approx(skills, abs=1e-6)


def test_the_constructive_estimator_returns_the_absolute_skills() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 13))
        i, j = connected_odd_graph(n, rng, share=0.1)
        skills = signed_skills(n, rng)
        assert constructive_skills(n, i, j, skills[i] * skills[j]) == pytest.approx(np.abs(skills), abs=1e-9)


def test_the_constructive_estimator_leaves_bipartite_parts_open() -> None:
    i, j = np.array([0, 1]), np.array([1, 2])
    assert np.isnan(constructive_skills(4, i, j, np.array([0.5, 0.5]))).all()


def test_the_constructive_estimator_leaves_open_what_lies_behind_a_correlation_of_zero() -> None:
    """On the cycle it leaves everyone open; on a path it gives the first a skill of zero, and those behind none."""
    i, j = np.array([0, 0, 1, 2, 3]), np.array([1, 2, 2, 3, 4])
    on_cycle = constructive_skills(5, i, j, np.array([0.5, 0.0, 0.4, 0.3, 0.3]))
    assert np.isnan(on_cycle).all()
    behind = constructive_skills(5, i, j, np.array([0.48, 0.4, 0.3, 0.0, 0.3]))
    assert behind[:4] == pytest.approx([0.8, 0.6, 0.5, 0.0])
    assert np.isnan(behind[4])


def test_the_constructive_estimate_is_a_good_start() -> None:
    crowd = simulate.crowd(3000, 12, 4, skills=np.linspace(0.3, 0.9, 12), seed=0)
    pairs = pair_stats(crowd.answers)
    start = constructive_skills(12, pairs.i, pairs.j, correlations(pairs, 2))
    problem = noisy_problem(crowd)
    assert SOLVERS["coordinate"](problem, start).skills == pytest.approx(
        SOLVERS["coordinate"](problem).skills, abs=1e-5
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_least_squares_solvers_agree_on_noisy_data(n_classes: int) -> None:
    problem = noisy_problem(simulate.crowd(800, 25, 4, n_classes=n_classes, seed=3))
    one, two = (SOLVERS[name](problem, tolerance=1e-10) for name in ("coordinate", "gradient"))
    assert one.converged
    assert two.converged
    assert one.skills == pytest.approx(two.skills, abs=1e-6)
    assert one.loss == pytest.approx(two.loss, rel=1e-9)


def test_a_plain_sequential_coordinate_descent_ends_at_the_same_point() -> None:
    """The reference moves one worker at a time to its own minimiser, by a double loop over the pairs."""
    crowd = simulate.crowd(300, 10, 3, seed=5)
    problem = noisy_problem(crowd)
    pairs = pair_stats(crowd.answers)
    correlation = correlations(pairs, 2)
    peers: dict[int, list[tuple[int, float, float]]] = {w: [] for w in range(10)}
    for i, j, shared, c in zip(pairs.i, pairs.j, pairs.shared, correlation, strict=True):
        peers[int(i)].append((int(j), float(shared), float(c)))
        peers[int(j)].append((int(i), float(shared), float(c)))
    x = problem.middle()
    for _ in range(500):
        for worker, peers_of_worker in peers.items():
            best = sum(n * c * x[peer] for peer, n, c in peers_of_worker) / sum(
                n * x[peer] ** 2 for peer, n, _ in peers_of_worker
            )
            x[worker] = np.clip(best, problem.lower[worker], problem.upper[worker])
    assert SOLVERS["coordinate"](problem, tolerance=1e-10).skills == pytest.approx(x, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_solution_satisfies_its_certificate(solver: str) -> None:
    """At the end the gradient is zero inside the box and points outward on its faces."""
    problem = noisy_problem(simulate.crowd(500, 20, 4, skills=np.linspace(0.1, 0.9, 20), seed=1))
    solution = SOLVERS[solver](problem, tolerance=1e-9)
    assert solution.converged
    assert solution.gradient_norm <= 1e-9
    if solver != "exponentiated":
        x = solution.skills
        _, gradient = problem.loss_and_gradient(x)
        inside = (x > problem.lower) & (x < problem.upper)
        assert np.abs(gradient[inside]).max() < 1e-4 * problem.moments.degree.max()
        assert (gradient[x >= problem.upper] <= 0).all()
        assert (gradient[x <= problem.lower] >= 0).all()


@given(of_several_classes(max_tasks=12))
def test_task_sums_equal_the_table_of_pairs(answers: Answers) -> None:
    pairs, n = pair_stats(answers), answers.n_workers
    slow = from_pairs(n, pairs.i, pairs.j, pairs.shared.astype(np.float64), correlations(pairs, answers.n_classes))
    fast = from_answers(answers)
    v = np.random.default_rng(0).normal(size=n)
    assert fast.shared @ v == pytest.approx(slow.shared @ v, abs=1e-9)
    assert fast.signed @ v == pytest.approx(slow.signed @ v, abs=1e-9)
    assert fast.degree == pytest.approx(slow.degree)
    assert fast.absolute_sums is not None
    assert slow.absolute_sums is not None
    assert fast.absolute_sums(0.1, 0.8) == pytest.approx(slow.absolute_sums(0.1, 0.8))


@given(of_several_classes(max_tasks=12), st.integers(0, 10**6))
def test_the_loss_is_the_sum_over_pairs_of_answers(answers: Answers, seed: int) -> None:
    """[Ma20, Eq. (2), Objective], by a double loop; the objectives differ by a constant [Ma20, Lemma 6, equiv]."""
    m = answers.n_classes
    x, y = np.random.default_rng(seed).uniform(-1, 1, (2, answers.n_workers))
    ones = np.ones(answers.n_workers)
    problem = Problem(from_answers(answers), -ones, ones, ones)
    total = 0.0
    for a in range(answers.n_answers):
        for b in range(a + 1, answers.n_answers):
            if answers.task[a] == answers.task[b]:
                same = m / (m - 1) * (answers.label[a] == answers.label[b]) - 1 / (m - 1)
                total += (same - x[answers.worker[a]] * x[answers.worker[b]]) ** 2 / 2
    assert problem.loss_and_gradient(x)[0] == pytest.approx(total, abs=1e-9)
    pairs = pair_stats(answers)
    table_of_pairs = identify_workers(answers, weighting="binary").table
    assert len(table_of_pairs[0]) == len(pairs)
    by_pairs = replace(
        problem, moments=from_pairs(len(x), pairs.i, pairs.j, pairs.shared.astype(np.float64), correlations(pairs, m))
    )
    gaps = [problem.loss_and_gradient(z)[0] - by_pairs.loss_and_gradient(z)[0] for z in (x, y)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-8)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_gradient_agrees_with_finite_differences(weighting: str) -> None:
    answers = simulate.crowd(60, 8, 3, n_classes=3, seed=2).answers
    problem = Problem(identify_workers(answers, weighting=weighting).moments, -np.ones(8), np.ones(8), np.ones(8))
    assert_that_the_gradient_is_the_slope(problem, 8)


def test_the_flow_ends_at_a_saddle_where_gradient_descent_does() -> None:
    """Three tasks a pair on a path: workers at the end of their box cut it into pieces, one of which is at a saddle.

    Its rounding errors were followed for 1,186 steps to another optimum than that of projected gradient descent.
    """
    n = 200
    rng = np.random.default_rng(131)
    skills = rng.uniform(0, 1, n)
    i = np.append(np.arange(n - 1), 0)
    j = np.append(np.arange(1, n), 2)
    agreed = rng.binomial(3, (1 + skills[i] * skills[j]) / 2)
    n_peers = np.bincount(i, minlength=n) + np.bincount(j, minlength=n)
    n_answers = (3 * n_peers).astype(np.float64)
    reach = 1 - 1 / np.sqrt(n_answers)
    problem = Problem(from_pairs(n, i, j, np.full(n, 3.0), 2 * agreed / 3 - 1), -reach, reach, n_answers)
    solution = follow_gradient_flow(problem)
    assert solution.converged
    assert solution.iterations < 300
    x = problem.middle()
    for _ in range(12_000):  # the norm of the projected gradient is below 1e-8 after 9,680 steps
        x = problem.clip(x - problem.loss_and_gradient(x)[1] / (4 * n_answers.max()))
    assert solution.skills == pytest.approx(x, abs=1e-5)
