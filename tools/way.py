"""Follow the data through the house: run a command, and print every change of rooms on its way.

    python -m tools.way aggregate answers.csv -o labels.csv

A call of a function, or of a class body while its module loads, in another room than the call before it is a change.
What happens inside numpy, Arrow and the kernels in C is not seen, and neither is a return.
"""

import runpy
import sys
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).parent.parent / "src" / "quorate"


def changes_of(arguments: list[str]) -> list[str]:
    """Run a command as `python -m quorate` would; return where the way went at each change of rooms."""
    way: list[str] = []
    rooms: dict[str, str | None] = {}  # of each file; None outside of the house
    last = ""

    def follow(frame: FrameType, event: str, _: Any) -> None:
        nonlocal last
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        name = frame.f_code.co_filename
        if name not in rooms:
            path = Path(name)
            inside = path.is_relative_to(SOURCE)
            rooms[name] = path.relative_to(SOURCE).with_suffix("").parts[0] if inside else None
        here = rooms[name]
        if here is not None and here != last:
            way.append(f"{Path(name).relative_to(SOURCE)}: {frame.f_code.co_name}")
            last = here

    sys.argv = ["quorate", *arguments]
    sys.setprofile(follow)
    try:
        runpy.run_module("quorate", run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
    return way[1:]  # the first is where it began


def main() -> None:
    """Print the way, and how long it is."""
    found = changes_of(sys.argv[1:])
    print(*found, sep="\n", file=sys.stderr)
    print(f"{len(found)} changes of rooms", file=sys.stderr)


if __name__ == "__main__":
    main()
