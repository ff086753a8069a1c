"""Simulated scores of the eight kinds that the method was shaped on, and tables of them."""

from typing import Any

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.rating.rating import Rating

Rows = tuple[IntArray, IntArray, FloatArray, FloatArray]


def crowd(
    seed: int,
    *,
    n_tasks: int = 300,
    n_raters: int = 40,
    per_task: int = 5,
    spammers: float = 0.0,
    points: int | None = None,
    skewed: bool = False,
    ambiguous: bool = False,
) -> Rows:
    """task, rater, score of each answer, and the true score of each task."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=n_tasks)
    bias = 0.4 * rng.normal(size=n_raters)
    scale = 1 + 0.3 * rng.normal(size=n_raters)
    noise = 0.7 * np.exp(0.4 * rng.normal(size=n_raters))
    activity = np.exp(rng.normal(size=n_raters)) if per_task < n_raters else np.ones(n_raters)
    chosen = [rng.choice(n_raters, per_task, replace=False, p=activity / activity.sum()) for _ in range(n_tasks)]
    rater = np.concatenate(chosen)
    task = np.repeat(np.arange(n_tasks), per_task)
    spread = np.exp(0.5 * rng.normal(size=n_tasks)) if ambiguous else np.ones(n_tasks)
    y = bias[rater] + scale[rater] * q[task] + noise[rater] * spread[task] * rng.normal(size=len(task))
    is_spammer = rng.random(n_raters) < spammers
    y = np.where(is_spammer[rater], rng.normal(size=len(task)), y)
    if points is not None:
        y = np.clip(np.round(3 + y), 1, points)
        q = 3 + q
    if skewed:
        y = np.clip(np.round(70 + 20 * y), 0, 100)
        q = 70 + 20 * q
    return task, rater, y, q


def table(rows: Rows) -> dict[str, Any]:
    task, rater, score, _ = rows
    return {"task": task, "worker": rater, "score": score}


def in_order(rating: Rating, column: str, of: str = "scores") -> FloatArray:
    """A column in the order of the numeric ids."""
    rows = rating.scores if of == "scores" else rating.workers
    key = "task" if of == "scores" else "worker"
    ids = np.array([int(value) for value in rows[key].to_pylist()])
    values = np.array([np.nan if value is None else value for value in rows[column].to_pylist()], float)
    return values[np.argsort(ids)]
