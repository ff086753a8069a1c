"""JSON lines: numbers keep their digits, types are one, and whatever a line holds is refused with its number."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from quorate import errors
from quorate.io import json_lines
from quorate.io.read import read


def lines(tmp_path: Path, *records: Any) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def answers_with(tmp_path: Path, tasks: list[Any]) -> list[Any]:
    path = lines(tmp_path, *({"task": task, "worker": "a", "label": "x"} for task in tasks))
    found: list[Any] = read(path).task_names.to_pylist()
    return found


@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        ([2**53, 2**53 + 1], [2**53, 2**53 + 1]),
        ([2**64 - 2, 2**64 - 1], [2**64 - 2, 2**64 - 1]),
        ([2**64, 2**64 + 1], [str(2**64), str(2**64 + 1)]),
        ([-(2**63), -(2**63) - 1], [str(-(2**63)), str(-(2**63) - 1)]),
        (["2024-05-01", "2024-05-02"], ["2024-05-01", "2024-05-02"]),
        ([1, 1.5], [1.0, 1.5]),
        ([True, False], [False, True]),
    ],
)
def test_ids_are_never_merged(tmp_path: Path, tasks: list[Any], found: list[Any]) -> None:
    assert answers_with(tmp_path, tasks) == found


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ([2**53 + 1, 0.5], "row 1 9007199254740993, which cannot be stored exactly as a fraction"),
        ([1, "1"], "row 1 has 1, row 2 '1'; give all its values one type"),
        ([1, True], "row 1 has 1, row 2 True"),
        (["a", ["b"]], "holds list values, the first in row 2"),
        (["a", {"b": 1}], "holds record values, the first in row 2"),
        (["a", "\ud800"], r"holds '\\ud800' in row 2, which has an incomplete character"),
    ],
)
def test_a_column_is_of_one_type(tmp_path: Path, tasks: list[Any], says: str) -> None:
    with pytest.raises(errors.ColumnTypeError, match=says):
        answers_with(tmp_path, tasks)


GOOD = '{"task": 1, "worker": "a", "label": "x"}'


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("null", "not a JSON object: 'null'"),
        ("[1]", "not a JSON object"),
        ("nul", "not JSON"),
        ('{"task": ', "not JSON"),
        (GOOD + "x", "not JSON"),
        (GOOD + " " + GOOD, "not JSON"),
        ('{"task": 1, "task": 2, "worker": "a", "label": "x"}', "'task' occurs twice"),
        ('{"task": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
        ('{"task": ' + "9" * 5000 + "}", "more than 4,300 digits"),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str, says: str, place: int) -> None:
    text = [GOOD, GOOD]
    text.insert(place, line)
    (tmp_path / "a.jsonl").write_text("\n".join(text))
    with pytest.raises(errors.WrongFormatError, match=says) as caught:
        read(tmp_path / "a.jsonl", tool="table")
    assert f"line {place + 1} of" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(GOOD.encode() + b'\n{"task": "Jos\xe9", "worker": "a", "label": "x"}\n')
    with pytest.raises(errors.NotUtf8Error, match="Line 2"):
        read(tmp_path / "a.jsonl")


@pytest.mark.parametrize("chunk", [1, 50, 1 << 20])
def test_pieces_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    text = ["", GOOD, "  " + GOOD + " \r", "", '{"worker": "é", "task": 7, "x": {"y": ":"}}', '{"label": "z"}', ""]
    monkeypatch.setattr(json_lines, "CHUNK_BYTES", chunk)
    data = pa.py_buffer(b"\xef\xbb\xbf" + "\n".join(text).encode())
    found = json_lines.read_json_lines(data, "a.jsonl", dict.fromkeys(("task", "worker", "label"), ""))
    assert found.to_pydict() == {
        "task": [1, 1, 7, None],
        "worker": ["a", "a", "é", None],
        "label": ["x", "x", None, "z"],
    }


@pytest.mark.parametrize("text", ["[" * 500, "ann: {0: x, " + "[" * 500, "- " * 500 + "x", "{a: " * 500])
def test_a_yaml_file_of_deep_lists_is_refused_before_all_of_it_is_parsed(text: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(errors.WrongFormatError, match="more than 100 deep"):
        read(tmp_path / "a.yaml")
