"""The response-bias model: with a table of all classes and with observed cells only."""

import numpy as np
import pytest

from quorate import simulate
from quorate.models.response_bias import _class_prior_of_many, sparse_response_bias_scores
from quorate.skills.centred import response_bias_of
from quorate.voting.posterior import add_one_proportions, softmax


@pytest.mark.parametrize("n_classes", [2, 7, 60])
def test_class_prior_of_observed_cells_equals_that_of_all(n_classes: int) -> None:
    """Skills from below zero to nearly one."""
    answers = simulate.crowd(80, 12, 4, n_classes=n_classes, seed=n_classes).answers
    skills = np.linspace(-0.5, 0.999, 12)
    skills = np.where(skills < 0, skills / (n_classes - 1), skills)
    bias_of_workers = response_bias_of(answers)
    posterior = softmax(sparse_response_bias_scores(answers, skills, bias_of_workers))
    expected = add_one_proportions(posterior.sum(axis=0))
    assert _class_prior_of_many(answers, skills, bias_of_workers) == pytest.approx(expected, rel=1e-9)
