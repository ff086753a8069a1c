"""Whatever tool the answers come from, the same answers come out, and whatever does not count is counted."""

import gzip
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    EmptyFileError,
    MissingColumnError,
    NoRowsError,
    OptionError,
    QuorateError,
    UnknownFormatError,
    UnknownMethodError,
    UnreadableFileError,
    WrongFormatError,
)
from quorate.reading.exports import read_answers, read_export, recognise
from quorate.reading.formats.known import FORMATS

SAMPLES = Path(__file__).parent / "formats" / "samples"

# Every sample asks three people which animal it is, in its own tool's words.
ANSWERS = {
    ("1", "ann", "cat"),
    ("1", "bob", "cat"),
    ("1", "cy", "dog"),
    ("2", "ann", "dog"),
    ("2", "bob", "dog"),
    ("3", "ann", "cat"),
    ("3", "cy", "cat"),
}
# sample -> its format, the question about the animal, every question, and what does not count
CASES: dict[str, tuple[str, str, tuple[str, ...], dict[str, int]]] = {
    "labelstudio.json": (
        "labelstudio",
        "animal",
        ("animal", "clarity"),
        {"cancelled": 1, "without an answer": 1, "never answered": 1},
    ),
    "labelstudio_min.json": ("labelstudio", "animal", ("animal", "clarity"), {"without an answer": 1}),
    "labelstudio.csv": ("labelstudio", "animal", ("animal",), {"cancelled": 1, "without an answer": 1}),
    "argilla.json": ("argilla", "animal", ("animal", "clarity"), {"without an answer": 1, "never answered": 1}),
    "argilla_flat.json": ("argilla", "animal", ("animal",), {"draft": 1, "discarded": 1, "never answered": 1}),
    "argilla_server.jsonl": ("argilla", "animal", ("animal",), {"draft": 1, "discarded": 1}),
    "mturk.csv": ("mturk", "animal", ("animal",), {"rejected": 1, "without an answer": 1}),
    "mturk_options.csv": ("mturk", "animal", ("animal",), {"rejected": 1, "without an answer": 1}),
    "mturk_form.csv": ("mturk", "animal.label", ("animal.label",), {"rejected": 1, "without an answer": 1}),
    "toloka.tsv": ("toloka", "animal", ("animal",), {"rejected": 1, "expired": 1}),
    "prodigy_choice.jsonl": ("prodigy", "choice", ("choice",), {"rejected": 1, "ignored": 1}),
    "prodigy_binary.jsonl": ("prodigy", "CAT", ("CAT", "LOUD"), {"ignored": 1}),
    "crowdkit.tsv": ("crowdkit", "label", ("label",), {}),
    "cleanlab.csv": ("cleanlab", "label", ("label",), {"blank": 5, "never answered": 1}),
}
BINARY = {"accept": "cat", "reject": "dog"}  # the binary sample asks: is it a cat?


def rows(export: Any) -> list[tuple[str, str, str]]:
    return [(row["task"], row["worker"], BINARY.get(row["label"], row["label"])) for row in export.table.to_pylist()]


@pytest.mark.parametrize("sample", CASES)
def test_the_same_answers_come_out_of_every_tool(sample: str) -> None:
    tool, question, questions, left_out = CASES[sample]
    asked = question if len(questions) > 1 else None
    export = read_export(SAMPLES / sample, question=asked)
    assert sorted(rows(export)) == sorted(ANSWERS)
    assert (export.format, export.question, export.questions) == (tool, question, questions)
    assert export.left_out == left_out
    said = "\n".join(export.lines())
    assert "7 answers by 3 workers on 3 tasks" in said
    assert all(f"{n} {why}" in said for why, n in left_out.items())


def test_every_format_has_a_sample() -> None:
    assert {case[0] for case in CASES.values()} == set(FORMATS)
    assert {path.name for path in SAMPLES.iterdir()} == set(CASES)


@pytest.mark.parametrize("sample", CASES)
@pytest.mark.parametrize("name", ["export", "export.csv", "export.json", "export.txt.gz"])
def test_the_content_tells_the_format_and_not_the_name(sample: str, name: str, tmp_path: Path) -> None:
    disguised = tmp_path / name
    if name.endswith(".gz"):
        disguised.write_bytes(gzip.compress((SAMPLES / sample).read_bytes()))
    else:
        shutil.copy(SAMPLES / sample, disguised)
    tool, question, questions, _ = CASES[sample]
    assert recognise(disguised) == tool
    assert sorted(rows(read_export(disguised, question=question if len(questions) > 1 else None))) == sorted(ANSWERS)


@pytest.mark.parametrize("sample", CASES)
def test_a_byte_order_mark_changes_nothing(sample: str, tmp_path: Path) -> None:
    marked = tmp_path / "export"
    marked.write_bytes(b"\xef\xbb\xbf" + (SAMPLES / sample).read_bytes())
    tool, question, questions, _ = CASES[sample]
    export = read_export(marked, question=question if len(questions) > 1 else None)
    assert (export.format, sorted(rows(export))) == (tool, sorted(ANSWERS))


@pytest.mark.parametrize("sample", CASES)
@pytest.mark.parametrize("seekable", [True, False])
def test_looking_at_standard_input_eats_nothing(sample: str, seekable: bool, monkeypatch: Any) -> None:
    _, question, questions, _ = CASES[sample]
    data = io.BytesIO((SAMPLES / sample).read_bytes())
    stream = data if seekable else io.BufferedReader(data)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
    answers, export = read_answers("-", question=question if len(questions) > 1 else None)
    assert answers.n_answers == len(ANSWERS)
    assert export is not None
    assert export.format == CASES[sample][0]


def test_an_export_may_come_through_a_pipe() -> None:
    script = (
        "from quorate.reading.exports import read_answers; print(read_answers('-', question='animal')[0].n_answers)"
    )
    piped = (SAMPLES / "labelstudio.json").read_bytes()
    run = subprocess.run([sys.executable, "-c", script], input=piped, capture_output=True, check=True)
    assert run.stdout.split() == [b"7"]


@pytest.mark.parametrize("sample", ["labelstudio.json", "argilla.json", "argilla_flat.json"])
def test_records_in_memory_read_as_the_file_does(sample: str) -> None:
    records = json.loads((SAMPLES / sample).read_text())
    from_file, from_list = read_export(SAMPLES / sample, question="animal"), read_export(records, question="animal")
    assert from_list.table == from_file.table
    assert from_list.left_out == from_file.left_out


def test_argilla_writes_its_records_by_name_and_by_id_too(tmp_path: Path) -> None:
    records = json.loads((SAMPLES / "argilla.json").read_text())
    by_name = {key: [record[key] for record in records] for key in records[0]}
    by_id = {record["id"]: record for record in records}
    for data in (by_name, by_id):
        path = tmp_path / "records.json"
        path.write_text(json.dumps(data, indent=1))
        assert sorted(rows(read_export(path, question="animal"))) == sorted(ANSWERS)
    assert sorted(rows(read_export(by_name, question="animal"))) == sorted(ANSWERS)


@pytest.mark.parametrize("sample", ["mturk.csv", "toloka.tsv", "labelstudio.csv", "cleanlab.csv"])
def test_a_data_frame_reads_as_the_file_does(sample: str, tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(SAMPLES / sample, sep="\t" if sample.endswith(".tsv") else ",")
    frame.to_parquet(tmp_path / "frame.parquet")
    expected = sorted(rows(read_export(SAMPLES / sample)))
    assert sorted(rows(read_export(frame))) == expected
    assert sorted(rows(read_export(tmp_path / "frame.parquet"))) == expected


def test_an_argilla_export_without_statuses_says_so() -> None:
    said = read_export(SAMPLES / "argilla.json", question="animal").lines()
    assert any("8 responses come without a status" in line for line in said)
    assert not any("without a status" in line for line in read_export(SAMPLES / "argilla_flat.json").lines())


def test_known_labels_become_gold_and_nobodys_answers() -> None:
    for sample in ("labelstudio.json", "toloka.tsv"):
        export = read_export(SAMPLES / sample, question="animal")
        assert export.gold is not None
        assert export.gold.to_pylist() == [{"task": "1", "label": "cat"}]
        assert "lead" not in export.table["worker"].to_pylist()
        result = quorate.aggregate(export.table, gold=export.gold)
        assert result.labels.to_pylist()[0]["confidence"] == 1.0


def test_a_known_class_that_nobody_gave_is_a_class_all_the_same() -> None:
    rows = [
        {"ASSIGNMENT:worker_id": who, "ASSIGNMENT:task_id": 1, "OUTPUT:x": said, "GOLDEN:x": "elk"}
        for who, said in (("ann", "cat"), ("bob", "dog"))
    ]
    answers, export = read_answers(rows)
    assert export is not None
    assert answers.classes.to_pylist() == ["cat", "dog", "elk"]
    result = quorate.aggregate(answers, "majority", gold=export.gold)
    assert result.labels["label"].to_pylist() == ["elk"]


def test_known_labels_of_tasks_that_nobody_answered_are_counted() -> None:
    row = {"ASSIGNMENT:worker_id": "ann", "ASSIGNMENT:task_id": 1, "OUTPUT:x": "cat", "GOLDEN:x": None}
    export = read_export([row, {**row, "ASSIGNMENT:task_id": 2, "OUTPUT:x": None, "GOLDEN:x": "dog"}])
    assert export.gold is None
    assert export.left_out == {"without an answer": 1, "known, of tasks that nobody answered": 1}


# --- choices ---


def test_several_questions_are_listed_and_one_is_chosen() -> None:
    with pytest.raises(OptionError, match=r"'animal', 'clarity'; choose one with question= \(--question\)"):
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


def test_several_choices_at_once_are_refused_or_joined() -> None:
    def task(number: int, *choices: str) -> dict[str, Any]:
        result = {"from_name": "q", "to_name": "t", "type": "choices", "value": {"choices": list(choices)}}
        return {"id": number, "data": {}, "annotations": [{"id": 9, "completed_by": 1, "result": [result]}]}

    tasks = [task(1, "a"), task(2, "b", "a"), task(3, "a", "b")]
    with pytest.raises(ColumnTypeError, match=r"2 answers .* annotation 9 of task 2 has 'a', 'b'.*--join-choices"):
        read_export(tasks)
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


# --- errors ---


def test_an_answer_without_a_worker_names_its_place_or_is_skipped() -> None:
    lines = [json.loads(line) for line in (SAMPLES / "prodigy_choice.jsonl").read_text().splitlines()]
    lines[3] |= {"_annotator_id": None, "_session_id": None}
    with pytest.raises(BlankFieldError, match=r"1 answer .* line 4 has no worker.*--skip-missing"):
        read_export(lines)
    export = read_export(lines, skip_missing=True)
    assert export.left_out["without a task or worker"] == 1
    assert len(export.table) == len(ANSWERS) - 1


def test_content_of_no_known_format_lists_what_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "mystery.csv"
    path.write_text("id,rater,rating,sure\n1,3,5,4\n2,4,4,5\n3,5,3,3\n")  # could be wide, could be long: no guess
    with pytest.raises(UnknownFormatError) as caught:
        read_export(path)
    message = str(caught.value)
    assert "'id', 'rater', 'rating', 'sure'" in message
    assert "--from" in message
    assert all(each.signs in message for each in FORMATS.values())


def test_content_of_two_formats_is_ambiguous() -> None:
    both = [{"_input_hash": 1, "answer": "accept", "HITId": 1, "WorkerId": "w", "Answer.x": "accept"}]
    with pytest.raises(UnknownFormatError, match=r"mturk or prodigy.*--from"):
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
        (b'[{"annotations": [}]', UnknownFormatError),
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
    with pytest.raises(error):
        read_export(path)


def test_bad_options_have_their_own_errors() -> None:
    with pytest.raises(UnknownMethodError, match="labelstudio"):
        read_export(SAMPLES / "mturk.csv", "excel")
    with pytest.raises(OptionError, match="--question"):
        read_export(SAMPLES / "mturk.csv", label="Answer.animal")
    with pytest.raises(MissingColumnError, match=r"Input\.text"):
        read_export(SAMPLES / "mturk.csv", task="Input.picture")
    with pytest.raises(OptionError, match=r"repeats 'cat' of row 1"):
        read_export(SAMPLES / "cleanlab.csv", "cleanlab", task="ann")
    with pytest.raises(ColumnTypeError, match="choose another question"):
        read_export([{"id": 1, "fields": {}, "responses": {"spans": [{"value": [{"start": 1}], "user_id": "u"}]}}])


# --- the plain table ---


def test_a_plain_table_goes_straight_to_read(tmp_path: Path) -> None:
    """Only the first bytes are looked at: what is wrong further down is said by `quorate.read`, in its words."""
    path = tmp_path / "answers.csv"
    path.write_text("task,worker,label\n1,ann,cat\n1,bob,\n")
    with pytest.raises(BlankFieldError, match="row 2"):
        read_answers(path)
    answers, export = read_answers(path, skip_missing=True)
    assert (answers.n_skipped, export) == (1, None)
    renamed = tmp_path / "renamed.csv"
    renamed.write_text("item,who,says\n1,ann,cat\n")
    assert read_answers(renamed, task="item", worker="who", label="says")[1] is None
    with pytest.raises(MissingColumnError):
        read_answers(renamed, "table")


def test_a_plain_table_is_recognised_without_loading_any_format() -> None:
    script = (
        "import sys; from quorate.reading.exports import read_answers; "
        "read_answers({'task': [1], 'worker': ['a'], 'label': ['x']}); "
        "print([name for name in sys.modules if name.startswith('quorate.reading.formats.')])"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "registry" not in loaded
    assert "labelstudio" not in loaded


def test_numbers_survive_blanks_in_a_wide_table() -> None:
    """pandas makes floats of integers with gaps; class 1 must not become class 1.0."""
    export = read_export({"id": [7, 8], "a": [1.0, None], "b": [0.0, 1.0], "c": [None, 1.0]})
    assert rows(export) == [("7", "a", "1"), ("7", "b", "0"), ("8", "b", "1"), ("8", "c", "1")]


def test_a_wide_table_without_ids_numbers_its_tasks() -> None:
    export = read_export({"a": ["x", "x", None], "b": ["y", "x", "y"], "c": ["x", None, "y"]})
    assert export.table["task"].to_pylist() == ["0", "0", "0", "1", "1", "2", "2"]
    assert any("numbered from 0" in line for line in export.lines())
