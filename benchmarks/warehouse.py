"""Time an aggregation inside DuckDB beside the bare query that counts its pairs, each in a process of its own.

    python benchmarks/warehouse.py --folder /tmp/warehouse              # a twentieth: 5 million answers, a minute
    python benchmarks/warehouse.py --folder /tmp/warehouse --scale 1    # 100 million answers, half an hour

Every task has five answers, by workers drawn evenly from all: the hardest case, in which almost every meeting makes a
pair of its own. Prints wall and CPU seconds, peak memory of the whole process and bytes spilt, and the two ratios.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TASKS, WORKERS, PER_TASK, CLASSES = 20_000_000, 50_000, 5, 4
GOAL = 2.5  # times the bare query, at the most

# One slot of the crowd for each answer of a task, so that nobody answers a task twice. The right class is a hash of
# the task, a worker's accuracy (0.25 to 0.95) a hash of the worker. A hash of one number is as good as a random draw; a
# hash of several at once is not.
MAKE = """
COPY (
    SELECT task, worker,
        (CASE WHEN hash(answer + {n}) % 1000 < 250 + hash(worker + 2 * {n}) % 700
         THEN hash(task + 3 * {n}) ELSE hash(answer + 4 * {n}) END % {classes})::TINYINT AS label
    FROM (
        SELECT range // {per_task} AS task, (hash(range) % {slot} + range % {per_task} * {slot})::INTEGER AS worker,
            range AS answer
        FROM range({n})
    )
) TO '{path}' (FORMAT parquet)
"""
BARE = """
import duckdb, sys
source, memory, temp = sys.argv[1:]
con = duckdb.connect(config={"memory_limit": memory, "temp_directory": temp, "preserve_insertion_order": False})
con.execute("SET enable_progress_bar = false")
pairs = con.sql(f'''
    SELECT a.worker AS i, b.worker AS j, count(*)::INTEGER AS shared,
        sum((a.label = b.label)::INTEGER)::INTEGER AS agreed
    FROM '{source}' AS a JOIN '{source}' AS b ON a.task = b.task AND a.worker < b.worker GROUP BY ALL
''')
reader = (pairs.to_arrow_reader if hasattr(pairs, "to_arrow_reader") else pairs.fetch_record_batch)(1 << 20)
print(sum(batch.num_rows for batch in reader))
"""
OURS = """
import sys
from quorate.cli.terminal import showing_progress
from quorate.warehouse import aggregate
source, memory, temp, target, intervals = sys.argv[1:]
with showing_progress():
    result = aggregate(source, "rank-one", memory=memory, temp=temp, output=target, intervals=intervals)
print(result.pairs.n_counted)
print(result.summary(), file=sys.stderr)
"""


@dataclass(frozen=True)
class Run:
    """What one of the two took."""

    name: str
    wall: float
    cpu: float
    megabytes: float  # peak memory of the whole process
    spilt: float  # megabytes on disk at the most
    pairs: int


def make(path: Path, scale: float, memory: str) -> None:
    """Let DuckDB write the answers to Parquet."""
    import duckdb

    config: dict[str, Any] = {
        "memory_limit": memory,
        "preserve_insertion_order": False,
        "temp_directory": str(path.parent / "spill"),
    }
    con = duckdb.connect(config=config)
    con.execute(
        MAKE.format(
            n=int(TASKS * scale) * PER_TASK,
            per_task=PER_TASK,
            slot=WORKERS // PER_TASK,
            classes=CLASSES,
            path=path.as_posix(),
        )
    )


def measure(name: str, code: str, arguments: list[str], spill: Path) -> Run:
    """Run one of the two to its end, and watch what it spills."""
    spilt, done = 0, threading.Event()

    def watch() -> None:
        nonlocal spilt
        while not done.wait(0.5):
            sizes = [path.stat().st_size for path in spill.glob("*") if path.exists()]
            spilt = max(spilt, sum(sizes))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, *arguments], stdout=output)
        _, status, used = os.wait4(process.pid, 0)  # tells what this one process took
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        done.set()
        watcher.join()
        if status:
            raise SystemExit(f"{name} failed")
        output.seek(0)
        pairs = int(output.read())
    return Run(name, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, spilt / 2**20, pairs)


def main() -> None:
    """Make the answers, run both, and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for the answers, the labels and what is spilt")
    parser.add_argument("--scale", type=float, default=0.05, help="of 100 million answers")
    parser.add_argument("--memory", default="4GB", help="DuckDB's limit, for both")
    parser.add_argument("--intervals", default="fast", help="fast, or none to leave them out")
    parser.add_argument("--repeats", type=int, default=1, help="in turn; the best of each counts")
    parser.add_argument("--json", type=Path, help="where the figures go")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    spill = given.folder / "spill"
    free = shutil.disk_usage(given.folder).free / 2**30
    print(f"{given.folder} has {free:.0f} GB free; about {max(40 * given.scale, 1):.0f} GB are needed", file=sys.stderr)
    source, target = given.folder / f"answers-{given.scale:g}.parquet", given.folder / "labels.parquet"
    if not source.exists():
        make(source, given.scale, given.memory)
    both: dict[str, list[Run]] = {"bare self-join": [], "quorate": []}
    for _ in range(given.repeats):
        for name, code, more in (("bare self-join", BARE, []), ("quorate", OURS, [str(target), given.intervals])):
            shutil.rmtree(spill, ignore_errors=True)
            both[name].append(measure(name, code, [str(source), given.memory, str(spill), *more], spill))
    shutil.rmtree(spill, ignore_errors=True)
    best = [min(runs, key=lambda run: run.wall) for runs in both.values()]
    print("| | wall s | CPU s | peak MB | spilt MB | pairs |\n|---|---|---|---|---|---|")
    for run in best:
        print(
            f"| {run.name} | {run.wall:.0f} | {run.cpu:.0f} | {run.megabytes:.0f} | {run.spilt:.0f} | {run.pairs:,} |"
        )
    bare, ours = best
    wall, cpu = ours.wall / bare.wall, ours.cpu / bare.cpu
    met = "met" if max(wall, cpu) <= GOAL else "missed"
    print(f"\n{wall:.2f} times the wall time and {cpu:.2f} times the CPU time of the bare query; goal {GOAL}: {met}")
    if given.json:
        given.json.write_text(
            json.dumps({"scale": given.scale, "runs": [asdict(run) for run in best]}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
