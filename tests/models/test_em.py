"""EM over confusion matrices: equal to plain loops, the likelihood never falls, gold stays."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate import simulate
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.memory import blocks_of
from quorate.blocks.worker_rows import dense
from quorate.models.confusion import ModelPosterior
from quorate.models.em import fit_confusion_em
from quorate.models.one_coin import fit_one_coin_em
from quorate.voting.vote import majority
from tests.crowds import answers_of, rows
from tests.models.samples import posterior_of

# Bob answered one task, which everyone labelled x: his answers to class y are unknown.
ROWS = {"task": [1, 1, 1, 2, 2], "worker": ["ann", "bob", "cy", "ann", "cy"], "label": ["x", "x", "x", "y", "y"]}


@pytest.mark.parametrize("class_prior", [False, True])
def test_the_likelihood_never_falls_in_either_model(class_prior: bool) -> None:
    blocks = blocks_of(simulate.crowd(80, 7, 4, n_classes=3, seed=5).answers)
    options: dict[str, Any] = {"class_prior": class_prior, "max_iterations": 30, "tolerance": 0.0}
    for history in (fit_confusion_em(blocks, **options), fit_one_coin_em(blocks, **options)):
        assert (np.diff(history.log_likelihoods) >= -1e-8).all()
        assert len(history.log_likelihoods) == 30


@given(rows(max_tasks=10), st.booleans())
def test_the_likelihood_never_falls(table: list[tuple[int, str, str]], prior: bool) -> None:
    blocks = blocks_of(answers_of(table))
    fit = fit_confusion_em(blocks, class_prior=prior, max_iterations=30, tolerance=0.0)
    assert (np.diff(fit.log_likelihoods) >= -1e-7).all()


def test_the_likelihood_never_falls_with_gold_and_on_a_larger_crowd() -> None:
    crowd = simulate.crowd(500, 15, 3, n_classes=4, seed=0)
    gold = np.where(np.arange(500) < 50, crowd.truth, -1)
    blocks = blocks_of(crowd.answers, gold)
    fit = fit_confusion_em(blocks, max_iterations=60)
    assert (np.diff(fit.log_likelihoods) >= -1e-7).all()
    assert (posterior_of(fit, blocks)[:50].argmax(axis=1) == crowd.truth[:50]).all()


def naive_step(answers: Answers, q: FloatArray) -> FloatArray:
    """One M-step and one E-step by plain loops."""
    m = answers.n_classes
    theta = np.zeros((answers.n_workers, m, m))
    for t, w, c in zip(answers.task, answers.worker, answers.label, strict=True):
        theta[w, c] += q[t]
    for w in range(answers.n_workers):
        for c in range(m):
            total = theta[w, :, c].sum()
            theta[w, :, c] = theta[w, :, c] / total if total > 0 else 1 / m
    new = np.ones((answers.n_tasks, m))
    for t, w, c in zip(answers.task, answers.worker, answers.label, strict=True):
        new[t] *= theta[w, c]
    normalised: FloatArray = new / new.sum(axis=1, keepdims=True)
    return normalised


def test_each_step_is_that_of_plain_loops() -> None:
    answers = simulate.crowd(40, 6, 3, n_classes=3, seed=1).answers
    blocks = blocks_of(answers)
    q = majority(answers).posterior
    for steps in (1, 2, 3):
        fit = fit_confusion_em(blocks, max_iterations=steps, tolerance=0.0)
        q = naive_step(answers, q)
        assert posterior_of(fit, blocks) == pytest.approx(q, abs=1e-12)


def test_confusion_matrices_are_recovered() -> None:
    """A two-coin crowd: everyone knows class 0 better than class 1, which one accuracy cannot describe."""
    rng = np.random.default_rng(0)
    n_tasks, n_workers = 3000, 8
    truth = rng.integers(0, 2, n_tasks)
    right = np.where(truth[:, None] == 0, 0.95, rng.uniform(0.45, 0.7, n_workers))
    label = np.where(rng.random((n_tasks, n_workers)) < right, truth[:, None], 1 - truth[:, None])
    answers = answers_of([(t, w, int(label[t, w])) for t in range(n_tasks) for w in range(n_workers)])
    fit = fit_confusion_em(blocks_of(answers), max_iterations=200, class_prior=True)
    theta = dense(fit.theta)
    assert theta[:, 0, 0] == pytest.approx(np.full(n_workers, 0.95), abs=0.03)
    assert fit.accuracy == pytest.approx(np.einsum("wcc->w", theta) / 2)


def test_leaving_out_zeros_is_no_em() -> None:
    """The published code skips answers of estimated probability zero; the likelihood may then fall."""
    falls = {"exact": 0, "skip": 0}
    for seed in range(20):
        answers = simulate.crowd(60, 12, 3, n_classes=4, skills=np.full(12, 0.8), seed=seed).answers
        for zeros in falls:
            fit = fit_confusion_em(blocks_of(answers), zeros=zeros, max_iterations=10)
            falls[zeros] += bool((np.diff(fit.log_likelihoods) < -1e-6).any())
    assert falls["exact"] == 0
    assert falls["skip"] > 0


@pytest.mark.parametrize(("zeros", "unknown"), [("skip", 0.0), ("exact", 0.5)])
def test_a_column_without_counts_is_empty_or_even(zeros: str, unknown: float) -> None:
    answers = quorate.read(ROWS)
    fit = fit_confusion_em(blocks_of(answers, np.array([0, 1])), zeros=zeros, max_iterations=100)
    bob = answers.worker_names.to_pylist().index("bob")
    theta = dense(fit.theta)
    assert theta[bob].tolist() == [[1.0, unknown], [0.0, unknown]]
    others = np.delete(theta, bob, axis=0)
    assert others.sum(axis=1).tolist() == [[1.0, 1.0]] * 2


def test_a_fit_has_converged_exactly_if_the_expected_counts_stay() -> None:
    blocks = blocks_of(simulate.crowd(100, 6, 4, seed=0).answers)
    converged_fit = fit_confusion_em(blocks, max_iterations=500, tolerance=1e-4)
    assert converged_fit.converged
    assert 2 < len(converged_fit.log_likelihoods) < 500
    assert not fit_confusion_em(blocks, max_iterations=2, tolerance=1e-4).converged
    again = fit_confusion_em(blocks, posterior=ModelPosterior(converged_fit), max_iterations=1, tolerance=1e-4)
    assert again.converged
    change = np.abs(posterior_of(again, blocks) - posterior_of(converged_fit, blocks))
    assert change.mean() <= 1e-3  # the tolerance is for counts, in which changes of opposite sign cancel


def test_the_first_iteration_takes_the_matrices_that_are_given() -> None:
    blocks = blocks_of(simulate.crowd(60, 6, 4, n_classes=3, seed=0).answers)
    start = np.random.default_rng(0).dirichlet(np.ones(3), (6, 3)).swapaxes(1, 2)
    assert fit_confusion_em(blocks, start=start, max_iterations=1).theta is start
