"""Labels of least expected cost: by a loop over classes, with ties among those that cost as little."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.voting.expected_cost import least_expected_cost
from quorate.voting.vote import Vote


def vote_of(*posterior: list[float]) -> Vote:
    p = np.array(posterior)
    return Vote(np.log(np.maximum(p, 1e-12)), p, p.argmax(axis=1), np.zeros(len(p), dtype=bool))


def test_where_two_others_cost_as_little_the_label_is_marked_as_tied() -> None:
    """To say a costs much if it is wrong, so b or c it is, which cost the same."""
    costs = np.array([[0.0, 9.0, 9.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    found = least_expected_cost(vote_of([0.5, 0.25, 0.25], [0.5, 0.3, 0.2], [0.98, 0.01, 0.01]), costs)
    assert (found.label.tolist(), found.tied.tolist()) == ([1, 1, 0], [True, False, False])


@given(st.lists(st.integers(0, 9), min_size=9, max_size=9), st.lists(st.integers(1, 9), min_size=3, max_size=3))
def test_no_other_label_costs_less(costs: list[int], odds: list[int]) -> None:
    table, p = np.array(costs, float).reshape(3, 3), np.array(odds) / sum(odds)
    found = least_expected_cost(vote_of(p.tolist()), table, "cost")
    expected = [sum(p[true] * table[label, true] for true in range(3)) for label in range(3)]
    assert found.extra_columns["cost"][0] == pytest.approx(expected[int(found.label[0])])
    assert expected[int(found.label[0])] <= min(expected) + 1e-9


def test_a_label_that_costs_as_little_as_the_best_stays_with_its_tie() -> None:
    """The vote decided by more than the posterior, so another class of equal cost does not replace its label."""
    even = np.array([[0.5, 0.5]])
    voted = Vote(np.zeros((1, 2)), even, np.array([1]), np.array([True]))
    decided = least_expected_cost(voted, np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert (decided.label.tolist(), decided.tied.tolist()) == ([1], [True])
    sure = Vote(np.zeros((1, 2)), even, np.array([1]), np.array([False]))
    assert not least_expected_cost(sure, np.array([[0.0, 1.0], [1.0, 0.0]])).tied.any()


def test_a_task_without_answers_keeps_no_label() -> None:
    voted = Vote(np.zeros((2, 2)), np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([-1, 0]), np.array([False, False]))
    assert least_expected_cost(voted, np.array([[0.0, 9.0], [0.1, 0.0]])).label.tolist() == [-1, 1]


def test_costs_are_stated_where_the_confidence_is_and_under_a_name() -> None:
    p = np.array([[0.9, 0.1], [0.6, 0.4]])
    voted = Vote(np.log(p), p, np.array([0, 0]), np.zeros(2, dtype=bool), is_stated=np.array([True, False]))
    costs = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert np.allclose(least_expected_cost(voted, costs, "cost").extra_columns["cost"], [0.1, np.nan], equal_nan=True)
    assert least_expected_cost(voted, costs).extra_columns == {}
