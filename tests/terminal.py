"""What a command sends to a terminal."""

import os
import subprocess
from typing import Any

import pytest


def on_a_terminal(command: list[str], stream: str, **options: Any) -> str:
    """Run a command with one of its streams, ``stdout`` or ``stderr``, on a terminal of its own; return what came."""
    pty = pytest.importorskip("pty", reason="Windows has no terminals of this kind")
    ours, theirs = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL) | {stream: theirs}
    with subprocess.Popen(command, **streams, **options) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
    os.close(ours)
    assert process.returncode == 0
    return seen.decode()
