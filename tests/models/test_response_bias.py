"""Skills and habits as a vote: with a table of classes and without."""

import numpy as np
import pytest

from quorate import simulate
from quorate.models.response_bias import _shares_by_cell, habit_cells
from quorate.skills.centred import response_bias_of
from quorate.voting.posterior import add_one_smoothing, softmax


@pytest.mark.parametrize("n_classes", [2, 7, 60])
def test_shares_of_the_classes_given_are_those_of_a_table_of_all(n_classes: int) -> None:
    """Skills below zero and up to all but certain; workers of whom an answer counts for anything."""
    answers = simulate.crowd(80, 12, 4, n_classes=n_classes, seed=n_classes).answers
    skills = np.linspace(-0.5, 0.999, 12)
    skills = np.where(skills < 0, skills / (n_classes - 1), skills)
    bias_of_workers = response_bias_of(answers)
    expected = add_one_smoothing(softmax(habit_cells(answers, skills, bias_of_workers)))
    assert _shares_by_cell(answers, skills, bias_of_workers) == pytest.approx(expected, rel=1e-9)
