"""Rank-one completion of any symmetric matrix."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.errors import OptionError, QuorateError
from quorate.skills.solvers import SOLVERS, SolverName
from tests.crowds import connected_odd_graph


@pytest.mark.parametrize(("solver", "decades"), [("coordinate", 3), ("flow", 3), ("gradient", 1), ("exponentiated", 3)])
@pytest.mark.parametrize("seed", range(8))
def test_every_entry_follows_if_the_graph_has_an_odd_cycle(solver: SolverName, decades: int, seed: int) -> None:
    """Of any scale: entries from 1e-6 to 1e6."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    i, j = connected_odd_graph(n, rng, share=0.1)
    x = rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-decades, decades, n)
    found = quorate.complete_rank_one(i, j, x[i] * x[j], rng.uniform(0.5, 2, len(i)), size=n, solver=solver)
    assert found.converged
    assert not found.distance > 1e-5  # NaN where the solver states none
    assert found.known.all()
    assert found.matrix() == pytest.approx(np.outer(x, x), rel=1e-4)  # ten times the tolerance
    assert found.x.sum() >= 0


def test_without_an_odd_cycle_only_entries_across_follow() -> None:
    i, j = simulate.ring(6)
    x = np.array([1.0, -2.0, 3.0, 0.5, -1.5, 4.0])
    found = quorate.complete_rank_one(i, j, x[i] * x[j])
    assert np.isnan(found.x).all()
    across = (np.arange(6)[:, None] + np.arange(6)) % 2 == 1
    assert (found.known == across).all()
    assert found.matrix()[across] == pytest.approx(np.outer(x, x)[across], rel=1e-6)


def test_components_tell_nothing_of_each_other_and_rows_without_entries_stay_open() -> None:
    i, j = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 4])
    found = quorate.complete_rank_one(i, j, [0.5, 0.5, 0.5, 2.0], size=6)
    assert found.identifiability.n_components == 3
    assert np.isnan(found.x[[3, 4, 5]]).all()
    assert found.matrix()[3, 4] == pytest.approx(2.0)
    assert np.isnan(found.matrix()[0, 3])
    assert np.isnan(found.matrix()[5, 5])


def test_noise_is_met_by_weighted_least_squares() -> None:
    """No other vector does better, and what weighs more is met more closely."""
    rng = np.random.default_rng(0)
    x, (i, j) = rng.uniform(0.5, 2, 8), simulate.clique(8)
    values, weights = x[i] * x[j] + rng.normal(0, 0.1, len(i)), np.where(np.arange(len(i)) == 0, 1e4, 1.0)
    found = quorate.complete_rank_one(i, j, values, weights)
    for _ in range(200):
        other = found.x + rng.normal(0, 0.01, 8)
        assert weights @ (values - other[i] * other[j]) ** 2 / 2 >= found.loss
    assert abs(values[0] - found.x[i[0]] * found.x[j[0]]) < 1e-3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0], [0], [1.0]), r"entry 0, \(0, 0\): it is on the diagonal"),
        (([0, 1], [1, 0], [1.0, 1.0]), r"entry 1, \(1, 0\): it was given already"),
        (([0, 0, 1], [1, 2, -1], [1.0] * 3), r"entry 2, \(1, -1\): a position is below zero"),
        (([0, 1], [1, 2], [1.0, float("nan")]), r"entry 1, \(1, 2\): its value is not a finite number"),
        (([0], [1], [1.0], [0.0]), r"entry 0, \(0, 1\): its weight is not above zero"),
        (([0, 1], [1, 2], [1.0]), "equal lengths, got 2, 2, 1 and 1"),
    ],
)
def test_what_are_no_entries_is_refused(given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        quorate.complete_rank_one(*given)


TRIANGLE = ([0, 0, 1], [1, 2, 2])
RING = ([0, 1, 2, 3, 0], [1, 2, 3, 4, 4])


def test_no_entry_is_a_named_error() -> None:
    with pytest.raises(OptionError, match="no entry is given"):
        quorate.complete_rank_one([], [], [], size=2)


def test_a_row_of_zeros_beside_one_that_is_not_is_zero() -> None:
    found = quorate.complete_rank_one(*TRIANGLE, [0.0, 0.0, 0.4])
    assert found.x.tolist() == pytest.approx([0.0, np.nan, np.nan], nan_ok=True)
    assert found.row_status[0] == "identified"
    assert [status.split(":")[0] for status in found.row_status[1:]] == ["not identified"] * 2
    assert found.known.sum() == 7  # its row and column, and the given entry
    assert found.converged


def test_with_a_guesser_on_every_odd_cycle_only_products_are_known() -> None:
    """The counterexample to the lemma: skills (0, .9, .3, .7), correlations 0, 0, 0, .27, .21."""
    found = quorate.complete_rank_one([0, 0, 0, 1, 2], [1, 2, 3, 2, 3], [0.0, 0.0, 0.0, 0.27, 0.21])
    assert found.x[0] == 0
    assert np.isnan(found.x[1:]).all()
    assert found.matrix()[1, 2] == pytest.approx(0.27)
    assert np.isnan(found.matrix()[1, 3])


def test_zeros_alone_determine_nothing() -> None:
    found = quorate.complete_rank_one(*TRIANGLE, [0.0, 0.0, 0.0])
    assert np.isnan(found.x).all()
    assert not found.known.any()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("entries", "values"),
    [
        (TRIANGLE, [0.4, 0.3, 0.0]),  # a zero between two rows that are not zero
        (TRIANGLE, [-0.5, -0.5, -0.5]),  # an odd cycle of negative product
        (TRIANGLE, [0.9, 0.1, -0.5]),
        (RING, [0.5, 0.5, 0.5, 0.5, -0.5]),
    ],
)
def test_entries_that_no_finite_vector_fits_best_are_recognised(
    entries: tuple[list[int], list[int]], values: list[float], solver: SolverName
) -> None:
    found = quorate.complete_rank_one(*entries, values, solver=solver)
    assert found.status.startswith("no finite minimiser")
    assert not found.converged
    assert np.isnan(found.x).all()


def test_a_triangle_of_negative_product_falls_towards_infinity() -> None:
    """The loss at (t, -.5/t, -.5/t), half of .3164, .2525 and .250025 at t = 2, 10 and 100."""
    i, j = np.array(TRIANGLE)
    for t, expected in ((2.0, 0.3164), (10.0, 0.2525), (100.0, 0.250025)):
        x = np.array([t, -0.5 / t, -0.5 / t])
        assert float(((-0.5 - x[i] * x[j]) ** 2).sum()) == pytest.approx(expected, rel=2e-4)
    assert quorate.complete_rank_one(*TRIANGLE, [-0.5] * 3).loss < 0.1251


def test_noise_does_not_make_a_good_matrix_unbounded() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        x, (i, j) = rng.uniform(-2, 2, 8), simulate.clique(8)
        assert quorate.complete_rank_one(i, j, x[i] * x[j] + rng.normal(0, 0.1, len(i))).converged


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_any_scale_is_exact(scale: float) -> None:
    found = quorate.complete_rank_one(*TRIANGLE, np.array([1.0, 2.0, 3.0]) * scale)
    assert found.x == pytest.approx(np.array([0.8164965809, 1.2247448714, 2.4494897428]) * scale**0.5, rel=1e-9)
    assert found.converged


def test_components_of_any_scale_are_exact_in_one_matrix() -> None:
    i, j = np.array([0, 0, 1, 3, 3, 4]), np.array([1, 2, 2, 4, 5, 5])
    found = quorate.complete_rank_one(i, j, [1e200, 2e200, 3e200, 1e-200, 2e-200, 3e-200])
    expected = np.array([0.8164965809, 1.2247448714, 2.4494897428])
    assert found.x == pytest.approx(np.concatenate([expected * 1e100, expected * 1e-100]), rel=1e-9)


def test_one_component_may_span_two_hundred_decades() -> None:
    x = np.array([1e100, 1e-100, 1e50, 1.0, 1e-30])
    i, j = np.array([0, 0, 1, 2, 3]), np.array([1, 2, 2, 3, 4])
    assert quorate.complete_rank_one(i, j, x[i] * x[j]).x == pytest.approx(x, rel=1e-9)


def test_bounds_start_and_step_are_used() -> None:
    values = [0.48, 0.4, 0.3]
    bounded = quorate.complete_rank_one(*TRIANGLE, values, upper=0.7)
    assert bounded.x[0] == pytest.approx(0.7)
    assert bounded.converged
    from_below = quorate.complete_rank_one(*TRIANGLE, values, lower=0.55)
    assert from_below.x[2] == pytest.approx(0.55)
    assert from_below.converged
    negative = quorate.complete_rank_one(*TRIANGLE, values, upper=0.0, start=-0.5)
    assert negative.x == pytest.approx([-0.8, -0.6, -0.5], abs=1e-4)
    stepped = quorate.complete_rank_one(*TRIANGLE, values, solver="gradient", step=0.1, start=0.4, tolerance=1e-9)
    assert stepped.x == pytest.approx([0.8, 0.6, 0.5], abs=1e-6)
    assert stepped.sweeps > 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lower": 1.0, "upper": 0.0}, "lower must not exceed upper"),
        ({"start": [1.0, 2.0]}, "one for each of the 3 rows, got 2"),
        ({"upper": float("nan")}, "upper must be numbers"),
        ({"step": 0.1}, "applies to solver='gradient'"),
        ({"solver": "newton"}, "newton"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(QuorateError, match=message):
        quorate.complete_rank_one(*TRIANGLE, [0.48, 0.4, 0.3], **options)
