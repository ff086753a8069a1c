"""Partially pooled confusion matrices: proper matrices, equivariant, and the accuracy path as full matrices give it."""

import numpy as np
import pytest

from quorate import simulate
from quorate.arrays import FloatArray
from quorate.blocks import memory
from quorate.blocks.block import Block
from quorate.blocks.kernels import task_scores
from quorate.blocks.memory import blocks_of, memory_blocks
from quorate.blocks.transform import RenamedClasses
from quorate.blocks.worker_rows import dense
from quorate.models.confusion import (
    AccuracyModel,
    ConfusionModel,
    ModelPosterior,
    fit_matrices,
    pooled_confusion,
)
from quorate.models.confusion_prior import dirichlet_concentration, scale_errors
from quorate.models.scorer import PluralityScorer, SkillScorer

VOTE = PluralityScorer(1.0)


def fitted(seed: int = 0, n_classes: int = 3) -> tuple[Block, ConfusionModel]:
    answers = simulate.crowd(150, 6, 4, n_classes=n_classes, seed=seed).answers
    model = pooled_confusion(blocks_of(answers), VOTE, np.ones(6), n_steps=2)
    assert isinstance(model, ConfusionModel)
    return memory_blocks(answers).all_tasks, model


def test_columns_are_probabilities() -> None:
    _, model = fitted()
    np.testing.assert_allclose(model.theta().sum(axis=1), 1.0)
    assert np.exp(model.log_prior).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(scale_errors(model.pooled, np.array([0.3, 5.0])).sum(axis=1), 1.0)


def test_concentration_grows_where_workers_are_alike() -> None:
    """Counts drawn from one matrix: further differences are chance. Workers who differ much keep their own."""
    rng = np.random.default_rng(0)
    shared = np.array([[0.8, 0.3], [0.2, 0.7]])
    alike = np.stack([[rng.multinomial(40, shared[:, g]) for g in range(2)] for _ in range(50)]).transpose(0, 2, 1)
    right = rng.uniform(0.5, 1.0, 50)
    apart = np.stack([40 * np.array([[p, 1 - p], [1 - p, p]]) for p in right])
    of_alike, of_apart = (
        dirichlet_concentration(counts.astype(float), counts.sum(axis=0) / counts.sum(axis=(0, 1)))
        for counts in (alike, apart)
    )
    assert of_alike > 10 * of_apart


def test_renamed_answers_have_renamed_scores() -> None:
    block, model = fitted()
    order = np.array([1, 2, 0])
    renamed = model.renamed(order).scores(RenamedClasses(order)(block))
    np.testing.assert_allclose(renamed[:, order], model.scores(block), atol=1e-12)


def test_one_error_rate_per_worker_scores_as_its_full_matrices() -> None:
    rng = np.random.default_rng(1)
    block, _ = fitted()
    pooled = rng.dirichlet(np.ones(3), 3).T
    model = AccuracyModel(rng.uniform(0.2, 0.9, 6), pooled, np.log(np.full(3, 1 / 3)), np.ones(6))
    theta: FloatArray = model.error[:, None, None] * pooled
    for g in range(3):
        theta[:, g, g] = 1 - model.error * (1 - pooled[g, g])
    np.testing.assert_allclose(model.scores(block), task_scores(block, np.log(theta), model.log_prior), atol=1e-12)
    columns = model.answer_probabilities(np.arange(6), np.array([0, 1, 2, 0, 1, 2]))
    np.testing.assert_allclose(columns, np.stack([theta[w, :, w % 3] for w in range(6)]))


def test_sparse_workers_and_many_classes_share_a_matrix() -> None:
    sparse = simulate.crowd(60, 60, 3, n_classes=5, seed=0).answers
    assert isinstance(pooled_confusion(blocks_of(sparse), VOTE, np.ones(60), n_steps=2), AccuracyModel)


@pytest.mark.parametrize(("n_workers", "n_classes"), [(6, 3), (60, 5)])
def test_blocks_change_nothing(n_workers: int, n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    models = []
    for piece in (1 << 18, 40):
        monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", piece)
        answers = simulate.crowd(90, n_workers, 3, n_classes=n_classes, seed=3).answers
        models.append(pooled_confusion(blocks_of(answers), VOTE, np.ones(n_workers), n_steps=2))
    one, many = (model.scores(memory_blocks(answers).all_tasks) for model in models)
    np.testing.assert_allclose(one, many, atol=1e-10)


def test_gold_is_clamped() -> None:
    answers = simulate.crowd(40, 4, 3, seed=0).answers
    known = 1 - answers.counts.argmax(axis=1)  # always against the vote
    model = pooled_confusion(blocks_of(answers, known.astype(np.int32)), VOTE, np.ones(4), n_steps=1)
    assert isinstance(model, ConfusionModel)
    expected = np.zeros((4, 2, 2))
    np.add.at(expected, (answers.worker, answers.label, known[answers.task]), 1.0)
    np.testing.assert_allclose(dense(model.counts), expected)


def test_a_skilled_worker_s_vote_counts_as_knowing_or_guessing() -> None:
    bias = np.array([[0.7, 0.3]])
    scorer = SkillScorer(np.array([0.5]), bias, np.array([0.6, 0.4]))
    block = Block(np.array([0, 1]), np.array([0]), np.array([1]), n_workers=1, n_classes=2)
    posterior = ModelPosterior(scorer)(block)[0]
    likelihood = np.array([0.5 * 0.3, 0.5 + 0.5 * 0.3])
    np.testing.assert_allclose(posterior, likelihood * [0.6, 0.4] / (likelihood @ [0.6, 0.4]))


def test_a_worker_of_small_error_has_a_better_prior() -> None:
    counts = np.zeros((2, 2, 2))
    counts[0] = [[30.0, 10.0], [10.0, 30.0]]
    model = fit_matrices(counts, np.array([20.0, 20.0]), np.array([1.0, 0.2]))  # the second gave no answer
    assert model.theta()[1].diagonal().min() > model.theta()[0].diagonal().max()
