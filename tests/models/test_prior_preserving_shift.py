"""How many tasks are of each class stays, as far as what is said of a task is alike beyond its class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.models.abstention import alike_sums, leaning_of, prior_preserving_shift, several_grade, told_alike
from quorate.voting.posterior import softmax


@pytest.mark.parametrize("size", [0.1, 2.0, 30.0])
def test_as_many_tasks_stay_in_each_class(size: float) -> None:
    rng = np.random.default_rng(0)
    scores, added = rng.normal(size=(50, 3)), size * rng.normal(1, 2, size=(50, 3))
    factor = rng.uniform(0.3, 1, (50, 1))
    before = softmax(scores * factor).sum(axis=0)
    shift = prior_preserving_shift(lambda shift: leaning_of(scores + added + shift, factor), before)
    after = softmax((scores + added + shift) * factor).sum(axis=0)
    assert np.allclose(after, before, atol=1e-9)  # Newton's last step is below 1e-6, and its error that step squared


def test_how_fast_beliefs_change_is_their_derivative() -> None:
    rng = np.random.default_rng(1)
    scores, factor, step = rng.normal(size=(20, 3)), rng.uniform(0.3, 1, (20, 1)), 1e-6
    _, slope = leaning_of(scores, factor)
    for k in range(3):
        ends = [leaning_of(scores + sign * step * np.eye(3)[k], factor)[0] for sign in (1, -1)]
        assert np.allclose((ends[0] - ends[1]) / (2 * step), slope[k], atol=1e-7)  # of central differences


def naive_alike(task: np.ndarray, told: np.ndarray, belief: np.ndarray) -> float:
    """By loops over classes, tasks and every two things that are said of one."""
    apart = told - told.mean(axis=1, keepdims=True)
    groups = [np.flatnonzero(task == t) for t in range(len(belief))]
    alike = total = 0.0
    for k in range(belief.shape[1]):
        rows = [(belief[t, k], r) for t, group in enumerate(groups) if len(group) > 1 for r in group]
        weight = sum(w for w, _ in rows)
        mean = sum((w * apart[r] for w, r in rows), np.zeros(told.shape[1])) / weight if weight > 0 else 0.0
        for t, group in enumerate(groups):
            if len(group) > 1:
                off = apart[group] - mean
                pairs = sum(off[i] @ off[j] for i in range(len(group)) for j in range(len(group)) if i != j)
                alike += belief[t, k] * float(pairs) / (len(group) - 1)
                total += belief[t, k] * float((off**2).sum())
    return max(alike / total, 0.0) if total > 1e-12 else 0.0


@given(st.integers(0, 10_000))
def test_sums_tell_what_loops_over_every_two_tell(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_tasks, m = rng.integers(1, 8), rng.integers(2, 4)
    task = rng.integers(0, n_tasks, rng.integers(1, 25))
    told, belief = rng.normal(size=(len(task), m)), rng.dirichlet(np.ones(m), n_tasks)
    found = told_alike(*alike_sums(task, told, belief))
    assert found == pytest.approx(naive_alike(task, told, belief), abs=1e-9)


def test_what_is_told_alike_is_the_part_that_is_shared() -> None:
    rng = np.random.default_rng(1)
    truth, task = rng.integers(0, 2, 2000), np.repeat(np.arange(2000), 4)
    shared, own = rng.normal(0, 0.6, 2000)[task], rng.normal(0, 0.8, 8000)
    told = np.stack([np.zeros(8000), 2.0 * truth[task] + shared + own], axis=1)
    found = told_alike(*alike_sums(task, told, np.eye(2)[truth]))
    assert found == pytest.approx(0.36, abs=0.04)  # .6² of .6² + .8²; so many tasks tell it to .015
    assert told_alike(*alike_sums(task, np.stack([np.zeros(8000), own], axis=1), np.eye(2)[truth])) < 0.04


def test_one_worker_who_grades_repeats_nobody() -> None:
    """Workers × symbols: of the symbols two point to each class; to abstain is no grade."""
    point = np.array([0, 0, 1, 1, -1])
    one = np.array([[3, 1, 0, 2, 4], [2, 0, 0, 2, 1]])[:, :, None].astype(float)
    both = np.array([[3, 1, 0, 2, 4], [2, 0, 1, 2, 1]])[:, :, None].astype(float)
    assert not several_grade(one, point)
    assert several_grade(both, point)


def test_little_that_is_told_is_no_less_alike() -> None:
    """However small the differences are that symbols make, their share is what counts."""
    task, sure = np.array([0, 0, 1, 1]), np.array([[0.0, 1.0]] * 2)
    told = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 3.0]])
    assert told_alike(*alike_sums(task, told * 1e-3, sure)) == pytest.approx(1.0)
    assert told_alike(*alike_sums(task, told * 0.0, sure)) == 0.0
