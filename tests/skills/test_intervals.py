import numpy as np
import pytest

import quorate
from quorate.skills.intervals import WorkerScore, invert
from tests.crowds import answers_of

Z = 1.959964


def test_the_ends_solve_the_equation() -> None:
    score = WorkerScore(*(np.array(each) for each in ([0.3, 0.6], [0.02, 0.03], [0.01, 0.0], [0.02, 0.01])))
    f = np.array([1.0, 1.7])
    for end in invert(score, f, Z, -1.0):
        assert (score.raw - end) ** 2 == pytest.approx(Z**2 * f * score.variance(end))


@pytest.mark.parametrize("right", [0, 3, 9, 10])
def test_against_gold_alone_it_is_wilsons_interval(right: int) -> None:
    n = 10
    answers = answers_of([(t, "a", "x" if t < right else "y") for t in range(n)], classes=["x", "y"])
    found = quorate.aggregate(answers, "rank-one", gold=dict.fromkeys(range(n), "x")).intervals
    p = right / n
    centre, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n * n))
    low, high = ((centre + sign * half) / (1 + Z**2 / n) for sign in (-1, 1))
    assert len(found.low) == 1  # gold has no interval
    assert (found.low[0], found.high[0]) == pytest.approx((2 * low - 1, 2 * high - 1), abs=1e-5)


def test_a_raw_skill_outside_the_range_still_has_an_interval() -> None:
    score = WorkerScore(*(np.array([value]) for value in (3.0, 0.01, 0.0, 0.01)))
    (low,), (high,) = invert(score, np.ones(1), Z, -1.0)
    assert -1 <= low < high == 1
