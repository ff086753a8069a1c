"""Skills from exact correlations plus noise of constant size, as in two tables of the paper."""

from dataclasses import replace

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.simulate import Edges
from quorate.skills.alternative_optimum import PairTable, check_alternative
from quorate.skills.gradient_flow import follow_gradient_flow
from quorate.skills.moments import from_pairs
from quorate.skills.objective import Problem, box

NOISE = 0.2  # half-width of the uniform distribution


def noisy_skills(
    skills: FloatArray, edges: Edges, n_answers: IntArray, rng: np.random.Generator, noise: float = NOISE
) -> FloatArray:
    """Estimate two-class skills from C_ij = s_i s_j + uniform noise on the edges, oriented so that they sum to > 0.

    >>> from quorate.simulate import clique
    >>> s = np.array([0.8, 0.5, -0.2, 0.4])
    >>> found = noisy_skills(s, clique(4), np.full(4, 10_000), np.random.default_rng(0), noise=0.0)
    >>> bool(np.abs(found - s).max() < 1e-4)
    True
    """
    i, j = edges
    correlation = skills[i] * skills[j] + rng.uniform(-noise, noise, len(i))
    pairs = PairTable(i, j, np.ones(len(i)), correlation, noise=max(noise**2 / 3, 1e-12))  # the variance of the noise
    moments = from_pairs(len(skills), i, j, pairs.weights, correlation)
    problem = Problem(moments, *box(n_answers, 2, 1.0), n_answers.astype(np.float64))
    first = follow_gradient_flow(problem)
    if first.skills.sum() < 0:
        first = replace(first, skills=-first.skills)
    found = check_alternative(problem, pairs, first, lambda start: follow_gradient_flow(problem, start)).skills
    return found if found.sum() >= 0 else -found
