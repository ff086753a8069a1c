"""Lines that are written alike are read by Arrow, and come out as Python reads them; all others are left to Python."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.errors import QuorateError
from quorate.io import json_lines

COLUMNS = {"task": "", "label": ""}
PLAIN = {"task": "2024-05-01", "label": 7, "note": "Ünïcode, {braces}: [1]", "sure": True}


def lines(*records: Any, n: int = 3_000) -> bytes:
    usual = json.dumps(PLAIN, ensure_ascii=False)
    written = [record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records]
    return "\n".join([usual] * n + written).encode()


def by_python(data: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(json_lines, "read_plain", lambda *_: None)
        try:
            return json_lines.read_json_lines(pa.py_buffer(data), "a.jsonl", COLUMNS, lists=["label"]).to_pydict()
        except QuorateError as error:
            return type(error), str(error)


def test_plain_lines_are_read_as_python_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (lines(), lines() + b"\n", lines().replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + lines()):
        table = json_lines.read_plain(pa.py_buffer(data), COLUMNS)
        assert table is not None
        assert table.to_pydict() == by_python(data, monkeypatch)
        assert [str(kind) for kind in table.schema.types] == ["string", "int64"]


@pytest.mark.parametrize(
    "odd",
    [
        {**PLAIN, "task": 'a "quote"'},
        {**PLAIN, "task": "tab\there"},
        {**PLAIN, "label": 2**63},
        {**PLAIN, "label": 1.5},
        {**PLAIN, "label": None},
        {**PLAIN, "label": [7]},
        {"task": "x"},
        {"label": 1, "task": "x", "note": "", "sure": False},
        {**PLAIN, "more": {}},
        "null",
        "[]",
        "{}",
        json.dumps(PLAIN) + json.dumps(PLAIN),
        json.dumps(PLAIN) + ",",
        '{"task": "a", "label": 01, "note": "", "sure": true}',
        '{"task": "\\ud800", "label": 1, "note": "", "sure": true}',
        "",
        "  ",
    ],
)
def test_one_odd_line_leaves_all_to_python(odd: Any) -> None:
    assert json_lines.read_plain(pa.py_buffer(lines(odd, PLAIN)), COLUMNS) is None


def test_short_files_and_missing_columns_are_left_to_python() -> None:
    assert json_lines.read_plain(pa.py_buffer(lines(n=3)), COLUMNS) is None
    assert json_lines.read_plain(pa.py_buffer(lines()), {"worker": ""}) is None


# Bytes of any kind, which mostly spoil the line; and letters, digits and lines, of which many leave it as it should be.
JUNK = st.one_of(
    st.binary(max_size=60),
    st.text(st.sampled_from("aé7 ,:{}"), max_size=4).map(str.encode),
    st.sampled_from([b"", b"\n", (json.dumps(PLAIN, ensure_ascii=False) + "\n").encode()]),
)


def test_whatever_stands_in_between_the_two_agree() -> None:
    """Bytes put anywhere: either Arrow is not asked, or it says what Python says; both happen."""
    complete, asked = lines(), []

    @given(JUNK, st.integers(0, 400_000))
    def put(junk: bytes, at: int) -> None:
        data = complete[: at % len(complete)] + junk + complete[at % len(complete) :]
        try:
            data.decode()
        except UnicodeDecodeError:
            return
        table = json_lines.read_plain(pa.py_buffer(data), COLUMNS)
        asked.append(table is not None)
        if table is not None:
            assert table.to_pydict() == by_python(data, pytest.MonkeyPatch())

    put()
    assert asked.count(True) >= 5
    assert asked.count(False) >= 5
