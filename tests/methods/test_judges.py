"""Panels of language models: who is taken for one, what is stated about them, and what known labels change."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.backends import aggregate as aggregate_anywhere

MODELS = ["gpt-4o", "claude-3-opus", "llama-3-8b-instruct", "mistral-7b", "gemini-1.5-pro", "qwen2-72b"]
PEOPLE = ["ann", "bob", "cleo", "dan", "eve", "finn"]


def table_of(names: list[str], seed: int = 0) -> tuple[dict[str, Any], dict[str, str]]:
    crowd = simulate.crowd(300, len(names), 5, seed=seed)
    rows = crowd.answer_table.to_pylist()
    table = {
        "task": [row["task"] for row in rows],
        "worker": [names[int(row["worker"][1:])] for row in rows],
        "label": [row["label"] for row in rows],
    }
    return table, {row["task"]: row["label"] for row in crowd.truth_table.to_pylist()}


@pytest.mark.parametrize(
    ("names", "judges", "n_models"),
    [
        (MODELS, None, 6),
        (MODELS, False, 0),
        (PEOPLE, None, 0),
        (PEOPLE, True, 6),
        ([*MODELS[:3], *PEOPLE[:3]], None, 3),
        ([*MODELS[:1], *PEOPLE[:5]], None, 0),  # one model is no panel
    ],
)
def test_names_decide_unless_it_is_stated(names: list[str], judges: bool | None, n_models: int) -> None:
    table, _ = table_of(names)
    given: dict[str, Any] = {} if judges is None else {"judges": judges}
    result = quorate.aggregate(table, **given)
    assert result.confidence_basis is not None
    assert result.confidence_basis.n_models == n_models
    assert any(note.kind == "judges" for note in result.notes) is bool(n_models)
    assert ("judges=False" in result.summary()) is (bool(n_models) and judges is None)
    again = quorate.aggregate(quorate.read(table), **given)  # of answers that were read before, too
    assert again.confidence_basis is not None
    assert again.confidence_basis.n_models == n_models
    engine = aggregate_anywhere(table, most=0, **given)
    assert engine.confidence_basis is not None
    assert engine.confidence_basis.n_models == n_models


def test_models_have_agreement_instead_of_accuracy_until_labels_are_known() -> None:
    table, truth = table_of([*MODELS[:3], *PEOPLE[:3]])
    rows = {row["worker"]: row for row in quorate.aggregate(table).workers.to_pylist()}
    labels = {row["task"]: row["label"] for row in quorate.aggregate(table).labels.to_pylist()}
    for name, row in rows.items():
        is_model = name in MODELS
        assert (row["agreement"] is not None) is is_model
        for column in ("accuracy", "skill_low", "skill_high"):
            assert (row[column] is None) is is_model
        if is_model:
            given = [
                (task, label)
                for task, worker, label in zip(*(table[key] for key in ("task", "worker", "label")), strict=True)
                if worker == name
            ]
            assert row["agreement"] == pytest.approx(np.mean([labels[task] == label for task, label in given]))
    known = {f"t{k}": truth[f"t{k}"] for k in range(100)}
    table_known = quorate.aggregate(table, gold=known).workers
    assert "agreement" not in table_known.column_names
    for row in table_known.to_pylist():
        assert row["accuracy"] is not None
        assert row["skill_low"] <= row["skill"] <= row["skill_high"]


def test_accuracies_of_models_rest_on_known_labels_alone() -> None:
    """Judges who share mistakes agree far more than they are right: intervals by known labels cover."""
    rng = np.random.default_rng(3)
    n_tasks = 600
    truth = rng.integers(0, 2, n_tasks)
    misled = rng.random(n_tasks) < 0.3  # tasks that mislead all
    right = np.where(misled[:, None], 0.1, np.linspace(0.8, 0.95, 6))
    label = np.where(rng.random((n_tasks, 6)) < right, truth[:, None], 1 - truth[:, None])
    rows = [(f"t{t}", MODELS[w], f"c{label[t, w]}") for t in range(n_tasks) for w in range(6)]
    table = dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True))
    accuracy = (label == truth[:, None]).mean(axis=0)
    known = {f"t{t}": f"c{truth[t]}" for t in range(150)}
    found = {row["worker"]: row for row in quorate.aggregate(table, gold=known).workers.to_pylist()}
    covered = [
        found[name]["skill_low"] <= 2 * accuracy[w] - 1 <= found[name]["skill_high"] for w, name in enumerate(MODELS)
    ]
    assert sum(covered) >= 5


def test_a_panel_is_less_confident_than_people_and_its_interval_is_wider() -> None:
    table, _ = table_of(MODELS)
    panel, people = (quorate.aggregate(table, judges=judges) for judges in (True, False))
    assert panel.vote.confidence.mean() < people.vote.confidence.mean()
    widths = []
    for result in (panel, people):
        assert result.confidence_basis is not None
        share = result.confidence_basis.share_right
        assert share is not None
        widths.append(share.high - share.low)
    assert widths[0] > widths[1]


def test_repeated_calls_of_one_model_are_one_group() -> None:
    names = ["gpt-4o run 1", "gpt-4o run 2", "gpt-4o run 3", "claude-3-opus", "llama-3-8b", "mistral-7b"]
    result = quorate.aggregate(table_of(names)[0])
    assert result.confidence_basis is not None
    assert result.confidence_basis.families == (tuple(names[:3]),)
