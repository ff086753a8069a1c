"""Prediction-powered means: Wilson's interval, another implementation, and coverage that no crowd can break."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quorate
from quorate.advice.gold_tasks import gold_tasks
from quorate.arrays import FloatArray
from quorate.estimation.prediction_powered import (
    Guesses,
    KnownSample,
    MeanEstimates,
    over_all,
    ppi_mean,
    ppi_rows,
    score_ends,
    tuning_factors,
)
from quorate.statistics import Z_95, wilson_interval
from tests.conftest import need

Z = 1.959963984540054


def drawn(n_tasks: int, share: float, missed: float, called: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """What is true, and what a crowd that misses some of a class, and calls others it, thinks."""
    rng = np.random.default_rng(seed)
    true = rng.random(n_tasks) < share
    predicted = np.where(true, rng.random(n_tasks) >= missed, rng.random(n_tasks) < called)
    sure = 0.5 + rng.beta(8, 1, n_tasks) / 2
    return true.astype(float), np.where(predicted, sure, 1 - sure)


def covered(y: FloatArray, guess: FloatArray, known: int, draws: int, seed: int) -> tuple[float, float, float]:
    """Coverage over many draws, the mean estimate, and the ratio of the widths."""
    rows = np.argsort(np.random.default_rng(seed).random((draws, len(y))), axis=1)[:, :known]
    guesses, zero, one = Guesses.of(guess[None]).repeated(draws), np.zeros(draws), np.ones(draws)
    found = ppi_rows(y[rows], guess[rows], guesses, lowest=zero, highest=one, z=Z)
    found = over_all(found, 0.0, len(y), len(y), is_count=True)
    inside = (found.low <= y.mean() + 1e-9) & (y.mean() - 1e-9 <= found.high)
    ratio = (found.high - found.low).mean() / (found.known_high - found.known_low).mean()
    return float(inside.mean()), float(found.value.mean()), float(ratio)


# --- score intervals ---


@pytest.mark.parametrize(("right", "n"), [(0, 30), (1, 30), (15, 30), (29, 30), (30, 30), (3, 200)])
def test_of_yes_and_no_the_score_interval_is_wilsons(right: int, n: int) -> None:
    values = np.array([[1.0] * right + [0.0] * (n - right)])
    low, high = score_ends(values, np.zeros(1), np.ones(1), z=Z_95)
    assert (float(low[0]), float(high[0])) == pytest.approx(wilson_interval(right, n), abs=1e-6)


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=5, max_size=30), st.floats(0.1, 3))
def test_a_score_interval_holds_the_mean_lies_in_the_range_and_moves_with_it(values: list[float], scale: float) -> None:
    x = np.array([values])
    low, high = score_ends(x, np.zeros(1), np.ones(1))
    assert 0 <= low[0] <= x.mean() <= high[0] <= 1
    moved = score_ends(x * scale + 7, np.full(1, 7.0), np.full(1, 7.0 + scale))
    assert [float(end[0]) for end in moved] == pytest.approx(
        [float(low[0]) * scale + 7, float(high[0]) * scale + 7], abs=1e-4
    )


def test_many_observations_make_it_the_usual_interval() -> None:
    x = np.random.default_rng(0).beta(2, 3, (1, 20_000))
    low, high = score_ends(x, np.zeros(1), np.ones(1))
    half = Z * x.std() / np.sqrt(x.size)
    assert [float(low[0]), float(high[0])] == pytest.approx([x.mean() - half, x.mean() + half], abs=0.01 * half)


# --- the estimate ---


def test_each_power_is_the_slope_of_the_others() -> None:
    rng = np.random.default_rng(1)
    y, f, w = rng.random((1, 12)), rng.random((1, 12)), rng.random(12)
    f += y
    found = tuning_factors(y, f, w)
    for i in range(12):
        kept = np.arange(12) != i
        slope = np.polyfit(f[0, kept], y[0, kept], 1, w=np.sqrt(w[kept]))[0]
        assert found[0, i] == pytest.approx(np.clip(slope, 0, 1))


def test_the_estimate_and_its_interval_are_those_of_ppi_py() -> None:
    """1,000 known labels of 40,000 tasks: what the two treat differently, the ends of the range, matters no more."""
    need("ppi_py", find_spec("ppi_py"), "pip install 'quorate[dev]'")
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    y, guess = drawn(40_000, 0.3, 0.2, 0.05, 3)
    rows = np.random.default_rng(4).permutation(len(y))[:1000]
    others = np.setdiff1d(np.arange(len(y)), rows)
    ours = ppi_mean(y[None, rows], guess[None], KnownSample.random(rows, len(y)), z=Z)
    low, high = (float(np.ravel(end)[0]) for end in ppi_mean_ci(y[rows], guess[rows], guess[others], alpha=0.05))
    theirs = float(np.ravel(ppi_mean_pointestimate(y[rows], guess[rows], guess[others]))[0])
    half = (high - low) / 2
    assert ours.value[0] == pytest.approx(theirs, abs=0.1 * half)
    assert ours.high[0] - ours.low[0] == pytest.approx(high - low, rel=0.03)
    assert ours.low[0] == pytest.approx(low, abs=0.15 * half)


def test_guesses_that_are_worth_nothing_cost_nothing() -> None:
    y, _ = drawn(1000, 0.3, 0.0, 0.0, 5)
    sample = KnownSample.random(np.arange(40), 1000)
    for guess in (np.full(1000, 0.5), 1 - y):  # no guess, and one that is always wrong
        found = ppi_mean(y[None, :40], guess[None], sample, z=Z)
        assert (found.low[0], found.high[0], found.power[0]) == (found.known_low[0], found.known_high[0], 0.0)
        assert found.value[0] == pytest.approx(y[:40].mean())


def test_where_every_label_is_known_nothing_is_left_to_doubt() -> None:
    y, guess = drawn(60, 0.3, 0.2, 0.1, 6)
    found = ppi_mean(y[None], guess[None], KnownSample.random(np.arange(60), 60), z=Z, is_count=True)
    assert [found.value[0], found.low[0], found.high[0]] == pytest.approx([y.mean()] * 3, abs=1e-6)


def test_rounding_to_whole_tasks_makes_no_interval_wider_than_by_known_labels_alone() -> None:
    low, high, known_low, known_high = (np.array([each]) for each in (0.49, 0.51, 0.5, 0.55))
    found = over_all(MeanEstimates(low, low, high, known_low, known_high, low), 0.0, 10, 10, is_count=True)
    assert (found.low[0], found.high[0], found.value[0]) == (0.5, 0.6, 0.5)


def test_rows_are_estimated_each_on_its_own() -> None:
    y, guess = zip(*(drawn(500, share, 0.1, 0.1, 7) for share in (0.1, 0.5)), strict=True)
    sample = KnownSample.random(np.arange(50), 500)
    both = ppi_mean(np.array(y)[:, :50], np.array(guess), sample, z=Z)
    for k in range(2):
        one = ppi_mean(y[k][None, :50], guess[k][None], sample, z=Z)
        assert [one.value[0], one.low[0], one.high[0]] == pytest.approx([both.value[k], both.low[k], both.high[k]])


# --- coverage, whatever the crowd does ---


@pytest.mark.parametrize(
    ("share", "missed", "called"),
    [(0.5, 0.05, 0.05), (0.3, 0.2, 0.1), (0.1, 0.4, 0.0), (0.05, 0.1, 0.02), (0.5, 0.9, 0.9), (0.3, 0.5, 0.5)],
)
@pytest.mark.parametrize("known", [30, 100])
def test_the_interval_covers_whatever_the_crowd_does(share: float, missed: float, called: float, known: int) -> None:
    y, guess = drawn(1000, share, missed, called, 8)
    coverage, mean, ratio = covered(y, guess, known, 400, 9)
    # A coverage of 0.95 has a standard error of 0.011 here; the least that is asked for is 0.93.
    assert coverage >= 0.905
    assert ratio <= 1
    # Unbiased: the mean of 400 estimates has a twentieth of their standard error.
    assert mean == pytest.approx(y.mean(), abs=4 * np.sqrt(share * (1 - share) / known / 400) + 1e-3)


def test_good_guesses_narrow_the_interval() -> None:
    y, guess = drawn(2000, 0.4, 0.05, 0.05, 10)
    assert covered(y, guess, 300, 50, 11)[2] < 0.55


# --- samples with known probabilities ---


def test_labels_that_were_chosen_speak_for_themselves_alone() -> None:
    """Sixty certain to be known, all of one class: a plain mean would be far off."""
    y, guess = drawn(1000, 0.3, 0.1, 0.1, 12)
    order = np.argsort(-y, kind="stable")  # those of the class first
    chosen, rest = order[:60], order[60:]
    ends = []
    for seed in range(200):
        picked = np.random.default_rng(seed).permutation(rest)[:40]
        rows, probability = np.append(chosen, picked), np.append(np.ones(60), np.full(40, 40 / 940))
        found = ppi_mean(y[None, rows], guess[None], KnownSample(rows, probability, 1000), z=Z, is_count=True)
        ends.append((found.low[0] <= y.mean() <= found.high[0], found.value[0]))
    inside, values = np.array(ends).T
    assert inside.mean() >= 0.905
    assert values.mean() == pytest.approx(y.mean(), abs=0.02)


def test_probabilities_that_differ_are_weighed() -> None:
    y, guess = drawn(2000, 0.3, 0.1, 0.1, 13)
    often = np.where(y > 0, 0.08, 0.02)  # tasks of the class are drawn four times as often
    ends = []
    for seed in range(150):
        rows = np.flatnonzero(np.random.default_rng(seed).random(2000) < often)
        found = ppi_mean(y[None, rows], guess[None], KnownSample(rows, often[rows], 2000), z=Z, is_count=True)
        ends.append((found.low[0] <= y.mean() <= found.high[0], found.value[0], y[rows].mean()))
    inside, values, plain = np.array(ends).T
    assert plain.mean() > y.mean() + 0.2
    assert values.mean() == pytest.approx(y.mean(), abs=0.02)
    assert inside.mean() >= 0.9


def test_the_sample_that_advice_draws_is_one() -> None:
    """Two thirds are chosen for their doubt, one third drawn one from each stratum of confidence."""
    crowd = quorate.simulate.crowd(400, 12, 3, seed=3)
    result = quorate.aggregate(crowd.answers)
    true = (crowd.truth == 1).astype(float)
    ends = []
    for seed in range(40):
        advice = gold_tasks(result, 60, seed=seed)
        sample = KnownSample(advice.task, advice.inclusion_probability, 400)
        assert sample.n_drawn == 20
        found = ppi_mean(true[None, sample.rows], result.vote.posterior.T[1:2], sample, z=Z, is_count=True)
        ends.append((found.low[0] <= true.mean() + 1e-9 and true.mean() - 1e-9 <= found.high[0], found.value[0]))
    inside, values = np.array(ends).T
    assert inside.mean() >= 0.9
    assert values.mean() == pytest.approx(true.mean(), abs=0.02)


def test_part_of_a_sample_is_a_sample_of_that_part() -> None:
    sample = KnownSample(np.array([1, 3, 6]), np.array([0.5, 1.0, 0.5]), 8)
    part = sample.within(np.array([False, True, False, False, True, False, True, True]))
    assert (part.rows.tolist(), part.probability.tolist(), part.n_tasks) == ([0, 2], [0.5, 0.5], 4)
    only_chosen = sample.within(np.arange(8) == 3)
    assert only_chosen.n_drawn == 1  # all of it is known
    some_chosen = sample.within((np.arange(8) == 3) | (np.arange(8) == 4))
    assert some_chosen.n_drawn == 0


def test_guesses_are_summed_up_by_their_mean_and_their_ends() -> None:
    found = Guesses.of(np.array([[1.0, 2.0, 6.0], [-1.0, -1.0, 2.0]]))
    assert [found.mean.tolist(), found.least.tolist(), found.most.tolist()] == [[3.0, 0.0], [1.0, -1.0], [6.0, 2.0]]
    assert found.n_tasks == 3


def test_means_of_numbers_end_anywhere_and_shares_at_whole_tasks() -> None:
    y, guess = drawn(90, 0.3, 0.1, 0.1, 5)
    sample = KnownSample.random(np.arange(30), 90)
    plain, exact, rounded = (
        ppi_mean(y[None, :30], guess[None], sample, z=Z, **options)
        for options in ({}, {"is_count": False}, {"is_count": True})
    )
    assert (plain.low.tolist(), plain.high.tolist()) == (exact.low.tolist(), exact.high.tolist())
    assert (90 * np.array([rounded.low, rounded.high])).round(6).tolist() == (
        90 * np.array([rounded.low, rounded.high])
    ).round().tolist()
    assert abs(90 * exact.low - (90 * exact.low).round()).max() > 1e-6
