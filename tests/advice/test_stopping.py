import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.advice.advise import advise, advise_result
from quorate.advice.stopping import ANSWER_STEPS, MAX_CURVES, error_curves, estimate_answers_needed
from quorate.methods.aggregate import aggregate
from quorate.simulate import crowd
from tests.advice.samples import posteriors


def test_at_the_target_nothing_is_advised_and_the_summary_says_so() -> None:
    simulated = crowd(60, 8, 7, skills=np.full(8, 0.8), seed=0)
    advice = advise(simulated.answers, 50, target_error=0.2)
    assert advice.stops
    assert advice.n_assignments == 0
    assert "You can stop: about" in advice.summary()
    assert not advise(simulated.answers, 50).stops
    assert advise(simulated.answers, 50).n_assignments == 50


def test_tasks_that_are_sure_enough_are_not_asked_and_no_more_than_needed_are() -> None:
    answers = crowd(200, 20, 3, seed=5).answers
    advice = advise(answers, 5000, target_error=0.05, dependence=0.0)
    assert not advice.answers_needed.is_mean_reached
    assert 0 < advice.n_assignments == int(np.ceil(advice.answers_needed.answers_for_mean_error)) < 5000
    assert not advice.answers_needed.is_task_done[advice.task].any()
    sure = 1 - advice.posterior.max(axis=1) <= 0.05
    assert np.array_equal(advice.answers_needed.is_task_done, sure)
    assert np.all(advice.answers_needed.per_task[~sure] >= 1)
    assert "fewer than the budget" in advice.summary()


@pytest.mark.parametrize(("m", "p"), [(2, 0.7), (2, 0.85), (4, 0.6)])
def test_the_curve_of_a_task_is_that_of_votes_from_a_tie(m: int, p: float) -> None:
    """Against k votes that are drawn and counted here; 20,000 draws have a standard error below .004."""
    rng = np.random.default_rng(0)
    curve = error_curves(np.full((1, m), 1 / m), p, np.array([0]), 0.0)[0]
    for step, k in enumerate(ANSWER_STEPS[:8].tolist()):
        right = rng.random((20_000, k)) < p
        votes = np.where(right, 0, rng.integers(1, m, right.shape))
        counts = np.array([(votes == c).sum(axis=1) for c in range(m)])
        is_top = counts == counts.max(axis=0)
        wrong = 1 - np.where(is_top[0], 1 / is_top.sum(axis=0), 0.0)  # ties are broken at random
        assert curve[step] == pytest.approx(wrong.mean(), abs=0.012)


@pytest.mark.parametrize("dependence", [0.0, 0.05])
def test_as_many_answers_as_the_target_needs_are_expected_to_reach_it(dependence: float) -> None:
    """The two sentences of the summary rest on one model; the plan's own workers differ a little from the mean."""
    answers = crowd(300, 30, 3, seed=1).answers
    needed = advise(answers, 10, dependence=dependence).answers_needed
    advice = advise(answers, int(np.ceil(needed.answers_for_mean_error)), dependence=dependence, per_worker=300)
    assert advice.expected_error_after == pytest.approx(needed.target_error, abs=0.01)


def test_the_nearest_curves_stand_for_many_tasks() -> None:
    q = posteriors(4 * MAX_CURVES, 2, 3)
    few = estimate_answers_needed(q[:MAX_CURVES], 0.8, 0.05)
    many = estimate_answers_needed(np.tile(q[:MAX_CURVES], (4, 1)), 0.8, 0.05)
    assert many.answers_for_mean_error == pytest.approx(4 * few.answers_for_mean_error, rel=0.05)
    assert estimate_answers_needed(q, 0.8, 0.05).is_task_done.sum() == int((1 - q.max(axis=1) <= 0.05).sum())


@given(st.integers(0, 1000), st.floats(0.01, 0.3))
def test_the_whole_set_needs_less_than_each_task_for_itself(seed: int, target: float) -> None:
    q = posteriors(30, 2, seed)
    found = estimate_answers_needed(q, 0.8, target)
    assert found.is_mean_reached == (found.answers_for_mean_error == 0)
    assert found.answers_for_mean_error <= found.per_task.sum() + 1e-9
    assert np.array_equal(found.is_task_done, 1 - q.max(axis=1) <= target)


def test_a_worker_who_has_answered_the_doubtful_tasks_is_not_sent_to_the_sure_ones() -> None:
    answers = crowd(100, 12, 3, seed=1).answers
    advice = advise(answers, 1000, available=["w0"], target_error=0.05, per_worker=1000)
    open_to = ~advice.answers_needed.is_task_done
    open_to[answers.task[answers.worker == 0]] = False
    assert np.array_equal(np.sort(advice.task), np.flatnonzero(open_to))
    assert "could be assigned" in advice.summary()


def test_the_expected_error_is_near_the_error() -> None:
    """Over twenty crowds of 200 tasks whose workers err independently: the mean gap's standard error is about .006."""
    gaps = []
    for seed in range(20):
        simulated = crowd(200, 20, 3, seed=seed)
        advice = advise_result(aggregate(simulated.answers, dependence="independent"), 1)
        gaps.append(np.mean(advice.posterior.argmax(axis=1) != simulated.truth) - advice.answers_needed.expected_error)
    assert abs(np.mean(gaps)) < 0.025


def test_rounding_does_not_choose_the_tasks_that_are_simulated() -> None:
    """Posteriors that differ by a bit, as by the order of a sum, need the same answers."""
    rng = np.random.default_rng(0)
    distinct = rng.dirichlet([1.0, 1.0, 1.0], 20)
    posterior = distinct[rng.integers(20, size=3_000)]
    answered = rng.integers(1, 6, 3_000)
    noisy = posterior * (1 + rng.choice([-1e-15, 0.0, 1e-15], posterior.shape))
    exact, other = (estimate_answers_needed(each, 0.7, 0.05, answered=answered) for each in (posterior, noisy))
    assert np.isfinite(exact.per_task).all()
    np.testing.assert_allclose(other.per_task, exact.per_task, rtol=1e-6)
