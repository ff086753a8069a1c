"""The calibration law: an average of tempered posteriors, narrowed by gold, with intervals that follow it."""

import numpy as np
import pytest

from quorate.calibration.calibration_law import (
    MODELS,
    PEOPLE,
    TEMPERATURES,
    ShareRight,
    calibration_law,
    evidence_of_gold,
    mixed_law,
    no_calibration,
    share_right_given_gold,
    share_right_of,
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


def test_the_interval_given_gold_covers_the_share_of_right_labels() -> None:
    """Confidence is corrected by 30 gold labels, and off by what they leave open: the intervals hold nine in ten."""
    rng = np.random.default_rng(0)
    before = ShareRight(0.7, 0.3, 0.95)
    covered = []
    for _ in range(400):
        confidence = np.clip(rng.beta(8, 3, 500), 0.5, 1.0)
        right = rng.random(500) < confidence
        gold = rng.choice(500, 30, replace=False)
        others = np.setdiff1d(np.arange(500), gold)
        corrected = np.clip(confidence[others] + right[gold].mean() - confidence[gold].mean(), 0.0, 1.0)
        found = share_right_given_gold(before, corrected, confidence[gold], len(others))
        covered.append(found.low <= right[others].mean() <= found.high)
        assert found.low <= found.mean <= found.high
    assert 0.86 < np.mean(covered) < 0.97  # standard error .015; strata without gold labels make intervals wider


def test_gold_labels_of_the_least_certain_tasks_are_worth_less_than_random_ones() -> None:
    confidence = np.linspace(0.5, 0.99, 500)
    chosen = evidence_of_gold(confidence[30:], confidence[:30])
    drawn = evidence_of_gold(np.delete(confidence, np.arange(0, 500, 17)), confidence[::17])
    assert chosen < 10 < 25 < drawn < 35


def test_the_interval_holds_the_share_and_whole_labels_at_the_ends_of_the_scale() -> None:
    for n_tasks in (1, 7, 60, 10**6):
        for share in (0.0, 0.004, 0.5, 0.998, 1.0):
            for evidence in (0.0, 3.0, 500.0):
                found = share_right_of(share, evidence, n_tasks)
                assert 0 <= found.low <= share <= found.high <= 1
    assert share_right_of(0.99, 200, 40).high == 1.0  # none of 40 labels may be wrong


def test_with_everything_known_no_label_is_wrong() -> None:
    assert share_right_given_gold(ShareRight(0.7, 0.45, 0.9), np.empty(0), np.full(9, 0.7), 0).low == 1.0
