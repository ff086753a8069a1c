import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import false_discovery_control

from quorate.statistics import benjamini_hochberg
from tests.diagnostics.samples import at_most


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.001, 0.5))
def test_adjusted_values_name_what_the_step_up_rule_names(p: list[float], level: float) -> None:
    """The rule as published: the largest k with p_(k) <= q k/m, and all up to it."""
    ordered = sorted(p)
    ratios = np.array(ordered) * len(p) / np.arange(1, len(p) + 1)
    assume(not np.any(np.isclose(ratios, level, rtol=1e-12, atol=0.0)))  # where rounding decides, either is right
    k = max((k for k in range(1, len(p) + 1) if ordered[k - 1] * len(p) / k <= level), default=0)
    limit = ordered[k - 1] if k else -1.0
    assert (benjamini_hochberg(np.array(p)) <= level).tolist() == [value <= limit for value in p]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_adjusted_values_are_those_of_scipy(p: list[float]) -> None:
    assert np.array_equal(benjamini_hochberg(np.array(p)), false_discovery_control(p))


def test_what_was_not_tested_does_not_count() -> None:
    p = np.array([0.01, 0.2, 0.03])
    found = benjamini_hochberg(np.array([np.nan, *p, np.nan]))
    assert np.isnan(found[[0, -1]]).all()
    assert np.array_equal(found[1:-1], benjamini_hochberg(p))


def test_the_false_discovery_rate_is_what_it_says() -> None:
    """Twenty of a hundred hypotheses are false, 400 times: on average at most 5 % of what is named is named wrongly."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(400):
        z = rng.normal(size=100)
        z[:20] += 3
        named = benjamini_hochberg(ndtr(-z)) <= 0.05
        shares.append(named[20:].sum() / max(named.sum(), 1))
    assert np.sum(shares) <= at_most(0.05, 400)
    assert np.sum(shares) > 0
