import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    EmptyFileError,
    MissingColumnError,
    NoRowsError,
    OptionError,
    QuorateError,
    UnknownFormatError,
    UnknownNameError,
    UnreadableFileError,
    WrongFormatError,
)
from quorate.io.exports.detect import read_export
from quorate.io.exports.formats import FORMATS
from quorate.io.options import ReadOptions
from quorate.io.read import read, read_source
from tests.io.exported import ANSWERS, CASES, SAMPLES, rows


def test_several_questions_are_listed_and_one_is_chosen() -> None:
    with pytest.raises(OptionError, match=r"'animal', 'clarity'; choose one with question=$"):
        read_export(SAMPLES / "labelstudio.json")
    with pytest.raises(OptionError, match=r"no question 'colour'.*'animal', 'clarity'"):
        read_export(SAMPLES / "labelstudio.json", question="colour")
    clarity = read_export(SAMPLES / "labelstudio.json", question="clarity")
    assert rows(clarity) == [("1", "ann", "4"), ("1", "bob", "5")]
    assert clarity.gold is None


def test_rejected_assignments_count_on_request() -> None:
    for sample in ("mturk.csv", "toloka.tsv"):
        export = read_export(SAMPLES / sample, keep_rejected=True)
        assert sorted(rows(export)) == sorted({*ANSWERS, ("2", "cy", "cat")})
        assert "rejected" not in export.left_out


def test_another_field_may_tell_tasks_apart() -> None:
    texts = {"1": "It purrs.", "2": "It barks.", "3": "It has whiskers."}
    expected = sorted((texts[task], worker, label) for task, worker, label in ANSWERS)
    for sample, field in {
        "labelstudio.json": "text",
        "labelstudio.csv": "text",
        "argilla.json": "text",
        "mturk.csv": "Input.text",
        "toloka.tsv": "INPUT:text",
        "prodigy_choice.jsonl": "text",
    }.items():
        question = CASES[sample][1]
        assert sorted(rows(read_export(SAMPLES / sample, question=question, task=field))) == expected


def test_toloka_without_task_ids_tells_tasks_by_what_the_worker_saw() -> None:
    row = {"ASSIGNMENT:worker_id": "ann", "INPUT:a": "x", "OUTPUT:animal": "cat"}
    assert read_export([row]).table["task"].to_pylist() == ["x"]
    # Two fields joined must not mix up ("x", "y|z") and ("x|y", "z").
    both = [{**row, "INPUT:a": a, "INPUT:b": b} for a, b in (("x", "y|z"), ("x|y", "z"))]
    assert len(set(read_export(both).table["task"].to_pylist())) == 2


def test_several_choices_at_once_are_questions_or_joined() -> None:
    def task(number: int, *choices: str) -> dict[str, Any]:
        result = {"from_name": "q", "to_name": "t", "type": "choices", "value": {"choices": list(choices)}}
        return {"id": number, "data": {}, "annotations": [{"id": 9, "completed_by": 1, "result": [result]}]}

    tasks = [task(1, "a"), task(2, "b", "a"), task(3, "a", "b")]
    (note,) = read_export(tasks).notes
    assert re.search(r"2 answers .*annotation 9 of task 2 has 'a', 'b'.*--multi join", note)
    assert read_export(tasks).several
    joined = read_export(tasks, join_choices=True)
    assert joined.table["label"].to_pylist() == ["a", "a|b", "a|b"]  # in whatever order they were ticked


def test_ticked_options_of_mechanical_turk_may_be_joined(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    path.write_text(
        "HITId,WorkerId,Answer.q.a,Answer.q.b,Answer.note.on\n1,ann,true,true,true\n1,bob,false,true,false\n"
    )
    assert read_export(path, question="q", join_choices=True).table["label"].to_pylist() == ["a|b", "b"]
    assert read_export(path, question="note.on").table["label"].to_pylist() == ["true", "false"]  # one box is no list


def test_a_flat_label_studio_export_of_unanimous_answers_asks_which_column() -> None:
    row = {"animal": "cat", "text": "It purrs.", "id": 1, "annotation_id": 1, "annotator": "ann"}
    table = {key: [value, value] for key, value in row.items()} | {"annotator": ["ann", "bob"]}
    with pytest.raises(OptionError, match="'animal', 'text'"):
        read_export(table)
    assert read_export(table, question="animal").table["label"].to_pylist() == ["cat", "cat"]


def test_an_answer_without_a_worker_names_its_place_or_is_skipped() -> None:
    lines = [json.loads(line) for line in (SAMPLES / "prodigy_choice.jsonl").read_text().splitlines()]
    lines[3] |= {"_annotator_id": None, "_session_id": None}
    with pytest.raises(BlankFieldError, match=r"1 answer .* line 4 has no worker.*skip_missing=True"):
        read_export(lines)
    export = read_export(lines, skip_missing=True)
    assert export.left_out["answers without a task or worker"] == 1
    assert len(export.table) == len(ANSWERS) - 1


def test_a_table_of_no_known_layout_names_its_columns_and_what_to_say(tmp_path: Path) -> None:
    path = tmp_path / "mystery.csv"
    path.write_text("number,who,score,sure\n1,3,5,4\n2,4,4,5\n3,5,3,3\n")  # could be wide, could be long: no guess
    with pytest.raises(MissingColumnError) as caught:
        read_export(path)
    message = str(caught.value)
    assert "'number', 'who', 'score', 'sure'" in message
    assert "worker_name=" in message


def test_content_of_two_formats_is_ambiguous() -> None:
    both = [{"_input_hash": 1, "answer": "accept", "HITId": 1, "WorkerId": "w", "Answer.x": "accept"}]
    with pytest.raises(UnknownFormatError, match=r"mturk or prodigy.*tool="):
        read_export(both)
    assert read_export(both, "mturk").table["worker"].to_pylist() == ["w"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_that_the_file_has_not_is_refused(format: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('[{"colour": "red"}]')
    with pytest.raises(QuorateError, match=r"other\.json"):
        read_export(path, format)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, UnreadableFileError),
        (b"", EmptyFileError),
        (b"\0\1\2\3,\n", WrongFormatError),
        (b'[{"annotations": [}]', WrongFormatError),
        (b'{"_input_hash": 1, "answer": "accept"}\n{"_input_hash": \n', WrongFormatError),
        (b'[{"data": {}, "annotations": [7]}]', WrongFormatError),
        (b'[{"data": {}, "annotations": []}]', NoRowsError),
        (b'[{"_input_hash": 1, "answer": "ignore", "_session_id": "a"}]', NoRowsError),
        (b"HITId,WorkerId,Answer.taskAnswers\n1,w,{not json\n", WrongFormatError),
        (b"ASSIGNMENT:worker_id\tOUTPUT:x\nw\tcat\n", MissingColumnError),
    ],
)
def test_bad_exports_have_their_own_errors(content: bytes | None, error: type[Exception], tmp_path: Path) -> None:
    path = tmp_path / "export.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error) as caught:
        read_export(path)
    assert type(caught.value) is error


def test_bad_options_have_their_own_errors() -> None:
    with pytest.raises(UnknownNameError, match="labelstudio"):
        read_export(SAMPLES / "mturk.csv", "excel")
    with pytest.raises(OptionError, match="question="):
        read_export(SAMPLES / "mturk.csv", label="Answer.animal")
    with pytest.raises(MissingColumnError, match=r"Input\.text"):
        read_export(SAMPLES / "mturk.csv", task="Input.picture")
    with pytest.raises(OptionError, match=r"in row 3 of .*, 'ann' is the same as in row 1 \('cat'\)"):
        read_export(SAMPLES / "cleanlab.csv", "cleanlab", task="ann")
    with pytest.raises(ColumnTypeError, match="Choose another question"):
        read_export([{"id": 1, "fields": {}, "responses": {"spans": [{"value": [{"start": 1}], "user_id": "u"}]}}])


def test_a_plain_table_goes_straight_to_read(tmp_path: Path) -> None:
    """Only the first bytes are looked at: errors further down are those of `quorate.read`."""
    path = tmp_path / "answers.csv"
    path.write_text("task,worker,label\n1,ann,cat\n1,bob,\n")
    with pytest.raises(BlankFieldError, match="row 2"):
        read(path)
    found = read_source(path, ReadOptions(skip_missing=True))
    assert (found.answers.n_skipped, found.export) == (1, None)
    renamed = tmp_path / "renamed.csv"
    renamed.write_text("item,who,says\n1,ann,cat\n")
    assert read_source(renamed, ReadOptions(task="item", worker="who", label="says")).export is None
    with pytest.raises(MissingColumnError):
        read(renamed, tool="table")


def test_a_plain_table_is_recognised_without_loading_any_format() -> None:
    script = (
        "import sys; from quorate.io.read import read; "
        "read({'task': [1], 'worker': ['a'], 'label': ['x']}); "
        "print([name for name in sys.modules if name.startswith('quorate.io.exports.')])"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert loaded.split()
    assert not [name for name in ("known", *FORMATS) if f"'quorate.io.exports.{name}'" in loaded]


def test_numbers_survive_blanks_in_a_wide_table() -> None:
    """pandas makes floats of integers with gaps; class 1 must not become class 1.0."""
    export = read_export({"id": [7, 8], "a": [1.0, None], "b": [0.0, 1.0], "c": [None, 1.0]})
    assert rows(export) == [("7", "a", "1"), ("7", "b", "0"), ("8", "b", "1"), ("8", "c", "1")]


def test_a_wide_table_without_ids_numbers_its_tasks() -> None:
    export = read_export({"a": ["x", "x", None], "b": ["y", "x", "y"], "c": ["x", None, "y"]})
    assert export.table["task"].to_pylist() == ["0", "0", "0", "1", "1", "2", "2"]
    assert any("numbered from 0" in line for line in export.lines())
