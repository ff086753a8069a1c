"""Confusion matrices as a result keeps them: how often a worker is right on each class, where that differs."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, FloatArray, from_strings, null_where


@dataclass(frozen=True)
class ConfusionMatrices:
    """How each worker answers each class, and how much that rests on; shapes (workers, answers, classes)."""

    theta: FloatArray  # the probability of an answer, given the class
    counts: FloatArray  # the expected answers behind each entry

    def class_accuracy(self, classes: pa.Array) -> pa.Array:
        """Tell each worker's accuracy on each class, where it differs between classes; null where it does not."""
        right = np.einsum("wcc->wc", self.theta)
        differs = accuracy_differs(self.counts)
        names = [str(name) for name in classes.to_pylist()]
        texts = [
            ", ".join(f"{name} {p:.2f}" for name, p in zip(names, row, strict=True)) if told else ""
            for row, told in zip(right.tolist(), differs.tolist(), strict=True)
        ]
        return null_where(from_strings(texts), ~differs)


def accuracy_differs(counts: FloatArray, *, most: float = 0.01) -> BoolArray:
    """Test, for each worker, whether accuracy differs between classes, by chi-square over the expected counts.

    Args:
        counts: expected answers, workers × answers × classes.
        most: the probability with which a worker alike on all classes may be named.

    >>> alike, unlike = [[40.0, 10.0], [10.0, 40.0]], [[50.0, 30.0], [0.0, 20.0]]
    >>> accuracy_differs(np.array([alike, unlike])).tolist()
    [False, True]
    """
    from scipy.special import chdtrc

    n, right = counts.sum(axis=1), np.einsum("wcc->wc", counts)
    told = n >= 5  # the usual least count for the test
    n, right = np.where(told, n, 0.0), np.where(told, right, 0.0)
    total = np.maximum(n.sum(axis=1), 1e-300)
    mean = right.sum(axis=1) / total
    share = np.divide(right, n, out=np.zeros_like(right), where=n > 0)
    statistic = (n * (share - mean[:, None]) ** 2).sum(axis=1) / np.maximum(mean * (1 - mean), 1e-300)
    freedom = told.sum(axis=1) - 1
    significant: BoolArray = (freedom > 0) & (chdtrc(np.maximum(freedom, 1), statistic) < most)
    return significant
