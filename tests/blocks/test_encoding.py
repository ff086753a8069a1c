"""Codes in order of first appearance and the order of answers: C, Arrow and numpy, and a plain loop, agree."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.arrays import TEXT, canonical_order
from quorate.blocks import encoding, ordering
from quorate.blocks.encoding import first_appearance, recode
from quorate.blocks.ordering import sort_answers

in_c = pytest.mark.skipif(encoding.native is None, reason="the extension was not built")
# Short texts that differ in length only, with NULs, and long ones that share their beginning and their end.
TEXTS = st.one_of(
    st.text(max_size=3),
    st.sampled_from(["", "\0", "\0\0", "a", "a\0", "12345678", "1234567\0", "123456789", "12345678" * 3, "été" * 9]),
    st.text(alphabet="ab", min_size=6, max_size=20),
)
VALUES = {
    **dict.fromkeys(sorted(map(str, TEXT)), TEXTS),
    **{f"int{k}": st.integers(-(1 << (k - 1)), (1 << (k - 1)) - 1) | st.integers(-2, 2) for k in (8, 16, 32, 64)},
    **{f"uint{k}": st.integers(0, (1 << k) - 1) | st.integers(0, 2) for k in (8, 16, 32, 64)},
    "double": st.sampled_from([0.0, 1.5, -2.0, 1e300]),
    "bool": st.booleans(),
}


@st.composite
def columns(draw: st.DrawFn) -> pa.ChunkedArray:
    """Draw a column of several chunks; each is a slice of a longer array, and some values are null."""
    kind = draw(st.sampled_from(sorted(VALUES)))
    value = VALUES[kind] if draw(st.booleans()) else st.none() | VALUES[kind]
    chunks = []
    for _ in range(draw(st.integers(0, 4))):
        values = draw(st.lists(value, max_size=80))
        low = draw(st.integers(0, len(values)))
        chunks.append(pa.array(values, type=pa.type_for_alias(kind)).slice(low, draw(st.integers(0, len(values)))))
    return pa.chunked_array(chunks, type=pa.type_for_alias(kind))


def plainly(values: list[Any]) -> tuple[list[int], list[Any]]:
    """Number values in order of first appearance, by a dictionary."""
    number: dict[Any, int] = {}
    codes = [-1 if value is None else number.setdefault(value, len(number)) for value in values]
    return codes, list(number)


@given(columns(), st.sampled_from([None, 1, 2, 3, 7]))
def test_codes_follow_first_appearance(column: pa.ChunkedArray, n_spans: int | None) -> None:
    codes, values = first_appearance(column, n_spans=n_spans)
    assert (codes.tolist(), values.to_pylist()) == plainly(column.to_pylist())
    assert values.type == column.type
    values.validate(full=True)


@given(columns())
def test_arrow_gives_the_same_codes(column: pa.ChunkedArray) -> None:
    native = encoding.native
    codes, values = first_appearance(column)
    try:
        encoding.native = None
        same_codes, same_values = first_appearance(column)
    finally:
        encoding.native = native
    assert (codes.tolist(), values.to_pylist()) == (same_codes.tolist(), same_values.to_pylist())


@in_c
def test_many_values_that_share_their_beginning_and_end_stay_apart() -> None:
    values = [f"{k % 7}-a-long-beginning-{k // 7:07}-and-a-long-end" for k in range(70_000)]
    values += values[::-3]
    codes, names = first_appearance(pa.chunked_array([values]), n_spans=3)
    assert (codes.tolist(), names.to_pylist()) == plainly(values)


@in_c
def test_buffers_that_are_too_short_are_refused() -> None:
    assert encoding.native is not None
    encoder = encoding.native.encoder(0)
    codes = np.empty(2, np.int32)
    with pytest.raises(ValueError, match="shorter than its rows"):
        encoding.native.encode(encoder, np.array([0, 1], np.int32), b"a", None, 4, 0, codes)
    with pytest.raises(ValueError, match="shorter than its rows"):
        encoding.native.encode(encoder, None, np.zeros(2, np.int64), None, 8, 1, codes)
    with pytest.raises(ValueError, match="shorter than its rows"):
        encoding.native.encode(encoder, None, np.zeros(2, np.int64), None, 3, 0, codes)
    with pytest.raises(ValueError, match="shorter than its rows"):
        encoding.native.encode(encoder, None, np.zeros(9, np.int64), b"\xff", 8, 7, codes)
    for offsets in ([0, 9, 9], [-1, 0, 1], [1, 0, 1]):
        with pytest.raises(ValueError, match="out of range"):
            encoding.native.encode(encoder, np.array(offsets, np.int32), b"ab", None, 4, 0, codes)
    with pytest.raises(ValueError, match="beyond the table"):
        encoding.native.recode(np.array([2], np.int32), np.zeros(2, np.int32))


MASK = (1 << 64) - 1


def key_of_slot(position: int) -> int:
    """The integer that the mixing of encode.h, a bijection, maps to `position`, whose upper bits are zero."""
    x = position * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & MASK
    x ^= x >> 29 ^ x >> 58
    x = x * pow(0x9E3779B97F4A7C15, -1, 1 << 64) & MASK
    return x ^ x >> 32


def mixed(x: int) -> int:
    x ^= x >> 32
    x = x * 0x9E3779B97F4A7C15 & MASK
    x ^= x >> 29
    return x * 0xBF58476D1CE4E5B9 & MASK


def integers_of_one_slot(n: int) -> pa.Array:
    keys = [key_of_slot(position) for position in range(n)]
    assert [mixed(key) for key in keys[:9]] == list(range(9))
    return pa.array(keys, pa.uint64())


def texts_of_one_hash(n: int) -> pa.Array:
    """Texts of 24 bytes whose hash would be the same if it began with their length, as it does without a seed."""
    texts: list[str] = []
    k = 0
    while len(texts) < n:
        first = f"{k:08}".encode()
        k += 1
        second = (mixed(24 ^ int.from_bytes(first, "little")) ^ 12345).to_bytes(8, "little")
        if max(second) < 128:
            texts.append((first + second).decode() + "the same")
    return pa.array(texts)


def cpu_seconds(column: pa.Array) -> float:
    began = time.thread_time()
    first_appearance(pa.chunked_array([column]), n_spans=1)
    return time.thread_time() - began


@in_c
@pytest.mark.parametrize("chosen", [integers_of_one_slot, texts_of_one_hash])
def test_ids_chosen_to_share_a_slot_cost_no_more_than_others(chosen: Callable[[int], pa.Array]) -> None:
    """Without a seed, n such ids take n²/2 comparisons: 80 times as long as other ids for these integers."""
    n = 4_000 if chosen is texts_of_one_hash else 40_000
    column = chosen(n)
    ordinary = pa.array(range(n)) if chosen is integers_of_one_slot else pa.array([f"{k:024}" for k in range(n)])
    codes, values = first_appearance(pa.chunked_array([column]))
    assert codes.tolist() == list(range(n))
    assert values.equals(column)
    assert min(cpu_seconds(column) for _ in range(3)) < 10 * min(cpu_seconds(ordinary) for _ in range(3)) + 1e-3


@in_c
def test_codes_do_not_depend_on_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    column = pa.chunked_array([[f"{k % 5003}-a-text-of-some-length" for k in range(20_000)]])
    found = []
    for seed in (0, 1, MASK):
        monkeypatch.setattr(encoding, "SEED", seed)
        codes, values = first_appearance(column, n_spans=3)
        found.append((codes.tolist(), values.to_pylist()))
    assert found[0] == found[1] == found[2]


@in_c
def test_values_of_more_bytes_than_an_offset_counts_become_large_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of text may have 2 GB each, and all distinct values together more; here the limit is lower."""
    monkeypatch.setattr(encoding, "MAX_OFFSET", 10)
    texts = [f"text {k}" for k in range(40)]
    codes, values = first_appearance(pa.chunked_array([texts[:20], texts[10:]]), n_spans=2)
    assert (codes.tolist(), values.to_pylist()) == plainly(texts[:20] + texts[10:])
    assert values.type == pa.large_string()
    values.validate(full=True)


@in_c
@pytest.mark.parametrize("kind", ["string", "large_string", "int64"])
def test_buffers_that_begin_at_any_byte_are_read(kind: str) -> None:
    """As they may that come out of another program's memory or of a file."""

    def moved(buffer: pa.Buffer | None) -> pa.Buffer | None:
        return None if buffer is None else pa.py_buffer(b"\0" + buffer.to_pybytes()).slice(1)

    values = pa.array([f"{k % 70}" * (k % 4) for k in range(100)]) if "string" in kind else pa.array(range(100))
    array = values.cast(pa.type_for_alias(kind))
    buffers = [moved(buffer) for buffer in array.buffers()]
    codes, found = first_appearance(pa.chunked_array([pa.Array.from_buffers(array.type, 100, buffers)]))
    assert (codes.tolist(), found.to_pylist()) == plainly(array.to_pylist())


@in_c
def test_columns_are_encoded_by_several_threads_at_once() -> None:
    columns = [pa.chunked_array([[f"{(k * step) % 30_011}-{step}" for k in range(60_000)]]) for step in (1, 7, 11, 13)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(first_appearance, columns))
    for column, (codes, values) in zip(columns, found, strict=True):
        assert values.take(pa.array(codes)).equals(column.chunk(0))


@given(st.lists(st.integers(-1, 4)), st.permutations(range(5)))
def test_recoding_keeps_minus_one(codes: list[int], table: list[int]) -> None:
    expected = [-1 if code < 0 else table[code] for code in codes]
    read_only = np.array(codes, np.int32)
    read_only.flags.writeable = False
    for given_codes in (np.array(codes, np.int32), np.array(codes, np.int64), read_only):
        assert recode(given_codes, np.array(table)).tolist() == expected
    assert read_only.tolist() == codes


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Draw answers; workers and labels of many bits, or of a few, and tasks of many answers."""
    most_tasks, most_workers, most_labels = draw(st.tuples(*(st.sampled_from([1, 3, 40]) for _ in range(3))))
    step = draw(st.sampled_from([1, 1 << 20]))  # with this, a worker and a label need more than 32 bits
    row = st.tuples(st.integers(0, most_tasks), st.integers(0, most_workers), st.integers(0, most_labels))
    rows = draw(st.lists(row, min_size=1, max_size=120))
    if draw(st.booleans()):
        rows = sorted(set(rows))
    task, worker, label = (list(codes) for codes in zip(*rows, strict=True))
    return task, [code * step for code in worker], [code * step for code in label]


@given(answers(), st.sampled_from([None, 1, 2, 5]), st.booleans(), st.booleans())
def test_answers_are_sorted_by_task_worker_and_label(
    rows: tuple[list[int], list[int], list[int]], n_spans: int | None, overwrite: bool, is_native: bool
) -> None:
    native = ordering.native
    pairs = list(zip(rows[0], rows[1], strict=True))
    given_codes = [np.array(codes, np.int32) for codes in rows]
    try:
        ordering.native = native if is_native else None
        columns, has_repeats = sort_answers(*given_codes, overwrite=overwrite, n_spans=n_spans)
    finally:
        ordering.native = native
    assert has_repeats == (len(set(pairs)) < len(pairs))
    ordered = list(zip(*(codes.tolist() for codes in columns), strict=True))
    if pairs == sorted(pairs):  # rows that are in order stay as they are, the labels of a worker's repeats included
        assert ordered == list(zip(*rows, strict=True))
    else:
        assert ordered == sorted(zip(*rows, strict=True))
    if has_repeats or not overwrite:
        assert [codes.tolist() for codes in given_codes] == list(rows)


@pytest.mark.parametrize("n_spans", [1, 3])
def test_a_task_with_a_million_answers_is_sorted(n_spans: int) -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    worker = rng.permutation(n).astype(np.int32)
    task = np.zeros(n, np.int32)
    task[-1] = 1
    (tasks, workers, labels), has_repeats = sort_answers(task, worker, worker % 7, n_spans=n_spans)
    assert not has_repeats
    assert tasks.tolist() == [*[0] * (n - 1), 1]
    assert (np.diff(workers[:-1]) > 0).all()
    assert (labels == workers % 7).all()
    assert workers[-1] == worker[-1]


def test_tables_without_rows_are_sorted() -> None:
    empty = np.zeros(0, np.int32)
    columns, has_repeats = sort_answers(empty, empty, empty)
    assert [codes.tolist() for codes in columns] == [[], [], []]
    assert not has_repeats


@in_c
def test_rows_that_would_leave_the_tables_are_refused() -> None:
    assert ordering.native is not None
    codes = np.array([0, 1], np.int32)
    start = np.array([0, 1, 3])
    with pytest.raises(ValueError, match="out of range"):
        ordering.native.order_count(np.array([0, 2], np.int32), np.zeros(2, np.int32))
    with pytest.raises(ValueError, match="out of range"):
        ordering.native.order_count(np.array([-1], np.int32), np.zeros(2, np.int32))
    with pytest.raises(ValueError, match="differ in length"):
        ordering.native.rows_in_order(codes, codes[:1])
    with pytest.raises(ValueError, match="differ in length"):
        ordering.native.order_scatter(codes, codes, codes[:1], codes, np.zeros(2, np.uint32), 1, 0, 2)
    for high in (2, 3, (1 << 63) - 1):
        with pytest.raises(ValueError, match="one after another"):
            ordering.native.order_sort(start, np.zeros(2, np.uint32), 0, 1, 0, high)
    with pytest.raises(ValueError, match="differ in length"):
        ordering.native.order_unpack(start, np.zeros(2, np.uint32), 1, 0, 2, codes, codes, codes)


@given(st.sampled_from(["int8", "uint8", "int64", "uint64"]), st.data())
def test_numbers_are_ordered_by_value_whatever_their_type(kind: str, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(VALUES[kind], unique=True, max_size=300))
    stored = pa.array(numbers, pa.type_for_alias(kind))
    expected = np.argsort(np.array(numbers, kind), kind="stable").tolist()
    assert canonical_order(stored).tolist() == expected
    assert canonical_order(stored.cast(pa.string())).tolist() == expected


def test_two_spellings_of_a_number_are_ordered_by_their_text() -> None:
    assert canonical_order(pa.array(["2", "01", "1", "3"])).tolist() == [1, 2, 0, 3]
