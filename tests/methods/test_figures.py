"""Errors that an independent implementation reached on public data; see docs/accuracy.md."""

from typing import Any

import pytest

from quorate.evaluation.compare import compare

SETS = ["bluebird", "rte1", "temp", "trec", "dogs", "web"]

# In percent, ties split evenly; ten rounds of EM with zeros skipped, ordered thresholds for the binary methods.
REFERENCE: dict[str, list[float | None]] = {
    "majority": [24.07, 10.31, 6.39, 34.86, 17.78, 26.93],
    "iwmv": [27.78, 7.25, 5.84, 40.88, 16.98, 15.04],
    "one-coin:zeros=skip": [27.78, 7.62, 6.28, 42.77, 16.98, 16.02],
    "dawid-skene:zeros=skip": [11.11, 7.12, 5.84, 30.20, 16.23, 15.91],
    "kos-svd:classes=ordered": [11.11, 39.75, 6.28, 51.96, 31.72, 42.93],
    "ghosh-svd:classes=ordered": [27.78, 49.12, 56.71, 43.03, 19.58, 6.78],
    "er:classes=ordered": [27.78, 9.00, 5.84, 38.73, 17.22, 24.84],
    "kos:classes=ordered": [27.78, 49.88, 42.86, 42.78, 18.96, 5.39],
    # Its three groups go by the numbers of the workers; on web the reference numbered them otherwise.
    "opt-ds:zeros=skip": [10.19, 7.12, 6.06, 29.58, 16.11, None],
}


@pytest.mark.parametrize("name", SETS)
def test_the_errors_are_those_of_an_independent_implementation(real: Any, name: str) -> None:
    data = real.load(name)
    column = SETS.index(name)
    for entry in compare(data.answers, data.truth, methods=list(REFERENCE)).entries:
        expected = REFERENCE[entry.method][column]
        assert entry.failed is None
        assert entry.error is not None
        assert expected is None or 100 * entry.error == pytest.approx(expected, abs=0.3), entry.method


# Ranges over a few seeds of the reference, widened by the spread that our own seeds show: half a point, and on
# bluebird, where a task is 0.93 points, two tasks.
SAMPLED = {"bluebird": (10.2, 12.0, 1.9), "rte1": (7.4, 7.9, 0.5), "temp": (6.06, 6.06, 0.5), "dogs": (16.2, 16.6, 0.5)}


@pytest.mark.parametrize("name", SAMPLED)
def test_max_margin_vote_lands_where_the_reference_does(real: Any, name: str) -> None:
    data = real.load(name)
    low, high, slack = SAMPLED[name]
    errors = [compare(data.answers, data.truth, methods=["m3v"], seed=seed).entries[0].error for seed in range(3)]
    mean = 100 * sum(error or 0.0 for error in errors) / 3
    assert low - slack <= mean <= high + slack


def test_leaving_out_zeros_is_why_the_spectral_method_does_not_converge_on_wsd(real: Any) -> None:
    """The paper prints N/A there."""
    data = real.load("wsd")
    methods = ["opt-ds", "opt-ds:zeros=skip", "opt-ds:zeros=skip:rounds=50"]
    exact, skipped, longer = (entry.error for entry in compare(data.answers, data.truth, methods=methods).entries)
    assert exact == pytest.approx(0.0056, abs=5e-5)
    assert skipped is not None
    assert longer is not None
    assert skipped > 0.1
    assert longer > 0.5
