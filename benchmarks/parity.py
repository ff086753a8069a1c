"""Print the share of right labels of each class and of crowd-kit's class of the same name, on the public sets.

    make parity                                  # every class on the seven sets: docs/accuracy.md
    python benchmarks/parity.py --sets rte1 web --classes GLAD MACE

Both get the same file and the defaults of crowd-kit. A cell of the Markdown table has crowd-kit's share of right
labels, then ours; for a tied vote, the label that each library chose is scored. Gold, for the class that needs it, is
every fifth task with a true label; the other tasks are scored. crowd-kit's MACE uses the response bias of a wrong
worker unless the names of workers and labels are in the order in which they appear; so it has a second row with such
names.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from quorate import estimators
from quorate.datasets import Dataset, load

HERE = Path(__file__).parent
SETS = ("bluebird", "rte1", "temp", "wsd", "trec", "dogs", "web")
RENAMED = " renamed"  # workers and labels named in the order in which they appear
CLASSES = (
    *("MajorityVote", "Wawa", "ZeroBasedSkill", "GoldMajorityVote", "DawidSkene", "OneCoinDawidSkene"),
    *("GLAD", "MACE", f"MACE{RENAMED}", "KOS", "MMSR"),
)
COLUMNS = ("task", "worker", "label")
Row = tuple[str, ...]
WITHIN = 0.002  # largest difference of the shares that is not marked
PATIENCE = 3600  # timeout in seconds of one class of crowd-kit for all sets


@dataclass(frozen=True)
class Job:
    """A public set as files, with its true and known labels."""

    truth: dict[str, str]
    known: dict[str, str]
    source: Path
    target: Path  # of crowd-kit's labels
    gold: Path


def main(sets: Sequence[str], classes: Sequence[str], crowdkit: str) -> None:
    """Print a row per class; a star marks a difference of more than two tasks in a thousand."""
    print(f"| class | {' | '.join(sets)} |\n|---|{'---|' * len(sets)}")
    for name in classes:
        with tempfile.TemporaryDirectory() as folder:
            jobs = [_job(name, each, Path(folder)) for each in sets]
            _run_theirs(name.removesuffix(RENAMED), jobs, crowdkit)
            cells = [_cell(name.removesuffix(RENAMED), job) for job in jobs]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _job(name: str, place: str, folder: Path) -> Job:
    """Write the files of a set and return them."""
    rows, truth = _data(load(place), renamed=name.endswith(RENAMED))
    known = dict(list(truth.items())[::5]) if name == "GoldMajorityVote" else {}
    source, target, gold = (folder / f"{place}-{each}.csv" for each in ("answers", "labels", "gold"))
    _write(source, rows)
    _write(gold, [(task, "", label) for task, label in known.items()])
    return Job(truth, known, source, target, gold)


def _run_theirs(name: str, jobs: Sequence[Job], crowdkit: str) -> None:
    """Run crowd-kit's class on all sets in one process, because importing it takes seconds."""
    files = [str(each) for job in jobs for each in (job.source, job.target, job.gold if job.known else "-")]
    command = [crowdkit, "-W", "ignore", str(HERE / "contender_crowdkit.py"), name, *files]
    try:
        run = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=PATIENCE)
        print(run.stderr, end="", file=sys.stderr)
    except subprocess.TimeoutExpired:
        print(f"{name}: crowd-kit took more than {PATIENCE} seconds", file=sys.stderr)


def _cell(name: str, job: Job) -> str:
    """Return crowd-kit's share of right labels, then that of our class, as text."""
    frame = pd.read_csv(job.source, dtype=str)
    labels = getattr(estimators, name)().fit_predict(frame, *([pd.Series(job.known)] if job.known else []))
    asked = [task for task in job.truth if task not in job.known]
    ours = _share(labels.to_dict(), job.truth, asked)
    if not job.target.exists():
        return f"– {ours:.4f}"
    theirs = _share(pd.read_csv(job.target, dtype=str).set_index("task")["label"].to_dict(), job.truth, asked)
    return f"{theirs:.4f} {ours:.4f}" + " *" * (abs(theirs - ours) > WITHIN)


def _data(data: Dataset, *, renamed: bool) -> tuple[list[Row], dict[str, str]]:
    """Return answers and true labels, with their names or with names numbered in the order in which they appear."""
    table = data.answers.to_table()
    rows = list(zip(*([str(each) for each in table[column].to_pylist()] for column in COLUMNS), strict=True))
    truth = {str(row["task"]): str(row["label"]) for row in data.truth.to_pylist()}
    if not renamed:
        return rows, truth
    workers, labels = (
        {each: f"{n:06d}" for n, each in enumerate(dict.fromkeys(row[k] for row in rows))} for k in (1, 2)
    )
    return (
        [(task, workers[worker], labels[label]) for task, worker, label in rows],
        {task: labels.get(label, label) for task, label in truth.items()},
    )


def _write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *rows])


def _share(labels: Mapping[str, str], truth: Mapping[str, str], asked: Sequence[str]) -> float:
    return sum(labels.get(task) == truth[task] for task in asked) / len(asked)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--crowdkit", default=".venv-crowdkit/bin/python", help="a Python that has crowd-kit")
    given = parser.parse_args()
    main(given.sets, given.classes, given.crowdkit)
