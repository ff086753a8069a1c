"""Simulated scores of the eight kinds that the method was shaped on, and tables of them."""

from typing import Any

import numpy as np
from experiments.rating.data import simulate

from quorate.arrays import FloatArray, IntArray
from quorate.rating.rating import Rating

Rows = tuple[IntArray, IntArray, FloatArray, FloatArray]


def crowd(seed: int, **options: Any) -> Rows:
    """task, rater, score of each answer, and the true score of each task; options as in the experiments' `simulate`."""
    answers, truth = simulate(seed, **options)
    return answers.task, answers.rater, answers.score, truth


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
