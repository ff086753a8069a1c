"""The model of copying groups: its likelihood by enumeration, its posterior on groups that copy, and its votes."""

from itertools import product

import numpy as np
import pytest

from quorate import simulate
from quorate.arrays import FloatArray, IntArray
from quorate.blocks import memory
from quorate.blocks.memory import blocks_of, memory_blocks
from quorate.models.confusion import ModelPosterior
from quorate.models.copying import CopyingModel, fit_copying
from quorate.models.scorer import PluralityScorer

VOTE = ModelPosterior(PluralityScorer(1.0))


def copied_crowd(seed: int = 0, n_tasks: int = 300) -> tuple[simulate.Crowd, IntArray]:
    """Ten workers of 16 repeat one hidden answer on 85 % of the tasks; the others answer by themselves."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_tasks)
    task = np.repeat(np.arange(n_tasks), 16)
    worker = np.tile(np.arange(16), n_tasks)
    hidden = np.where(rng.random(n_tasks) < 0.4, truth, rng.integers(0, 2, n_tasks))
    own = np.where(rng.random(len(task)) < 0.5, truth[task], rng.integers(0, 2, len(task)))
    label = np.where((worker < 10) & (rng.random(len(task)) < 0.85), hidden[task], own)
    group = np.where(np.arange(16) < 10, 0, np.arange(16) - 9)
    return simulate.collect(task, worker, label, truth, np.full(16, 0.5), 2), group


def test_scores_are_the_sum_over_all_hidden_answers() -> None:
    rng = np.random.default_rng(0)
    answers = simulate.crowd(12, 5, 4, n_classes=3, seed=1).answers
    group = np.array([0, 0, 1, 1, 2])
    theta = rng.dirichlet(np.ones(3), (5, 3)).transpose(0, 2, 1)
    drawn = rng.dirichlet(np.ones(4), (3, 3)).transpose(0, 2, 1)
    repeats = np.array([0.3, 0.8, 0.5, 0.9, 0.0])
    log_prior = np.log(np.array([0.5, 0.3, 0.2]))
    model = CopyingModel(group, theta, drawn, repeats, log_prior, 0.0)
    scores = model.scores(memory_blocks(answers).all_tasks)
    for task in range(12):
        rows = slice(answers.start[task], answers.start[task + 1])
        here = list(zip(answers.worker[rows], answers.label[rows], strict=True))
        for true in range(3):
            total = 0.0
            for hidden in product(range(4), repeat=2):  # of the two groups of several; 3 stands for none
                p = float(np.prod([drawn[g, c, true] for g, c in enumerate(hidden)]))
                for w, label in here:
                    own = theta[w, label, true]
                    if group[w] == 2 or hidden[group[w]] == 3:
                        p *= own
                    else:
                        p *= repeats[w] * (hidden[group[w]] == label) + (1 - repeats[w]) * own
                total += p
            there = {int(group[w]) for w, _ in here}
            assert there  # a group that gave no answer sums to one
            assert scores[task, true] == pytest.approx(np.log(total) + log_prior[true])


def test_copies_count_for_one_vote_and_the_others_decide() -> None:
    crowd, group = copied_crowd()
    blocks = blocks_of(crowd.answers)
    model = fit_copying(blocks, group, VOTE)
    block = memory_blocks(crowd.answers).all_tasks
    votes = VOTE(block).argmax(axis=1)
    assert (ModelPosterior(model)(block).argmax(axis=1) == crowd.truth).mean() > (votes == crowd.truth).mean() + 0.1
    assert model.repeats[:10].min() > 0.6
    assert model.effective_votes(block).max() < 16 / 2


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scores: list[FloatArray] = []
    for piece in (1 << 18, 300):
        monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", piece)
        crowd, group = copied_crowd(n_tasks=100)
        scores.append(fit_copying(blocks_of(crowd.answers), group, VOTE).scores(memory_blocks(crowd.answers).all_tasks))
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-8)
