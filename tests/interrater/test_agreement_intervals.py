"""Intervals of coefficients of agreement near the boundary: small samples, skewed classes, unanimous tasks."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.interrater.agreement import Agreement, agreement
from tests.diagnostics.samples import at_least


def table_of_labels(labels: IntArray) -> dict[str, Any]:
    """Answers from a table of tasks × workers."""
    n_tasks, n_workers = labels.shape
    return {
        "task": np.repeat(np.arange(n_tasks), n_workers),
        "worker": np.tile(np.arange(n_workers), n_tasks),
        "label": labels.ravel(),
    }


def sampled(n_tasks: int, n_workers: int, accuracy: float, prior: FloatArray, seed: Any) -> Answers:
    """Workers of one accuracy whose errors are spread evenly over the other classes."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(prior), n_tasks, p=prior)[:, None]
    right = rng.random((n_tasks, n_workers)) < accuracy
    wrong = (truth + rng.integers(1, len(prior), right.shape)) % len(prior)
    return quorate.read(table_of_labels(np.where(right, truth, wrong)), classes=list(range(len(prior))))


def unanimous(n_tasks: int, n_classes: int = 2, n_workers: int = 2) -> dict[str, Any]:
    return table_of_labels(np.tile(np.arange(n_tasks)[:, None] % n_classes, n_workers))


# --- the boundary ---


@pytest.mark.parametrize("n_workers", [2, 3, 5])
def test_unanimous_tasks_do_not_prove_perfect_agreement(n_workers: int) -> None:
    for name, found in agreement(unanimous(30, n_workers=n_workers)).overall.items():
        assert (found.value, found.high) == (1.0, 1.0), name
        assert found.low is not None
        assert 0.7 < found.low < 0.95, name


def test_unanimous_tasks_of_one_class_do_not_prove_perfect_agreement() -> None:
    found = agreement(unanimous(30, n_classes=1)).overall
    assert found["krippendorff_alpha"].value is None
    percent = found["percent_agreement"]
    assert percent.low == pytest.approx(0.025 ** (1 / 30), abs=0.02)
    assert percent.high == 1.0


@pytest.mark.parametrize("n_differ", [0, 1, 5, 15, 30])
def test_percent_agreement_of_two_workers_has_the_interval_of_clopper_and_pearson(n_differ: int) -> None:
    """The pseudo-task at either end gives the two beta laws exactly; 4,000 draws tell an end to within 0.01."""
    labels = np.zeros((30, 2), int)
    labels[::2] = 1
    labels[:n_differ, 0] = 1 - labels[:n_differ, 1]
    found = agreement(table_of_labels(labels), draws=4000).overall["percent_agreement"]
    agreed = 30 - n_differ
    assert found.low == pytest.approx(beta.ppf(0.025, agreed, n_differ + 1) if agreed else 0.0, abs=0.012)
    assert found.high == pytest.approx(beta.ppf(0.975, agreed + 1, n_differ) if n_differ else 1.0, abs=0.012)


def test_a_unanimous_class_and_a_unanimous_worker_are_not_certain_either() -> None:
    found = agreement(unanimous(30, n_classes=3))
    for row in found.by_class:
        for name, each in row.items():
            assert each.low is not None, name
            assert each.low < 0.95, name
            assert (each.value, each.high) == (1.0, 1.0), name
    assert found.by_worker.kappa == pytest.approx(1.0)
    assert (found.by_worker.low < 0.95).all()
    assert found.by_worker.high == pytest.approx(1.0)


def test_groups_of_workers_have_such_intervals() -> None:
    table = unanimous(30) | {"site": np.tile(["north", "north"], 30)}
    low = agreement(table, group="site").by_group[0]["gwet_ac1"].low
    assert low is not None
    assert 0.7 < low < 0.95


# --- coverage, and what it costs ---

EVEN_2 = np.array([0.5, 0.5])
SKEWED_2 = np.array([0.97, 0.03])
SKEWED_4 = np.array([0.91, 0.03, 0.03, 0.03])


@pytest.mark.parametrize(
    ("n_tasks", "n_workers", "accuracy", "prior", "scale"),
    [
        (30, 2, 0.99, EVEN_2, "nominal"),
        (30, 3, 0.99, SKEWED_2, "nominal"),
        (10, 2, 0.9, SKEWED_2, "nominal"),
        (30, 3, 0.9, SKEWED_4, "ordinal"),
        (100, 2, 0.99, SKEWED_2, "nominal"),
    ],
)
def test_intervals_cover_near_the_boundary(
    n_tasks: int, n_workers: int, accuracy: float, prior: FloatArray, scale: str
) -> None:
    """150 crowds: at least 92 of 100 intervals hold the coefficient of 200,000 tasks, where one is defined."""
    crowds = 150
    true = agreement(sampled(200_000, n_workers, accuracy, prior, 0), scale=scale, draws=1).overall  # type: ignore[arg-type]
    held: dict[str, list[bool]] = {name: [] for name in true}
    for seed in range(1, crowds + 1):
        answers = sampled(n_tasks, n_workers, accuracy, prior, [seed, n_tasks])
        for name, each in agreement(answers, scale=scale, draws=300, seed=seed).overall.items():  # type: ignore[arg-type]
            if each.value is not None:
                assert each.low is not None
                assert each.high is not None
                held[name].append(each.low - 1e-9 <= (true[name].value or 0) <= each.high + 1e-9)
    for name, hits in held.items():
        assert sum(hits) >= at_least(0.95, len(hits)), name
        assert np.mean(hits) >= 0.92, name


@pytest.mark.parametrize(("accuracy", "prior"), [(0.99, EVEN_2), (0.9, SKEWED_2)])
def test_the_interval_of_a_worker_covers_near_the_boundary(accuracy: float, prior: FloatArray) -> None:
    def kappa(found: Agreement) -> FloatArray:
        return found.by_worker.kappa

    true = kappa(agreement(sampled(200_000, 3, accuracy, prior, 0), draws=1)).mean()
    held = []
    for seed in range(1, 151):
        found = agreement(sampled(30, 3, accuracy, prior, seed), draws=1).by_worker
        held += [low <= true <= high for low, high in zip(found.low, found.high, strict=True) if not np.isnan(low)]
    assert np.mean(held) >= 0.92


def test_with_many_tasks_the_interval_is_that_of_the_plain_bootstrap() -> None:
    labels = np.random.default_rng(3).integers(0, 4, (1500, 3)) // 3
    found = agreement(table_of_labels(labels), draws=4000).overall["percent_agreement"]
    alike = (labels == np.roll(labels, 1, axis=1)).mean(axis=1)
    picks = np.random.default_rng(4).integers(0, 1500, (4000, 1500))
    low, high = np.quantile(alike[picks].mean(axis=1), [0.025, 0.975])
    assert found.low == pytest.approx(low, abs=0.1 * (high - low))
    assert found.high == pytest.approx(high, abs=0.1 * (high - low))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(5, 15),
    st.integers(2, 4),
    st.sampled_from([1, 2, 3]),
    st.floats(0, 1),
    st.sampled_from(["nominal", "ordinal", "interval"]),
    st.integers(0, 999),
)
def test_no_estimate_lies_outside_its_interval(
    n_tasks: int, n_workers: int, n_classes: int, unlike: float, scale: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = np.tile(rng.integers(0, n_classes, (n_tasks, 1)), n_workers)
    labels = np.where(rng.random(labels.shape) < unlike, rng.integers(0, n_classes, labels.shape), labels)
    found = agreement(table_of_labels(labels), scale=scale, draws=40)  # type: ignore[arg-type]
    for row in (found.overall, *found.by_class):
        for name, each in row.items():
            if each.value is None:
                assert (each.low, each.high) == (None, None), name
            else:
                assert each.low is not None, name
                assert each.high is not None, name
                assert each.low <= each.value <= each.high <= 1 + 1e-12, name
    worker = found.by_worker
    defined = ~np.isnan(worker.kappa)
    assert (worker.low[defined] <= worker.kappa[defined]).all()
    assert (worker.kappa[defined] <= worker.high[defined]).all()
