"""The crowds of the benchmark, generated from a seed: one-coin answers, text ids, rows shuffled.

python benchmarks/data.py NAME FOLDER [--further]    # also scores and comparisons, for `rate` and `rank`
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BenchmarkCrowd:
    """One row of the benchmark's table."""

    tasks: int
    workers: int
    per_task: int
    classes: int
    zipf: bool = False


CROWDS = {
    "s10k": BenchmarkCrowd(2_000, 100, 5, 2),
    "m1": BenchmarkCrowd(200_000, 2_000, 5, 4),
    "m1x2": BenchmarkCrowd(100_000, 2_000, 10, 4),  # as many answers as m1, twice as many per task
    "dense1": BenchmarkCrowd(20_000, 500, 50, 2),
    "zipf5": BenchmarkCrowd(1_000_000, 300_000, 5, 2, zipf=True),
    "many1": BenchmarkCrowd(200_000, 1_000_000, 5, 4),  # one answer per worker, on average
    "many5": BenchmarkCrowd(1_000_000, 1_000_000, 5, 4),
    "m10": BenchmarkCrowd(2_000_000, 20_000, 5, 4),
    # Tables of benchmarks/sizes.py: answers, workers, classes, answers per task.
    "e4": BenchmarkCrowd(2_000, 20, 5, 4),
    "e5": BenchmarkCrowd(20_000, 200, 5, 4),
    **{f"w{n}": BenchmarkCrowd(400_000, n, 5, 2) for n in (1_000, 10_000, 100_000, 1_000_000)},
    **{f"c{n}": BenchmarkCrowd(20_000, 200, 5, n) for n in (2, 10, 100, 1_000, 5_000)},
    **{f"r{n}": BenchmarkCrowd(1_000_000 // n, 2_000, n, 2) for n in (2, 5, 20, 100)},
}


def odd_shape(name: str) -> "dict[str, Any]":
    """Return the columns, as codes, of a crowd of unusual shape: one task, pairs, few answers per worker, free text."""
    import numpy as np

    rng = np.random.default_rng(0)
    pairs = np.arange(50_000)
    crowds = {
        "one-task-5000": (np.zeros(5_000, int), np.arange(5_000), rng.integers(0, 3, 5_000)),
        "one-task-20000": (np.zeros(20_000, int), np.arange(20_000), rng.integers(0, 3, 20_000)),
        "in-pairs": (pairs // 2, pairs, rng.integers(0, 2, 50_000)),
        "two-answers": (pairs // 4, rng.permutation(pairs) // 2, pairs % 2),
        "one-answer": (np.arange(200_000) // 5, np.arange(200_000), rng.integers(0, 2, 200_000)),
        "free-text": (np.arange(20_000) // 2, np.arange(20_000) % 100, np.arange(20_000)),
    }
    return dict(zip(("task", "worker", "label"), crowds[name], strict=True))


N_ITEMS = 100  # items in the comparisons
ODD_SHAPES = ("one-task-5000", "one-task-20000", "in-pairs", "two-answers", "one-answer", "free-text")


def paths(name: str, folder: Path) -> tuple[Path, Path]:
    """Return the files of a crowd's answers and true labels."""
    return folder / f"{name}.csv", folder / f"{name}-truth.csv"


def further_paths(name: str, folder: Path) -> tuple[Path, Path]:
    """Return the files of scores and pairwise comparisons of a crowd's size, for `rate` and `rank`."""
    return folder / f"{name}-scores.csv", folder / f"{name}-pairs.csv"


def generate_further(name: str, folder: Path, seed: int = 0) -> None:
    """Write scores for the same tasks and workers, and comparisons; as many of each as the crowd has answers."""
    import numpy as np
    import pyarrow as pa
    from pyarrow.compute import take

    from quorate.arrays import Table
    from quorate.io.write_table import write_table

    shape = CROWDS[name]
    rng = np.random.default_rng([seed, shape.tasks, 2])
    n = shape.tasks * shape.per_task
    row = rng.permutation(n)
    task = row // shape.per_task
    step = max(shape.workers // shape.per_task, 1)  # so that no worker answers a task twice
    worker = (rng.integers(0, shape.workers, shape.tasks)[task] + row % shape.per_task * step) % shape.workers
    numbers = 5 + rng.normal(size=shape.tasks)[task] + rng.normal(0, 0.5, shape.workers)[worker] + rng.normal(size=n)
    strength = rng.normal(size=N_ITEMS)
    left = rng.integers(0, N_ITEMS, n)
    right = (left + rng.integers(1, N_ITEMS, n)) % N_ITEMS
    is_left = rng.random(n) < 1 / (1 + np.exp(strength[right] - strength[left]))

    def ids(letter: str, codes: Any, n_ids: int) -> pa.Array:
        return take(pa.array([f"{letter}{k}" for k in range(n_ids)]), pa.array(codes))

    tasks, workers = ids("t", task, shape.tasks), ids("w", worker, shape.workers)
    items = [ids("i", codes, N_ITEMS) for codes in (left, right, np.where(is_left, left, right))]
    scores, pairs = further_paths(name, folder)
    write_table(Table(pa.table({"task": tasks, "worker": workers, "score": np.round(numbers, 2)})), scores)
    columns = dict(zip(("left", "right", "winner"), items, strict=True))
    write_table(Table(pa.table({"task": tasks, "judge": workers, **columns})), pairs)


def generate(name: str, folder: Path, seed: int = 0) -> None:
    """Write the answers and true labels of a crowd."""
    import numpy as np

    from quorate.arrays import Table, from_numpy
    from quorate.io.write_table import write_table
    from quorate.simulate import crowd, zipf_activity

    answers, truth = paths(name, folder)
    folder.mkdir(parents=True, exist_ok=True)
    if name in ODD_SHAPES:
        from quorate.io.read import read

        write_table(read(odd_shape(name), on_conflict="first").to_table(), answers)
        return
    shape = CROWDS[name]
    rng = np.random.default_rng([seed, shape.tasks, shape.per_task])
    simulated = crowd(
        shape.tasks,
        shape.workers,
        shape.per_task,
        n_classes=shape.classes,
        skills=rng.random(shape.workers),
        activity=zipf_activity(shape.workers) if shape.zipf else None,
        seed=rng,
    )
    rows = simulated.answer_table.arrow
    write_table(Table(rows.take(from_numpy(rng.permutation(rows.num_rows)))), answers)
    write_table(simulated.truth_table, truth)


if __name__ == "__main__":
    generate(sys.argv[1], Path(sys.argv[2]))
    if sys.argv[3:] == ["--further"]:
        generate_further(sys.argv[1], Path(sys.argv[2]))
