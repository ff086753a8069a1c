"""Record outputs of every command on small public sets, and compare two recordings.

    python record.py record CHECKOUT FOLDER [--sets bluebird,wsd,general]
    python record.py compare FOLDER FOLDER

Runs tools/outputs.py of the checkout (one process) with its own .venv. `compare` prints the differences that tools/outputs.py
finds; expected after the move: `quorate reproduce` (hidden command) and the paths of functions named in messages.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--sets", default="bluebird,wsd,general")
    given = parser.parse_args()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"OPENBLAS_NUM_THREADS": "1"}
    if given.what == "record":
        root = given.first.resolve()
        words = [root / ".venv/bin/python", root / "tools/outputs.py", "record", given.second.resolve(), "--jobs", "1"]
        words += ["--sets", given.sets, "--quorate", root / ".venv/bin/quorate"]
    else:
        words = [sys.executable, "tools/outputs.py", "compare", given.first, given.second]
    sys.exit(subprocess.run(list(map(str, words)), env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
