"""Prior of a worker's confusion matrix: the pooled matrix, scaled to the worker's skill, and its concentration.

Each column of a matrix has a Dirichlet distribution whose mean is the column of the pooled matrix P, with the errors
scaled by the worker's error rate by skill relative to that of the mean skill. The concentration s, the pseudo-answers
per column, is the same for all workers and columns. It is estimated by the method of moments from the similarity of two
answers of one worker to one class, as far as it exceeds that under P. The prior of a single accuracy is in
`accuracy_prior.py`.
"""

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.worker_rows import ObservedRows, parts
from quorate.blocks.worker_tables import matrix_moments, scaled_matrices
from quorate.voting.posterior import FLOOR

MAX_CONCENTRATION = 300.0  # pseudo-answers per column
MIN_CONCENTRATION = 1.0
MIN_COLUMN_ANSWERS = 1.5  # expected answers; columns with fewer are not used for the concentration
MAX_COLUMN_ERROR = 0.999  # sum of the errors of a column of the scaled pooled matrix
# Pseudo-answers in each column of the pooled matrix, and in the share on its diagonal: two tasks with 3 equal answers
# are no evidence of perfect workers. Conventional; with some hundred answers it makes no difference.
PSEUDO_ANSWERS = 10.0
PSEUDO_SKILL = 0.5  # skill of the pseudo-answers: half way from guessing to perfect

# Power of a worker's error rate by skill, relative to the mean, in its prior matrix. With 0 the error is 3 percentage
# points higher in sparse crowds of five classes; 1/2 and 1 have the same error and, with one group of public sets left
# out, a log-loss that differs by .0025 ± .0013 (`python -m experiments.default_method.fit_law`). With 1, skills from
# earlier runs have their full effect.
SKILL_SCALING_POWER = 1.0
MIN_MEAN_ERROR = 0.02  # lower limit of a crowd's 1 - mean skill, in a worker's relative error


def relative_errors(skill: FloatArray, mean: float) -> FloatArray:
    """Return each worker's error rate by skill over that of the mean skill, for its prior matrix.

    >>> relative_errors(np.array([0.5, 0.9]), 0.5).round(2).tolist()
    [1.0, 0.2]
    """
    relative: FloatArray = ((1 - skill) / max(1 - mean, MIN_MEAN_ERROR)) ** SKILL_SCALING_POWER
    return relative


def pooled_matrix(counts: FloatArray) -> tuple[FloatArray, float]:
    """Return the pooled confusion matrix with pseudo-answers in each column, and the share of right answers.

    The pseudo-answers are right with this share; their errors follow the frequencies of the given classes.

    >>> matrix, right = pooled_matrix(np.array([[800.0, 200.0], [200.0, 800.0]]))
    >>> matrix.round(2).tolist(), round(right, 2)
    ([[0.8, 0.2], [0.2, 0.8]], 0.8)
    """
    m = len(counts)
    total = max(float(counts.sum()), FLOOR)
    by_skill = PSEUDO_SKILL + (1 - PSEUDO_SKILL) / m
    share = (np.trace(counts) + PSEUDO_ANSWERS * by_skill) / (total + PSEUDO_ANSWERS)
    right = float(np.clip(share, 1 / m + 1e-3, 1 - 1e-6))
    label_counts = counts.sum(axis=1) + total / m**2
    # In place: with thousands of classes each table takes hundreds of megabytes.
    pooled = np.repeat(label_counts[:, None], m, axis=1)
    np.fill_diagonal(pooled, 0.0)
    wrong = np.maximum(pooled.sum(axis=0), FLOOR)
    pooled *= 1 - right
    pooled /= wrong
    np.fill_diagonal(pooled, right)
    pooled *= max(PSEUDO_ANSWERS, m / 2)
    pooled += counts
    pooled /= pooled.sum(axis=0)
    return pooled, right


def scale_errors(pooled: FloatArray, relative_error: FloatArray) -> FloatArray:
    """Return the pooled matrix with its errors scaled by each worker's relative error; workers × answers × classes.

    >>> scale_errors(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([2.0])).tolist()
    [[[0.5, 0.5], [0.5, 0.5]]]
    """
    return scaled_matrices(pooled, error_scale(pooled, relative_error))


def error_scale(pooled: FloatArray, relative_error: FloatArray) -> FloatArray:
    """Return the factor on each worker's errors, limited such that no column has errors above MAX_COLUMN_ERROR."""
    largest = float((1 - pooled.diagonal()).max())
    return np.minimum(relative_error, MAX_COLUMN_ERROR / max(largest, FLOOR))


def dirichlet_concentration(counts: FloatArray | ObservedRows, pooled: FloatArray) -> float:
    """Return the Dirichlet concentration by the method of moments over the columns of all workers."""
    moments = [matrix_moments(part, pooled, MIN_COLUMN_ANSWERS) for _, part in parts(counts)]
    return concentration_of_similarity(sum(excess for excess, _ in moments), sum(largest for _, largest in moments))


def concentration_of_similarity(excess: float, largest: float) -> float:
    """Return the concentration from the excess similarity of two answers of one worker and its largest value."""
    similarity = excess / max(largest, 1e-9)
    return float(1 / np.clip(similarity, 1 / (MAX_CONCENTRATION + 1), 1 / (MIN_CONCENTRATION + 1)) - 1)
