"""The share of right answers of workers, against the truth of public sets and of simulated crowds."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.arrays import FloatArray
from quorate.datasets import Dataset
from quorate.diagnostics.right_shares import extra_wrong_answers, share_of_right_answers
from quorate.io.gold import match_truth
from quorate.voting.vote import accuracy

MIN_ANSWERS = 50  # of a worker whose share of right answers is compared


def true_shares(data: Dataset) -> tuple[FloatArray, FloatArray]:
    """Return the share of right answers of each worker on the tasks with a truth, and how many they are."""
    a = data.answers
    tasks, labels = match_truth(data.truth, a)
    truth_of_task = np.full(a.n_tasks, -1)
    is_met = tasks.codes >= 0
    truth_of_task[tasks.codes[is_met]] = np.where(labels.codes[is_met] >= 0, labels.codes[is_met], a.n_classes)
    truth = truth_of_task[a.task]
    n = a.by_worker((truth >= 0).astype(float))
    return a.by_worker((a.label == truth).astype(float)) / np.maximum(n, 1), n


def test_shares_and_intervals_hold_on_public_sets(real: Any) -> None:
    """Nine in ten intervals of 95 % hold the truth, and the shares are nearer to it than the accuracy by skill."""
    held = []
    by_share = []
    by_skill = []
    for name in ("bluebird", "temp", "rte1", "web", "dogs", "wsd"):
        data = real.load(name)
        result = quorate.aggregate(data.answers)
        right, n = true_shares(data)
        rated = (n >= MIN_ANSWERS) & ~np.isnan(result.skills)
        found = share_of_right_answers(result)
        held.append(((found.low <= right) & (right <= found.high))[rated])
        by_share.append(np.abs(found.share - right)[rated].mean())
        by_skill.append(np.abs(accuracy(result.skills, data.answers.n_classes) - right)[rated].mean())
    assert np.concatenate(held).mean() > 0.9
    assert np.mean(by_share) < 0.7 * np.mean(by_skill)


def test_where_one_class_is_frequent_a_worker_of_little_skill_is_often_right() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(600) < 0.1).astype(int)
    workers = [np.where(rng.random(600) < 0.85, truth, 1 - truth) for _ in range(5)]
    workers.append(np.where(rng.random(600) < 0.05, 1 - truth, 0))  # nearly always the frequent class
    task = np.tile(np.arange(600), 6)
    worker = np.repeat(np.arange(6), 600)
    answers = quorate.read({"task": task, "worker": worker, "label": np.concatenate(workers)})
    result = quorate.aggregate(answers)
    found = share_of_right_answers(result)
    assert found.low[5] < (workers[5] == truth).mean() < found.high[5]
    assert found.share[5] > accuracy(result.skills, 2)[5] + 0.15
    assert extra_wrong_answers(result)[5] < 60


def test_a_method_without_confidence_has_shares_by_skill() -> None:
    result = quorate.aggregate(quorate.simulate.crowd(300, 5, 4, seed=1).answers, "rank-one")
    assert result.right_answers is None
    assert share_of_right_answers(result).share == pytest.approx(accuracy(result.skills, 2))
    assert "By their skills, workers are right" in result.summary()
