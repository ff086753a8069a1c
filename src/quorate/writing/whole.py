"""A file that appears whole or not at all: written under another name beside its place, then renamed."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from quorate.errors import UnwritableFileError


def write_whole(path: str | Path, write: Callable[[BinaryIO], None], *, durable: bool = False) -> None:
    """Let ``write`` fill a file; whoever opens the path sees what was there before, or all of it, also after Ctrl-C.

    Args:
        path: where; a link stays a link, and a file that is there keeps its permissions.
        write: writes to the stream that it is given.
        durable: wait until the bytes are on the disk before the name is.

    Raises:
        UnwritableFileError: the folder is not there, may not be written to, or is full.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", lambda stream: stream.write(b"all of it") and None)
    ...     Path(folder, "note.txt").read_text()
    'all of it'
    """
    place = Path(os.path.realpath(path))
    temporary = None
    try:
        if Path(path).exists() and not place.is_file() and not place.is_dir():  # a device or a pipe: nothing to rename
            with Path(path).open("wb") as stream:
                write(stream)
            return
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        os.chmod(temporary, _mode(place))
        os.replace(temporary, place)
    except OSError as error:
        raise UnwritableFileError(
            f"cannot write {path}: {error.strerror or error}. Make the folder, or choose another"
        ) from None
    finally:  # also when interrupted
        if temporary is not None:
            with suppress(FileNotFoundError):
                os.unlink(temporary)


def _mode(place: Path) -> int:
    """Return the permissions of the file that is there, or those of a new one."""
    try:
        return place.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
