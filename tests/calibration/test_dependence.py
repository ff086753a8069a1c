"""Correlated errors: residual products as loops over pairs give them, near zero where errors are independent."""

from typing import Any

import numpy as np
import pytest
from experiments.calibration.error_correlation import correlation_of_errors
from experiments.default_method.data import Crowd
from experiments.diagnostics.diagnosis_truth import truth_of

from quorate import simulate
from quorate.blocks.memory import blocks_of, memory_blocks
from quorate.calibration.dependence import (
    Dependence,
    dependence_of,
    measure_dependence,
    residual_products,
)
from quorate.calibration.one_factor import one_factor_fit
from quorate.datasets.sources import SOURCES
from quorate.methods.aggregate import aggregate
from quorate.models.confusion import pooled_confusion
from quorate.models.scorer import PluralityScorer
from quorate.skills.shrinkage import response_bias
from quorate.voting.posterior import softmax, tempering
from tests.crowds import answers_of
from tests.models.test_copying import copied_crowd


def test_products_are_sums_over_pairs() -> None:
    answers = simulate.crowd(30, 6, 4, n_classes=2, seed=0).answers
    blocks = blocks_of(answers)
    model = pooled_confusion(blocks, PluralityScorer(1.0), np.ones(6), n_steps=2)
    block = memory_blocks(answers).all_tasks
    products, scales = residual_products(block, model)
    q = softmax(model.scores(block))
    for task in range(30):
        rows = range(answers.start[task], answers.start[task + 1])
        expected = np.zeros(2)
        for class_ in range(2):
            p = model.answer_probabilities(answers.worker[rows], np.full(len(rows), class_))
            residual = np.eye(2)[answers.label[rows]] - p
            deviation = np.sqrt(1 - (p * p).sum(axis=1))
            for i in range(len(rows)):
                for j in range(len(rows)):
                    if i != j:
                        pair = np.array([residual[i] @ residual[j], deviation[i] * deviation[j]])
                        expected += q[task, class_] * pair / (len(rows) - 1)
        assert products[task] == pytest.approx(expected[0])
        assert scales[task] == pytest.approx(expected[1])


def test_with_groups_only_pairs_of_different_groups_count() -> None:
    answers = simulate.crowd(30, 6, 4, n_classes=2, seed=0).answers
    blocks = blocks_of(answers)
    model = pooled_confusion(blocks, PluralityScorer(1.0), np.ones(6), n_steps=2)
    block = memory_blocks(answers).all_tasks
    groups = np.array([0, 0, 1, 2, 2, 2])
    products, scales = residual_products(block, model, groups, PluralityScorer(2.0))
    q = softmax(PluralityScorer(2.0).scores(block))
    for task in range(30):
        rows = range(answers.start[task], answers.start[task + 1])
        group = groups[answers.worker[rows]]
        pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if group[i] != group[j]]
        expected = np.zeros(2)
        for class_ in range(2):
            p = model.answer_probabilities(answers.worker[rows], np.full(len(rows), class_))
            residual = np.eye(2)[answers.label[rows]] - p
            deviation = np.sqrt(1 - (p * p).sum(axis=1))
            for i, j in pairs:
                pair = np.array([residual[i] @ residual[j], deviation[i] * deviation[j]])
                expected += q[task, class_] * pair * len(rows) / len(pairs)
        assert products[task] == pytest.approx(expected[0])
        assert scales[task] == pytest.approx(expected[1])


def test_a_task_without_pairs_of_different_groups_counts_for_nothing() -> None:
    rows = [(1, "a", "x"), (2, "a", "x"), (2, "b", "y"), (3, "a", "y"), (3, "c", "y")]
    answers = answers_of(rows)
    blocks = blocks_of(answers)
    model = pooled_confusion(blocks, PluralityScorer(1.0), np.ones(3), n_steps=2)
    block = memory_blocks(answers).all_tasks
    products, scales = residual_products(block, model)
    assert products[0] == scales[0] == 0
    assert (scales[1:] > 0).all()
    grouped_products, grouped_scales = residual_products(block, model, np.array([0, 0, 1]))
    assert grouped_products[:2].tolist() == grouped_scales[:2].tolist() == [0, 0]
    assert grouped_scales[2] > 0


def test_blocks_have_the_products_of_their_tasks_wherever_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.blocks.memory.MAX_BLOCK_ANSWERS", 20)
    answers = simulate.crowd(40, 6, 3, n_classes=4, seed=1).answers
    model = pooled_confusion(blocks_of(answers), PluralityScorer(1.0), np.ones(6), n_steps=2)
    together = residual_products(memory_blocks(answers).all_tasks, model)
    parts = list(blocks_of(answers).map(residual_products, model))
    assert len(parts) > 1
    for number, values in enumerate(together):
        np.testing.assert_allclose(np.concatenate([part[number] for part in parts]), values)


def test_with_many_classes_residuals_are_taken_from_the_two_likeliest() -> None:
    answers = simulate.crowd(20, 6, 4, n_classes=5, seed=0).answers
    model = pooled_confusion(blocks_of(answers), PluralityScorer(1.0), np.ones(6), n_steps=2)
    block = memory_blocks(answers).all_tasks
    products, _ = residual_products(block, model)
    q = softmax(model.scores(block))
    for task in range(20):
        rows = range(answers.start[task], answers.start[task + 1])
        expected = 0.0
        for class_ in sorted(range(5), key=lambda c: -q[task, c])[:2]:
            p = model.answer_probabilities(answers.worker[rows], np.full(len(rows), class_))
            residual = np.eye(5)[answers.label[rows]] - p
            gram = residual @ residual.T
            expected += q[task, class_] * (gram.sum() - np.trace(gram)) / (len(rows) - 1)
        assert products[task] == pytest.approx(expected)


def test_the_interval_is_that_of_a_small_change_of_each_task() -> None:
    """The infinitesimal jackknife: rho with the weight of one task a little larger."""
    rng = np.random.default_rng(0)
    scales = rng.uniform(0.5, 2.0, 400)
    products = 0.05 * scales + rng.normal(0, 0.1, 400)
    found = dependence_of(products, scales)
    step = 1e-6
    influence = []
    for task in range(400):
        weights = np.ones(400)
        weights[task] += step
        influence.append((dependence_of(products * weights, scales * weights).rho - found.rho) / step)
    half = 1.96 * np.sqrt(np.sum(np.square(influence)))
    assert found.high - found.rho == pytest.approx(half, rel=1e-3)
    assert found.rho - found.low == pytest.approx(half, rel=1e-3)


def test_rho_and_its_interval_stay_between_zero_and_one() -> None:
    rng = np.random.default_rng(0)
    scales = np.ones(2000)
    opposite = dependence_of(rng.normal(-0.5, 0.1, 2000), scales)
    assert (opposite.low, opposite.rho, opposite.high) == (0, 0, 0)
    equal = dependence_of(rng.normal(0.9, 0.1, 2000), scales)
    assert (equal.low, equal.rho, equal.high) == (1, 1, 1)


def test_the_measured_dependence_is_that_of_pairs_of_different_groups() -> None:
    crowd, groups = copied_crowd()
    blocks = blocks_of(crowd.answers)
    model = pooled_confusion(blocks, PluralityScorer(0.5), np.ones(16), n_steps=2)
    block = memory_blocks(crowd.answers).all_tasks
    for group_model in (None, PluralityScorer(2.0)):
        expected = dependence_of(*residual_products(block, model, groups, group_model))
        assert measure_dependence(blocks, model, groups, group_model).rho == pytest.approx(expected.rho)


def test_copies_are_more_dependent_than_independent_workers() -> None:
    crowd, _ = copied_crowd()
    independent = simulate.crowd(300, 16, 16, seed=0).answers
    rho = []
    for answers in (crowd.answers, independent):
        blocks = blocks_of(answers)
        model = pooled_confusion(blocks, PluralityScorer(0.5), np.ones(16), n_steps=2)
        rho.append(measure_dependence(blocks, model).rho)
    assert rho[0] > rho[1] + 0.2


def test_without_answers_a_typical_crowd_is_assumed() -> None:
    assert dependence_of(np.zeros(0), np.zeros(0)).rho == 0.4


def test_effective_votes_lie_between_one_and_all() -> None:
    n = np.array([1, 2, 8])
    for rho in (0.0, 0.3, 1.0):
        votes = n * tempering(n, rho)
        assert (votes >= 1 - 1e-12).all()
        assert (votes <= n).all()
    mean, low, high = Dependence(0.3, 0.1, 0.6).effective_votes(n)
    assert low < mean < high


def test_one_factor_explains_independent_workers_and_not_a_clique() -> None:
    crowd, _ = copied_crowd()
    fits = []
    for answers in (crowd.answers, simulate.crowd(300, 16, 8, seed=1).answers):
        blocks = blocks_of(answers)
        fits.append(one_factor_fit(blocks, response_bias(blocks)))
    assert fits[0] < 0.9
    assert fits[1] > 0.97


def test_the_stated_correlation_of_errors_is_that_given_the_truth(real: Any) -> None:
    """On the public sets the 90 % interval of the independent votes holds what the truth gives, in most sets."""
    is_inside = []
    off = []
    for name in SOURCES:
        real.load(name)
        answers, truth = truth_of(name)
        basis = aggregate(answers).confidence_basis
        assert basis is not None
        true = max(correlation_of_errors(Crowd(name, answers, truth.astype(np.int64))), 0.0)
        n = answers.per_task
        votes = float((n * tempering(n, true)).mean())
        is_inside.append(basis.effective_votes_low - 0.05 <= votes <= basis.effective_votes_high + 0.05)
        off.append(basis.error_correlation - true)
    assert np.mean(is_inside) >= 0.8
    assert abs(np.mean(off)) < 0.05


def test_small_crowds_that_may_be_independent_do_not_share_mistakes() -> None:
    basis = aggregate(simulate.crowd(200, 6, 3, skills=np.full(6, 0.7), seed=0).answers).confidence_basis
    assert basis is not None
    assert not basis.shares_mistakes
    assert basis.effective_votes_high == 3
    copied = aggregate(copied_crowd()[0].answers).confidence_basis
    declared = aggregate(copied_crowd()[0].answers, dependence="independent").confidence_basis
    assert copied is not None
    assert declared is not None
    assert copied.error_correlation > basis.error_correlation or copied.families
    assert declared.error_correlation == 0
    assert not declared.shares_mistakes
