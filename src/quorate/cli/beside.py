"""The engine that draws, in a process of its own: it starts while this one imports, reads and aggregates.

It takes a second, and within one process nothing else would go on meanwhile. Where it cannot start or ends early, this
process draws.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

# A chart a line comes in, an SVG a line goes out; an end of the input is the end.
PROGRAM = """
import json, sys
sys.path.append(sys.argv[1])
from vl_convert import vegalite_to_svg
vegalite_to_svg({"data": {"values": []}, "mark": "point"})
for line in sys.stdin.buffer:
    print(json.dumps(vegalite_to_svg(json.loads(line))), flush=True)
"""


class Beside:
    """Draws as vl-convert does, in the other process as long as that lives."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._one_at_a_time = Lock()

    def vegalite_to_svg(self, chart: dict[str, Any]) -> str:
        """Return the chart as SVG."""
        with self._one_at_a_time, suppress(OSError, ValueError):
            into, out = self.process.stdin, self.process.stdout
            if into is not None and out is not None:
                into.write(json.dumps(chart).encode() + b"\n")
                into.flush()
                return str(json.loads(out.readline()))
        import vl_convert

        return str(vl_convert.vegalite_to_svg(chart))


@contextmanager
def drawing_beside() -> Iterator[Beside | None]:
    """Let charts be drawn in another process, which ends with this block; None where it cannot start."""
    process = _start()
    if process is None:
        yield None
        return
    try:
        from quorate.reporting.html import drawn_by  # and all that a report needs, while the other starts

        beside = Beside(process)
        with drawn_by(beside):
            yield beside
    finally:
        process.kill()
        with suppress(OSError), process:  # what it was not told any more
            pass


def _start() -> "subprocess.Popen[bytes] | None":
    """Start it by this Python, isolated: nothing of the folder in which the user stands is imported."""
    found = find_spec("vl_convert")
    if found is None or found.origin is None or not sys.executable:
        return None
    command = [sys.executable, "-I", "-c", PROGRAM, str(Path(found.origin).parents[1])]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with suppress(OSError):
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing)
    return None
