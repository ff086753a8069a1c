"""Differences between systems: parts of the tasks compared in pairs, item by item where they share items.

Each task has a pseudo-value: the guess by the posterior, corrected by (y - guess)/probability where its label y is
known. Their mean is unbiased for the mean of y, whatever the guess is worth (augmented inverse probability weighting).
A difference is the mean over items of the difference of two pseudo-values, and its variance that of these differences,
so that items which are easy or hard for both systems do not add to it. Without a random sample of known labels, the
difference of two model-based estimates has Newcombe's interval (1998), which ignores the pairing and is wide enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.estimation.estimands import Estimand, Prevalence, Value
from quorate.estimation.means import FEWEST, ByEither, ByKnown, MeanEstimator, Undecided

MAX_SYSTEMS = 20  # values of the column up to which all pairs are compared
ALPHA = 0.05  # conventional: of the Holm-corrected tests
POSITIVE = ("pass", "yes", "true", "correct", "good", "win", "1", "positive", "relevant")  # names of the good class


@dataclass(frozen=True)
class Difference:
    """How much larger a mean is for one system than for another, with interval and Holm-corrected p-value."""

    one: Any
    two: Any
    label: Any  # the class whose share it is; None for the mean value
    mean_one: float
    mean_two: float
    value: float
    low: float
    high: float
    p: float  # of no difference, corrected over all differences listed (Holm 1979)
    n_pairs: int  # items that both systems have; 0 where none are paired

    @property
    def is_clear(self) -> bool:
        """Whether the difference is unlikely to be chance."""
        return self.p <= ALPHA

    def sentence(self, level: float) -> str:
        """State the difference, and whether it is clear.

        >>> Difference("new", "base", "pass", 0.745, 0.701, 0.044, -0.026, 0.111, 0.2, 150).sentence(0.95)
        'new has "pass" 4.4 points more often than base (74.5% against 70.1%); 95% interval -2.6 to +11.1: not a ...
        """
        clear = "a clear difference" if self.is_clear else "not a clear difference"
        if self.label is None:
            more = "higher" if self.value >= 0 else "lower"
            return (
                f"{self.one} has a mean {abs(self.value):.3g} {more} than {self.two} ({self.mean_one:.3g} against "
                f"{self.mean_two:.3g}); {level:.0%} interval {self.low:+.3g} to {self.high:+.3g}: {clear}."
            )
        more = "more" if self.value >= 0 else "less"
        return (
            f'{self.one} has "{self.label}" {abs(100 * self.value):.1f} points {more} often than {self.two} '
            f"({self.mean_one:.1%} against {self.mean_two:.1%}); {level:.0%} interval {100 * self.low:+.1f} to "
            f"{100 * self.high:+.1f}: {clear}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "first": self.one,
            "second": self.two,
            "label": self.label,
            "first_mean": self.mean_one,
            "second_mean": self.mean_two,
            "difference": self.value,
            "low": self.low,
            "high": self.high,
            "p_holm": self.p,
            "paired_items": self.n_pairs,
        }


def positive_class(classes: Sequence[Any]) -> int:
    """Return the class that two-class differences are about: a name such as pass or yes, otherwise the last.

    >>> positive_class(["pass", "fail"]), positive_class(["A", "B"])
    (0, 1)
    """
    for code, name in enumerate(classes):
        if str(name).strip().lower() in POSITIVE:
            return code
    return len(classes) - 1


def differences(
    meter: MeanEstimator,
    classes: Sequence[Any],
    worth: Value | None,
    code: IntArray,
    values: Sequence[Any],
    item: IntArray | None = None,
) -> tuple[Difference, ...]:
    """Compare all pairs of parts of the tasks, the later value of the column against the earlier.

    Args:
        meter: estimates means.
        classes: names of the classes.
        worth: the number of each class, if means of numbers are compared instead of shares.
        code: the part of each task, -1 for none.
        values: the names of the parts.
        item: the item of each task, by which parts are paired; None for no pairs.

    >>> from quorate.estimation.prediction_powered import KnownSample
    >>> y = np.tile([0, 1, 1, 1], 50)
    >>> meter = ByKnown(np.eye(2)[y], y, KnownSample(np.arange(200), np.ones(200), 200), 1.96)
    >>> part, item = np.tile([0, 1], 100), np.repeat(np.arange(100), 2)
    >>> result = differences(meter, ["fail", "pass"], None, part, ["base", "new"], item)[0]
    >>> round(result.value, 2), result.n_pairs, result.is_clear
    (0.5, 100, True)
    """
    present = [number for number in range(len(values)) if (code == number).any()]
    if len(present) < 2 or len(present) > MAX_SYSTEMS or isinstance(meter, Undecided):
        return ()
    quantity: Estimand = Prevalence(len(classes)) if worth is None else worth
    rows = [0] if worth is not None else list(range(len(classes)))
    if worth is None and len(classes) == 2:
        rows = [positive_class(classes)]
    raw = []
    for first, second in combinations(present, 2):
        for row in rows:
            if isinstance(meter, ByKnown) and not isinstance(meter, ByEither):
                difference = _by_known(meter, quantity, row, code == second, code == first, item)
            else:
                difference = _by_intervals(meter, quantity, row, code == second, code == first)
            if difference is not None:
                label = None if worth is not None else classes[row]
                raw.append((values[second], values[first], label, difference))
    adjusted_p = holm(np.array([difference.p for *_, difference in raw]))
    return tuple(
        Difference(
            one,
            two,
            label,
            difference.mean_one,
            difference.mean_two,
            difference.value,
            difference.low,
            difference.high,
            float(p),
            difference.n_pairs,
        )
        for (one, two, label, difference), p in zip(raw, adjusted_p, strict=True)
    )


def holm(p: FloatArray) -> FloatArray:
    """Correct p-values for the number of tests by Holm's step-down method (1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    scaled = p[order] * (len(p) - np.arange(len(p)))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected


@dataclass(frozen=True)
class _Compared:
    mean_one: float
    mean_two: float
    value: float
    low: float
    high: float
    p: float
    n_pairs: int


def _by_known(
    meter: ByKnown, quantity: Estimand, row: int, is_one: BoolArray, is_two: BoolArray, item: IntArray | None
) -> _Compared | None:
    """Compare the means of pseudo-values; tasks of one item are not independent."""
    from scipy.special import stdtr, stdtrit

    for part in (is_one, is_two):
        if meter.sample.within(part).n_drawn < FEWEST and part[meter.sample.rows].sum() != part.sum():
            return None
    pseudo = np.full(len(is_one), np.nan)
    for part in (is_one, is_two):
        pseudo[part] = _pseudo_values(meter, quantity, row, part)
    lowest = float(np.min(quantity.lowest))
    highest = float(np.max(quantity.highest))
    # The means that are stated for each part, so that their difference is the one stated here.
    means = [float(meter.means(quantity, part).value[row]) for part in (is_one, is_two)]
    n_pairs = _n_pairs(is_one, is_two, item)
    if n_pairs >= 2 and item is not None:
        variance, n_items = _variance_by_item(pseudo, is_one, is_two, item)
        freedom = n_items - 1
    else:
        n_pairs = 0
        variance = pseudo[is_one].var(ddof=1) / is_one.sum() + pseudo[is_two].var(ddof=1) / is_two.sum()
        freedom = int(min(is_one.sum(), is_two.sum())) - 1
    # Degrees of freedom: of the known labels, whose residuals make up most of the variance.
    n_known = int(meter.is_known[is_one].sum() + meter.is_known[is_two].sum())
    freedom = max(min(freedom, n_known - 2), 1)
    value = means[0] - means[1]
    error = float(np.sqrt(variance))
    z_level = float(stdtrit(freedom, _upper_tail(meter.z)))
    low = max(value - z_level * error, lowest - highest)
    high = min(value + z_level * error, highest - lowest)
    if error > 0:
        p = float(2 * stdtr(freedom, -abs(value) / error))
    else:
        p = 1.0 if value == 0 else 0.0
    return _Compared(means[0], means[1], value, low, high, p, n_pairs)


def _upper_tail(z: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(z))


def _pseudo_values(meter: ByKnown, quantity: Estimand, row: int, part: BoolArray) -> FloatArray:
    """Return the corrected guess of every task of a part; the guess counts as far as it helped there."""
    power = float(meter.means(quantity, part).power[row])
    power = 1.0 if np.isnan(power) else power
    guess = power * quantity.expected(meter.posterior)[row]
    pseudo = guess.copy()
    rows = meter.sample.rows
    y = quantity.at(rows, meter.true)[row]
    # The probability of being known within this part, from the sample itself: the correction then sums to its mean.
    is_inside = part[rows]
    weight = 1 / meter.sample.probability[is_inside]
    is_certain = ~meter.sample.is_drawn[is_inside]
    n_rest = part.sum() - is_certain.sum()
    total = weight[~is_certain].sum()
    if total > 0:
        weight = np.where(is_certain, weight, weight * n_rest / total)
    pseudo[rows[is_inside]] += weight * (y - guess[rows])[is_inside]
    values: FloatArray = pseudo[part]
    return values


def _n_pairs(is_one: BoolArray, is_two: BoolArray, item: IntArray | None) -> int:
    """Count the items that both parts have."""
    if item is None:
        return 0
    has_item = item >= 0
    return len(np.intersect1d(item[is_one & has_item], item[is_two & has_item]))


def _variance_by_item(pseudo: FloatArray, is_one: BoolArray, is_two: BoolArray, item: IntArray) -> tuple[float, int]:
    """Return the variance of the difference of two means whose tasks share items, and the number of items.

    Each task counts once in its mean, and the deviations of the tasks of one item are added with their sign (the
    cluster-robust variance). With one task per item and part this is the variance of paired differences. A task
    without an item is one of its own.
    """
    either = is_one | is_two
    own = np.arange(len(item)) + item.max(initial=-1) + 1
    _, cluster = np.unique(np.where(item >= 0, item, own)[either], return_inverse=True)
    deviation = np.zeros(len(item))
    for part, sign in ((is_one, 1), (is_two, -1)):
        deviation[part] = sign * (pseudo[part] - pseudo[part].mean()) / part.sum()
    of_item = np.bincount(cluster, deviation[either])
    n_items = len(of_item)
    return float((of_item**2).sum() * n_items / (n_items - 1)), n_items


def _by_intervals(
    meter: MeanEstimator, quantity: Estimand, row: int, is_one: BoolArray, is_two: BoolArray
) -> _Compared | None:
    """Compare two intervals by Newcombe's method: the distances to their ends, squared and added."""
    from scipy.special import ndtr

    one = meter.means(quantity, is_one)
    two = meter.means(quantity, is_two)
    if np.isnan([one.low[row], two.low[row]]).any():
        return None
    first = float(one.value[row])
    second = float(two.value[row])
    difference = first - second
    low = difference - float(np.hypot(first - one.low[row], two.high[row] - second))
    high = difference + float(np.hypot(one.high[row] - first, second - two.low[row]))
    half = difference - low if difference > 0 else high - difference
    p = 1.0
    if half != 0:
        p = float(2 * ndtr(-abs(difference) / half * meter.z))
    return _Compared(first, second, difference, low, high, p, n_pairs=0)


def difference_lines(differences: Sequence[Difference], level: float, most: int = 10) -> Iterator[str]:
    """Yield a sentence per difference, the clearest first, and how many tests were corrected for."""
    for clearest in sorted(differences, key=lambda difference: difference.p)[:most]:
        yield clearest.sentence(level)
    if len(differences) > most:
        yield f"and {len(differences) - most:,} more differences (--json lists all)"
    if differences:
        paired = min(difference.n_pairs for difference in differences)
        how = f"Paired by item ({paired:,} items)" if paired else "Not paired by item"
        corrected = f"; corrected for {len(differences):,} comparisons (Holm)" if len(differences) > 1 else ""
        yield f"{how}{corrected}."
