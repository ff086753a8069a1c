"""Classes in an order, and labels that cost least."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import CostError, OptionError
from quorate.evaluation.metrics import expected_error


def ordered_crowd(seed: int, n_classes: int = 5) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Workers who see a grade with normal noise, and some who guess."""
    rng = np.random.default_rng(seed)
    n_tasks, n_workers, per_task = 300, 20, 5
    truth = rng.integers(0, n_classes, n_tasks)
    noise, guesses = np.exp(rng.normal(-0.3, 0.5, n_workers)), rng.random(n_workers) < 0.3
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = np.concatenate([rng.choice(n_workers, per_task, replace=False) for _ in range(n_tasks)])
    seen = np.rint(truth[task] + noise[worker] * rng.normal(size=len(task))).clip(0, n_classes - 1)
    label = np.where(guesses[worker], rng.integers(0, n_classes, len(task)), seen).astype(int)
    return {"task": task, "worker": worker, "label": label + 1}, truth


def test_order_helps_where_there_is_one() -> None:
    errors, distances = [], []
    for seed in range(4):
        table, truth = ordered_crowd(seed)
        for ordered in (False, True):
            label = quorate.aggregate(table, ordered=ordered).vote.label
            errors.append((label != truth).mean())
            distances.append(np.abs(label - truth).mean())
    for found in (errors, distances):
        plain, ordered = np.reshape(found, (4, 2)).mean(axis=0)
        assert ordered < plain


def test_on_web_an_order_brings_what_kos_has(real: Any) -> None:
    answers, truth = real.load("web").answers, real.load("web").truth
    runs: tuple[dict[str, Any], ...] = ({}, {"ordered": True}, {"method": "kos", "classes": "ordered"})
    plain, ordered, kos = (expected_error(quorate.aggregate(answers, **run), truth).error for run in runs)
    assert ordered < plain / 2
    assert ordered == pytest.approx(kos, abs=0.01)  # two tasks in a hundred differ with the steps of EM


def test_two_classes_have_no_order_to_use() -> None:
    answers = quorate.simulate.crowd(200, 10, 4, seed=3).answers
    plain, ordered = quorate.aggregate(answers), quorate.aggregate(answers, ordered=True)
    assert np.array_equal(plain.vote.posterior, ordered.vote.posterior)
    assert np.array_equal(plain.vote.label, ordered.vote.label)


def test_turning_the_order_round_turns_the_result_round() -> None:
    table, _ = ordered_crowd(1)
    forth = quorate.aggregate(table, ordered=True)
    back = quorate.aggregate({**table, "label": 6 - table["label"]}, ordered=True)
    assert np.allclose(forth.vote.posterior, back.vote.posterior[:, ::-1], atol=1e-9)


def test_a_score_lies_in_its_interval_and_covers() -> None:
    table, truth = ordered_crowd(2)
    labels = quorate.aggregate(table, ordered=True).labels
    low, score, high = (np.array(labels[name].to_pylist()) for name in ("score_low", "score", "score_high"))
    assert ((low <= score) & (score <= high)).all()
    assert ((low <= truth + 1) & (truth + 1 <= high)).mean() > 0.95
    named = {**table, "label": [f"g{label}" for label in table["label"]]}
    assert "score" not in quorate.aggregate(named, ordered=True).labels.column_names


def test_listed_classes_set_the_order() -> None:
    table, _ = ordered_crowd(4, 3)
    words = {1: "low", 2: "mid", 3: "high"}
    named = {**table, "label": [words[label] for label in table["label"].tolist()]}
    by_number = quorate.aggregate(table, ordered=True)
    by_word = quorate.aggregate(named, ordered=True, classes=["low", "mid", "high"])
    assert np.allclose(by_number.vote.posterior, by_word.vote.posterior)


def test_known_labels_hold_among_ordered_classes() -> None:
    table, truth = ordered_crowd(5)
    gold = {task: int(truth[task]) + 1 for task in range(40)}
    result = quorate.aggregate(table, ordered=True, gold=gold)
    assert (result.vote.label[:40] == truth[:40]).all()


CLASSES = ["a", "b", "c"]
ZERO_ONE = [(label, true, float(label != true)) for label in CLASSES for true in CLASSES]


def costs(rows: list[tuple[str, str, float]]) -> dict[str, list[object]]:
    return {name: [row[k] for row in rows] for k, name in enumerate(("said", "true", "cost"))}


def three_classes() -> dict[str, list[object]]:
    answers = quorate.simulate.crowd(200, 8, 3, n_classes=3, seed=1).answers
    return {
        "task": answers.task.tolist(),
        "worker": answers.worker.tolist(),
        "label": [CLASSES[k] for k in answers.label],
    }


@pytest.mark.parametrize("method", ["quorate", "majority", "dawid-skene"])
def test_zero_one_costs_change_no_label(method: str) -> None:
    plain = quorate.aggregate(three_classes(), method)
    with_costs = quorate.aggregate(three_classes(), method, costs=costs(ZERO_ONE))
    assert plain.labels["label"].to_pylist() == with_costs.labels["label"].to_pylist()
    assert plain.labels["tied"].to_pylist() == with_costs.labels["tied"].to_pylist()
    expected = np.array(with_costs.labels["expected_cost"].to_pylist())
    assert np.allclose(expected, 1 - with_costs.vote.confidence)


def test_no_label_costs_less_in_expectation_than_the_one_given() -> None:
    rows = [(label, true, 0.0 if label == true else 9.0 if true == "c" else 1.0) for label, true, _ in ZERO_ONE]
    result = quorate.aggregate(three_classes(), costs=costs(rows))
    table = np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0]], dtype=float)
    expected = result.vote.posterior @ table.T
    assert np.allclose(expected.min(axis=1), result.labels["expected_cost"].to_pylist())
    plain = quorate.aggregate(three_classes()).vote.label
    assert (result.vote.label == 2).sum() > (plain == 2).sum()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ZERO_ONE[:5], "has no row for the label 'b' if 'c' is true, and of 2 more pairs"),
        ([*ZERO_ONE, ("a", "b", 7.0)], "two costs for the label 'a' if 'b' is true \\(row 10\\)"),
        ([*ZERO_ONE, ("a", "d", 7.0)], "the table of costs has 'd' in its column 'true'"),
        ([*ZERO_ONE[:1], ("a", "b", float("inf"))], "has inf in row 2"),
    ],
)
def test_costs_that_cannot_be_used_are_refused(rows: list[tuple[str, str, float]], message: str) -> None:
    with pytest.raises(CostError, match=message):
        quorate.aggregate(three_classes(), costs=costs(rows))


def test_shares_of_votes_are_no_probabilities() -> None:
    with pytest.raises(OptionError, match="the method kos has none"):
        quorate.aggregate(three_classes(), "kos", costs=costs(ZERO_ONE))
