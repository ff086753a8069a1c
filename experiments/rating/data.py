"""Public scores, and simulated crowds of eight kinds."""

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.io.scores import Scores, read_scores

SETS = (
    *("netflix_public", "netflix_four_outliers", "vqeg_hd3", "vqeg_frtv_525_low", "vqeg_frtv_525_high", "cvssp"),
    *("asset_people_0", "asset_people_1", "asset_people_2", "asset_judges_0", "asset_judges_1", "asset_judges_2"),
    *("wordsim", "insteval"),
)
PANELS = SETS[:9]  # sets in which all raters scored almost all tasks
JUDGES = ("asset_judges_0", "asset_judges_1", "asset_judges_2")


@dataclass(frozen=True)
class Answers:
    """Codes of tasks and raters, and scores."""

    task: IntArray
    rater: IntArray
    score: FloatArray

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return int(self.task.max()) + 1

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return int(self.rater.max()) + 1

    def only(self, kept: Any) -> "Answers":
        """Return some of the answers; codes are unchanged."""
        return Answers(self.task[kept], self.rater[kept], self.score[kept])

    def scores(self) -> Scores:
        """Return the scores as the package reads them, without tasks and raters that have no answers."""
        return read_scores({"task": self.task, "worker": self.rater, "score": self.score})


def folder() -> Path | None:
    """Return the folder of public scores; None if it does not exist."""
    place = os.environ.get("QUORATE_DATASETS")
    path = None if place is None else Path(place) / "scores"
    return path if path is not None and path.is_dir() else None


def load(name: str) -> tuple[Answers, dict[int, float]]:
    """Return a public set, and the known scores of its tasks if there are any."""
    place = folder()
    assert place is not None
    with (place / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    tasks, task = np.unique([row["task"] for row in rows], return_inverse=True)
    _, rater = np.unique([row["worker"] for row in rows], return_inverse=True)
    score = np.array([float(row["score"]) for row in rows])
    known: dict[int, float] = {}
    truth = place / f"{name}_truth.csv"
    if truth.exists():
        code = {value: k for k, value in enumerate(tasks.tolist())}
        with truth.open() as file:
            for row in csv.DictReader(file):
                if row["task"] in code:
                    known[code[row["task"]]] = float(row["score"])
    return Answers(task, rater, score), known


KINDS: dict[str, dict[str, Any]] = {
    "base": {},
    "3 per task, 60 raters": {"per_task": 3, "n_raters": 60},
    "30 % spammers": {"spammers": 0.3},
    "5-point": {"points": 5},
    "5-point, spammers": {"points": 5, "spammers": 0.3},
    "0-100 skewed, clipped": {"skewed": True},
    "panel of 8": {"n_raters": 8, "per_task": 8},
    "ambiguous tasks": {"ambiguous": True, "per_task": 6},
}


def simulate(
    seed: int,
    *,
    n_tasks: int = 300,
    n_raters: int = 40,
    per_task: int = 5,
    spammers: float = 0.0,
    points: int | None = None,
    skewed: bool = False,
    ambiguous: bool = False,
) -> tuple[Answers, FloatArray]:
    """Simulate scores: bias sd .4, scale sd .3, noise .7 exp(.4 z), uneven work; returns the true scores too."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_tasks)
    bias = 0.4 * rng.normal(size=n_raters)
    scale = 1 + 0.3 * rng.normal(size=n_raters)
    noise = 0.7 * np.exp(0.4 * rng.normal(size=n_raters))
    activity = np.exp(rng.normal(size=n_raters)) if per_task < n_raters else np.ones(n_raters)
    share = activity / activity.sum()
    rater = np.concatenate([rng.choice(n_raters, per_task, replace=False, p=share) for _ in range(n_tasks)])
    task = np.repeat(np.arange(n_tasks), per_task)
    spread = np.exp(0.5 * rng.normal(size=n_tasks)) if ambiguous else np.ones(n_tasks)
    y = bias[rater] + scale[rater] * truth[task] + noise[rater] * spread[task] * rng.normal(size=len(task))
    is_spammer = np.arange(n_raters) < round(spammers * n_raters)
    y = np.where(is_spammer[rater], rng.normal(size=len(task)), y)
    if points is not None:
        y = np.clip(np.round(3 + y), 1, points)
        truth = 3 + truth
    if skewed:
        y = np.clip(np.round(70 + 20 * y), 0, 100)
        truth = 70 + 20 * truth
    return Answers(task, rater, y), truth


def concentrated(seed: int, per_task: int, at_zero: float) -> tuple[Answers, FloatArray]:
    """Simulate 100 tasks of 38 raters on a scale of 0 to 100 on which most answers are 0."""
    answers, truth = simulate(seed, n_tasks=100, n_raters=38, per_task=per_task)
    score = np.clip(np.round((answers.score - np.quantile(answers.score, at_zero)) * 8) * 5, 0, 100)
    return Answers(answers.task, answers.rater, score), truth
