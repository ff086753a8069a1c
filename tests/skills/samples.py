"""Problems whose answer is known, and a slope by differences."""

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.evaluation import simulate
from quorate.skills import Problem, box, from_answers, from_pairs


def exact_problem(skills: FloatArray, i: IntArray, j: IntArray, weights: FloatArray) -> Problem:
    """The correlations are the products of the skills."""
    ones = np.ones(len(skills))
    return Problem(from_pairs(len(skills), i, j, weights, skills[i] * skills[j]), -ones, ones, ones)


def slopes(problem: Problem, x: FloatArray) -> FloatArray:
    """The gradient by central differences: right to about 1e-5 of its size."""
    steps = 1e-6 * np.eye(len(x))
    return np.array([(problem.loss_and_gradient(x + h)[0] - problem.loss_and_gradient(x - h)[0]) / 2e-6 for h in steps])


def noisy_problem(crowd: simulate.Crowd) -> Problem:
    """Least squares over the answers of a simulated crowd."""
    a = crowd.answers
    return Problem(from_answers(a), *box(a.per_worker, a.n_classes, 1.0), a.per_worker.astype(float))
