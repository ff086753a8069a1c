from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.skills.intervals import Intervals

METHODS = ("rank-one", "quorate")


def answer_pairs(answers: Answers) -> list[tuple[int, list[tuple[int, int]]]]:
    """The workers and classes of each task."""
    found: dict[int, list[tuple[int, int]]] = {}
    for task, worker, label in zip(answers.task, answers.worker, answers.label, strict=True):
        found.setdefault(int(task), []).append((int(worker), int(label)))
    return sorted(found.items())


def held(found: Intervals, skills: FloatArray, n_answers: Any) -> list[bool]:
    counted = (n_answers >= 5) & ~np.isnan(found.low)
    kept: list[bool] = ((found.low <= skills) & (skills <= found.high))[counted].tolist()
    return kept
