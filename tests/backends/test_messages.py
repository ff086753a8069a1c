"""Abstentions and grades mean the same in an engine as in memory."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate import backends
from quorate.errors import ArgumentError, MapError
from tests.backends.alike import aggregate, assert_alike, by_id

LABELS = ["no", "yes", "unsure", "skip", None]


def rows(seed: int = 0, *, words: bool = True) -> pa.Table:
    """Answers, abstentions and blanks, repeats and contradictions among them."""
    rng = np.random.default_rng(seed)
    n = 400
    label = rng.choice(5, n, p=[0.4, 0.3, 0.15, 0.05, 0.1]) if words else rng.integers(0, 10, n)
    return pa.table(
        {
            "task": rng.integers(0, 60, n),
            "worker": rng.choice([f"w{k}" for k in range(9)], n),
            "label": [LABELS[k] for k in label] if words else [str(k) for k in label],
            "place": np.arange(n),
        }
    )


@pytest.mark.parametrize("method", ["majority", "one-coin"])
@pytest.mark.parametrize("policy", ["last", "drop"])
def test_abstentions_are_left_out_and_counted_as_in_memory(method: str, policy: str) -> None:
    reading: dict[str, Any] = {"abstain": ["unsure", "skip"], "skip_missing": True, "on_conflict": policy}
    memory = quorate.aggregate(rows(), method, intervals="fast", **reading)
    found = aggregate(rows(), method, order="place", **reading)
    assert_alike(found, memory)
    assert found.info.n_abstained == memory.answers.n_abstained > 0
    ours, theirs = by_id(found.workers, "worker"), by_id(memory.workers, "worker")
    assert {name: row["n_abstained"] for name, row in ours.items()} == {
        name: row["n_abstained"] for name, row in theirs.items()
    }


def test_a_map_means_the_same() -> None:
    scale = {str(grade): None if grade == 5 else "high" if grade > 5 else "low" for grade in range(10)}
    reading: dict[str, Any] = {"map": scale, "on_conflict": "first", "classes": ["low", "high"]}
    memory = quorate.aggregate(rows(words=False), "majority", intervals="fast", **reading)
    found = aggregate(rows(words=False), "majority", order="place", **reading)
    assert_alike(found, memory)
    assert found.info.n_abstained == memory.answers.n_abstained
    assert found.info.classes.to_pylist() == ["low", "high"]


def test_what_nobody_gave_is_reported() -> None:
    reading: dict[str, Any] = {"abstain": ["unsure", "n/a"], "skip_missing": True, "on_conflict": "last"}
    notes = {note.kind: note.text for note in aggregate(rows(), order="place", **reading).notes}
    assert "no answer is 'n/a'" in notes["unused-abstentions"]


def test_a_map_that_misses_an_answer_is_refused() -> None:
    with pytest.raises(MapError, match=r"has no row for the answer '.' in the answers"):
        aggregate(rows(words=False), "majority", order="place", on_conflict="last", map={"1": "x"})


def test_few_answers_are_read_out_with_their_meaning() -> None:
    from quorate.backends import read

    reading: dict[str, Any] = {"abstain": ["unsure", "skip"], "skip_missing": True, "on_conflict": "last"}
    there = read(rows(), order="place", engine="duckdb", **reading)
    assert there.n_abstained == quorate.read(rows(), **reading).n_abstained


def test_arguments_of_the_wrong_type_are_named() -> None:
    with pytest.raises(ArgumentError, match="method= takes text, not 3"):
        backends.aggregate(rows(), method=3)  # type: ignore[arg-type]
