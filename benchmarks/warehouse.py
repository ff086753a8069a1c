"""Time an aggregation of answers out of core: rows out of Parquet, blocks on disk, the method, labels written.

    python benchmarks/warehouse.py --folder /tmp/warehouse              # a twentieth: 5 million answers, a minute
    python benchmarks/warehouse.py --folder /tmp/warehouse --scale 1    # 100 million answers

Every task has five answers, by workers drawn evenly from all; rows are shuffled. Runs with whole numbers for ids, and
with text, each in a process of its own. Prints wall and CPU seconds, peak memory of the whole process and what lay on
disk for the time being.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TASKS = 20_000_000
WORKERS = 50_000
PER_TASK = 5
CLASSES = 4
STRIDE = 7_368_787  # a prime: rows that many answers apart follow each other, so that no task's rows are neighbours
GOALS = {"integer": 60, "text": 220}  # CPU seconds for 100 million answers

# One slot of the crowd for each answer of a task, so that nobody answers a task twice. The right class is a hash of
# the task, a worker's accuracy (0.25 to 0.95) a hash of the worker. A hash of one number is as good as a random draw; a
# hash of several at once is not.
MAKE = """
COPY (
    SELECT {task} AS task, {worker} AS worker, {label} AS label FROM (
        SELECT task, worker,
            (CASE WHEN hash(answer + {n}) % 1000 < 250 + hash(worker + 2 * {n}) % 700
             THEN hash(task + 3 * {n}) ELSE hash(answer + 4 * {n}) END % {classes})::TINYINT AS label
        FROM (
            SELECT answer // {per_task} AS task, answer,
                (hash(answer) % {slot} + answer % {per_task} * {slot})::INTEGER AS worker
            FROM (SELECT range * {stride} % {n} AS answer FROM range({n}))
        )
    )
) TO '{path}' (FORMAT parquet)
"""
IDS = {
    "integer": {"task": "task", "worker": "worker", "label": "label"},
    "text": {
        "task": "'task-' || lpad(task::VARCHAR, 9, '0')",
        "worker": "'worker-' || lpad(worker::VARCHAR, 6, '0')",
        "label": "['cat', 'dog', 'elk', 'fox'][label + 1]",
    },
}
OURS = """
import sys
from quorate.cli.terminal import showing_progress
from quorate.backends import aggregate
source, method, memory, temp, target = sys.argv[1:]
with showing_progress():
    result = aggregate(source, method, memory=memory, temp=temp, output=target, most=0)
print(result.summary(), file=sys.stderr)
"""


@dataclass(frozen=True)
class Run:
    """What one of them took."""

    ids: str
    wall: float
    cpu: float
    megabytes: float  # peak memory of the whole process
    on_disk: float  # megabytes at the most


def make(path: Path, ids: str, scale: float, memory: str) -> None:
    """Let DuckDB write the answers to Parquet."""
    import duckdb

    config: dict[str, Any] = {"memory_limit": memory}
    n = f"{int(TASKS * scale) * PER_TASK}::BIGINT"
    numbers = {"n": n, "per_task": PER_TASK, "slot": WORKERS // PER_TASK, "classes": CLASSES, "stride": STRIDE}
    duckdb.connect(config=config).execute(MAKE.format(**numbers, **IDS[ids], path=path.as_posix()))


def measure(ids: str, arguments: list[str], temp: Path) -> Run:
    """Run one to its end, and watch what it lays on disk."""
    on_disk = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal on_disk
        while not done.wait(0.5):
            sizes = [path.stat().st_size for path in temp.rglob("*") if path.is_file()]
            on_disk = max(on_disk, sum(sizes))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", OURS, *arguments])
    _, status, used = os.wait4(process.pid, 0)  # tells what this one process took
    process.returncode = os.waitstatus_to_exitcode(status)
    done.set()
    watcher.join()
    if status:
        raise SystemExit(f"{ids} failed")
    wall = time.perf_counter() - started
    return Run(ids, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, on_disk / 2**20)


def main() -> None:
    """Make the answers, run both, and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for the answers, the labels and the blocks")
    parser.add_argument("--scale", type=float, default=0.05, help="of 100 million answers")
    parser.add_argument("--memory", default="4GB", help="what may be used")
    parser.add_argument("--method", default="quorate")
    parser.add_argument("--ids", default="integer,text", help="of tasks and workers")
    parser.add_argument("--json", type=Path, help="where the figures go")
    given = parser.parse_args()
    temp = given.folder / "blocks"
    temp.mkdir(parents=True, exist_ok=True)
    runs = []
    for ids in given.ids.split(","):
        source = given.folder / f"answers-{ids}-{given.scale:g}.parquet"
        if not source.exists():
            make(source, ids, given.scale, given.memory)
        target = given.folder / f"labels-{ids}.parquet"
        runs.append(measure(ids, [str(source), given.method, given.memory, str(temp), str(target)], temp))
    shutil.rmtree(temp, ignore_errors=True)
    print("| ids | wall s | CPU s | goal | peak MB | on disk MB |\n|---|---|---|---|---|---|")
    for run in runs:
        figures = f"{run.wall:.0f} | {run.cpu:.0f} | {GOALS[run.ids] * given.scale:.0f}"
        print(f"| {run.ids} | {figures} | {run.megabytes:.0f} | {run.on_disk:.0f} |")
    if given.json:
        content = {"scale": given.scale, "runs": [asdict(run) for run in runs]}
        given.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
