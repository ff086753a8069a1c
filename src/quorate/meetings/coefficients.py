"""Coefficients of agreement, from sums over tasks, with intervals.

All compare how often two answers to a task differ with how often they would by chance, and part over what chance is.
Krippendorff's alpha pairs all answers at random; Fleiss' kappa does the same by shares, and counts every task alike;
Gwet's AC1 takes chance to be rare where one class prevails [Krippendorff19], [Fleiss71], [Gwet08].

Intervals come from the Bayesian bootstrap [Rubin81]: tasks are weighted at random. A bootstrap knows only tasks like
those that it has, so that unanimous tasks would make agreement certain. So one task that was not seen is added with a
weight as random as theirs, wherever it moves the end of the interval the furthest: the imprecise Dirichlet process of
prior strength one [Walley96], [Benavoli15]. For the agreement of two workers that is the interval of Clopper and
Pearson; the added task is one of n+1, so that in large samples it is the bootstrap's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from quorate.arrays import FloatArray, Table, from_numpy, runs, table_of
from quorate.meetings.coincidences import Scale, Sums, extreme_tasks, extreme_tasks_of_class

ALPHA, KAPPA, AC1, AC2, PERCENT, SPECIFIC = (
    "krippendorff_alpha",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "percent_agreement",
    "specific_agreement",
)
WORDS = {
    ALPHA: "Krippendorff's alpha",
    KAPPA: "Fleiss' kappa",
    AC1: "Gwet's AC1",
    AC2: "Gwet's AC2",
    PERCENT: "percent agreement",
    SPECIFIC: "specific agreement",
}
DRAWS = 1000  # of the bootstrap: their own noise moves the end of an interval by a tenth of a standard error
FEWEST = 5  # tasks with two answers, below which a bootstrap says nothing, and no interval is stated
TINY = 1e-12  # a chance of differing below this is none
AT_A_TIME = 1 << 22  # entries of a table of draws × classes
MOST_CLASSES = 2_000  # whose intervals are drawn, of more those given most: each class takes half a millisecond
Values: TypeAlias = dict[str, FloatArray]


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with its interval; None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None

    def to_dict(self) -> dict[str, float | None]:
        """Return it as JSON has it."""
        return {"value": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        if self.value is None:
            return "not defined"
        return f"{self.value:.3f}" + ("" if self.low is None else f" ({self.low:.3f} to {self.high:.3f})")


def overall(sums: Sums, scale: Scale | None = None) -> Values:
    """Compute every coefficient; one value for each row of the sums.

    >>> import quorate
    >>> from quorate.meetings.coincidences import summed, tallied
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> sums = summed(tallied(answers), 2).of(np.ones((1, 2)))
    >>> {name: float(value[0].round(3)) for name, value in overall(sums).items()}
    {'krippendorff_alpha': 0.0, 'fleiss_kappa': -0.333, 'gwet_ac1': 0.2, 'percent_agreement': 0.5}
    """
    n, m = sums.answers.sum(axis=-1), sums.answers.shape[-1]
    if scale is None:
        apart, chance = sums.unlike.sum(axis=-1), n**2 - (sums.answers**2).sum(axis=-1)
    else:
        apart, chance = sums.apart, 2 * (n * sums.place_squared - sums.place**2)
    alike = 1 - _over(sums.unlike_share.sum(axis=-1), sums.paired)
    pi = sums.share / np.maximum(sums.answered, 1)[..., None]
    mixed = (pi * (1 - pi)).sum(axis=-1)  # the chance that two answers at random differ
    found = {
        ALPHA: 1 - _over((n - 1) * apart, chance),
        KAPPA: 1 - _over(1 - alike, mixed),
        AC1: 1 - _over(1 - alike, 1 - mixed / (m - 1) if m > 1 else mixed),
        PERCENT: alike,
    }
    if scale is not None:
        by_chance = scale.gwet_total * mixed / max(m * (m - 1), 1)
        found[AC2] = 1 - _over(_over(sums.apart_share, sums.paired), 1 - by_chance)
    return found


def by_class(sums: Sums, total: FloatArray | None = None) -> Values:
    """Compute the coefficients of each class against all others taken together; one row for each row of the sums.

    Args:
        sums: of all classes, or of some.
        total: the answers of all classes, a column, where the sums are of some.

    >>> import quorate
    >>> from quorate.meetings.coincidences import summed, tallied
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> sums = summed(tallied(answers), 2).of(np.ones((1, 2)))
    >>> by_class(sums)["fleiss_kappa"].round(3).tolist()
    [[-0.333, -0.333]]
    """
    n = sums.answers.sum(axis=-1, keepdims=True) if total is None else total
    alike = 1 - _over(2 * sums.unlike_share, sums.paired[..., None])
    pi = sums.share / np.maximum(sums.answered, 1)[..., None]
    mixed = 2 * pi * (1 - pi)
    return {
        ALPHA: 1 - _over((n - 1) * sums.unlike, sums.answers * (n - sums.answers)),
        KAPPA: 1 - _over(1 - alike, mixed),
        AC1: 1 - _over(1 - alike, 1 - mixed),
        PERCENT: alike,
        SPECIFIC: 1 - _over(sums.unlike, sums.answers),
    }


def random_weights(sums: Sums, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """Weigh groups of tasks at random, and in the last column a task that was not seen; one row a draw.

    The weights of a row are Dirichlet's, times their number. There is no row where tasks are too few.

    >>> import quorate
    >>> from quorate.meetings.coincidences import summed, tallied
    >>> answers = quorate.simulate.crowd(300, 6, 4, seed=1).answers
    >>> weights = random_weights(summed(tallied(answers), 2), np.random.default_rng(0), 5)
    >>> weights.shape, weights.sum(axis=1).round(6).tolist()
    ((5, 301), [301.0, 301.0, 301.0, 301.0, 301.0])
    """
    n_draws = draws if sums.paired.sum() >= FEWEST else 0
    weights: FloatArray = rng.standard_exponential((n_draws, len(sums.paired) + 1))
    weights *= weights.shape[1] / weights.sum(axis=1, keepdims=True)
    return weights


def with_intervals(sums: Sums, scale: Scale | None, weights: FloatArray, *, level: float) -> dict[str, Coefficient]:
    """Compute every coefficient, and its interval.

    Args:
        sums: over groups of tasks.
        scale: where classes lie; None where they are only alike or not.
        weights: by `random_weights`.
        level: of the intervals.

    >>> import quorate
    >>> from quorate.meetings.coincidences import summed, tallied
    >>> sums = summed(tallied(quorate.simulate.crowd(300, 6, 4, seed=1).answers), 2)
    >>> found = with_intervals(sums, None, random_weights(sums, np.random.default_rng(0)), level=0.95)["gwet_ac1"]
    >>> bool(found.low < found.value < found.high)
    True
    """
    values = overall(sums.of(np.ones((1, len(sums.paired)))), scale)
    resampled: list[list[Values]] = []  # by run of draws, then by added task
    if len(weights):
        added = extreme_tasks(sums, scale)
        for run in runs(len(weights), sums.answers.shape[1], AT_A_TIME):
            weighted = sums.of(weights[run, :-1])
            tasks = range(len(added.paired))
            resampled.append([overall(weighted.with_task(added, k, weights[run, -1]), scale) for k in tasks])
    by_task = list(zip(*resampled, strict=True))
    found = {}
    for name, value in values.items():
        ends = [_ends([each[name] for each in draws], level, ()) for draws in by_task]
        found[name] = _coefficient(value[0], *_widest(ends, value[0]))
    return found


def classes_with_intervals(sums: Sums, weights: FloatArray, *, level: float) -> list[dict[str, Coefficient]]:
    """Compute the coefficients of each class; with intervals, of very many classes for those given most.

    Args:
        sums: over groups of tasks.
        weights: by `random_weights`.
        level: of the intervals.

    >>> import quorate
    >>> from quorate.meetings.coincidences import summed, tallied
    >>> sums = summed(tallied(quorate.simulate.crowd(300, 6, 4, seed=1).answers), 2)
    >>> found = classes_with_intervals(sums, random_weights(sums, np.random.default_rng(0)), level=0.95)[1]["gwet_ac1"]
    >>> bool(found.low < found.value < found.high)
    True
    """
    m = sums.answers.shape[1]
    n = sums.answers.sum(axis=1)
    point = sums.of(np.ones((1, len(sums.paired))))
    values = by_class(point)
    ends = {name: np.full((2, m), np.nan) for name in values}
    most = np.sort(np.argsort(-point.answers[0], kind="stable")[:MOST_CLASSES])
    for run in runs(len(most) if len(weights) else 0, len(weights), AT_A_TIME):
        classes = most[run]
        weighted = (sums if len(classes) == m else sums.only(classes)).of(weights[:, :-1])
        added = extreme_tasks_of_class(sums)
        total = (weights[:, :-1] @ n + weights[:, -1] * sums.answers_of_paired_task)[:, None]
        by_task = [
            by_class(weighted.with_task(added, k, weights[:, -1]), total) for k in range(len(added.paired))
        ]  # fmt: skip
        for name, value in values.items():
            cut = [_ends([each[name]], level, (len(classes),)) for each in by_task]
            ends[name][:, classes] = _widest(cut, value[0, classes])
    return [{name: _coefficient(value[0, c], *ends[name][:, c]) for name, value in values.items()} for c in range(m)]


def _ends(resampled: list[FloatArray], level: float, shape: tuple[int, ...]) -> FloatArray:
    """Cut the resampled values at both ends; a draw in which a coefficient is not defined does not count."""
    ends = np.full((2, *shape), np.nan)
    if resampled:
        values = np.sort(np.concatenate(resampled), axis=0)  # NaN comes last
        n_defined = (~np.isnan(values)).sum(axis=0)
        tail = (1 - level) / 2
        # Those with as many draws together: `np.nanquantile` goes class by class, and of thousands takes seconds.
        for n in np.unique(n_defined[n_defined > 0]).tolist():
            has_n = n_defined == n
            ends[:, has_n] = np.quantile(values[:n, has_n], [tail, 1 - tail], axis=0)
    return ends


def _widest(ends: list[FloatArray], value: FloatArray) -> FloatArray:
    """Return the lowest and the highest end over all added tasks, the estimate inside; NaN where it is not defined."""
    if not ends:
        return np.full((2, *np.shape(value)), np.nan)
    low = np.fmin.reduce([low for low, _ in ends])
    high = np.fmax.reduce([high for _, high in ends])
    widest: FloatArray = np.stack([np.minimum(low, value), np.maximum(high, value)])
    return widest


def _coefficient(value: float, low: float, high: float) -> Coefficient:
    return Coefficient(*(None if np.isnan(each) else float(each) for each in (value, low, high)))


def _over(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Divide; NaN where nothing can differ by chance."""
    part, whole = np.broadcast_arrays(part, whole)
    share: FloatArray = np.divide(part, whole, out=np.full(part.shape, np.nan), where=np.abs(whole) > TINY)
    return share


def as_dict(found: dict[str, Coefficient]) -> dict[str, Any]:
    """Return coefficients by their names, as JSON has them.

    >>> as_dict({"gwet_ac1": Coefficient(0.5, 0.4, 0.6)})
    {'gwet_ac1': {'value': 0.5, 'low': 0.4, 'high': 0.6}}
    """
    return {name: value.to_dict() for name, value in found.items()}


def rows_of(table: Table, found: Sequence[dict[str, Coefficient]]) -> list[dict[str, Any]]:
    """Return the first columns of a table, and the coefficients as objects.

    >>> rows_of(Table(table_of({"n_answers": np.array([3])})), [{"gwet_ac1": Coefficient(0.5, None, None)}])
    [{'n_answers': 3, 'gwet_ac1': {'value': 0.5, 'low': None, 'high': None}}]
    """
    names = [name for name in table.column_names if name in ("label", "group", "n_workers", "n_answers")]
    return [row | as_dict(each) for row, each in zip(table.select(names).to_pylist(), found, strict=True)]


def beside(columns: dict[str, Any], found: Sequence[dict[str, Coefficient]]) -> Table:
    """Put coefficients beside what they are of: each with two columns for its interval.

    >>> beside({"n_answers": np.array([3])}, [{"gwet_ac1": Coefficient(0.5, 0.4, None)}]).to_pylist()
    [{'n_answers': 3, 'gwet_ac1': 0.5, 'gwet_ac1_low': 0.4, 'gwet_ac1_high': None}]
    """
    columns = dict(columns)
    for name in found[0] if found else ():
        for ending, part in (("", "value"), ("_low", "low"), ("_high", "high")):
            values = np.array([np.nan if (v := getattr(each[name], part)) is None else v for each in found])
            columns[name + ending] = from_numpy(values, mask=np.isnan(values))
    return Table(table_of(columns))
