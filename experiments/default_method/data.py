"""Public crowds and judge panels with truth, as integer codes, and the choice of gold labels."""

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import quorate
from quorate import Answers

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]

UNKNOWN = -1  # no truth or no gold label
OUTSIDE = -2  # a truth that no worker gave: every label of such a task is wrong

PEOPLE = (
    *("bluebird", "dogs", "rte1", "temp", "trec", "web", "wsd", "age", "athlete", "bm", "cifar10s", "face", "flower"),
    *("labelme", "music_genre", "netflix", "product", "slr_intervention", "slr_older", "slr_tech", "small_mammals"),
    *("trees", "weather_amt", "weather_cf", "zencrowd_all"),
)
JUDGES_CIVIL = "judges_civil"
PUBLIC_SETS = (*PEOPLE, JUDGES_CIVIL)

# Sets that share tasks or workers are left out together; every other set is a group of its own.
RELATED = {
    "weather_amt": "weather",
    "weather_cf": "weather",
    "slr_intervention": "slr",
    "slr_older": "slr",
    "slr_tech": "slr",
    "athlete": "dtype",
    "netflix": "dtype",
    "trees": "cifar100",
    "small_mammals": "cifar100",
}


class DataMissingError(SystemExit):
    """The folder of public data, or a set in it, does not exist; ends a command with its message."""


@dataclass(frozen=True)
class Crowd:
    """Answers with truth; codes follow `answers.task_names`, `answers.worker_names` and `answers.classes`."""

    name: str
    answers: Answers
    truth: IntArray  # class of each task; UNKNOWN or OUTSIDE where it has none among the classes
    families: tuple[str, ...] = ()  # of each worker, "" where unknown; empty where no families are published

    @property
    def task(self) -> IntArray:
        """Task of each answer."""
        return np.asarray(self.answers.task).astype(np.int64)

    @property
    def worker(self) -> IntArray:
        """Worker of each answer."""
        return np.asarray(self.answers.worker).astype(np.int64)

    @property
    def label(self) -> IntArray:
        """Class of each answer."""
        return np.asarray(self.answers.label).astype(np.int64)

    @property
    def group(self) -> IntArray | None:
        """Code of each worker's family, -1 where it has none; None where no worker has a family."""
        names = sorted(set(self.families) - {""})
        if not names:
            return None
        return np.array([names.index(family) if family else -1 for family in self.families])

    def votes(self) -> IntArray:
        """Return the number of answers of each task (rows) for each class."""
        n_classes = self.answers.n_classes
        cells = np.bincount(self.task * n_classes + self.label, minlength=self.answers.n_tasks * n_classes)
        return cells.reshape(self.answers.n_tasks, n_classes)


@dataclass(frozen=True)
class Panel:
    """A panel of LLM judges and the repository that published it."""

    crowd: Crowd
    repository: str


def datasets_folder() -> Path:
    """Return the folder of public data: QUORATE_DATASETS, or `../shared/datasets` next to the repository."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "datasets"
    folder = Path(os.environ.get("QUORATE_DATASETS", beside))
    if not folder.is_dir():
        raise DataMissingError(
            f"the folder of public data {str(folder)!r} does not exist. "
            "Set QUORATE_DATASETS to the folder that holds bluebird/, more/ and panels/."
        )
    return folder


def load_public_set(name: str) -> Crowd:
    """Read one of `PUBLIC_SETS`."""
    root = datasets_folder()
    for folder in (root / name, root / "more" / name):
        if (folder / "labels.csv").exists():
            return read_crowd(name, folder, families_of(root, name))
    raise DataMissingError(f"the public data in {str(root)!r} have no set {name!r}: no {name}/labels.csv there.")


def load_panels(names: Sequence[str] = ()) -> list[Panel]:
    """Read the judge panels that `panels/INDEX.tsv` lists, or those of the given names."""
    root = datasets_folder()
    index = root / "panels" / "INDEX.tsv"
    if not index.exists():
        raise DataMissingError(f"the public data have no list of panels: {str(index)!r} does not exist.")
    panels = []
    for row in read_rows(index, delimiter="\t"):
        if names and row["name"] not in names:
            continue
        crowd = read_crowd(row["name"], root / "panels" / row["name"], families_of(root, row["name"]))
        panels.append(Panel(crowd, row["repository@commit"].split("@")[0]))
    return panels


def families_of(root: Path, name: str) -> dict[str, str]:
    """Return the vendor of each judge of a panel, from `panels/families.tsv`; empty for crowds of people."""
    table = root / "panels" / "families.tsv"
    if not table.exists():
        return {}
    return {row["worker"]: row["family"] for row in read_rows(table, delimiter="\t") if row["panel"] == name}


def read_crowd(name: str, folder: Path, families: dict[str, str]) -> Crowd:
    """Read `labels.csv` and `truth.csv`; of repeated answers the last counts."""
    answers = quorate.read(str(folder / "labels.csv"), on_conflict="last")
    truth = {row["task"]: row["label"] for row in read_rows(folder / "truth.csv")}
    workers = [str(worker) for worker in answers.worker_names.to_pylist()]
    of_worker = tuple(families.get(worker, "") for worker in workers) if families else ()
    return Crowd(name, answers, truth_codes(answers, truth), of_worker)


def simulated_crowd(
    name: str, task: IntArray, worker: IntArray, label: IntArray, truth: IntArray, n_classes: int
) -> Crowd:
    """Make a crowd of simulated codes; `truth` is indexed by task."""
    classes = list(range(n_classes))
    answers = quorate.read({"task": task, "worker": worker, "label": label}, classes=classes)
    known = {str(number): str(true) for number, true in enumerate(truth.tolist())}
    return Crowd(name, answers, truth_codes(answers, known))


def truth_codes(answers: Answers, truth: dict[str, str]) -> IntArray:
    """Return the true class of each task as a code of `answers.classes`, else UNKNOWN or OUTSIDE."""
    code_of_class = {str(label): code for code, label in enumerate(answers.classes.to_pylist())}
    codes = []
    for task in answers.task_names.to_pylist():
        label = truth.get(str(task))
        codes.append(UNKNOWN if label is None else code_of_class.get(label, OUTSIDE))
    return np.array(codes)


def choose_gold(crowd: Crowd, n_gold: int, seed: int) -> IntArray:
    """Return the class of `n_gold` random tasks with truth, at most half of them, and UNKNOWN elsewhere."""
    candidates = np.flatnonzero(crowd.truth >= 0)
    rng = np.random.default_rng([seed, n_gold, len(crowd.name)])
    chosen = rng.choice(candidates, min(n_gold, len(candidates) // 2), replace=False)
    gold = np.full(len(crowd.truth), UNKNOWN)
    gold[chosen] = crowd.truth[chosen]
    return gold


def group_of_set(name: str) -> str:
    """Return the group of related sets that must be left out together."""
    return RELATED.get(name, name)


def read_rows(path: Path, delimiter: str = ",") -> Iterable[dict[str, Any]]:
    """Read the rows of a table of text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))
