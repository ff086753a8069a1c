"""What is known of workers is read back as it was written, and what is no skill is refused by its row."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import BlankFieldError, ColumnTypeError, ConflictingGoldError, MissingColumnError, OptionError
from quorate.io.skills import read_skills
from quorate.io.write_table import write_table

COLUMNS: dict[str, list[Any]] = {
    "worker": ["a", "b"],
    "skill": [0.5, 0.7],
    "skill_low": [0.4, 0.6],
    "skill_high": [0.6, 0.8],
}


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_what_was_written_is_read(ending: str, tmp_path: Path) -> None:
    workers = quorate.aggregate({"task": [1, 1, 1, 2], "worker": list("abcd"), "label": list("xyyx")}).workers
    write_table(workers, tmp_path / f"workers.{ending}")
    found = read_skills(tmp_path / f"workers.{ending}")
    assert found.worker.to_pylist() == ["a", "b", "c"]
    np.testing.assert_allclose(found.skill, workers["skill"].to_pylist()[:3])
    np.testing.assert_allclose(found.low, workers["skill_low"].to_pylist()[:3])
    assert found.n_undetermined == 1  # d met nobody


def test_accuracies_by_class_are_read_from_their_words() -> None:
    found = read_skills({**COLUMNS, "class_accuracy": ["red, or pink 0.91, blue 1.00", None]})
    assert found.by_class == ({"red, or pink": 0.91, "blue": 1.0}, {})


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"worker": ["a", "a"]}, ConflictingGoldError, "worker 'a' has two skills, in rows 1, 2"),
        ({"worker": ["a", None]}, BlankFieldError, "missing in row 2"),
        ({"skill": [0.5, 1.7]}, ColumnTypeError, "'skill' holds 1.7"),
        ({"skill": ["0.5", "good"]}, ColumnTypeError, "'skill' holds 'good'"),
        ({"skill_low": [0.4, None]}, OptionError, "1 worker of known skill has no interval"),
        ({"skill_low": [0.4, 0.9]}, ColumnTypeError, "lies above 'skill_high' in row 2"),
    ],
)
def test_what_is_no_skill_is_refused(change: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        read_skills({**COLUMNS, **change})


def test_a_table_of_another_kind_is_refused_with_what_is_wanted() -> None:
    with pytest.raises(MissingColumnError, match=r"result\.workers"):
        read_skills({"worker": ["a"], "skill": [0.5]})
    with pytest.raises(OptionError, match=r"give \(skill, low, high\)"):
        read_skills({"a": 0.5})
