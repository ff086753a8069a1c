"""Ends of intervals are cut at once for all classes, as they would be class by class."""

import numpy as np
import pytest

from quorate.interrater.bootstrap import _ends


@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
def test_the_ends_are_those_of_the_draws_in_which_a_coefficient_is_defined(missing: float) -> None:
    rng = np.random.default_rng(0)
    values = rng.random((41, 12))
    values[rng.random(values.shape) < missing] = np.nan
    values[:, 3] = np.nan
    low, high = _ends([values[:20], values[20:]], 0.9, (12,))
    for c in range(12):
        finite = values[~np.isnan(values[:, c]), c]
        ends = np.quantile(finite, [0.05, 0.95]) if len(finite) else [np.nan, np.nan]
        assert [low[c], high[c]] == pytest.approx(list(ends), nan_ok=True)
    assert np.isnan(_ends([], 0.9, (2,))).all()
