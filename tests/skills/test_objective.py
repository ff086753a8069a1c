"""The objective by its formula, over pairs; its box; and the steps that the theory gives."""

from dataclasses import replace

import numpy as np
import pytest

from quorate.errors import OptionError
from quorate.skills.coordinate import coordinate_descent
from quorate.skills.exponentiated import exponentiated_gradient
from quorate.skills.moments import from_pairs
from quorate.skills.objective import Problem, box
from quorate.skills.pgd import exponentiated_step, lipschitz_step, projected_gradient
from quorate.theory.steps import exponentiated_iterations, lyapunov_step
from tests.crowds import connected_odd_graph
from tests.skills.samples import exact_problem

RIDGE, CENTRE = 3.0, 0.4


def drawn(seed: int) -> tuple[Problem, float]:
    """A problem with noisy correlations and a ridge, and its loss at 0.1, 0.2, ... by a loop over the pairs."""
    rng = np.random.default_rng(seed)
    i, j = connected_odd_graph(6, rng)
    weights, correlation = rng.uniform(0.5, 3.0, len(i)), rng.uniform(-0.6, 0.9, len(i))
    ones = np.ones(6)
    x = np.arange(1, 7) / 10
    loss = sum(w * (c - x[a] * x[b]) ** 2 / 2 for a, b, w, c in zip(i, j, weights, correlation, strict=True))
    loss += RIDGE / 2 * sum((each - CENTRE) ** 2 for each in x)
    return Problem(from_pairs(6, i, j, weights, correlation), -ones, ones, ones, RIDGE, CENTRE), loss


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_of_pairs_is_the_sum_over_pairs_and_the_ridge(seed: int) -> None:
    problem, loss = drawn(seed)
    assert problem.loss_and_gradient(np.arange(1, 7) / 10)[0] == pytest.approx(loss)


@pytest.mark.parametrize("seed", range(5))
def test_each_workers_best_is_where_its_own_slope_is_zero(seed: int) -> None:
    problem, _ = drawn(seed)
    x = np.arange(1, 7) / 10
    best = problem.own_best(x, *problem.moments.products(x))
    for worker in range(6):
        alone = x.copy()
        alone[worker] = best[worker]
        assert abs(best[worker]) < 1  # not cut by the box
        assert problem.loss_and_gradient(alone)[1][worker] == pytest.approx(0, abs=1e-9)


def test_a_worker_of_whom_nothing_is_known_stays_or_goes_to_the_centre() -> None:
    nothing = from_pairs(3, np.array([0]), np.array([1]), np.array([5.0]), np.array([0.5]))
    ones, x = np.ones(3), np.array([0.9, 0.6, 0.3])
    free = Problem(nothing, -ones, ones, ones)
    assert free.own_best(x, *nothing.products(x))[2] == 0.3
    held = replace(free, ridge=RIDGE, centre=CENTRE)
    assert held.own_best(x, *nothing.products(x))[2] == pytest.approx(CENTRE)
    for solve in (coordinate_descent, projected_gradient):
        assert solve(held, x, tolerance=1e-10).skills[2] == pytest.approx(CENTRE, abs=1e-8)


def test_changes_are_averaged_over_answers() -> None:
    problem = replace(drawn(0)[0], n_answers=np.array([1.0, 2, 3, 4, 0, 0]))
    assert problem.mean_size(np.array([1.0, -1.0, 2.0, 0.0, 9.0, 9.0])) == pytest.approx((1 + 2 + 6) / 10)
    assert replace(problem, n_answers=np.zeros(6)).mean_size(np.ones(6)) == 0


def test_stationarity_is_how_far_a_step_of_the_gradient_over_the_degree_goes() -> None:
    problem, _ = drawn(1)
    x = np.arange(1, 7) / 10
    _, gradient = problem.loss_and_gradient(x)
    away = np.abs(np.clip(x - gradient / (problem.moments.degree + RIDGE), -1, 1) - x)
    assert problem.stationarity(x, gradient) == pytest.approx(away.mean())


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("tau", [0.5, 1.0, 2.0])
def test_the_box_keeps_away_from_one_and_from_below_the_least_skill(n_classes: int, tau: float) -> None:
    n = np.array([0, 1, 2, 9, 400])
    lower, upper = box(n, n_classes, tau)
    for count, low, high in zip(n, lower, upper, strict=True):
        reach = max(1 - tau / np.sqrt(max(count, 1)), 0)
        assert high == pytest.approx(reach)
        assert low == pytest.approx(max(-reach, -1 / (n_classes - 1)))
        assert not np.signbit(low) or low < 0  # no minus zero in a table


# --- the theory's steps ---


def test_the_lyapunov_step_wants_everything_positive() -> None:
    moments, half = drawn(0)[0].moments, np.full(6, 0.5)
    one_bad = np.array([0.5, 0.5, 0.0, 0.5, 0.5, 0.5])
    for skills, start in ((one_bad, half), (half, one_bad), (-half, half), (half, -half)):
        with pytest.raises(OptionError, match="positive"):
            lyapunov_step(moments, skills, start)


def test_the_steps_are_those_of_the_theorems() -> None:
    rng = np.random.default_rng(3)
    i, j = connected_odd_graph(6, rng)
    weights = rng.uniform(0.5, 3.0, len(i))
    n = np.zeros((6, 6))
    n[i, j] = n[j, i] = weights
    skills, start = rng.uniform(0.3, 0.9, 6), rng.uniform(0.3, 0.9, 6)
    moments = exact_problem(skills, i, j, weights).moments
    assert lipschitz_step(moments) == pytest.approx(1 / (4 * n.sum(axis=1).max()))
    ratio = max(max(s / x, x / s) for s, x in zip(skills, start, strict=True))
    assert lyapunov_step(moments, skills, start) == pytest.approx(1 / ((n @ skills**2).max() * ratio**2))
    # alpha = 1/(2 sqrt(W) ||N|| K²); then (4L/mu) ln(W K⁴ L / (eps mu kappa²)), L = 1/alpha, mu = kappa² N_min lambda.
    assert exponentiated_step(9, norm=5.0, K=0.5) == pytest.approx(1 / (2 * 3 * 5 * 0.25))
    L, mu = 2 * 3 * 5 * 0.25, 0.3**2 * 2 * 1.5
    bound = exponentiated_iterations(9, 5.0, 1.5, 2.0, kappa=0.3, K=0.5, epsilon=1e-3)
    assert bound == pytest.approx(4 * L / mu * np.log(9 * 0.5**4 * L / (1e-3 * mu * 0.3**2)))
    assert exponentiated_iterations(9, 5.0, 0.0, 2.0, kappa=0.3, epsilon=1e-3) == np.inf


# --- exponentiated gradient's cube ---


def test_a_box_of_one_positive_point_is_kept_and_any_other_box_gives_way_to_the_cube() -> None:
    skills = np.array([0.8, 0.6, 0.5, 0.7])
    i, j = np.triu_indices(4, k=1)
    problem = exact_problem(skills, i, j, np.ones(6))
    narrow = replace(problem, lower=np.array([0.2, 0.0, -1.0, 0.9]), upper=np.array([0.3, 0.0, 1.0, 0.9]))
    found = exponentiated_gradient(narrow, tolerance=1e-12, max_iterations=100_000).skills
    assert found[3] == pytest.approx(0.9)
    free = exponentiated_gradient(
        replace(problem, lower=np.array([-1.0, -1, -1, 0.9]), upper=np.array([1.0, 1, 1, 0.9])),
        tolerance=1e-12,
        max_iterations=100_000,
    ).skills
    assert found == pytest.approx(free, abs=1e-9)
    low = exponentiated_gradient(problem, tolerance=1e-12, max_iterations=100_000, kappa=0.65, K=0.7).skills
    assert (low.min(), low.max()) == pytest.approx((0.65, 0.7))


def test_it_needs_the_correlation_of_each_pair() -> None:
    problem = drawn(0)[0]
    bare = replace(problem, moments=replace(problem.moments, absolute_sums=None))
    with pytest.raises(OptionError, match="correlation of each pair"):
        exponentiated_gradient(bare)
