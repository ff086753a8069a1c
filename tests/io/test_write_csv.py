"""CSV by the formatter in C: byte for byte what Arrow writes; numbers of six digits."""

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

from quorate.io import write_csv
from quorate.io.write_csv import INTEGER, NUMBER, TEXT_32, csv_batches, six_digits

in_c = pytest.mark.skipif(write_csv.native is None, reason="the extension was not built")
FLOATS = st.one_of(
    st.floats(allow_nan=True),
    st.floats(-1e16, 1e16),
    st.floats(0, 1),
    st.sampled_from([0.0, -0.0, 0.1, 0.0999999999, 9.999995, 999999.5, 1e-6, 9.9999995e-7, 1e10, 9999999999.0, 1e15]),
    st.builds(lambda digits, power: digits * 10.0**power, st.integers(-9_999_999, 9_999_999), st.integers(-25, 15)),
)
VALUES = {
    "string": st.text(max_size=4) | st.sampled_from(['"', ",", "a\r", "\n", "été", "plain"]),
    "large_string": st.text(alphabet='ab",', max_size=12),
    "double": FLOATS,
    "int64": st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-10, 10),
    "bool": st.booleans(),
    "int32": st.integers(-9, 9),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Draw a table whose columns are slices of longer ones, with nulls; most numbers have six digits."""
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=5))
    n = draw(st.integers(0, 30))
    low = draw(st.integers(0, 9))
    columns = []
    for kind in kinds:
        value = VALUES[kind] if draw(st.booleans()) else st.none() | VALUES[kind]
        values: list[Any] = draw(st.lists(value, min_size=n + low, max_size=n + low))
        if kind == "double" and draw(st.booleans()):
            values = [None if x is None else float(f"{x:.5e}") for x in values]
        if kind == "string" and draw(st.booleans()):
            values = [None if x is None else x.encode().hex() for x in values]
        columns.append(pa.array(values, type=pa.type_for_alias(kind)).slice(low, n))
    return pa.table(columns, names=[f"c{k}" for k in range(len(columns))])


@given(tables(), st.integers(1, 12))
def test_rows_are_as_arrow_writes_them(table: pa.Table, n_rows: int) -> None:
    texts = [value for column in table.columns for value in column.to_pylist() if isinstance(value, str)]
    style = "needed" if any(set(text) & set('",\r\n') for text in texts) else "none"
    stream = io.BytesIO()
    csv.write_csv(table, stream, csv.WriteOptions(include_header=False, quoting_style=style))
    assert b"".join(csv_batches(table, n_rows)) == stream.getvalue()


def test_rows_of_several_batches_stay_in_order() -> None:
    table = pa.table({"task": [f"t{k}" for k in range(1000)], "n": np.arange(1000)})
    lines = b"".join(csv_batches(table, 7)).decode().splitlines()
    assert lines == [f"t{k},{k}" for k in range(1000)]


@in_c
def test_buffers_that_begin_at_any_byte_and_texts_without_bytes_are_written() -> None:
    assert write_csv.native is not None
    for kind, values in ((NUMBER, np.array([0.5, 2.0])), (INTEGER, np.array([-3, 4]))):
        moved = memoryview(b"\0" + values.tobytes())[1:]
        assert (
            write_csv.native.csv_rows([(kind, 0, None, moved, None)], 2, 0) == f"{values[0]}\n{values[1]:g}\n".encode()
        )
    offsets = memoryview(b"\0" + np.array([0, 1, 3], np.int32).tobytes())[1:]
    assert write_csv.native.csv_rows([(TEXT_32, 0, None, offsets, b"abc")], 2, 0) == b"a\nbc\n"
    assert write_csv.native.csv_rows([(TEXT_32, 0, None, np.zeros(3, np.int32), None)], 2, 0) == b"\n\n"


@given(st.lists(FLOATS, max_size=20))
def test_numbers_have_six_digits(numbers: list[float]) -> None:
    rounded = six_digits(np.array(numbers, np.float64))
    for number, found in zip(numbers, rounded.tolist(), strict=True):
        if not 1e-16 < abs(number) < 1e16:  # where the powers of ten are exact
            continue
        assert float(f"{found:.5e}") == found
        # The product with a power of ten is rounded once before it is rounded to a whole number.
        assert abs(found - number) <= abs(number) * 5.0000001e-6


@in_c
@given(st.lists(FLOATS, max_size=20))
def test_numpy_rounds_as_c_does(numbers: list[float]) -> None:
    values = np.array(numbers, np.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write_csv, "native", None)
        plain = six_digits(values)
    assert six_digits(values).tobytes() == plain.tobytes()


@in_c
def test_buffers_that_are_too_short_are_refused() -> None:
    assert write_csv.native is not None
    numbers = (NUMBER, 0, None, np.zeros(3), None)
    assert write_csv.native.csv_rows([numbers], 3, 0) == b"0\n0\n0\n"
    for n in (4, (1 << 63) - 1, -1):
        with pytest.raises(ValueError, match="shorter than the batch"):
            write_csv.native.csv_rows([numbers], n, 0)
    with pytest.raises(ValueError, match="shorter than the batch"):
        write_csv.native.csv_rows([(NUMBER, (1 << 63) - 1, None, np.zeros(3), None)], 3, 0)
    for ends in ([0, 2, 1, 3], [0, 1, 2, 9], [-1, 0, 1, 2]):
        text = (TEXT_32, 0, None, np.array(ends, np.int32), b"abc")
        with pytest.raises(ValueError, match="offsets are out of range"):
            write_csv.native.csv_rows([text], 3, 0)
        with pytest.raises(ValueError, match="offsets are out of range"):
            write_csv.native.needs_quotes([text], 3)
    with pytest.raises(ValueError, match="shorter than the batch"):
        write_csv.native.csv_rows([(NUMBER, 0, b"\xff", np.zeros(20), None)], 20, 0)
