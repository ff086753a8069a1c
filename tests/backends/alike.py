"""What it means that an engine and memory agree; and how tests have few answers packed into blocks."""

from functools import partial
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.backends import aggregate as aggregate_anywhere
from quorate.backends import diagnose as diagnose_anywhere
from quorate.result import Result

aggregate = partial(aggregate_anywhere, most=0)
diagnose = partial(diagnose_anywhere, most=0)

# Sums of the same few hundred numbers in another order differ by their rounding; a solver passes it on.
ROUNDING = 1e-9
COUNTED = ("n_tasks", "n_workers", "n_answers", "n_classes", "n_rows", "n_repeats", "n_conflicting", "n_skipped")


def by_id(rows: Any, key: str) -> dict[Any, dict[str, Any]]:
    return {row[key]: row for row in rows.to_pylist()}


def assert_alike(found: Result, memory: Result) -> None:
    """Count for count, label for label, ties included, under the same names."""
    assert found.to_dict().keys() == memory.to_dict().keys()
    answers: Answers = memory.answers
    for name in COUNTED:
        assert getattr(found.info, name) == getattr(answers, name), name
    assert found.info.classes.to_pylist() == answers.classes.to_pylist()
    ours, theirs = by_id(found.labels, "task"), by_id(memory.labels, "task")
    assert ours.keys() == theirs.keys()
    for task, row in theirs.items():
        assert list(ours[task]) == list(row)  # the same columns
        for name in {"label", "n_answers", "n_abstained", "tied", "status"} & row.keys():
            assert ours[task][name] == row[name], (task, name, ours[task], row)
        for name in ("confidence", "margin"):
            assert (ours[task][name] is None) == (row[name] is None), (task, name, ours[task], row)
            assert row[name] is None or abs(ours[task][name] - row[name]) < ROUNDING, (task, name, ours[task], row)
    assert_workers_alike(found, memory)


def farthest(one: Result, other: Result) -> float:
    """By how much two results differ at the most in how likely they think a class."""
    a, b = (by_id(result.labels, "task") for result in (one, other))
    assert a.keys() == b.keys()
    alike = {key: float(row["label"] == b[key]["label"]) for key, row in a.items()}
    assert all((row["confidence"] is None) == (b[key]["confidence"] is None) for key, row in a.items())
    stated = {key: row["confidence"] for key, row in a.items() if row["confidence"] is not None}
    return float(max(abs(confidence - alike[key] * b[key]["confidence"]) for key, confidence in stated.items()))


def assert_workers_alike(found: Result, memory: Result) -> None:
    ours, theirs = by_id(found.workers, "worker"), by_id(memory.workers, "worker")
    assert ours.keys() == theirs.keys()
    exact = ["n_answers", "status", "n_peers"]
    assert found.intervals.kind == memory.intervals.kind
    close = ["skill", "accuracy", "weight", "skill_low", "skill_high"]
    for worker, row in theirs.items():
        assert [ours[worker][name] for name in exact] == [row[name] for name in exact], worker
        for name in close:
            mine, other = ours[worker][name], row[name]
            assert (mine is None) == (other is None), (worker, name)
            # A skill stands where descent stopped, which rounding moves a little; an interval's end is its square root.
            assert mine is None or abs(mine - other) < 1e-6, (worker, name, mine, other)
    assert (found.identifiability is None) == (memory.identifiability is None)
    if found.identifiability is not None:  # the same partition: components of one size may change places
        parts: dict[Any, Any] = {}
        for worker, row in theirs.items():
            assert parts.setdefault(row["component"], ours[worker]["component"]) == ours[worker]["component"]
        assert len(set(parts.values())) == len(parts)
    assert np.array_equal(np.isnan(found.skills), [row["skill"] is None for row in found.workers.to_pylist()])
