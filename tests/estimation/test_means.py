"""Means over tasks by the model: tables too large to be kept are made again, and say the same."""

import numpy as np
import pytest

from quorate import simulate
from quorate.estimation import means
from quorate.estimation.estimands import Prevalence
from quorate.estimation.means import model_estimator


def test_tables_that_are_not_kept_say_what_kept_ones_say(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = simulate.crowd(60, 8, 4, n_classes=3, seed=0)
    known = np.where(np.arange(60) < 7, crowd.truth, -1)
    kept = model_estimator(crowd.answers, known, 1.96)
    assert isinstance(kept.calibrated_by, list)
    monkeypatch.setattr(means, "MAX_STORED_ENTRIES", 0)
    again = model_estimator(crowd.answers, known, 1.96)
    assert not isinstance(again.calibrated_by, list)
    for _ in range(2):
        one, two = (each.means(Prevalence(3)) for each in (kept, again))
        np.testing.assert_array_equal([one.value, one.low, one.high], [two.value, two.low, two.high])
