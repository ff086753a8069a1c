"""Intraclass correlations of numeric answers, also for unbalanced designs, by Henderson's method I."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray

ROUNDING = 1e-12  # of a variance component, relative to the others


@dataclass(frozen=True)
class Intraclass:
    """Agreement and consistency of one rater and of the mean of k: ICC(A,1), ICC(A,k), ICC(C,1), ICC(C,k)."""

    agreement: float | None
    consistency: float | None
    k: float  # mean number of answers per task

    def to_dict(self) -> dict[str, float | None]:
        """Return the four coefficients and k."""
        return {
            "agreement": self.agreement,
            "agreement_of_mean": spearman_brown(self.agreement, self.k),
            "consistency": self.consistency,
            "consistency_of_mean": spearman_brown(self.consistency, self.k),
            "answers_per_task": self.k,
        }

    def lines(self) -> list[str]:
        """Return two lines of text, on agreement and on consistency."""
        named = (
            ("absolute agreement of one rater, ICC(A,1)", self.agreement),
            ("consistency of one rater, biases removed, ICC(C,1)", self.consistency),
        )
        lines = []
        for name, one in named:
            if one is None:
                lines.append(f"{name}: not determined by this design")
            else:
                lines.append(f"{name}: {one:.3f}; of the mean of {self.k:.3g}: {spearman_brown(one, self.k):.3f}")
        return lines


def intraclass_of(task: IntArray, worker: IntArray, y: FloatArray) -> Intraclass:
    """Return the intraclass correlations of answers, from the variance components of task, rater and residual.

    >>> result = intraclass_of(np.repeat([0, 1, 2], 2), np.tile([0, 1], 3), np.array([1.0, 2, 3, 4, 6, 7]))
    >>> round(result.consistency, 6), round(result.agreement, 6)
    (1.0, 0.926829)
    """
    y = y - y.mean()
    n_task = np.bincount(task).astype(np.float64)
    n_worker = np.bincount(worker).astype(np.float64)
    key, cell = np.unique(task.astype(np.int64) * len(n_worker) + worker, return_counts=True)
    square = cell.astype(np.float64) ** 2
    rated = n_task > 0
    task_sums = np.bincount(task, y)
    components = variance_components(
        float(y @ y),
        float((task_sums[rated] ** 2 / n_task[rated]).sum()),
        np.bincount(worker, y).astype(np.float64),
        n_worker,
        np.bincount(key % len(n_worker), square, len(n_worker)).astype(np.float64),
        float((square / n_task[key // len(n_worker)]).sum()),
        float((n_task**2).sum()),
        int(rated.sum()),
    )
    return Intraclass(*intraclass(components), k=len(y) / int(rated.sum()))


def spearman_brown(one: float | None, k: float) -> float | None:
    """Return the reliability of the mean of k raters from the reliability of one.

    >>> round(spearman_brown(0.5, 2), 3)
    0.667
    """
    if one is None:
        return None
    below = 1 + (k - 1) * one
    return float(np.clip(k * one / below, 0.0, 1.0)) if below > 0 else 0.0


def answers_for_reliability(one: float, target: float) -> float:
    """Return the number of raters whose mean has a target reliability: the inverse of `spearman_brown`.

    Args:
        one: reliability of one rater, between 0 and 1, both excluded.
        target: reliability of the mean, between 0 and 1, both excluded.

    >>> round(answers_for_reliability(0.5, spearman_brown(0.5, 2)), 3)
    2.0
    """
    return target / (1 - target) * (1 - one) / one


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
    """Return the variances of task, rater and residual by Henderson's method I; if balanced, analysis of variance.

    Args:
        total_square: Σ y² over the answers; y has mean 0.
        task_square: Σ_t y_t.²/n_t.
        rater_sums: y_.w of each rater.
        rater_answers: n_w.
        rater_cells: Σ_t n_tw² of each rater.
        task_cells: Σ_t Σ_w n_tw²/n_t.
        task_answers_square: Σ_t n_t².
        n_tasks: number of tasks.

    Returns None if the design does not separate the variances.
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
    """Return agreement and consistency of one rater; None where the components do not determine them.

    >>> intraclass((2.0, 1.0, 1.0))
    (0.5, 0.6666666666666666)
    """
    if components is None:
        return None, None
    task, rater, rest = components
    if rest < ROUNDING * (abs(task) + abs(rater)):  # zero up to rounding, or a negative estimate
        rest = 0.0
    if task + rest <= 0:
        return None, None
    with_bias = task + rater + rest
    agreement = task / with_bias if with_bias > 0 else None
    return agreement, task / (task + rest)
