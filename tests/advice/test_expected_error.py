"""What advice is expected to bring: without a table of draws × classes, as with one."""

from dataclasses import replace

import numpy as np
import pytest

import quorate
from quorate.advice.advice import Advice
from quorate.advice.expected_error import MAX_DRAWS, MIN_DRAWS, TOTAL_DRAWS, error_after
from quorate.advice.information_gain import tempered_accuracy
from quorate.advice.stopping import effective_votes_added
from quorate.arrays import FloatArray
from quorate.voting.vote import accuracy


def naive(advice: Advice, dependence: float) -> FloatArray:
    """Answer by answer, draw by draw, with a probability of every class: the same draws, so the same error."""
    rng, m = np.random.default_rng(0), advice.posterior.shape[1]
    tasks, place = np.unique(advice.task, return_inverse=True)
    draws = min(max(TOTAL_DRAWS // len(tasks), MIN_DRAWS), MAX_DRAWS)
    u = rng.random((len(tasks), draws))
    true = np.array([[(x > advice.posterior[t].cumsum()).sum() for x in row] for t, row in zip(tasks, u, strict=True)])
    true = np.minimum(true, m - 1)
    p = np.repeat(advice.posterior[tasks][:, None, :], draws, axis=1)
    turns = [(place[:k] == place[k]).sum() for k in range(len(place))]
    for number in range(max(turns) + 1):
        asked = [k for k in range(len(place)) if turns[k] == number]
        gives = advice.worker_pool.gives[advice.worker[asked]]
        shape = (len(asked), draws)
        given = np.ones(shape, dtype=bool) if (gives == 1).all() else rng.random(shape) < gives[:, None]
        luck, other = rng.random(shape), rng.integers(1, m, shape)
        for row, k in enumerate(asked):
            answered = np.array([advice.answers.per_task[advice.task[k]] + number])
            right = np.clip(accuracy(advice.skills[[advice.worker[k]]], m), 1e-6, 1 - 1e-6)
            tempered = float(tempered_accuracy(right, effective_votes_added(answered, dependence), m)[0])
            for d in range(draws):
                truth = true[place[k], d]
                label = truth if luck[row, d] < tempered else (truth + other[row, d]) % m
                own = p[place[k], d]
                if given[row, d]:
                    own[label] *= tempered * (m - 1) / (1 - tempered)
                own /= own.sum()
    error = advice.answers_needed.error.copy()
    error[tasks] = np.minimum(error[tasks], 1 - p.max(axis=-1).mean(axis=1))
    return error


@pytest.mark.parametrize(
    ("n_classes", "budget", "dependence"), [(2, 25, 0.0), (2, 60, 0.3), (3, 60, 0.2), (40, 30, 0.1)]
)
def test_the_error_is_that_of_a_table_of_draws_and_classes(n_classes: int, budget: int, dependence: float) -> None:
    """One answer per task and several, in any order; some workers are worse than guessing, or give no answer."""
    answers = quorate.simulate.crowd(12, 9, 2, n_classes=n_classes, seed=n_classes).answers
    advice = quorate.advise(answers, budget=budget)
    rng = np.random.default_rng(budget)
    skills = np.where(np.arange(9) == 0, -0.9 / (n_classes - 1), rng.uniform(0.1, 0.9, 9))
    order = rng.permutation(advice.n_assignments)
    advice = replace(advice, skills=skills, task=advice.task[order], worker=advice.worker[order])
    gives = np.where(np.arange(len(advice.worker_pool.gives)) == 1, 0.5, 1.0)
    for worker_pool in (advice.worker_pool, replace(advice.worker_pool, gives=gives)):
        mine = replace(advice, worker_pool=worker_pool)
        assert error_after(mine, dependence) == pytest.approx(
            naive(mine, dependence), abs=1e-12
        )  # sums in another order
