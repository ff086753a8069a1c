"""Standard output and error as they may be: closed, full, or of an encoding that lacks letters."""

import io
import os
import sys
from contextlib import suppress

from quorate.errors import UnwritableFileError


class _Closed(io.TextIOBase):
    """A standard output that is not there; what is written to it is not lost in silence."""

    def write(self, _: str) -> int:
        raise UnwritableFileError("standard output is closed; name a file with -o, or give it somewhere to go")


def prepare_streams() -> None:
    """Let letters that a stream cannot hold be written out, and closed streams say so."""
    if sys.stdout is None:
        sys.stdout = _Closed()  # Python has None for a closed stream
    if sys.stderr is None:
        sys.stderr = io.StringIO()  # nobody could read it
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Let what is left in the buffer go nowhere: the end of the program would try once more to write it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
