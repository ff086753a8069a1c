"""Where an interval ends: the skills that are possible at all, and a raw estimate that none of them explains."""

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.skills.intervals import DRAWS, WorkerScore, invert, skill_intervals

Z = 1.959964


def score(raw: float, alpha: float, beta: float, gamma: float) -> WorkerScore:
    return WorkerScore(*(np.array([value]) for value in (raw, alpha, beta, gamma)))


@pytest.mark.parametrize(("alpha", "beta", "gamma"), [(0.02, 0.0, 0.03), (0.02, 0.05, 0.01), (0.5, -0.2, 0.7)])
def test_the_variance_is_zero_at_the_ends_of_what_is_possible(alpha: float, beta: float, gamma: float) -> None:
    least, most = score(0.0, alpha, beta, gamma).possible()
    for end in (least, most):
        assert alpha + beta * end - gamma * end**2 == pytest.approx(0, abs=1e-12)
    assert least < most
    assert score(0.0, alpha, beta, gamma).variance(most + 1)[0] == 0  # never negative


def test_without_a_bend_every_skill_of_the_range_is_possible() -> None:
    least, most = score(0.0, 0.1, 0.0, 0.0).possible()
    assert least < -1e3
    assert most > 1e3


@pytest.mark.parametrize("raw", [-3.0, -1.2, 1.4, 5.0])
def test_a_raw_skill_that_nothing_explains_is_taken_for_the_nearest_possible_one(raw: float) -> None:
    """Possible are -0.5 to 0.5: with so small a variance no skill makes 1.4 likely, and 0.5 is asked instead."""
    far = score(raw, 0.0025, 0.0, 0.01)
    near = score(float(np.clip(raw, -0.5, 0.5)), 0.0025, 0.0, 0.01)
    assert [end.tolist() for end in invert(far, np.ones(1), Z, -1.0)] == [
        pytest.approx(end.tolist()) for end in invert(near, np.ones(1), Z, -1.0)
    ]


def test_an_interval_outside_the_range_is_that_of_its_end() -> None:
    """Three classes: skills from -1/2 to 1. The roots around 1.5 lie above all of them, those around -0.9 below."""
    for raw, end in ((1.5, 1.0), (-0.9, -0.5)):
        low, high = invert(score(raw, 0.01, 0.0, 0.001), np.ones(1), Z, -0.5)
        at_end = invert(score(end, 0.01, 0.0, 0.001), np.ones(1), Z, -0.5)
        assert (low[0], high[0]) == pytest.approx((at_end[0][0], at_end[1][0]))
        assert low[0] < high[0]
        assert end in (low[0], high[0])


def test_an_end_outside_the_range_is_cut_there() -> None:
    low, high = invert(score(0.9, 0.01, 0.0, 0.001), np.ones(1), Z, -0.5)
    uncut = [((low[0] - 0.9) ** 2), Z**2 * (0.01 - 0.001 * low[0] ** 2)]
    assert uncut[0] == pytest.approx(uncut[1])
    assert high[0] == 1.0


def test_by_default_sixty_draws_of_the_seed_zero() -> None:
    result = quorate.aggregate(simulate.crowd(100, 8, 3, seed=0).answers, "rank-one")
    assert result.inference is not None
    usual = skill_intervals(result.inference, 8)
    same, other = (skill_intervals(result.inference, 8, draws=DRAWS, seed=seed) for seed in (0, 1))
    assert usual.low.tobytes() == same.low.tobytes() != other.low.tobytes()
    assert usual.kind == "full"
    assert usual.width == pytest.approx(usual.high - usual.low)
