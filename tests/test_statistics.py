import numpy as np
import pytest
from scipy.special import chdtrc, chdtri

from quorate.statistics import critical_value, is_significant


@pytest.mark.parametrize("level", [0.05, 0.01, 1e-8])
def test_critical_values_are_those_of_scipy(level: float) -> None:
    found = [critical_value(freedom, level) for freedom in (*range(1, 101), 500)]
    np.testing.assert_allclose(found, chdtri([*range(1, 101), 500], level), rtol=1e-12)


def test_significance_is_that_of_the_tail_and_never_without_freedom() -> None:
    rng = np.random.default_rng(0)
    freedom = rng.integers(-1, 12, 500)
    statistic = rng.chisquare(6, 500) * rng.uniform(0.1, 4, 500)
    expected = (freedom > 0) & (chdtrc(np.maximum(freedom, 1), statistic) < 0.01)
    assert 20 < expected.sum() < 480
    assert is_significant(statistic, freedom, 0.01).tolist() == expected.tolist()
