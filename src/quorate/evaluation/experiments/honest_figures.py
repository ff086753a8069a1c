"""A posterior beside the truth in four figures, and the tables of them that `honesty.py` prints."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.evaluation.score import LEAST_PROBABILITY
from quorate.voting.posterior import FLOOR
from quorate.voting.vote import leading_classes

KNOWN = (0, 5, 10, 30, 100)
RIVALS = ("majority", "one-coin", "dawid-skene")
BEFORE, OURS, ALONE = "default before", "default", "default, said independent"
METHODS = (*RIVALS, BEFORE, OURS, ALONE)
BINS = 10  # of confidence, of even width


@dataclass(frozen=True)
class Figures:
    """Of one crowd: the share wrong (ties split), mean -log p(truth), calibration error, stated minus right."""

    error: float
    log_loss: float
    calibration_error: float
    gap: float


def judge(posterior: FloatArray, truth: IntArray, counted: BoolArray) -> Figures:
    """Compare a posterior with the truth (-1 unknown, -2 a class that nobody gave) over the counted tasks."""
    rows = np.flatnonzero((truth != -1) & counted)
    p, true = posterior[rows], truth[rows]
    leading = leading_classes(np.log(np.maximum(p, FLOOR)))
    own = np.arange(len(rows)), np.maximum(true, 0)
    right = np.where(true >= 0, leading[own] / leading.sum(axis=1), 0.0)
    believed = np.where(true >= 0, p[own], 0.0)
    sure = p.max(axis=1)
    gaps = np.bincount(np.minimum((sure * BINS).astype(np.int64), BINS - 1), sure - right)
    return Figures(
        float(1 - right.mean()),
        float(-np.log(np.maximum(believed, LEAST_PROBABILITY)).mean()),
        float(np.abs(gaps).sum() / len(rows)),
        float(sure.mean() - right.mean()),
    )


def mean(figures: Iterable[Figures]) -> Figures:
    """Average over crowds, all alike."""
    return Figures(*(float(value) for value in np.mean([astuple(each) for each in figures], axis=0)))


Measured = dict[tuple[str, int], Figures]  # of one crowd, by method and number of known labels


def show(title: str, rows: dict[str, Measured]) -> None:
    """Print the means over crowds, and each crowd."""
    print(f"\n## {title}: mean over {len(rows)} crowds\n")
    print("| method | known | error | log-loss | calibration error | stated - right |\n|---|---|---|---|---|---|")
    for name in METHODS:
        for n in KNOWN if all((name, 0) in row for row in rows.values()) else ():
            f = mean(row[name, n] for row in rows.values())
            print(f"| {name} | {n} | {f.error:.4f} | {f.log_loss:.3f} | {f.calibration_error:.3f} | {f.gap:+.3f} |")
    shown = [("majority", 0), ("one-coin", 0), ("dawid-skene", 0), (BEFORE, 0), *((OURS, n) for n in KNOWN)]
    print(f"\n| crowd | {' | '.join(f'{name}, {n} known' for name, n in shown)} |\n|---|{'---|' * len(shown)}")
    for crowd, row in rows.items():
        cells = (row[key] for key in shown)
        told = (f"{f.error:.3f} {f.log_loss:.2f} {f.calibration_error:.3f} {f.gap:+.3f}" for f in cells)
        print(f"| {crowd} | {' | '.join(told)} |", flush=True)
    worse = {
        name: [crowd for crowd, row in rows.items() if row[name, 0].error > row["majority", 0].error + 0.02]
        for name in (BEFORE, OURS)
    }
    print(f"\nMore than two points worse than majority: {worse}")
