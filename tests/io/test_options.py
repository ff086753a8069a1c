"""What a caller can say about reading: one set of words, checked in one place, and nothing passed over in silence."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.backends.engine import EngineOptions
from quorate.backends.source import split_options
from quorate.errors import OptionError
from quorate.io.exports.formats import FORMATS
from quorate.io.options import READING, TOOLS, ReadKeywords, ReadOptions, read_options, split_reading
from quorate.ledger import Ledger

TABLE = {"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xxyy")}
ANSWERS = quorate.read(TABLE)
CALLS: dict[str, Any] = {
    "aggregate": quorate.aggregate,
    "diagnose": quorate.diagnose,
    "advise": lambda source, **reading: quorate.advise(source, 1, **reading),
    "compare": lambda source, **reading: quorate.compare(source, methods=["majority"], **reading),
    "report": lambda source, **reading: quorate.report(source, methods=[], **reading),
}


def test_the_keywords_that_editors_show_are_the_options_there_are() -> None:
    assert ReadKeywords.__optional_keys__ == set(READING)


def test_the_tools_that_can_be_named_are_those_whose_exports_are_read() -> None:
    assert set(TOOLS) == {"auto", "table", *FORMATS}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"on_conflict": "none"}, "on_conflict= takes 'error', 'first', 'last' or 'drop', not 'none'"),
        ({"format": "xls"}, "not 'xls'. Did you mean 'xlsx'?"),
        ({"tool": "excel"}, "tool= has an unknown value 'excel'. Choose from auto, table"),
        ({"delimiter": "ab"}, "one ASCII character"),
        ({"encoding": "morse"}, "there is no encoding 'morse'"),
        ({"classes": "xy"}, "must be a list of all classes, got 'xy'"),
        ({"colour": "red"}, "there is no option 'colour' for reading answers; there are task, worker"),
    ],
)
def test_a_value_that_means_nothing_is_refused_before_anything_is_read(options: Any, says: str) -> None:
    for call in (quorate.read, quorate.diagnose):
        with pytest.raises(OptionError) as caught:
            call("no-such-file.csv", **options)
        assert says in str(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_answers_that_are_read_already_take_no_word_about_reading(name: str) -> None:
    with pytest.raises(
        OptionError, match=r"read already, so task=, on_conflict= comes too late; give it to quorate.re"
    ):
        CALLS[name](ANSWERS, task="item", on_conflict="first")


def test_a_word_that_a_method_has_too_is_the_methods_where_it_is_no_list() -> None:
    assert split_reading({"classes": ["x"], "tau": 1}) == ({"classes": ["x"]}, {"tau": 1})
    ordered = quorate.aggregate(TABLE, "er", classes="ordered")
    listed = quorate.aggregate(TABLE, "er", classes=["x", "y", "z"])
    assert ordered.answers.n_classes == 2
    assert listed.answers.classes.to_pylist() == ["x", "y", "z"]


def test_options_without_a_meaning_in_some_place_are_refused_there() -> None:
    with pytest.raises(OptionError, match=r"classes= .*has no effect for a batch of a ledger"):
        Ledger().add(TABLE, classes=["x", "y"])
    with pytest.raises(OptionError, match=r"on_conflict= .*has no effect before the answers of an export are read"):
        quorate.read_export(TABLE, on_conflict="first")  # type: ignore[call-arg]
    with pytest.raises(OptionError, match=r"question= .*has no effect inside an engine"):
        quorate.backends.aggregate(TABLE, question="tone")
    with pytest.raises(OptionError, match="there is no option 'tau'; there are task"):
        quorate.backends.diagnose(TABLE, tau=1)


def test_options_of_engines_and_of_reading_are_separated() -> None:
    given = {"task": "item", "connect": "duckdb://", "order": "when", "tau": 0.5}
    reading, where, others = split_options(given)
    assert reading == ReadOptions(task="item")
    assert where == EngineOptions(connect="duckdb://", order="when")
    assert others == {"tau": 0.5}
    assert not {field.name for field in fields(EngineOptions)} & set(READING)


# --- an error message advises what the caller has not done, and can do ---


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "'item', 'worker', 'label'"),  # and what to do, as each has it
        ({"task": "id"}, "has no column 'id'; it has 'item', 'worker', 'label'. Choose one with task="),
    ],
)
@pytest.mark.parametrize("is_file", [False, True])
def test_a_column_that_is_not_there(options: Any, says: str, is_file: bool, tmp_path: Path) -> None:
    source: Any = {"item": [1], "worker": ["ann"], "label": ["cat"]}
    if is_file:
        quorate.write_table(quorate.read(source, task="item").to_table(), tmp_path / "answers.csv")
        source = tmp_path / "answers.csv"
        source.write_text(source.read_text().replace("task", "item"))
    for call in (quorate.read, quorate.aggregate, Ledger().add):
        with pytest.raises(quorate.errors.MissingColumnError) as caught:
            call(source, **options)
        assert says in str(caught.value)


def test_a_file_of_another_format_than_stated_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    quorate.write_table(ANSWERS.to_table(), path, "parquet")
    with pytest.raises(quorate.errors.WrongFormatError, match=r"not CSV; let its name end in \.parquet"):
        quorate.read(path)
    with pytest.raises(quorate.errors.WrongFormatError, match=r"not JSONL; leave out format="):
        quorate.read(path, tool="table", format="jsonl")


def _message(call: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(quorate.errors.QuorateError) as caught:
        call(*given, **named)
    return str(caught.value)


def test_gold_and_workers_have_no_columns_to_name_and_no_format_to_choose(tmp_path: Path) -> None:
    """Messages about them say nothing of options that only the answers have."""
    bad = {
        "columns.csv": b"id,class,x\n1,x,y\n",
        "damaged.csv": "task,label,worker\n1,é,a\n".encode() + b"2,\xe9,a\n",
        "wide.csv": "task,label,worker\n1,x,a\n".encode("utf-16-le"),
        "mystery": b"whatever this is",
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
        path = tmp_path / name
        messages = [
            _message(quorate.aggregate, ANSWERS, gold=path),
            _message(quorate.compare, ANSWERS, path, methods=["majority"]),
            _message(quorate.advise, ANSWERS, 1, available=path),
            _message(quorate.score, path, path),
            _message(quorate.estimators.MajorityVote().fit, path),
        ]
        for message in messages:
            assert not any(word in message for word in ("task=", "format=", "delimiter=", "encoding=")), message
    assert "The known labels need the columns 'task' and 'label'" in _message(
        quorate.aggregate, ANSWERS, gold=tmp_path / "columns.csv"
    )
    assert "needs the column 'worker'" in _message(quorate.advise, ANSWERS, 1, available=tmp_path / "columns.csv")
    assert "Choose one with cost=" in _message(
        quorate.advise, ANSWERS, 1, available={"worker": ["a"], "price": [1]}, cost="fee"
    )


def test_the_column_of_times_is_named_by_an_option_of_its_own() -> None:
    assert "Choose one with time=" in _message(quorate.read_times, TABLE, ANSWERS)
    assert "Choose one with time=" in _message(quorate.read_times, TABLE, ANSWERS, time="when")


def test_a_field_of_an_export_that_no_task_has() -> None:
    row = {"_input_hash": 7, "_annotator_id": "ann", "answer": "accept"}
    assert "Choose another with task=" in _message(quorate.read, [row], task="id")


def test_gold_stands_in_the_columns_of_the_answers_or_in_the_usual_ones() -> None:
    source = {"item": [1, 1, 1, 2], "who": list("abca"), "says": list("xxyy")}
    reading: ReadKeywords = {"task": "item", "worker": "who", "label": "says"}
    for gold in ({"item": [2], "says": ["x"]}, {"task": [2], "label": ["x"]}, {2: "x"}):
        assert quorate.aggregate(source, gold=gold, **reading).labels["label"].to_pylist()[1] == "x"
    assert read_options(reading).columns == ("item", "who", "says")
