"""Time grades and abstentions out of core: the same crowd with classes, with grades, and with abstentions.

    python benchmarks/graded_rows.py --folder /tmp/graded               # 5 million answers, two minutes

Five workers per task grade tasks of two classes from 0 to 9, each worker on a different scale. Every run is a separate
process that packs the rows into blocks on disk and writes labels. Prints CPU seconds and the share of wrong labels.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

WORKERS = 5000
PER_TASK = 5
SEED = 0
ABSTAINING = 0.1  # share of the rows that abstain, at random or depending on the class
OURS = """
import sys, json
from quorate.backends import aggregate
source, target, how = sys.argv[1:]
result = aggregate(source, most=0, output=target, **json.loads(how))
print(result.summary(), file=sys.stderr)
"""
MAP = json.dumps({"map": {str(grade): "ab"[grade > 4] for grade in range(10)}})
ABSTAIN = json.dumps({"abstain": ["unsure"]})
RUNS = {
    "cut to classes": ("cut", "{}"),
    "grades, with a map": ("graded", MAP),
    "classes, abstaining at random": ("random", ABSTAIN),
    "classes, abstaining by class": ("telling", ABSTAIN),
}


def make(folder: Path, n_tasks: int) -> np.ndarray:
    """Write the crowd in the four forms that the runs read, and return the true classes."""
    rng = np.random.default_rng(SEED)
    truth = rng.integers(0, 2, n_tasks)
    task = np.repeat(np.arange(n_tasks), PER_TASK)
    slot = WORKERS // PER_TASK  # workers per answer of a task: different workers, so that no worker answers it twice
    worker = rng.integers(0, slot, len(task)) + slot * np.tile(np.arange(PER_TASK), n_tasks)
    scale = rng.uniform(1, 2.5, WORKERS)
    offset = rng.uniform(3, 5, WORKERS)
    noise = rng.uniform(0.8, 2.0, WORKERS)
    seen = (2 * truth - 1)[task] + rng.normal(size=len(task)) * noise[worker]
    grade = np.clip(np.rint(offset[worker] + scale[worker] * seen), 0, 9).astype(np.int64)
    cut = (grade > 4).astype(np.int64)
    share = rng.random(len(task))
    label_of_form = {
        "graded": np.array([str(each) for each in range(10)])[grade],
        "cut": np.array(["a", "b"])[cut],
        "random": np.array(["a", "b", "unsure"])[np.where(share < ABSTAINING, 2, cut)],
        "telling": np.array(["a", "b", "unsure"])[np.where(share < 2 * ABSTAINING * truth[task], 2, cut)],
    }
    order = rng.permutation(len(task))
    for name, label in label_of_form.items():
        rows = pa.table({"task": task[order], "worker": worker[order], "label": pa.array(label[order])})
        pa.parquet.write_table(rows, folder / f"{name}.parquet")
    return truth


def measure(source: Path, target: Path, how: str) -> float:
    """Run one process to its end and return its CPU seconds."""
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", OURS, str(source), str(target), how])
    _, status, used = os.wait4(process.pid, 0)  # with the resource usage of this process
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{source} failed")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Create the answers, run all forms, and print CPU seconds and wrong labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for the answers and the labels")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="of five answers each")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    truth = make(given.folder, given.tasks)
    print("| rows | CPU s | labels wrong |\n|---|---|---|")
    for name, (source, how) in RUNS.items():
        target = given.folder / f"labels-{source}.parquet"
        cpu = measure(given.folder / f"{source}.parquet", target, how)
        labels = pa.parquet.read_table(target)
        wrong = labels["label"].to_numpy() != np.array(["a", "b"])[truth[labels["task"].to_numpy()]]
        print(f"| {name} | {cpu:.1f} | {wrong.mean():.4f} |", flush=True)


if __name__ == "__main__":
    main()
