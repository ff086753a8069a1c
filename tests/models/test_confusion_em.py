"""EM: columns of confusion matrices without any data."""

import numpy as np
import pytest

import quorate
from quorate.models.em import expectation_maximisation
from quorate.voting.vote import majority

# Bob answered one task, which everyone labelled x: his answers to class y are unknown.
ROWS = {"task": [1, 1, 1, 2, 2], "worker": ["ann", "bob", "cy", "ann", "cy"], "label": ["x", "x", "x", "y", "y"]}


@pytest.mark.parametrize(("zeros", "unknown"), [("skip", 0.0), ("exact", 0.5)])
def test_a_column_without_counts_is_empty_or_even(zeros: str, unknown: float) -> None:
    answers = quorate.read(ROWS)
    fit = expectation_maximisation(answers, majority(answers).posterior, gold=np.array([0, 1]), zeros=zeros)
    bob = answers.worker_names.to_pylist().index("bob")
    assert fit.confusion[bob].tolist() == [[1.0, unknown], [0.0, unknown]]
    others = np.delete(fit.confusion, bob, axis=0)
    assert others.sum(axis=1).tolist() == [[1.0, 1.0]] * 2


def test_it_has_converged_exactly_where_it_stands_still() -> None:
    answers = quorate.simulate.crowd(100, 6, 4, seed=0).answers
    start = majority(answers).posterior
    converged_fit = expectation_maximisation(answers, start, max_iterations=500, tolerance=1e-4)
    assert converged_fit.converged
    assert 2 < len(converged_fit.log_likelihoods) < 500
    cut = expectation_maximisation(answers, start, max_iterations=2, tolerance=1e-4)
    assert not cut.converged
    again = expectation_maximisation(answers, converged_fit.posterior, max_iterations=1, tolerance=1e-3)
    assert again.posterior == pytest.approx(converged_fit.posterior, abs=1e-3)
