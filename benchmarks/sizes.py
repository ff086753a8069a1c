"""CPU seconds and memory of every command over sizes and odd shapes: the table of docs/performance.md.

python benchmarks/sizes.py                     # every shape, every command: half an hour
python benchmarks/sizes.py --only one-task     # one shape
"""

import argparse
import os
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np

from quorate.cli.app import main as quorate
from quorate.errors import QuorateError
from quorate.io.read import read
from quorate.io.write_table import write_table
from quorate.simulate import crowd

SECONDS, MEMORY = 120, 4 << 30  # that one command may take; more is told as such


def shapes() -> dict[str, dict[str, np.ndarray] | int]:
    """Return every shape: columns of codes, or the number of answers of an ordinary crowd."""
    rng = np.random.default_rng(0)

    def table(task: np.ndarray, worker: np.ndarray, label: np.ndarray) -> dict[str, np.ndarray]:
        return {"task": task, "worker": worker, "label": label}

    n, m, pairs = 20_000, 200_000, np.arange(50_000)
    return {
        "10^4 answers": 10_000,
        "10^5 answers": 100_000,
        "10^6 answers": 1_000_000,
        "one task, 5,000 answers": table(np.zeros(5_000, int), np.arange(5_000), rng.integers(0, 3, 5_000)),
        "one task, 20,000 answers": table(np.zeros(n, int), np.arange(n), rng.integers(0, 3, n)),
        "50,000 workers in pairs": table(np.arange(50_000) // 2, np.arange(50_000), rng.integers(0, 2, 50_000)),
        "25,000 workers, two answers": table(pairs // 4, rng.permutation(pairs) // 2, pairs % 2),
        "200,000 workers, one answer each": table(np.arange(m) // 5, np.arange(m), rng.integers(0, 2, m)),
        "1,000 classes": table(np.arange(9_000) // 3, np.arange(9_000) % 60, rng.integers(0, 1_000, 9_000)),
        "5,000 classes": table(np.arange(15_000) // 3, np.arange(15_000) % 60, rng.integers(0, 5_000, 15_000)),
        "free text, 20,000 answers": table(np.arange(n) // 2, np.arange(n) % 100, np.arange(n)),
    }  # fmt: skip


COMMANDS = {
    "majority": ["aggregate", "A", "--method", "majority", "-o", "O"],
    "rank-one": ["aggregate", "A", "--method", "rank-one", "-o", "O"],
    "quorate": ["aggregate", "A", "-o", "O"],
    "workers": ["aggregate", "A", "--method", "majority", "--workers-out", "O", "-o", "/dev/null"],
    "diagnose": ["diagnose", "A", "--json"],
    "advise": ["advise", "A", "--budget", "100", "-o", "O"],
    "compare": ["compare", "A", "--methods", "quorate,rank-one,majority,one-coin,dawid-skene", "--json"],
    "report": ["report", "A", "-o", "H"],
    "ledger add": ["ledger", "add", "L", "A"],
}


def cost(arguments: list[str]) -> str:
    """Run a command in a process of its own: CPU seconds and megabytes, or how it was refused."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # for as long as the process lives
            if arguments[0] != "report":  # whose charts are drawn by an engine that reserves more than it uses
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            quorate(arguments)
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    took = f"{used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss / 1e3:.0f} MB"
    return {0: took, 2: f"refused ({took})"}.get(code, f"more than {SECONDS} s or 4 GB")


def main() -> None:
    """Print the table, a line at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="part of a shape's name")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    given = parser.parse_args()
    chosen = given.commands.split(",")
    print("| shape | " + " | ".join(chosen) + " |\n|---|" + "---|" * len(chosen), flush=True)
    for name, shape in shapes().items():
        if given.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = {
                key: str(Path(folder) / each)
                for key, each in (("A", "a.parquet"), ("O", "o.parquet"), ("H", "h.html"), ("L", "l"))
            }
            try:
                found = crowd(shape // 5, max(shape // 200, 20), 5).answers if isinstance(shape, int) else read(shape)
            except QuorateError:
                assert not isinstance(shape, int)  # a simulated crowd has no conflicts
                found = read(shape, on_conflict="first")
            write_table(found.to_table(), place["A"])
            cells = [cost([place.get(each, each) for each in COMMANDS[command]]) for command in chosen]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
