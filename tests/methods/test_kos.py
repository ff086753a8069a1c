"""Message passing and the centred singular vector against naive references."""

from dataclasses import replace

import numpy as np
import pytest

import quorate
from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.methods.binary_reduction import REDUCTIONS, BinaryAnswers
from quorate.methods.kos import centred_scores, kos, kos_svd, pass_messages
from quorate.simulate import crowd
from tests.methods.binary_samples import binary_of, dense


def naive_messages(binary: BinaryAnswers, iterations: int, seed: int) -> FloatArray:
    """Every message as a sum over the other answers of its task or worker; never scaled."""
    edges = list(zip(binary.task.tolist(), binary.worker.tolist(), binary.value.tolist(), strict=True))
    to_task = np.random.default_rng(seed).normal(1.0, 1.0, len(edges)).tolist()
    for _ in range(iterations):
        to_worker = [
            sum(v * to_task[k] for k, (t, w, v) in enumerate(edges) if t == task and w != worker)
            for task, worker, _ in edges
        ]
        to_task = [
            sum(v * to_worker[k] for k, (t, w, v) in enumerate(edges) if w == worker and t != task)
            for task, worker, _ in edges
        ]
    scores = np.zeros(binary.n_tasks)
    for (task, _, value), message in zip(edges, to_task, strict=True):
        scores[task] += value * message
    return scores


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_messages_equal_a_double_loop_up_to_scale(iterations: int) -> None:
    binary = binary_of(crowd(25, 6, 3, seed=1).answers)
    fast, slow = pass_messages(binary, iterations, seed=9).scores, naive_messages(binary, iterations, seed=9)
    np.testing.assert_allclose(fast / np.abs(fast).max(), slow / np.abs(slow).max(), atol=1e-12)


def test_messages_neither_overflow_nor_vanish_in_a_thousand_rounds() -> None:
    two_crowds = [crowd(n, 6, 4, skills=np.full(6, 0.8), seed=n).answers for n in (200, 20)]
    task, worker, label = (
        np.concatenate([getattr(one, name) + k * 1000 for k, one in enumerate(two_crowds)])
        for name in ("task", "worker", "label")
    )
    answers = quorate.read({"task": task, "worker": worker, "label": label % 1000})
    verdict = pass_messages(binary_of(answers), 1000, seed=0)
    # Without a scale of its own the small crowd would fade beside the large one.
    assert np.isfinite(verdict.scores).all()
    assert np.all(verdict.cast > 1e-6)


def test_no_second_answer_is_a_tie_that_the_plain_votes_decide() -> None:
    result = kos(quorate.read({"task": [1, 2, 3], "worker": list("aaa"), "label": list("xyx")}))
    assert result.vote.tied.all()
    assert result.labels["label"].to_pylist() == ["x", "y", "x"]


def test_messages_see_through_adversaries_on_a_regular_crowd() -> None:
    skills = np.where(np.arange(90) < 30, -0.6, 0.7)
    simulated = crowd(600, 90, 15, skills=skills, seed=2)
    wrong = (kos(simulated.answers).vote.label != simulated.truth).mean()
    assert wrong < 0.02 < (quorate.aggregate(simulated.answers, "majority").vote.label != simulated.truth).mean()
    weights = kos(simulated.answers).weights
    assert np.all(weights[:30] < 0)
    assert np.all(weights[30:] > 0)


def test_the_seed_decides_the_start_and_nothing_else() -> None:
    answers = crowd(50, 10, 3, n_classes=3, seed=3).answers
    one, same, other = (kos(answers, seed=seed) for seed in (5, 5, 6))
    assert one.vote.scores.tobytes() == same.vote.scores.tobytes()
    assert one.vote.scores.tobytes() != other.vote.scores.tobytes()


def test_a_round_is_the_least() -> None:
    with pytest.raises(OptionError, match="iterations must be at least 1, got 0"):
        kos(crowd(5, 3, 2).answers, iterations=0)


def test_the_centred_vector_equals_a_dense_decomposition() -> None:
    for seed in range(5):
        binary = binary_of(crowd(40, 9, 4, seed=seed).answers)
        centred = dense(binary) - dense(binary).mean(axis=0)
        left, _, right = np.linalg.svd(centred)
        u, v = left[:, 0], right[0]
        if (v[v >= 0] ** 2).sum() < 0.5:
            u, v = -u, -v
        verdict = centred_scores(binary)
        np.testing.assert_allclose(verdict.weights, v, atol=1e-8)  # residual 1e-12 over a gap of a few percent
        np.testing.assert_allclose(verdict.scores / np.linalg.norm(verdict.scores), u, atol=1e-8)


def test_each_component_has_a_centred_vector_of_its_own() -> None:
    one = crowd(40, 9, 4, seed=1).answers
    rows = [(t, w, c) for t, w, c in zip(one.task, one.worker, one.label, strict=True)]
    rows += [(100 + t, 100 + w, int(t % 2)) for t in range(8) for w in range(3)]
    task, worker, label = zip(*rows, strict=True)
    both = kos_svd(quorate.read({"task": task, "worker": worker, "label": label}))
    alone = kos_svd(quorate.read({"task": one.task, "worker": one.worker, "label": one.label}))
    np.testing.assert_allclose(both.vote.posterior[:40], alone.vote.posterior, atol=1e-8)
    assert both.vote.label[40:].tolist() == [0, 1] * 4


@pytest.mark.parametrize("classes", REDUCTIONS)
def test_two_classes_in_the_other_order_give_the_same_labels(classes: str) -> None:
    answers = crowd(200, 12, 4, seed=4).answers
    mirrored = replace(answers, label=1 - answers.label)
    for method in (kos, kos_svd):
        one, two = method(answers, classes=classes), method(mirrored, classes=classes)
        np.testing.assert_array_equal(one.vote.label, 1 - two.vote.label)


def test_unordered_classes_may_be_permuted() -> None:
    answers = crowd(200, 12, 5, n_classes=4, seed=5).answers
    turn = np.array([2, 0, 3, 1], dtype=answers.label.dtype)
    for method in (kos, kos_svd):
        one, two = method(answers), method(replace(answers, label=turn[answers.label]))
        np.testing.assert_allclose(two.vote.posterior[:, turn], one.vote.posterior, atol=1e-8)
