"""Time a ledger of up to a million answers, and draw the time to add one answer.

    python -m benchmarks.ledger [SVG]        # the table of docs/performance.md

CPU milliseconds of this process; tables are in memory, ids are text, rows are shuffled. The last column is a separate
process, including the start of Python: `quorate ledger add` of 1,000 answers to a ledger on disk.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.runner.experiment import Figure
from experiments.runner.figures import axis, lines
from experiments.runner.render import to_svg

from quorate.arrays import Table, take
from quorate.graph.pairs import pair_stats
from quorate.io.read import read
from quorate.io.write_table import write_table
from quorate.ledger import Ledger
from quorate.simulate import crowd

SIZES = (10_000, 100_000, 1_000_000)
SHAPES = {"5 answers a task, 2,000 workers": (5, 2_000), "50 answers a task, 500 workers": (50, 500)}
SINGLE = 300  # single answers over which a mean is taken
ONE = "add one answer, pairs kept"
AGAIN = "read and count all again"
BATCH = 1_000  # answers of the batch that is added on disk


def cpu(run: Callable[[], Any]) -> float:
    """Return the CPU milliseconds of a call."""
    start = time.process_time()
    run()
    return 1e3 * (time.process_time() - start)


def command_cpu(path: str, batch: str) -> float:
    """Return the CPU milliseconds of `quorate ledger add`, the smallest of three processes."""
    figures = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "quorate", "ledger", "add", path, batch], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        figures.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1e3 * min(figures)


def measure(n: int, per_task: int, workers: int) -> dict[str, float]:
    """Return the CPU milliseconds of each operation on a ledger of n answers, and its size on disk."""
    table = crowd(n // per_task, workers, per_task, n_classes=4, seed=0).answers.to_table().arrow
    table = take(table, np.random.default_rng(0).permutation(len(table)))
    most = table.slice(0, n - SINGLE)
    ledger = Ledger()
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "answers.ledger")
    took = {
        "add all at once": cpu(lambda: ledger.add(most)),
        "pairs, first time": cpu(lambda: ledger.pairs),
        ONE: cpu(lambda: [ledger.add(table.slice(n - k, 1)) for k in range(1, SINGLE + 1)]) / SINGLE,
        "skills": cpu(lambda: ledger.skills()),
        "save": cpu(lambda: ledger.save(path)),
        "load": cpu(lambda: Ledger.load(path)),
        AGAIN: cpu(lambda: pair_stats(read(table))),
    }
    took["on disk, MB"] = sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path)) / 1e6
    batch = os.path.join(folder, "batch.csv")
    write_table(Table(table.slice(0, BATCH)), batch)
    took[f"`ledger add` of {BATCH:,}"] = command_cpu(path, batch)
    shutil.rmtree(folder)
    return took


def main(arguments: Sequence[str]) -> None:
    """Print one row per crowd, as Markdown, and draw the chart."""
    rows = []
    for number, (shape, (per_task, workers)) in enumerate(SHAPES.items()):
        for n in SIZES:
            took = measure(n, per_task, workers)
            if number == 0 and n == SIZES[0]:
                print(f"| crowd | answers | {' | '.join(took)} |\n|---|---|{'---|' * len(took)}")
            print(f"| {shape} | {n:,} | {' | '.join(f'{value:,.2f}' for value in took.values())} |", flush=True)
            rows += [{"shape": shape, "answers": n, "what": what, "ms": round(took[what], 3)} for what in (ONE, AGAIN)]
    if arguments:
        x = axis("x", "answers", "answers in the ledger", log=True)
        y = axis("y", "ms", "milliseconds", log=True)
        spec = lines(rows, x, y, "what", order=(ONE, AGAIN), panels="shape", panel_order=tuple(SHAPES))
        Path(arguments[0]).write_text(to_svg(Figure("ledger", "", spec)))


if __name__ == "__main__":
    main(sys.argv[1:])
