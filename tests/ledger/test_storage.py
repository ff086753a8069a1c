import datetime
import hashlib
import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from quorate.errors import (
    LedgerFileError,
    UnreadableFileError,
    UnwritableFileError,
)
from quorate.ledger import Ledger
from quorate.ledger.storage import SEAL
from tests.ledger.batches import filled, stored, table_of

DAY = datetime.date(2026, 3, 1)


IDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["10", "9", "é"]),
    "large text": (pa.large_string(), ["b", "a", "c"]),
    "whole numbers": (pa.int64(), [10, 9, -1]),
    "small numbers": (pa.int16(), [10, 9, -1]),
    "hashes": (pa.uint64(), [2**64 - 1, 5, 0]),
    "numbers": (pa.float64(), [0.5, 1e15, -2.0]),
    "days": (pa.date32(), [DAY, DAY.replace(day=2), DAY.replace(year=1)]),
    "nanoseconds": (pa.timestamp("ns"), [1, 10**18 + 1, -5]),
    "times of day": (pa.time32("s"), [1, 2, 3]),
    "decimals": (pa.decimal128(6, 2), [Decimal("1.50"), Decimal("-2.25"), Decimal("9.00")]),
    "bytes of text": (pa.binary(), [b"b", "é".encode(), b"a"]),
    "booleans": (pa.bool_(), [True, False, True]),
    "categories": (pa.dictionary(pa.int32(), pa.string()), ["b", "a", "b"]),
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_any_type_survive_the_file(kind: str, tmp_path: Path) -> None:
    values = pa.array(IDS[kind][1], IDS[kind][0])
    table = {"task": values, "worker": values, "label": values}
    ledger = Ledger()
    ledger.add(pa.table(table))
    first = stored(ledger, tmp_path)
    again = Ledger.load(tmp_path / "stored.ledger")
    assert stored(again, tmp_path) == first
    plain = values.dictionary_decode() if kind == "categories" else values
    plain = plain.cast(pa.string()) if kind == "bytes of text" else plain
    found = again.answers.task_names
    assert sorted(map(str, found)) == sorted(set(map(str, plain)))
    again.add(pa.table(table))
    assert (len(again), again.answers.n_repeats) == (len(ledger), again.answers.n_rows - len(ledger))


def test_batches_may_write_text_and_numbers_with_more_or_fewer_bits() -> None:
    ledger = Ledger()
    for text, number in ((pa.string(), pa.int64()), (pa.large_string(), pa.int32())):
        ledger.add(
            pa.table({"task": pa.array([7], number), "worker": pa.array(["a"], text), "label": pa.array(["x"], text)})
        )
    assert (len(ledger), ledger.answers.n_repeats) == (1, 1)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    filled([[("1", "a", "x"), ("1", "b", "y"), ("2", "a", "x")]]).save(tmp_path / "kept.ledger")
    return tmp_path / "kept.ledger"


def test_a_file_that_is_cut_short_anywhere_is_refused(kept: Path) -> None:
    whole = kept.read_bytes()
    for length in range(len(whole)):
        kept.write_bytes(whole[:length])
        with pytest.raises(LedgerFileError, match="cut short" if length else "is empty"):
            Ledger.load(kept)


def test_a_file_with_a_flipped_bit_is_refused(kept: Path) -> None:
    """Every bit of the first line, which says how long the rest is and of what version, and one of every other byte."""
    whole = kept.read_bytes()
    first = whole.index(b"\n") + 1
    bits = [(place, bit) for place in range(first) for bit in range(8)]
    for place, bit in bits + [(place, 0) for place in range(first, len(whole))]:
        kept.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
        with pytest.raises(LedgerFileError):
            Ledger.load(kept)
    for other in (
        whole.replace(b" ", b"  ", 3),
        whole.replace(b"ledger 1 ", b"ledger 01 "),
        whole.replace(b" ", b"\t", 3),
    ):
        kept.write_bytes(other)
        with pytest.raises(LedgerFileError):
            Ledger.load(kept)
    kept.write_bytes(whole + b" ")
    with pytest.raises(LedgerFileError, match="damaged"):
        Ledger.load(kept)


def test_other_files_are_refused_and_told_apart(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("task,worker,label\n")
    with pytest.raises(LedgerFileError, match=r"no ledger: it begins with b'task,worker"):
        Ledger.load(tmp_path / "answers.csv")
    newer = kept.read_bytes().replace(b"quorate ledger 1 ", b"quorate ledger 2 with more fields ", 1)
    kept.write_bytes(newer)
    with pytest.raises(LedgerFileError, match=r"newer version.*format 2; this one reads 1.*upgrade"):
        Ledger.load(kept)
    with pytest.raises(UnreadableFileError, match="there is no ledger"):
        Ledger.load(tmp_path / "nowhere")
    with pytest.raises(UnreadableFileError, match="cannot read"):
        Ledger.load(tmp_path)


@pytest.mark.parametrize("accident", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    kept: Path, when: str, accident: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept.read_bytes()
    ledger = Ledger.load(kept)
    ledger.add(table_of([("3", "c", "x")]))

    def fail(*_: Any) -> None:
        raise accident

    monkeypatch.setattr(os, when, fail)
    with pytest.raises(UnwritableFileError if accident is OSError else accident):
        ledger.save(kept)
    assert kept.read_bytes() == before
    assert [each.name for each in kept.parent.iterdir()] == [kept.name]


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions as Unix has them")
def test_a_link_and_its_permissions_stay(kept: Path, tmp_path: Path) -> None:
    kept.chmod(0o640)
    link = tmp_path / "link.ledger"
    link.symlink_to(kept.name)
    ledger = Ledger.load(link)
    ledger.add(table_of([("3", "c", "x")]))
    ledger.save(link)
    assert link.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert len(Ledger.load(kept)) == 4


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFileError, match="nowhere"):
        filled([[("1", "a", "x")]]).save(tmp_path / "nowhere" / "x.ledger")


def fitted(payload: bytes) -> bytes:
    """A file whose first line is right for whatever comes after it."""
    return f"quorate ledger 1 {len(payload)} {hashlib.sha256(payload).hexdigest()}\n".encode() + payload


def test_a_changed_byte_is_refused_also_when_the_checksum_was_made_to_fit(kept: Path) -> None:
    payload = kept.read_bytes().partition(b"\n")[2]
    for place in range(len(payload)):
        for flip in (1, 0x80):
            kept.write_bytes(fitted(payload[:place] + bytes([payload[place] ^ flip]) + payload[place + 1 :]))
            with pytest.raises(LedgerFileError, match="does not hold what a ledger should"):
                Ledger.load(kept)


def sealed(batch: pa.RecordBatch) -> bytes:
    """A file with both checksums right, whatever it holds."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    whole = stream.getvalue().to_pybytes()
    return fitted(whole + SEAL + hashlib.sha256(whole).digest())


CODES = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", "b"]))
SOUND: dict[str, Any] = {
    "task": CODES,
    "worker": CODES,
    "label": CODES,
    "rows": pa.array([1, 1], pa.int64()),
    "clashed": pa.array([False, False]),
}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("rows", pa.array([1, 0], pa.int64())),
        ("rows", pa.array([1.0, 1.0])),
        ("rows", pa.array([1, None], pa.int64())),
        ("clashed", pa.array([True, False])),
        ("clashed", pa.array([0, 1], pa.int8())),
        ("task", pa.array(["a", "b"])),
        ("task", pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", "a"]))),
        ("worker", pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", None]))),
        ("worker", pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), pa.array(["a", "b"]))),
        ("label", pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), pa.array(["a", "b"]))),
        ("label", pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([b"\xff", b"b"]))),
        ("label", pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([["x"], ["y"]]))),
    ],
)
def test_what_no_answers_can_have_made_is_refused_with_both_checksums_right(
    kept: Path, column: str, values: Any
) -> None:
    batch = pa.RecordBatch.from_pydict(SOUND).replace_schema_metadata({"n_skipped": "0"})
    kept.write_bytes(sealed(batch))
    assert len(Ledger.load(kept)) == 2
    broken = pa.RecordBatch.from_pydict({**SOUND, column: values}).replace_schema_metadata({"n_skipped": "0"})
    kept.write_bytes(sealed(broken))
    with pytest.raises(LedgerFileError, match="does not hold what a ledger should"):
        Ledger.load(kept)


def test_a_ledger_without_the_second_checksum_is_read(kept: Path) -> None:
    payload = kept.read_bytes().partition(b"\n")[2]
    kept.write_bytes(fitted(payload[: -len(SEAL) - 32]))
    assert len(Ledger.load(kept)) == 3
