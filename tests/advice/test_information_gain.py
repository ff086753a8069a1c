"""Advice: what an answer tells, who is asked, what is repaired, when to stop, and skills that stay unbiased."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate.advice import information_gain
from quorate.advice.available_workers import gather_available_workers
from quorate.advice.information_gain import entropy, expected_gain, plan, tempered_accuracy
from quorate.advice.stopping import effective_votes_added
from quorate.arrays import FloatArray
from tests.advice.samples import posteriors

probabilities = st.floats(0.01, 0.99)


def after_each_answer(q: FloatArray, p: float) -> tuple[FloatArray, FloatArray]:
    """The probability of each answer of a worker of accuracy p, and the posterior that follows it."""
    m = len(q)
    likelihood = np.full((m, m), (1 - p) / (m - 1)) + np.eye(m) * (p - (1 - p) / (m - 1))  # answer × class
    joint = likelihood * q
    return joint.sum(axis=1), joint / joint.sum(axis=1, keepdims=True)


@given(st.integers(2, 5), probabilities, st.integers(0, 1000))
def test_the_gain_is_the_mean_fall_of_the_entropy_over_the_answers(m: int, p: float, seed: int) -> None:
    q = posteriors(1, m, seed)[0]
    probability, then = after_each_answer(q, p)
    naive = entropy(q) - probability @ entropy(then)
    assert expected_gain(q, np.array(p)) == pytest.approx(naive, abs=1e-12)


@given(st.integers(2, 5), st.integers(0, 1000))
def test_the_gain_rises_with_accuracy_above_guessing(m: int, seed: int) -> None:
    q = posteriors(1, m, seed)[0]
    gains = expected_gain(q[None], np.linspace(1 / m, 1, 40))
    assert gains[0] == pytest.approx(0, abs=1e-12)
    assert np.all(np.diff(gains) >= -1e-12)
    assert gains[-1] == pytest.approx(entropy(q))  # who is never wrong tells everything


def test_what_a_second_answer_is_taken_to_tell_is_near_what_it_tells() -> None:
    """The share rule against the exact sum over first answers: on average a tenth off, measured; a fifth is allowed."""
    exact, ruled = [], []
    for seed, (m, p) in enumerate(product((2, 4), (0.6, 0.75, 0.9))):
        for q in posteriors(50, m, seed):
            probability, then = after_each_answer(q, p)
            first = float(expected_gain(q, np.array(p)))
            exact.append(float(probability @ expected_gain(then, np.full(m, p))))
            ruled.append(first * (1 - first / float(entropy(q))))
    assert np.abs(np.array(ruled) - exact).mean() < 0.2 * np.mean(exact)


@given(dependence=st.floats(0.01, 0.9), budget=st.integers(1, 60), seed=st.integers(0, 50))
def test_each_further_answer_to_a_task_tells_less(dependence: float, budget: int, seed: int) -> None:
    """So that answers are spread over tasks: with dependence the first ones of others soon tell more."""
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet([2.0, 2.0], 8)
    answered = rng.integers(0, 12, 8)
    worker_pool = gather_available_workers(quorate.simulate.crowd(8, 30, 2, seed=seed).answers, budget, per_worker=8)
    nothing = np.zeros(0, np.int64)
    found = plan(
        (nothing, nothing), posterior, np.full(30, 0.8), worker_pool, budget, np.ones(8, bool), answered, dependence
    )
    for task in range(8):
        gains = found.gain[found.task == task]
        assert (np.diff(gains) < 0).all()
    # No assignment that was left out has more information than one that was chosen.
    left = expected_gain(posterior, tempered_accuracy(np.full(8, 0.8), effective_votes_added(answered, dependence), 2))
    unasked = np.setdiff1d(np.arange(8), found.task)
    if len(unasked) and len(found):
        assert left[unasked].max() <= found.gain.min() * 1.2 + 1e-9


def test_the_answers_of_workers_who_err_together_are_spread_over_the_tasks() -> None:
    posterior, n = np.full((40, 2), 0.5), 120
    worker_pool = gather_available_workers(quorate.simulate.crowd(40, 50, 2, seed=0).answers, n, per_worker=40)
    nothing = np.zeros(0, np.int64)
    posterior[:5] += np.array([0.04, -0.04])
    answered = np.where(np.arange(40) < 35, 10, 12)
    found = plan((nothing, nothing), posterior, np.full(50, 0.7), worker_pool, n, np.ones(40, bool), answered, 0.3)
    assert np.bincount(found.task, minlength=40).min() >= 1
    assert np.bincount(found.task, minlength=40).max() <= 6


def test_large_tables_are_computed_in_slices_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet(np.ones(7), 50)
    accuracy = rng.uniform(0.4, 0.9, 50)
    gain = expected_gain(posterior, accuracy)
    gain_of_one = expected_gain(posterior, accuracy[:1])
    nats = entropy(posterior)
    monkeypatch.setattr(information_gain, "MAX_CELLS", 30)
    np.testing.assert_array_equal(expected_gain(posterior, accuracy), gain)
    np.testing.assert_array_equal(expected_gain(posterior, accuracy[:1]), gain_of_one)
    np.testing.assert_array_equal(entropy(posterior), nats)
