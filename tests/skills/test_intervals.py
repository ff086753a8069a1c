import numpy as np
import pytest

import quorate
from quorate.skills.intervals import PeerError, WorkerScore, invert
from tests.crowds import answers_of

Z = 1.959964


def test_the_ends_solve_the_equation() -> None:
    score = WorkerScore(*(np.array(each) for each in ([0.3, 0.4], [0.02, 0.03], [0.01, 0.0], [0.02, 0.01])))
    x = np.array([0.2, 0.5])
    error = PeerError(np.array([1.0, 1.7]), np.array([0.0, 0.02]))
    for end in invert(score.with_peer_error(error, x), Z, -1.0):
        variance = error.inflation * score.variance(end) + error.relative_variance * (end**2 - x**2)
        assert (score.raw - end) ** 2 == pytest.approx(Z**2 * variance)


@pytest.mark.parametrize("raw", [-0.4, 0.0, 0.05, 0.3, 0.8, 1.3])
@pytest.mark.parametrize("v", [0.0, 0.1, 0.26, 0.3, 1.0, 30.0])
@pytest.mark.parametrize("beta", [-0.02, 0.0, 0.02])
def test_every_skill_that_fits_is_in_the_interval(raw: float, v: float, beta: float) -> None:
    """By trying 2,001 skills: with a large relative error of the peers the skills that fit are two half-lines."""
    score = WorkerScore(*(np.array([value]) for value in (raw, 0.02, beta, 0.02)))
    score = score.with_peer_error(PeerError(np.ones(1), np.array([v])), np.array([0.1]))
    (low,), (high,) = invert(score, Z, -1.0)
    tried = np.linspace(-1, 1, 2001)
    fits = (raw - tried) ** 2 <= Z**2 * score.variance(tried)
    around = np.flatnonzero(~fits & (tried < raw)).max(initial=-1) + 1  # first skill of those around the raw estimate
    until = np.flatnonzero(~fits & (tried > raw)).min(initial=2001) - 1
    if score.variance(np.array([raw]))[0] > 0 and around <= until:  # otherwise the nearest possible one is inverted
        assert (low, high) == pytest.approx((tried[around], tried[until]), abs=2e-3)


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
    (low,), (high,) = invert(score, Z, -1.0)
    assert -1 <= low < high == 1
