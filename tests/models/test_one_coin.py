from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.memory import blocks_of
from quorate.models import one_coin
from quorate.models.accuracy_prior import (
    MAX_PRIOR_STRENGTH,
    MIN_PRIOR_STRENGTH,
    above_guessing,
    beta_strength,
    prior_strength_of_crowd,
)
from quorate.models.confusion import ModelPosterior
from quorate.models.em import fit_confusion_em
from quorate.models.one_coin import fit_one_coin_em, one_coin_log_likelihood
from quorate.simulate import crowd
from quorate.voting.vote import majority
from tests.crowds import answers_of, rows
from tests.models.samples import posterior_of


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


def shares(q: FloatArray, n: float) -> FloatArray:
    """Return the mean posterior of each class, some tasks of each added."""
    proportions: FloatArray = (q.sum(axis=0) + n) / (len(q) + n * q.shape[1])
    return proportions


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("strength", [0.0, 3.0])
@pytest.mark.parametrize("pseudo_tasks", [None, 0.0, 1.0])
def test_each_step_is_that_of_plain_loops(m: int, strength: float, pseudo_tasks: float | None) -> None:
    answers = crowd(40, 6, 3, n_classes=m, seed=m).answers
    blocks = blocks_of(answers)
    options: dict[str, Any] = {"strength": strength, "tolerance": 0.0}
    if pseudo_tasks is not None:
        options |= {"class_prior": True, "pseudo_tasks": pseudo_tasks}
    q = majority(answers).posterior
    for steps in (1, 2, 3):
        fit = fit_one_coin_em(blocks, max_iterations=steps, **options)
        prior = np.full(m, 1 / m) if pseudo_tasks is None else shares(q, pseudo_tasks)
        p, q = naive_step(answers, q, prior, strength)
        assert np.exp(fit.log_prior) == pytest.approx(prior, abs=1e-12)
        assert fit.accuracy == pytest.approx(p, abs=1e-12)
        assert posterior_of(fit, blocks) == pytest.approx(q, abs=1e-12)
        assert len(fit.log_likelihoods) == steps


@pytest.mark.parametrize("strength", [1.0, 3.0, 40.0])
def test_a_worker_of_few_answers_is_shrunk_to_the_mean_and_not_to_guessing(strength: float) -> None:
    table = [(t, w, "x" if t % 3 else "y") for t in range(9) for w in "abc"] + [(0, "once", "y"), (1, "once more", "y")]
    answers = answers_of(table)
    fit = fit_one_coin_em(blocks_of(answers), strength=strength, max_iterations=1, tolerance=0.0)
    expected, _ = naive_step(answers, majority(answers).posterior, np.full(2, 0.5), strength)
    assert fit.accuracy == pytest.approx(expected, abs=1e-12)


@given(rows(max_tasks=10), st.booleans(), st.integers(0, 2))
def test_the_likelihood_never_falls(table: list[tuple[int, str, str]], prior: bool, n_known: int) -> None:
    answers = answers_of(table)
    blocks = blocks_of(answers, np.where(np.arange(answers.n_tasks) < n_known, 0, -1))
    fit = fit_one_coin_em(blocks, class_prior=prior, max_iterations=30, tolerance=0.0)
    assert (np.diff(fit.log_likelihoods) >= -1e-7).all()
    posterior = posterior_of(fit, blocks)
    assert posterior.sum(axis=1) == pytest.approx(np.ones(answers.n_tasks))
    assert (posterior[:n_known, 0] == 1).all()


def test_it_is_the_em_of_confusion_matrices_that_have_one_accuracy_each() -> None:
    """A step from matrices of one accuracy is the same in either."""
    blocks = blocks_of(crowd(60, 8, 4, n_classes=3, seed=5).answers)
    p = np.random.default_rng(0).uniform(0.3, 1.0, 8)
    p[0] = 1.0
    matrices = np.where(np.eye(3, dtype=bool), p[:, None, None], ((1 - p) / 2)[:, None, None])
    for zeros in ("exact", "skip"):
        one = fit_one_coin_em(blocks, start=p, zeros=zeros, max_iterations=1)
        many = fit_confusion_em(blocks, start=matrices, zeros=zeros, max_iterations=1)
        scores = [next(iter(blocks.map(fit.scores))) for fit in (one, many)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-9)  # sums of log(FLOOR) = -708 in another order
        assert one.log_likelihoods == pytest.approx(many.log_likelihoods)


def test_the_first_iteration_takes_the_accuracies_that_are_given() -> None:
    answers = crowd(50, 6, 3, seed=1).answers
    p = np.linspace(0.55, 0.9, 6)
    fit = fit_one_coin_em(blocks_of(answers), start=p, stop_by="accuracy", max_iterations=1)
    assert fit.accuracy is p
    assert not fit.converged
    log_odds = np.log(p / (1 - p))[answers.worker] * np.where(answers.label == 1, 1, -1)
    assert posterior_of(fit, blocks_of(answers))[:, 1] == pytest.approx(expit(answers.by_task(log_odds)))


@pytest.mark.parametrize("pseudo_tasks", [0.0, 1.0])
def test_from_given_accuracies_an_estimated_prior_begins_as_a_uniform_one(pseudo_tasks: float) -> None:
    blocks = blocks_of(crowd(50, 6, 3, n_classes=3, seed=1).answers)
    p = np.linspace(0.55, 0.9, 6)
    fit = fit_one_coin_em(blocks, start=p, class_prior=True, pseudo_tasks=pseudo_tasks, max_iterations=1)
    assert np.exp(fit.log_prior) == pytest.approx(np.full(3, 1 / 3))
    assert fit.log_likelihoods[0] == pytest.approx(one_coin_log_likelihood(blocks, p))


@pytest.mark.parametrize("stop_by", ["counts", "accuracy"])
def test_a_fit_that_has_converged_stays(stop_by: Literal["counts", "accuracy"]) -> None:
    blocks = blocks_of(crowd(200, 10, 4, seed=2).answers)
    fit = fit_one_coin_em(blocks, stop_by=stop_by, tolerance=1e-7, max_iterations=1000)
    assert fit.converged
    again = fit_one_coin_em(blocks, posterior=ModelPosterior(fit), max_iterations=1)
    assert np.abs(again.accuracy - fit.accuracy) @ blocks.per_worker / blocks.n_answers <= 1e-7


def test_the_mean_is_that_of_the_workers_it_is_taken_over() -> None:
    answers = crowd(100, 10, 4, seed=3).answers
    among = np.arange(10) < 4
    fit = fit_one_coin_em(blocks_of(answers), strength=6.0, among=among, max_iterations=1)
    counted = among[answers.worker]
    q = majority(answers).posterior
    assert fit.mean == pytest.approx(q[answers.task, answers.label][counted].mean())
    nobody = fit_one_coin_em(blocks_of(answers), strength=6.0, among=np.zeros(10, dtype=bool), max_iterations=1)
    assert nobody.mean == 0.75


def test_by_default_the_strength_is_that_of_the_mean() -> None:
    blocks = blocks_of(crowd(100, 10, 4, n_classes=3, seed=3).answers)
    fitted = fit_one_coin_em(blocks, strength=None, max_iterations=1)
    same = fit_one_coin_em(blocks, strength=prior_strength_of_crowd(fitted.mean, 3), max_iterations=1)
    assert fitted.accuracy == pytest.approx(same.accuracy, abs=1e-12)


def test_one_class_and_workers_without_answers_are_fitted() -> None:
    one_class = blocks_of(answers_of([(1, "a", "x"), (1, "b", "x"), (2, "a", "x")]))
    assert posterior_of(fit_one_coin_em(one_class), one_class).tolist() == [[1.0], [1.0]]
    some = crowd(20, 4, 3, seed=0).answers
    lost = blocks_of(some.where(some.worker != 3))
    fit = fit_one_coin_em(lost)
    assert fit.accuracy[3] == 0.5
    assert np.isfinite(posterior_of(fit, lost)).all()


@pytest.mark.parametrize("stop_by", ["counts", "accuracy"])
@pytest.mark.parametrize("with_gold", [False, True])
def test_the_sparse_e_step_of_many_classes_gives_the_same_fit(
    stop_by: Literal["counts", "accuracy"], with_gold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = crowd(80, 12, 4, n_classes=40, seed=3)
    gold = np.where(np.arange(80) % 5 == 0, (simulated.truth + np.arange(80) % 2) % 40, -1) if with_gold else None
    blocks = blocks_of(simulated.answers, gold)
    fits = []
    for cells_per_answer in (1, 1_000):
        monkeypatch.setattr(one_coin, "MAX_CELLS_PER_ANSWER", cells_per_answer)
        fits.append(fit_one_coin_em(blocks, strength=2.0, start=np.full(12, 0.6), stop_by=stop_by, max_iterations=30))
    sparse, dense = fits
    np.testing.assert_allclose(sparse.accuracy, dense.accuracy, atol=1e-9)
    np.testing.assert_allclose(sparse.log_likelihoods, dense.log_likelihoods, rtol=1e-9)


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
