import numpy as np
import pytest

from quorate import simulate
from quorate.errors import TooLargeError
from quorate.evaluation.metrics import expected_error
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.models import confusion
from tests.crowds import answers_of


def test_matrices_err_less_than_one_accuracy_if_accuracy_differs_between_classes() -> None:
    rng = np.random.default_rng(0)
    n_tasks, n_workers = 3000, 8
    truth = rng.integers(0, 2, n_tasks)
    right = np.where(truth[:, None] == 0, 0.95, rng.uniform(0.45, 0.7, n_workers))
    label = np.where(rng.random((n_tasks, n_workers)) < right, truth[:, None], 1 - truth[:, None])
    answers = answers_of([(t, w, int(label[t, w])) for t in range(n_tasks) for w in range(n_workers)])
    gold = dict(enumerate(truth.tolist()))
    many, few = (expected_error(aggregate_in_memory(name, answers), gold).error for name in ("dawid-skene", "one-coin"))
    assert many < few - 0.02


def test_a_crowd_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confusion, "MAX_ENTRIES", 10)
    with pytest.raises(TooLargeError, match="rank-one or iwmv"):
        aggregate_in_memory("dawid-skene", simulate.crowd(20, 6, 3).answers)


def test_one_accuracy_a_worker_needs_no_room_for_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = simulate.crowd(20, 15, 3).answers
    monkeypatch.setattr(confusion, "MAX_ENTRIES", 50)  # 20 tasks × 2 classes fit, 15 workers × 2 × 2 do not
    assert len(aggregate_in_memory("one-coin", answers).labels) == 20
    with pytest.raises(TooLargeError, match="confusion matrix"):
        aggregate_in_memory("dawid-skene", answers)
