"""Bias of judges: verdicts that depend on the length of an output, on the order of a pair, or on its author.

Length and other covariates. The verdict y of a judge (1 if it gives a class, else 0; the number itself if labels are
grades) should depend only on the true class of the task, and not on the covariate x, in standard deviations. With known
labels, y is regressed on the known class and x. Without them, the other judges replace the true class: y is regressed
on x and on the verdict of another judge. As a verdict measures the class with error, the mean verdict of the remaining
judges is its instrument (two-stage least squares). The estimates by each of the other judges are averaged. They allow
for a true class that depends on x (longer outputs may be better) and for judges of different skill. If judges share
mistakes, agreement shows skill only roughly, and a more accurate judge depends more on x because the class does. So the
interval also covers twice and half the relative accuracy that agreement shows. A dependence on x that all judges share
is found only with known labels.

Own outputs. The same regression, with x = 1 if a judge's family wrote the output and 0 otherwise.

Position. If a pair was judged in both orders and the label names the position, the mean share of a label over both
orders is 1/2 for every true class. Pairs with the same label in both orders are inconsistent verdicts.

Intervals use heteroscedasticity-robust standard errors (HC1); p-values have Holm's correction over all judges.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.diagnostics.finding import Finding, named, plain, quoted
from quorate.errors import for_shell
from quorate.io.warnings import are_sides
from quorate.result import Result, count
from quorate.statistics import holm

MIN_VERDICTS = 30  # that a judge needs to be tested: with fewer, the distribution of the coefficient is not normal
MIN_JUDGES = 3  # without known labels: the judge, another one, and the rest as its instrument
SIGNIFICANCE_LEVEL = 0.05  # conventional: probability that any judge without bias is named
# Smallest difference between a worker's share of one side and that of the others. If sides are shown at random, skill
# does not change the share; if one side is right in 60% of the tasks, a worker who guesses differs by 10 points. A
# judgement.
MIN_SIDE_DIFFERENCE = 0.15
# Range of the ratio of a judge's relative accuracy (compared with the other judges) to that which agreement shows. In
# 47 panels with known truth the ratio was within this range for 87% of 658 judges and classes.
MIN_ACCURACY_RATIO = 0.5
MAX_ACCURACY_RATIO = 2.0
MAX_NAMED = 6  # workers whose shares a sentence states


@dataclass(frozen=True)
class Covariate:
    """One number per answer, and what it is."""

    name: str  # of the column
    values: FloatArray  # one per answer; NaN where missing
    is_length: bool = False  # whether they are lengths of texts


@dataclass(frozen=True)
class Effect:
    """The dependence of one judge's verdicts on a covariate, with its 95 % interval."""

    worker: int
    outcome: str  # the label in quotes, or "the grade"
    estimate: float  # change of the share of verdicts, or of the grade, per standard deviation of the covariate
    low: float
    high: float
    p: float
    n: int


def covariate_effects(result: Result, covariate: Covariate, aside: Collection[int] = ()) -> list[Effect]:
    """Return the effect of a covariate on the verdicts of every judge, given known labels or the others' verdicts.

    Args:
        result: whose answers and known labels are used.
        covariate: one number per answer.
        aside: codes of judges with whom no judge is compared.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 5, 5, skills=np.full(5, 0.7), seed=0)
    >>> length = np.random.default_rng(0).normal(size=400)[crowd.answers.task]
    >>> effects = covariate_effects(quorate.aggregate(crowd.answers), Covariate("length", length))
    >>> len(effects), max(abs(effect.estimate) for effect in effects) < 0.1
    (5, True)
    """
    answers = result.answers
    x = covariate.values
    is_used = ~np.isnan(x)
    if is_used.sum() < MIN_VERDICTS or answers.n_classes < 2:
        return []
    scale = float(np.std(x[is_used])) or 1.0
    effects = []
    for outcome, values in _outcomes(answers):
        y = np.full((answers.n_workers, answers.n_tasks), np.nan)
        y[answers.worker, answers.task] = values[answers.label]
        others = [worker for worker in range(answers.n_workers) if worker not in aside]
        for worker in range(answers.n_workers):
            is_own = (answers.worker == worker) & is_used
            if is_own.sum() < MIN_VERDICTS or np.ptp(x[is_own]) == 0:
                continue
            z = np.full(answers.n_tasks, np.nan)
            z[answers.task[is_own]] = (x[is_own] - x[is_own].mean()) / scale
            if uses_known_labels(result):
                assert result.gold is not None
                fitted = _by_known_labels(y[worker], z, result.gold)
            else:
                fitted = _by_other_judges(y[worker], z, [y[other] for other in others if other != worker])
            if fitted is not None:
                effects.append(Effect(worker, outcome, *fitted, int(is_own.sum())))
    return effects


def uses_known_labels(result: Result) -> bool:
    """Whether there are enough known labels to use them as the true class, instead of the other judges' verdicts.

    >>> import quorate
    >>> uses_known_labels(quorate.aggregate(quorate.simulate.crowd(50, 5, 5, seed=0).answers))
    False
    """
    return result.gold is not None and int((result.gold >= 0).sum()) >= MIN_VERDICTS


def _outcomes(answers: Answers) -> list[tuple[str, FloatArray]]:
    """Return the outcomes that are tested, each as a number per class: grades, or whether a class was given."""
    grades = _grades(answers)
    if grades is not None:
        return [("its grade", grades)]
    classes = range(answers.n_classes) if answers.n_classes > 2 else (1,)
    return [(quoted(answers.classes[c].as_py()), np.eye(answers.n_classes)[c]) for c in classes]


def _grades(answers: Answers) -> FloatArray | None:
    """Return the classes as numbers; None unless they are at least three numbers."""
    if answers.n_classes < 3:
        return None
    try:
        return np.array([float(str(label)) for label in answers.classes.to_pylist()])
    except ValueError:
        return None


_Fitted = tuple[float, float, float, float]  # coefficient, its 95% interval, p-value


def _by_known_labels(y: FloatArray, x: FloatArray, gold: IntArray) -> _Fitted | None:
    """Regress verdicts on x within each known class, and return the mean coefficient of x.

    If only the accuracy depends on x, the coefficients of two classes have opposite signs and cancel: this is not
    counted as a preference.
    """
    used = np.flatnonzero((gold >= 0) & ~np.isnan(y) & ~np.isnan(x))
    classes, code, size = np.unique(gold[used], return_inverse=True, return_counts=True)
    is_large = size >= MIN_VERDICTS // 2
    used = used[is_large[code]]
    if not is_large.any() or len(used) < MIN_VERDICTS:
        return None
    estimates = []
    for known in classes[is_large]:
        rows = used[gold[used] == known]
        line = np.column_stack([np.ones(len(rows)), x[rows]])
        estimate = _estimate(line, line, y[rows], rows, len(y))
        if estimate is None:
            return None
        estimates.append(estimate)
    mean = _Estimate(
        float(np.mean([estimate.value for estimate in estimates])),
        np.mean([estimate.influence for estimate in estimates], axis=0),
    )
    return mean.fitted(len(used))


def _by_other_judges(y: FloatArray, x: FloatArray, others: Sequence[FloatArray]) -> _Fitted | None:
    """Regress verdicts on x and on each other judge's verdict, with the mean of the rest as its instrument.

    The part that the other judges' dependence on x explains is multiplied by `MIN_ACCURACY_RATIO`, 1 and
    `MAX_ACCURACY_RATIO`: the interval covers all three intervals, and the p-value is the largest.
    """
    has_verdict = [~np.isnan(verdict) for verdict in others]  # of each other judge on each task
    total = np.nansum(others, axis=0)
    n_verdicts = np.sum(has_verdict, axis=0)
    pairs = []
    n_used = 0
    for is_judged, verdict in zip(has_verdict, others, strict=True):
        rows = np.flatnonzero(is_judged & (n_verdicts > 1) & ~np.isnan(y) & ~np.isnan(x))
        if len(rows) < MIN_VERDICTS:
            continue
        mean_of_rest = (total[rows] - verdict[rows]) / (n_verdicts[rows] - 1)
        line = np.column_stack([np.ones(len(rows)), x[rows]])
        design = np.column_stack([verdict[rows], line])
        instruments = np.column_stack([mean_of_rest, line])
        without_verdicts = _estimate(line, line, y[rows], rows, len(y))
        by_instruments = _estimate(design, instruments, y[rows], rows, len(y))
        if without_verdicts is not None and by_instruments is not None:
            pairs.append((without_verdicts, by_instruments))
            n_used = max(n_used, len(rows))
    if not pairs:
        return None
    weights = np.array([1 / by_instruments.variance for _, by_instruments in pairs])
    weights /= weights.sum()
    fits = []
    for ratio in (MIN_ACCURACY_RATIO, 1.0, MAX_ACCURACY_RATIO):
        value = 0.0
        influence = np.zeros(len(y))
        for weight_of, (without_verdicts, by_instruments) in zip(weights, pairs, strict=True):
            value += weight_of * (without_verdicts.value - ratio * (without_verdicts.value - by_instruments.value))
            influence += weight_of * (
                without_verdicts.influence - ratio * (without_verdicts.influence - by_instruments.influence)
            )
        fits.append(_Estimate(float(value), influence).fitted(n_used))
    estimates = [fit[0] for fit in fits]
    has_one_sign = min(estimates) > 0 or max(estimates) < 0
    p = max(fit[3] for fit in fits) if has_one_sign else 1.0
    return estimates[1], min(fit[1] for fit in fits), max(fit[2] for fit in fits), p


@dataclass(frozen=True)
class _Estimate:
    """A coefficient, and the influence of each task on it: the variance is the sum of squared influences."""

    value: float
    influence: FloatArray

    @property
    def variance(self) -> float:
        return float(self.influence @ self.influence)

    def fitted(self, n: int) -> _Fitted:
        from scipy.special import stdtr, stdtrit

        return _with_interval(self.value, max(float(np.sqrt(self.variance)), 1e-9), n - 3, stdtr, stdtrit)


def _estimate(
    design: FloatArray, instruments: FloatArray, y: FloatArray, rows: IntArray, n_tasks: int
) -> _Estimate | None:
    """Return the last coefficient of a regression with instruments; None if it is not determined.

    Args:
        design: regressors, rows × coefficients.
        instruments: of the same shape; the regressors themselves for least squares.
        y: outcome of each row.
        rows: the task of each row.
        n_tasks: of the answers.
    """
    n, k = design.shape
    cross = instruments.T @ design
    if np.ptp(y) == 0 or np.ptp(design[:, -1]) == 0 or np.linalg.cond(cross) > 1e10:
        return None
    coefficients = np.linalg.solve(cross, instruments.T @ y)
    residual = (y - design @ coefficients) * np.sqrt(n / (n - k))
    influence = np.zeros(n_tasks)
    influence[rows] = (instruments @ np.linalg.inv(cross)[-1]) * residual
    return _Estimate(float(coefficients[-1]), influence) if (influence != 0).any() else None


def _with_interval(value: float, error: float, df: int, stdtr: Any, stdtrit: Any) -> tuple[float, float, float, float]:
    half = float(stdtrit(df, 0.975)) * error
    return value, value - half, value + half, float(2 * stdtr(df, -abs(value) / error))


def significant_effects(result: Result, covariate: Covariate) -> Iterator[tuple[Effect, float]]:
    """Yield the significant effects, judge by judge, smallest p-value first, each with its corrected p-value.

    Without known labels, a judge that depends on the covariate makes the others seem to depend on it with the opposite
    sign. So the judge with the smallest p-value is set aside and the others are tested against each other again, until
    no effect is significant.
    """
    aside: list[int] = []
    while True:
        effects = [effect for effect in covariate_effects(result, covariate, aside) if effect.worker not in aside]
        corrected = holm(np.array([effect.p for effect in effects]))
        if len(effects) == 0 or corrected.min() > SIGNIFICANCE_LEVEL:
            return
        clearest = int(corrected.argmin())
        worker = effects[clearest].worker
        yield from (
            (effect, float(p))
            for effect, p in zip(effects, corrected, strict=True)
            if effect.worker == worker and p <= SIGNIFICANCE_LEVEL
        )
        aside.append(worker)


def covariate_findings(result: Result, covariate: Covariate) -> Iterator[Finding]:
    """Yield a finding for each judge whose verdicts depend on a covariate.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(200, 5, 5, seed=0).answers
    >>> length = np.random.default_rng(1).normal(size=200)[answers.task]
    >>> list(covariate_findings(quorate.aggregate(answers), Covariate("length", length)))
    []
    """
    what = f'"{covariate.name}" is {"longer" if covariate.is_length else "higher"}'
    remedy = f'Verdicts should not depend on "{covariate.name}"; change the prompt'
    if covariate.is_length:
        remedy = "This is length bias; change the prompt"
    against = _against(result)
    for effect, adjusted in significant_effects(result, covariate):
        worker = named(result.answers.worker_names, [effect.worker])
        yield _finding(
            "covariate-bias",
            f"{worker} {_more_often(effect)} if {what}: {_size(effect, ' per standard deviation')}, compared with "
            f"{against}. {remedy}",
            effect,
            adjusted,
            {"column": covariate.name},
        )


def covariate_line(result: Result, covariate: Covariate) -> str:
    """Return a sentence that a covariate was tested without a finding, with the largest effect and its interval.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(200, 5, 5, seed=0).answers
    >>> length = np.random.default_rng(1).normal(size=200)[answers.task]
    >>> covariate_line(quorate.aggregate(answers), Covariate("length", length))
    'length was tested for 5 judges, and no effect was found. The largest estimate: w... per standard deviation.'
    """
    effects = covariate_effects(result, covariate)
    return _tested_line(covariate.name, result.answers, effects, " per standard deviation")


def self_preference_line(result: Result, systems: Sequence[Any]) -> str:
    """Return a sentence that judges were tested for preferring outputs of their own family, or why none was."""
    own_outputs = _own_outputs(result.answers, systems)
    if own_outputs is None:
        families = sorted({family_of(system) for system in systems if system is not None})
        return (
            f"Self-preference was not tested: no judge is of a family that wrote an output ({', '.join(families[:5])})."
        )
    covariate, scale = own_outputs
    effects = [_scaled(effect, scale) for effect in covariate_effects(result, covariate)]
    return _tested_line("Self-preference", result.answers, effects, "")


def _tested_line(what: str, answers: Answers, effects: Sequence[Effect], unit: str) -> str:
    if not effects and int((answers.per_worker > 0).sum()) < MIN_JUDGES:
        return f"{what} was not tested: without known labels, it needs {MIN_JUDGES} judges."
    if not effects:
        return f"{what} was not tested: no judge has {MIN_VERDICTS} verdicts that vary with it."
    largest = max(effects, key=lambda effect: abs(effect.estimate))
    factor, kind = (1, "grades") if largest.outcome == "its grade" else (100, "points")
    digits = 2 if factor == 1 else 1
    figures = (largest.estimate, largest.low, largest.high)
    estimate, low, high = (f"{factor * figure:+.{digits}f}" for figure in figures)
    n_judges = len({effect.worker for effect in effects})
    of_class = "" if largest.outcome == "its grade" else f" of {largest.outcome}"
    return (
        f"{what} was tested for {count(n_judges, 'judge')}, and no effect was found. The largest "
        f"estimate: {named(answers.worker_names, [largest.worker])} {estimate} {kind}{of_class} (95% "
        f"interval {low} to {high}){unit}."
    )


def _against(result: Result) -> str:
    return "the known labels" if uses_known_labels(result) else "the other judges on the same tasks"


def _more_often(effect: Effect) -> str:
    more = "more" if effect.estimate > 0 else "less"
    if effect.outcome == "its grade":
        return f"gives a {'higher' if effect.estimate > 0 else 'lower'} grade"
    return f"gives {effect.outcome} {more} often"


def _size(effect: Effect, per: str = "") -> str:
    factor, unit = (1, "grades") if effect.outcome == "its grade" else (100, "points")
    digits = 2 if factor == 1 else 1
    low, high = sorted((abs(effect.low), abs(effect.high)))
    numbers = [f"{factor * value:.{digits}f}" for value in (abs(effect.estimate), low, high)]
    return f"{numbers[0]} {unit}{per} (95% interval {numbers[1]} to {numbers[2]})"


def _finding(kind: str, sentence: str, effect: Effect, adjusted: float, more: dict[str, Any]) -> Finding:
    evidence = {
        "outcome": effect.outcome.strip('"'),
        "effect": effect.estimate,
        "low": effect.low,
        "high": effect.high,
        "p": effect.p,
        "verdicts": effect.n,
        **more,
    }
    figures = f"p {effect.p:.2g}, {adjusted:.2g} after Holm's correction over the judges; {effect.n:,} verdicts"
    return Finding(
        kind, sentence, adjusted, "adjusted p-value", workers=(effect.worker,), evidence=evidence, figures=figures
    )


def family_of(name: object) -> str:
    """Return the first word of a model's name in lower case: it stands for the family of the model.

    >>> family_of("openai/GPT-4o-mini"), family_of("gpt-4.1"), family_of("Claude 3 Opus")
    ('gpt', 'gpt', 'claude')
    """
    words = re.findall(r"[a-z]+", str(name).lower().rsplit("/", 1)[-1])
    return words[0] if words else ""


def _own_outputs(answers: Answers, systems: Sequence[Any]) -> tuple[Covariate, float] | None:
    """Return a covariate that is 1 for outputs of the judge's family, and its standard deviation; None if all are 0.

    An effect per standard deviation, divided by this standard deviation, is the effect of own outputs against others.
    """
    families = [family_of(name) for name in answers.worker_names.to_pylist()]
    authors = [family_of("" if system is None else system) for system in systems]
    own_output = np.array(
        [bool(author) and families[w] == author for author, w in zip(authors, answers.worker, strict=True)], float
    )
    if not own_output.any():
        return None
    return Covariate("own output", own_output), float(np.std(own_output)) or 1.0


def _scaled(effect: Effect, scale: float) -> Effect:
    estimate, low, high = (value / scale for value in (effect.estimate, effect.low, effect.high))
    return Effect(effect.worker, effect.outcome, estimate, low, high, effect.p, effect.n)


def self_preference_findings(result: Result, systems: Sequence[Any]) -> Iterator[Finding]:
    """Yield a finding for each judge that treats outputs of its own family differently from the other judges.

    Args:
        result: whose answers and known labels are used.
        systems: the system that wrote the output of each answer.
    """
    answers = result.answers
    own_outputs = _own_outputs(answers, systems)
    if own_outputs is None:
        return
    families = [family_of(name) for name in answers.worker_names.to_pylist()]
    covariate, scale = own_outputs
    against = _against(result)
    for standardised, adjusted in significant_effects(result, covariate):
        effect = _scaled(standardised, scale)
        worker = named(answers.worker_names, [effect.worker])
        yield _finding(
            "self-preference",
            (
                f"{worker} {_more_often(effect)} to outputs of its own family ({families[effect.worker]}): "
                f"{_size(effect)}, compared with {against}. Leave this judge out for these systems"
            ),
            effect,
            adjusted,
            {"family": families[effect.worker]},
        )


def side_findings(answers: Answers) -> Iterator[Finding]:
    """Yield one finding about workers who prefer different sides of the same comparisons, if labels name a side.

    Each worker's share of the second side is compared with that of the others on the same tasks, by the paired
    t-test with Holm's correction. The test does not show which of them is biased; pairs in both orders show it.

    >>> import quorate
    >>> rng = np.random.default_rng(0)
    >>> label = ["AB"[int(rng.random() < p)] for _ in range(100) for p in (0.8, 0.4, 0.4)]
    >>> table = {"task": np.repeat(range(100), 3), "worker": list("abc") * 100, "label": label}
    >>> [finding.sentence for finding in side_findings(quorate.read(table))]
    ['a answers "B" 71% of the time; b "A" 69%, on the same tasks. This may be position bias. To measure ...']
    """
    if answers.n_classes != 2 or not are_sides([str(name) for name in answers.classes.to_pylist()]):
        return
    from scipy.special import stdtr  # takes 0.1 s to import, and only comparisons of two sides need it

    is_second = (answers.label == 1).astype(np.float64)
    n_second = np.bincount(answers.task, is_second, answers.n_tasks)[answers.task]
    n_others = answers.per_task[answers.task] - 1.0
    others = np.divide(n_second - is_second, n_others, out=np.full(len(is_second), np.nan), where=n_others > 0)
    tested = []
    effects = []
    p_values = []
    for worker in range(answers.n_workers):
        is_own = (answers.worker == worker) & ~np.isnan(others)
        difference = is_second[is_own] - others[is_own]
        n = len(difference)
        if n < MIN_VERDICTS:
            continue
        error = max(float(difference.std(ddof=1) / np.sqrt(n)), 1e-9)
        tested.append(worker)
        effects.append(float(difference.mean()))
        p_values.append(float(2 * stdtr(n - 1, -abs(effects[-1]) / error)))
    adjusted_p = holm(np.array(p_values))
    differing_workers = [
        (worker, effect)
        for worker, effect, p in zip(tested, effects, adjusted_p, strict=True)
        if p <= SIGNIFICANCE_LEVEL and abs(effect) >= MIN_SIDE_DIFFERENCE
    ]
    if not differing_workers:
        return
    share = np.bincount(answers.worker, is_second, answers.n_workers) / np.maximum(answers.per_worker, 1)
    most_often = []  # of each worker: name, side, share of answers
    for worker, _ in sorted(differing_workers, key=lambda pair: -abs(share[pair[0]] - 0.5)):
        side = int(share[worker] >= 0.5)
        often = share[worker] if side else 1 - share[worker]
        name = plain(answers.worker_names[worker].as_py())
        most_often.append((name, quoted(answers.classes[side].as_py()), f"{often:.0%}"))
    name, side_label, often_text = most_often[0]
    sentence = f"{name} answers {side_label} {often_text} of the time"
    others_listed = [" ".join(words) for words in most_often[1:MAX_NAMED]]
    if len(others_listed) == 1:
        sentence += f"; {others_listed[0]}"
    elif others_listed:
        sentence += f"; {', '.join(others_listed[:-1])} and {others_listed[-1]}"
    more = f" and {len(most_often) - MAX_NAMED:,} more" if len(most_often) > MAX_NAMED else ""
    yield Finding(
        "position-bias",
        f"{sentence}{more}, on the same tasks. This may be position bias. To measure it, show each pair in both orders "
        f"and name the column of the pair with {for_shell('pairs= (--pair)')}",
        float(adjusted_p.min()),
        "adjusted p-value",
        workers=tuple(worker for worker, _ in differing_workers),
        evidence={"difference": {answers.worker_names[worker].as_py(): effect for worker, effect in differing_workers}},
    )


# Worker, share of pairs with the same answer in both orders, pairs, preference (-1 to 1) with its interval, p-value.
_PositionEffect = tuple[int, float, int, float, float, float, float]


def _position_effects(answers: Answers, pairs: Sequence[Any]) -> list[_PositionEffect]:
    """Return the preference of each worker for the second position, from pairs that it judged in both orders."""
    from scipy.special import stdtr, stdtrit

    if answers.n_classes != 2:
        return []
    _, codes = np.unique(np.array([str(pair) for pair in pairs], dtype=object).astype(str), return_inverse=True)
    has_pair = np.array([pair is not None for pair in pairs])
    effects: list[_PositionEffect] = []
    for worker in range(answers.n_workers):
        rows = np.flatnonzero((answers.worker == worker) & has_pair)
        n_shown = np.bincount(codes[rows])
        n_second = np.bincount(codes[rows], answers.label[rows] == 1, len(n_shown))
        preference = n_second[n_shown == 2] - 1.0  # -1, 0 or 1
        n = len(preference)
        if n < MIN_VERDICTS:
            continue
        error = float(preference.std(ddof=1) / np.sqrt(n))
        if error == 0:
            # All pairs have the same preference. If it is not 0, the standard error follows from the rule of three.
            error = float(np.sqrt(3 / n) / 1.96) if preference[0] else 0.0
        value = float(preference.mean())
        if error == 0:
            effects.append((worker, 0.0, n, 0.0, 0.0, 0.0, 1.0))
        else:
            interval = _with_interval(value, error, n - 1, stdtr, stdtrit)
            effects.append((worker, float(np.abs(preference).mean()), n, *interval))
    return effects


def position_line(answers: Answers, pairs: Sequence[Any]) -> str:
    """Return a sentence that workers were tested for a preferred position, with the largest effect.

    >>> import quorate
    >>> rows = {"task": list(range(80)), "worker": ["j"] * 80, "label": ["A", "B"] * 40}
    >>> position_line(quorate.read(rows), [k // 2 for k in range(80)])
    'Position was tested for 1 judge, and no effect was found. The largest estimate: j gives "A" 50% of the time ...'
    """
    effects = _position_effects(answers, pairs)
    if not effects:
        return f"Position was not tested: no judge has {MIN_VERDICTS} pairs in both orders, with two possible labels."
    worker, _, _, value, low, high, _ = max(effects, key=lambda effect: abs(effect[3]))
    label = quoted(answers.classes[int(value > 0)].as_py())
    sign = 1 if value > 0 else -1
    ends = sorted(min(max(0.5 + sign * side / 2, 0.0), 1.0) for side in (low, high))
    name = plain(answers.worker_names[worker].as_py())
    return (
        f"Position was tested for {count(len(effects), 'judge')}, and no effect was found. The "
        f"largest estimate: {name} gives {label} {0.5 + abs(value) / 2:.0%} of the time (95% interval "
        f"{ends[0]:.0%} to {ends[1]:.0%})."
    )


def position_findings(answers: Answers, pairs: Sequence[Any]) -> Iterator[Finding]:
    """Yield a finding for each judge that prefers a position, from pairs that were judged in both orders.

    Args:
        answers: with two classes, the positions; a pair in both orders is two tasks.
        pairs: the pair of each answer.

    >>> import quorate
    >>> rows = {"task": list(range(80)), "worker": ["j"] * 80, "label": ["A"] * 60 + ["A", "B"] * 10}
    >>> next(position_findings(quorate.read(rows), [k // 2 for k in range(80)])).sentence
    'j gives the same answer in both orders for 75% of 40 pairs, mostly "A": it gives "A" 88% of the time ...'
    """
    effects = _position_effects(answers, pairs)
    adjusted_p = holm(np.array([effect[-1] for effect in effects]))
    for (worker, inconsistent, n, value, low, high, p), adjusted in zip(effects, adjusted_p, strict=True):
        if adjusted > SIGNIFICANCE_LEVEL:
            continue
        label = quoted(answers.classes[int(value > 0)].as_py())
        ends = sorted(min(0.5 + side * (1 if value > 0 else -1) / 2, 1.0) for side in (low, high))
        share = 0.5 + abs(value) / 2
        sentence = (
            f"{plain(answers.worker_names[worker].as_py())} gives the same answer in both orders for "
            f"{inconsistent:.0%} of {count(n, 'pair')}, mostly {label}: it gives {label} {share:.0%} of "
            f"the time (95% interval {ends[0]:.0%} to {ends[1]:.0%}); without position bias this would be "
            "50%. Keep both orders of every pair, so that the bias cancels out"
        )
        effect = Effect(worker, label, share - 0.5, ends[0] - 0.5, ends[1] - 0.5, p, n)
        yield _finding("position-bias", sentence, effect, float(adjusted), {"inconsistent": float(inconsistent)})
