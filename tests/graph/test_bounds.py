import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import simulate
from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.graph.pairs import PairStats, pair_stats
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.skills.exponentiated import exponentiated_gradient
from quorate.skills.moments import from_pairs
from quorate.skills.objective import Problem
from quorate.theory.label_bounds import (
    average_regret,
    committee_potential,
    expected_loss,
    loss,
    optimal_error,
    optimal_error_bounds,
    plug_in_bound,
    weight_error_bound,
)
from quorate.theory.skill_bounds import skill_bound
from quorate.voting.vote import weight
from tests.crowds import connected_odd_graph

skills_of_committees = st.lists(st.floats(-0.95, 0.95), min_size=1, max_size=8).map(np.array)


@given(skills_of_committees)
def test_the_optimal_rule_keeps_between_its_bounds(skills: FloatArray) -> None:
    low, high = optimal_error_bounds(skills)
    assert low <= optimal_error(skills) + 1e-12
    assert optimal_error(skills) <= high + 1e-12
    assert committee_potential(skills) >= 0


def test_without_the_half_the_papers_upper_bound_is_false() -> None:
    skills = np.full(4, 0.875)
    assert np.exp(-2 * committee_potential(skills) / 2) < optimal_error(skills)


@given(st.floats(-0.95, 0.95), st.floats(-0.95, 0.95))
def test_the_bound_on_weights_holds(skill: float, estimate: float) -> None:
    s, x = np.array([skill]), np.array([estimate])
    assert np.abs(weight(s, 2) - weight(x, 2))[0] <= weight_error_bound(s, x)[0] + 1e-9


def test_the_papers_bound_on_weights_fails_where_ours_is_sharp() -> None:
    s, x = np.array([0.0]), np.array([0.3])
    off = np.abs(weight(x, 2) - weight(s, 2))[0]
    assert off > 2 * 0.3
    assert off == pytest.approx(weight_error_bound(s, x)[0])


@pytest.mark.parametrize("seed", range(10))
def test_the_perturbation_theorem_holds_on_perturbed_correlations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    i, j = connected_odd_graph(n, rng, share=0.5)
    skills, disturbance = rng.uniform(0.5, 0.8, n), 1e-3
    shared = rng.integers(5, 20, len(i))
    bound = skill_bound(PairStats(i, j, shared, shared), n, 2, skills)
    noisy = skills[i] * skills[j] + rng.uniform(-disturbance, disturbance, len(i))
    ones = np.ones(n)
    problem = Problem(from_pairs(n, i, j, shared.astype(float), noisy), -ones, ones, ones)
    found = exponentiated_gradient(problem, tolerance=1e-12, max_iterations=100_000).skills
    error = np.linalg.norm(found - skills)
    assert 0 < error <= bound.perturbation(disturbance)


def test_the_finite_task_bound_holds_and_hoeffdings_is_tighter() -> None:
    crowd = simulate.crowd(5000, 5, 5, skills=np.array([0.8, 0.7, 0.6, 0.8, 0.7]), seed=0)
    bound = skill_bound(pair_stats(crowd.answers), 5, 2, crowd.skills)
    found = aggregate_in_memory("rank-one", crowd.answers).skills
    assert np.linalg.norm(found - crowd.skills) <= bound.finite_task_hoeffding < bound.finite_task
    assert (bound.least_shared, bound.degree_sum, bound.norm) == (5000, 20, 20_000)
    assert bound.smallest == pytest.approx(3.0)  # a clique of five: n - 2
    assert bound.smallest_weighted == pytest.approx(15_000.0)


def test_the_loss_with_estimated_weights_keeps_its_bound() -> None:
    crowd = simulate.crowd(2000, 10, 5, seed=4)
    estimates = np.stack(
        [
            aggregate_in_memory("rank-one", simulate.crowd(2000, 10, 5, skills=crowd.skills, seed=k).answers).skills
            for k in range(5)
        ]
    )
    for epsilon in (0.01, 0.5, 2.0, 10.0):
        assert loss(crowd, estimates[0]) <= plug_in_bound(crowd, estimates[:1], epsilon) + 1e-12


def test_regret_falls_as_tasks_grow() -> None:
    few, many = (simulate.crowd(n, 10, 5, skills=np.linspace(-0.1, 0.8, 10), seed=2) for n in (30, 3000))
    regrets = [
        average_regret(crowd, aggregate_in_memory("rank-one", crowd.answers).skills, draws=20) for crowd in (few, many)
    ]
    assert regrets[0] > regrets[1] >= -1e-3
    assert expected_loss(many, draws=20) == pytest.approx(loss(many, many.skills), abs=0.02)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5])
def test_a_delta_that_is_no_probability_is_refused(delta: float) -> None:
    pairs = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [9, 9, 9], [7, 7, 7]]))
    with pytest.raises(OptionError, match="must be between 0 and 1"):
        skill_bound(pairs, 3, 2, np.full(3, 0.8), delta=delta)


def test_the_bounds_are_those_of_the_formulae() -> None:
    """By hand: a path of two pairs tied into a triangle, three classes, skills of either sign, one unknown."""
    pairs = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [40, 90, 60], [30, 70, 50]]))
    bound = skill_bound(pairs, 3, 3, np.array([0.9, -0.3, np.nan]), delta=0.1)
    assert (bound.kappa, bound.K, bound.least_shared, bound.degree_sum, bound.norm) == (0.3, 0.9, 40, 6, 150)
    assert bound.smallest == pytest.approx(1.0)
    assert bound.mu == pytest.approx(0.3**2 * 1.0 * 40)
    assert bound.perturbation(0.02) == pytest.approx(0.9 * np.sqrt(3) * 150 / bound.mu * 0.02)
    assert bound.paper_disturbance == pytest.approx(np.log(60) / np.sqrt(40))
    assert bound.hoeffding_disturbance == pytest.approx(1.5 * np.sqrt(np.log(60) / 80))
    assert bound.finite_task == pytest.approx(bound.perturbation(bound.paper_disturbance))
    two = skill_bound(PairStats(*np.array([[0], [1], [9], [7]])), 2, 2, np.full(2, 0.8))
    assert two.perturbation(0.01) == np.inf  # bipartite: nothing is bounded
