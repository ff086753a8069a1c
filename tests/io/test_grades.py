"""Which class an answer points to."""

from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.errors import ConflictingAnswersError, MapError

GRADES = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["9", "2", "5", "2"]}
SCALE = {"2": "low", "5": None, "9": "high"}


def read(scale: Any = SCALE, **options: Any) -> quorate.Answers:
    return quorate.read(GRADES, map=scale, **options)


def test_grades_point_to_classes_and_those_that_do_not_are_abstentions() -> None:
    answers = read()
    assert answers.classes.to_pylist() == ["high", "low"]
    assert answers.label.tolist() == [0, 1, 1]
    assert answers.answer_symbols is not None
    assert answers.answer_symbols.symbols.to_pylist() == ["2", "9", "5"]
    assert answers.answer_symbols.class_of_symbol.tolist() == [1, 0, -1]
    assert answers.answer_symbols.symbol.tolist() == [1, 0, 0]
    assert answers.answer_symbols.reasons() == {"5": 1}


def test_listed_classes_are_in_their_order_and_may_be_more() -> None:
    answers = read(classes=["low", "middle", "high"])
    assert answers.classes.to_pylist() == ["low", "middle", "high"]
    assert answers.label.tolist() == [2, 0, 0]


def test_a_map_is_read_from_a_file_or_a_table(tmp_path: Path) -> None:
    path = tmp_path / "map.csv"
    path.write_text("class,answer\nlow,2\n,5\nhigh,9\n")
    table = {"answer": ["2", "5", "9"], "class": ["low", "", "high"]}
    assert read(str(path)).label.tolist() == read(table).label.tolist() == read().label.tolist()


def test_numbers_are_found_whatever_their_type() -> None:
    table = {**GRADES, "label": [9, 2, 5, 2]}
    assert quorate.read(table, map=SCALE).label.tolist() == read().label.tolist()


def test_two_grades_of_one_worker_conflict_also_where_they_point_alike() -> None:
    table = {"task": [1, 1, 1], "worker": list("aab"), "label": ["8", "9", "2"]}
    scale = {"2": "low", "8": "high", "9": "high"}
    with pytest.raises(ConflictingAnswersError, match=r"'8' \(row 1\) and '9' \(row 2\)"):
        quorate.read(table, map=scale)
    assert quorate.read(table, map=scale, on_conflict="last").n_conflicting == 1


def test_an_abstention_need_not_be_in_the_map() -> None:
    table = {**GRADES, "label": ["9", "2", "unsure", "2"]}
    answers = quorate.read(table, map={"2": "low", "9": "high"}, abstain=["unsure"])
    assert answers.answer_symbols is not None
    assert answers.answer_symbols.reasons() == {"unsure": 1}


@pytest.mark.parametrize(
    ("scale", "options", "message"),
    [
        ({"9": "high", "5": "low"}, {}, r"has no row for the answer '2' in rows 2, 4. Add a row"),
        ({"9": "high"}, {}, r"'2' in rows 2, 4, and 1 more answer."),
        (SCALE, {"classes": ["low", "top"]}, "has classes that are not listed: 'high'.*'low'"),
        (dict.fromkeys(SCALE), {}, "The map has no class in its column 'class'"),
        (
            {"answer": ["2", "2"], "class": ["low", "high"]},
            {},
            r"the map gives '2' two different classes \(row 2\); keep one",
        ),
        ({"answer": ["2", ""], "class": ["low", "high"]}, {}, "'answer' is missing in row 2 of the map"),
    ],
)
def test_a_map_that_cannot_be_used_is_refused(scale: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(MapError, match=message):
        read(scale, **options)
