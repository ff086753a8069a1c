"""Correlation of two workers' errors given the truth, against rho of the default method, on public crowds and panels.

    python -m experiments.calibration.error_correlation

rho reduces the scores so that the confidence is right; it is larger than the correlation of errors, because the
posterior is too certain for other reasons, too. The ratio of the two is `ERROR_SHARE` in calibration/dependence.py.
"""

from collections.abc import Iterable

import numpy as np

from experiments.default_method.data import PEOPLE, Crowd, load_panels, load_public_set
from quorate.methods.aggregate import aggregate
from quorate.voting.posterior import tempering

POOLED_ANSWERS = 5.0  # answers of the mean worker that are added to each worker's counts


def correlation_of_errors(crowd: Crowd) -> float:
    """Return the mean correlation of two workers' residuals on a task with a true class.

    A residual is the unit vector of the answer less the worker's probabilities for the true class, which are counted
    without this answer; each task weighs the number of its answers.
    """
    has_truth = crowd.truth[crowd.task] >= 0
    task = crowd.task[has_truth]
    worker = crowd.worker[has_truth]
    label = crowd.label[has_truth]
    true = crowd.truth[task]
    m = crowd.answers.n_classes
    pooled = np.full((m, m), 0.5)
    np.add.at(pooled, (true, label), 1)
    pooled /= pooled.sum(axis=1, keepdims=True)
    counts = np.zeros((crowd.answers.n_workers, m, m))
    np.add.at(counts, (worker, true, label), 1)
    others = counts[worker, true] + POOLED_ANSWERS * pooled[true]
    others[np.arange(len(label)), label] -= 1
    residual = -others / others.sum(axis=1, keepdims=True)
    deviation = np.sqrt(np.maximum(1 - (residual**2).sum(axis=1), 0.0))
    residual[np.arange(len(label)), label] += 1
    n_tasks = crowd.answers.n_tasks
    total = np.zeros((n_tasks, m))
    np.add.at(total, task, residual)
    products = (total**2).sum(axis=1) - np.bincount(task, (residual**2).sum(axis=1), n_tasks)
    scales = np.bincount(task, deviation, n_tasks) ** 2 - np.bincount(task, deviation**2, n_tasks)
    n = np.bincount(task, minlength=n_tasks)
    weight = np.divide(1.0, n - 1, out=np.zeros(n_tasks), where=n > 1)
    return float((weight @ products) / (weight @ scales))


def print_crowds(crowds: Iterable[Crowd]) -> None:
    """Print rho and the correlation of errors of each crowd, the ratio of their sums, and the deviation from it."""
    rows = []
    is_inside = []
    for crowd in crowds:
        basis = aggregate(crowd.answers).confidence_basis
        if basis is None or crowd.answers.n_workers < 3:
            continue
        true = correlation_of_errors(crowd)
        n = crowd.answers.per_task
        worth = float((n * tempering(n, max(true, 0.0))).mean())
        rows.append((basis.rho, true))
        is_inside.append(basis.effective_votes_low <= worth <= basis.effective_votes_high)
        interval = f"{basis.effective_votes_low:.2f} to {basis.effective_votes_high:.2f}"
        print(
            f"{crowd.name:<28} rho {basis.rho:.2f}  errors {true:.2f}  independent votes {basis.effective_votes:.2f} "
            f"({interval}), true {worth:.2f}",
            flush=True,
        )
    rho, true = np.array(rows).T
    ratio = true.sum() / rho.sum()
    print(f"{len(rows)} crowds: ratio {ratio:.2f}; deviation {np.sqrt(np.mean((true - ratio * rho) ** 2)):.2f}")
    print(f"the interval contains the true number of independent votes in {sum(is_inside)} of {len(is_inside)}")


def main() -> None:
    """Print the crowds of people and the panels of language models."""
    print_crowds(load_public_set(name) for name in PEOPLE)
    print_crowds(panel.crowd for panel in load_panels())


if __name__ == "__main__":
    main()
