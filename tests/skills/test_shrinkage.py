"""Empirical-Bayes skills: the fixed point of their equations, whatever the blocks, and closer to the truth."""

import numpy as np
import pytest

from quorate import simulate
from quorate.answers import Answers
from quorate.blocks import memory
from quorate.blocks.memory import blocks_of
from quorate.blocks.transform import GoldAsWorker, TransformedBlocks
from quorate.models.response_bias import ResponseBias
from quorate.skills.priors import priors_of
from quorate.skills.shrinkage import MARGIN, SkillPosterior, _noise_of_pair, response_bias, shrunk_skills


def skills_of(answers: Answers) -> SkillPosterior:
    blocks = blocks_of(answers)
    return shrunk_skills(blocks, response_bias(blocks))


def test_skills_solve_their_equations_written_as_loops_over_pairs() -> None:
    answers = simulate.crowd(60, 7, 4, n_classes=3, seed=2).answers
    bias = response_bias(blocks_of(answers))
    found = shrunk_skills(blocks_of(answers), bias, tolerance=1e-9)
    z = np.eye(3)[answers.label] - bias.frequency[answers.worker]
    numerator = np.full(7, found.prior_mean / found.prior_variance)
    precision = np.full(7, 1 / found.prior_variance)
    for a in range(answers.n_answers):
        for b in range(answers.n_answers):
            if a != b and answers.task[a] == answers.task[b]:
                weight = 1 / (answers.per_task[answers.task[a]] - 1) / found.noise
                peer = answers.worker[b]
                numerator[answers.worker[a]] += weight * (z[a] @ z[b]) / bias.spread * found.mean[peer]
                precision[answers.worker[a]] += weight * (found.mean[peer] ** 2 + found.variance[peer])
    expected = np.clip(numerator / precision, -1 / 2 + MARGIN, 1 - MARGIN)
    np.testing.assert_allclose(found.mean, expected, atol=1e-6)
    np.testing.assert_allclose(found.variance, 1 / precision, rtol=1e-6)


def test_the_noise_of_a_pair_is_its_variance() -> None:
    rng = np.random.default_rng(0)
    prior = np.array([0.7, 0.2, 0.1])
    guess, known = _noise_of_pair(prior)
    one, two = (np.eye(3)[rng.choice(3, 200_000, p=prior)] - prior for _ in range(2))
    gini = 1 - prior @ prior
    # 200,000 draws of a bounded product: the standard error of either mean of squares is below .01
    assert guess == pytest.approx(float(((one * two).sum(axis=1) ** 2).mean()) / gini**2, abs=0.03)
    assert known == pytest.approx(float(((one * one).sum(axis=1) ** 2).mean()) / gini**2, abs=0.03)
    for m in (2, 5):
        assert _noise_of_pair(np.full(m, 1 / m)) == pytest.approx((1 / (m - 1), 1.0))


def test_blocks_and_order_of_workers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = simulate.crowd(200, 9, 4, seed=4).answers
    complete = skills_of(answers)
    order = np.random.default_rng(0).permutation(9)
    renamed = simulate.collect(answers.task, order[answers.worker], answers.label, np.zeros(200, int), np.zeros(9), 2)
    np.testing.assert_allclose(skills_of(renamed.answers).mean[order], complete.mean, atol=1e-12)
    monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", 50)
    fresh = simulate.crowd(200, 9, 4, seed=4).answers
    np.testing.assert_allclose(skills_of(fresh).mean, complete.mean, atol=1e-12)


def test_shrinkage_lowers_the_error_of_sparse_crowds() -> None:
    """Few answers per worker: the mean skill for everybody is better than nothing, and shrunk skills better still."""
    shrunk = []
    constant = []
    for seed in range(6):
        crowd = simulate.crowd(120, 40, 3, seed=seed)
        found = skills_of(crowd.answers)
        shrunk.append(np.abs(found.mean - crowd.skills).mean())
        constant.append(np.abs(found.average - crowd.skills).mean())
    assert np.mean(shrunk) < np.mean(constant) - 0.02


def test_gold_has_skill_one_and_decides_the_sign() -> None:
    crowd = simulate.crowd(150, 6, 3, seed=1)
    answers = simulate.collect(
        crowd.answers.task, crowd.answers.worker, 1 - crowd.answers.label, crowd.truth, crowd.skills, 2
    ).answers
    with_gold_worker = TransformedBlocks(blocks_of(answers, crowd.truth.astype(np.int32)), GoldAsWorker())
    bias = response_bias(blocks_of(answers))
    with_gold = ResponseBias(np.vstack([bias.frequency, bias.prior]), bias.prior, bias.spread, bias.crowd)
    found = shrunk_skills(with_gold_worker, with_gold, is_gold=np.arange(7) == 6)
    assert found.mean[6] == 1.0
    skilled = crowd.skills > 0.4
    assert (found.mean[:6][skilled] < 0).all()


def test_a_known_skill_counts_by_its_precision() -> None:
    answers = simulate.crowd(30, 5, 3, seed=0).answers
    blocks = blocks_of(answers)
    name = answers.worker_names[0].as_py()
    known = priors_of({name: (0.9, 0.89, 0.91)}, answers.worker_names, answers.classes)
    found = shrunk_skills(blocks, response_bias(blocks), known=known)
    assert found.mean[0] == pytest.approx(0.9, abs=0.02)
