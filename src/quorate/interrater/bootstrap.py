"""Intervals of coefficients of agreement, by the Bayesian bootstrap [Rubin81]: tasks are weighted at random.

A bootstrap contains only tasks of the sample, so its interval would be a point if all tasks are unanimous. So one
unseen task is added, with a random weight like the others, and for each end of the interval the unseen task is used
that moves it furthest: the imprecise Dirichlet process of prior strength one [Walley96], [Benavoli15]. For the
agreement of two workers this is the interval of Clopper and Pearson. The unseen task is one of n + 1, so for large
samples the interval is that of the bootstrap.
"""

from itertools import combinations

import numpy as np

from quorate.arrays import FloatArray, distinct, runs
from quorate.interrater.coefficients import Coefficient, Values, by_class, overall
from quorate.interrater.sums import AgreementSums, Scale

DRAWS = 1000  # of the bootstrap: their noise moves the end of an interval by a tenth of a standard error
MIN_PAIRED_TASKS = 5  # with fewer tasks of two answers or more, a bootstrap is unreliable, and no interval is stated
MAX_DRAW_TABLE = 1 << 22  # entries of a table of draws × classes
MAX_CLASSES_WITH_INTERVALS = 2_000  # the most frequent classes; each takes half a millisecond


def extreme_tasks(sums: AgreementSums, scale: Scale | None = None) -> AgreementSums:
    """Return the tasks that move coefficients most, one per row: unanimous tasks, and splits between two classes.

    A split between frequent classes, or between the ends of a scale, lowers coefficients most; a unanimous task of a
    rare class (for AC1, of a frequent one) raises them most. So the two most frequent classes, the rarest class and the
    ends of the scale are enough. The tasks have the mean number of answers of tasks with two answers or more.

    Args:
        sums: over groups of tasks; at least one task has two answers.
        scale: None if classes are only equal or different.

    >>> import quorate
    >>> from quorate.interrater.sums import count_answers, sum_over_groups
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> tasks = extreme_tasks(sum_over_groups(count_answers(answers), 2))
    >>> tasks.answers.tolist(), tasks.unlike.tolist()
    ([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    """
    answers = np.asarray(sums.answers.sum(axis=0)).ravel()
    by_frequency = np.argsort(-answers, kind="stable")
    chosen = {int(by_frequency[0]), int(by_frequency[1 % len(answers)]), int(by_frequency[-1])}
    if scale is not None:
        chosen |= {int(np.argmin(scale.positions)), int(np.argmax(scale.positions))}
    classes = sorted(chosen)
    # With one class only, the split is between it and classes that no worker gave.
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
    squared_distance, gwet_distance, position_sum, position_square_sum = np.zeros((4, len(pairs)))
    if scale is not None:
        position = scale.spread(answers)
        position_sum = r * (position[first] + position[second]) / 2
        position_square_sum = r * (position[first] ** 2 + position[second] ** 2) / 2
        squared_distance = r**2 / 2 * (position[first] - position[second]) ** 2 / (r - 1)
        disagreement = np.where(first == second, 1.0, scale.gwet_disagreement(first, second))
        gwet_distance = np.where(is_split, r / 2 * disagreement / (r - 1), 0.0)
    return AgreementSums(
        answers=per_class,
        unlike=unlike,
        share=per_class / r,
        unlike_share=unlike / r,
        n_answered_tasks=once,
        n_paired_tasks=once,
        squared_distance=squared_distance,
        gwet_distance=gwet_distance,
        position_sum=position_sum,
        position_square_sum=position_square_sum,
    )


def extreme_tasks_of_class(sums: AgreementSums) -> AgreementSums:
    """Return the tasks that move the coefficients of one class against all others most; they are equal for all classes.

    They are unanimous in the class, unanimous in another class, and split between the two. The tables have one column,
    for the class that is compared with all others.

    >>> import quorate
    >>> from quorate.interrater.sums import count_answers, sum_over_groups
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> extreme_tasks_of_class(sum_over_groups(count_answers(answers), 2)).answers.ravel().tolist()
    [2.0, 0.0, 1.0]
    """
    r = sums.answers_of_paired_task
    answers = np.array([[r], [0.0], [r / 2]])
    unlike = np.array([[0.0], [0.0], [(r / 2) ** 2 / (r - 1)]])
    once = np.ones(3)
    zeros = np.zeros(3)
    return AgreementSums(answers, unlike, answers / r, unlike / r, once, once, zeros, zeros, zeros, zeros)


def random_weights(sums: AgreementSums, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """Return random weights, draws × (groups of tasks, and one unseen task).

    The weights of a row have a Dirichlet distribution, times their number. With too few tasks there are no rows.

    >>> import quorate
    >>> from quorate.interrater.sums import count_answers, sum_over_groups
    >>> answers = quorate.simulate.crowd(300, 6, 4, seed=1).answers
    >>> weights = random_weights(sum_over_groups(count_answers(answers), 2), np.random.default_rng(0), 5)
    >>> weights.shape, weights.sum(axis=1).round(6).tolist()
    ((5, 301), [301.0, 301.0, 301.0, 301.0, 301.0])
    """
    n_draws = draws if sums.n_paired_tasks.sum() >= MIN_PAIRED_TASKS else 0
    weights: FloatArray = rng.standard_exponential((n_draws, len(sums.n_paired_tasks) + 1))
    weights *= weights.shape[1] / weights.sum(axis=1, keepdims=True)
    return weights


def with_intervals(
    sums: AgreementSums, scale: Scale | None, weights: FloatArray, *, level: float
) -> dict[str, Coefficient]:
    """Return every coefficient with its interval.

    Args:
        sums: over groups of tasks.
        scale: positions of the classes; None if they are only equal or different.
        weights: from `random_weights`.
        level: level of the intervals.

    >>> import quorate
    >>> from quorate.interrater.sums import count_answers, sum_over_groups
    >>> sums = sum_over_groups(count_answers(quorate.simulate.crowd(300, 6, 4, seed=1).answers), 2)
    >>> result = with_intervals(sums, None, random_weights(sums, np.random.default_rng(0)), level=0.95)["gwet_ac1"]
    >>> bool(result.low < result.value < result.high)
    True
    """
    values = overall(sums.of(np.ones((1, len(sums.n_paired_tasks)))), scale)
    resampled: list[list[Values]] = []  # by batch of draws, then by added task
    if len(weights):
        added = extreme_tasks(sums, scale)
        for run in runs(len(weights), sums.answers.shape[1], MAX_DRAW_TABLE):
            weighted = sums.of(weights[run, :-1])
            tasks = range(len(added.n_paired_tasks))
            resampled.append([overall(weighted.with_task(added, k, weights[run, -1]), scale) for k in tasks])
    by_task = list(zip(*resampled, strict=True))
    coefficients = {}
    for name, value in values.items():
        ends = [_ends([draw[name] for draw in draws], level, ()) for draws in by_task]
        coefficients[name] = _coefficient(value[0], *_widest(ends, value[0]))
    return coefficients


def classes_with_intervals(sums: AgreementSums, weights: FloatArray, *, level: float) -> list[dict[str, Coefficient]]:
    """Return the coefficients of each class, with intervals for at most MAX_CLASSES_WITH_INTERVALS frequent classes.

    Args:
        sums: over groups of tasks.
        weights: from `random_weights`.
        level: level of the intervals.

    >>> import quorate
    >>> from quorate.interrater.sums import count_answers, sum_over_groups
    >>> sums = sum_over_groups(count_answers(quorate.simulate.crowd(300, 6, 4, seed=1).answers), 2)
    >>> result = classes_with_intervals(sums, random_weights(sums, np.random.default_rng(0)), level=0.95)[1]["gwet_ac1"]
    >>> bool(result.low < result.value < result.high)
    True
    """
    m = sums.answers.shape[1]
    n = sums.answers.sum(axis=1)
    point = sums.of(np.ones((1, len(sums.n_paired_tasks))))
    values = by_class(point)
    ends = {name: np.full((2, m), np.nan) for name in values}
    most_frequent = np.sort(np.argsort(-point.answers[0], kind="stable")[:MAX_CLASSES_WITH_INTERVALS])
    for run in runs(len(most_frequent) if len(weights) else 0, len(weights), MAX_DRAW_TABLE):
        classes = most_frequent[run]
        weighted = (sums if len(classes) == m else sums.only(classes)).of(weights[:, :-1])
        added = extreme_tasks_of_class(sums)
        total = (weights[:, :-1] @ n + weights[:, -1] * sums.answers_of_paired_task)[:, None]
        by_task = [
            by_class(weighted.with_task(added, k, weights[:, -1]), total) for k in range(len(added.n_paired_tasks))
        ]  # fmt: skip
        for name, value in values.items():
            ends_by_task = [_ends([draw[name]], level, (len(classes),)) for draw in by_task]
            ends[name][:, classes] = _widest(ends_by_task, value[0, classes])
    return [{name: _coefficient(value[0, c], *ends[name][:, c]) for name, value in values.items()} for c in range(m)]


def _ends(resampled: list[FloatArray], level: float, shape: tuple[int, ...]) -> FloatArray:
    """Return both quantiles of the resampled values; draws in which a coefficient is not defined are left out."""
    ends = np.full((2, *shape), np.nan)
    if resampled:
        values = np.sort(np.concatenate(resampled), axis=0)  # NaN comes last
        n_defined = (~np.isnan(values)).sum(axis=0)
        tail = (1 - level) / 2
        # Classes with an equal number of defined draws are computed together: `np.nanquantile` loops over classes,
        # which takes seconds for thousands of them, and `np.quantile` imports `numpy.ma`.
        for n in distinct(n_defined[n_defined > 0]).tolist():
            has_n = n_defined == n
            for end, index in enumerate((tail * (n - 1), (1 - tail) * (n - 1))):
                low = values[int(index), has_n]
                high = values[min(int(index) + 1, n - 1), has_n]
                ends[end, has_n] = low + (index - int(index)) * (high - low)
    return ends


def _widest(ends: list[FloatArray], value: FloatArray) -> FloatArray:
    """Return the lowest and the highest end over all added tasks, extended to the estimate; NaN if not defined."""
    if not ends:
        return np.full((2, *np.shape(value)), np.nan)
    low = np.fmin.reduce([low for low, _ in ends])
    high = np.fmax.reduce([high for _, high in ends])
    widest: FloatArray = np.stack([np.minimum(low, value), np.maximum(high, value)])
    return widest


def _coefficient(value: float, low: float, high: float) -> Coefficient:
    return Coefficient(*(None if np.isnan(number) else float(number) for number in (value, low, high)))
