"""Tables of tasks × classes in C against numpy and against loops; exp and log against the C library's."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.arrays import FloatArray
from quorate.blocks import kernels
from quorate.blocks.task_tables import FLOOR, TIE_TOLERANCE, averaged_powers, confidence_and_margin, leading, softmax
from quorate.blocks.worker_tables import log_matrices, matrix_moments

NATIVE = kernels.native
in_c = pytest.mark.skipif(NATIVE is None, reason="the extension was not built")


def in_numpy(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function that then uses numpy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "native", None)
        return function(*arguments, **options)


@st.composite
def tables(draw: st.DrawFn) -> FloatArray:
    """Draw scores of 0 to 600 tasks, some of whose classes are tied or nearly so."""
    n, m = draw(st.sampled_from([0, 1, 7, 255, 256, 257, 600])), draw(st.sampled_from([1, 2, 3, 4, 5, 9]))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    scores = rng.normal(0, draw(st.sampled_from([0.1, 3.0, 400.0])), (n, m))
    if draw(st.booleans()):
        scores = np.round(scores)
    off = rng.choice([0.0, 1e-13, 1e-10, 1e-8], (n, m))
    nearly: FloatArray = scores * (1 + off)
    return nearly


@given(tables(), st.booleans())
def test_softmax_sums_to_one_and_is_that_of_numpy(scores: FloatArray, tempered: bool) -> None:
    factor = np.linspace(0.2, 1.0, len(scores)) if tempered else None
    found = softmax(scores, factor)
    assert np.allclose(found.sum(axis=1), 1.0, rtol=1e-14, atol=0.0)
    assert np.allclose(found, in_numpy(softmax, scores, factor), rtol=1e-13, atol=1e-300)


@given(tables())
def test_leading_classes_and_margins_are_those_of_a_loop(scores: FloatArray) -> None:
    probabilities = softmax(scores)
    for values, is_probability in ((scores, False), (probabilities, True)):
        label, several = leading(values, is_probability=is_probability)
        for row, best, is_tied in zip(values.tolist(), label.tolist(), several.tolist(), strict=True):
            logs = [math.log(max(value, FLOOR)) for value in row] if is_probability else row
            most = max(logs)
            assert row[best] == max(row)
            assert best == row.index(max(row))
            assert is_tied == (sum(value >= most - TIE_TOLERANCE * max(abs(most), 1.0) for value in logs) > 1)
    label = leading(probabilities, is_probability=True)[0]
    confidence, margin = confidence_and_margin(probabilities, label)
    for row, code, sure, gap in zip(
        probabilities.tolist(), label.tolist(), confidence.tolist(), margin.tolist(), strict=True
    ):
        assert sure == row[code]
        assert gap == row[code] - max([*row[:code], *row[code + 1 :], 0.0])


@in_c
@given(tables(), st.integers(0, 10_000))
def test_numpy_gives_the_same_labels_and_margins(scores: FloatArray, seed: int) -> None:
    posterior = softmax(scores)
    label = np.random.default_rng(seed).integers(-1, scores.shape[1], len(scores))
    for options in ({}, {"is_probability": True}):
        values = posterior if options else scores
        for one, two in zip(leading(values, **options), in_numpy(leading, values, **options), strict=True):
            assert np.array_equal(one, two)
    for found, plain in zip(
        confidence_and_margin(posterior, label), in_numpy(confidence_and_margin, posterior, label), strict=True
    ):
        assert np.array_equal(found, plain)


@given(tables(), st.integers(1, 24), st.integers(4, 5))
def test_averaged_powers_are_those_of_each_exponent(scores: FloatArray, n_shares: int, per_octave: int) -> None:
    posterior = softmax(scores)
    shares = np.random.default_rng(n_shares).dirichlet(np.ones(n_shares)) * 0.9
    shares[n_shares // 2] = 0.0

    def averaged() -> FloatArray:
        return averaged_powers(posterior, shares, 0.1, step=1 / 36, per_octave=per_octave, least=1e-45)

    found = averaged()
    exponents = np.cumsum([2.0 ** (k // per_octave) for k in range(n_shares)]) / 36
    ratio = np.log(np.maximum(posterior / posterior.max(axis=1, keepdims=True, initial=FLOOR), 1e-45))
    expected = 0.1 + sum(
        share * in_numpy(softmax, exponent * ratio) for share, exponent in zip(shares, exponents, strict=True)
    )
    assert np.allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert np.allclose(found, in_numpy(averaged), rtol=1e-11, atol=1e-13)


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 3, 4, 7]), st.sampled_from([0, 1, 5, 40]))
def test_worker_matrices_in_c_are_those_in_numpy(seed: int, m: int, n_workers: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.exponential(2.0, (n_workers, m, m)) * (rng.random((n_workers, m, m)) < 0.7)
    pooled = rng.dirichlet(np.ones(m), m).T
    scale = rng.uniform(0.0, 0.9, n_workers)

    def fitted() -> tuple[FloatArray, tuple[float, float]]:
        return log_matrices(counts, pooled, scale, 2.5, FLOOR), matrix_moments(counts, pooled, 1.5)

    log_theta, moments = fitted()
    plain_log_theta, plain_moments = in_numpy(fitted)
    assert np.allclose(np.exp(log_theta).sum(axis=1), 1.0, rtol=1e-12, atol=0.0)
    # A diagonal entry is a difference, one less the errors, so that it is compared as a probability.
    assert np.allclose(np.exp(log_theta), np.exp(plain_log_theta), rtol=1e-11, atol=1e-14)
    assert np.allclose(moments, plain_moments, rtol=1e-9, atol=1e-9)


@in_c
def test_exp_and_log_are_within_1e_15_of_the_c_librarys() -> None:
    assert NATIVE is not None
    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, -599.0, -601.0, -708.0, 708.0, 1e-300, -1e-300, math.log(2) / 2, -math.log(2) / 2, 1.0]
    x = np.concatenate([-rng.exponential(3.0, 50_000), rng.uniform(-708, 708, 50_000), edges])
    found = np.empty(len(x))
    NATIVE.exp_rows(x, found, len(x), 1)
    expected = np.array([math.exp(value) for value in x.tolist()])
    assert np.max(np.abs(found / expected - 1)) < 1e-15
    low = np.array([-709.0, -720.0, -744.0, -746.0, -800.0, -1e308, -np.inf])
    subnormal = np.empty(len(low))
    NATIVE.exp_rows(low, subnormal, len(low), 1)
    # One unit in the last place of a subnormal number is 5e-324.
    assert np.max(np.abs(subnormal - [math.exp(value) for value in low.tolist()])) <= 5e-324
    y = np.concatenate([expected, rng.random(50_000), 1 + rng.normal(0, 1e-6, 1000), [FLOOR, 1.0, 0.5, 2.0, 1e308]])
    found = np.empty(len(y))
    NATIVE.log_rows(y, found, len(y), 1)
    logs = np.array([math.log(value) for value in y.tolist()])
    assert np.max(np.abs(found - logs) / np.maximum(np.abs(logs), FLOOR)) < 1e-15
