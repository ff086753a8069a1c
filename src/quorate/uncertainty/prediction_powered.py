"""Means over all tasks from the known labels of some and a guess for every one: prediction-powered inference.

With y known on a random sample and a guess f for every task, mean(f over all) + mean(y - f over the sample) is
unbiased for the mean of y whatever the guess is worth; and so it is with power·f for f [Angelopoulos et al. 2023b]. The
best power is the slope of y on f; each known task has the power that the others suggest, so that it stays unbiased. The
interval is a score interval (`tilted.py`), which holds where shares are near 0 or 1 and known labels few.

The sample is of these tasks, not of a stream of such: once every label is known, nothing is left to be unsure of.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.uncertainty.tilted import score_ends

WHOLE = 1e-9  # a count that is off a whole number by less is one


@dataclass(frozen=True)
class KnownSample:
    """Which tasks' labels are known, and with what probability each was going to be."""

    rows: IntArray  # the known tasks
    probability: FloatArray  # of each to be in the sample; 1 for those that were chosen
    n_tasks: int

    @staticmethod
    def random(rows: IntArray, n_tasks: int) -> "KnownSample":
        """Take the known tasks for a simple random sample."""
        return KnownSample(rows, np.full(len(rows), len(rows) / max(n_tasks, 1)), n_tasks)

    @cached_property
    def is_drawn(self) -> BoolArray:
        """Which of them were left to chance; all, where everything is known."""
        drawn: BoolArray = self.probability < 1
        return np.ones(len(self.rows), dtype=bool) if len(self.rows) == self.n_tasks else drawn

    @cached_property
    def is_chosen(self) -> BoolArray:
        """Of all tasks, those that were certain to be known, so that they speak for themselves alone."""
        chosen = np.zeros(self.n_tasks, dtype=bool)
        chosen[self.rows[~self.is_drawn]] = True
        return chosen

    @property
    def n_drawn(self) -> int:
        """How many speak for the others."""
        return int(self.is_drawn.sum())

    def within(self, tasks: BoolArray) -> "KnownSample":
        """Return the sample of some tasks, numbered anew: those of a random sample that are among them are one, too."""
        kept = tasks[self.rows]
        number = np.cumsum(tasks) - 1
        return KnownSample(number[self.rows[kept]], self.probability[kept], int(tasks.sum()))


@dataclass(frozen=True)
class Powered:
    """Estimates of means, one a row, and the same from the known labels alone."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    known_low: FloatArray
    known_high: FloatArray
    power: FloatArray  # how much of the guess was used, on average; 0 where the known labels alone say more


def powered_means(
    y: FloatArray,
    guess: FloatArray,
    sample: KnownSample,
    *,
    lowest: float | FloatArray = 0.0,
    highest: float | FloatArray = 1.0,
    z: float,
    whole: bool = False,
) -> Powered:
    """Estimate the mean over all tasks of each row.

    Args:
        y: rows × known tasks: what each is.
        guess: rows × all tasks: what each is thought to be, by what has not seen y.
        sample: the known tasks.
        lowest: that a value can be.
        highest: the same.
        z: the quantile of the normal law.
        whole: the values are yes and no, so that a share of the tasks is a whole number of them.

    >>> rng = np.random.default_rng(0)
    >>> true = (rng.random(1000) < 0.3).astype(float)
    >>> sample = KnownSample.random(rng.permutation(1000)[:50], 1000)
    >>> found = powered_means(true[None, sample.rows], 0.8 * true[None] + 0.1, sample, z=1.96)
    >>> bool(found.high[0] - found.low[0] < 0.5 * (found.known_high[0] - found.known_low[0]))
    True
    """
    drawn, n = sample.is_drawn, sample.n_drawn
    rest = guess[:, ~sample.is_chosen]
    n_rest = rest.shape[1]
    weights = 1 / sample.probability[drawn]
    weights = weights * (n / weights.sum())
    shrink = (n_rest - n) / max(n_rest - 1, 1)
    bottom, top = (np.broadcast_to(np.asarray(end, np.float64), len(y)) for end in (lowest, highest))
    known, f, middle = y[:, drawn], guess[:, sample.rows[drawn]], rest.mean(axis=1)

    power = powers(known, f, weights)
    values = known - power * (f - middle[:, None])
    used = power @ weights / n
    reach = bottom - used * (rest.max(axis=1) - middle), top - used * (rest.min(axis=1) - middle)
    ends = np.minimum(reach[0], values.min(axis=1)), np.maximum(reach[1], values.max(axis=1))
    low, high = score_ends(values, *ends, weights=weights, shrink=shrink, z=z)
    alone_low, alone_high = score_ends(known, bottom, top, weights=weights, shrink=shrink, z=z)

    # Where guesses are worth nothing, choosing their power costs more than it brings.
    alone = high - low >= alone_high - alone_low
    value = np.where(alone, known @ weights, values @ weights) / n
    low, high = np.where(alone, alone_low, low), np.where(alone, alone_high, high)
    certain = y[:, ~drawn].sum(axis=1)

    def overall(part: FloatArray, side: int = 0) -> FloatArray:
        total = certain + n_rest * np.clip(part, bottom, top)
        if whole and side:
            total = np.ceil(total - WHOLE) if side > 0 else np.floor(total + WHOLE)
        mean: FloatArray = total / sample.n_tasks
        return mean

    ends_known = overall(alone_low, -1), overall(alone_high, 1)
    return Powered(overall(value), overall(low, -1), overall(high, 1), *ends_known, np.where(alone, 0.0, used))


def powers(y: FloatArray, f: FloatArray, weights: FloatArray) -> FloatArray:
    """Return for each known task the slope of y on f over the other ones, between 0 and 1.

    Args:
        y: rows × known tasks.
        f: the same, guessed.
        weights: of the tasks.

    >>> powers(np.array([[0.0, 1.0, 0.0, 1.0]]), np.array([[0.2, 0.7, 0.2, 0.7]]), np.ones(4)).round(3).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """

    def others(values: FloatArray) -> FloatArray:
        own: FloatArray = weights * values
        rest: FloatArray = own.sum(axis=-1, keepdims=True) - own
        return rest

    total = others(np.ones_like(y))
    mean_y, mean_f = others(y) / total, others(f) / total
    together = others(y * f) / total - mean_y * mean_f
    alone = others(f**2) / total - mean_f**2
    slope = np.divide(together, alone, out=np.zeros_like(together), where=alone > WHOLE)
    return np.clip(slope, 0.0, 1.0)
