"""Tables of tasks × classes of a block: softmax, powers, leading classes; in C (`tables.h`) or in numpy."""

import numpy as np
from numpy.typing import NDArray

from quorate.arrays import BoolArray, FloatArray, IntArray, runs
from quorate.blocks import kernels, numpy_kernels

FLOOR = float(np.finfo(np.float64).tiny)  # the lowest probability: the smallest normal number
TIE_TOLERANCE = 1e-9  # scores closer than this are equal: sums of the same weights in another order differ by less


def softmax(scores: FloatArray, factor: FloatArray | None = None) -> FloatArray:
    """Turn log-probabilities up to a constant per row, times a factor of the row, into probabilities.

    >>> softmax(np.log([[1.0, 9.0]]), np.array([0.5])).round(9).tolist()
    [[0.25, 0.75]]
    """
    if kernels.native is None or scores.shape[1] == 0:
        return numpy_kernels.softmax(scores if factor is None else scores * factor[:, None])
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    factors = None if factor is None else np.ascontiguousarray(factor, dtype=np.float64)
    out = np.empty(scores.shape)
    kernels.native.softmax_rows(scores, factors, out, *scores.shape)
    return out


def averaged_powers(
    posterior: FloatArray, shares: FloatArray, rest: float, *, step: float, per_octave: int, least: float
) -> FloatArray:
    """Return ``rest`` plus the weighted sum, over exponents e, of each row raised to e and divided by its sum.

    With ``step`` 0.5 and ``per_octave`` 2 the exponents are 0.5, 1, 2, 3, 5, 7, 11, 15, …: they increase by 0.5 twice,
    by 1 twice, by 2 twice, and so on. There are as many as ``shares``.

    Args:
        posterior: tasks × classes.
        shares: weight of each exponent.
        rest: added to every entry.
        step: the first exponent, and the difference between those of the first octave; it doubles with each octave.
        per_octave: number of exponents in an octave.
        least: lower bound of a probability divided by the largest of its row; a smaller ratio is raised to it.

    Half of the weight on the exponent 1, which leaves the row as it is, and half on 2, which gives .81/.82 and .01/.82:

    >>> shares = np.array([0.0, 0.5, 0.5])
    >>> mean = averaged_powers(np.array([[0.9, 0.1]]), shares, 0.0, step=0.5, per_octave=2, least=1e-9)
    >>> mean.round(4).tolist(), round((0.9 + 0.81 / 0.82) / 2, 4)
    ([[0.9439, 0.0561]], 0.9439)
    """
    posterior = np.ascontiguousarray(posterior, dtype=np.float64)
    out = np.empty(posterior.shape)
    if kernels.native is not None and posterior.shape[1] > 0:
        numbers = np.array([rest, step, least])
        shares = np.ascontiguousarray(shares)
        kernels.native.calibrate_rows(posterior, shares, numbers, out, *posterior.shape, len(shares), per_octave)
        return out
    for rows in runs(*posterior.shape):
        q = np.ascontiguousarray(posterior[rows].T)  # classes × tasks, which numpy sums faster than the transpose
        first = np.maximum(q / q.max(axis=0, initial=FLOOR), least) ** step
        mixed = np.full(q.shape, rest)
        power = np.ones_like(first)
        for k, share in enumerate(shares):
            power *= first
            mixed += share * (power / power.sum(axis=0))
            if (k + 1) % per_octave == 0:
                first *= first
        out[rows] = mixed.T
    return out


def leading(values: FloatArray, *, is_probability: bool = False) -> tuple[IntArray, BoolArray]:
    """Return the first class with the best score of each row, and whether another class has the same score.

    Args:
        values: scores, or probabilities, which are compared by their logarithms.
        is_probability: whether they are probabilities.

    >>> [result.tolist() for result in leading(np.array([[1.0, 2.0, 2.0], [3.0, 2.0, 2.0]]))]
    [[1, 0], [True, False]]
    """
    if kernels.native is not None and values.shape[1] > 0:
        values = np.ascontiguousarray(values, dtype=np.float64)
        label = np.empty(len(values), np.int64)
        several: NDArray[np.bool_] = np.empty(len(values), dtype=bool)
        numbers = np.array([TIE_TOLERANCE, FLOOR])
        kernels.native.lead_rows(values, label, several, numbers, *values.shape, int(is_probability))
        return label, several
    label = values.argmax(axis=1)
    several = np.zeros(len(values), dtype=bool)
    for rows in runs(*values.shape):
        scores = np.log(np.maximum(values[rows], FLOOR)) if is_probability else values[rows]
        several[rows] = leading_classes(scores).sum(axis=1) > 1
    return label, several


def leading_classes(scores: FloatArray) -> BoolArray:
    """Mark every class that has its task's best score; shape (tasks, classes).

    >>> leading_classes(np.array([[1.0, 2.0, 2.0]])).tolist()
    [[False, True, True]]
    """
    best = scores.max(axis=1, keepdims=True)
    is_leading: BoolArray = scores >= best - TIE_TOLERANCE * np.maximum(np.abs(best), 1)
    return is_leading


def confidence_and_margin(posterior: FloatArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each label, and by how much it exceeds that of the best other class.

    Without a label (-1), both are those of the last class.

    >>> [result.round(9).tolist() for result in confidence_and_margin(np.array([[0.7, 0.1, 0.2]]), np.array([0]))]
    [[0.7], [0.5]]
    """
    if kernels.native is not None and posterior.shape[1] > 0:
        posterior = np.ascontiguousarray(posterior, dtype=np.float64)
        confidence = np.empty(len(label))
        margin = np.empty(len(label))
        labels = np.ascontiguousarray(label, np.int64)
        kernels.native.chosen_rows(posterior, labels, confidence, margin, *posterior.shape)
        return confidence, margin
    confidence = posterior[np.arange(len(label)), label]
    best = np.zeros(len(label))
    for run in runs(*posterior.shape):
        other_classes = posterior[run].copy()
        other_classes[np.arange(len(other_classes)), label[run]] = 0.0
        best[run] = other_classes.max(axis=1, initial=0.0)
    return confidence, confidence - best
