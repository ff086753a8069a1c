"""Time a task that 100,000 of 300,000 workers answered: its cost should be proportional to its answers.

    python benchmarks/crowded.py --folder /tmp/warehouse               # a million answers, and a task of 100,000
    python benchmarks/crowded.py --folder /tmp/warehouse --answers 10  # millions

Runs the default method out of core on answers of 300,000 workers, five per task; on twice as many answers; and on the
first answers plus one task that every third worker answered. Each run is a separate process. Prints CPU seconds in
total and per million answers; if the time is linear, the latter do not grow.
"""

import argparse
from pathlib import Path

from warehouse import measure

WORKERS = 300_000
CROWDED = 100_000
PER_TASK = 5
CLASSES = 4
# The true class is a hash of the task, and 70 of 100 answers are right; the task with many answers has the number -1.
MAKE = """
COPY (
    SELECT answer // {per_task} AS task,
        ((hash(answer) % {slot}) + answer % {per_task} * {slot})::INTEGER AS worker,
        (CASE WHEN hash(answer + 7) % 100 < 70 THEN hash(answer // {per_task}) ELSE hash(answer + 11) END % {classes})
            ::TINYINT AS label
    FROM (SELECT range AS answer FROM range({n}))
    UNION ALL
    SELECT -1, (range * 3)::INTEGER,
        (CASE WHEN hash(range) % 100 < 70 THEN 1 ELSE hash(range + 5) % {classes} END)::TINYINT
    FROM range({crowded})
) TO '{path}' (FORMAT parquet)
"""


def make(path: Path, n: int, crowded: int) -> None:
    """Write answers to Parquet with DuckDB, plus ``crowded`` answers to one more task."""
    import duckdb

    numbers = {"n": n, "crowded": crowded, "per_task": PER_TASK, "slot": WORKERS // PER_TASK, "classes": CLASSES}
    duckdb.connect().execute(MAKE.format(**numbers, path=path.as_posix()))


def main() -> None:
    """Create the answers, run all three cases, and print their CPU seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for the answers, the labels and the blocks")
    parser.add_argument("--answers", type=float, default=1, help="millions, besides the crowded task")
    parser.add_argument("--method", default="quorate")
    given = parser.parse_args()
    temp = given.folder / "blocks"
    n = int(given.answers * 1e6)
    temp.mkdir(parents=True, exist_ok=True)
    print("| answers | CPU s | CPU s for a million |\n|---|---|---|")
    for name, size, crowded in (("even", n, 0), ("twice as many", 2 * n, 0), ("one crowded task", n, CROWDED)):
        source = given.folder / f"crowded-{size}-{crowded}.parquet"
        make(source, size, crowded)
        target = given.folder / "labels-crowded.parquet"
        run = measure(name, [str(source), given.method, "4GB", str(temp), str(target)], temp)
        source.unlink()
        print(f"| {name}: {size + crowded:,} | {run.cpu:.1f} | {run.cpu / (size + crowded) * 1e6:.1f} |", flush=True)


if __name__ == "__main__":
    main()
