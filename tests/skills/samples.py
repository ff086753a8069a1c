"""Problems whose answer is known, and a slope by differences."""

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.skills import Problem, from_pairs


def exact_problem(skills: FloatArray, i: IntArray, j: IntArray, weights: FloatArray) -> Problem:
    """The correlations are the products of the skills."""
    ones = np.ones(len(skills))
    return Problem(from_pairs(len(skills), i, j, weights, skills[i] * skills[j]), -ones, ones, ones)


def slopes(problem: Problem, x: FloatArray) -> FloatArray:
    """The gradient by central differences: right to about 1e-5 of its size."""
    steps = 1e-6 * np.eye(len(x))
    return np.array([(problem.loss_and_gradient(x + h)[0] - problem.loss_and_gradient(x - h)[0]) / 2e-6 for h in steps])
