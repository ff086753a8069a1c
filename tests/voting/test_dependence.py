"""Dependence that is measured: what it is a sum of; crowds that err together are told from those that do not."""

import numpy as np
import pytest

import quorate
from quorate.answers import Answers
from quorate.evaluation import simulate
from quorate.evaluation.experiments.regimes import one_coin
from quorate.evaluation.experiments.reliability import hard_tasks
from quorate.voting import dependence
from quorate.voting.dependence import HIDDEN, NONE, Matrices, flattening, ratio, residual_products


def crowd_of(n_classes: int) -> tuple[Answers, np.ndarray, np.ndarray]:
    answers = simulate.crowd(30, 6, 4, n_classes=n_classes, seed=1).answers
    rng = np.random.default_rng(2)
    q = rng.dirichlet(np.ones(n_classes), answers.n_tasks)
    return answers, q, rng.dirichlet(np.ones(n_classes), (6, n_classes)).transpose(0, 2, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_products_are_those_over_the_pairs_of_each_task(n_classes: int) -> None:
    answers, q, theta = crowd_of(n_classes)
    products, alike = np.zeros(30), np.zeros(30)
    for t in range(30):
        mine = np.flatnonzero(answers.task == t)
        for g in np.argsort(-q[t])[:2]:
            for a in mine:
                for b in mine:
                    if a != b:
                        (one, two) = (theta[answers.worker[k], :, g] for k in (a, b))
                        rest = [np.eye(n_classes)[answers.label[k]] - theta[answers.worker[k], :, g] for k in (a, b)]
                        products[t] += q[t, g] * rest[0] @ rest[1] / (len(mine) - 1)
                        alike[t] += q[t, g] * np.sqrt((1 - one @ one) * (1 - two @ two)) / (len(mine) - 1)
    found = residual_products(answers, q, Matrices(theta, np.zeros(6), n_classes))
    assert found[0] == pytest.approx(products)
    assert found[1] == pytest.approx(alike)


def test_workers_who_err_on_the_same_tasks_are_told_from_those_who_do_not() -> None:
    alone, together = (
        quorate.aggregate(draw(np.random.default_rng(0)).answers).confidence_basis for draw in (one_coin, hard_tasks)
    )
    assert alone is not None
    assert together is not None
    assert alone.rho < 0.1
    assert together.rho > 0.15
    assert together.votes_low < together.votes < together.votes_high
    assert together.votes < 0.6 * 7
    assert "votes:" in "\n".join(together.lines(0.8, 200))


def test_the_interval_is_as_wide_as_a_bootstrap_over_tasks() -> None:
    rng = np.random.default_rng(0)
    alike = rng.uniform(2, 6, 800)
    products = alike * 0.05 + rng.normal(0, 1, 800)
    found = ratio(products, alike)
    draws = [ratio(products[pick], alike[pick]).rho for pick in rng.integers(0, 800, (500, 800))]
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.std(draws), rel=0.15)
    assert found.low < HIDDEN * 0.05 < found.high


def test_answers_that_repeat_each_other_are_worth_one() -> None:
    assert (np.array([1, 5, 40]) * flattening(np.array([1, 5, 40]), 1.0)).tolist() == [1, 1, 1]
    assert flattening(np.array([0, 3]), 0.0).tolist() == [1, 1]


def test_tasks_may_be_looked_at_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, q, theta = crowd_of(3)
    matrices = Matrices(theta, np.zeros(6), 3)
    at_once = residual_products(answers, q, matrices)
    monkeypatch.setattr(dependence, "CELLS", 30)  # ten answers: two tasks of four, and the rest of them in time
    for some, whole in zip(residual_products(answers, q, matrices), at_once, strict=True):
        assert some.tolist() == whole.tolist()


def test_votes_of_workers_who_err_independently_are_worth_what_they_are() -> None:
    assert NONE.votes(np.array([1.0, 4.0])) == (2.5, 2.5, 2.5)
