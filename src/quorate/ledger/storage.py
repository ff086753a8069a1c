"""Entries <-> one file, written whole or not at all, and refused unless it is whole.

The file is one line of text, ``quorate ledger VERSION BYTES SHA-256``, and then as many bytes: an Arrow stream, and
once more its SHA-256, so that neither the first line nor the rest can be changed alone; what it holds is checked too.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from quorate.addresses import render_address
from quorate.arrays import IntArray, from_numpy, to_numpy
from quorate.errors import LedgerFileError, UnreadableFileError, UnwritableFileError, reason
from quorate.io.atomic import atomic_write, lock, unlock
from quorate.io.columns import check_values, plain
from quorate.io.inputs import local_path, record_input
from quorate.ledger.entries import DROPPED, Entries

MAGIC = b"quorate ledger "
VERSION = 1
COLUMNS = ("task", "worker", "label", "rows", "clashed")
LONGEST = 200  # bytes of the first line, at the most
SEAL = b"sha-256:"  # before the checksum at the end; ledgers of version 0.2 have none
PATIENCE = 60.0  # seconds to wait for another command: as long as adding some ten million answers takes


@contextmanager
def alone_with(path: str | Path, patience: float = PATIENCE) -> Iterator[None]:
    """Keep others who ask for the same from a ledger while it is read, changed and written.

    The lock is on the folder, since the file itself is replaced; it goes with the process, however that ends.

    Args:
        path: of the ledger, which need not be there yet.
        patience: how many seconds to wait for another who has it.

    Raises:
        LedgerFileError: another command has not finished by then.
        UnwritableFileError: there is no folder for it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, alone_with(f"{folder}/answers.ledger"):
    ...     os.listdir(folder)
    []
    """
    folder = Path(os.path.realpath(local_path(path))).parent
    if not folder.is_dir():
        raise UnwritableFileError(
            f"cannot write {render_address(path)}: there is no such folder. Make it, or choose another"
        )
    held = _patiently(path, folder, patience)
    try:
        yield
    finally:
        unlock(held)


def _patiently(path: str | Path, folder: Path, patience: float) -> int | None:
    end = time.monotonic() + patience
    while True:
        try:
            return lock(folder)
        except BlockingIOError:
            if time.monotonic() > end:
                raise LedgerFileError(
                    f"another command has had the folder of {path} for {patience:g} seconds; nothing was written. "
                    "Wait for it, and run this one again"
                ) from None
            time.sleep(0.02)


def write_entries(entries: Entries, path: str | Path) -> None:
    """Write entries to a file; whoever opens the path sees the old file or the new one, never half of one.

    Raises:
        UnwritableFileError: the folder is not there, or may not be written to.

    >>> import tempfile
    >>> from quorate.ledger.entries import read_entries
    >>> from quorate.io.options import ReadOptions
    >>> entries = read_entries({"task": [1], "worker": ["a"], "label": ["x"]}, ReadOptions())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_entries(entries, f"{folder}/answers.ledger")
    ...     load_entries(f"{folder}/answers.ledger").names[1].to_pylist()
    ['a']
    """
    payload = _to_bytes(entries)

    def write(stream: BinaryIO) -> None:
        stream.write(_first_line(payload))
        stream.write(payload)

    atomic_write(path, write, durable=True)


def load_entries(path: str | Path) -> Entries:
    """Read entries from a file.

    Raises:
        UnreadableFileError: the file is not there, is a folder, or may not be read.
        LedgerFileError: it is no ledger, is cut short or damaged, or was written by a newer version.

    >>> load_entries("nowhere.ledger")
    Traceback (most recent call last):
    quorate.errors.UnreadableFileError: there is no ledger nowhere.ledger
    """
    record_input(path)
    try:
        file = Path(local_path(path))
        if file.is_char_device():  # some give zeros for ever
            raise UnreadableFileError(f"cannot read the ledger {path}: it is a device. Name a file")
        content = file.read_bytes()
    except FileNotFoundError:
        raise UnreadableFileError(f"there is no ledger {render_address(path)}") from None
    except OSError as error:
        raise UnreadableFileError(f"cannot read the ledger {render_address(path)}: {error.strerror or error}") from None
    payload = _checked(content, path)
    try:
        return _from_bytes(payload)
    except Exception as error:  # what a damaged stream makes of its parts is not foreseen
        raise LedgerFileError(f"{path} does not hold what a ledger should ({reason(error)}); make it anew") from None


def _first_line(payload: pa.Buffer | memoryview) -> bytes:
    return MAGIC + f"{VERSION} {len(payload)} {hashlib.sha256(payload).hexdigest()}\n".encode()


def _checked(content: bytes, path: str | Path) -> memoryview:
    """Return what follows the first line, if it is all that was written."""
    start = min(len(content), len(MAGIC))
    if not content or content[:start] != MAGIC[:start]:
        what = f"it begins with {content[:20]!r}" if content else "it is empty"
        raise LedgerFileError(f"{path} is no ledger: {what}. `quorate ledger add` makes one, from files of answers")
    head, newline, _ = content[:LONGEST].partition(b"\n")
    fields = head[len(MAGIC) :].split()
    version = fields[0] if fields and (newline or len(fields) > 1) else b""  # the number itself may be cut short
    if version.isdigit() and int(version) > VERSION:
        raise LedgerFileError(
            f"{path} was written by a newer version of quorate (format {int(version)}; this one reads {VERSION}); "
            "upgrade quorate"
        )
    payload = memoryview(content)[len(head) + len(newline) :]
    remedy = "Take a copy of it, or add the answers again to a new one"
    if not newline or len(fields) != 3 or not fields[1].isdigit():
        raise LedgerFileError(f"{path} is cut short within its first line. {remedy}")
    size = int(fields[1])
    if len(payload) < size:
        raise LedgerFileError(f"{path} is cut short: {len(payload):,} of {size:,} bytes are there. {remedy}")
    if head + newline != _first_line(payload):
        raise LedgerFileError(f"{path} is damaged: its bytes are not those that were written. {remedy}")
    return payload


def _to_bytes(entries: Entries) -> pa.Buffer:
    codes = (entries.task, entries.worker, entries.label)
    columns = [
        pa.DictionaryArray.from_arrays(from_numpy(np.maximum(each, 0).astype(np.int32), mask=each == DROPPED), names)
        for each, names in zip(codes, entries.names, strict=True)
    ]
    columns += [from_numpy(entries.rows.astype(np.int64)), from_numpy(entries.clashed)]
    metadata = {"n_skipped": str(entries.n_skipped)}
    batch = pa.RecordBatch.from_arrays(columns, names=list(COLUMNS)).replace_schema_metadata(metadata)
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    whole = stream.getvalue()
    return pa.py_buffer(whole.to_pybytes() + SEAL + hashlib.sha256(whole).digest())


def _from_bytes(payload: memoryview) -> Entries:
    source = pa.BufferReader(pa.py_buffer(payload))
    reader = pa.ipc.open_stream(source)
    (batch,) = reader
    rest = bytes(payload[source.tell() :])
    if rest and rest != SEAL + hashlib.sha256(payload[: source.tell()]).digest():
        raise ValueError("its two checksums differ")
    batch.validate(full=True)
    _check_columns(batch)
    task, worker, label, rows, clashed = (batch.column(name) for name in COLUMNS)
    entries = Entries(
        _codes(task),
        _codes(worker),
        _codes(label),
        to_numpy(rows),
        to_numpy(clashed),
        (task.dictionary, worker.dictionary, label.dictionary),
        n_skipped=int(batch.schema.metadata[b"n_skipped"]),
    )
    _check_entries(entries)
    return entries


def _check_columns(batch: pa.RecordBatch) -> None:
    """Refuse what is no table of a ledger."""
    coded = [batch.column(name) for name in COLUMNS[:3]]
    kinds = [column.type for column in coded]
    _refuse_unless(batch.schema.names == list(COLUMNS), "other columns")
    _refuse_unless(all(pa.types.is_dictionary(kind) and kind.index_type == pa.int32() for kind in kinds), "no codes")
    _refuse_unless(batch.schema.field("rows").type == pa.int64(), "rows are no numbers")
    _refuse_unless(batch.schema.field("clashed").type == pa.bool_(), "no flags")
    _refuse_unless(not any(batch.column(name).null_count for name in COLUMNS if name != "label"), "a null")
    for name, column in zip(COLUMNS, coded, strict=False):
        names = column.dictionary
        _refuse_unless(names.null_count == 0 and len(names.unique()) == len(names), f"a {name} twice")
        plain(pa.chunked_array([names]), name)
        check_values(names, name)


def _check_entries(entries: Entries) -> None:
    """Refuse entries that no answers can have made."""
    place = entries.task << 32 | entries.worker
    _refuse_unless(bool(np.all(place[1:] > place[:-1])), "a task and worker twice")
    _refuse_unless(bool(np.all(entries.rows >= 1 + entries.clashed)), "answers without a row")
    _refuse_unless(not np.any((entries.label == DROPPED) & ~entries.clashed), "labels dropped without a conflict")
    _refuse_unless(entries.n_skipped >= 0, "fewer than no rows skipped")


def _refuse_unless(well: bool, what: str) -> None:
    if not well:
        raise ValueError(f"it has {what}")


def _codes(column: pa.DictionaryArray) -> IntArray:
    codes = to_numpy(column.indices).astype(np.int64)
    return np.where(to_numpy(column.is_valid()), codes, DROPPED) if column.null_count else codes
