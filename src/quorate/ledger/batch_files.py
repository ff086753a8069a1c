"""Write and read a batch of a ledger as one Arrow stream, named by its number and the SHA-256 of its bytes.

The stream has one record batch: ``task``, ``worker`` and ``label`` (dictionary-encoded; a null label was dropped
because of a conflict), ``rows`` and ``clashed``; its metadata has the number of rows with a missing field and the
conflict policy. Any program that reads Arrow streams can read it.

Ledgers of version 0.2 are one file: a line of text, ``quorate ledger 1 BYTES SHA-256``, such a stream, and optionally
the SHA-256 of the stream. `read_single_file` reads them.
"""

import hashlib
import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray, from_numpy, to_numpy
from quorate.errors import LedgerFileError, reason
from quorate.io.columns import check_values, plain
from quorate.io.options import POLICIES
from quorate.ledger.entries import DROPPED, Batch, Entries, entry_keys

FIELDS = ("task", "worker", "label", "rows", "clashed")
BATCH_NAME = re.compile(r"(\d{8})-([0-9a-f]{64})\.arrow")
MAGIC = b"quorate ledger "
SINGLE_FILE_VERSION = 1
MAX_HEADER_BYTES = 200
SEAL = b"sha-256:"  # before the checksum at the end of a single-file ledger


def batch_name(number: int, content: pa.Buffer | bytes) -> str:
    """Return the file name of a batch: its number and the checksum of its content.

    >>> batch_name(7, b"")[:20]
    '00000007-e3b0c44298f'
    """
    return f"{number:08d}-{hashlib.sha256(content).hexdigest()}.arrow"


def to_stream(batch: Batch) -> pa.Buffer:
    """Return a batch as an Arrow stream.

    >>> from quorate.ledger.entries import no_entries
    >>> from_stream(memoryview(to_stream(Batch(no_entries(), "last")))).on_conflict
    'last'
    """
    entries = batch.entries
    coded = zip((entries.task, entries.worker, entries.label), entries.names, strict=True)
    columns = [pa.DictionaryArray.from_arrays(_dictionary_codes(codes), names) for codes, names in coded]
    columns.append(from_numpy(entries.rows.astype(np.int64)))
    columns.append(from_numpy(entries.clashed))
    metadata = {"n_skipped": str(entries.n_skipped), "on_conflict": batch.on_conflict}
    records = pa.RecordBatch.from_arrays(columns, names=list(FIELDS)).replace_schema_metadata(metadata)
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, records.schema) as writer:
        writer.write_batch(records)
    return stream.getvalue()


def _dictionary_codes(codes: IntArray) -> pa.Array:
    """Return codes as Arrow needs them: of 32 bits, null where a label was dropped."""
    is_dropped = codes == DROPPED
    if not is_dropped.any():
        return from_numpy(codes.astype(np.int32, copy=False))
    return from_numpy(np.maximum(codes, 0).astype(np.int32), mask=is_dropped)


def from_stream(content: memoryview) -> Batch:
    """Read a batch from an Arrow stream.

    Raises:
        Exception: the stream is not a batch; pyarrow raises many classes for damaged streams.

    >>> from quorate.ledger.entries import no_entries
    >>> from_stream(memoryview(to_stream(Batch(no_entries(), "error")))).entries.n_answers
    0
    """
    batch, end = _read_stream(content)
    if end != len(content):
        raise ValueError("it has bytes after its end")
    return batch


def read_batch(path: Path) -> Batch:
    """Read the file of a batch and check its bytes against the checksum in its name.

    Raises:
        FileNotFoundError: there is no such file.
        LedgerFileError: the bytes are not those that were written, or are not a batch.

    >>> import tempfile
    >>> from quorate.ledger.entries import no_entries
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stream = to_stream(Batch(no_entries(), "error"))
    ...     path = Path(folder) / batch_name(1, stream)
    ...     size = path.write_bytes(stream)
    ...     read_batch(path).on_conflict
    'error'
    """
    name = BATCH_NAME.fullmatch(path.name)
    content = path.read_bytes()
    if name is None or hashlib.sha256(content).hexdigest() != name.group(2):
        raise LedgerFileError(
            f"{path} is damaged: its bytes are not those that were written. Restore the file from a copy of the "
            "ledger, or add the answers again to a new ledger"
        )
    try:
        return from_stream(memoryview(content))
    except Exception as error:  # pyarrow raises many classes for damaged streams
        raise LedgerFileError(
            f"{path} is not a valid file of a ledger ({reason(error)}). Restore it from a copy of the ledger, or add "
            "the answers again to a new ledger"
        ) from None


def read_single_file(content: bytes, path: str | Path) -> Entries:
    """Read the content of a single-file ledger of version 0.2.

    Args:
        content: of the file.
        path: for messages.

    Raises:
        LedgerFileError: it is not a ledger, is incomplete or damaged, or was written by a newer version.

    >>> read_single_file(b"task,worker,label", "a.csv")
    Traceback (most recent call last):
    quorate.errors.LedgerFileError: a.csv is not a ledger: it begins with 'task,worker,label'...
    """
    payload = _checked_payload(content, path)
    try:
        batch, end = _read_stream(payload)
        rest = bytes(payload[end:])
        if rest and rest != SEAL + hashlib.sha256(payload[:end]).digest():
            raise ValueError("its two checksums differ")
    except Exception as error:  # pyarrow raises many classes for damaged streams
        raise LedgerFileError(
            f"{path} is not a valid file of a ledger ({reason(error)}). Restore it from a copy of the ledger, or add "
            "the answers again to a new ledger"
        ) from None
    return batch.entries


def _checked_payload(content: bytes, path: str | Path) -> memoryview:
    """Return the bytes after the first line of a single-file ledger; raise LedgerFileError if they are damaged."""
    start = min(len(content), len(MAGIC))
    if not content or content[:start] != MAGIC[:start]:
        what = f"it begins with {content[:20].decode('utf-8', 'replace')!r}" if content else "it is empty"
        raise LedgerFileError(
            f"{path} is not a ledger: {what}. Choose another name; quorate ledger add makes a new ledger"
        )
    head, newline, _ = content[:MAX_HEADER_BYTES].partition(b"\n")
    fields = head[len(MAGIC) :].split()
    version = fields[0] if fields and (newline or len(fields) > 1) else b""  # the number itself may be incomplete
    if version.isdigit() and int(version) > SINGLE_FILE_VERSION:
        raise LedgerFileError(
            f"{path} was written by a newer version of quorate (format {int(version)}; this one reads "
            f"{SINGLE_FILE_VERSION}); upgrade quorate"
        )
    payload = memoryview(content)[len(head) + len(newline) :]
    remedy = "Take a copy of it, or add the answers again to a new one"
    if not newline or len(fields) != 3 or not fields[1].isdigit():
        raise LedgerFileError(f"{path} is cut short within its first line. {remedy}")
    size = int(fields[1])
    if len(payload) < size:
        raise LedgerFileError(f"{path} is cut short: {len(payload):,} of {size:,} bytes are there. {remedy}")
    checksum = hashlib.sha256(payload).hexdigest()
    if head + newline != MAGIC + f"{SINGLE_FILE_VERSION} {len(payload)} {checksum}\n".encode():
        raise LedgerFileError(f"{path} is damaged: its bytes are not those that were written. {remedy}")
    return payload


def _read_stream(content: memoryview) -> tuple[Batch, int]:
    """Return the batch at the start of ``content``, and the position after it."""
    source = pa.BufferReader(pa.py_buffer(content))
    reader = pa.ipc.open_stream(source)
    (records,) = reader
    end = source.tell()
    records.validate(full=True)
    _check_columns(records)
    task, worker, label, rows, clashed = (records.column(name) for name in FIELDS)
    entries = Entries(
        _codes(task),
        _codes(worker),
        _codes(label),
        to_numpy(rows),
        to_numpy(clashed),
        (task.dictionary, worker.dictionary, label.dictionary),
        n_skipped=int(records.schema.metadata[b"n_skipped"]),
    )
    _check_entries(entries)
    on_conflict = records.schema.metadata.get(b"on_conflict", b"error").decode()
    _refuse_unless(on_conflict in POLICIES, f"no conflict policy {on_conflict!r}")
    return Batch(entries, on_conflict), end


def _check_columns(records: pa.RecordBatch) -> None:
    """Raise ValueError if the columns are not those of a batch."""
    coded = [records.column(name) for name in FIELDS[:3]]
    kinds = [column.type for column in coded]
    _refuse_unless(records.schema.names == list(FIELDS), "other columns")
    _refuse_unless(all(pa.types.is_dictionary(kind) and kind.index_type == pa.int32() for kind in kinds), "no codes")
    _refuse_unless(records.schema.field("rows").type == pa.int64(), "rows are not numbers")
    _refuse_unless(records.schema.field("clashed").type == pa.bool_(), "no flags")
    _refuse_unless(not any(records.column(name).null_count for name in FIELDS if name != "label"), "a null")
    for name, column in zip(FIELDS, coded, strict=False):
        names = column.dictionary
        _refuse_unless(names.null_count == 0 and len(names.unique()) == len(names), f"a {name} twice")
        plain(pa.chunked_array([names]), name)
        check_values(names, name)


def _check_entries(entries: Entries) -> None:
    """Raise ValueError if the entries cannot come from answers."""
    key = entry_keys(entries.task, entries.worker)
    _refuse_unless(bool(np.all(key[1:] > key[:-1])), "a task and worker twice")
    _refuse_unless(bool(np.all(entries.rows >= 1 + entries.clashed)), "answers without a row")
    _refuse_unless(not np.any((entries.label == DROPPED) & ~entries.clashed), "labels dropped without a conflict")
    _refuse_unless(entries.n_skipped >= 0, "fewer than no rows skipped")


def _refuse_unless(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(f"it has {fault}")


def _codes(column: pa.DictionaryArray) -> IntArray:
    codes: IntArray = to_numpy(column.indices)
    return np.where(to_numpy(column.is_valid()), codes, np.int32(DROPPED)) if column.null_count else codes
