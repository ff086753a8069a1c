"""Opinions of many classes: the cells that somebody gave, and a rule for the others, say what whole tables say."""

from dataclasses import replace

import numpy as np
import pytest

from quorate import arrays
from quorate.blocks import memory
from quorate.blocks.memory import blocks_of
from quorate.evaluation import simulate
from quorate.voting.dependence import flattening
from quorate.voting.known_labels import Views
from quorate.voting.population import calibrated, expected_calibration
from quorate.voting.posterior import softmax
from quorate.voting.sparse_refine import refine_sparse
from quorate.voting.sparse_voices import SparseScores, SparseVoices, counted
from quorate.voting.vote import tally


@pytest.fixture
def voices() -> tuple[simulate.Crowd, SparseVoices]:
    """Three opinions of thirty tasks, of which one has no answer."""
    crowd = simulate.crowd(30, 8, 3, n_classes=12, seed=0)
    answers = crowd.answers.where(crowd.answers.task != 4)
    rng = np.random.default_rng(0)
    each = (counted(answers, rng.random(answers.n_answers), rng.normal(size=30), rng.normal(size=12)) for _ in range(3))
    return replace(crowd, answers=answers), SparseVoices(tuple(each))


def test_cells_are_summed_as_a_table_of_tasks_and_classes_is() -> None:
    answers = simulate.crowd(40, 8, 5, n_classes=6, seed=1).answers
    weights, of_task, of_class = np.linspace(0.1, 2, 8), np.arange(40.0), np.linspace(-1, 1, 6)
    expected = tally(answers, weights) + of_task[:, None] + of_class
    found = counted(answers, weights[answers.worker], of_task, of_class)
    np.testing.assert_array_equal(found.table(), expected)
    some = np.array([7, 3, 3, 39])
    np.testing.assert_array_equal(found.rows(some), expected[some])


@pytest.mark.parametrize(("cells", "piece"), [(1 << 21, 1 << 18), (30, 1 << 18), (30, 20)])
def test_a_run_of_tasks_is_believed_as_all_at_once(
    voices: tuple[simulate.Crowd, SparseVoices], cells: int, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd, told = voices
    answers, weights, calibration = crowd.answers, np.array([0.5, 0.3, 0.2]), expected_calibration(0.1)
    factor = flattening(answers.per_task, 0.2)[:, None]
    opinions = [softmax(scores * factor) for scores in told.all_scores(answers)]
    expected = calibrated(sum(w * p for w, p in zip(weights, opinions, strict=True)), calibration)
    monkeypatch.setattr(arrays, "CELLS", cells)
    monkeypatch.setattr(memory, "PIECE", piece)
    parts = list(told.believe(blocks_of(replace(answers)), weights, 0.2, calibration))
    assert len(parts) > 1 or cells > 30
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_the_refinement_starts_from_shares_of_the_cells_given() -> None:
    """What a score has in common with all others of its task says nothing."""
    crowd = simulate.crowd(60, 10, 4, n_classes=20, seed=2)
    answers = crowd.answers
    plain = counted(answers, np.ones(answers.n_answers), np.zeros(60), np.zeros(20))
    lifted = SparseScores(plain.task, plain.label, plain.value + 7.0 * plain.task, plain.of_task, plain.of_class)
    one, other = (refine_sparse(answers, start, crowd.skills, steps=1) for start in (plain, lifted))
    assert other.value == pytest.approx(one.value, rel=1e-9)


def test_the_belief_of_views_is_that_of_their_tables(voices: tuple[simulate.Crowd, SparseVoices]) -> None:
    crowd, told = voices
    answers, rho, weights = crowd.answers, 0.2, np.array([0.5, 0.3, 0.2])
    factor = flattening(answers.per_task, rho)
    sparse = Views(answers, told, factor, rho, weights, expected_calibration(rho))
    whole = replace(sparse, opinions=told.all_scores(answers))
    np.testing.assert_array_equal(sparse.belief, whole.belief)
    np.testing.assert_array_equal(sparse.calibrated(), whole.calibrated())
