from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.models.em import expectation_maximisation
from quorate.models.one_coin import fit_one_coin, log_joint
from quorate.models.prior_strength import (
    MAX_PRIOR_STRENGTH,
    MIN_PRIOR_STRENGTH,
    above_guessing,
    beta_strength,
    prior_strength_of_crowd,
)
from quorate.simulate import crowd
from quorate.voting.posterior import add_one_smoothing, class_shares, softmax, uniform_prior
from quorate.voting.vote import majority
from tests.crowds import answers_of, rows


def naive_step(answers: Answers, q: FloatArray, prior: FloatArray, strength: float) -> tuple[FloatArray, FloatArray]:
    """One M-step and one E-step by plain loops: each answer in turn, each class by itself."""
    m, n_workers = answers.n_classes, answers.n_workers
    right, n = [0.0] * n_workers, [0] * n_workers
    for t, w, c in zip(answers.task.tolist(), answers.worker.tolist(), answers.label.tolist(), strict=True):
        right[w] += q[t, c]
        n[w] += 1
    mean = sum(right) / sum(n)
    p = np.array(
        [(right[w] + strength * mean) / (n[w] + strength) if n[w] + strength else 1 / m for w in range(len(n))]
    )
    new = np.tile(prior, (answers.n_tasks, 1))
    for t, w, c in zip(answers.task.tolist(), answers.worker.tolist(), answers.label.tolist(), strict=True):
        new[t] *= np.where(np.arange(m) == c, p[w], (1 - p[w]) / (m - 1))
    return p, new / new.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("strength", [0.0, 3.0])
@pytest.mark.parametrize("prior", [uniform_prior, class_shares, add_one_smoothing])
def test_each_step_is_that_of_plain_loops(m: int, strength: float, prior: Any) -> None:
    answers = crowd(40, 6, 3, n_classes=m, seed=m).answers
    q = start = majority(answers).posterior
    for steps in (1, 2, 3):
        fit = fit_one_coin(answers, start, prior=prior, strength=strength, max_iterations=steps, tolerance=0.0)
        shares = prior(q)
        p, q = naive_step(answers, q, shares, strength)
        assert fit.prior == pytest.approx(shares, abs=1e-12)
        assert fit.accuracy == pytest.approx(p, abs=1e-12)
        assert fit.posterior == pytest.approx(q, abs=1e-12)
        assert fit.steps == steps


@pytest.mark.parametrize("strength", [1.0, 3.0, 40.0])
def test_whoever_answered_little_is_drawn_to_the_mean_and_not_to_guessing(strength: float) -> None:
    table = [(t, w, "x" if t % 3 else "y") for t in range(9) for w in "abc"] + [(0, "once", "y"), (1, "once more", "y")]
    answers = answers_of(table)
    start = majority(answers).posterior
    fit = fit_one_coin(answers, start, strength=strength, max_iterations=1, tolerance=0.0)
    assert fit.accuracy == pytest.approx(naive_step(answers, start, uniform_prior(start), strength)[0], abs=1e-12)


@given(rows(max_tasks=10), st.booleans(), st.integers(0, 2))
def test_the_likelihood_never_falls(table: list[tuple[int, str, str]], prior: bool, n_known: int) -> None:
    answers = answers_of(table)
    gold = np.where(np.arange(answers.n_tasks) < n_known, 0, -1)
    shares = class_shares if prior else uniform_prior
    start = majority(answers).posterior
    fit = fit_one_coin(answers, start, prior=shares, gold=gold, max_iterations=30, tolerance=0.0)
    assert (np.diff(fit.log_likelihoods) >= -1e-7).all()
    assert fit.posterior.sum(axis=1) == pytest.approx(np.ones(answers.n_tasks))
    assert (fit.posterior[:n_known, 0] == 1).all()


def test_it_is_the_em_of_confusion_matrices_that_have_one_accuracy_each() -> None:
    """A step from matrices of one accuracy is the same in either."""
    answers = crowd(60, 8, 4, n_classes=3, seed=5).answers
    p = np.random.default_rng(0).uniform(0.3, 1.0, 8)
    p[0] = 1.0
    matrices = np.where(np.eye(3, dtype=bool), p[:, None, None], ((1 - p) / 2)[:, None, None])
    start = majority(answers).posterior
    for zeros in ("exact", "skip"):
        one = fit_one_coin(answers, start, accuracy=p, zeros=zeros, max_iterations=1)
        many = expectation_maximisation(answers, start, confusion=matrices, zeros=zeros, max_iterations=1)
        assert one.scores == pytest.approx(many.scores, abs=1e-9)  # sums of log(FLOOR) = -708 in another order
        assert one.log_likelihoods == pytest.approx(many.log_likelihoods)


def test_from_accuracies_the_first_step_finds_their_posterior() -> None:
    answers = crowd(50, 6, 3, seed=1).answers
    p = np.linspace(0.55, 0.9, 6)
    fit = fit_one_coin(answers, accuracy=p, standing="accuracy", max_iterations=1)
    assert fit.accuracy is p
    assert not fit.converged
    assert fit.posterior == pytest.approx(softmax(log_joint(answers, p, np.array([0.5, 0.5]))))


@pytest.mark.parametrize("standing", ["posterior", "accuracy"])
def test_what_should_stand_still_does_where_it_has_converged(standing: str) -> None:
    answers = crowd(200, 10, 4, seed=2).answers
    options: dict[str, Any] = {"standing": standing, "tolerance": 1e-7}
    fit = fit_one_coin(answers, majority(answers).posterior, max_iterations=1000, **options)
    assert fit.converged
    again = fit_one_coin(answers, fit.posterior, max_iterations=1, **options)
    change = np.abs(again.accuracy - fit.accuracy) @ answers.per_worker / answers.n_answers
    assert (change if standing == "accuracy" else np.abs(again.posterior - fit.posterior).sum(axis=1).mean()) <= 1e-7


def test_the_mean_is_that_of_the_workers_it_is_taken_over() -> None:
    answers = crowd(100, 10, 4, seed=3).answers
    among = np.arange(10) < 4
    q = majority(answers).posterior
    fit = fit_one_coin(answers, q, strength=6.0, among=among, max_iterations=1)
    mine = among[answers.worker]
    assert fit.mean == pytest.approx(q[answers.task, answers.label][mine].mean())
    nobody = fit_one_coin(answers, q, strength=6.0, among=np.zeros(10, dtype=bool), max_iterations=1)
    assert nobody.mean == 0.75


def test_left_to_the_crowd_the_strength_is_that_of_its_mean() -> None:
    answers = crowd(100, 10, 4, n_classes=3, seed=3).answers
    q = majority(answers).posterior
    found = fit_one_coin(answers, q, strength=None, max_iterations=1)
    same = fit_one_coin(answers, q, strength=prior_strength_of_crowd(found.mean, 3), max_iterations=1)
    assert found.accuracy == pytest.approx(same.accuracy, abs=1e-12)


def test_one_class_and_workers_without_answers_do_no_harm() -> None:
    answers = answers_of([(1, "a", "x"), (1, "b", "x"), (2, "a", "x")])
    fit = fit_one_coin(answers, majority(answers).posterior)
    assert fit.posterior.tolist() == [[1.0], [1.0]]
    some = crowd(20, 4, 3, seed=0).answers
    lost = some.where(some.worker != 3)
    fit = fit_one_coin(lost, majority(lost).posterior)
    assert fit.accuracy[3] == 0.5
    assert np.isfinite(fit.scores).all()


@pytest.mark.parametrize("m", [2, 3, 10])
def test_the_crowds_mean_is_worth_what_the_beta_law_says_within_its_bounds(m: int) -> None:
    for mean in np.linspace(0, 1, 21):
        kept = above_guessing(float(mean), m)
        assert 1 / m < kept < 1
        worth = prior_strength_of_crowd(kept, m)
        assert MIN_PRIOR_STRENGTH <= worth <= MAX_PRIOR_STRENGTH
        if MIN_PRIOR_STRENGTH < worth < MAX_PRIOR_STRENGTH:
            a, b = worth * kept, worth * (1 - kept)  # the law's own mean and variance give back what was asked
            assert a * b / ((a + b) ** 2 * (a + b + 1)) == pytest.approx((0.7 * (kept - 1 / m)) ** 2)
            assert beta_strength(kept, a * b / ((a + b) ** 2 * (a + b + 1))) == pytest.approx(worth)
