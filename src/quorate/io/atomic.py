"""Files that appear complete or not at all: filled in a hidden folder beside their place, then renamed, all together.

The folder is locked while its writer lives. What a killed writer left is free to be locked, and the next one to write
there takes it away.

Locks are on folders, so that they leave no file behind, and end with the process.
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
except ImportError:  # Windows, which knows no locks on folders
    fcntl = None  # type: ignore[assignment]


def lock(folder: str | Path, *, wait: bool = False) -> int | None:
    """Lock a folder, and return the handle for `unlock`; None if the folder is gone or cannot be locked.

    Raises:
        BlockingIOError: somebody else holds it, and we do not wait.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     unlock(lock(folder))
    """
    if fcntl is None:
        return None  # type: ignore[unreachable]  # not there
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


# of the hidden folders
PREFIX = ".quorate-"
SUFFIX = ".part"
REMEDIES = {  # where it is not that the folder is missing
    errno.ENOSPC: "Make room, or choose another disk",
    errno.EDQUOT: "Make room, or choose another disk",
    errno.EFBIG: "Let files be larger (ulimit -f), or choose another disk",
    errno.EROFS: "Choose a folder that can be written to",
    errno.EACCES: "Choose a folder that can be written to",
    errno.EPERM: "Choose a folder that can be written to",
    errno.ENAMETOOLONG: "Choose a shorter name",
    errno.ELOOP: "Choose another name",
}
DAY = 86400  # seconds after which a folder is taken for left behind where there are no locks


def atomic_write(path: str | Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file atomically: readers see the old content or all of the new one, also after Ctrl-C.

    Args:
        path: where; a link stays a link, and a file that is there keeps its permissions.
        write: writes to the stream that it is given.

    Raises:
        OptionError: the file is an input of the current call, or another of its outputs.
        UnwritableFileError: the folder is not there, may not be written to, or is full; the file is read-only.

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
        path: where; a link stays a link, and a file that is there keeps its permissions.
        fill: makes a file of a name that is not there yet.
        folder: it makes a folder of files, which may take the place of one.

    Raises:
        OptionError: the file is an input of the current call, or another of its outputs.
        UnwritableFileError: the folder is not there, may not be written to, or is full; the file is read-only.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fill_atomically(f"{folder}/note.txt", lambda part: part.write_text("all of it"))
    ...     os.listdir(folder)
    ['note.txt']
    """
    place = Path(os.path.realpath(local_path(path)))
    with together(), naming(path):
        check_target(path, folder=folder)
        batch = _open.get()
        assert batch is not None
        written = [other for _, other in batch.filled]
        if place in written or any(place.samefile(other) for other in written if place.exists() and other.exists()):
            raise OptionError(f"two outputs would both be written to {path}; give each its own path")
        part = batch.workplace(place.parent) / f"{len(batch.filled)}{place.suffix}"
        fill(part)
        if part.is_file():
            os.chmod(part, _mode(place))
        batch.filled.append((part, place))


def atomic_append(path: str | Path, content: bytes) -> None:
    r"""Append to a file atomically: readers see the old content, or the old content and all that was appended.

    Others who do the same in that folder wait, so that nothing of theirs is lost.

    Raises:
        UnwritableFileError: the folder is not there, may not be written to, or is full.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_append(f"{folder}/note.txt", b"one\n")
    ...     atomic_append(f"{folder}/note.txt", b"two\n")
    ...     Path(folder, "note.txt").read_text()
    'one\ntwo\n'
    """
    if _is_device(path):
        atomic_write(path, lambda stream: stream.write(content))
        return
    place = Path(os.path.realpath(local_path(path)))
    with together(), naming(path):
        batch = _open.get()
        assert batch is not None
        check_target(path)
        batch.folders.callback(unlock, lock(place.parent, wait=True))
        before = place.read_bytes() if place.exists() else b""
        atomic_write(path, lambda stream: stream.write(before + content))


def check_target(path: str | Path, *, folder: bool = False) -> None:
    """Refuse a path that must not be replaced: an input of the current call, a read-only file, or a folder.

    Args:
        path: where an output is to go.
        folder: the output is a folder of files.

    Raises:
        OptionError: the call reads that file.
        UnwritableFileError: it is read-only, or a folder.

    >>> check_target("labels.csv")
    """
    if _is_device(path):
        return
    refuse_input(path)
    local = Path(local_path(path))
    if local.is_dir() and not folder:
        raise UnwritableFileError(f"cannot write {path}: it is a folder. Name a file")
    # Renaming needs no permission of the file itself; the first test is for root, who may write to anything.
    if local.is_file() and not (local.stat().st_mode & 0o222 and os.access(local, os.W_OK)):
        raise UnwritableFileError(
            f"cannot write {path}: the file is read-only. Make it writable (chmod u+w), or choose another name"
        )


def check_outputs(outputs: Mapping[str, str | Path | None]) -> None:
    """Refuse outputs that would replace each other, or could not be written, before anything is computed.

    The writer refuses an output that would replace an input: it has the record of what was read.

    Args:
        outputs: the flag of each (``-o``) and its path; None for one that was not asked for.

    Raises:
        OptionError: two outputs have one path.
        UnwritableFileError: the path is a folder or a read-only file, or its folder does not exist.

    >>> check_outputs({"-o": "labels.csv", "--workers-out": None})
    """
    taken: dict[Identity, str] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        if not str(path):
            raise OptionError(f"{name} names no file: its value is empty. Write {name} FILE")
        same: set[Identity] = {STREAM} if str(path) == STREAM else identities(path)
        other = next((taken[identity] for identity in same if identity in taken), None)
        if other is not None:
            what = "standard output" if str(path) == STREAM else str(path)
            raise OptionError(f"{other} and {name} would both be written to {what}; give two different names")
        taken |= dict.fromkeys(same, name)
        if str(path) == STREAM or is_remote(path):
            continue
        with naming(path):  # a name may be too long even to ask
            check_target(path)
            has_folder = Path(os.path.realpath(local_path(path))).parent.is_dir()
        if not has_folder:
            raise UnwritableFileError(f"cannot write {path}: there is no such folder. Make it, or choose another")


@contextmanager
def together() -> Iterator[None]:
    """Write the files of a block as one batch: all appear when the block ends, or none if anything fails.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with together():
    ...         atomic_write(f"{folder}/a", lambda stream: stream.write(b"a"))
    ...         before = os.path.exists(f"{folder}/a")
    ...     before, os.path.exists(f"{folder}/a")
    (False, True)
    """
    if _open.get() is not None:  # within another such block, whose end counts
        yield
        return
    with ExitStack() as folders:
        batch = _Batch(folders)
        token = _open.set(batch)
        try:
            yield
        finally:
            _open.reset(token)
        batch.appear()
    for do in batch.afterwards:
        do()


def once_written(do: Callable[[], None]) -> None:
    """Call a function when the files of the current batch have appeared; at once outside a batch.

    >>> with together():
    ...     once_written(lambda: print("afterwards"))
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
        UnwritableFileError: it cannot be made.

    >>> make_folder(tempfile.gettempdir())
    """
    try:
        Path(local_path(path)).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(f"cannot make the folder {render_address(path)}: {error.strerror or error}") from None


@dataclass
class _Batch:
    """A batch of files that are complete under temporary names, until all of them are."""

    folders: ExitStack
    workplaces: dict[Path, Path] = field(default_factory=dict)
    filled: list[tuple[Path, Path]] = field(default_factory=list)  # under which name, and where it belongs
    afterwards: list[Callable[[], None]] = field(default_factory=list)

    def workplace(self, parent: Path) -> Path:
        if parent not in self.workplaces:
            self.workplaces[parent] = self.folders.enter_context(_workplace(parent))
        return self.workplaces[parent]

    def appear(self) -> None:
        """Rename every file to its path; if one rename fails, restore the earlier files."""
        undo: list[tuple[Path | None, Path]] = []
        try:
            for _, place in self.filled:
                refuse_input(place)  # again: what was read since it was filled
            for part, place in self.filled:
                with naming(place):
                    before = self._kept(part, place)
                    os.replace(part, place)
                allow_replacing(place)
                undo.append((before, place))
        except BaseException:  # also when interrupted
            for before, place in reversed(undo):
                with suppress(OSError):
                    os.unlink(place) if before is None else os.replace(before, place)
            raise

    def _kept(self, part: Path, place: Path) -> Path | None:
        """Keep the file or folder at a path under another name, from which it can be restored."""
        if not place.exists():
            return None
        other = part.with_name(f"{part.name}.before")
        if place.is_dir():
            os.rename(place, other)
        elif len(self.filled) > 1:
            with suppress(OSError):  # not every file system has links; then a half of what is new may stay
                os.link(place, other)
        return other


_open: ContextVar[_Batch | None] = ContextVar("files that are being written together", default=None)


@contextmanager
def _workplace(parent: Path) -> Iterator[Path]:
    """Make a hidden folder that is locked while the block runs, and removed afterwards."""
    _sweep(parent)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, suffix=SUFFIX, dir=parent))
        descriptor = lock(folder, wait=True)
        if folder.is_dir():
            break
        unlock(descriptor)  # another writer swept it away before it was locked
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        unlock(descriptor)


def _sweep(parent: Path) -> None:
    """Remove the folders that killed writers left behind, which nobody has locked."""
    for folder in parent.glob(f"{PREFIX}*{SUFFIX}"):
        with suppress(BlockingIOError):  # its writer lives
            descriptor = lock(folder)
            if descriptor is not None or _age(folder) > DAY:
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
    except BrokenPipeError:  # whoever read it has seen enough
        raise
    except OSError as error:
        why = error.strerror or str(error)
        remedy = REMEDIES.get(error.errno or 0, "Make the folder, or choose another")
        raise UnwritableFileError(f"cannot write {render_address(path)}: {why}. {remedy}") from None


def _mode(place: Path) -> int:
    """Return the permissions of the file that is there, or those of a new one."""
    try:
        return place.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
