import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.advice.advise import advise, advise_result
from quorate.advice.stopping import Drift, answers_until, drift, need
from quorate.methods.registry import aggregate
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
    advice = advise(answers, 5000, target_error=0.05)
    assert not advice.need.reached
    assert 0 < advice.n_assignments == int(np.ceil(advice.need.whole)) < 5000
    assert not advice.need.settled[advice.task].any()
    sure = 1 - advice.posterior.max(axis=1) <= 0.05
    assert np.array_equal(advice.need.settled, sure)
    assert np.all(advice.need.further[~sure] >= 1)
    assert "Fewer than the budget" in advice.summary()


@pytest.mark.parametrize(("m", "p"), [(2, 0.7), (2, 0.85), (4, 0.6)])
def test_the_number_of_answers_a_task_needs_is_about_right(m: int, p: float) -> None:
    """Against tasks answered one by one until they are sure, from a tie; Wald's formula is good to a quarter here."""
    rng = np.random.default_rng(0)
    vote = np.log((m - 1) * p / (1 - p))
    counts = []
    for _ in range(1500):
        scores = np.zeros(m)
        n = 0
        while True:
            q = np.exp(scores - scores.max())
            if 1 - q.max() / q.sum() <= 0.05:
                break
            scores[0 if rng.random() < p else rng.integers(1, m)] += vote
            n += 1
        counts.append(n)
    pace = drift(np.array([p]), np.array([1e9]), np.ones(1), m)
    assert answers_until(np.full((1, m), 1 / m), pace, 0.05)[0] == pytest.approx(np.mean(counts), rel=0.25)


def test_the_drift_is_its_mean_over_what_the_accuracy_may_be() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(6 * 0.7, 6 * 0.3, 400_000)
    a = (1 - p) / 2
    found = drift(np.array([0.7]), np.array([6.0]), np.ones(1), 3)
    assert found.rate == pytest.approx(((p - a) * np.log(p / a)).mean(), rel=0.01)  # the sample's own error is 0.3 %
    assert found.vote == pytest.approx(np.log(p / a).mean(), rel=0.01)


@given(st.integers(0, 1000), st.floats(0.01, 0.3))
def test_the_whole_set_needs_less_than_each_task_for_itself(seed: int, target: float) -> None:
    q = posteriors(30, 2, seed)
    found = need(q, Drift(0.8, 1.4), target)
    assert found.reached == (found.whole == 0)
    assert found.whole <= found.further.sum() + 1e-9
    assert np.array_equal(found.settled, 1 - q.max(axis=1) <= target)


def test_a_worker_who_has_answered_the_doubtful_tasks_is_not_sent_to_the_sure_ones() -> None:
    answers = crowd(100, 12, 3, seed=1).answers
    advice = advise(answers, 1000, available=["w0"], target_error=0.05, per_worker=1000)
    open_to = ~advice.need.settled
    open_to[answers.task[answers.worker == 0]] = False
    assert np.array_equal(np.sort(advice.task), np.flatnonzero(open_to))
    assert "could be assigned" in advice.summary()


def test_the_expected_error_is_near_the_error() -> None:
    """Over twenty crowds of 200 tasks whose workers err independently: the mean gap's standard error is about .006."""
    gaps = []
    for seed in range(20):
        simulated = crowd(200, 20, 3, seed=seed)
        advice = advise_result(aggregate(simulated.answers, dependence="independent"), 1)
        gaps.append(np.mean(advice.posterior.argmax(axis=1) != simulated.truth) - advice.need.expected_error)
    assert abs(np.mean(gaps)) < 0.025
