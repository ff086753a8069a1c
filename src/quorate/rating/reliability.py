"""Reliability of scores: variance components, agreement and consistency, and the raters needed per task."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray

TARGETS = (0.8, 0.9)  # reliabilities for which the raters needed are stated


@dataclass(frozen=True)
class Reliability:
    """Variances in squared units of the score, and the reliability of one rater and of the mean of `k` raters.

    Agreement is the intraclass correlation of absolute scores, consistency that of scores whose rater biases are
    removed; on balanced data they equal ICC(A,k) and ICC(C,k) of McGraw and Wong (1996). They come from moments, which
    no distribution enters; the variances of the model are listed beside them.
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
        """ICC(A,k): reliability of the mean of k raters, each with its bias."""
        return spearman_brown(self.agreement_one, k)

    def consistency(self, k: float = 1) -> float | None:
        """ICC(C,k): reliability of the mean of k raters whose biases are removed."""
        return spearman_brown(self.consistency_one, k)

    def raters_needed(self, target: float) -> int | None:
        """Raters per task for a reliability of the score, biases removed; None where tasks do not differ."""
        one = self.consistency_one
        if one is None or one <= 0 or not 0 < target < 1:
            return None
        if one >= 1:
            return 1
        return max(int(np.ceil(target / (1 - target) * (1 - one) / one - 1e-9)), 1)

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


def spearman_brown(one: float | None, k: float) -> float | None:
    """Reliability of the mean of k from that of one.

    >>> round(spearman_brown(0.5, 2), 3)
    0.667
    """
    if one is None:
        return None
    below = 1 + (k - 1) * one
    return float(np.clip(k * one / below, 0.0, 1.0)) if below > 0 else 0.0


def variance_components(
    total_square: float,
    task_square: float,
    rater_sums: FloatArray,
    rater_answers: FloatArray,
    rater_cells: FloatArray,
    task_cells: float,
    task_answers_square: float,
    n_tasks: int,
) -> tuple[float, float, float] | None:
    """Variances of task, rater and residual by Henderson's method I, which is the analysis of variance if balanced.

    Args:
        total_square: Σ y² over the answers; y has mean 0.
        task_square: Σ_t y_t.²/n_t.
        rater_sums: y_.w of each rater.
        rater_answers: n_w.
        rater_cells: Σ_t n_tw² of each rater.
        task_cells: Σ_t Σ_w n_tw²/n_t.
        task_answers_square: Σ_t n_t².
        n_tasks: of tasks.

    Returns None where the design does not separate them.
    """
    answered = rater_answers > 0
    n = rater_answers.sum()
    n_raters = int(answered.sum())
    mean_square = rater_sums.sum() ** 2 / n
    rater_square = (rater_sums[answered] ** 2 / rater_answers[answered]).sum()
    cells_by_rater = (rater_cells[answered] / rater_answers[answered]).sum()
    of_mean = np.array([task_answers_square / n, (rater_answers**2).sum() / n, 1.0])
    of_task = np.array([n, task_cells, n_tasks])
    of_rater = np.array([cells_by_rater, n, n_raters])
    of_total = np.array([n, n, n])
    matrix = np.stack([of_task - of_mean, of_rater - of_mean, of_total - of_task - of_rater + of_mean])
    known = np.array(
        [
            task_square - mean_square,
            rater_square - mean_square,
            total_square - task_square - rater_square + mean_square,
        ]
    )
    if np.linalg.matrix_rank(matrix) < 3:
        return None
    task, rater, rest = np.linalg.solve(matrix, known)
    return float(task), float(rater), float(rest)


def intraclass(components: tuple[float, float, float] | None) -> tuple[float | None, float | None]:
    """Agreement and consistency of one rater; None where the components are not determined.

    >>> intraclass((2.0, 1.0, 1.0))
    (0.5, 0.6666666666666666)
    """
    if components is None:
        return None, None
    task, rater, rest = components
    if rest < 0 or task + rest <= 0:
        return None, None
    with_bias = task + rater + rest
    agreement = task / with_bias if with_bias > 0 else None
    return agreement, task / (task + rest)
