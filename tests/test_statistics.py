import numpy as np
import pytest
from scipy.special import betainc, chdtrc, chdtri, ndtr, ndtri

from quorate.statistics import (
    MAX_LOOPED_VALUES,
    binomial_tail,
    critical_value,
    incomplete_beta,
    is_significant,
    normal_cdf,
    normal_quantile,
)


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


def test_the_normal_law_is_that_of_scipy() -> None:
    z = np.concatenate([np.linspace(-37, 9, 4_000), [np.nan, np.inf, -np.inf]])
    np.testing.assert_allclose(normal_cdf(z), ndtr(z), rtol=1e-12)
    many = np.linspace(-5, 5, MAX_LOOPED_VALUES + 1)
    p = [1e-12, 0.01, 0.3, 0.5, 0.5 + 1e-9, 0.9, 0.975, 0.9999, 1 - 1e-12]
    np.testing.assert_allclose([normal_quantile(value) for value in p], ndtri(p), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(normal_cdf(many)[:100], normal_cdf(many[:100]), rtol=1e-13)


@pytest.mark.parametrize("most", [60, 1_000, 5_000])
def test_binomial_tails_are_those_of_scipy(most: int) -> None:
    rng = np.random.default_rng(most)
    n = rng.integers(20, most, 300)
    hits = np.ceil(n * rng.uniform(0.9, 1, 300)).astype(np.int64)
    p = rng.uniform(0.3, 1 - 1e-6, 300)
    np.testing.assert_allclose(binomial_tail(hits, n, p), betainc(hits, n - hits + 1.0, p), rtol=1e-10, atol=1e-200)


@pytest.mark.parametrize(
    ("least", "most", "error"), [(1, 1e5, 1e-9), (1, 1e7, 2e-7), (1e-3, 1e4, 2e-8), (1e-3, 1e7, 5e-5)]
)
def test_the_incomplete_beta_function_is_that_of_scipy(least: float, most: float, error: float) -> None:
    """From eight standard deviations below the mean to as many above; the errors are those of the docstring."""
    grid = np.geomspace(least, most, 29)
    a, b, z = (axis.ravel() for axis in np.meshgrid(grid, grid, [-8.0, -3.0, -1.0, 0.0, 0.1, 1.0, 3.0, 8.0]))
    mean = a / (a + b)
    x = np.clip(mean + z * np.sqrt(mean * (1 - mean) / (a + b + 1)), 1e-12, 1 - 1e-12)
    expected = betainc(a, b, x)
    np.testing.assert_allclose(incomplete_beta(a, b, x), expected, rtol=error, atol=1e-300)
