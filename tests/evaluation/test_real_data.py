"""The claims on public data; they need the source files (see CONTRIBUTING.md)."""

from typing import Any

import pytest

import quorate
from quorate.evaluation.score import expected_error

# Errors measured with an independent implementation run to convergence, tau = 1; ties split evenly.
RANK_ONE = {"rte1": 0.0725, "temp": 0.0628, "dogs": 0.1673, "wsd": 0.0056, "web": 0.1719, "bluebird": 0.2778}
MAJORITY = {
    "rte1": 0.1031,
    "temp": 0.0639,
    "dogs": 0.1778,
    "wsd": 0.0056,
    "web": 0.2693,
    "bluebird": 0.2407,
    "trec": 0.3486,
}
SIZES = {
    "rte1": (800, 164, 8000, 2),
    "temp": (462, 76, 4620, 2),
    "wsd": (177, 34, 1770, 3),
    "dogs": (807, 109, 8070, 4),
    "web": (2665, 177, 15567, 5),
    "bluebird": (108, 39, 4212, 2),
    "trec": (19033, 762, 88385, 2),
}


@pytest.mark.parametrize("name", SIZES)
def test_the_sets_have_their_published_sizes(real: Any, name: str) -> None:
    answers = real.load(name).answers
    assert (answers.n_tasks, answers.n_workers, answers.n_answers, answers.n_classes) == SIZES[name]


@pytest.mark.parametrize("name", RANK_ONE)
@pytest.mark.parametrize("solver", ["coordinate", "gradient"])
def test_rank_one_reaches_the_errors_of_an_independent_implementation(real: Any, name: str, solver: str) -> None:
    data = real.load(name)
    result = quorate.aggregate(data.answers, "rank-one", solver=solver)
    assert expected_error(result, data.truth).error == pytest.approx(RANK_ONE[name], abs=5e-5)
    assert result.solution is not None
    assert result.solution.converged


def test_rank_one_on_trec(real: Any) -> None:
    """Three components, two of them workers alone; the error is given as about 0.42."""
    data = real.load("trec")
    result = quorate.aggregate(data.answers, "rank-one")
    assert expected_error(result, data.truth).error == pytest.approx(0.42, abs=0.005)
    assert result.identifiability.sizes.tolist() == [760, 1, 1]
    assert (result.identifiability.determined == (result.identifiability.component == 0)).all()


@pytest.mark.parametrize("name", MAJORITY)
def test_majority_vote_reaches_the_published_errors(real: Any, name: str) -> None:
    data = real.load(name)
    assert expected_error(quorate.majority_vote(data.answers), data.truth).error == pytest.approx(
        MAJORITY[name], abs=5e-5
    )
