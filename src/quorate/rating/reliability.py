"""Reliability of scores: variance components, agreement and consistency, and the raters needed per task."""

from dataclasses import dataclass

import numpy as np

from quorate.interrater.intraclass import answers_for_reliability, spearman_brown

TARGETS = (0.8, 0.9)  # reliabilities for which the number of raters needed is stated


@dataclass(frozen=True)
class Reliability:
    """Variances in squared units of the score, and the reliability of one rater and of the mean of `k` raters.

    Agreement is the intraclass correlation of absolute scores, consistency that of scores whose rater biases are
    removed; on balanced data they equal ICC(A,k) and ICC(C,k) of McGraw and Wong (1996). They are computed from
    moments, without an assumption on distributions; the variances of the model are listed in addition.
    """

    task: float
    bias: float
    scale: float
    noise: float
    shared: float | None  # error that all raters share; None without known scores
    k: float  # answers per task, mean
    agreement_one: float | None
    consistency_one: float | None

    def agreement(self, k: float = 1) -> float | None:
        """Return ICC(A,k), the reliability of the mean of k raters, with their biases."""
        return spearman_brown(self.agreement_one, k)

    def consistency(self, k: float = 1) -> float | None:
        """Return ICC(C,k), the reliability of the mean of k raters whose biases are removed."""
        return spearman_brown(self.consistency_one, k)

    def raters_needed(self, target: float) -> int | None:
        """Return the raters per task for a reliability of the score, biases removed; None if tasks do not differ."""
        one = self.consistency_one
        if one is None or one <= 0 or not 0 < target < 1:
            return None
        if one >= 1:
            return 1
        return max(int(np.ceil(answers_for_reliability(one, target) - 1e-9)), 1)

    def to_dict(self) -> dict[str, float | int | None]:
        """Return every figure under its name."""
        return {
            "task_variance": self.task,
            "bias_variance": self.bias,
            "scale_variance": self.scale,
            "noise_variance": self.noise,
            "shared_variance": self.shared,
            "answers_per_task": self.k,
            "agreement": self.agreement_one,
            "agreement_of_mean": self.agreement(self.k),
            "consistency": self.consistency_one,
            "consistency_of_mean": self.consistency(self.k),
            **{f"raters_for_{target:g}": self.raters_needed(target) for target in TARGETS},
        }
