"""Scores against known scores: root mean square error, correlation, coverage of the intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from quorate.arrays import FloatArray, Shown, Table
from quorate.errors import NoRowsError, OptionError, QuorateError, about_argument, count, unknown_name_error
from quorate.io.arguments import check_arguments
from quorate.io.exports.detect import fields_of
from quorate.io.open_file import hold
from quorate.io.options import names_listed
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source, read_table
from quorate.io.scores import COLUMN_NAMES, ScoreKeywords, ScoreOptions, Scores, read_known_scores, read_scores
from quorate.io.write_table import SCHEMA_VERSION
from quorate.rating.methods import NEED_WORKERS, SCORE_METHODS, ScoreEstimate, rate_estimate

NORMAL_95 = 1.959963984540054
MIN_FOR_CORRELATION = 3  # tasks with both scores


@dataclass(frozen=True, repr=False)
class ScoreErrors(Shown):
    """Errors of scores against known scores."""

    rmse: float
    correlation: float | None  # Pearson's; None if one of the two is constant, or with fewer than 3 tasks
    mean_error: float  # mean of score - known
    coverage: float | None  # share of known scores within the intervals; None without intervals
    n_scored: int
    n_without_truth: int
    n_without_score: int

    def summary(self) -> str:
        """Return the errors as text, and what could not be compared."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the summary, a few lines."""
        correlation = "not defined" if self.correlation is None else f"{self.correlation:.3f}"
        lines = [
            f"Root mean square error {self.rmse:.3g}, correlation {correlation}, mean error {self.mean_error:+.3g} "
            f"({count(self.n_scored, 'task')})."
        ]
        if self.coverage is not None:
            lines.append(f"{self.coverage:.0%} of the known scores lie within the intervals.")
        if self.n_without_truth:
            lines.append(f"Not counted, because there is no known score: {count(self.n_without_truth, 'task')}.")
        if self.n_without_score:
            lines.append(f"Not counted, because there is no score: {count(self.n_without_score, 'task')}.")
        return lines


def score_errors(
    score: FloatArray, known: FloatArray, low: FloatArray | None = None, high: FloatArray | None = None
) -> dict[str, Any]:
    """Return RMSE, correlation, mean error and coverage of scores whose true values are all known.

    >>> round(score_errors(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))["rmse"], 3)
    0.577
    """
    error = score - known
    correlation = None
    if len(score) >= MIN_FOR_CORRELATION and np.std(score) > 0 and np.std(known) > 0:
        correlation = float(np.corrcoef(score, known)[0, 1])
    coverage = None
    if low is not None and high is not None:
        stated = np.isfinite(low) & np.isfinite(high)
        coverage = float(((low <= known) & (known <= high))[stated].mean()) if stated.any() else None
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "correlation": correlation,
        "mean_error": float(error.mean()),
        "coverage": coverage,
    }


@keep_pipes()
def score_scores(scores: Source, truth: Source, *, task: str = "task", score: str | None = None) -> ScoreErrors:
    """Compare a table of scores, as `quorate rate` writes it, with known scores.

    Args:
        scores: a table with the columns task and score, and score_low and score_high if it has intervals.
        truth: a table of known scores, or a mapping from task to score.
        task: the column of task ids, in both.
        score: the column of scores; by default ``score``, else ``label``, else ``rating``.

    Raises:
        NoRowsError: no task has both scores.

    >>> score_scores({"task": [1, 2], "score": [3.0, 4.0]}, {1: 3.0, 2: 5.0}).mean_error
    -0.5
    """
    scores = hold(scores)
    fields = fields_of(scores)
    column = score or next((name for name in COLUMN_NAMES if name in fields), "score")
    bounds = [name for name in ("score_low", "score_high") if name in fields]
    remedy = "The scores need the columns task and score; name your columns with --task and --label"
    table = read_table(scores, dict.fromkeys([task, column, *bounds], remedy), fixed=True)
    has_score = table.column(column).is_valid() if table.column(column).null_count else None
    if has_score is not None:
        table = table.filter(has_score)
    table = table.filter(pa.array([str(value).strip() != "" for value in table.column(column).to_pylist()]))
    order, estimate = read_known_scores(
        {task: table.column(task), column: table.column(column)},
        table.column(task).combine_chunks(),
        ScoreOptions(task=task, label=column),
    )
    ids = table.column(task).combine_chunks()
    with about_argument("truth="):
        known_ids, known = _known(truth, task, column)
    index_of_id = {value: k for k, value in enumerate(known_ids)}
    texts = [str(value) for value in ids.to_pylist()]
    known_row = np.array([index_of_id.get(texts[k], -1) for k in order])
    both = known_row >= 0
    if not both.any():
        raise NoRowsError("No task has both a score and a known score. Check that both files use the same task ids")
    ends = [np.array(table.column(name).to_pylist(), dtype=np.float64)[order][both] for name in bounds]
    figures = score_errors(estimate[both], known[known_row[both]], *(ends if len(ends) == 2 else ()))
    n = int(both.sum())
    return ScoreErrors(**figures, n_scored=n, n_without_truth=len(order) - n, n_without_score=len(known) - n)


def _known(truth: Source, task: str, column: str) -> tuple[list[str], FloatArray]:
    """Return the ids, as text, and the scores of a table of known scores."""
    truth = hold(truth)
    if isinstance(truth, Mapping) and task not in truth:
        truth = {task: list(truth.keys()), column: list(truth.values())}
    fields = fields_of(truth)
    name = (
        column if column in fields else next((candidate for candidate in COLUMN_NAMES if candidate in fields), column)
    )
    remedy = f"The known scores need the columns {task!r} and {name!r}; rename your columns"
    table = read_table(truth, {task: remedy, name: remedy}, fixed=True)
    ids = table.column(task).combine_chunks()
    unique = ids.unique()
    source = {task: table.column(task), name: table.column(name)}
    order, values = read_known_scores(source, unique, ScoreOptions(task=task, label=name))
    return [str(unique[int(k)].as_py()) for k in order], values


@dataclass(frozen=True, repr=False)
class ScoreComparison(Shown):
    """Comparison of methods: their errors if known scores are given, else their correlations."""

    table: Table
    n_tasks: int
    n_scored: int | None
    failures: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return the number of methods, and which is first, as text."""
        best = "smallest error" if self.n_scored is not None else "most like the others"
        first = self.table["method"][0].as_py()
        return f"{count(len(self.table), 'method')} on {count(self.n_tasks, 'task')}; {best}: {first}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything for a program."""
        return {
            "schema_version": SCHEMA_VERSION,
            "n_tasks": self.n_tasks,
            "n_scored": self.n_scored,
            "methods": self.table.to_pylist(),
            "failures": list(self.failures),
        }

    def _tables(self) -> tuple[Table, ...]:
        return (self.table,)


@check_arguments
def compare_scores(
    answers: Source | Scores,
    truth: Source = None,
    *,
    methods: Sequence[str] | str | None = None,
    gold: Source = None,
    **reading: Unpack[ScoreKeywords],
) -> ScoreComparison:
    """Run common methods for scores and `quorate.rate` on the same answers.

    Args:
        answers: what `quorate.read_scores` takes.
        truth: known scores to compare with; without them methods are compared with each other.
        methods: names of `SCORE_METHODS`; all by default.
        gold: known scores that `rate` may use.
        reading: options of `quorate.read_scores`.

    Raises:
        OptionError: there is no such method.

    >>> rows = {"task": [1, 1, 2, 2, 3, 3], "worker": list("ababab"), "score": [1, 2, 2, 3, 4, 6]}
    >>> compare_scores(rows, methods=["mean", "median"]).table["method"].to_pylist()
    ['mean', 'median']
    """
    scores = read_scores(answers, **reading)
    chosen = names_listed(methods, SCORE_METHODS)
    for name in chosen:
        if name not in SCORE_METHODS:
            raise unknown_name_error(name, SCORE_METHODS, "method for scores")
    if not scores.has_workers:
        chosen = [name for name in chosen if name not in NEED_WORKERS]
    known = None
    if truth is not None:
        with about_argument("truth= (--truth)"):
            known = read_known_scores(truth, scores.answers.task_names, scores.options)
    estimates: dict[str, ScoreEstimate] = {}
    failures = []
    for name in chosen:
        try:
            estimates[name] = rate_estimate(scores, gold) if name == "rate" else SCORE_METHODS[name](scores)
        except QuorateError as error:
            failures.append(f"{name}: {error}")
    if not estimates:
        raise OptionError(f"no method could run: {'; '.join(failures)}")
    rows = [_row(name, estimates, known) for name in estimates]
    key = "rmse" if known is not None else "correlation_with_others"
    sign = 1 if known is not None else -1
    rows.sort(key=lambda row: (row[key] is None, sign * (row[key] or 0.0)))
    n_scored = None if known is None else len(known[0])
    return ScoreComparison(Table(pa.Table.from_pylist(rows)), scores.n_tasks, n_scored, tuple(failures))


def _row(name: str, estimates: Any, known: Any) -> dict[str, Any]:
    estimate = estimates[name]
    low = estimate.low
    high = estimate.high
    if low is None and estimate.se is not None:
        low = estimate.score - NORMAL_95 * estimate.se
        high = estimate.score + NORMAL_95 * estimate.se
    if known is not None:
        known_tasks, known_scores = known
        ends = () if low is None else (low[known_tasks], high[known_tasks])
        return {"method": name, **score_errors(estimate.score[known_tasks], known_scores, *ends)}
    correlations = [_correlation(estimate.score, other.score) for label, other in estimates.items() if label != name]
    defined = [value for value in correlations if value is not None]
    half = None if low is None else float(np.nanmedian(high - low)) / 2
    mean = float(np.mean(defined)) if defined else None
    return {"method": name, "correlation_with_others": mean, "median_half_width": half}


def _correlation(one: FloatArray, two: FloatArray) -> float | None:
    both = np.isfinite(one) & np.isfinite(two)
    if both.sum() < MIN_FOR_CORRELATION or np.std(one[both]) == 0 or np.std(two[both]) == 0:
        return None
    return float(np.corrcoef(one[both], two[both])[0, 1])
