"""A ledger on disk: a folder with one Arrow stream for each batch, and a SQLite index.

::

    answers.ledger/
        00000001-SHA256.arrow    one batch: an Arrow stream, never changed after it was written
        00000002-SHA256.arrow
        index.sqlite             list of the batches, ids, and an entry for each task and worker

**Adding** (`append`) looks up the tasks and workers of the batch in the index, writes the stream of the batch, and
commits the index. Its time depends on the batch only; earlier batches are not read.

**Reading** (`load_entries`) takes the list of batches from the index, checks each file against the checksum in its
name, and combines them in order. The number of answers must be that of the index.

**Promises.** A batch belongs to the ledger from the commit of the index. If a command is killed before the commit, or
the disk is full, the ledger does not change: SQLite undoes an interrupted commit from its journal, and a stream that
the index does not list is not read. Before a command writes or replaces streams, it lists their names in a file of
changes, which it removes at the end; the next command that writes removes the streams in this file that the index does
not list. Other streams that the index does not list are never removed: the index is then older than the batches, or
belongs to another ledger, and every command raises an error, as it does if a stream is missing. A stream is on the disk
(fsync) before the index lists it. Writers wait for one another: on a lock of the parent folder of the ledger, if the
system has such locks, and always on the lock of the index. Readers see the batches of one commit.

**Compacting** (`compact`) writes one stream with the entries of all batches, and replaces the list of batches by it. It
also rebuilds a missing index from the streams; this includes streams that killed commands left behind.

**Ledgers of version 0.2** are one file. They are read unchanged, and become a folder when something is added: the
folder is built under another name, the file is renamed to NAME.single-file, the folder is renamed to NAME, and the file
is removed. If there is NAME.single-file and no NAME, commands read NAME.single-file.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from quorate.addresses import render_address
from quorate.errors import ConflictingAnswersError, LedgerFileError, UnreadableFileError, UnwritableFileError
from quorate.io.atomic import atomic_write, check_target, fill_atomically, lock, naming, unlock
from quorate.io.inputs import allow_replacing, local_path, record_input
from quorate.io.options import ReadOptions
from quorate.io.read_table import Source
from quorate.ledger.batch_files import BATCH_NAME, batch_name, read_batch, read_single_file, to_stream
from quorate.ledger.entries import COLUMNS, Added, Batch, Entries, combine, one_type, read_entries
from quorate.ledger.index import INDEX_NAME, Index

PATIENCE = 60.0  # seconds to wait for another command: enough to add about ten million answers
READ_ATTEMPTS = 3  # a compaction may remove the listed files before they are read
PART_SUFFIX = ".part"  # of files in a ledger that are not complete
CHANGES_NAME = f".changes{PART_SUFFIX}"  # the file of changes: names of streams that a command adds or replaces
T = TypeVar("T")


@dataclass(frozen=True)
class Appended:
    """Effect of `append`."""

    batches: tuple[Added, ...]  # one for each source
    n_answers: int  # of the ledger after the command
    n_tasks: int
    n_workers: int


@dataclass(frozen=True)
class Compacted:
    """Effect of `compact`."""

    n_batches: int  # before the command
    n_answers: int
    n_tasks: int
    n_workers: int


@contextmanager
def alone_with(path: str | Path, patience: float = PATIENCE) -> Iterator[None]:
    """Prevent other commands from writing a ledger while the context is open.

    The lock is on the parent folder of the ledger, because a new ledger has its name only when it is complete. The
    system releases the lock when the process ends.

    Args:
        path: of the ledger, which need not exist yet.
        patience: seconds to wait for another command.

    Raises:
        LedgerFileError: another command has not finished in this time.
        UnwritableFileError: the parent folder does not exist.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, alone_with(f"{folder}/answers.ledger"):
    ...     os.listdir(folder)
    []
    """
    folder = _real_path(path).parent
    if not folder.is_dir():
        raise UnwritableFileError(
            f"cannot write {render_address(path)}: there is no such folder. Make it, or choose another"
        )
    end = time.monotonic() + patience
    while True:
        try:
            descriptor = lock(folder)
            break
        except BlockingIOError:
            if time.monotonic() > end:
                raise LedgerFileError(
                    f"another command has been using the folder of {path} for {patience:g} seconds; nothing was "
                    "written. Wait for it, and run this one again"
                ) from None
            time.sleep(0.02)
    try:
        yield
    finally:
        unlock(descriptor)


def append(
    path: str | Path,
    sources: Sequence[Source],
    reading: ReadOptions,
    on_source: Callable[[int], None] = lambda _: None,
) -> Appended:
    """Add batches to a ledger on disk, all of them or none; a ledger that does not exist is created.

    Args:
        path: of the ledger.
        sources: anything that `quorate.read` takes; each becomes a batch.
        reading: columns, conflict policy, missing fields.
        on_source: called with the number of each source before it is read.

    Raises:
        InputError: a batch cannot be used, or contradicts the ledger; the ledger is unchanged.
        LedgerFileError: the path is not a ledger, the index is damaged, or another command is writing.
        UnwritableFileError: the ledger cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = {"task": [1], "worker": ["a"], "label": ["x"]}
    ...     append(f"{folder}/answers.ledger", [rows], ReadOptions()).n_answers
    1
    """

    def fill(folder: Path, index: Index) -> Appended:
        added = []
        for number, source in enumerate(sources):
            on_source(number)
            entries = read_entries(source, reading)
            added.append(_add_batch(folder, index, Batch(entries, reading.on_conflict)))
        return Appended(tuple(added), *index.sizes())

    with alone_with(path):
        return _update(path, fill)


def load_entries(path: str | Path) -> Entries:
    """Read the entries of a ledger, in the order of the ids: a folder, or a single file of version 0.2.

    Raises:
        UnreadableFileError: there is no ledger, or reading it is not permitted.
        LedgerFileError: it is not a ledger, is damaged, or was written by a newer version.

    >>> load_entries("nowhere.ledger")
    Traceback (most recent call last):
    quorate.errors.UnreadableFileError: There is no ledger nowhere.ledger
    """
    try:
        return _load(path)
    except FileNotFoundError:
        raise UnreadableFileError(f"There is no ledger {render_address(path)}") from None
    except OSError as error:
        raise UnreadableFileError(f"cannot read the ledger {render_address(path)}: {error.strerror or error}") from None


def save_entries(entries: Entries, path: str | Path) -> None:
    """Write a ledger of one batch; an existing ledger is replaced atomically.

    Raises:
        UnwritableFileError: the parent folder does not exist, or writing is not permitted.
        LedgerFileError: the path is not a ledger, or another command is writing the ledger.

    >>> import tempfile
    >>> entries = read_entries({"task": [1], "worker": ["a"], "label": ["x"]}, ReadOptions())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_entries(entries, f"{folder}/answers.ledger")
    ...     load_entries(f"{folder}/answers.ledger").names[1].to_pylist()
    ['a']
    """
    batch = Batch(entries, "error")

    def fill(folder: Path, index: Index) -> None:
        number = index.next_number()
        _note_changes(folder, index.batches())
        index.clear()
        _add_batch(folder, index, batch, number)

    real_path = _real_path(path)
    if real_path.exists() and not real_path.is_dir() and not real_path.is_file():  # a device
        atomic_write(path, lambda stream: stream.write(to_stream(batch)))
        return
    with alone_with(path):
        _update(path, fill)


def compact(path: str | Path) -> Compacted:
    """Combine the batches of a ledger into one, and rebuild its index if it is missing.

    Raises:
        UnreadableFileError: there is no ledger.
        LedgerFileError: it is damaged, or another command is writing it.
        UnwritableFileError: it cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for task in (1, 2):
    ...         added = append(f"{folder}/a.ledger", [{"task": [task], "worker": ["a"], "label": ["x"]}], ReadOptions())
    ...     compact(f"{folder}/a.ledger").n_batches, len(os.listdir(f"{folder}/a.ledger"))
    (2, 2)
    """
    with alone_with(path):
        folder = _real_path(path)
        if folder.is_dir() and not (folder / INDEX_NAME).exists():
            _rebuild(folder, path)
        n_before = 1
        entries = load_entries(path)
        if folder.is_dir():
            with Index.open(folder, PATIENCE) as index:
                n_before = len(index.batches())

        def fill(folder: Path, index: Index) -> tuple[int, int, int]:
            number = index.next_number()
            if index.batches():
                _note_changes(folder, index.batches())
                index.forget_batches()  # the ids and answers remain in the index
                _write_batch(folder, index, Batch(entries, "error"), number)
            else:
                _add_batch(folder, index, Batch(entries, "error"), number)
            return index.sizes()

        return Compacted(n_before, *_update(path, fill))


def _rebuild(folder: Path, path: str | Path) -> None:
    """Rebuild the index of a ledger from all its batches."""
    files = sorted(file for file in os.listdir(folder) if BATCH_NAME.fullmatch(file))
    if not files:
        raise LedgerFileError(f"{path} is not a ledger: it has neither an index nor batches")

    def fill(part: Path) -> None:
        part.mkdir()
        with Index.create(part) as index, index.transaction():
            for file in files:
                batch = read_batch(folder / file)
                index.add(batch.entries, batch.on_conflict)
                index.record_batch(int(file[:8]), file)

    with _part_folder(folder, fill) as part:
        os.replace(part / INDEX_NAME, folder / INDEX_NAME)
        _sync_folder(folder)


@contextmanager
def _part_folder(folder: Path, fill: Callable[[Path], object]) -> Iterator[Path]:
    """Fill a hidden folder inside a ledger and yield its path; it is removed at the end."""
    part = folder / f".index{PART_SUFFIX}"
    _remove(part)
    try:
        with naming(folder):
            fill(part)
        yield part
    finally:
        _remove(part)


def _update(path: str | Path, fill: Callable[[Path, Index], T]) -> T:
    """Change a ledger by one transaction, or create it; the caller has its lock.

    Returns:
        What ``fill`` returns.
    """
    real_path = _real_path(path)
    previous = _single_file(real_path)
    if not real_path.exists() and previous.exists():  # a conversion was interrupted between two renamings
        os.rename(previous, real_path)
    if not real_path.is_dir():
        return _create_or_convert(path, real_path, fill)
    index = Index.open(real_path, PATIENCE)
    files = (real_path, real_path / INDEX_NAME)
    if not all(file.stat().st_mode & 0o222 and os.access(file, os.W_OK) for file in files):  # root may write anything
        index.close()
        raise UnwritableFileError(
            f"cannot write {path}: it is read-only. Make it writable (chmod u+w), or choose another name"
        )
    with suppress(FileNotFoundError):
        os.unlink(previous)  # a conversion was interrupted after the last renaming
    with naming(path), index:
        try:
            with index.transaction():
                _remove_leftovers(real_path, index, path)
                result = fill(real_path, index)
        finally:
            # Within a transaction, because another writer may have written a file of changes in the meantime.
            with suppress(LedgerFileError), index.transaction():
                _remove_leftovers(real_path, index, path)
    return result


def _create_or_convert(path: str | Path, real_path: Path, fill: Callable[[Path, Index], T]) -> T:
    """Create a ledger, or convert a single file, by filling a folder that is then renamed to the path."""
    results: list[T] = []
    single = None
    if real_path.exists():
        single = load_entries(path)
        allow_replacing(path)  # the ledger that was read is updated
        check_target(path)

    def fill_folder(folder: Path) -> None:
        folder.mkdir()
        with Index.create(folder) as index, index.transaction():
            if single is not None:
                _add_batch(folder, index, Batch(single, "error"))
            results.append(fill(folder, index))
            _remove_leftovers(folder, index, path)
        _sync_folder(folder)

    if single is None:
        fill_atomically(path, fill_folder, folder=True)
    else:
        new = real_path.with_name(f"{real_path.name}.folder")
        fill_atomically(new, fill_folder, folder=True)
        previous = _single_file(real_path)
        with naming(path):
            os.rename(real_path, previous)
            os.rename(new, real_path)
            _sync_folder(real_path.parent)
            os.unlink(previous)
    with naming(path):
        _sync_folder(real_path.parent)
    return results[0]


def _add_batch(folder: Path, index: Index, batch: Batch, number: int | None = None) -> Added:
    """Add a batch to the index, within its transaction, and write its stream."""
    names = tuple(one_type(ids, what) for ids, what in zip(batch.entries.names, COLUMNS, strict=True))
    batch = replace(batch, entries=replace(batch.entries, names=names))
    added = index.add(batch.entries, batch.on_conflict)
    _write_batch(folder, index, batch, index.next_number() if number is None else number)
    return added


def _write_batch(folder: Path, index: Index, batch: Batch, number: int) -> None:
    """Write the stream of a batch, wait until it is on the disk, and list it."""
    stream = to_stream(batch)
    name = batch_name(number, stream)
    part = folder / f".{number:08d}{PART_SUFFIX}"
    with naming(folder / name):
        with part.open("wb") as file:
            file.write(stream)
            file.flush()
            os.fsync(file.fileno())
        _note_changes(folder, [name])
        os.replace(part, folder / name)
        _sync_folder(folder)
    index.record_batch(number, name)


def _note_changes(folder: Path, names: Sequence[str]) -> None:
    """Add names to the file of changes and wait for the disk; called before streams are written or removed."""
    with (folder / CHANGES_NAME).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in names)
        file.flush()
        os.fsync(file.fileno())


def _noted_changes(folder: Path) -> set[str]:
    """Return the streams that a command adds or replaces, or was adding or replacing when it was interrupted."""
    try:
        return set((folder / CHANGES_NAME).read_text(encoding="utf-8").splitlines())
    except FileNotFoundError:
        return set()


def _remove_leftovers(folder: Path, index: Index, path: str | Path) -> None:
    """Remove files of interrupted commands: incomplete ones, and unlisted streams that are in the file of changes.

    Raises:
        LedgerFileError: the index and the streams do not belong together.
    """
    listed = set(index.batches())
    noted = _noted_changes(folder)
    names = set(os.listdir(folder))
    missing = sorted(listed - names)
    if missing:
        raise _missing_file_error(path, missing[0])
    unlisted = sorted(name for name in names - listed if BATCH_NAME.fullmatch(name))
    unexpected = [name for name in unlisted if name not in noted]
    if unexpected:
        raise _unlisted_file_error(path, unexpected[0])
    parts = [name for name in names if name.endswith(PART_SUFFIX) and name != CHANGES_NAME]
    for name in (*unlisted, *parts, CHANGES_NAME):  # the file of changes last: this may be interrupted, too
        _remove(folder / name)


def _missing_file_error(path: str | Path, name: str) -> LedgerFileError:
    return LedgerFileError(f"{path} is damaged: {name} is missing. Restore it from a copy of the ledger")


def _unlisted_file_error(path: str | Path, name: str) -> LedgerFileError:
    return LedgerFileError(
        f"{path} has a batch that its {INDEX_NAME} does not list: {name}. If the index is older than the batches, "
        f"remove {INDEX_NAME}, and `quorate ledger compact` makes it again from all batches; if the batch is not of "
        "this ledger, move it elsewhere"
    )


def _remove(path: Path) -> None:
    """Remove a file, or a folder of files, if it exists."""
    if path.is_dir():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    else:
        with suppress(FileNotFoundError):
            path.unlink()


def _load(path: str | Path) -> Entries:
    real_path = _real_path(path)
    if not real_path.exists() and _single_file(real_path).exists():
        real_path = _single_file(real_path)
    if real_path.is_dir():
        return _load_folder(real_path, path)
    record_input(path)
    if real_path.is_char_device():  # reading some devices never ends
        raise UnreadableFileError(f"cannot read the ledger {path}: it is a device. Name a file")
    return combine([Batch(read_single_file(real_path.read_bytes(), path), "error")])


def _load_folder(folder: Path, path: str | Path) -> Entries:
    record_input(path, folder=True)
    for attempt in range(READ_ATTEMPTS):
        names = os.listdir(folder)
        with Index.open(folder, PATIENCE) as index:
            files, counts = index.snapshot()
        unlisted = sorted({name for name in names if BATCH_NAME.fullmatch(name)} - {*files, *_noted_changes(folder)})
        # A command that ended after the snapshot may have removed unlisted streams, or the next snapshot lists them.
        if unlisted and (folder / unlisted[0]).exists():
            if attempt == READ_ATTEMPTS - 1:
                absent = [file for file in files if not (folder / file).exists()]
                raise _missing_file_error(path, absent[0]) if absent else _unlisted_file_error(path, unlisted[0])
            continue
        for file in (INDEX_NAME, *files):
            record_input(folder / file)
        try:
            batches = [read_batch(folder / file) for file in files]
            break
        except FileNotFoundError as error:
            if attempt == READ_ATTEMPTS - 1:
                raise _missing_file_error(path, Path(error.filename).name) from None
    try:
        entries = combine(batches)
    except ConflictingAnswersError:
        raise LedgerFileError(f"{path} is damaged: its batches contradict one another. Restore a copy of it") from None
    if (entries.n_answers, entries.n_rows) != (counts.n_answers, counts.n_rows):
        raise LedgerFileError(
            f"{path} is damaged: its batches have {entries.n_answers:,} answers, its index {counts.n_answers:,}. "
            f"Remove {INDEX_NAME}, and `quorate ledger compact` makes it again from the batches"
        )
    return entries


def _real_path(path: str | Path) -> Path:
    return Path(os.path.realpath(local_path(path)))


def _single_file(real_path: Path) -> Path:
    """Return the name of a single-file ledger while it is converted."""
    return real_path.with_name(f"{real_path.name}.single-file")


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, if the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
