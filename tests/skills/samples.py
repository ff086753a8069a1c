"""Problems whose answer is known, and a slope by differences."""

from typing import Any

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.evaluation.simulate import Crowd
from quorate.skills import Problem, box, from_answers, from_pairs

TIGHT: dict[str, Any] = {"tolerance": 1e-11, "max_iterations": 200_000}


def exact_problem(skills: FloatArray, i: IntArray, j: IntArray, weights: FloatArray) -> Problem:
    """The correlations are the products of the skills."""
    ones = np.ones(len(skills))
    return Problem(from_pairs(len(skills), i, j, weights, skills[i] * skills[j]), -ones, ones, ones)


def noisy_problem(crowd: Crowd) -> Problem:
    """The least squares of a crowd's own answers, in the paper's box."""
    a = crowd.answers
    return Problem(from_answers(a), *box(a.per_worker, a.n_classes, 1.0), a.per_worker.astype(float))


def slopes(problem: Problem, x: FloatArray) -> FloatArray:
    """The gradient by central differences: right to about 1e-5 of its size."""
    steps = 1e-6 * np.eye(len(x))
    return np.array([(problem.loss_and_gradient(x + h)[0] - problem.loss_and_gradient(x - h)[0]) / 2e-6 for h in steps])
