"""The share of right labels: intervals that cover it, and the information of gold labels."""

import numpy as np

from quorate.calibration.share_right import (
    ShareEstimate,
    equivalent_checked_labels_of_gold,
    is_interval_on_side,
    share_right_given_gold,
    share_with_interval,
)


def test_the_interval_given_gold_covers_the_share_of_right_labels() -> None:
    """Confidence is corrected by 30 gold labels, and off by what they leave open: the intervals hold nine in ten."""
    rng = np.random.default_rng(0)
    before = ShareEstimate(0.7, 0.3, 0.95)
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
    chosen = equivalent_checked_labels_of_gold(confidence[30:], confidence[:30])
    drawn = equivalent_checked_labels_of_gold(np.delete(confidence, np.arange(0, 500, 17)), confidence[::17])
    assert chosen < 10 < 25 < drawn < 35


def test_the_interval_holds_the_share_and_whole_labels_at_the_ends_of_the_scale() -> None:
    for n_tasks in (1, 7, 60, 10**6):
        for share in (0.0, 0.004, 0.5, 0.998, 1.0):
            for n_checked in (0.0, 3.0, 500.0):
                found = share_with_interval(share, n_checked, n_tasks)
                assert 0 <= found.low <= share <= found.high <= 1
    assert share_with_interval(0.99, 200, 40).high == 1.0  # none of 40 labels may be wrong


def test_with_everything_known_no_label_is_wrong() -> None:
    assert share_right_given_gold(ShareEstimate(0.7, 0.45, 0.9), np.empty(0), np.full(9, 0.7), 0).low == 1.0


def test_the_side_of_a_limit_is_that_of_the_interval_of_whole_labels() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        share = float(rng.choice([rng.random(), 0.0, 1.0, 0.999]))
        n_tasks = int(10 ** rng.uniform(0, 5))
        n_checked = float(10 ** rng.uniform(-1, 4))
        found = share_with_interval(share, n_checked, n_tasks)
        # Limits between two numbers of labels: at a number itself rounding decides.
        limits = (np.round(np.linspace(found.low - 0.1, found.high + 0.1, 40) * n_tasks) + 0.5) / n_tasks
        others = np.full(40, n_checked), np.full(40, n_tasks), limits
        assert is_interval_on_side(share, *others, above=True).tolist() == (found.low >= limits).tolist()
        assert is_interval_on_side(share, *others, above=False).tolist() == (found.high < limits).tolist()
