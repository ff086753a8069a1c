"""The crowds of the benchmark, generated from a seed: one-coin answers, text ids, rows shuffled. NAME FOLDER."""

import sys
from dataclasses import dataclass
from pathlib import Path


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
    "m1x2": BenchmarkCrowd(100_000, 2_000, 10, 4),  # as many answers, twice as many a task
    "dense1": BenchmarkCrowd(20_000, 500, 50, 2),
    "zipf5": BenchmarkCrowd(1_000_000, 300_000, 5, 2, zipf=True),
    "m10": BenchmarkCrowd(2_000_000, 20_000, 5, 4),
}


def paths(name: str, folder: Path) -> tuple[Path, Path]:
    """Return where a crowd's answers and truth are kept."""
    return folder / f"{name}.csv", folder / f"{name}-truth.csv"


def generate(name: str, folder: Path, seed: int = 0) -> None:
    """Write answers and truth."""
    import numpy as np

    from quorate.arrays import Table, from_numpy
    from quorate.io.write_table import write_table
    from quorate.simulate import crowd, zipf_activity

    answers, truth = paths(name, folder)
    folder.mkdir(parents=True, exist_ok=True)
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
