"""One step of the refinement, by its formulae; what EM does from there is in tests/methods."""

import numpy as np
import pytest

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.memory import blocks_of
from quorate.evaluation import simulate
from quorate.voting.confusion import over_answers
from quorate.voting.posterior import softmax
from quorate.voting.refine import MOST_WRONG, SETTLED, counted, refine
from quorate.voting.shrinkage import LEAST_WORTH, MOST_WORTH, SPREAD
from quorate.voting.vote import accuracy, majority


def naive_step(answers: Answers, q: FloatArray, skills: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    """Matrices, strength and scores, by loops over answers and classes."""
    m, n = answers.n_classes, answers.n_workers
    counts = np.zeros((n, m, m))
    for t, w, label in zip(answers.task, answers.worker, answers.label, strict=True):
        counts[w, label] += q[t]
    total = counts.sum(axis=0)
    right = min(max(np.trace(total) / answers.n_answers, 1 / m + 1e-3), 1 - 1e-6)
    pooled = total + m / 2 * np.where(np.eye(m) == 1, right, (1 - right) / (m - 1))
    pooled /= pooled.sum(axis=0)
    beta = right * (1 - right) / (SPREAD * (right - 1 / m)) ** 2 - 1  # answers that a Beta law is worth
    strength = min(max(beta, LEAST_WORTH), MOST_WORTH) * m / 2
    errs = 1 - accuracy(skills, m)
    mean = sum(errs[w] for w in answers.worker) / answers.n_answers
    theta = np.zeros_like(counts)
    for w in range(n):
        for g in range(m):
            column = pooled[:, g] * errs[w] / mean
            column[g] = 0
            column *= min(1, MOST_WRONG / column.sum())
            column[g] = 1 - column.sum()
            theta[w, :, g] = counts[w, :, g] + strength * column
            theta[w, :, g] /= theta[w, :, g].sum()
    scores = np.tile(np.log((q.sum(axis=0) + 1) / (answers.n_tasks + m)), (answers.n_tasks, 1))
    for t, w, label in zip(answers.task, answers.worker, answers.label, strict=True):
        scores[t] += np.log(theta[w, label])
    return theta, strength, scores


# Skills that make the prior's strength a Beta law's, its least and its most; and one worker who errs far more than all.
CROWDS = {
    "middling": np.linspace(0.2, 0.8, 6),
    "guessing": np.zeros(6),
    "perfect": np.ones(6) - 1e-9,
    "one contrary": np.array([0.95, 0.95, 0.95, 0.95, 0.95, -0.4]),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", CROWDS)
def test_one_step_is_that_of_the_formulae(kind: str, n_classes: int) -> None:
    skills = CROWDS[kind]
    answers = simulate.crowd(80, 6, 4, n_classes=n_classes, skills=skills, seed=1).answers
    start = majority(answers).posterior
    found = refine(blocks_of(answers), counted(answers, start), skills, steps=1)
    theta, strength, scores = naive_step(answers, start, skills)
    assert found.steps == 1
    assert found.strength == pytest.approx(strength)
    assert found.confusion == pytest.approx(theta)
    assert found.scores(answers) == pytest.approx(scores)


def test_the_cases_reach_both_ends_of_the_strength() -> None:
    ends = {}
    for kind, skills in CROWDS.items():
        answers = simulate.crowd(80, 6, 4, skills=skills, seed=1).answers
        truth = simulate.crowd(80, 6, 4, skills=skills, seed=1).truth
        ends[kind] = refine(blocks_of(answers, truth), counted(answers, np.eye(2)[truth]), skills, steps=1).strength
    assert ends["perfect"] == LEAST_WORTH
    assert LEAST_WORTH < ends["middling"] < ends["guessing"] == MOST_WORTH


def test_it_stops_where_the_counts_stand_still_and_at_the_cap() -> None:
    crowd = simulate.crowd(300, 10, 5, n_classes=3, skills=np.linspace(0.2, 0.8, 10), seed=2)
    a, start = crowd.answers, counted(crowd.answers, majority(crowd.answers).posterior)

    def after(steps: int) -> FloatArray:
        """The expected counts of the posterior after so many steps."""
        return counted(a, softmax(refine(blocks_of(a), start, crowd.skills, steps=steps).scores(a)))[0]

    assert refine(blocks_of(a), start, crowd.skills, steps=3).steps == 3
    settled = refine(blocks_of(a), start, crowd.skills, steps=500).steps
    assert 3 < settled < 500
    assert np.abs(after(settled) - after(settled - 1)).sum() <= SETTLED * a.n_answers
    assert np.abs(after(settled - 1) - after(settled - 2)).sum() > SETTLED * a.n_answers


@pytest.mark.parametrize("n_answers", range(1, 12))
def test_sums_over_the_answers_are_numpys_to_the_bit(n_answers: int) -> None:
    table = np.random.default_rng(n_answers).random((40, n_answers, n_answers))
    assert over_answers(table).tolist() == table.sum(axis=1, keepdims=True).tolist()
