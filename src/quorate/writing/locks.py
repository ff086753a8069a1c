"""Locks on folders: they leave nothing behind, and go with the process, however that ends."""

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, which knows no locks on folders
    fcntl = None  # type: ignore[assignment]


def lock(folder: str | Path, *, wait: bool = False) -> int | None:
    """Lock a folder, and return what `unlock` takes; None where it is gone or there are no such locks.

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


def unlock(held: int | None) -> None:
    """Let go of what `lock` gave.

    >>> unlock(None)
    """
    if held is not None:
        os.close(held)
