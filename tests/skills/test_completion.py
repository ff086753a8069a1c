"""Rank-one completion of any symmetric matrix."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import OptionError
from quorate.evaluation import simulate
from tests.crowds import connected_odd_graph


@pytest.mark.parametrize(("solver", "decades"), [("coordinate", 3), ("gradient", 1)])
@pytest.mark.parametrize("seed", range(8))
def test_every_entry_follows_from_a_connected_graph_with_an_odd_cycle(solver: str, decades: int, seed: int) -> None:
    """Of any scale: entries from 1e-6 to 1e6."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    i, j = connected_odd_graph(n, rng, share=0.1)
    x = rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-decades, decades, n)
    found = quorate.complete(i, j, x[i] * x[j], rng.uniform(0.5, 2, len(i)), size=n, solver=solver)
    assert found.converged
    assert found.distance <= 1e-5
    assert found.known.all()
    assert found.matrix() == pytest.approx(np.outer(x, x), rel=1e-4)  # ten times the tolerance
    assert found.x.sum() >= 0


def test_without_an_odd_cycle_only_entries_across_follow() -> None:
    i, j = simulate.ring(6)
    x = np.array([1.0, -2.0, 3.0, 0.5, -1.5, 4.0])
    found = quorate.complete(i, j, x[i] * x[j])
    assert np.isnan(found.x).all()
    across = (np.arange(6)[:, None] + np.arange(6)) % 2 == 1
    assert (found.known == across).all()
    assert found.matrix()[across] == pytest.approx(np.outer(x, x)[across], rel=1e-6)


def test_components_tell_nothing_of_each_other_and_rows_without_entries_stay_open() -> None:
    i, j = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 4])
    found = quorate.complete(i, j, [0.5, 0.5, 0.5, 2.0], size=6)
    assert found.verdict.n_components == 3
    assert np.isnan(found.x[[3, 4, 5]]).all()
    assert found.matrix()[3, 4] == pytest.approx(2.0)
    assert np.isnan(found.matrix()[0, 3])
    assert np.isnan(found.matrix()[5, 5])


def test_noise_is_met_by_weighted_least_squares() -> None:
    """No other vector does better, and what weighs more is met more closely."""
    rng = np.random.default_rng(0)
    x, (i, j) = rng.uniform(0.5, 2, 8), simulate.clique(8)
    values, weights = x[i] * x[j] + rng.normal(0, 0.1, len(i)), np.where(np.arange(len(i)) == 0, 1e4, 1.0)
    found = quorate.complete(i, j, values, weights)
    for _ in range(200):
        other = found.x + rng.normal(0, 0.01, 8)
        assert weights @ (values - other[i] * other[j]) ** 2 / 2 >= found.loss
    assert abs(values[0] - found.x[i[0]] * found.x[j[0]]) < 1e-3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([0], [0], [1.0]), r"entry 0, \(0, 0\): it is on the diagonal"),
        (([0, 1], [1, 0], [1.0, 1.0]), r"entry 1, \(1, 0\): it was given already"),
        (([0, 0, 1], [1, 2, -1], [1.0] * 3), r"entry 2, \(1, -1\): a position is below zero"),
        (([0, 1], [1, 2], [1.0, float("nan")]), r"entry 1, \(1, 2\): its value is no finite number"),
        (([0], [1], [1.0], [0.0]), r"entry 0, \(0, 1\): its weight is not above zero"),
        (([0, 1], [1, 2], [1.0]), "alike long, not 2, 2, 1 and 1"),
    ],
)
def test_what_are_no_entries_is_refused(given: tuple[Any, ...], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        quorate.complete(*given)


def test_nothing_given_is_no_error() -> None:
    assert quorate.complete([], [], [], size=2).x.tolist() == pytest.approx([np.nan, np.nan], nan_ok=True)
