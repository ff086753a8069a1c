"""Soft labels: every class's probability by task, as pandas has it or without pandas, and weights for training."""

import pickle

import numpy as np
import pandas as pd
import pytest

import quorate
from quorate.voting.soft_labels import SoftLabels, training_weights

CROWD = quorate.simulate.crowd(60, 8, 4, n_classes=3, seed=0)


def test_the_frame_has_the_posterior_by_task_and_class() -> None:
    result = quorate.aggregate(CROWD.answers)
    soft = result.soft_labels()
    assert isinstance(soft, pd.DataFrame)
    assert soft.index.name == "task"
    assert list(soft.index) == result.labels["task"].to_pylist()
    assert list(soft.columns) == result.answers.classes.to_pylist()
    np.testing.assert_array_equal(soft.to_numpy(), result.posterior_matrix)
    long = result.posterior.to_pandas().pivot(index="task", columns="label", values="probability")
    pd.testing.assert_frame_equal(pd.DataFrame(soft).sort_index(), long[soft.columns], check_names=False)
    assert soft.idxmax(axis=1).tolist() == result.labels["label"].to_pylist()


def test_weights_are_one_if_certain_and_zero_at_chance() -> None:
    p = np.array([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.6, 0.3, 0.1]])
    np.testing.assert_allclose(training_weights(p), [1.0, 0.0, 0.4], atol=1e-12)
    soft = quorate.aggregate(CROWD.answers).soft_labels()
    weights = soft.weights()
    assert weights.index.equals(soft.index)
    np.testing.assert_allclose(weights, (3 * soft.max(axis=1) - 1) / 2)


def test_the_weight_is_the_share_of_the_hard_label_in_the_gradient() -> None:
    """For two classes, soft cross-entropy less its weighted hard part is the same whichever class is the label."""
    p = np.array([[0.8, 0.2], [0.2, 0.8]])
    gradients = np.array([0.7, -1.9])  # of the loss of each class, any numbers
    hard = gradients[p.argmax(axis=1)]
    rest = p @ gradients - training_weights(p) * hard
    assert rest[0] == pytest.approx(rest[1])


def test_without_a_confidence_the_row_is_empty_and_weighs_nothing() -> None:
    result = quorate.aggregate({"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"]})
    soft = result.soft_labels()
    assert soft.isna().all(axis=None)
    assert soft.weights().tolist() == [0.0, 0.0]


def test_without_pandas_it_has_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.result.find_spec", lambda name: None)
    result = quorate.aggregate(CROWD.answers)
    soft = result.soft_labels()
    assert isinstance(soft, SoftLabels)
    assert np.asarray(soft).shape == (60, 3)
    assert len(soft) == 60
    np.testing.assert_array_equal(soft.to_numpy(), result.posterior_matrix)
    assert soft.weights().shape == (60,)
    assert soft._repr_html_().startswith("<div")


def test_it_pickles_and_selections_are_plain_frames() -> None:
    soft = quorate.aggregate(CROWD.answers).soft_labels()
    assert pickle.loads(pickle.dumps(soft)).equals(soft)
    assert type(soft.head(2)) is pd.DataFrame


def test_soft_labels_are_read_as_predictions() -> None:
    result = quorate.aggregate(CROWD.answers)
    estimated = quorate.estimate(CROWD.answers, gold=CROWD.truth_table, predictions=result.soft_labels())
    assert estimated.accuracy is not None
    assert estimated.accuracy.value == pytest.approx(1 - result.score(CROWD.truth_table).error, abs=0.02)


def test_as_an_array_it_has_the_type_asked_for_and_shares_no_memory_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.result.find_spec", lambda name: None)
    soft = quorate.aggregate(CROWD.answers).soft_labels()
    assert np.asarray(soft, dtype=np.float32).dtype == np.float32
    copied = np.array(soft)
    copied[:] = -1.0
    assert (soft.probabilities >= 0).all()
    assert "3 classes for 60 tasks" in soft.summary()
