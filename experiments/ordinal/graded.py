"""Grades compared with classes that are cut from them: a table of docs/accuracy.md.

``python -m experiments.ordinal.graded`` prints it, for simulated judges and for the public sets whose
classes have an order: web, and age where the folder of further sets is there (``QUORATE_DATA``). Any other panel:
``… graded --grades scores.csv --truth truth.csv --cut 4.5`` (task, worker, label; task, label: 0 or 1).
"""

import argparse
from dataclasses import dataclass

import numpy as np

from experiments.calibration.public_crowds import PublicCrowd, class_codes, folder_of_more, public_crowd
from experiments.ordinal.ordered_crowds import READ, ordered_crowd
from quorate.arrays import BoolArray, FloatArray, Table, table_of
from quorate.errors import UnreadableFileError
from quorate.io.read import read
from quorate.methods.aggregate import aggregate
from quorate.result import Result

HIGHEST = 9  # grade that simulated judges give; 0 is the lowest
SEEDS = 10
ORDERED = ("web", "age")
CUT_KINDS = ("widths of their own", "shifted scales", "skewed classes", "hard tasks")
CUT_CLASSES = (5, 7)


@dataclass(frozen=True)
class Worth:
    """Figures of a posterior of two classes."""

    auc: float
    error: float
    log_loss: float

    def __str__(self) -> str:
        return f"{self.auc:.4f} | {self.error:.4f} | {self.log_loss:.4f}"


def worth(result: Result, truth: BoolArray, known: BoolArray) -> Worth:
    """Return the figures of a result of two classes on the tasks with a true class."""
    p = result.vote.posterior[known, 1]
    yes = truth[known]
    loss = -np.log(np.maximum(np.where(yes, p, 1 - p), 1e-9)).mean()
    return Worth(area_under_curve(p, yes), float(((result.vote.label[known] == 1) != yes).mean()), float(loss))


def area_under_curve(score: FloatArray, yes: BoolArray) -> float:
    """Return how often a task of the class scores above one that is not of it, ties counting half."""
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    n = int(yes.sum())
    return float((rank[yes].sum() - n * (n + 1) / 2) / max(n * (len(yes) - n), 1))


def judges(rng: np.random.Generator, one_in: int = 2, n_tasks: int = 1000) -> tuple[Table, BoolArray]:
    """Simulate judges who grade two classes from 0 to 9, with different scales and a common part of the noise."""
    truth = (rng.integers(0, one_in, n_tasks) == 1).astype(np.int64)
    n_judges = 12
    seen = 1.6 * truth - 0.8 + rng.normal(0, 0.6, n_tasks)
    noise, scale, offset = (rng.uniform(low, high, n_judges) for low, high in ((0.6, 1.6), (1.3, 2.6), (3.0, 4.5)))
    grade = np.rint(offset + scale * (seen[:, None] + rng.normal(0, noise, (n_tasks, n_judges))))
    task, worker = (each.ravel() for each in np.indices(grade.shape))
    label = np.clip(grade, 0, HIGHEST).astype(np.int64).ravel()
    return Table(table_of({"task": task, "worker": worker, "label": label})), truth == 1


def grades_and_cut(table: Table, cut: float, truth: BoolArray, known: BoolArray) -> tuple[Worth, Worth]:
    """Evaluate the cut of grades, and the grades with the equivalent map; the table has task, worker, label."""
    scale = {grade: int(float(grade) > cut) for grade in table["label"].unique().to_pylist()}
    by_cut = {name: table[name].to_pylist() for name in ("task", "worker", "label")}
    by_cut["label"] = [scale[grade] for grade in by_cut["label"]]
    found = (aggregate(by_cut, on_conflict="last"), aggregate(table, map=scale, on_conflict="last"))
    first, second = (worth(result, truth, known) for result in found)
    return first, second


def of_crowd(crowd: PublicCrowd, cut: int) -> tuple[Worth, Worth]:
    """Evaluate the cut after one of the ordered classes, and the grades themselves."""
    value = np.array([float(name) for name in crowd.answers.classes.to_pylist()])
    return grades_and_cut(crowd.answers.to_table(), value[cut], crowd.truth > cut, crowd.truth >= 0)


def crowds() -> list[PublicCrowd]:
    """Return the available public sets with ordered classes."""
    found = []
    for name in ORDERED:
        try:
            found.append(public_crowd(name, folder_of_more()))
        except UnreadableFileError as error:
            print(f"{name}: {error}")
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("--grades", "--truth", "--cut"):
        parser.add_argument(name)
    given = parser.parse_args(arguments)
    print("| crowd | cut: AUC | error | log-loss | grades: AUC | error | log-loss |\n|---|---|---|---|---|---|---|")
    if given.grades is not None:
        answers = read(given.grades, on_conflict="last")
        points = {grade: str(int(float(grade) > float(given.cut))) for grade in answers.classes.to_pylist()}
        mapped = read(given.grades, on_conflict="last", map=points)
        codes = class_codes(given.truth, mapped)
        both = grades_and_cut(answers.to_table(), float(given.cut), codes == 1, codes >= 0)
        print(f"| {given.grades} | {both[0]} | {both[1]} |")
        return
    for name, one_in in (("simulated judges", 2), ("of a class in ten", 10)):
        panels = [judges(np.random.default_rng(seed), one_in) for seed in range(SEEDS)]
        runs = [grades_and_cut(panel, 4.5, truth, np.ones_like(truth)) for panel, truth in panels]
        print(_mean_row(f"{name}, {SEEDS} panels", runs))
    for kind in (each for each in READ if each.name in CUT_KINDS):
        runs = []
        for m in CUT_CLASSES:
            crowd = PublicCrowd(kind.name, *ordered_crowd(kind, m, 0))
            runs += [of_crowd(crowd, cut) for cut in range(m - 1)]
        print(_mean_row(f"simulated, {kind.name}, {len(runs)} cuts", runs))
    for crowd in crowds():
        for cut in range(crowd.answers.n_classes - 1):
            first, second = of_crowd(crowd, cut)
            print(f"| {crowd.name}, above {crowd.answers.classes[cut].as_py()} | {first} | {second} |")


def _mean_row(name: str, runs: list[tuple[Worth, Worth]]) -> str:
    means = [Worth(*np.mean([[w.auc, w.error, w.log_loss] for w in each], axis=0)) for each in zip(*runs, strict=True)]
    return f"| {name} | {means[0]} | {means[1]} |"


if __name__ == "__main__":
    main()
