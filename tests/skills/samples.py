"""Problems whose answer is known."""

from dataclasses import replace
from typing import Any

import numpy as np

from quorate import simulate
from quorate.arrays import FloatArray, IntArray
from quorate.skills.identification import identify_workers
from quorate.skills.moments import from_answers, from_pairs
from quorate.skills.objective import Problem, box

TIGHT: dict[str, Any] = {"tolerance": 1e-11, "max_iterations": 200_000}


def exact_problem(skills: FloatArray, i: IntArray, j: IntArray, weights: FloatArray) -> Problem:
    """The correlations are the products of the skills."""
    ones = np.ones(len(skills))
    return Problem(from_pairs(len(skills), i, j, weights, skills[i] * skills[j]), -ones, ones, ones)


def noisy_problem(crowd: simulate.Crowd) -> Problem:
    """Least squares over the answers of a simulated crowd."""
    a = crowd.answers
    moments = replace(from_answers(a), table=identify_workers(a).moments.table)
    return Problem(moments, *box(a.per_worker, a.n_classes, 1.0), a.per_worker.astype(float))
