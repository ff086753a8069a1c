"""Differences between systems: parts of the tasks compared in pairs, paired by item if they share items.

The mean of a part is estimated by mean(f) + b. Here f is the guess by the posterior for every task, and b is the mean
of the residuals y - f of the tasks with a known label y, weighted by one over their inclusion probability. The
influence of a task on this estimate is f + b minus the mean; for a known task, weight·(y - f - b) is added. Residuals
count by their deviation from the mean residual, so a bias that judges have on all tasks does not add to the variance.
Tasks with inclusion probability 1 have y instead of f + b.

The variance of a difference of two means is the sum over items of the squared influence, so items that are easy or hard
for both systems do not add to it. It refers to a population of similar items: it is above zero even if every label is
known. With f = 0 the same formulas use the known labels alone; the narrower of the two intervals is stated. Without a
random sample of known labels, or if all known labels of a part are equal, the difference has Newcombe's interval
(1998), which ignores the pairing and is conservative.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.estimation.estimands import Estimand, Prevalence, Value
from quorate.estimation.means import MIN_KNOWN_LABELS, ByEither, ByKnown, MeanEstimator, Undecided
from quorate.statistics import holm

MAX_SYSTEMS = 20  # largest number of values of the column for which all pairs are compared
MAX_SENTENCES = 10  # differences that a summary lists
ALPHA = 0.05  # conventional: level of the Holm-corrected tests
POSITIVE = ("pass", "yes", "true", "correct", "good", "win", "1", "positive", "relevant")  # names of the good class


@dataclass(frozen=True)
class Difference:
    """How much larger a mean is for one system than for another, with interval and Holm-corrected p-value."""

    one: Any
    two: Any
    label: Any  # the class whose share is compared; None for the mean value
    mean_one: float
    mean_two: float
    value: float
    low: float
    high: float
    p: float  # p-value of no difference; in a list of differences, corrected over all of them (Holm 1979)
    n_pairs: int  # items that both systems have; 0 if the comparison is not paired
    known_only_low: float | None = None  # the interval from the known labels alone
    known_only_high: float | None = None

    @property
    def is_clear(self) -> bool:
        """Whether the difference is significant at the level ALPHA."""
        return self.p <= ALPHA

    def sentence(self, level: float) -> str:
        """Return a sentence on the difference, and on whether it is clear.

        >>> Difference("new", "base", "pass", 0.745, 0.701, 0.044, -0.026, 0.111, 0.2, 150).sentence(0.95)
        'The share of "pass" is 4.4 points higher for new than for base (74.5% against 70.1%); 95% interval -2.6 ...
        """
        clear = "a clear difference" if self.is_clear else "not a clear difference"
        more = "higher" if self.value >= 0 else "lower"
        if self.label is None:
            return (
                f"The mean of {self.one} is {abs(self.value):.3g} {more} than that of {self.two} "
                f"({self.mean_one:.3g} against {self.mean_two:.3g}); {level:.0%} interval {self.low:+.3g} to "
                f"{self.high:+.3g}: {clear}."
            )
        return (
            f'The share of "{self.label}" is {abs(100 * self.value):.1f} points {more} for {self.one} than for '
            f"{self.two} ({self.mean_one:.1%} against {self.mean_two:.1%}); {level:.0%} interval "
            f"{100 * self.low:+.1f} to {100 * self.high:+.1f}: {clear}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the object for JSON output."""
        return {
            "first": self.one,
            "second": self.two,
            "label": self.label,
            "first_mean": self.mean_one,
            "second_mean": self.mean_two,
            "difference": self.value,
            "low": self.low,
            "high": self.high,
            "known_only_low": self.known_only_low,
            "known_only_high": self.known_only_high,
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
    estimator: MeanEstimator,
    classes: Sequence[Any],
    class_values: Value | None,
    code: IntArray,
    values: Sequence[Any],
    item: IntArray | None = None,
) -> tuple[Difference, ...]:
    """Return the differences of all pairs of parts of the tasks: the later value of the column minus the earlier.

    Args:
        estimator: of means.
        classes: names of the classes.
        class_values: the number of each class, if means of numbers are compared instead of shares.
        code: the part of each task, -1 for none.
        values: the names of the parts.
        item: the item of each task, by which parts are paired; None for no pairs.

    >>> from quorate.estimation.prediction_powered import KnownSample
    >>> y = np.tile([0, 1, 1, 1], 50)
    >>> estimator = ByKnown(np.eye(2)[y], y, KnownSample(np.arange(200), np.ones(200), 200), 1.96)
    >>> part, item = np.tile([0, 1], 100), np.repeat(np.arange(100), 2)
    >>> result = differences(estimator, ["fail", "pass"], None, part, ["base", "new"], item)[0]
    >>> round(result.value, 2), result.n_pairs, result.is_clear
    (0.5, 100, True)
    """
    present = [number for number in range(len(values)) if (code == number).any()]
    if len(present) < 2 or len(present) > MAX_SYSTEMS or isinstance(estimator, Undecided):
        return ()
    quantity: Estimand = Prevalence(len(classes)) if class_values is None else class_values
    rows = [0] if class_values is not None else list(range(len(classes)))
    if class_values is None and len(classes) == 2:
        rows = [positive_class(classes)]
    compared = []
    for first, second in combinations(present, 2):
        for row in rows:
            names = (values[second], values[first], None if class_values is not None else classes[row])
            is_second = code == second
            is_first = code == first
            if isinstance(estimator, ByKnown) and not isinstance(estimator, ByEither):
                difference = _by_known(names, estimator, quantity, row, is_second, is_first, item)
            else:
                difference = _by_intervals(names, estimator, quantity, row, is_second, is_first)
            if difference is not None:
                compared.append(difference)
    adjusted_p = holm(np.array([difference.p for difference in compared]))
    return tuple(replace(difference, p=float(p)) for difference, p in zip(compared, adjusted_p, strict=True))


Names: TypeAlias = tuple[Any, Any, Any]  # of the two parts, and of the class (None for the mean value)


def _by_known(
    names: Names,
    estimator: ByKnown,
    quantity: Estimand,
    row: int,
    is_one: BoolArray,
    is_two: BoolArray,
    item: IntArray | None,
) -> Difference | None:
    """Return the difference of two means, with the variance from the influence of every task (see the module)."""
    from scipy.special import ndtr, stdtr, stdtrit

    y = quantity.at(estimator.sample.rows, estimator.true)[row]
    for part in (is_one, is_two):
        if estimator.sample.within(part).n_drawn < MIN_KNOWN_LABELS and part[estimator.sample.rows].sum() != part.sum():
            return None
    has_one_class = any(np.ptp(y[part[estimator.sample.rows]]) == 0 for part in (is_one, is_two))
    if has_one_class and not estimator.is_known[is_one | is_two].all():
        return _by_intervals(names, estimator, quantity, row, is_one, is_two)
    intervals = []
    for uses_guess in (True, False):
        mean_one, influence_one = _mean_and_influence(estimator, quantity, row, is_one, uses_guess=uses_guess)
        mean_two, influence_two = _mean_and_influence(estimator, quantity, row, is_two, uses_guess=uses_guess)
        influence = np.zeros(len(is_one))
        influence[is_one] = influence_one
        influence[is_two] = -influence_two
        variance, freedom = _variance(influence, is_one, is_two, item, estimator.is_known)
        error = float(np.sqrt(variance))
        half = float(stdtrit(freedom, ndtr(estimator.z))) * error
        intervals.append((half, mean_one - mean_two, error, freedom))
    bound = float(np.max(quantity.highest) - np.min(quantity.lowest))
    half, centre, error, freedom = min(intervals)  # the narrower
    # The value is the difference of the means that are stated for the two parts.
    means = [float(estimator.means(quantity, part).value[row]) for part in (is_one, is_two)]
    value = means[0] - means[1]
    low = min(max(centre - half, -bound), value)
    high = max(min(centre + half, bound), value)
    if error > 0:
        p = float(2 * stdtr(freedom, -abs(centre) / error))
    else:
        p = 1.0 if value == 0 else 0.0
    n_pairs = 0
    if item is not None:
        has_item = item >= 0
        n_pairs = len(np.intersect1d(item[is_one & has_item], item[is_two & has_item]))
    known_half, known_centre, *_ = intervals[1]
    known_low = max(known_centre - known_half, -bound)
    known_high = min(known_centre + known_half, bound)
    return Difference(*names, means[0], means[1], value, low, high, p, n_pairs, known_low, known_high)


def _mean_and_influence(
    estimator: ByKnown, quantity: Estimand, row: int, part: BoolArray, *, uses_guess: bool
) -> tuple[float, FloatArray]:
    """Return the estimated mean of a part, and the influence of each of its tasks on it."""
    sample = estimator.sample.within(part)
    y = quantity.at(estimator.sample.rows, estimator.true)[row][part[estimator.sample.rows]]
    power = float(estimator.means(quantity, part).power[row]) if uses_guess else 0.0
    guess = (1.0 if np.isnan(power) else power) * quantity.expected(estimator.posterior)[row][part]
    known_tasks = sample.rows[sample.is_drawn]
    n_rest = sample.n_tasks - int(sample.is_chosen.sum())
    weight = 1 / sample.probability[sample.is_drawn]
    weight *= n_rest / weight.sum()
    residual = y[sample.is_drawn] - guess[known_tasks]
    bias = float(weight @ residual) / n_rest
    corrected = guess + bias
    corrected[sample.rows[~sample.is_drawn]] = y[~sample.is_drawn]
    mean = float(corrected.mean())
    influence = corrected - mean
    n = len(known_tasks)
    # The mean residual and the power are estimated from the known labels, except if every task is known.
    n_estimated = 2 if uses_guess else 1
    unbiased = np.sqrt(n / (n - n_estimated)) if n_estimated < n < n_rest else 1.0
    influence[known_tasks] += unbiased * weight * (residual - bias)
    return mean, influence / sample.n_tasks


def _variance(
    influence: FloatArray, is_one: BoolArray, is_two: BoolArray, item: IntArray | None, is_known: BoolArray
) -> tuple[float, float]:
    """Return the variance of a difference of two means, and its degrees of freedom by Welch and Satterthwaite.

    The influence of the tasks of one item is added before it is squared (the cluster-robust variance). With one task
    per item and part this is the variance of paired differences. A task without an item is its own item. Most of the
    variance comes from the known tasks, so each part has their number minus 2 as degrees of freedom.
    """
    either = is_one | is_two
    cluster = np.arange(int(either.sum()))
    if item is not None:
        cluster_of_its_own = np.arange(len(item)) + item.max(initial=-1) + 1
        _, cluster = np.unique(np.where(item >= 0, item, cluster_of_its_own)[either], return_inverse=True)
    of_item = np.bincount(cluster, influence[either])
    n_items = len(of_item)
    variance = float((of_item**2).sum() * n_items / max(n_items - 1, 1))
    parts = [float((influence[part] ** 2).sum()) for part in (is_one, is_two)]
    degrees = [max(int(is_known[part].sum()) - 2, 1) for part in (is_one, is_two)]  # minus mean residual and power
    inverse = sum(part**2 / freedom for part, freedom in zip(parts, degrees, strict=True))
    freedom = sum(parts) ** 2 / inverse if inverse > 0 else 1.0
    return variance, max(min(freedom, n_items - 1), 1.0)


def _by_intervals(
    names: Names, estimator: MeanEstimator, quantity: Estimand, row: int, is_one: BoolArray, is_two: BoolArray
) -> Difference | None:
    """Return the difference with Newcombe's interval: the root of the sum of the squared distances to the ends."""
    from scipy.special import ndtr

    one = estimator.means(quantity, is_one)
    two = estimator.means(quantity, is_two)
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
        p = float(2 * ndtr(-abs(difference) / half * estimator.z))
    return Difference(*names, first, second, difference, low, high, p, n_pairs=0)


def difference_lines(differences: Sequence[Difference], level: float) -> Iterator[str]:
    """Yield a sentence per difference, smallest p-value first, and one on pairing and correction."""
    for clearest in sorted(differences, key=lambda difference: difference.p)[:MAX_SENTENCES]:
        yield clearest.sentence(level)
    if len(differences) > MAX_SENTENCES:
        yield f"and {len(differences) - MAX_SENTENCES:,} more differences (--json lists all)"
    if differences:
        n_pairs = min(difference.n_pairs for difference in differences)
        sentence = "The comparison is not paired by item"
        if n_pairs:
            sentence = f"The comparison is paired by item ({n_pairs:,} items)"
        if len(differences) > 1:
            sentence += f"; p-values are corrected for {len(differences):,} comparisons (Holm)"
        yield f"{sentence}."
