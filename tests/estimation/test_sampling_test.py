"""Whether known labels can be a random sample: the level of the test, its power, and what it does not depend on."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.estimation.gold_sample_check import MIN_NORMAL, SIGNIFICANCE_LEVEL, find_imbalance
from quorate.result import Result


@pytest.fixture(scope="module", params=["even", "skewed"])
def result(request: pytest.FixtureRequest) -> Result:
    prior = np.array([0.97, 0.03]) if request.param == "skewed" else None
    return quorate.aggregate(quorate.simulate.crowd(300, 12, 4, prior=prior, seed=5).answers, intervals="none")


@pytest.mark.parametrize("n", [5, 40])
def test_random_samples_are_refused_as_often_as_stated(result: Result, n: int) -> None:
    """Of 200 about 2; the bound is three standard errors above."""
    rng = np.random.default_rng(1)
    refused = sum(find_imbalance(np.sort(rng.permutation(300)[:n]), result) is not None for _ in range(200))
    assert refused <= 200 * SIGNIFICANCE_LEVEL + 3 * np.sqrt(200 * SIGNIFICANCE_LEVEL)


def test_the_most_unlike_are_refused(result: Result) -> None:
    posterior = result.vote.posterior
    for order in (posterior[:, 0], posterior[:, 1], posterior.max(axis=1), -posterior.max(axis=1)):
        found = find_imbalance(np.sort(np.argsort(-order, kind="stable")[:60]), result)
        assert found is not None
        assert found.p_value <= SIGNIFICANCE_LEVEL


def test_all_tasks_or_none_are_no_sample_to_refuse(result: Result) -> None:
    assert find_imbalance(np.arange(300), result) is None
    assert find_imbalance(np.zeros(0, np.int64), result) is None


def test_it_does_not_depend_on_the_order_of_the_rows() -> None:
    crowd = quorate.simulate.crowd(300, 12, 4, seed=6)
    table = crowd.answers.to_table().arrow
    shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
    chosen = [f"t{k}" for k in np.flatnonzero(crowd.truth == 1)[:60]]

    def p_of(rows: Any) -> float:
        found = quorate.aggregate(quorate.read(rows), "majority")
        names = found.answers.task_names.to_pylist()
        imbalance = find_imbalance(np.sort([names.index(name) for name in chosen]), found)
        assert imbalance is not None
        return imbalance.p_value

    assert p_of(table) == p_of(shuffled)


def test_many_known_labels_need_no_samples() -> None:
    crowd = quorate.simulate.crowd(3000, 12, 4, seed=6)
    result = quorate.aggregate(crowd.answers, "majority")
    rows = np.sort(np.random.default_rng(0).permutation(3000)[:MIN_NORMAL])
    assert find_imbalance(rows, result) is None
    found = find_imbalance(np.flatnonzero(crowd.truth == 1)[:MIN_NORMAL], result)
    assert found is not None
    assert found.p_value < 0.001
