import base64
import datetime
import hashlib
import os
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from quorate.errors import (
    ConflictingAnswersError,
    LedgerFileError,
    UnreadableFileError,
    UnwritableFileError,
)
from quorate.io.options import ReadOptions
from quorate.ledger import Ledger, append, compact, index
from quorate.ledger.batch_files import SEAL, batch_name, to_stream
from quorate.ledger.entries import COLUMNS, Batch
from quorate.ledger.storage import load_entries
from tests.ledger.batches import contents, filled, single_file, stored, stream_of, table_of

DAY = datetime.date(2026, 3, 1)


IDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["10", "9", "é"]),
    "large text": (pa.large_string(), ["b", "a", "c"]),
    "integers": (pa.int64(), [10, 9, -1]),
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


@pytest.fixture
def single(tmp_path: Path) -> Path:
    """A single-file ledger, as version 0.2 wrote it."""
    path = tmp_path / "single.ledger"
    path.write_bytes(single_file(filled([[("1", "a", "x"), ("1", "b", "y"), ("2", "a", "x")]])))
    return path


def test_a_batch_file_that_is_cut_short_or_changed_is_refused(kept: Path) -> None:
    (batch,) = kept.glob("*.arrow")
    content = batch.read_bytes()
    damaged = [content[:length] for length in range(0, len(content), 7)]
    damaged += [
        content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :] for place in range(0, len(content), 3)
    ]
    for wrong in [*damaged, content + b" "]:
        batch.write_bytes(wrong)
        with pytest.raises(LedgerFileError, match="is damaged"):
            Ledger.load(kept)


def test_a_changed_batch_whose_name_was_made_to_fit_is_refused(kept: Path) -> None:
    """The index has the checksum too."""
    (batch,) = kept.glob("*.arrow")
    content = filled([[("1", "a", "z")]])
    stream = to_stream(Batch(content._entries, "error")).to_pybytes()
    batch.unlink()
    (kept / batch_name(1, stream)).write_bytes(stream)
    with pytest.raises(LedgerFileError, match="is missing"):
        Ledger.load(kept)


def uses_of(path: Path) -> tuple[Callable[[], object], ...]:
    """Every way to use a ledger: read, add to, replace, compact."""
    ledger = filled([[("9", "z", "x")]])
    return (
        lambda: Ledger.load(path),
        lambda: append(path, [table_of([("3", "c", "x")])], ReadOptions()),
        lambda: ledger.save(path),
        lambda: compact(path),
    )


def test_the_index_of_another_ledger_is_refused_and_no_batch_is_removed(kept: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ledger"
    filled([[("1", "a", "x"), ("1", "b", "y")]]).save(other)
    (kept / "index.sqlite").write_bytes((other / "index.sqlite").read_bytes())
    for with_its_batch, message in ((False, "is missing"), (True, "does not list")):
        if with_its_batch:
            shutil.copy(next(other.glob("*.arrow")), kept)
        before = contents(kept)
        for use in uses_of(kept):
            with pytest.raises(LedgerFileError, match=message):
                use()
        assert contents(kept) == before


def test_an_index_older_than_the_batches_is_refused_and_made_again_without_loss(kept: Path) -> None:
    old_index = (kept / "index.sqlite").read_bytes()
    append(kept, [table_of([("3", "c", "x")])], ReadOptions())
    expected = stored(Ledger.load(kept), kept.parent)
    (kept / "index.sqlite").write_bytes(old_index)
    before = contents(kept)
    for use in uses_of(kept):
        with pytest.raises(LedgerFileError, match=r"does not list.*older.*remove index\.sqlite"):
            use()
    assert contents(kept) == before
    (kept / "index.sqlite").unlink()
    assert compact(kept).n_batches == 2
    assert stored(Ledger.load(kept), kept.parent) == expected


def test_an_index_newer_than_the_batches_is_refused(kept: Path) -> None:
    append(kept, [table_of([("3", "c", "x")])], ReadOptions())
    sorted(kept.glob("*.arrow"))[1].unlink()
    before = contents(kept)
    for use in uses_of(kept):
        with pytest.raises(LedgerFileError, match=r"is missing\. Restore it"):
            use()
    assert contents(kept) == before


@pytest.mark.parametrize("damage", [b"", b"no database at all, but long enough to be read as the header of one" * 9])
def test_a_lost_or_damaged_index_is_made_again_from_the_batches(kept: Path, damage: bytes) -> None:
    append(kept, [table_of([("3", "c", "x"), ("2", "a", "z")])], ReadOptions(on_conflict="last"))
    before = stored(Ledger.load(kept), kept.parent)
    index = kept / "index.sqlite"
    if damage:
        index.write_bytes(damage)
        for use in (lambda: Ledger.load(kept), lambda: append(kept, [], ReadOptions()), lambda: compact(kept)):
            with pytest.raises(LedgerFileError, match=r"index.sqlite is damaged .* remove it.*compact"):
                use()
    index.unlink()
    for use in (lambda: Ledger.load(kept), lambda: append(kept, [], ReadOptions())):
        with pytest.raises(LedgerFileError, match=r"has no index\.sqlite"):
            use()
    assert compact(kept).n_answers == 4
    assert stored(Ledger.load(kept), kept.parent) == before
    assert append(kept, [table_of([("3", "c", "x")])], ReadOptions()).batches[0].n_repeats == 1


def test_an_index_of_a_newer_version_is_refused(kept: Path) -> None:
    database = sqlite3.connect(kept / "index.sqlite")
    database.execute("UPDATE facts SET value = 4 WHERE name = 'version'")
    database.commit()
    database.close()
    for use in (lambda: Ledger.load(kept), lambda: append(kept, [], ReadOptions())):
        with pytest.raises(LedgerFileError, match=r"newer version.*format 4; this one reads 3.*upgrade"):
            use()


def test_a_repeat_beside_an_entry_before_all_others_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    append(path, [table_of([("1", "b", "x"), ("2", "a", "x")])], ReadOptions())
    added = append(path, [table_of([("1", "a", "x"), ("1", "b", "x")])], ReadOptions()).batches[0]
    assert (added.n_answers, added.n_repeats) == (1, 1)
    assert len(Ledger.load(path)) == 3


OLD_TABLES = """
CREATE TABLE tasks (code INTEGER PRIMARY KEY, id NOT NULL UNIQUE);
CREATE TABLE workers (code INTEGER PRIMARY KEY, id NOT NULL UNIQUE);
CREATE TABLE labels (code INTEGER PRIMARY KEY, id NOT NULL UNIQUE);
CREATE TABLE answers (
    task INTEGER, worker INTEGER, label INTEGER, n_rows INTEGER, clashed INTEGER, PRIMARY KEY (task, worker)
) WITHOUT ROWID;
"""


def downgrade(path: Path, entries: list[tuple[int, int, int, int, int]]) -> None:
    """Give a ledger the index of format 2, with these entries: codes of task, worker, label; rows; clashed."""
    database = sqlite3.connect(path / "index.sqlite")
    ids = {table: database.execute(f"SELECT code, id FROM {table}").fetchall() for table in COLUMNS}
    for table in (*COLUMNS, "answers"):
        database.execute(f"DROP TABLE {table}")
    database.executescript(OLD_TABLES)
    for table, rows in ids.items():
        database.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
    database.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", entries)
    database.execute("DELETE FROM facts WHERE name IN ('n_tasks', 'n_workers', 'n_labels')")
    database.execute("UPDATE facts SET value = 2 WHERE name = 'version'")
    database.commit()
    database.close()


def test_an_index_of_format_2_is_read_and_converted_by_the_next_command_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.ledger"
    rows = [(f"t{t}", f"w{w}", "xyz"[(t * w) % 3]) for t in range(9) for w in range(t % 4 + 1)]
    again = [("t3", "w0", "z"), ("t8", "w9", "x"), ("t99", "w0", "x"), ("t5", "w1", "y")]
    append(path, [table_of(rows)], ReadOptions())
    entries = load_entries(path)
    codes = [entries.task, entries.worker, entries.label, entries.rows, entries.clashed]
    downgrade(path, list(zip(*(column.tolist() for column in codes), strict=True)))
    monkeypatch.setattr(index, "MAX_ENTRIES", 2)
    monkeypatch.setattr(index, "ROWS_AT_ONCE", 5)
    assert stored(Ledger.load(path), tmp_path) == stored(filled([rows]), tmp_path)
    with pytest.raises(ConflictingAnswersError, match="2 answers of this batch contradict the ledger"):
        append(path, [table_of(again)], ReadOptions())
    expected = filled([rows])
    added = expected.add(table_of(again), on_conflict="drop")
    assert append(path, [table_of(again)], ReadOptions(on_conflict="drop")).batches[0] == added
    assert stored(Ledger.load(path), tmp_path) == stored(expected, tmp_path)


def test_compacting_changes_no_answer_and_leaves_one_batch(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    batches = [[("1", "a", "x")], [("1", "a", "y"), ("1", "b", "x")], [("1", "b", "z"), ("2", "c", "x")]]
    for batch, policy in zip(batches, ("error", "drop", "last"), strict=True):
        append(path, [table_of(batch)], ReadOptions(on_conflict=policy))
    before = stored(Ledger.load(path), tmp_path)
    compacted = compact(path)
    assert (compacted.n_batches, len(list(path.glob("*.arrow")))) == (3, 1)
    assert stored(Ledger.load(path), tmp_path) == before
    with pytest.raises(ConflictingAnswersError, match="'b' gave task '1' 'z' before and now 'x'"):
        append(path, [table_of([("1", "b", "x")])], ReadOptions())
    assert compact(path).n_batches == 1


def test_compacted_ledgers_of_the_same_rows_have_the_same_batch(tmp_path: Path) -> None:
    rows = [(str(t), w, "xy"[(t * k) % 2]) for t in range(6) for k, w in enumerate("abc")]
    for name, cuts in (("one", [0, 18]), ("two", [0, 3, 11, 18])):
        for low, high in pairwise(cuts):
            append(tmp_path / name, [table_of(rows[low:high])], ReadOptions())
        compact(tmp_path / name)
    streams = [stream_of(tmp_path / name) for name in ("one", "two")]
    assert streams[0] == streams[1]


def test_any_arrow_program_reads_a_batch(kept: Path) -> None:
    (batch,) = kept.glob("*.arrow")
    with pa.ipc.open_stream(batch.read_bytes()) as reader:
        table = reader.read_all()
    assert table.select(["task", "worker", "label"]).to_pylist()[0] == {"task": "1", "worker": "a", "label": "x"}


def test_adding_reads_no_earlier_batch(kept: Path) -> None:
    (batch,) = kept.glob("*.arrow")
    content = batch.read_bytes()
    batch.write_bytes(b"")
    append(kept, [table_of([("1", "a", "x"), ("9", "z", "x")])], ReadOptions())
    batch.write_bytes(content)
    assert (len(Ledger.load(kept)), Ledger.load(kept).answers.n_repeats) == (4, 1)


# A ledger of two batches that version 0.2 wrote, of which one was added with on_conflict="drop".
VERSION_0_2 = (
    "c-qBOF^kkt5PmPouJH&Gjzv<Y5!T`$$zHNKQB<(7IIvN;LeQ7w<xX~S&t&CJ!N$hg%2vB8ECemDv(UoQ!XKc8owbGQ%*)$s?veFQ"
    "5FD7y%glT;^JT(&@NiPFDR;*_+vbJqyME+(t~X4Xp9}_^1si<e1?w#G!;Rcavf(iEvM^4fG|$2?&GRT^VV?Rd;z<@J@i2*lbbVz8"
    "@`Dm$6O<KlhIC1Xm~aB2M(wxYX-NM?afUD``b~IZ%p_HvdCUVn4SN4hIl8yI%QHB4&=0|nV5gv0Wd0YJ15jPWJJN@83N#(FatF|d"
    "zh*O=^q@}{{Fdle%||sAhqjpPm3THqZ9=iv?W#|wCwsdM49+%Y2_FkiHmD&uVJA)I+?2Htw+ZLhje6IVdR@@HNipID*6Y>vZ25iW"
    "a?q&xa)un8nj`X+99w&!ow9Nyc#7(anQ<>BR57bmTHy?V!Mz`V?a4Y8oT|-R0!uVQ#2gu~Hour3{|QI#9V464uQhn-WVu+<+R`?0"
    "RC#an`$1)q$D6<6v0CrJIkJcU%ZDZZhL3g(AN_=UY{lxz-1;B*U~K=<<C@QP+T?TgC?DMrbKhMu_hI8sS!A4i?qz<rF*8bEiN^{)"
    "R&ZNNd`qb}zfTM$Z`nINCf@d~se+~Qz9cQPXf3%-zq}*FzR;FCY%K_*3zzrbKmBxL_58cy){CD{`XBnQzMcEL_WkSj+pEu?MVE}<"
    "btH!h"
)


def test_a_single_file_of_version_0_2_is_read_and_converted(tmp_path: Path) -> None:
    path = tmp_path / "old.ledger"
    path.write_bytes(zlib.decompress(base64.b85decode(VERSION_0_2)))
    ledger = Ledger.load(path)
    answers = ledger.answers
    assert answers.to_table().to_pylist() == [
        {"task": "1", "worker": "a", "label": "x"},
        {"task": "1", "worker": "b", "label": "y"},
        {"task": "2", "worker": "a", "label": "x"},
    ]
    assert (answers.n_rows, answers.n_repeats, answers.n_conflicting) == (6, 1, 2)
    before = stored(ledger, tmp_path)
    shutil.copy(path, tmp_path / "copy.ledger")
    assert compact(tmp_path / "copy.ledger").n_answers == 3
    assert stored(Ledger.load(tmp_path / "copy.ledger"), tmp_path) == before
    added = append(path, [table_of([("1", "a", "x"), ("3", "c", "x")])], ReadOptions())
    assert (added.n_answers, added.batches[0].n_repeats, path.is_dir()) == (4, 1, True)
    assert {each.name for each in tmp_path.iterdir()} == {"old.ledger", "copy.ledger", "stored.ledger"}
    with pytest.raises(ConflictingAnswersError, match="several labels, which were dropped"):
        append(path, [table_of([("2", "b", "x")])], ReadOptions())


def test_a_conversion_that_was_interrupted_between_renamings_loses_nothing(single: Path) -> None:
    before = stored(Ledger.load(single), single.parent)
    renamed = single.with_name("single.ledger.single-file")
    single.rename(renamed)
    assert stored(Ledger.load(single), single.parent) == before
    append(single, [table_of([("3", "c", "x")])], ReadOptions())
    assert len(Ledger.load(single)) == 4
    assert not renamed.exists()


def test_a_single_file_that_is_cut_short_anywhere_is_refused(single: Path) -> None:
    content = single.read_bytes()
    for length in range(len(content)):
        single.write_bytes(content[:length])
        with pytest.raises(LedgerFileError, match="cut short" if length else "is empty"):
            Ledger.load(single)


def test_a_single_file_with_a_flipped_bit_is_refused(single: Path) -> None:
    """Every bit of the first line, which says how long the rest is and of what version, and one of every other byte."""
    content = single.read_bytes()
    first = content.index(b"\n") + 1
    bits = [(place, bit) for place in range(first) for bit in range(8)]
    for place, bit in bits + [(place, 0) for place in range(first, len(content))]:
        single.write_bytes(content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :])
        with pytest.raises(LedgerFileError):
            Ledger.load(single)
    for other in (
        content.replace(b" ", b"  ", 3),
        content.replace(b"ledger 1 ", b"ledger 01 "),
        content.replace(b" ", b"\t", 3),
    ):
        single.write_bytes(other)
        with pytest.raises(LedgerFileError):
            Ledger.load(single)
    single.write_bytes(content + b" ")
    with pytest.raises(LedgerFileError, match="damaged"):
        Ledger.load(single)


def test_other_files_are_refused_and_named(single: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("task,worker,label\n")
    with pytest.raises(LedgerFileError, match=r"is not a ledger: it begins with 'task,worker"):
        Ledger.load(tmp_path / "answers.csv")
    newer = single.read_bytes().replace(b"quorate ledger 1 ", b"quorate ledger 2 with more fields ", 1)
    single.write_bytes(newer)
    with pytest.raises(LedgerFileError, match=r"newer version.*format 2; this one reads 1.*upgrade"):
        Ledger.load(single)
    with pytest.raises(UnreadableFileError, match="There is no ledger"):
        Ledger.load(tmp_path / "nowhere")
    with pytest.raises(LedgerFileError, match="is not a ledger: it has no index"):
        Ledger.load(tmp_path)
    with pytest.raises(LedgerFileError, match="neither an index nor batches"):
        compact(tmp_path)


@pytest.mark.parametrize("accident", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("when", ["fsync", "replace"])
@pytest.mark.parametrize("what", ["save", "append", "compact"])
def test_an_interrupted_write_leaves_the_old_ledger_and_nothing_else(
    kept: Path, what: str, when: str, accident: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(kept)
    ledger = Ledger.load(kept)
    ledger.add(table_of([("3", "c", "x")]))
    write: Callable[[], object] = {
        "save": lambda: ledger.save(kept),
        "append": lambda: append(kept, [table_of([("3", "c", "x")])], ReadOptions()),
        "compact": lambda: compact(kept),
    }[what]

    def fail(*_: Any) -> None:
        raise accident

    with monkeypatch.context() as patch:
        patch.setattr(os, when, fail)
        with pytest.raises(UnwritableFileError if accident is OSError else accident):
            write()
    assert contents(kept) == before
    assert [each.name for each in kept.parent.iterdir()] == [kept.name]
    write()


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions as Unix has them")
def test_a_link_and_its_permissions_stay(kept: Path, tmp_path: Path) -> None:
    kept.chmod(0o750)
    link = tmp_path / "link.ledger"
    link.symlink_to(kept.name)
    ledger = Ledger.load(link)
    ledger.add(table_of([("3", "c", "x")]))
    ledger.save(link)
    assert link.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o750
    assert len(Ledger.load(kept)) == 4


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFileError, match="nowhere"):
        filled([[("1", "a", "x")]]).save(tmp_path / "nowhere" / "x.ledger")


def fitted(payload: bytes) -> bytes:
    """A file whose first line is right for whatever comes after it."""
    return f"quorate ledger 1 {len(payload)} {hashlib.sha256(payload).hexdigest()}\n".encode() + payload


def test_a_changed_byte_of_a_single_file_is_refused_also_when_the_checksum_was_made_to_fit(single: Path) -> None:
    payload = single.read_bytes().partition(b"\n")[2]
    for place in range(len(payload)):
        for flip in (1, 0x80):
            single.write_bytes(fitted(payload[:place] + bytes([payload[place] ^ flip]) + payload[place + 1 :]))
            with pytest.raises(LedgerFileError, match="is not a valid file of a ledger"):
                Ledger.load(single)


def sealed(batch: pa.RecordBatch) -> bytes:
    """A file with both checksums right, whatever it holds."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    content = stream.getvalue().to_pybytes()
    return fitted(content + SEAL + hashlib.sha256(content).digest())


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
    single: Path, column: str, values: Any
) -> None:
    batch = pa.RecordBatch.from_pydict(SOUND).replace_schema_metadata({"n_skipped": "0"})
    single.write_bytes(sealed(batch))
    assert len(Ledger.load(single)) == 2
    broken = pa.RecordBatch.from_pydict({**SOUND, column: values}).replace_schema_metadata({"n_skipped": "0"})
    single.write_bytes(sealed(broken))
    with pytest.raises(LedgerFileError, match="is not a valid file of a ledger"):
        Ledger.load(single)


def test_a_single_file_without_the_second_checksum_is_read(single: Path) -> None:
    payload = single.read_bytes().partition(b"\n")[2]
    single.write_bytes(fitted(payload[: -len(SEAL) - 32]))
    assert len(Ledger.load(single)) == 3
