"""Labels of tasks with a true class: stated confidence, and whether they are right."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray
from quorate.evaluation.metrics import LEAST_PROBABILITY, credit, true_classes
from quorate.io.read_table import Source
from quorate.result import Result

BINS = 10
LEAST_TASKS = 50  # tasks that a bin needs to be drawn


@dataclass(frozen=True)
class Judged:
    """Labels of tasks with a true class; one entry per label."""

    sure: FloatArray  # the stated confidence of each label
    right: FloatArray  # 1 if the label is right; for a tie, the share of the tied classes
    true_probability: FloatArray  # the posterior probability of the true class

    @property
    def error(self) -> float:
        """The share of wrong labels."""
        return float(1 - self.right.mean())

    @property
    def gap(self) -> float:
        """Mean confidence minus the share of right labels: positive means overconfident."""
        return float(self.sure.mean() - self.right.mean())

    @property
    def log_loss(self) -> float:
        """Mean of -log(probability of the truth), as in `quorate.evaluation.metrics.log_loss`."""
        return float(-np.log(np.maximum(self.true_probability, LEAST_PROBABILITY)).mean())

    @property
    def calibration_error(self) -> float:
        """Expected calibration error, as in `quorate.evaluation.metrics.calibration_error`, over all trials at once."""
        return float(np.abs(np.bincount(self.bins, self.sure - self.right)).sum() / len(self.sure))

    @property
    def bins(self) -> FloatArray:
        """Return the bin of each label, of equal width from 0 to 1."""
        return np.minimum((self.sure * BINS).astype(np.int64), BINS - 1)


def judge(result: Result, truth: Source) -> Judged:
    """Return the labels of a result on the tasks with a true class."""
    true = true_classes(result, truth)
    known = np.flatnonzero(true != -1)
    given = result.vote.posterior[known, np.maximum(true[known], 0)]
    return Judged(result.vote.confidence[known], credit(result, true)[known], np.where(true[known] >= 0, given, 0.0))


def pooled(parts: Iterable[Judged]) -> Judged:
    """Return the labels of several runs together."""
    parts = list(parts)
    return Judged(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("sure", "right", "true_probability"))
    )


def reliability(judged: Judged) -> list[dict[str, float]]:
    """Return mean confidence and share right of each bin with enough tasks."""
    n = np.bincount(judged.bins, minlength=BINS)
    sums = [np.bincount(judged.bins, values, minlength=BINS) for values in (judged.sure, judged.right)]
    drawn = np.flatnonzero(n >= min(LEAST_TASKS, n.max()))
    return [
        {"confidence": round(float(sums[0][k] / n[k]), 4), "right": round(float(sums[1][k] / n[k]), 4)} for k in drawn
    ]
