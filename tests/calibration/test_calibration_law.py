"""The calibration law: an average of tempered posteriors, narrowed by gold, with intervals that follow it."""

import numpy as np
import pytest

from quorate.calibration import calibration_law as calibration_law_module
from quorate.calibration.calibration_law import (
    MODELS,
    PEOPLE,
    TEMPERATURES,
    calibration_law,
    mixed_law,
    no_calibration,
)


def posteriors(n: int, m: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.4), n)


@pytest.mark.parametrize("m", [2, 4])
def test_confidence_is_the_average_over_the_law(m: int) -> None:
    law = calibration_law(MODELS, m, alpha=0.3)
    q = posteriors(20, m)
    expected = np.zeros_like(q)
    for b, row in zip(TEMPERATURES, law.weights, strict=True):
        power = q**b
        tempered = power / power.sum(axis=1, keepdims=True)
        for v, weight in zip(law.validity, row, strict=True):
            expected += weight * (v * tempered + (1 - v) / m)
    np.testing.assert_allclose(law.calibrated(q), expected, atol=2e-4)  # temperatures of little weight are left out
    np.testing.assert_allclose(law.calibrated(q).sum(axis=1), 1.0)


@pytest.mark.parametrize("m", [3, calibration_law_module.MAX_SUMMED_ROWS + 50])
def test_top_sums_are_those_of_the_tempered_posteriors(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration_law_module, "CACHED_CELLS", 7 * m)  # slices of seven tasks
    q = posteriors(30, m) + 1e-6
    expected = [(q**b / (q**b).sum(axis=1, keepdims=True)).max(axis=1).sum() for b in TEMPERATURES]
    np.testing.assert_allclose(calibration_law(PEOPLE, m).top_sums(q), expected, rtol=1e-9)


def test_the_law_has_the_moments_that_its_constants_say() -> None:
    law = calibration_law(PEOPLE, 2)
    failure = float(law.weights.sum(axis=0) @ (1 - law.validity))
    # The grid of validities has a spacing of an eightieth, a third of the mean: it adds about half of that spacing.
    assert failure == pytest.approx(PEOPLE.failure, abs=0.01)
    log_b = np.log(TEMPERATURES)
    weights = law.weights.sum(axis=1)
    assert float(weights @ log_b) == pytest.approx(PEOPLE.log_b_mean, abs=0.05)  # cut at 3
    assert np.sqrt(weights @ log_b**2) == pytest.approx(PEOPLE.log_b_sd, abs=0.05)


def test_agreement_makes_a_panel_more_certain() -> None:
    q = np.array([[0.9, 0.1]])
    stated = [calibration_law(MODELS, 2, alpha).calibrated(q)[0, 0] for alpha in (0.0, 0.4, 0.8)]
    assert stated == sorted(stated)
    assert stated[-1] < calibration_law(PEOPLE, 2).calibrated(q)[0, 0]


def test_gold_moves_the_law_to_what_it_shows() -> None:
    rng = np.random.default_rng(0)
    q = np.tile([[0.95, 0.05]], (300, 1))
    right = (rng.random(300) < 0.7).astype(int)
    law = calibration_law(PEOPLE, 2).updated(q, 1 - right)
    # 300 labels show .7 to .026; the law still leans a little to what other crowds are like
    assert law.calibrated(q)[0, 0] == pytest.approx(0.7, abs=0.06)


def test_what_gold_shows_is_what_is_stated_however_the_law_began() -> None:
    q = posteriors(400, 3, seed=1)
    label = np.array([np.random.default_rng(k).choice(3, p=row) for k, row in enumerate(q)])
    stated = [
        calibration_law(each, 3, 0.2).updated(q, label).calibrated(q).max(axis=1).mean() for each in (PEOPLE, MODELS)
    ]
    assert abs(stated[0] - stated[1]) < 0.02


def test_a_law_that_changes_nothing() -> None:
    q = posteriors(10, 3)
    np.testing.assert_allclose(no_calibration(3).calibrated(q), q, atol=1e-12)


def test_a_mixed_crowd_lies_between_people_and_models() -> None:
    q = np.array([[0.9, 0.1]])
    people = calibration_law(PEOPLE, 2)
    models = calibration_law(MODELS, 2, 0.2)
    both = mixed_law(people, models, 0.5).calibrated(q)
    np.testing.assert_allclose(both, (people.calibrated(q) + models.calibrated(q)) / 2)


def test_the_share_of_right_labels_is_the_mean_confidence() -> None:
    q = posteriors(200, 2)
    law = calibration_law(PEOPLE, 2)
    share = law.share_right(law.top_sums(q), len(q))
    assert share.mean == pytest.approx(float(law.calibrated(q).max(axis=1).mean()), abs=1e-3)
    assert share.low < share.mean < share.high
