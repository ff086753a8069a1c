"""Class proportions are kept as far as the symbols of a task are correlated within its class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.models.abstention import (
    prior_preserving_shift,
    several_workers_grade,
    totals_and_slope,
    within_task_correlation,
    within_task_sums,
)
from quorate.voting.posterior import softmax


@pytest.mark.parametrize("size", [0.1, 2.0, 30.0])
def test_as_many_tasks_stay_in_each_class(size: float) -> None:
    rng = np.random.default_rng(0)
    scores, added = rng.normal(size=(50, 3)), size * rng.normal(1, 2, size=(50, 3))
    factor = rng.uniform(0.3, 1, (50, 1))
    before = softmax(scores * factor).sum(axis=0)
    shift = prior_preserving_shift(lambda shift: totals_and_slope(scores + added + shift, factor), before)
    after = softmax((scores + added + shift) * factor).sum(axis=0)
    assert np.allclose(after, before, atol=1e-9)  # Newton's last step is below 1e-6, and its error that step squared


def test_slope_is_the_derivative_of_the_totals() -> None:
    rng = np.random.default_rng(1)
    scores, factor, step = rng.normal(size=(20, 3)), rng.uniform(0.3, 1, (20, 1)), 1e-6
    _, slope = totals_and_slope(scores, factor)
    for k in range(3):
        ends = [totals_and_slope(scores + sign * step * np.eye(3)[k], factor)[0] for sign in (1, -1)]
        assert np.allclose((ends[0] - ends[1]) / (2 * step), slope[k], atol=1e-7)  # of central differences


def naive_correlation(task: np.ndarray, scores: np.ndarray, posterior: np.ndarray) -> float:
    """By loops over classes, tasks and every two symbols of a task."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    groups = [np.flatnonzero(task == t) for t in range(len(posterior))]
    shared = total = 0.0
    for k in range(posterior.shape[1]):
        rows = [(posterior[t, k], r) for t, group in enumerate(groups) if len(group) > 1 for r in group]
        weight = sum(w for w, _ in rows)
        mean = sum((w * centred[r] for w, r in rows), np.zeros(scores.shape[1])) / weight if weight > 0 else 0.0
        for t, group in enumerate(groups):
            if len(group) > 1:
                off = centred[group] - mean
                pairs = sum(off[i] @ off[j] for i in range(len(group)) for j in range(len(group)) if i != j)
                shared += posterior[t, k] * float(pairs) / (len(group) - 1)
                total += posterior[t, k] * float((off**2).sum())
    return max(shared / total, 0.0) if total > 1e-12 else 0.0


@given(st.integers(0, 10_000))
def test_correlation_by_sums_equals_loops_over_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_tasks, m = rng.integers(1, 8), rng.integers(2, 4)
    task = rng.integers(0, n_tasks, rng.integers(1, 25))
    scores, posterior = rng.normal(size=(len(task), m)), rng.dirichlet(np.ones(m), n_tasks)
    found = within_task_correlation(*within_task_sums(task, scores, posterior))
    assert found == pytest.approx(naive_correlation(task, scores, posterior), abs=1e-9)


def test_correlation_is_the_shared_part_of_the_variance() -> None:
    rng = np.random.default_rng(1)
    truth, task = rng.integers(0, 2, 2000), np.repeat(np.arange(2000), 4)
    shared, own = rng.normal(0, 0.6, 2000)[task], rng.normal(0, 0.8, 8000)
    scores = np.stack([np.zeros(8000), 2.0 * truth[task] + shared + own], axis=1)
    found = within_task_correlation(*within_task_sums(task, scores, np.eye(2)[truth]))
    assert found == pytest.approx(0.36, abs=0.04)  # .6² of .6² + .8²; standard error .015 for so many tasks
    assert (
        within_task_correlation(*within_task_sums(task, np.stack([np.zeros(8000), own], axis=1), np.eye(2)[truth]))
        < 0.04
    )


def test_one_grading_worker_is_not_several() -> None:
    """Workers × symbols: two symbols stand for each class; an abstention is no grade."""
    point = np.array([0, 0, 1, 1, -1])
    one = np.array([[3, 1, 0, 2, 4], [2, 0, 0, 2, 1]])[:, :, None].astype(float)
    both = np.array([[3, 1, 0, 2, 4], [2, 0, 1, 2, 1]])[:, :, None].astype(float)
    assert not several_workers_grade(one, point)
    assert several_workers_grade(both, point)


def test_correlation_does_not_depend_on_the_scale() -> None:
    """Small score differences have the same correlation; none at all have zero."""
    task, sure = np.array([0, 0, 1, 1]), np.array([[0.0, 1.0]] * 2)
    scores = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 3.0]])
    assert within_task_correlation(*within_task_sums(task, scores * 1e-3, sure)) == pytest.approx(1.0)
    assert within_task_correlation(*within_task_sums(task, scores * 0.0, sure)) == 0.0
