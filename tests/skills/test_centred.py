"""Skills of centred answers: what they are drawn to, how strongly, and where they start."""

import numpy as np
import pytest
from hypothesis import given

from quorate import simulate
from quorate.skills.centred import (
    centred_moments,
    centred_skills,
)
from quorate.skills.shrinkage import BIAS_PSEUDO_ANSWERS, response_bias
from tests.crowds import answers_of, rows


@given(rows())
def test_response_bias_are_counted_as_by_hand(table: list[tuple[int, str, str]]) -> None:
    """A worker's answers and two of the crowd's; the classes that lead each task, ties split, and one more each."""
    answers = answers_of(table)
    m = answers.n_classes
    crowd = [np.mean(answers.label == c) for c in range(m)]
    found = response_bias(answers)
    for worker in range(answers.n_workers):
        own = answers.label[answers.worker == worker]
        for c in range(m):
            expected = ((own == c).sum() + BIAS_PSEUDO_ANSWERS * crowd[c]) / (len(own) + BIAS_PSEUDO_ANSWERS)
            assert found.frequency[worker, c] == pytest.approx(expected)
    leads = np.ones(m)
    for task in range(answers.n_tasks):
        given = np.bincount(answers.label[answers.task == task], minlength=m)
        leads += (given == given.max()) / (given == given.max()).sum()
    assert found.prior == pytest.approx(leads / leads.sum())
    assert found.spread == pytest.approx(1 - sum((leads / leads.sum()) ** 2))


def test_gold_stays_at_one_and_does_not_count_in_the_mean() -> None:
    crowd = simulate.crowd(300, 8, 3, skills=np.linspace(0.2, 0.6, 8), seed=1)
    answers = crowd.answers.with_worker(np.where(np.arange(300) < 100, crowd.truth, -1))
    is_gold = np.arange(9) == 8
    found = centred_skills(answers, is_gold=is_gold)
    assert found.solution.skills[8] == 1
    assert (found.lower[8], found.upper[8]) == (1, 1)
    n = answers.per_worker[:8]
    assert found.mean == pytest.approx(float(n @ found.solution.skills[:8] / n.sum()))


def test_gold_says_which_way_round_skills_are() -> None:
    """A crowd that is mostly wrong: from its agreement with gold descent finds it so, without gold it cannot."""
    crowd = simulate.crowd(600, 8, 4, skills=np.full(8, -0.6), seed=1)
    answers = crowd.answers.with_worker(np.where(np.arange(600) < 300, crowd.truth, -1))
    assert (centred_skills(answers, is_gold=np.arange(9) == 8).solution.skills[:8] < -0.3).all()
    assert (centred_skills(crowd.answers).solution.skills > 0.3).all()


def test_no_loss_is_claimed_for_the_constant_that_is_not_known() -> None:
    answers = simulate.crowd(50, 6, 3, seed=0).answers
    moments = centred_moments(answers, response_bias(answers))
    assert moments.energy == 0
    assert moments.degree == pytest.approx(answers.per_worker)  # each answer counts once
    single = answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "y")])
    assert centred_moments(single, response_bias(single)).degree.tolist() == [1, 1]
