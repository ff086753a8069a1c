"""Methods over blocks say what the methods in memory say, label by label."""

import pickle
from typing import Any

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.blocks import memory
from quorate.blocks.block import OUT_OF_CORE_METHODS, Blocks
from quorate.errors import UnknownMethodError
from quorate.io.gold import known_classes
from quorate.methods.fit import Fitted
from quorate.methods.fit_blocks import fit_blocks
from tests.methods.elsewhere import Elsewhere


def labels(fitted: Fitted, blocks: Blocks) -> Any:
    return np.concatenate([part.label for part in fitted.labels(blocks)])


@pytest.mark.parametrize("method", OUT_OF_CORE_METHODS)
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_labels_and_workers_are_those_of_memory(method: str, n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", 150)
    crowd = simulate.crowd(200, 12, 4, n_classes=max(n_classes, 2), seed=3)
    answers = crowd.answers
    if n_classes == 1:
        answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxx")})
    blocks: Any = Elsewhere(answers)
    fitted, result = fit_blocks(blocks, method), quorate.aggregate(answers, method)
    assert labels(fitted, blocks).tolist() == result.vote.label.tolist()
    for name, of_result in (("confidence", result.vote.confidence), ("margin", result.vote.margin)):
        found = np.concatenate([getattr(part, name) for part in fitted.labels(blocks)])
        np.testing.assert_allclose(found, of_result, atol=1e-9)
    np.testing.assert_allclose(fitted.skill_estimates.skills, result.skills, atol=1e-9)
    np.testing.assert_allclose(fitted.skill_estimates.weights, result.weights, atol=1e-9)
    assert fitted.skill_estimates.full_status.tolist() == result.status.tolist()
    assert fitted.identifiability is not None
    assert fitted.identifiability.component.tolist() == result.identifiability.component.tolist()
    assert [note.text for note in fitted.notes] == [note.text for note in result.notes]
    if result.confidence_basis is not None:
        assert fitted.basis is not None
        effective = ("effective_votes", "effective_votes_low", "effective_votes_high")
        for name in ("rho", "answers_per_task", *effective, "one_factor_weight"):
            assert getattr(fitted.basis, name) == pytest.approx(getattr(result.confidence_basis, name))


@pytest.mark.parametrize("name", ["bluebird", "rte1", "temp", "wsd", "dogs", "web"])
@pytest.mark.parametrize("method", OUT_OF_CORE_METHODS)
def test_labels_of_public_sets_are_those_of_memory(real: Any, name: str, method: str) -> None:
    answers = real.load(name).answers
    blocks: Any = Elsewhere(answers)
    assert labels(fit_blocks(blocks, method), blocks).tolist() == quorate.aggregate(answers, method).vote.label.tolist()


@pytest.mark.parametrize("method", OUT_OF_CORE_METHODS)
@pytest.mark.parametrize("exchanged", [False, True])
def test_known_labels_are_used_as_in_memory(method: str, exchanged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", 150)
    crowd = simulate.crowd(200, 12, 4, n_classes=3, seed=3)
    answers = crowd.answers
    if exchanged:
        swapped_label = np.array([1, 0, 2])[answers.label]
        answers = simulate.collect(answers.task, answers.worker, swapped_label, crowd.truth, crowd.skills, 3).answers
    names = answers.classes.to_pylist()
    gold = {"task": answers.task_names.to_pylist()[:40], "label": [names[k] for k in crowd.truth[:40]]}
    blocks: Any = Elsewhere(answers, known_classes(gold, answers))
    fitted = fit_blocks(blocks, method, answers)
    result = quorate.aggregate(answers, method, gold=gold)
    assert labels(fitted, blocks).tolist() == result.vote.label.tolist()
    found = np.concatenate([part.confidence for part in fitted.labels(blocks)])
    np.testing.assert_allclose(found, result.vote.confidence, atol=1e-8)
    np.testing.assert_allclose(fitted.skill_estimates.skills, result.skills, atol=1e-6)
    if method == "quorate":
        assert fitted.basis is not None
        assert result.confidence_basis is not None
        assert fitted.basis.known is not None
        assert result.confidence_basis.known is not None
        for name, value in vars(result.confidence_basis.known).items():
            numbers = isinstance(value, float) or (isinstance(value, tuple) and {*map(type, value)} <= {float})
            assert getattr(fitted.basis.known, name) == (pytest.approx(value) if numbers else value)
        assert bool(result.confidence_basis.known and result.confidence_basis.known.swapped) is exchanged


def test_known_labels_anchor_what_nothing_else_determines() -> None:
    answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyxy")})
    blocks: Any = Elsewhere(answers, np.array([0, -1]))
    assert labels(fit_blocks(blocks), blocks).tolist() == [0, 0]


@pytest.mark.parametrize("method", OUT_OF_CORE_METHODS)
def test_a_vote_can_be_sent_to_where_the_blocks_are(method: str) -> None:
    blocks: Any = Elsewhere(simulate.crowd(50, 6, 3, seed=0).answers)
    vote = fit_blocks(blocks, method).vote
    again = pickle.loads(pickle.dumps(vote))
    for block in blocks.map(lambda block: block):
        assert again(block).label.tolist() == vote(block).label.tolist()


def test_other_methods_say_where_they_run() -> None:
    blocks: Any = Elsewhere(simulate.crowd(50, 6, 3, seed=0).answers)
    with pytest.raises(UnknownMethodError, match="the method 'kos' needs every answer in memory"):
        fit_blocks(blocks, "kos")


@pytest.mark.parametrize(("method", "n_tasks", "seed"), [("rank-one", 40, 1), ("quorate", 4000, 3)])
def test_what_a_reader_must_know_of_the_skills_is_stated_out_of_core_too(method: str, n_tasks: int, seed: int) -> None:
    """Skills that sum to about nothing: which way round they are is open; where all are right, nothing is."""
    wrong, right = np.array([0.6, 0.5, 0.4, -0.4, -0.5, -0.6]), np.array([0.6, 0.5, 0.4, 0.4, 0.5, 0.6])
    for skills, is_open in ((wrong, True), (right, False)):
        answers = simulate.crowd(n_tasks, 6, 3, skills=skills, seed=seed).answers
        blocks: Any = Elsewhere(answers)
        texts = [note.text for note in quorate.aggregate(answers, method).notes]
        assert any("mostly right or mostly wrong" in text for text in texts) is is_open
        assert [note.text for note in fit_blocks(blocks, method).notes] == texts
