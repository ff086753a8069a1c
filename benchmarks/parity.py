"""Print how often each class is right beside crowd-kit's class of the same name, on the public sets, as Markdown.

    make parity                                        # every class on the seven sets: docs/coming-from-crowd-kit.md
    python benchmarks/parity.py --sets rte1 web --classes GLAD MACE

Both get the same file, with the defaults of crowd-kit. A cell holds crowd-kit's share of right labels, then ours; an
exact tie in the vote counts as whichever class each library chose. Gold, for the class that needs it, is every fifth
task with truth, and the other four are what is scored.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorate import estimators
from quorate.evaluation.datasets import Dataset, load

HERE = Path(__file__).parent
SETS = ("bluebird", "rte1", "temp", "wsd", "trec", "dogs", "web")
CLASSES = (
    "MajorityVote", "Wawa", "ZeroBasedSkill", "GoldMajorityVote", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE",
    "KOS", "MMSR",
)  # fmt: skip
WITHIN = 0.002  # what a difference is marked beyond
PATIENCE = 600  # seconds that crowd-kit may take for one set


def main(sets: list[str], classes: list[str], crowdkit: str) -> None:
    """Print a row a class; a star marks a difference of more than two tasks in a thousand."""
    print(f"| class | {' | '.join(sets)} |\n|---|{'---|' * len(sets)}")
    for name in classes:
        print(f"| {name} | {' | '.join(_cell(name, each, crowdkit) for each in sets)} |", flush=True)


def _cell(name: str, place: str, crowdkit: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source, target, gold = (Path(folder) / each for each in ("answers.csv", "labels.csv", "gold.csv"))
        data = load(place)
        table = data.answers.to_table()
        truth = _named(data)
        _write(source, zip(*(table[column].to_pylist() for column in ("task", "worker", "label")), strict=True))
        known = dict(list(truth.items())[::5]) if name == "GoldMajorityVote" else {}
        _write(gold, ((task, "", label) for task, label in known.items()))
        ours = _ours(name, source, known)
        theirs = _theirs(name, source, target, [str(gold)] if known else [], crowdkit)
    asked = [task for task in truth if task not in known]
    shown = [_share(labels, truth, asked) for labels in (theirs, ours)]
    apart = None in shown or abs((shown[0] or 0.0) - (shown[1] or 0.0)) > WITHIN
    return " ".join("–" if each is None else f"{each:.4f}" for each in shown) + " *" * apart


def _named(data: Dataset) -> dict[str, str]:
    return {str(row["task"]): str(row["label"]) for row in data.truth.to_pylist()}


def _write(path: Path, rows: Any) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("task", "worker", "label"), *rows])


def _ours(name: str, source: Path, known: Mapping[str, str]) -> dict[str, str]:
    import pandas as pd

    frame = pd.read_csv(source, dtype=str)
    more = [pd.Series(dict(known))] if known else []
    labels = getattr(estimators, name)().fit_predict(frame, *more)
    return {str(task): str(label) for task, label in labels.items()}


def _theirs(name: str, source: Path, target: Path, gold: list[str], crowdkit: str) -> dict[str, str] | None:
    command = [crowdkit, "-W", "ignore", str(HERE / "contender_crowdkit.py"), name, str(source), str(target), *gold]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        print(f"{name}: crowd-kit took more than {PATIENCE} seconds", file=sys.stderr)
        return None
    if run.returncode:
        print(f"{name}: crowd-kit failed: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    with target.open(newline="", encoding="utf-8") as file:
        return {row["task"]: row["label"] for row in csv.DictReader(file)}


def _share(labels: dict[str, str] | None, truth: dict[str, str], asked: list[str]) -> float | None:
    return None if labels is None else sum(labels.get(task) == truth[task] for task in asked) / len(asked)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    parser.add_argument("--crowdkit", default=".venv-crowdkit/bin/python", help="a Python that has crowd-kit")
    given = parser.parse_args()
    main(given.sets, given.classes, given.crowdkit)
