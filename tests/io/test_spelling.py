"""Labels that differ only by case or spaces are listed, and merged on request; labels of several types."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import quorate
from quorate.errors import OptionError
from quorate.io.options import ReadOptions
from quorate.io.read import read
from quorate.io.warnings import answer_warnings
from quorate.ledger import Ledger

ROWS = {"task": [1, 1, 1, 2, 2], "worker": list("abcab"), "label": ["cat", "Cat", "cat ", "dog", "dog"]}


def test_spellings_are_listed_and_merged_on_request() -> None:
    apart = quorate.aggregate(ROWS, "majority")
    assert apart.answers.n_classes == 4
    assert apart.summary().startswith(
        'Warning: "Cat" and "cat" and "cat " count as different labels. Use merge_spellings=True'
    )
    assert any("--merge-spellings" in note for note in apart.to_dict()["notes"])
    one = quorate.aggregate(ROWS, "majority", merge_spellings=True)
    assert one.labels["label"].to_pylist() == ["Cat", "dog"]  # each once: the alphabet decides
    assert "spaces" not in one.summary()


def test_the_spelling_of_most_answers_stands_and_gold_is_read_alike() -> None:
    rows = {**ROWS, "label": ["CAT", "CAT", " cat", "dog", "Dog"]}
    assert read(rows, merge_spellings=True).classes.to_pylist() == ["CAT", "Dog"]
    found = quorate.aggregate(rows, merge_spellings=True, gold={1: "cat", 2: "DOG "})
    assert found.labels["label"].to_pylist() == ["CAT", "Dog"]
    with pytest.raises(OptionError, match=r"merge_spellings= .*has no effect for a batch"):
        Ledger().add(rows, merge_spellings=True)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["1", "1.0", "true"], ["1", "1.0", "true"]),  # text stays what it is
        ([1, 1.0, 2], [1.0, 2.0]),  # whole numbers among fractions are fractions, and the same
        ([True, False, True], [False, True]),
        ([10, 9, 1], [1, 9, 10]),
    ],
)
def test_labels_are_of_one_type_and_ordered_by_value(labels: list[Any], classes: list[Any]) -> None:
    rows = {"task": [1, 2, 3], "worker": list("aaa"), "label": labels}
    for table in (rows, pd.DataFrame(rows)):
        assert repr(read(table).classes.to_pylist()) == repr(classes)  # for True is 1, and 1 is 1.0


def test_in_files_as_in_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for labels, classes in (([1, 2], [1, 2]), (["1", "1.0"], ["1", "1.0"]), ([True, False], [False, True])):
        rows = [{"task": t, "worker": "a", "label": label} for t, label in enumerate(labels)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert read(path).classes.to_pylist() == classes
    (tmp_path / "a.csv").write_text("task,worker,label\n1,a,1\n2,a,1.0\n3,a,true\n")
    assert sorted(read(tmp_path / "a.csv").classes.to_pylist()) == ["1", "1.0", "true"]


def test_messages_about_long_labels_stay_short() -> None:
    usual = [(t, w, "xy"[t % 2]) for t in range(20) for w in "abc"]
    long = "z" * 5_000
    for rows in ([*usual, (20, "a", long)], [*usual, (20, "a", long), (20, "b", long.upper())]):
        task, worker, label = zip(*rows, strict=True)
        answers = quorate.read({"task": task, "worker": worker, "label": label})
        messages = [
            *answer_warnings(answers, ReadOptions()),
            *quorate.aggregate(answers, "majority").to_dict()["notes"],
        ]
        assert any("zzz" in message for message in messages)
        assert all(len(message) <= 800 for message in messages)
