"""A stray quote is refused with its line: it would swallow every row up to the next one."""

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.errors import StrayQuoteError
from quorate.io import csv_files
from quorate.io.csv_files import check_csv

HEADER = "task,worker,label\n"


def read(text: str) -> list[tuple[str, ...]]:
    data = pa.py_buffer(text.encode())
    columns = dict.fromkeys(("task", "worker", "label"), "")
    table = check_csv(data, "a.csv", columns, delimiter=",", encoding="utf-8").parsed()
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('1,a,x\n1,c,"y\n2,a,x\n2,b,x\n', 3),
        ('1,a,x\n1,c,"y\n2,a,x\n2,b,"x"\n', 3),
        ('1,a,"x"y\n', 2),
        ('1,a,"x" \n', 2),
        ('"1,a,x\n', 2),
        ('1,a,"x""\n', 2),
    ],
)
def test_a_stray_quote_is_refused_with_its_line(rows: str, line: int) -> None:
    with pytest.raises(StrayQuoteError, match=f"line {line} of a.csv opens a quote"):
        read(HEADER + rows)


def test_quotes_within_a_field_are_text() -> None:
    found = read(HEADER + '1,a,5" pipe\n2,"b ""c"" d","x\ny"\n3,it\'s,""""\n')
    assert found == [("1", "a", '5" pipe'), ("2", 'b "c" d', "x\ny"), ("3", "it's", '"')]


FIELD = st.text(st.sampled_from('a",\n\r é'), max_size=6)


@given(st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1, max_size=8), st.sampled_from([1, 3, 1 << 24]))
def test_what_a_csv_writer_writes_is_read_as_it_was(rows: list[tuple[str, str, str]], chunk: int) -> None:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerows([("task", "worker", "label"), *rows])
    chunk_before, csv_files.CHUNK = csv_files.CHUNK, chunk
    try:
        assert read(text.getvalue()) == rows
    finally:
        csv_files.CHUNK = chunk_before


@pytest.mark.parametrize("has_native", [True, False])
@given(text=st.text(st.sampled_from('a",\n\r'), max_size=14))
def test_the_quick_check_finds_what_the_exact_one_finds(has_native: bool, text: str) -> None:
    """Python's csv reader in strict mode is the reference for stray quotes."""
    data = pa.py_buffer((HEADER + text).encode())
    native_before = csv_files.native
    if not has_native:
        csv_files.native = None
    try:
        list(csv.reader(io.StringIO(HEADER + text, newline=""), strict=True))
        stray = False
    except csv.Error:
        stray = True
    try:
        csv_files.check_quotes(data, "a.csv", ",")
        refused = False
    except StrayQuoteError:
        refused = True
    finally:
        csv_files.native = native_before
    assert refused == stray


def test_what_stands_there_is_shown_as_text() -> None:
    with pytest.raises(StrayQuoteError, match="with 'é'"):
        read(HEADER + '1,a,"x"é\n')
    with pytest.raises(StrayQuoteError, match=r"never closed: '\"é+'…"):
        read(HEADER + '1,a,"' + "é" * 100)
