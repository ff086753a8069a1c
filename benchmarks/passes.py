"""Count the passes over the answers and the bytes that each pass moves; derive the plan for 10^9 answers.

    python benchmarks/passes.py                     # passes of each method, and the plan of docs/warehouse.md
    python benchmarks/passes.py --workers 1000000
    python benchmarks/passes.py --crowds            # bytes per pass of crowds whose tables of workers are large

A pass is one call of the protocol of `quorate.blocks.block.Blocks` that reads every answer. Calls on a sample in
memory, such as those that fit the prior, move no data and are not counted. A driver sends the parameters of a pass to
each executor once and receives its sums once, so the pickled bytes of both are counted per executor. Methods run on a
simulated crowd in memory, divided into partitions; the number of passes of an iterative method differs between crowds
by a few.
"""

import argparse
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from quorate.blocks.block import added
from quorate.blocks.memory import MemoryBlocks, memory_blocks
from quorate.methods.fit_blocks import fit_blocks
from quorate.simulate import crowd

METHODS = ("quorate", "rank-one", "dawid-skene", "one-coin", "majority")
BYTES_PER_ANSWER = 6  # of a block on disk: four for the worker, one for the class, and the start of each task
ANSWERS = 1_000_000_000
# A row that Spark shuffles has four fields (partition, task, worker, class) of eight bytes, eight bytes of null flags
# and four bytes of length. Text ids need more, and compression is not counted.
SHUFFLED_BYTES = 4 * 8 + 8 + 4
DISK_BYTES_PER_SECOND = 100e6  # assumed speed of a slow disk


class Partitions:
    """Blocks in partitions, as in Spark, that count the passes and the bytes that each pass moves."""

    def __init__(self, blocks: MemoryBlocks, n_partitions: int) -> None:
        self.blocks = blocks
        self.parts = list(blocks.all_tasks.pieces(-(-blocks.n_answers // n_partitions)))
        self.n_passes = 0
        self.sent = 0  # bytes sent to each executor
        self.returned = 0.0  # bytes returned by a partition, on average
        self.most_sent = 0  # in one pass
        self.most_returned = 0  # by one partition in one pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self.blocks, name)

    def _pass(self, parameters: tuple[Any, ...]) -> None:
        self.n_passes += 1
        size = len(pickle.dumps(parameters, protocol=5))
        self.sent += size
        self.most_sent = max(self.most_sent, size)

    def sum(self, kernel: Callable[..., Any], *parameters: Any) -> Any:
        """Return the sum of the results of the partitions."""
        self._pass(parameters)
        return added(self._returned(kernel, parameters))

    def _returned(self, kernel: Callable[..., Any], parameters: tuple[Any, ...]) -> Iterator[Any]:
        for part in self.parts:
            sums = kernel([part], *parameters)
            size = len(pickle.dumps(sums, protocol=5))
            self.returned += size / len(self.parts)
            self.most_returned = max(self.most_returned, size)
            yield sums

    def map(self, kernel: Callable[..., Any], *parameters: Any) -> Iterator[Any]:
        """Return the results of the kernel for every partition, which stay in the partitions."""
        self._pass(parameters)
        return (kernel(part, *parameters) for part in self.parts)

    def component_roots(self) -> Any:
        """Return the roots of the connected components; each partition returns two 4-byte arrays over workers."""
        self.n_passes += 1
        self.returned += 2 * 4 * self.blocks.n_workers
        return self.blocks.component_roots()


def passes_of(method: str, n_workers: int, n_classes: int, n_answers: int, n_partitions: int) -> Partitions:
    """Run a method on a crowd with five answers per task, and return the partitions with their counts."""
    answers = crowd(n_answers // 5, n_workers, 5, n_classes=n_classes, seed=0).answers
    partitions = Partitions(memory_blocks(answers), n_partitions)
    blocks: Any = partitions
    fitted = fit_blocks(blocks, method)
    for _ in blocks.map(fitted.vote):
        pass
    return partitions


# Workers, classes, answers per worker: the crowd of the plan, many workers with few answers, and 50 classes.
CROWDS = ((50_000, 4, 100), (1_000_000, 4, 5), (2_000, 50, 500))


def print_crowds(n_partitions: int) -> None:
    """Print the bytes of the passes for crowds with large tables of workers."""
    print("| workers | classes | answers per worker | method | passes | sent, MB | at most | returned, MB | at most |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n_workers, n_classes, per_worker in CROWDS:
        for method in ("quorate", "dawid-skene"):
            found = passes_of(method, n_workers, n_classes, n_workers * per_worker, n_partitions)
            sizes = (found.sent / found.n_passes, found.most_sent, found.returned / found.n_passes, found.most_returned)
            cells = [f"{n_workers:,}", f"{n_classes}", f"{per_worker}", f"`{method}`", f"{found.n_passes}"]
            print(f"| {' | '.join([*cells, *(f'{size / 1e6:.1f}' for size in sizes)])} |", flush=True)


def main() -> None:
    """Print the passes of each method, and the plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=50_000, help="of the plan")
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--executors", type=int, default=100, help="of Spark")
    parser.add_argument("--crowds", action="store_true", help="print the bytes of crowds with large tables")
    parser.add_argument("--partitions", type=int, default=100, help="of those crowds")
    given = parser.parse_args()
    if given.crowds:
        print_crowds(given.partitions)
        return
    measured = 2_000  # workers of the crowd that is run
    n_partitions = 4  # each with so many answers per worker that every row of a table is observed, as in the plan
    print("| method | passes | read in all, GB | sent per executor and pass, MB | returned per executor and pass, MB |")
    print("|---|---|---|---|---|")
    for method in METHODS:
        found = passes_of(method, measured, given.classes, 500 * measured, n_partitions)
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
