"""The leading singular vector and the eigenvector ratio against dense references."""

from dataclasses import replace

import numpy as np
import pytest

import quorate
from quorate.answers import Answers
from quorate.errors import TooLargeError
from quorate.graph import pairs as pairs_module
from quorate.methods.binary_reduction import leading_vector
from quorate.methods.er import er, ratio_scores
from quorate.methods.ghosh_svd import ghosh_svd, singular_scores
from quorate.simulate import crowd
from tests.methods.binary_samples import binary_of, dense


def beside(one: Answers, n_tasks: int, n_workers: int) -> Answers:
    """Return the answers, and below them a small crowd of their own who answer 0, 1, 0, 1, ..."""
    rows = list(zip(one.task.tolist(), one.worker.tolist(), one.label.tolist(), strict=True))
    rows += [(10_000 + t, 10_000 + w, t % 2) for t in range(n_tasks) for w in range(n_workers)]
    task, worker, label = zip(*rows, strict=True)
    return quorate.read({"task": task, "worker": worker, "label": label})


def test_lanczos_finds_the_eigenvalue_of_largest_size() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 70, 300):
        matrix = rng.normal(size=(n, n))
        matrix = matrix + matrix.T + 2 * np.diag(rng.normal(size=n))
        found, converged = leading_vector(matrix.__matmul__, n, scale=n)
        values, vectors = np.linalg.eigh(matrix)
        true = vectors[:, np.argmax(np.abs(values))]
        assert converged
        # The residual is 1e-12 of the eigenvalue; the two ends of such a spectrum may lie within 1e-3 of each other.
        assert abs(found @ true) == pytest.approx(1, abs=1e-8)


def test_lanczos_gives_the_zero_vector_for_a_zero_matrix() -> None:
    found, converged = leading_vector(lambda x: 1e-17 * x, 5, scale=10)
    assert converged
    assert not found.any()


def test_of_a_repeated_eigenvalue_the_vector_nearest_to_even_weights_is_taken() -> None:
    found, _ = leading_vector(lambda x: np.array([3.0, 3.0, 1.0]) * x, 3, scale=7)
    np.testing.assert_allclose(found, [np.sqrt(0.5), np.sqrt(0.5), 0.0], atol=1e-12)


def test_lanczos_says_when_it_stopped_short() -> None:
    spectrum = np.linspace(0.99, 1.0, 400)
    assert not leading_vector(lambda x: spectrum * x, 400, scale=400, restarts=1)[1]
    assert leading_vector(lambda x: spectrum * x, 400, scale=400)[1]


def test_ghosh_equals_a_dense_decomposition() -> None:
    for seed in range(5):
        answers = crowd(40, 9, 4, seed=seed).answers
        matrix = dense(binary_of(answers))
        left, _, right = np.linalg.svd(matrix)
        u, v = left[:, 0], right[0]
        if np.sign(u) @ matrix.sum(axis=1) < 0:
            u, v = -u, -v
        verdict = singular_scores(binary_of(answers))
        np.testing.assert_allclose(verdict.weights, v, atol=1e-8)
        np.testing.assert_allclose(verdict.scores / np.linalg.norm(verdict.scores), u, atol=1e-8)


def test_the_ratio_equals_dense_eigenvectors() -> None:
    for seed in range(5):
        answers = crowd(40, 9, 4, seed=seed).answers
        matrix = dense(binary_of(answers))
        n_shared = np.abs(matrix).T @ np.abs(matrix)
        agreement = np.divide(matrix.T @ matrix, n_shared, out=np.zeros_like(n_shared), where=n_shared > 0)
        v1, v2 = (np.linalg.svd(table)[0][:, 0] for table in (agreement, (n_shared > 0).astype(float)))
        weights = v1 / v2
        if (matrix @ weights) @ matrix.sum(axis=1) < 0:
            weights = -weights
        found = ratio_scores(answers, binary_of(answers))
        np.testing.assert_allclose(found.weights, weights, atol=1e-8)
        np.testing.assert_allclose(found.scores, matrix @ weights, atol=1e-8)


def test_a_small_component_is_judged_as_if_alone() -> None:
    one = crowd(60, 12, 4, seed=1).answers
    both = beside(one, n_tasks=6, n_workers=3)
    for method in (er, ghosh_svd):
        result = method(both)
        alone = method(quorate.read({"task": one.task, "worker": one.worker, "label": one.label}))
        np.testing.assert_allclose(result.vote.posterior[:60], alone.vote.posterior, atol=1e-8)
        assert result.vote.label[60:].tolist() == [0, 1] * 3
        np.testing.assert_allclose(result.weights[12:], 1.0)  # three who always agree


def test_two_who_always_disagree_leave_every_task_tied() -> None:
    answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyyx")})
    for method in (er, ghosh_svd):
        assert method(answers).vote.tied.all()


def test_an_adversary_is_turned_round() -> None:
    skills = np.array([0.8] * 7 + [-0.8] * 3)
    simulated = crowd(400, 10, 6, skills=skills, seed=2)
    for method in (er, ghosh_svd):
        result = method(simulated.answers)
        assert np.all(result.weights[7:] < 0)
        assert (result.vote.label != simulated.truth).mean() < 0.03


@pytest.mark.parametrize("classes", ["one-vs-rest", "ordered"])
def test_renumbering_permutes_the_result(classes: str) -> None:
    answers = crowd(150, 12, 4, n_classes=4, seed=3).answers
    rng = np.random.default_rng(0)
    t, w = rng.permutation(150), rng.permutation(12)
    task, worker = t[answers.task].astype(np.int32), w[answers.worker].astype(np.int32)
    order = np.lexsort([worker, task])
    other = replace(answers, task=task[order], worker=worker[order], label=answers.label[order])
    for method in (er, ghosh_svd):
        one, two = method(answers, classes=classes), method(other, classes=classes)
        np.testing.assert_allclose(two.vote.posterior[t], one.vote.posterior, atol=1e-8)
        np.testing.assert_allclose(two.weights[w], one.weights, atol=1e-8)


def test_too_many_answer_pairs_are_refused_before_counting() -> None:
    n = 15_000
    answers = quorate.read({"task": [1] * n, "worker": range(n), "label": [k % 2 for k in range(n)]})
    with pytest.raises(
        TooLargeError, match=r"the answers form 112,492,500 pairs; at most 50,000,000 are counted .*\. Use rank-one"
    ):
        er(answers)


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs_module, "MIN_TABLE_PAIRS", -195)
    with pytest.raises(
        TooLargeError, match=r"up to 6 pairs of workers share a task; the limit for 40 answers is 5\. Use rank-one"
    ):
        er(crowd(10, 4, 4, seed=0).answers)
