"""From scores to posteriors: softmax, tempering, log-likelihood, class proportions, clamped gold."""

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.numpy_kernels import by_row
from quorate.blocks.task_tables import FLOOR as FLOOR
from quorate.blocks.task_tables import softmax as softmax
from quorate.errors import unknown_name_error

ZEROS = ("exact", "skip")  # effect of an answer of estimated probability zero: it excludes the class, or is ignored


def clamp_gold(posterior: FloatArray, gold: IntArray | None) -> FloatArray:
    """Return the posterior with that of gold tasks (class >= 0) set to their class; not a copy if gold is None.

    >>> clamp_gold(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([1, -1])).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    if gold is None:
        return posterior
    gold_tasks = np.flatnonzero(gold >= 0)
    clamped = posterior.copy()
    clamped[gold_tasks] = 0.0
    clamped[gold_tasks, gold[gold_tasks]] = 1.0
    return clamped


def tempering(votes_per_task: FloatArray | IntArray, rho: float) -> FloatArray:
    """Return 1 / design effect of each task, by which its scores are multiplied; rho is the correlation of errors.

    >>> tempering(np.array([1, 3]), 0.5).tolist()
    [1.0, 0.5]
    """
    factor: FloatArray = 1 / (1 + rho * np.maximum(votes_per_task - 1.0, 0.0))
    return factor


def hold_labels(label: IntArray, gold: IntArray | None) -> IntArray:
    """Return the labels with those of gold tasks (class >= 0) set to their class.

    >>> hold_labels(np.array([0, 0]), np.array([-1, 1])).tolist()
    [0, 1]
    """
    return label if gold is None else np.where(gold >= 0, gold, label)


def add_one_proportions(counts: FloatArray) -> FloatArray:
    """Return the proportions of counts after adding one to each (Laplace's rule).

    >>> add_one_proportions(np.array([0.0, 1.0])).tolist()
    [0.3333333333333333, 0.6666666666666666]
    """
    proportions: FloatArray = (counts + 1) / (counts + 1).sum()
    return proportions


def logsumexp_rows(scores: FloatArray) -> FloatArray:
    """Return log(sum(exp(scores))) of each row; `np.logaddexp.reduce` takes many times as long.

    >>> np.exp(logsumexp_rows(np.log([[0.1, 0.3], [0.5, 0.0001]]))).round(4).tolist()
    [0.4, 0.5001]
    """
    most = by_row(np.maximum, scores)
    sums: FloatArray = np.log(by_row(np.add, np.exp(scores - most[:, None]))) + most
    return sums


def log_likelihood(scores: FloatArray, gold: IntArray | None) -> float:
    """Return the log-probability of all answers and of the known labels, from log joint probabilities.

    >>> both, known = np.log([[0.1, 0.3]]), np.array([1])
    >>> round(float(np.exp(log_likelihood(both, None))), 3), round(float(np.exp(log_likelihood(both, known))), 3)
    (0.4, 0.3)
    """
    value = logsumexp_rows(scores)
    if gold is not None:
        value = np.where(gold >= 0, scores[np.arange(len(gold)), np.maximum(gold, 0)], value)
    return float(value.sum())


def logarithm(p: FloatArray, zeros: str) -> FloatArray:
    """Return logarithms of probabilities; that of zero is about -708, or 0 with ``skip``, which ignores the answer.

    >>> logarithm(np.array([1.0, 0.0]), "exact").round(1).tolist(), logarithm(np.array([1.0, 0.0]), "skip").tolist()
    ([0.0, -708.4], [0.0, 0.0])
    """
    logs: FloatArray = np.log(np.maximum(p, FLOOR))
    if zeros not in ZEROS:
        raise unknown_name_error(zeros, ZEROS, "value of zeros")
    if zeros == "skip":
        logs[p == 0] = 0.0
    return logs
