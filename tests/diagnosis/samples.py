"""Crowds with something wrong, and how far a measured rate may be from the true one."""

from dataclasses import replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.evaluation.faults import relabelled
from quorate.evaluation.simulate import crowd, draw_workers


def at_most(rate: float, n: int) -> float:
    """What n trials of this rate exceed once in a thousand times: more says that the rate is larger."""
    from scipy.stats import binom

    return float(binom.ppf(0.999, n, rate))


def at_least(rate: float, n: int) -> float:
    """What n trials of this rate fall below once in a thousand times."""
    from scipy.stats import binom

    return float(binom.ppf(0.001, n, rate))


def drifting(n_drift: int, rng: np.random.Generator, *, rising: bool = False) -> tuple[Answers, FloatArray]:
    """1,000 tasks, 20 workers, 10 answers a task; the skill of the first few goes from 0.9 to 0.1, or the reverse."""
    n_tasks, n_workers, per_task = 1000, 20, 10
    worker = np.sort(draw_workers(n_tasks, n_workers, per_task, rng=rng), axis=1).ravel()
    task = np.repeat(np.arange(n_tasks), per_task)
    times = rng.permutation(n_tasks)[task] / n_tasks
    skill = np.where(
        worker < n_drift,
        0.1 + 0.8 * times if rising else 0.9 - 0.8 * times,
        rng.uniform(0.1, 0.95, n_workers)[worker],
    )
    truth = rng.integers(0, 2, n_tasks)
    right = rng.random(len(task)) < (1 + skill) / 2
    blank = crowd(n_tasks, n_workers, per_task, seed=0).answers
    label = np.where(right, truth[task], 1 - truth[task])
    return replace(relabelled(blank, label), worker=worker.astype(np.int32), task=task.astype(np.int32)), times
