"""Numeric scores of many raters -> one score per task with an interval; `quorate.rate`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from scipy.special import stdtr, stdtrit

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.sampling import hash_ids
from quorate.errors import OptionError, ScoreError, about_argument, check_level
from quorate.interrater.intraclass import intraclass, variance_components
from quorate.io.arguments import check_arguments
from quorate.io.groups import groups_of
from quorate.io.read_table import Source
from quorate.io.scores import Scores, WideScoreKeywords, read_known_scores, read_scores
from quorate.rating.fit import RatingFit, fit, posteriors
from quorate.rating.gold import MIN_KNOWN, GoldFit, to_gold
from quorate.rating.hyperparameters import Design, unit_variance
from quorate.rating.notes import piled_up, rating_notes
from quorate.rating.rating import (
    CONVERGED,
    FEW_ANSWERS,
    IDENTIFIED,
    NOT_CONVERGED,
    NOT_IDENTIFIED,
    REVERSED,
    STATUSES,
    UNINFORMATIVE,
    WEAKLY_IDENTIFIED,
    RaterLines,
    Rating,
    TaskScores,
)
from quorate.rating.reliability import Reliability
from quorate.rating.scores import ScoreBlocks, component_of_tasks, score_blocks
from quorate.rating.shared_error import SharedError, correlated_errors, log_scale_errors, pair_tables

MIN_ANSWERS = 4  # of a rater; with fewer its status is `few answers`
MIN_TREND_TASKS = 20  # tasks with two answers, to estimate how disagreement depends on the score
DISAGREEMENT_BOUNDS = (0.1, 10.0)  # of a task's noise variance relative to that of its raters
DISAGREEMENT_DF_BOUNDS = (3.0, 1e3)
TREND_RIDGE = (1e-9, 5.0, 5.0)  # pseudo-answers without a trend; the constant is not shrunk
MIN_INTERVAL_DF = 3.0  # degrees of freedom of Student's t
PASSES = 300  # maximum number of passes
TOLERANCE = 1e-4  # change of a rater's line, in standard deviations of the scores


@check_arguments
def rate(
    answers: Source | Scores,
    *,
    gold: Source = None,
    group: str | Mapping[Any, Any] | None = None,
    bounds: tuple[float, float] | None = None,
    cut: float | None = None,
    level: float = 0.95,
    same_scale: bool = False,
    passes: int = PASSES,
    tol: float = TOLERANCE,
    **reading: Unpack[WideScoreKeywords],
) -> Rating:
    """Rate tasks: one score per task with an interval, and the bias, scale and noise of each rater.

    Args:
        answers: what `quorate.read_scores` takes, or `Scores`.
        gold: known scores of some tasks, on the scale of the answers or another: a mapping from task to score, or a
            table with the columns of the answers.
        group: groups of raters whose errors may be correlated: a column name, or a mapping from rater to group.
        bounds: the ends of the scale; scores and intervals are cut there.
        cut: adds the column ``above``, the probability that the score is greater.
        level: level of the intervals.
        same_scale: keep all scales at 1: raters differ in bias and noise only.
        passes: largest number of passes over the answers.
        tol: largest change of a rater's line at which the fit ends, in standard deviations of the scores.
        reading: options of `quorate.read_scores`: task, worker, score, on_conflict, skip_missing, …

    Raises:
        ScoreError: a score is not a number, or the scores determine nothing: one rater, no task with two raters, fewer
            than two tasks, or all scores equal.
        InputError: the data cannot be used; each cause has its own class.

    >>> rows = [(t, w, q + b) for t, q in enumerate([1, 2, 4, 5]) for w, b in (("ann", 0), ("bob", 1), ("eve", -1))]
    >>> task, worker, score = zip(*rows)
    >>> rating = rate({"task": task, "worker": worker, "score": score})
    >>> [round(value) for value in rating.scores["score"].to_pylist()]
    [1, 2, 4, 5]
    """
    column = group if isinstance(group, str) else None
    scores = read_scores(answers, **reading) if column is None else read_scores(answers, group=column, **reading)
    if group is not None and column is None and not scores.has_workers:
        raise OptionError(
            "group= (--group) has no effect with worker='none' (--worker none), because the raters are unknown. Leave "
            "it out"
        )
    codes = None if group is None or column is not None else groups_of(group, scores.answers)
    options = RatingOptions(bounds, cut, level, same_scale, passes, tol)
    return rate_blocks(score_blocks(scores, codes), options, gold=gold)


@dataclass(frozen=True)
class RatingOptions:
    """Options of `rate`, except the known scores and those for reading; see `rate`.

    Raises:
        OptionError: an option has an invalid value.
    """

    bounds: tuple[float, float] | None = None
    cut: float | None = None
    level: float = 0.95
    same_scale: bool = False
    passes: int = PASSES
    tol: float = TOLERANCE

    def __post_init__(self) -> None:
        check_level(self.level)
        bounds = self.bounds
        if bounds is not None and (len(bounds) != 2 or not np.isfinite(bounds).all() or bounds[0] >= bounds[1]):
            bounds_given = ",".join(f"{end:g}" for end in bounds)
            raise OptionError(
                "bounds= (--bounds) takes the lower end of the scale, then the upper end, such as 1,5; got "
                f"{bounds_given}"
            )
        if self.cut is not None and not np.isfinite(self.cut):
            raise OptionError(f"cut= (--cut) must be a finite number, got {self.cut}")
        if self.passes < 1:
            raise OptionError(f"passes= must be at least 1, got {self.passes}")
        if not self.tol > 0:
            raise OptionError(f"tol= must be greater than 0, got {self.tol}")


def rate_blocks(table: ScoreBlocks, options: RatingOptions, *, gold: Any = None) -> Rating:
    """Rate scores in blocks in memory, on disk or in Spark; see `rate`."""
    passes = options.passes
    tol = options.tol
    _refuse_undetermined(table)
    task_ids = table.task_ids()
    known = None
    if gold is not None and not (isinstance(gold, Mapping) and not gold):
        reading = table.options
        assert reading is not None
        with about_argument("gold= (--gold)"):
            known = read_known_scores(gold, task_ids, reading)
    design = _design(table, options.same_scale)
    fitted = fit(table, design, passes=passes, tol=tol)
    restriction = ""
    for simpler, what in _simpler_designs(table, design) if not fitted.converged else ():
        alternative = fit(table, simpler, passes=passes, tol=tol)
        if alternative.converged:
            fitted = alternative
            restriction = what
            break
    posterior, density = posteriors(table, fitted)
    if piled_up(table) and fitted.converged and fitted.design.has_free_scales:
        # If most scores are at one end, the fit with scales has several optima, some of them poor. On 72 simulated
        # crowds the choice by predictive density raised the mean correlation with the truth from .671 to .678.
        alternative = fit(table, _design(table, same_scale=True), passes=passes, tol=tol)
        other, other_density = posteriors(table, alternative)
        if alternative.converged and other_density > density:
            fitted = alternative
            posterior = other
            density = other_density
            restriction = "all scales are held at 1 (as with --same-scale)"
    per_task = table.per_task
    disagreement, inflation = task_disagreement(posterior, per_task, fitted)
    mean = posterior[:, 0]
    variance = posterior[:, 1] * (1 + (inflation - 1) * np.clip(1 - posterior[:, 1] / fitted.raters.variance, 0, 1))
    shared = SharedError(None, None, rho=fitted.raters.rho)
    log_scale_se = None
    is_weak = np.zeros(len(table.worker_ids), bool)
    if table.has_workers and len(table.worker_ids) > 2:
        pairs = pair_tables(table, fitted, mean, variance)
        shared = correlated_errors(pairs, table.group, fitted.raters.rho)
        if fitted.design.has_free_scales:
            log_scale_se, is_weak = log_scale_errors(pairs, fitted)
    panel_variance = variance
    variance = variance * shared.widening(per_task)
    known_fit = None
    if known is not None and len(known[0]) >= MIN_KNOWN:
        hashes = hash_ids(task_ids.take(pa.array(known[0])))
        standardised = (known[1] - table.middle) / table.unit
        known_fit = to_gold(table, fitted, mean, variance, known[0], standardised, hashes)
    tasks = _task_scores(table, fitted, (mean, panel_variance), variance, disagreement, known, known_fit, options)
    raters = _rater_lines(table, fitted, log_scale_se, is_weak, options.same_scale, bool(restriction))
    reliability = _reliability(table, fitted, known_fit)
    n_known = 0 if known is None else len(known[0])
    notes = rating_notes(table, fitted, tasks, raters, shared, known_fit, n_known=n_known, restriction=restriction)
    return Rating(
        task_ids=task_ids,
        worker_ids=table.worker_ids if table.has_workers else table.worker_ids.slice(0, 0),
        tasks=tasks,
        raters=raters,
        reliability=reliability,
        shared=shared,
        notes=tuple(notes),
        status=CONVERGED if fitted.converged else NOT_CONVERGED,
        passes=fitted.passes,
        level=options.level,
        centre=table.middle,
        n_answers=int(fitted.design.n_answers.sum()),
        n_known=n_known,
        density=density - float(np.log(table.unit)),
        tails=fitted.raters.tails,
        has_workers=table.has_workers,
        shows_mean=not fitted.converged or bool(restriction) or piled_up(table),
    )


def _refuse_undetermined(table: ScoreBlocks) -> None:
    counts = table.counts
    n_raters = int((np.asarray(table.blocks.per_worker) > 0).sum())
    if counts.n_tasks < 2:
        raise ScoreError(
            f"there is only {counts.n_tasks} task with scores; at least 2 are needed to compare raters. Give more tasks"
        )
    if int((table.value_counts > 0).sum()) == 1:
        value = table.raw_values[np.flatnonzero(table.value_counts)[0]]
        raise ScoreError(
            f"all {int(table.value_counts.sum()):,} scores are {value:g}; nothing distinguishes tasks or raters. Check "
            "the column of the scores (score=, --score)"
        )
    if table.has_workers and n_raters == 1:
        raise ScoreError(
            "there is only one rater; its bias and noise cannot be separated from the scores. Give the scores of at "
            "least 2 raters; if the raters are unknown, use worker='none' (--worker none)"
        )
    if counts.n_compared_tasks == 0:
        more = "raters" if table.has_workers else "scores"
        raise ScoreError(
            f"none of the {counts.n_tasks:,} tasks has two {more}, so the raters' biases cannot be separated from the "
            "scores. Let some tasks be scored twice"
        )


def _design(table: ScoreBlocks, same_scale: bool) -> Design:
    """Return the design: scales are estimated in components with an odd cycle; two raters alone share one noise."""
    n = np.asarray(table.blocks.per_worker).astype(np.float64)
    n_tasks = table.counts.n_tasks
    if not table.has_workers:
        return Design(n, n_tasks, np.zeros(len(n), bool), bias_is_free=False, one_noise=True)
    component, bipartite = table.graph
    used = n > 0
    sizes = np.bincount(component[used], minlength=len(bipartite))
    free = used & ~bipartite[component] & (not same_scale)
    in_pair = used & (sizes[component] == 2)
    pool = np.where(in_pair, component, -1)
    return Design(n, n_tasks, free, noise_pool=pool if in_pair.any() else None)


def _simpler_designs(table: ScoreBlocks, design: Design) -> Iterator[tuple[Design, str]]:
    """Yield simpler designs and their descriptions, for scores on which the full design does not converge."""
    same_scale = _design(table, same_scale=True)
    if design.has_free_scales:
        yield same_scale, "all scales are held at 1 (as with --same-scale)"
    if not design.one_noise:
        yield replace(same_scale, one_noise=True), "all scales are held at 1 and all raters have one noise"


def task_disagreement(posterior: FloatArray, per_task: IntArray, fitted: RatingFit) -> tuple[FloatArray, FloatArray]:
    """Return the noise variance of each task relative to its raters', by its score and its answers, shrunk.

    It is used for intervals only; inside the passes it raised the likelihood and made scores worse.

    Returns:
        The ratio, and the factor of the tasks' variances. In the factor the trend over scores is at least 1:
        raters agree more near the ends of a scale because answers are cut there, which does not make scores more
        precise. With the plain ratio, 95 % intervals of 5-point scores were narrowest at the ends and covered 53 %
        there (more than 1.5 standard deviations from the mean).
    """
    raters = fitted.raters
    n = per_task.astype(np.float64)
    if (n >= 2).sum() < MIN_TREND_TASKS:
        return np.ones(len(n)), np.ones(len(n))
    position = (posterior[:, 0] - raters.mean) / np.sqrt(raters.variance)
    noise_sum = posterior[:, 2]
    regressors = np.stack([np.ones(len(n)), position, position**2], axis=1)
    weighted = (regressors.T * n) @ regressors + np.diag(TREND_RIDGE)
    trend = np.linalg.solve(weighted, regressors.T @ noise_sum)
    expected = np.clip(regressors @ trend, *DISAGREEMENT_BOUNDS)
    several = n >= 3
    excess = 0.0
    if several.any():
        ratio = noise_sum[several] / n[several] / expected[several]
        excess = float(np.mean((ratio - 1) ** 2) - np.mean(2 / (raters.tails * n[several])))
    df = float(np.clip(2 / max(excess, 1e-3), *DISAGREEMENT_DF_BOUNDS))
    n_normal = raters.tails * n
    ratio = (df * expected + raters.tails * noise_sum) / (df + n_normal)
    at_least_one = np.maximum(expected, 1.0)
    inflation = (df + raters.tails * noise_sum / expected) / (df + n_normal) * at_least_one
    return np.asarray(ratio, np.float64), np.asarray(inflation, np.float64)


def _task_scores(
    table: ScoreBlocks,
    fitted: RatingFit,
    panel: tuple[FloatArray, FloatArray],
    variance: FloatArray,
    disagreement: FloatArray,
    known: tuple[IntArray, FloatArray] | None,
    known_fit: GoldFit | None,
    options: RatingOptions,
) -> TaskScores:
    per_task = table.per_task
    mean = panel[0]
    df = np.maximum(per_task - 1 + fitted.raters.noise_df, MIN_INTERVAL_DF)
    is_known = np.zeros(len(mean), bool)
    score = mean * table.unit + table.middle
    unit_part = unit_variance(fitted.raters, fitted.design) * (mean - fitted.raters.mean) ** 2
    se = np.sqrt(variance + unit_part) * table.unit
    if known_fit is not None:
        unit_part = np.zeros(len(mean))
        score = known_fit.mean * table.unit + table.middle
        se = np.sqrt(known_fit.variance) * table.unit
        df = np.full(len(mean), known_fit.df)
    if known is not None:
        is_known[known[0]] = True
        score[known[0]] = known[1]
        se[known[0]] = 0.0
    distinct, inverse = np.unique(df, return_inverse=True)
    half = stdtrit(distinct, 0.5 + options.level / 2)[inverse] * se
    low = score - half
    high = score + half
    above = None
    if options.cut is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(se > 0, stdtr(df, (score - options.cut) / se), (score > options.cut).astype(np.float64))
    if options.bounds is not None:
        score, low, high = (
            np.where(is_known, values, np.clip(values, *options.bounds)) for values in (score, low, high)
        )
    component = np.zeros(len(mean), np.int64)
    if table.has_workers:
        component = np.concatenate(list(table.blocks.map(component_of_tasks, table.graph[0])))
    rated = per_task > 0
    return TaskScores(
        score=np.where(rated, score, np.nan),
        se=se,
        low=low,
        high=high,
        df=df,
        n_answers=per_task,
        disagreement=disagreement,
        component=np.where(rated, component, -1),
        mean=table.means,
        panel_score=panel[0] * table.unit + table.middle,
        panel_variance=panel[1] * table.unit**2,
        unit_variance=unit_part * table.unit**2,
        is_known=is_known,
        above=above,
    )


def _rater_lines(
    table: ScoreBlocks,
    fitted: RatingFit,
    log_scale_se: FloatArray | None,
    is_weak: np.ndarray,
    same_scale: bool,
    is_restricted: bool,
) -> RaterLines:
    raters = fitted.raters
    n = fitted.design.n_answers
    assert raters.covariance is not None
    bias, scale = raters.line
    bias_se = np.sqrt(np.maximum(raters.covariance[0], 0.0))
    scale_se = np.sqrt(np.maximum(raters.covariance[2], 0.0))
    if log_scale_se is not None:
        inflated = np.abs(scale) * log_scale_se
        scale_se = np.where(is_weak, np.maximum(scale_se, inflated), scale_se)
    if not table.has_workers:
        numbers = ("bias", "bias_se", "scale", "scale_se", "noise", "weight")
        codes = ("n_answers", "n_peers", "component", "status")
        empty: dict[str, Any] = dict.fromkeys(numbers, np.zeros(0)) | dict.fromkeys(codes, np.zeros(0, np.int64))
        return RaterLines(**empty)
    component, bipartite = table.graph
    sizes = np.bincount(component, minlength=len(bipartite))
    free = fitted.design.scale_is_free
    status = np.full(len(n), STATUSES.index(IDENTIFIED))
    status[is_weak & free] = STATUSES.index(WEAKLY_IDENTIFIED)
    status[free & (scale < -2 * scale_se)] = STATUSES.index(REVERSED)
    status[free & (np.abs(scale) < scale_se)] = STATUSES.index(UNINFORMATIVE)
    status[n < MIN_ANSWERS] = STATUSES.index(FEW_ANSWERS)
    undetermined = bipartite[component] & (sizes[component] > 0) if not same_scale else sizes[component] == 1
    # Scales that are fixed only because the fit did not converge are not identified either.
    status[undetermined | (is_restricted & (n >= MIN_ANSWERS))] = STATUSES.index(NOT_IDENTIFIED)
    information = scale**2 / raters.noise
    weight = np.where(n > 0, information, 0.0)
    group = None
    if table.has_groups:
        group = table.group
    names = table.group_names if group is not None else None
    if names is not None and group is not None:
        group = np.where(group < len(names), group, len(names))
    return RaterLines(
        bias=bias * table.unit,
        bias_se=np.where(sizes[component] == 1, np.nan, bias_se * table.unit),
        scale=scale,
        scale_se=np.where(free, scale_se, np.nan),
        noise=np.sqrt(raters.noise) * table.unit,
        weight=weight / max(weight.max(), 1e-300),
        n_answers=n.astype(np.int64),
        n_peers=table.blocks.n_peers(),
        component=component,
        status=status,
        group=group,
        group_names=names,
    )


def _reliability(table: ScoreBlocks, fitted: RatingFit, known_fit: GoldFit | None) -> Reliability:
    raters = fitted.raters
    counts = table.counts
    n = fitted.design.n_answers
    square = float(table.value_counts @ table.values**2)
    task_square, task_cells, task_answers_square = counts.moments
    if table.has_workers:
        components = variance_components(
            square,
            task_square,
            counts.per_rater[0],
            n,
            counts.per_rater[1],
            task_cells,
            task_answers_square,
            counts.n_tasks,
        )
        agreement, consistency = intraclass(components)
    else:
        total = n.sum()
        rest = (square - task_square) / max(total - counts.n_tasks, 1)
        between = (task_square - (counts.n_tasks - 1) * rest) / (total - task_answers_square / total)
        agreement, consistency = intraclass((between, 0.0, rest))
    unit2 = table.unit**2
    return Reliability(
        task=raters.variance * unit2,
        bias=raters.bias_variance * unit2 if fitted.design.bias_is_free else 0.0,
        scale=raters.scale_variance * raters.variance * unit2 if fitted.design.has_free_scales else 0.0,
        noise=float(np.average(raters.noise, weights=n)) * unit2,
        shared=None if known_fit is None else known_fit.shared_variance * unit2,
        k=float(n.sum() / counts.n_tasks),
        agreement_one=agreement,
        consistency_one=consistency,
    )
