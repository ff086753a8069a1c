"""Content that the current call has read from pipes (`/dev/fd/63` of a shell, standard input).

A pipe can be read only once, but a call may read a source twice, for example a table with and then without an optional
column. Regular files are opened again; the content of a pipe is stored until the call ends. This module must not import
large packages, because the command line imports it at its start.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Identity of a pipe -> its content; None outside of a call, where no content is stored.
pipes_read: ContextVar[dict[object, Any] | None] = ContextVar("pipes that the current call has read", default=None)


@contextmanager
def keep_pipes() -> Iterator[None]:
    """Within the block, read each pipe once, and store its content for later readers.

    The block is one command or one call of a public function (`@keep_pipes()`). A block inside another one shares its
    stored content, which is deleted after the outer block, because a named pipe may have other content later.

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
