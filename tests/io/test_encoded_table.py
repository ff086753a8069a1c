"""A CSV file that is encoded block by block gives the same answers and errors as one that is parsed as a whole."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate.answers import Answers
from quorate.blocks import native_kernels
from quorate.errors import QuorateError
from quorate.io import csv_files, encoded_table
from quorate.io.csv_files import CheckedCsv, check_csv
from quorate.io.encoded_table import encode_batches
from quorate.io.read_table import read_encoded_table
from quorate.io.scores import read_scores

pytestmark = pytest.mark.skipif(native_kernels() is None, reason="the extension was not built")

FIELDS = st.one_of(
    st.sampled_from(
        ["", " ", "nan", "a", "A", "7", "007", "7.0", "a,b", "two\nlines", 'a "quoted" word', "été", "x" * 70]
    ),
    st.text(alphabet='ab,"\n é', max_size=12),
)


@pytest.fixture(autouse=True, params=["one thread", "threads"])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "ENCODED_BLOCK", 96)
    monkeypatch.setenv("QUORATE_THREADS", "1" if request.param == "one thread" else "3")
    monkeypatch.setattr(encoded_table, "MIN_THREADED_ROWS", 0)


def checked(content: str, columns: list[str]) -> CheckedCsv:
    data = pa.py_buffer(content.encode())
    return check_csv(data, "a.csv", dict.fromkeys(columns, ""), delimiter=",", encoding="utf-8")


def written(rows: list[list[str]]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


@given(st.lists(st.lists(FIELDS, min_size=3, max_size=3), max_size=60))
def test_the_columns_are_those_of_the_whole_file(rows: list[list[str]]) -> None:
    file = checked(written([["task", "other", "label"], *rows]), ["label", "task"])
    encoded = file.encoded()
    parsed = file.parsed()
    if encoded is None:  # a row is longer than a block, or there is none
        assert not rows or max(len(written([row]).encode()) for row in rows) > csv_files.ENCODED_BLOCK // 2
        return
    assert encoded.num_rows == parsed.num_rows
    for name in ("label", "task"):
        column = encoded.column(name)
        assert column.values.take(pa.array(column.codes)).to_pylist() == parsed.column(name).to_pylist()
        _, first = np.unique(column.codes, return_index=True)
        assert (np.diff(first) > 0).all()  # in the order of first appearance
    assert encoded.parsed_again().equals(parsed)


def outcome(read: Callable[..., Answers], *arguments: Any, **options: Any) -> Any:
    try:
        answers = read(*arguments, **options)
    except QuorateError as error:
        return type(error), str(error)
    return answers.to_table().to_pylist(), answers.n_skipped, answers.n_rows, answers.classes.to_pylist()


CONTENTS = {
    "plain": "".join(f"t{k % 90},w{k % 7},{'ab'[k % 2]}\n" for k in range(300)),
    "blank label in a late row": "".join(f"t{k},w,{'' if k == 250 else 'a'}\n" for k in range(300)),
    "nan label": "".join(f"t{k},w,{'NaN' if k == 30 else 'a'}\n" for k in range(60)),
    "blank worker": "".join(f"t{k},{' ' if k == 99 else 'w'},a\n" for k in range(100)),
    "contradictions": "".join(f"t{k % 90},w{k % 9},{'abc'[k % 3 if k < 200 else 0]}\n" for k in range(300)),
    "a ragged row": "".join(f"t{k},w,a{',x' if k == 77 else ''}\n" for k in range(100)),
    "a row of more than a block": "".join(f"t{k},w,{'a' * (500 if k == 50 else 1)}\n" for k in range(100)),
    "not UTF-8": "".join(f"t{k},w,a\n" for k in range(50)) + "t,\udcff,b\n",
    "numbers": "".join(f"{100 - k},{9 - k % 3}.0,{(1, '1.0')[k % 2]}\n" for k in range(100)),
    "no rows": "",
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"skip_missing": True, "on_conflict": "last"},
        {"task": "worker", "worker": "worker", "on_conflict": "first"},  # one column for two purposes
        {"group": "worker", "on_conflict": "drop"},
        {"multi": ","},
    ],
    ids=str,
)
def test_answers_and_errors_are_those_of_the_whole_file(
    content: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "answers.csv"
    file.write_bytes(b"task,worker,label\n" + CONTENTS[content].encode("utf-8", "surrogateescape"))
    encoded = outcome(quorate.read, file, **options)
    monkeypatch.setattr(CheckedCsv, "encoded", lambda self: None)
    assert encoded == outcome(quorate.read, file, **options)


def test_scores_without_raters_get_one_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("task,score\n" + "".join(f"t{k % 40},{k % 5}\n" for k in range(200)))

    def scores() -> tuple[list[int], list[float]]:
        read = read_scores(file, worker="none", on_conflict="mean")
        return read.answers.task.tolist(), read.score.tolist()

    encoded = scores()
    monkeypatch.setattr(CheckedCsv, "encoded", lambda self: None)
    assert encoded == scores()


def test_more_rows_than_expected_fit() -> None:
    batch = pa.record_batch({"task": ["b", "a", "c"] * 50})
    n, columns = encode_batches(iter([batch] * 20), 1.0)
    assert n == 3_000
    assert columns["task"].codes.tolist() == [0, 1, 2] * 1_000


def test_other_sources_are_not_encoded() -> None:
    assert isinstance(read_encoded_table({"task": [1]}, {"task": ""}), pa.Table)
