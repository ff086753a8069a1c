"""Tables of workers × answers × classes: the M-step of confusion matrices, in C (`tables.h`) or in numpy.

numpy handles some workers at a time, so that no second table of that size is made.
"""

import numpy as np

from quorate.arrays import FloatArray, runs
from quorate.blocks import kernels


def matrix_moments(counts: FloatArray, pooled: FloatArray, min_column: float) -> tuple[float, float]:
    """Return how much more often two answers of one worker to one class agree than by pooling, and the maximum.

    With n the expected answers in a column of a worker, both are sums over the columns with n above ``min_column``: of
    1/(n - 1) times sum K² - n - n(n-1) sum P², and of 1/(n - 1) times n(n-1) (1 - sum P²).

    Args:
        counts: K, expected answers; workers × answers × classes.
        pooled: P, answers × classes; columns sum to one.
        min_column: expected answers that a column must exceed.

    >>> matrix_moments(np.array([[[4.0, 0.0], [0.0, 4.0]]]), np.full((2, 2), 0.5), 1.5)
    (4.0, 4.0)
    """
    if kernels.native is not None:
        sums = np.zeros(2)
        counts = np.ascontiguousarray(counts)
        pooled = np.ascontiguousarray(pooled)
        kernels.native.matrix_moments(counts, pooled, np.array([min_column]), sums, len(counts), len(pooled))
        return float(sums[0]), float(sums[1])
    squares = (pooled * pooled).sum(axis=0)
    excess = 0.0
    largest = 0.0
    for workers in runs(len(counts), pooled.size):
        part = counts[workers]
        n = part.sum(axis=1)
        weight = np.where(n > min_column, 1 / np.maximum(n - 1, 0.5), 0.0)
        pairs = n * (n - 1)
        excess += float((weight * (np.einsum("wlg,wlg->wg", part, part) - n - pairs * squares)).sum())
        largest += float((weight * pairs * (1 - squares)).sum())
    return excess, largest


def scaled_matrices(pooled: FloatArray, scale: FloatArray) -> FloatArray:
    """Return a matrix with its errors scaled by a factor per worker, (workers, answers, classes); columns sum to one.

    >>> scaled_matrices(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([2.0])).tolist()
    [[[0.5, 0.5], [0.5, 0.5]]]
    """
    matrices: FloatArray = scale[:, None, None] * pooled
    diagonal = np.arange(len(pooled))
    matrices[:, diagonal, diagonal] = 0.0
    matrices[:, diagonal, diagonal] = 1 - matrices.sum(axis=1)
    return matrices


def log_matrices(
    counts: FloatArray, pooled: FloatArray, scale: FloatArray, concentration: float, floor: float
) -> FloatArray:
    """Return log theta: counts plus ``concentration`` times the scaled pooled matrix, normalised by column.

    Args:
        counts: expected answers, workers × answers × classes.
        pooled: answers × classes.
        scale: factor of the errors of each worker.
        concentration: pseudo-answers of each column, positive.
        floor: lowest probability.

    >>> log_theta = log_matrices(np.zeros((1, 2, 2)), np.array([[0.75, 0.25], [0.25, 0.75]]), np.ones(1), 3.0, 1e-300)
    >>> np.exp(log_theta).round(9).tolist()
    [[[0.75, 0.25], [0.25, 0.75]]]
    """
    log_theta = np.empty(counts.shape)
    if kernels.native is not None:
        arrays = [np.ascontiguousarray(array, dtype=np.float64) for array in (counts, pooled, scale)]
        numbers = np.array([concentration, floor])
        kernels.native.log_matrices(*arrays, numbers, log_theta, len(counts), len(pooled))
        return log_theta
    for workers in runs(len(counts), pooled.size):
        theta = counts[workers] + concentration * scaled_matrices(pooled, scale[workers])
        theta /= theta.sum(axis=1, keepdims=True)
        log_theta[workers] = np.log(np.maximum(theta, floor))
    return log_theta
