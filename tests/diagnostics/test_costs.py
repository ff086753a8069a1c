"""Who is talked to: those outside of what is usual in their crowd, never half of an honest one."""

import numpy as np
import pytest

import quorate
from quorate.diagnostics.right_shares import extra_wrong_answers
from quorate.diagnostics.workers import far_below_typical
from quorate.simulate import crowd


def named(skills: np.ndarray, *, n_tasks: int = 3_000, seed: int = 0) -> list[int]:
    result = quorate.aggregate(crowd(n_tasks, len(skills), 5, skills=skills, seed=seed).answers)
    return far_below_typical(result, extra_wrong_answers(result))


@pytest.mark.parametrize("seed", range(3))
def test_of_an_honest_crowd_next_to_nobody_is_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for skills in (rng.uniform(0.2, 1.0, 100), rng.normal(0.6, 0.12, 100).clip(0, 1), np.full(100, 0.7)):
        assert len(named(skills, seed=seed)) <= 2


@pytest.mark.parametrize("n_bad", [1, 8, 25])
def test_who_is_surely_worse_than_the_others_is_named_however_many_they_are(n_bad: int) -> None:
    skills = np.r_[np.full(75, 0.85), np.full(n_bad, 0.25)]
    found = named(skills)
    assert len(set(found) & set(range(75))) <= 1
    assert len(set(found) & set(range(75, 75 + n_bad))) >= 0.9 * n_bad


def test_nobody_is_named_where_nothing_is_determined() -> None:
    result = quorate.aggregate({"task": [1, 2], "worker": ["a", "b"], "label": ["x", "y"]})
    assert far_below_typical(result, extra_wrong_answers(result)) == []
