import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import simulate
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.errors import TooLargeError
from quorate.evaluation.metrics import expected_error
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.models import confusion
from quorate.models.em import expectation_maximisation
from quorate.voting.vote import majority
from tests.crowds import answers_of, rows


@given(rows(max_tasks=10), st.booleans())
def test_the_likelihood_never_falls(table: list[tuple[int, str, str]], prior: bool) -> None:
    answers = answers_of(table)
    start = majority(answers).posterior
    fit = expectation_maximisation(answers, start, class_prior=prior, max_iterations=30, tolerance=0.0)
    assert (np.diff(fit.log_likelihoods) >= -1e-7).all()


def test_the_likelihood_never_falls_with_gold_and_on_a_larger_crowd() -> None:
    crowd = simulate.crowd(500, 15, 3, n_classes=4, seed=0)
    gold = np.where(np.arange(500) < 50, crowd.truth, -1)
    fit = expectation_maximisation(crowd.answers, majority(crowd.answers).posterior, gold=gold, max_iterations=60)
    assert (np.diff(fit.log_likelihoods) >= -1e-7).all()
    assert (fit.posterior[:50].argmax(axis=1) == crowd.truth[:50]).all()


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


def test_the_sparse_products_equal_plain_loops() -> None:
    answers = simulate.crowd(40, 6, 3, n_classes=3, seed=1).answers
    q = majority(answers).posterior
    for steps in (1, 2, 3):
        fit = expectation_maximisation(answers, majority(answers).posterior, max_iterations=steps, tolerance=0.0)
        q = naive_step(answers, q)
        assert fit.posterior == pytest.approx(q, abs=1e-12)


def test_confusion_matrices_are_recovered() -> None:
    """A two-coin crowd: everyone knows class 0 better than class 1, which one accuracy cannot say."""
    rng = np.random.default_rng(0)
    n_tasks, n_workers = 3000, 8
    truth = rng.integers(0, 2, n_tasks)
    right = np.where(truth[:, None] == 0, 0.95, rng.uniform(0.45, 0.7, n_workers))
    label = np.where(rng.random((n_tasks, n_workers)) < right, truth[:, None], 1 - truth[:, None])
    cells = [(t, w, int(label[t, w])) for t in range(n_tasks) for w in range(n_workers)]
    answers = answers_of(cells)
    fit = expectation_maximisation(answers, majority(answers).posterior, max_iterations=200, class_prior=True)
    assert fit.confusion[:, 0, 0] == pytest.approx(np.full(n_workers, 0.95), abs=0.03)
    gold = dict(enumerate(truth.tolist()))
    many, few = (expected_error(aggregate_in_memory(name, answers), gold).error for name in ("dawid-skene", "one-coin"))
    assert many < few - 0.02


def test_leaving_out_zeros_is_no_em() -> None:
    """The published code skips answers of estimated probability zero; the likelihood may then fall."""
    falls = {"exact": 0, "skip": 0}
    for seed in range(20):
        answers = simulate.crowd(60, 12, 3, n_classes=4, skills=np.full(12, 0.8), seed=seed).answers
        for zeros in falls:
            fit = expectation_maximisation(answers, majority(answers).posterior, zeros=zeros, max_iterations=10)
            falls[zeros] += bool((np.diff(fit.log_likelihoods) < -1e-6).any())
    assert falls["exact"] == 0
    assert falls["skip"] > 0


def test_a_crowd_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confusion, "ENTRIES", 10)
    with pytest.raises(TooLargeError, match="rank-one or iwmv"):
        aggregate_in_memory("dawid-skene", simulate.crowd(20, 6, 3).answers)


def test_one_accuracy_a_worker_needs_no_room_for_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = simulate.crowd(20, 15, 3).answers
    monkeypatch.setattr(confusion, "ENTRIES", 50)  # 20 tasks × 2 classes fit, 15 workers × 2 × 2 do not
    assert len(aggregate_in_memory("one-coin", answers).labels) == 20
    with pytest.raises(TooLargeError, match="confusion matrix"):
        aggregate_in_memory("dawid-skene", answers)
