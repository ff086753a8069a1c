"""What the current call has read from pipes, which can be read only once: `/dev/fd/63` of a shell, standard input.

Several options may be read twice, as a table first with and then without a column that may be missing. Regular files
are opened again; the content of a pipe is kept for the call. Imports nothing heavy, because the command line starts
here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Content by the identity of the pipe; None outside of a call, where nothing is kept.
pipes_read: ContextVar[dict[object, Any] | None] = ContextVar("pipes that the current call has read", default=None)


@contextmanager
def keep_pipes() -> Iterator[None]:
    """Read each pipe once within the block, and keep its content for later readers.

    The block is one command or one call of a public function (`@keep_pipes()`); a block within another one shares its
    pipes. Nothing is kept after it, because a named pipe may hold something else by then.

    >>> from quorate.io.open_file import hold
    >>> with keep_pipes():
    ...     hold("/dev/null") is hold("/dev/null")
    True
    """
    if pipes_read.get() is not None:
        yield
        return
    token = pipes_read.set({})
    try:
        yield
    finally:
        pipes_read.reset(token)
