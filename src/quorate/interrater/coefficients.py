"""Coefficients of agreement, from sums over tasks, with intervals.

All compare how often two answers to a task differ with how often they would by chance, and part over what chance is.
Krippendorff's alpha pairs all answers at random; Fleiss' kappa does the same by shares, and counts every task alike;
Gwet's AC1 takes chance to be rare where one class prevails [Krippendorff19], [Fleiss71], [Gwet08].

Intervals come from the Bayesian bootstrap [Rubin81]: tasks are weighted at random. A bootstrap knows only tasks like
those that it has, so that unanimous tasks would make agreement certain. So one task that was not seen is added with a
weight as random as theirs, wherever it moves the end of the interval the furthest: the imprecise Dirichlet process of
prior strength one [Walley96], [Benavoli15]. For the agreement of two workers that is the interval of Clopper and
Pearson; the added task is one of n+1, so that in large samples it is the bootstrap's own.

All coefficients are functions of sums over tasks. A task that r workers answered, n_c of them with class c, has r·(r-1)
ordered pairs of answers; n_c·(r-n_c) of them are c and another class. So the cost is linear in the answers, for any
number of workers per task. The sums are kept for groups of tasks dealt at random, which the bootstrap draws from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, Table, from_numpy, runs, table_of
from quorate.blocks.sampling import hash_ids, order_by_hash

GROUPS = 2000  # of tasks, at the most: a bootstrap over so many sums has a standard error that is exact to within 2 %
FEWEST_GROUPS = 100  # where classes are very many
ENTRIES = 1 << 23  # of a table of groups × classes
SMALLEST_FLOAT = np.finfo(np.float64).tiny
FULL = 1 << 20  # entries of such a table, up to which it is kept as it is
BY_CLASS = ("answers", "unlike", "share", "unlike_share")  # sums that have a column per class
FEW_PLACES = 1_000  # of a scale, up to which Gwet's weights of every two are kept
DENSE = 8  # a table of tasks × classes may have so many entries for each answer; else the filled ones are sorted out


@dataclass(frozen=True)
class Tallied:
    """How many workers gave a task a class, wherever one did; ordered by task, then by class."""

    task: IntArray
    label: IntArray
    n: FloatArray  # workers who gave it
    answered: IntArray  # r: answers of each task
    rank: IntArray  # of each task in an order that is as good as random, and the same in whatever order rows come

    @cached_property
    def r(self) -> FloatArray:
        """Answers of each cell's task."""
        return self.answered[self.task].astype(np.float64)

    def by_task(self, values: FloatArray) -> FloatArray:
        """Sum a value of each cell over each task."""
        return np.bincount(self.task, values, len(self.answered)).astype(np.float64, copy=False)


def tallied(answers: Answers) -> Tallied:
    """Count who gave what, without a table of tasks × classes where that would be much larger than the answers.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xyyx")})
    >>> tallied(answers).n.tolist()
    [1.0, 2.0, 1.0]
    """
    m = max(answers.n_classes, 1)
    filled, n = answers.filled_cells()
    rank = np.empty(answers.n_tasks, np.int64)
    rank[order_by_hash(hash_ids(answers.task_names))] = np.arange(answers.n_tasks)
    return Tallied(filled // m, filled % m, n.astype(np.float64), answers.per_task, rank)


@dataclass(frozen=True)
class Sums:
    """What coefficients are made of, summed over groups of tasks (rows); the columns of the first four are classes.

    Sums with one row, or a weighted sum of rows, are sums of the same kind: `of` makes those.
    """

    answers: FloatArray  # answers to tasks that have two answers or more
    unlike: FloatArray  # n_c·(r-n_c)/(r-1): pairs that join c and something else, each answer counted once
    share: FloatArray  # n_c/r, over all tasks that were answered
    unlike_share: FloatArray  # n_c·(r-n_c)/(r·(r-1))
    answered: FloatArray  # tasks with an answer; shape (groups,)
    paired: FloatArray  # tasks with two or more
    apart: FloatArray  # squared distance of the pairs of a task, over (r-1), on a scale where classes have places
    apart_share: FloatArray  # Gwet's disagreement on that scale, over r·(r-1)
    place: FloatArray  # of the answers counted in `answers`, summed
    place_squared: FloatArray

    def of(self, weights: FloatArray) -> "Sums":
        """Weigh the groups: draws × groups gives one row a draw."""
        return Sums(*(weights @ getattr(self, name) for name in self.__dataclass_fields__))

    def only(self, classes: IntArray) -> "Sums":
        """Keep some classes; the sums over all of them stay."""
        return replace(self, **{name: getattr(self, name)[:, classes] for name in BY_CLASS})

    def with_task(self, tasks: "Sums", row: int, weights: FloatArray) -> "Sums":
        """Add one task, a row of ``tasks``, to each row, with a weight for each row."""
        added = {}
        for name in self.__dataclass_fields__:
            weight = weights[:, None] if name in BY_CLASS else weights
            added[name] = getattr(self, name) + weight * getattr(tasks, name)[row]
        return Sums(**added)

    @property
    def answers_of_paired_task(self) -> float:
        """Mean number of answers of the tasks that have two answers or more."""
        return float(self.answers.sum() / self.paired.sum())


@dataclass(frozen=True)
class Scale:
    """Where classes lie, on a scale on which some are further apart than others."""

    ranked: bool  # ordinal: only their order counts; otherwise interval: their values do
    places: FloatArray  # ranks from 0, or values

    @cached_property
    def gwet_total(self) -> float:
        """The sum of Gwet's weights; of many classes from sums over their order, without a table of every two."""
        if len(self.places) <= FEW_PLACES:
            return float(self.gwet.sum())
        at = np.sort(self.places - self.places.mean())
        m = len(self.places)
        squared = 2 * (m * (at @ at) - at.sum() ** 2)
        widest = float(at[-1] - at[0])
        if self.ranked:
            squared += 2 * float((2 * np.arange(m) - m + 1) @ at)  # |i - j| over every two
            widest += 1
        return float(m**2 - squared / max((at[-1] - at[0]) * widest, SMALLEST_FLOAT))

    @cached_property
    def gwet(self) -> FloatArray:
        """Gwet's weights of every two classes: ordinal ones by ranks, quadratic ones by values."""
        distance = np.abs(self.places[:, None] - self.places)
        squared = distance * (distance + 1) if self.ranked else distance**2
        weights: FloatArray = 1 - squared / max(squared.max(initial=0.0), SMALLEST_FLOAT)
        return weights

    def gwet_disagreement(self, first: IntArray, second: IntArray) -> FloatArray:
        """One minus Gwet's weight of pairs of classes."""

        def squared(distance: FloatArray) -> FloatArray:
            return distance * (distance + 1) if self.ranked else distance**2

        largest = squared(np.ptp(self.places, keepdims=True))
        disagreement: FloatArray = squared(np.abs(self.places[first] - self.places[second])) / np.maximum(
            largest, SMALLEST_FLOAT
        )
        return disagreement

    def spread(self, answers: FloatArray) -> FloatArray:
        """Return the places by which Krippendorff measures: values, or the middle of each class among all answers."""
        if not self.ranked:
            return self.places
        order = np.argsort(self.places, kind="stable")
        middle = np.empty(len(answers))
        middle[order] = np.cumsum(answers[order]) - answers[order] / 2
        shares: FloatArray = middle / max(answers.sum(), 1)
        return shares


def summed(counted: Tallied, n_classes: int, scale: Scale | None = None) -> Sums:
    """Sum over groups of tasks, dealt by a hash of their ids; every task is a group of its own where there are few.

    Args:
        counted: who gave what.
        n_classes: M.
        scale: None where classes are only alike or not.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xyyx")})
    >>> sums = summed(tallied(answers), 2)
    >>> sums.answers.sum(axis=0).tolist(), sums.unlike.sum(axis=0).tolist(), float(sums.paired.sum())
    ([1.0, 2.0], [1.0, 1.0], 1.0)
    """
    n_tasks = len(counted.answered)
    most = max(FEWEST_GROUPS, min(GROUPS, ENTRIES // max(n_classes, 1)))
    group = counted.rank % most
    n_groups = min(n_tasks, most)
    at = group[counted.task] * n_classes + counted.label
    r = counted.r
    n = counted.n
    two = r > 1
    paired = np.where(two, n, 0.0)
    unlike = np.where(two, n * (r - n) / np.maximum(r - 1, 1), 0.0)

    # Of many classes most groups have few, and what is multiplied by draws is only what is there.
    is_empty = n_groups * n_classes > max(FULL, DENSE * len(at))

    def table(values: FloatArray) -> FloatArray:
        if is_empty:
            from scipy import sparse

            filled: FloatArray = sparse.csr_array((values, (at // n_classes, at % n_classes)), (n_groups, n_classes))
            return filled
        flat = np.bincount(at, values, n_groups * n_classes).astype(np.float64, copy=False)
        return flat.reshape(n_groups, n_classes)

    def column(values: FloatArray) -> FloatArray:
        return np.bincount(group, values, n_groups).astype(np.float64, copy=False)

    on_scale: tuple[FloatArray, ...] = (np.zeros(n_tasks),) * 4
    if scale is not None:
        spread = scale.spread(np.bincount(counted.label, paired, n_classes).astype(np.float64, copy=False))
        places = (counted.by_task(paired * spread[counted.label] ** k) for k in (1, 2))
        on_scale = (*distances(counted, scale, spread), *places)
    return Sums(
        table(paired),
        table(unlike),
        table(n / r),
        table(unlike / r),
        column((counted.answered > 0).astype(np.float64)),
        column((counted.answered > 1).astype(np.float64)),
        *(column(values) for values in on_scale),
    )


def extreme_tasks(sums: Sums, scale: Scale | None = None) -> Sums:
    """Return the tasks that move coefficients the most, one per row: unanimous ones, and splits between two classes.

    Coefficients fall the most with a split between frequent classes, or between the ends of a scale, and rise the most
    with a unanimous task of a rare class (AC1: of a frequent one). So the two most frequent classes, the rarest and
    the ends of the scale are enough. The tasks have as many answers as others have on average.

    Args:
        sums: over groups of tasks, two answers to a task among them.
        scale: None where classes are only alike or not.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> tasks = extreme_tasks(summed(tallied(answers), 2))
    >>> tasks.answers.tolist(), tasks.unlike.tolist()
    ([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    """
    answers = np.asarray(sums.answers.sum(axis=0)).ravel()
    by_frequency = np.argsort(-answers, kind="stable")
    chosen = {int(by_frequency[0]), int(by_frequency[1 % len(answers)]), int(by_frequency[-1])}
    if scale is not None:
        chosen |= {int(np.argmin(scale.places)), int(np.argmax(scale.places))}
    classes = sorted(chosen)
    # Of one class alone, the split is between it and classes that nobody gave.
    splits = list(combinations(classes, 2)) or [(classes[0], classes[0])]
    pairs = np.array([(c, c) for c in classes] + splits)
    is_split = np.arange(len(pairs)) >= len(classes)
    first, second = pairs.T
    r = sums.answers_of_paired_task
    per_class = np.zeros((len(pairs), len(answers)))
    for members in (first, second):
        per_class[np.arange(len(pairs)), members] += r / 2
    unlike = np.where(is_split[:, None], per_class * (r / 2) / (r - 1), 0.0)
    once = np.ones(len(pairs))
    apart, apart_share, place, place_squared = np.zeros((4, len(pairs)))
    if scale is not None:
        at = scale.spread(answers)
        place = r * (at[first] + at[second]) / 2
        place_squared = r * (at[first] ** 2 + at[second] ** 2) / 2
        apart = r**2 / 2 * (at[first] - at[second]) ** 2 / (r - 1)
        disagreement = np.where(first == second, 1.0, scale.gwet_disagreement(first, second))
        apart_share = np.where(is_split, r / 2 * disagreement / (r - 1), 0.0)
    return Sums(
        per_class, unlike, per_class / r, unlike / r, once, once, apart, apart_share, place, place_squared
    )  # fmt: skip


def extreme_tasks_of_class(sums: Sums) -> Sums:
    """Return the tasks that move the coefficients of one class against all others the most, alike for every class.

    They are unanimous in the class, unanimous in another, and split between the two; the tables have one column, which
    stands for whichever class is looked at.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> extreme_tasks_of_class(summed(tallied(answers), 2)).answers.ravel().tolist()
    [2.0, 0.0, 1.0]
    """
    r = sums.answers_of_paired_task
    answers = np.array([[r], [0.0], [r / 2]])
    unlike = np.array([[0.0], [0.0], [(r / 2) ** 2 / (r - 1)]])
    once = np.ones(3)
    zeros = np.zeros(3)
    return Sums(answers, unlike, answers / r, unlike / r, once, once, zeros, zeros, zeros, zeros)


def distances(counted: Tallied, scale: Scale, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for each task how far its answers lie apart: Krippendorff's squared distance, and Gwet's disagreement.

    Args:
        counted: who gave what.
        scale: where classes lie.
        spread: where they lie for Krippendorff.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": list("ab"), "label": [1, 3]})
    >>> scale = Scale(ranked=False, places=np.array([1.0, 3.0]))
    >>> [float(row[0]) for row in distances(tallied(answers), scale, scale.places)]
    [8.0, 1.0]
    """
    r = counted.answered.astype(np.float64)
    pairs = np.maximum(r - 1, 1)
    is_paired = r > 1
    squared = _squared(counted, scale.places[counted.label])
    if scale.ranked:  # the sum of |i-j| over pairs needs each task's cells in the order of the ranks
        order = np.lexsort([scale.places[counted.label], counted.task])
        rank = scale.places[counted.label][order]
        task = counted.task[order]
        n = counted.n[order]
        before, moment = (_before(values, task) for values in (n, n * rank))
        cross_disagreement = 2 * np.bincount(task, n * (rank * before - moment), len(r))
        gwet = (squared + cross_disagreement) / max(len(scale.places) * (len(scale.places) - 1), 1)
    else:
        gwet = squared / max(np.ptp(scale.places) ** 2, SMALLEST_FLOAT)
    krippendorff = _squared(counted, spread[counted.label]) / pairs
    return np.where(is_paired, krippendorff, 0.0), np.where(is_paired, gwet / np.maximum(r * pairs, 1), 0.0)


def _squared(counted: Tallied, value: FloatArray) -> FloatArray:
    """Sum the squared distance over ordered pairs of answers of each task."""
    first, second = (counted.by_task(counted.n * value**k) for k in (1, 2))
    total: FloatArray = 2 * np.maximum(counted.answered * second - first**2, 0.0)
    return total


def _before(values: FloatArray, task: IntArray) -> FloatArray:
    """Sum over the earlier cells of the same task."""
    running = np.cumsum(values) - values
    starts = np.flatnonzero(np.diff(task, prepend=-1))
    sums: FloatArray = running - np.repeat(running[starts], np.diff(np.append(starts, len(task))))
    return sums


ALPHA = "krippendorff_alpha"
KAPPA = "fleiss_kappa"
AC1 = "gwet_ac1"
AC2 = "gwet_ac2"
PERCENT = "percent_agreement"
SPECIFIC = "specific_agreement"
WORDS = {
    ALPHA: "Krippendorff's alpha",
    KAPPA: "Fleiss' kappa",
    AC1: "Gwet's AC1",
    AC2: "Gwet's AC2",
    PERCENT: "percent agreement",
    SPECIFIC: "specific agreement",
}
DRAWS = 1000  # of the bootstrap: their own noise moves the end of an interval by a tenth of a standard error
FEWEST = 5  # tasks with two answers, below which a bootstrap is unreliable, and no interval is stated
MIN_CHANCE_DISAGREEMENT = 1e-12  # a chance of differing below this is none
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
    >>> from quorate.interrater.coefficients import summed, tallied
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> sums = summed(tallied(answers), 2).of(np.ones((1, 2)))
    >>> {name: float(value[0].round(3)) for name, value in overall(sums).items()}
    {'krippendorff_alpha': 0.0, 'fleiss_kappa': -0.333, 'gwet_ac1': 0.2, 'percent_agreement': 0.5}
    """
    n = sums.answers.sum(axis=-1)
    m = sums.answers.shape[-1]
    if scale is None:
        observed = sums.unlike.sum(axis=-1)
        chance = n**2 - (sums.answers**2).sum(axis=-1)
    else:
        observed = sums.apart
        chance = 2 * (n * sums.place_squared - sums.place**2)
    alike = 1 - _ratio(sums.unlike_share.sum(axis=-1), sums.paired)
    pi = sums.share / np.maximum(sums.answered, 1)[..., None]
    mixed = (pi * (1 - pi)).sum(axis=-1)  # the chance that two answers at random differ
    values = {
        ALPHA: 1 - _ratio((n - 1) * observed, chance),
        KAPPA: 1 - _ratio(1 - alike, mixed),
        AC1: 1 - _ratio(1 - alike, 1 - mixed / (m - 1) if m > 1 else mixed),
        PERCENT: alike,
    }
    if scale is not None:
        by_chance = scale.gwet_total * mixed / max(m * (m - 1), 1)
        values[AC2] = 1 - _ratio(_ratio(sums.apart_share, sums.paired), 1 - by_chance)
    return values


def by_class(sums: Sums, total: FloatArray | None = None) -> Values:
    """Compute the coefficients of each class against all others taken together; one row for each row of the sums.

    Args:
        sums: of all classes, or of some.
        total: the answers of all classes, a column, where the sums are of some.

    >>> import quorate
    >>> from quorate.interrater.coefficients import summed, tallied
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> sums = summed(tallied(answers), 2).of(np.ones((1, 2)))
    >>> by_class(sums)["fleiss_kappa"].round(3).tolist()
    [[-0.333, -0.333]]
    """
    n = sums.answers.sum(axis=-1, keepdims=True) if total is None else total
    alike = 1 - _ratio(2 * sums.unlike_share, sums.paired[..., None])
    pi = sums.share / np.maximum(sums.answered, 1)[..., None]
    mixed = 2 * pi * (1 - pi)
    return {
        ALPHA: 1 - _ratio((n - 1) * sums.unlike, sums.answers * (n - sums.answers)),
        KAPPA: 1 - _ratio(1 - alike, mixed),
        AC1: 1 - _ratio(1 - alike, 1 - mixed),
        PERCENT: alike,
        SPECIFIC: 1 - _ratio(sums.unlike, sums.answers),
    }


def random_weights(sums: Sums, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """Weigh groups of tasks at random, and in the last column a task that was not seen; one row a draw.

    The weights of a row are Dirichlet's, times their number. There is no row where tasks are too few.

    >>> import quorate
    >>> from quorate.interrater.coefficients import summed, tallied
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
        level: level of the intervals.

    >>> import quorate
    >>> from quorate.interrater.coefficients import summed, tallied
    >>> sums = summed(tallied(quorate.simulate.crowd(300, 6, 4, seed=1).answers), 2)
    >>> result = with_intervals(sums, None, random_weights(sums, np.random.default_rng(0)), level=0.95)["gwet_ac1"]
    >>> bool(result.low < result.value < result.high)
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
    coefficients = {}
    for name, value in values.items():
        ends = [_ends([draw[name] for draw in draws], level, ()) for draws in by_task]
        coefficients[name] = _coefficient(value[0], *_widest(ends, value[0]))
    return coefficients


def classes_with_intervals(sums: Sums, weights: FloatArray, *, level: float) -> list[dict[str, Coefficient]]:
    """Compute the coefficients of each class; with intervals, of very many classes for those given most.

    Args:
        sums: over groups of tasks.
        weights: by `random_weights`.
        level: level of the intervals.

    >>> import quorate
    >>> from quorate.interrater.coefficients import summed, tallied
    >>> sums = summed(tallied(quorate.simulate.crowd(300, 6, 4, seed=1).answers), 2)
    >>> result = classes_with_intervals(sums, random_weights(sums, np.random.default_rng(0)), level=0.95)[1]["gwet_ac1"]
    >>> bool(result.low < result.value < result.high)
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
            cut = [_ends([draw[name]], level, (len(classes),)) for draw in by_task]
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
    return Coefficient(*(None if np.isnan(number) else float(number) for number in (value, low, high)))


def _ratio(part: FloatArray, total: FloatArray) -> FloatArray:
    """Divide; NaN where nothing can differ by chance."""
    part, total = np.broadcast_arrays(part, total)
    share: FloatArray = np.divide(
        part, total, out=np.full(part.shape, np.nan), where=np.abs(total) > MIN_CHANCE_DISAGREEMENT
    )
    return share


def as_dict(coefficients: dict[str, Coefficient]) -> dict[str, Any]:
    """Return coefficients by their names, as JSON has them.

    >>> as_dict({"gwet_ac1": Coefficient(0.5, 0.4, 0.6)})
    {'gwet_ac1': {'value': 0.5, 'low': 0.4, 'high': 0.6}}
    """
    return {name: value.to_dict() for name, value in coefficients.items()}


def rows_of(table: Table, coefficients: Sequence[dict[str, Coefficient]]) -> list[dict[str, Any]]:
    """Return the first columns of a table, and the coefficients as objects.

    >>> rows_of(Table(table_of({"n_answers": np.array([3])})), [{"gwet_ac1": Coefficient(0.5, None, None)}])
    [{'n_answers': 3, 'gwet_ac1': {'value': 0.5, 'low': None, 'high': None}}]
    """
    names = [name for name in table.column_names if name in ("label", "group", "n_workers", "n_answers")]
    return [
        row | as_dict(row_coefficients)
        for row, row_coefficients in zip(table.select(names).to_pylist(), coefficients, strict=True)
    ]


def beside(columns: dict[str, Any], coefficients: Sequence[dict[str, Coefficient]]) -> Table:
    """Put coefficients beside what they are of: each with two columns for its interval.

    >>> beside({"n_answers": np.array([3])}, [{"gwet_ac1": Coefficient(0.5, 0.4, None)}]).to_pylist()
    [{'n_answers': 3, 'gwet_ac1': 0.5, 'gwet_ac1_low': 0.4, 'gwet_ac1_high': None}]
    """
    columns = dict(columns)
    for name in coefficients[0] if coefficients else ():
        for ending, part in (("", "value"), ("_low", "low"), ("_high", "high")):
            values = np.array(
                [
                    np.nan if (v := getattr(row_coefficients[name], part)) is None else v
                    for row_coefficients in coefficients
                ]
            )
            columns[name + ending] = from_numpy(values, mask=np.isnan(values))
    return Table(table_of(columns))
