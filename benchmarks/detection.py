"""Time of detecting the layout of a CSV file, compared with reading it: `python -m benchmarks.detection [ROWS]`.

Three files with the same answers, 10 million rows by default: with the usual column names, with other names that are
recognised, and with names that need a proposed command. Detection reads only the beginning of a file, so its time does
not grow with the rows; the last column must be below 1 %.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from quorate.errors import QuorateError
from quorate.io.exports.detect import recognise_content
from quorate.io.layouts import read_unknown_layout
from quorate.io.options import AS_USUAL, ReadOptions, names_resolved
from quorate.io.read import read_source
from quorate.io.several_files import content_of

N_ROWS = 10_000_000
HEADERS = {
    "usual names": ("task", "worker", "label"),
    "other names, read at once": ("question", "annotator", "answer"),
    "names that are proposed": ("Item ID", "Annotator", "Mood"),
}


def write(path: Path, names: tuple[str, ...], n_rows: int) -> None:
    """Write random answers."""
    rng = np.random.default_rng(0)
    n_tasks = n_rows // 5
    columns = [np.repeat(np.arange(n_tasks), 5), np.tile(np.arange(5), n_tasks), rng.integers(0, 4, 5 * n_tasks)]
    columns[1] = columns[1] + 5 * (columns[0] % 2000)
    csv.write_csv(pa.table(dict(zip(names, columns, strict=True))), path)


def seconds(act: Callable[[], object], times: int) -> float:
    """Return the smallest wall time of several calls, in seconds."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        found.append(time.perf_counter() - began)
    return min(found)


def detect(path: Path) -> None:
    """Run the detection that precedes reading a file."""
    content = content_of(str(path), AS_USUAL)
    reading = names_resolved(AS_USUAL, content.fields)
    if recognise_content(content, reading) == "layout":
        with suppress(QuorateError):  # the error proposes a command
            read_unknown_layout(content, reading)


def main() -> None:
    """Print the table."""
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else N_ROWS
    print(f"{'columns'.ljust(28)}  detection   reading   share")
    with tempfile.TemporaryDirectory() as folder:
        for name, header in HEADERS.items():
            path = Path(folder, "answers.csv")
            write(path, header, n_rows)
            task, worker, label = header
            options = ReadOptions(tool="table", task=task, worker=worker, label=label)
            reading = seconds(lambda: read_source(str(path), options), 1)  # noqa: B023
            found = seconds(lambda: detect(path), 5)  # noqa: B023
            print(f"{name.ljust(28)}  {1e3 * found:6.1f} ms  {reading:6.2f} s  {found / reading:6.2%}")


if __name__ == "__main__":
    main()
