"""Calibrations: what they leave alone, what known labels make of them, and the table that ships."""

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quorate.voting.population import (
    BETAS,
    VALIDITIES,
    calibrated,
    expected_calibration,
    identity,
    population,
    updated,
    vote_of_crowd,
)

scores = arrays(np.float64, (4, 3), elements=st.floats(-30, 30))


def posterior_of(raw: np.ndarray) -> np.ndarray:
    lifted = np.exp(raw - raw.max(axis=1, keepdims=True))
    shares: np.ndarray = lifted / lifted.sum(axis=1, keepdims=True)
    return shares


@given(scores, st.floats(0, 1))
def test_a_calibrated_posterior_sums_to_one_and_keeps_the_order_of_the_classes(raw: np.ndarray, rho: float) -> None:
    posterior = posterior_of(raw)
    new = calibrated(posterior, expected_calibration(rho))
    assert new.sum(axis=1) == pytest.approx(1)
    best = posterior.max(axis=1)
    assert (new[posterior == best[:, None]] >= new.max(axis=1)[(posterior == best[:, None]).nonzero()[0]] - 1e-12).all()


@given(scores)
def test_the_identity_changes_nothing(raw: np.ndarray) -> None:
    posterior = posterior_of(raw)
    assert calibrated(posterior, identity()) == pytest.approx(posterior, abs=1e-9)


def test_calibrating_is_the_mean_over_calibrations_one_by_one() -> None:
    posterior = posterior_of(np.random.default_rng(0).normal(size=(5, 4)))
    weights = np.random.default_rng(1).dirichlet(np.ones(len(BETAS) * len(VALIDITIES))).reshape(len(BETAS), -1)
    expected = np.zeros_like(posterior)
    for i, beta in enumerate(BETAS):
        flat = posterior**beta / (posterior**beta).sum(axis=1, keepdims=True)
        for j, v in enumerate(VALIDITIES):
            expected += weights[i, j] * (v * flat + (1 - v) / 4)
    assert calibrated(posterior, weights) == pytest.approx(expected)


def test_known_labels_move_the_weights_to_where_they_are_likely_and_what_is_impossible_stays_so() -> None:
    posterior = np.tile([[0.8, 0.2]], (200, 1))
    right = np.arange(200) >= 160  # as often as it says
    new = updated(expected_calibration(0.2), posterior, right.astype(np.int64))
    assert calibrated(posterior[:1], new)[0, 0] == pytest.approx(0.8, abs=0.02)
    wrong = updated(expected_calibration(0.2), posterior, (np.arange(200) >= 100).astype(np.int64))
    assert calibrated(posterior[:1], wrong)[0, 0] < 0.58
    assert updated(identity(), posterior, np.ones(200, np.int64)) == pytest.approx(identity())


def test_the_table_holds_the_grid_and_independent_crowds_are_surer() -> None:
    public, alone = population()
    assert public.shape == alone.shape == (len(BETAS), len(VALIDITIES))
    assert public.sum(axis=1) @ BETAS < alone.sum(axis=1) @ BETAS
    assert len((files("quorate.voting") / "population.csv").read_text().splitlines()) == 1 + public.size


def test_a_crowd_votes_for_what_suits_it() -> None:
    posterior = np.tile([[0.9, 0.1]], (300, 1))
    vote = vote_of_crowd(posterior, (np.arange(300) >= 270).astype(np.int64))
    assert vote.sum() == pytest.approx(1)
    assert calibrated(posterior[:1], vote)[0, 0] == pytest.approx(0.9, abs=0.02)


def test_what_crowds_speak_for_is_a_distribution() -> None:
    for part in population.__wrapped__():  # read anew, and not as another test kept it
        assert part.min() >= 0
        assert float(part.sum()) == pytest.approx(1.0, abs=1e-12)  # sums of a hundred numbers below one


def test_calibrations_lie_in_an_order_and_no_label_is_valid_more_than_always() -> None:
    assert (np.diff(BETAS) > 0).all()
    assert (np.diff(VALIDITIES) > 0).all()
    assert BETAS[0] > 0
    assert VALIDITIES[0] > 0
    assert VALIDITIES[-1] == 1
    assert np.argwhere(identity()).tolist() == [[BETAS.round(9).tolist().index(1.0), len(VALIDITIES) - 1]]
