"""The score of centred answers, by loops over tasks, peers and classes."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from quorate import simulate
from quorate.arrays import FloatArray
from quorate.skills.centred_score import VARIANCE_PSEUDO_ANSWERS, CentredInference
from quorate.skills.intervals import PeerError
from quorate.skills.shrinkage import BIAS_PSEUDO_ANSWERS, response_bias
from quorate.skills.variance_inflation import ScoreContributions
from tests.skills.interval_samples import answer_pairs


def spread_of(f: FloatArray) -> FloatArray:
    """The covariance of one answer drawn from f."""
    return np.diag(f) - np.outer(f, f)


def third_moments(f: FloatArray, crowd: FloatArray, prior: FloatArray) -> tuple[float, float]:
    """B and E, as the sums over the true class and the answer that define them."""
    m, one = len(f), np.eye(len(f))
    b = e = 0.0
    for g, label in product(range(m), repeat=2):
        d, more = one[label] - f, prior[g] * ((g == label) - prior[label])
        b += more * float((one[g] - prior) @ d) ** 2
        e += more * sum(((g == k) - prior[k]) * (d[k] - d @ crowd) ** 2 for k in range(m))
    return b, e


def drawn(n_classes: int, with_gold: bool) -> CentredInference:
    """Skills of either sign, an uneven prior, tasks of three, and of four where gold has answered."""
    prior = np.arange(1.0, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    skills = np.array([0.8, 0.6, -0.2, 0.5, 0.3])
    crowd = simulate.crowd(60, 5, 3, n_classes=n_classes, skills=skills, prior=prior, seed=n_classes)
    answers, gold = crowd.answers, np.zeros(5, dtype=bool)
    if with_gold:
        answers = answers.with_worker(np.where(np.arange(60) < 20, crowd.truth, -1))
        skills, gold = np.append(skills, 1.0), np.arange(6) == 5
    return CentredInference(answers, skills, gold, ~gold, response_bias(answers), ridge=0.5)


@pytest.mark.parametrize("with_gold", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_score_is_that_of_loops(n_classes: int, with_gold: bool) -> None:
    inference = drawn(n_classes, with_gold)
    a, x, bias_of_workers = inference.answers, inference.skills, inference.bias_of_workers
    n, f, prior = a.per_worker, bias_of_workers.frequency, bias_of_workers.prior
    kept = (n + BIAS_PSEUDO_ANSWERS - 1) / (n + BIAS_PSEUDO_ANSWERS)
    mean = np.bincount(a.label, minlength=n_classes) / a.n_answers
    counted = f * (n[:, None] + BIAS_PSEUDO_ANSWERS) - BIAS_PSEUDO_ANSWERS * mean
    calm = [(counted[w] + VARIANCE_PSEUDO_ANSWERS * mean) / (n[w] + VARIANCE_PSEUDO_ANSWERS) for w in range(len(n))]
    share = n * x**2 / (n * x**2).sum()
    mates_noise = sum(share[w] * kept[w] ** 2 * spread_of(calm[w]) for w in range(len(n)))
    peer_frequency = sum(share[w] * calm[w] for w in range(len(n)))
    d, by_gold, agreed, pairs, one, cube, square = np.zeros((7, len(n)))
    for _, there in answer_pairs(a):
        omega = 1 / max(len(there) - 1, 1)
        for i, mine in there:
            peers = [(j, label) for j, label in there if j != i]
            q2, q3, q4 = (sum(x[j] ** power for j, _ in peers) for power in (2, 3, 4))
            d[i] += omega * q2
            by_gold[i] += omega * sum(x[j] ** 2 for j, _ in peers if inference.is_gold[j])
            z = np.eye(n_classes)[mine] - f[i]
            agreed[i] += (
                omega * sum(x[j] * z @ (np.eye(n_classes)[c] - f[j]) for j, c in peers) / bias_of_workers.spread
            )
            pairs[i] += omega**2 * (q2**2 - q4)
            one[i] += omega**2 * q2
            cube[i] += omega**2 * q3
            square[i] += omega**2 * q2**2
    common = (n @ kept) / n.sum()
    scale = common + (1 - common) * by_gold / d
    found = inference.score()
    assert found.raw == pytest.approx(agreed / d / (kept / scale))
    assert found.gamma == pytest.approx(square / d**2 - 1 / n**2)
    for i in range(len(n)):
        b, e = third_moments(calm[i], peer_frequency, prior)
        alone = np.trace(spread_of(calm[i]) @ spread_of(prior)) * pairs[i]
        noise = np.trace(spread_of(calm[i]) @ mates_noise) * scale[i] ** 2 * one[i]
        alpha = (alone + noise) / bias_of_workers.spread**2 / d[i] ** 2 * (1 + 1 / n[i])
        assert found.alpha[i] == pytest.approx(alpha)
        skewed = e * (share * kept**2).sum() * scale[i] ** 2 * cube[i]
        assert found.beta[i] == pytest.approx((b * pairs[i] + skewed) / bias_of_workers.spread**2 / d[i] ** 2)


def test_who_met_nobody_skilled_is_not_rated() -> None:
    inference = drawn(2, with_gold=False)
    alone = CentredInference(
        inference.answers,
        np.array([0.0, 0, 0, 0, np.nan]),
        inference.is_gold,
        inference.is_free,
        inference.bias_of_workers,
        0.5,
    )
    assert np.isnan(alone.score().raw).all()


def test_the_score_contributions_are_what_each_answer_adds_to_the_raw_skill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """f hardly feels them, so they are looked at themselves. Mates are taken for poorer than they are: raw skills
    come out larger, some of them above one and one below the least skill."""
    good = drawn(3, with_gold=False)
    inference = replace(good, skills=np.array([0.3, 0.27, -0.22, 0.22, 0.18]))
    seen: list[FloatArray] = []

    def look(_: object, contributions: ScoreContributions, *__: object, **___: int) -> PeerError:
        by_task = np.zeros((contributions.block.n_tasks, 5))
        by_task[np.repeat(np.arange(len(by_task)), contributions.block.per_task), contributions.block.worker] = (
            contributions.psi
        )
        seen.append(by_task)
        return PeerError(np.ones(5), np.zeros(5))

    monkeypatch.setattr("quorate.skills.variance_inflation.peer_error", look)
    inference.peer_error(draws=1, seed=0)
    a, x, f = inference.answers, inference.skills, inference.bias_of_workers.frequency
    raw = inference.score().raw
    assert raw.max() > 1
    assert raw.min() < -1 / 2
    tried = np.clip(raw, -1 / 2, 1) * inference._centring_factor / inference._peer_factor
    psi = np.zeros((a.n_tasks, 5))
    for task, there in answer_pairs(a):
        for (i, mine), (j, label) in product(there, there):
            if i != j:
                agreed = (np.eye(3)[mine] - f[i]) @ (np.eye(3)[label] - f[j]) / inference.bias_of_workers.spread
                psi[task, i] += (agreed - tried[i] * x[j]) * x[j] / (len(there) - 1)
    assert seen[0] == pytest.approx(psi)
