"""Simulated scores with known truth: raters with bias, scale and noise."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from quorate.arrays import FloatArray, IntArray, Table, from_strings, table_of
from quorate.errors import OptionError

# As in the simulations of the documentation; the unit is the standard deviation of the true scores.
BIAS_DEVIATION = 0.4
SCALE_DEVIATION = 0.3
NOISE_LEVEL = 0.7
NOISE_SPREAD = 0.4  # standard deviation of the log noise


@dataclass(frozen=True)
class ScoreCrowd:
    """Simulated scores, and the truth behind them."""

    task: IntArray
    worker: IntArray
    score: FloatArray
    truth: FloatArray  # of each task
    bias: FloatArray
    scale: FloatArray
    noise: FloatArray

    @property
    def answer_table(self) -> Table:
        """task, worker, score."""
        return Table(
            table_of({"task": self._ids("t", self.task), "worker": self._ids("w", self.worker), "score": self.score})
        )

    @property
    def truth_table(self) -> Table:
        """task, score."""
        return Table(table_of({"task": self._ids("t", np.arange(len(self.truth))), "score": self.truth}))

    @property
    def rater_table(self) -> Table:
        """worker, bias, scale, noise."""
        workers = self._ids("w", np.arange(len(self.bias)))
        return Table(table_of({"worker": workers, "bias": self.bias, "scale": self.scale, "noise": self.noise}))

    def _ids(self, prefix: str, codes: IntArray) -> pa.Array:
        return from_strings([f"{prefix}{code}" for code in codes.tolist()])


def score_crowd(
    n_tasks: int = 300,
    n_workers: int = 40,
    per_task: int = 5,
    *,
    spammers: float = 0.0,
    bounds: tuple[float, float] | None = None,
    activity: FloatArray | None = None,
    seed: int | np.random.Generator = 0,
) -> ScoreCrowd:
    """Simulate scores: y = a_w + b_w q_t + noise, q ~ N(0, 1).

    Args:
        n_tasks: tasks.
        n_workers: raters.
        per_task: answers per task.
        spammers: proportion of raters whose scores do not depend on the task.
        bounds: the ends of a scale of whole numbers, as (1, 5); by default scores are real numbers.
        activity: relative probability that each rater answers a task.
        seed: the same seed gives the same scores.

    >>> crowd = score_crowd(n_tasks=10, n_workers=6, per_task=3)
    >>> len(crowd.score), len(crowd.truth)
    (30, 10)
    """
    if not 1 <= per_task <= n_workers:
        raise OptionError(f"{per_task} answers per task need at least {per_task} workers, and there are {n_workers}")
    if not 0 <= spammers <= 1:
        raise OptionError(f"spammers is a proportion between 0 and 1, got {spammers}")
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_tasks)
    bias = BIAS_DEVIATION * rng.normal(size=n_workers)
    scale = 1 + SCALE_DEVIATION * rng.normal(size=n_workers)
    noise = NOISE_LEVEL * np.exp(NOISE_SPREAD * rng.normal(size=n_workers))
    is_spammer = np.arange(n_workers) < round(spammers * n_workers)
    scale = np.where(is_spammer, 0.0, scale)
    noise = np.where(is_spammer, 1.0, noise)
    p = None if activity is None else np.asarray(activity) / np.sum(activity)
    worker = np.concatenate([np.sort(rng.choice(n_workers, per_task, replace=False, p=p)) for _ in range(n_tasks)])
    task = np.repeat(np.arange(n_tasks), per_task)
    score = bias[worker] + scale[worker] * truth[task] + noise[worker] * rng.normal(size=len(task))
    if bounds is not None:
        low, high = bounds
        middle = (low + high) / 2
        unit = (high - low) / 4
        score = np.clip(np.round(middle + unit * score), low, high)
        truth = middle + unit * truth
        bias = unit * bias
        noise = unit * noise
    return ScoreCrowd(task, worker, score, truth, bias, scale, noise)
