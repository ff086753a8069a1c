"""The laws that every method obeys."""

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.answers import Answers
from quorate.errors import OptionError, TooLargeError, UnknownMethodError
from quorate.evaluation.compare import compare, parse_method
from quorate.evaluation.metrics import expected_error
from quorate.methods.registry import METHODS
from tests.crowds import answers_of

NAMES = list(METHODS)
# Small settings for the methods that would otherwise take their time; the laws hold for any.
QUICK: dict[str, dict[str, Any]] = {
    "m3v": {"sweeps": 12, "burn_in": 2},
    "opt-ds": {"starts": 10, "power_steps": 20},
    "mace": {"restarts": 2, "iterations": 20},
    "glad": {"max_iterations": 20},
}


def run(name: str, answers: Answers, **options: Any) -> quorate.Result:
    return quorate.aggregate(answers, name, **(QUICK.get(name, {}) | options))


def tiny(seed: int) -> Answers:
    """A random tiny data set: one worker, one task, one class, empty classes, disconnected, single answers."""
    rng = np.random.default_rng(seed)
    n_tasks, n_workers, n_classes = int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(1, 5))
    share = rng.uniform(0.2, 1.0)
    cells = [(t, w) for t in range(n_tasks) for w in range(n_workers) if rng.random() < share] or [(0, 0)]
    rows = [(f"t{t}", f"w{w}", f"c{rng.integers(n_classes)}") for t, w in cells]
    if seed % 4 == 0:  # a conflict that leaves a task or a worker without answers
        rows += [("t9", "w9", "c0"), ("t9", "w9", "c1")]
    classes = ["c0", "c1", "c2", "c3", "never"] if seed % 3 == 0 else None
    if all(row[0] == "t9" for row in rows):
        rows.append(("t0", "w0", "c0"))
    return answers_of(rows, on_conflict="drop", classes=classes)


@pytest.mark.parametrize("name", NAMES)
def test_no_method_raises_or_warns_on_200_tiny_data_sets(name: str) -> None:
    for seed in range(200):
        answers = tiny(seed)
        result = run(name, answers)
        assert result.labels["label"].null_count == (answers.per_task == 0).sum(), seed
        assert len(result.labels) == answers.n_tasks
        assert len(result.workers) == answers.n_workers
        assert np.isfinite(result.vote.posterior).all(), seed
        assert result.vote.posterior.sum(axis=1) == pytest.approx(1), seed
        assert np.isfinite(result.weights).all(), seed
        assert isinstance(result.summary(), str)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_renaming_workers_and_tasks_changes_nothing_else(name: str, n_classes: int) -> None:
    answers = simulate.crowd(150, 12, 4, n_classes=n_classes, seed=3).answers
    renamed = replace(
        answers,
        task_names=answers.task_names.cast("large_string"),
        worker_names=quorate.read({"task": range(12), "worker": list("lkjihgfedcba"), "label": [0] * 12}).worker_names,
    )
    one, two = run(name, answers), run(name, renamed)
    assert (one.vote.label == two.vote.label).all()
    assert one.vote.posterior == pytest.approx(two.vote.posterior)


# Opt-D&S puts workers into three groups by number, M3V draws, KOS and MACE start by number: that is another draw.
@pytest.mark.parametrize("name", [name for name in NAMES if name not in {"opt-ds", "m3v", "kos", "mace"}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_renumbering_workers_and_tasks_permutes_the_result(name: str, n_classes: int) -> None:
    answers = simulate.crowd(300, 10, 4, n_classes=n_classes, skills=np.linspace(0.2, 0.9, 10), seed=5).answers
    rng = np.random.default_rng(0)
    t, w = rng.permutation(answers.n_tasks), rng.permutation(answers.n_workers)
    task, worker = t[answers.task].astype(np.int32), w[answers.worker].astype(np.int32)
    order = np.lexsort([worker, task])
    other = replace(answers, task=task[order], worker=worker[order], label=answers.label[order])
    one, two = run(name, answers), run(name, other)
    alike = one.vote.label == two.vote.label[t]
    # Solvers stop within a tolerance, so a task may fall the other way only where the vote is all but tied.
    assert (alike | (one.vote.margin < 1e-3)).all()


@pytest.mark.parametrize("name", NAMES)
def test_every_method_labels_an_easy_crowd_well_and_takes_gold(name: str) -> None:
    crowd = simulate.crowd(300, 9, 6, skills=np.linspace(0.5, 0.9, 9), seed=1)
    result = run(name, crowd.answers)
    assert expected_error(result, crowd.truth_table).error < 0.06
    wrong = {"t0": f"c{1 - crowd.truth[0]}"}
    with_gold = run(name, crowd.answers, gold=wrong)
    assert with_gold.labels["label"][0].as_py() == wrong["t0"]
    assert with_gold.labels["confidence"][0].as_py() == 1.0


RANDOM = [name for name in NAMES if "seed" in inspect.signature(METHODS[name].load()).parameters]


@pytest.mark.parametrize("name", RANDOM)
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    answers = simulate.crowd(100, 10, 4, n_classes=3, seed=1).answers
    one, two = (run(name, answers, seed=7) for _ in range(2))
    assert one.labels == two.labels
    assert one.workers == two.workers


LARGE = {"m3v", "m3v-svm", "opt-ds", "m-msr"}


@pytest.fixture(scope="module")
def large() -> Answers:
    """50,000 workers, a million answers, most of them by few workers."""
    return simulate.crowd(200_000, 50_000, 5, activity=simulate.zipf_activity(50_000, 0.6), seed=0).answers


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LARGE])
def test_a_crowd_of_50_000_workers_and_a_million_answers_passes(large: Answers, name: str) -> None:
    few: dict[str, dict[str, Any]] = {
        "mace": {"restarts": 1, "iterations": 3},
        "glad": {"max_iterations": 3},
    }  # the size is what is asked about
    result = quorate.aggregate(large, name, **few.get(name, {}))
    assert len(result.vote.label) == 200_000


@pytest.mark.parametrize("name", ["m3v", "m3v-svm"])
def test_a_method_that_needs_a_dense_matrix_says_so_beforehand(large: Answers, name: str) -> None:
    with pytest.raises(TooLargeError, match="50,000 workers"):
        quorate.aggregate(large, name)
    found = compare(large, methods=[name, "majority"])
    assert "50,000 workers" in (found.entries[0].failed or "")
    assert found.entries[1].failed is None


def test_compare_scores_against_truth_or_by_agreement() -> None:
    crowd = simulate.crowd(300, 9, 4, seed=2)
    truth = {row["task"]: row["label"] for row in crowd.truth_table.to_pylist()[:100]}
    scored = compare(crowd.answers, truth, methods=["majority", "iwmv", "one-coin:max_iterations=3"])
    assert scored.n_scored == 100
    assert [entry.method for entry in scored.entries] == ["majority", "iwmv", "one-coin:max_iterations=3"]
    assert all(entry.failed is None and entry.error is not None for entry in scored.entries)
    assert [entry.log_loss is None for entry in scored.entries] == [False, True, False]
    blind = compare(crowd.answers, methods=["majority", "iwmv"])
    assert blind.entries[0].error is None
    matrix = blind.agreement()
    assert matrix[0][0] == matrix[1][1] == 1.0
    assert matrix[0][1] == blind.entries[0].agreement
    assert set(blind.to_dict()["methods"][0]) == {
        "method", "error", "error_low", "error_high", "p_value",
        "log_loss", "calibration_error", "agreement", "seconds", "failed", "doubts",
    }  # fmt: skip


def test_bad_method_specifications_are_named() -> None:
    with pytest.raises(UnknownMethodError, match="magic"):
        parse_method("magic")
    with pytest.raises(OptionError, match="er:option=value"):
        parse_method("er:ordered")
    crowd = simulate.crowd(30, 5, 3)
    assert "no option 'nonsense'" in (compare(crowd.answers, methods=["iwmv:nonsense=1"]).entries[0].failed or "")
    assert parse_method("m3v:c=0.5:seed=3") == ("m3v", {"c": 0.5, "seed": 3})
