"""Write files atomically: fill them in a hidden folder next to their final path, then rename all of them together.

The hidden folder is locked while the process that writes it is running. The folder of a killed process is not locked
any more, and the next process that writes to the same parent folder removes it. The locks are on folders: no lock file
is left behind, and a lock ends with its process.
"""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from quorate.addresses import render_address
from quorate.errors import OptionError, UnwritableFileError
from quorate.io.inputs import Identity, allow_replacing, identities, is_remote, local_path, refuse_input

STREAM = "-"  # standard output

try:
    import fcntl
except ImportError:  # Windows, which has no locks on folders
    fcntl = None  # type: ignore[assignment]


def lock(folder: str | Path, *, wait: bool = False) -> int | None:
    """Lock a folder, and return the handle for `unlock`; None if the folder is gone or cannot be locked.

    Raises:
        BlockingIOError: another process has locked the folder, and ``wait`` is false.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     unlock(lock(folder))
    """
    if fcntl is None:
        return None  # type: ignore[unreachable]  # only on Windows
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle


def unlock(descriptor: int | None) -> None:
    """Release a lock; the argument is the handle that `lock` returned.

    >>> unlock(None)
    """
    if descriptor is not None:
        os.close(descriptor)


# Names of the hidden folders.
PREFIX = ".quorate-"
SUFFIX = ".part"
REMEDIES = {  # by error number; any other error is taken for a missing folder
    errno.ENOSPC: "Make room, or choose another disk",
    errno.EDQUOT: "Make room, or choose another disk",
    errno.EFBIG: "Let files be larger (ulimit -f), or choose another disk",
    errno.EROFS: "Choose a folder that can be written to",
    errno.EACCES: "Choose a folder that can be written to",
    errno.EPERM: "Choose a folder that can be written to",
    errno.ENAMETOOLONG: "Choose a shorter name",
    errno.ELOOP: "Choose another name",
}
MAX_FOLDER_AGE = 86400  # seconds (one day): where there are no locks, an older hidden folder is removed as left over


def atomic_write(path: str | Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file atomically: readers see the old content or the complete new content, also after Ctrl-C.

    Args:
        path: path of the output. A link stays a link, and an existing file keeps its permissions.
        write: function that writes the content to a binary stream.

    Raises:
        OptionError: the file is an input of the current call, or another of its outputs.
        UnwritableFileError: the folder does not exist, is not writable, or the disk is full; the file is read-only.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(f"{folder}/note.txt", lambda stream: stream.write(b"all of it"))
    ...     Path(folder, "note.txt").read_text()
    'all of it'
    """

    def fill(part: Path) -> None:
        with part.open("wb") as stream:
            write(stream)

    if _is_device(path):  # nothing to rename
        with naming(path), Path(local_path(path)).open("wb") as stream:
            write(stream)
    else:
        fill_atomically(path, fill)


def fill_atomically(path: str | Path, fill: Callable[[Path], object], *, folder: bool = False) -> None:
    """Write a file or a folder under a temporary name, and rename it when it is complete.

    Args:
        path: path of the output. A link stays a link, and an existing file keeps its permissions.
        fill: function that makes the file (or folder) at the temporary path that it is given.
        folder: whether ``fill`` makes a folder of files, which may replace an existing folder.

    Raises:
        OptionError: the file is an input of the current call, or another of its outputs.
        UnwritableFileError: the folder does not exist, is not writable, or the disk is full; the file is read-only.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fill_atomically(f"{folder}/note.txt", lambda part: part.write_text("all of it"))
    ...     os.listdir(folder)
    ['note.txt']
    """
    target = Path(os.path.realpath(local_path(path)))
    with atomic_batch(), naming(path):
        check_target(path, folder=folder)
        batch = _open.get()
        assert batch is not None
        written = [other for _, other in batch.filled]
        if target in written or any(target.samefile(other) for other in written if target.exists() and other.exists()):
            raise OptionError(f"two outputs would both be written to {path}; give each its own path")
        part = batch.hidden_folder(target.parent) / f"{len(batch.filled)}{target.suffix}"
        fill(part)
        if part.is_file():
            os.chmod(part, _mode(target))
        batch.filled.append((part, target))


def atomic_append(path: str | Path, content: bytes) -> None:
    r"""Append to a file atomically: readers see the old content, or the old content and all that was appended.

    Other processes that append to a file of the same folder wait, so that no content is lost.

    Raises:
        UnwritableFileError: the folder does not exist, is not writable, or the disk is full.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_append(f"{folder}/note.txt", b"one\n")
    ...     atomic_append(f"{folder}/note.txt", b"two\n")
    ...     Path(folder, "note.txt").read_text()
    'one\ntwo\n'
    """
    if _is_device(path):
        atomic_write(path, lambda stream: stream.write(content))
        return
    target = Path(os.path.realpath(local_path(path)))
    with atomic_batch(), naming(path):
        batch = _open.get()
        assert batch is not None
        check_target(path)
        batch.folders.callback(unlock, lock(target.parent, wait=True))
        before = target.read_bytes() if target.exists() else b""
        atomic_write(path, lambda stream: stream.write(before + content))


def check_target(path: str | Path, *, folder: bool = False) -> None:
    """Refuse a path that must not be replaced: an input of the current call, a read-only file, or a folder.

    Args:
        path: path of an output.
        folder: whether the output is a folder of files.

    Raises:
        OptionError: the call reads that file.
        UnwritableFileError: the path is a read-only file or, unless the output is a folder, a folder.

    >>> check_target("labels.csv")
    """
    if _is_device(path):
        return
    refuse_input(path)
    local = Path(local_path(path))
    if local.is_dir() and not folder:
        raise UnwritableFileError(f"cannot write {path}: it is a folder. Name a file")
    # Renaming needs no write permission for the file itself, so that it is checked here. The mode is checked too,
    # because os.access permits root to write to any file.
    if local.is_file() and not (local.stat().st_mode & 0o222 and os.access(local, os.W_OK)):
        raise UnwritableFileError(
            f"cannot write {path}: the file is read-only. Make it writable (chmod u+w), or choose another name"
        )


def check_outputs(outputs: Mapping[str, str | Path | None]) -> None:
    """Before anything is computed, refuse outputs that would replace each other or cannot be written.

    An output that would replace an input is refused when it is written, because only then all inputs are known.

    Args:
        outputs: flag of each output (``-o``) -> its path; None for an output that was not requested.

    Raises:
        OptionError: two outputs have the same path, or a path is empty.
        UnwritableFileError: the path is a folder or a read-only file, or its folder does not exist.

    >>> check_outputs({"-o": "labels.csv", "--workers-out": None})
    """
    flag_of_target: dict[Identity, str] = {}
    for flag, path in outputs.items():
        if path is None:
            continue
        if not str(path):
            raise OptionError(f"{flag} names no file: its value is empty. Write {flag} FILE")
        same: set[Identity] = {STREAM} if str(path) == STREAM else identities(path)
        other = next((flag_of_target[identity] for identity in same if identity in flag_of_target), None)
        if other is not None:
            what = "standard output" if str(path) == STREAM else str(path)
            raise OptionError(f"{other} and {flag} would both be written to {what}; give two different names")
        flag_of_target |= dict.fromkeys(same, flag)
        if str(path) == STREAM or is_remote(path):
            continue
        with naming(path):  # for a name that is too long, even this test fails
            check_target(path)
            has_folder = Path(os.path.realpath(local_path(path))).parent.is_dir()
        if not has_folder:
            raise UnwritableFileError(f"cannot write {path}: there is no such folder. Make it, or choose another")


@contextmanager
def atomic_batch() -> Iterator[None]:
    """Write the files of a block as one batch: all appear when the block ends, or none if anything fails.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_batch():
    ...         atomic_write(f"{folder}/a", lambda stream: stream.write(b"a"))
    ...         before = os.path.exists(f"{folder}/a")
    ...     before, os.path.exists(f"{folder}/a")
    (False, True)
    """
    if _open.get() is not None:  # inside another batch, at whose end all files appear
        yield
        return
    with ExitStack() as folders:
        batch = _Batch(folders)
        token = _open.set(batch)
        try:
            yield
        finally:
            _open.reset(token)
        batch.rename_all()
    for do in batch.afterwards:
        do()


def after_writing(do: Callable[[], None]) -> None:
    """Call a function after the files of the current batch were renamed; outside a batch, call it now.

    >>> with atomic_batch():
    ...     after_writing(lambda: print("afterwards"))
    ...     print("first")
    first
    afterwards
    """
    batch = _open.get()
    if batch is None:
        do()
    else:
        batch.afterwards.append(do)


def make_folder(path: str | Path) -> None:
    """Make a folder and its parents if they do not exist.

    Raises:
        UnwritableFileError: the folder cannot be made.

    >>> make_folder(tempfile.gettempdir())
    """
    try:
        Path(local_path(path)).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(f"cannot make the folder {render_address(path)}: {error.strerror or error}") from None


@dataclass
class _Batch:
    """Files that are written under temporary names, and renamed when all of them are complete."""

    folders: ExitStack
    hidden_folders: dict[Path, Path] = field(default_factory=dict)
    filled: list[tuple[Path, Path]] = field(default_factory=list)  # temporary path, final path
    afterwards: list[Callable[[], None]] = field(default_factory=list)

    def hidden_folder(self, parent: Path) -> Path:
        if parent not in self.hidden_folders:
            self.hidden_folders[parent] = self.folders.enter_context(_hidden_folder(parent))
        return self.hidden_folders[parent]

    def rename_all(self) -> None:
        """Rename every file to its path; if one rename fails, restore the earlier files."""
        undo: list[tuple[Path | None, Path]] = []
        try:
            for _, target in self.filled:
                refuse_input(target)  # again: it may have been read after it was filled
            for part, target in self.filled:
                with naming(target):
                    before = self._back_up(part, target)
                    os.replace(part, target)
                allow_replacing(target)
                undo.append((before, target))
        except BaseException:  # also when interrupted
            for before, target in reversed(undo):
                with suppress(OSError):
                    os.unlink(target) if before is None else os.replace(before, target)
            raise

    def _back_up(self, part: Path, target: Path) -> Path | None:
        """Keep what is at the target under a second name, to restore it after an error; None if nothing is there."""
        if not target.exists():
            return None
        other = part.with_name(f"{part.name}.before")
        if target.is_dir():
            os.rename(target, other)
        elif len(self.filled) > 1:
            with suppress(OSError):  # without links in the file system, some new files may remain after an error
                os.link(target, other)
        return other


_open: ContextVar[_Batch | None] = ContextVar("files that are being written together", default=None)


@contextmanager
def _hidden_folder(parent: Path) -> Iterator[Path]:
    """Make a hidden folder that is locked while the block runs, and removed afterwards."""
    _remove_leftovers(parent)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, suffix=SUFFIX, dir=parent))
        descriptor = lock(folder, wait=True)
        if folder.is_dir():
            break
        unlock(descriptor)  # another process removed it before it was locked
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        unlock(descriptor)


def _remove_leftovers(parent: Path) -> None:
    """Remove the hidden folders of killed processes, which are not locked any more."""
    for folder in parent.glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(BlockingIOError):  # the process that writes it is running
            descriptor = lock(folder)
            if descriptor is not None or _age(folder) > MAX_FOLDER_AGE:
                shutil.rmtree(folder, ignore_errors=True)
            unlock(descriptor)


def _age(folder: Path) -> float:
    with suppress(OSError):
        return time.time() - folder.stat().st_mtime
    return 0.0


def _is_device(path: str | Path) -> bool:
    """Whether a path is a device or a pipe, which cannot be renamed."""
    local = Path(local_path(path))
    return local.exists() and not local.is_file() and not local.is_dir()


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Turn an OSError into an error that names the file and the remedy.

    >>> with naming("a.csv"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    quorate.errors.UnwritableFileError: cannot write a.csv: No space left on device. Make room, or choose another disk
    """
    try:
        yield
    except BrokenPipeError:  # the reader of the pipe has closed it
        raise
    except OSError as error:
        why = error.strerror or str(error)
        remedy = REMEDIES.get(error.errno or 0, "Make the folder, or choose another")
        raise UnwritableFileError(f"cannot write {render_address(path)}: {why}. {remedy}") from None


def _mode(target: Path) -> int:
    """Return the permissions of the existing file, or those that a new file gets."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
