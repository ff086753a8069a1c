"""Count the passes over the answers and the bytes that each moves; derive the plan for 10^9 answers.

    python benchmarks/passes.py                     # passes of each method, and the plan of docs/warehouse.md
    python benchmarks/passes.py --workers 1000000

A pass is one call of the protocol of `quorate.blocks.block.Blocks` that visits every answer. Calls that visit a sample
in memory, such as those that fit the prior, move nothing and are not counted. A driver sends the
parameters of a pass to each executor once and takes its sums back once, so both are counted per executor. Methods run
on a simulated crowd in memory; the number of passes of an iterative method depends on the crowd by a few.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from quorate.blocks.memory import MemoryBlocks
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.simulate import crowd

METHODS = ("quorate", "rank-one", "dawid-skene", "one-coin", "majority")
COUNTED = ("sum", "sum_lanes", "map", "joined")  # calls that visit the answers
BYTES_PER_ANSWER = 6  # of a block on disk: four of the worker, one of the class, and the start of each task
ANSWERS = 1_000_000_000
# A row that Spark shuffles has four fields (partition, task, worker, class) of eight bytes, eight bytes of null flags
# and four of length; text ids come on top, and compression is not counted.
SHUFFLED_BYTES = 4 * 8 + 8 + 4
DISK_BYTES_PER_SECOND = 100e6  # of a slow disk


def bytes_of(value: Any) -> int:
    """Return the bytes of the arrays in a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple | list):
        return sum(map(bytes_of, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(bytes_of(getattr(value, field.name)) for field in fields(value))
    return 0


class Counter:
    """Counts the passes of a run over so many answers; a pass within a pass is part of it."""

    def __init__(self, n_answers: int) -> None:
        self.n_answers = n_answers
        self.n_passes = 0
        self.sent = 0
        self.returned = 0
        self._depth = 0

    def wrapped(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method of a class of blocks, counting its calls."""

        def counting(blocks: MemoryBlocks, *arguments: Any) -> Any:
            self._depth += 1
            result = method(blocks, *arguments)
            self._depth -= 1
            if self._depth == 0 and blocks.n_answers == self.n_answers:
                self.n_passes += 1
                self.sent += sum(bytes_of(argument) for argument in arguments[1:])
                if not isinstance(result, Iterator):  # what a map returns is a sum of its blocks, or stays there
                    self.returned += bytes_of(result)
            return result

        return counting


def passes_of(method: str, n_workers: int, n_classes: int, n_answers: int) -> Counter:
    """Run a method on a crowd of five answers per task, and count."""
    answers = crowd(n_answers // 5, n_workers, 5, n_classes=n_classes, seed=0).answers
    counter = Counter(answers.n_answers)
    kept = {name: getattr(MemoryBlocks, name) for name in COUNTED}
    for name, original in kept.items():
        setattr(MemoryBlocks, name, counter.wrapped(original))
    try:
        aggregate_in_memory(method, answers)
    finally:
        for name, original in kept.items():
            setattr(MemoryBlocks, name, original)
    return counter


def main() -> None:
    """Print the passes of each method, and the plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=50_000, help="of the plan")
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--executors", type=int, default=100, help="of Spark")
    given = parser.parse_args()
    measured = 2_000  # workers of the crowd that is run
    print("| method | passes | read in all, GB | sent per executor and pass, MB | returned per executor and pass, MB |")
    print("|---|---|---|---|---|")
    for method in METHODS:
        found = passes_of(method, measured, given.classes, 500 * measured)
        scale = given.workers / measured / found.n_passes / 1e6
        read = found.n_passes * ANSWERS * BYTES_PER_ANSWER / 1e9
        cells = (f"{found.n_passes}", f"{read:,.0f}", f"{found.sent * scale:.1f}", f"{found.returned * scale:.1f}")
        print(f"| `{method}` | {' | '.join(cells)} |")
        if method == "quorate":
            sent, returned = (given.executors * part * scale for part in (found.sent, found.returned))
            plan = (
                f"One machine: blocks {ANSWERS * BYTES_PER_ANSWER / 1e9:.0f} GB; read in all passes {read:.0f} GB, "
                f"{read * 1e9 / DISK_BYTES_PER_SECOND / 60:.0f} minutes from a disk of 100 MB/s.",
                f"Spark, {given.executors} executors: shuffled once {ANSWERS * SHUFFLED_BYTES / 1e9:.0f} GB; blocks "
                f"per executor {ANSWERS * BYTES_PER_ANSWER / given.executors / 1e6:.0f} MB; per pass {sent:.0f} MB "
                f"sent and {returned:.0f} MB returned by all; in all {found.n_passes} passes "
                f"{found.n_passes * (sent + returned) / 1e3:.0f} GB.",
            )
    print("\nThe default method:", *plan, sep="\n- ")


if __name__ == "__main__":
    main()
