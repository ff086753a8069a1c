"""Time an aggregation out of core: read rows from Parquet, pack blocks on disk, run the method, write labels.

    python benchmarks/warehouse.py --folder /tmp/warehouse              # a twentieth: 5 million answers, a minute
    python benchmarks/warehouse.py --folder /tmp/warehouse --scale 1    # 100 million answers

Every task has five answers by workers drawn uniformly; rows are shuffled. One run has integer ids, another text ids;
each is a separate process. Prints wall and CPU seconds, peak memory of the process, and the largest size of the
temporary files.
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
STRIDE = 7_368_787  # a prime: consecutive rows are this number of answers apart, so that the rows of a task are apart
GOALS = {"integer": 60, "text": 220}  # CPU seconds for 100 million answers

# The workers are divided into as many slots as a task has answers, one slot per answer, so that no worker answers a
# task twice. The true class is a hash of the task, and a worker's accuracy (0.25 to 0.95) a hash of the worker. The
# hash of one number is as good as a random draw; the hash of several numbers together is not.
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
    """Times and sizes of one run."""

    ids: str
    wall: float
    cpu: float
    megabytes: float  # peak memory of the whole process
    on_disk: float  # largest size of the temporary files in megabytes


def make(path: Path, ids: str, scale: float, memory: str) -> None:
    """Write the answers to Parquet with DuckDB."""
    import duckdb

    config: dict[str, Any] = {"memory_limit": memory}
    n = f"{int(TASKS * scale) * PER_TASK}::BIGINT"
    numbers = {"n": n, "per_task": PER_TASK, "slot": WORKERS // PER_TASK, "classes": CLASSES, "stride": STRIDE}
    duckdb.connect(config=config).execute(MAKE.format(**numbers, **IDS[ids], path=path.as_posix()))


def measure(ids: str, arguments: list[str], temp: Path) -> Run:
    """Run one process to its end, and return its times, its memory and the size of its temporary files."""
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
    _, status, used = os.wait4(process.pid, 0)  # with the resource usage of this process
    process.returncode = os.waitstatus_to_exitcode(status)
    done.set()
    watcher.join()
    if status:
        raise SystemExit(f"{ids} failed")
    wall = time.perf_counter() - started
    return Run(ids, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, on_disk / 2**20)


def main() -> None:
    """Create the answers, run both forms of ids, and print times and sizes."""
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
