"""Score of one output at a time from stored raters, for programs that ask a panel of judges."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from quorate.arrays import Shown, Table
from quorate.errors import ConflictingGoldError, NoRowsError, ScoreError, check_level, count, shown
from quorate.io.columns import number_column
from quorate.io.read_table import Source, read_table
from quorate.io.values import id_text
from quorate.rating.rating import Rating

COLUMNS = ("worker", "intercept", "scale", "noise")
NEEDED = "It is the table of raters that `quorate rate --workers-out` writes"
INTERVAL_DF = 8.0  # of Student's t: as if the noise of a rater was estimated from about ten answers


@dataclass(frozen=True, slots=True)
class AgreedScore:
    """The score of a panel for one output."""

    score: float | None  # None without scores
    se: float | None
    score_low: float | None
    score_high: float | None
    n_scores: int  # number of scores used
    n_unknown: int  # scores of raters who are not in the table, used with the mean line of the others


@dataclass(frozen=True, repr=False)
class ScoreConsensus(Shown):
    """A panel of raters with stored lines; call it with the scores of one output."""

    lines: Mapping[str, tuple[float, float, float]]  # intercept, scale, noise
    centre: float = 0.0  # mean of the scores of tasks
    task_deviation: float | None = None  # of the scores of tasks, for shrinkage; None: no shrinkage
    level: float = 0.95

    def summary(self) -> str:
        """Return the number of raters as text."""
        return f"Consensus of {count(len(self.lines), 'rater')}. Call it with the scores of one output"

    def __call__(self, scores: Mapping[Any, Any]) -> AgreedScore:
        """Combine scores by precision: answer = intercept + scale × score + noise.

        Raises:
            ScoreError: a score is not a number.

        >>> raters = {"worker": ["a", "b"], "intercept": [1.0, 0.0], "scale": [1.0, 1.0], "noise": [0.5, 0.5]}
        >>> panel = score_consensus(raters)
        >>> panel({"a": 4.0, "b": 3.0}).score
        3.0
        """
        mean_line = np.mean(list(self.lines.values()), axis=0)
        precision = 0.0
        total = 0.0
        n_used = 0
        n_unknown = 0
        if self.task_deviation is not None:
            precision = self.task_deviation**-2
        for rater, value in scores.items():
            if value is None or (isinstance(value, float) and np.isnan(value)):
                continue
            try:
                y = float(value)
            except (TypeError, ValueError):
                raise ScoreError(f"the score of {shown(rater)} is {shown(value)}, which is not a number") from None
            name = id_text(rater) or ""
            line = self.lines.get(name)
            if line is None:
                n_unknown += 1
            intercept, scale, noise = mean_line if line is None else line
            weight = scale**2 / noise**2
            precision += weight
            total += scale * (y - intercept - scale * self.centre) / noise**2
            n_used += 1
        if n_used == 0 or precision <= 0:
            return AgreedScore(None, None, None, None, n_used, n_unknown)
        score = self.centre + total / precision
        se = precision**-0.5
        half = float(stdtrit(INTERVAL_DF, 0.5 + self.level / 2)) * se
        return AgreedScore(float(score), float(se), float(score - half), float(score + half), n_used, n_unknown)


def score_consensus(
    raters: Source | Rating,
    *,
    centre: float | None = None,
    task_deviation: float | None = None,
    level: float = 0.95,
) -> ScoreConsensus:
    """Return the consensus of a panel from stored raters; call it with the scores of one output at a time.

    Args:
        raters: a `Rating`, the file that `quorate rate --workers-out` wrote, or such a table.
        centre: mean of the scores of tasks, to which scores are shrunk if `task_deviation` is given; by default that of
            the `Rating`.
        task_deviation: standard deviation of the scores of tasks; by default that of the `Rating`. Without it, scores
            are not shrunk.
        level: level of the intervals.

    Raises:
        InputError: the table has no raters or lines.
    """
    check_level(level)
    if isinstance(raters, Rating):
        centre = raters.centre if centre is None else centre
        task_deviation = float(np.sqrt(raters.reliability.task)) if task_deviation is None else task_deviation
        raters = raters.workers
    source = raters.arrow if isinstance(raters, Table) else raters
    table = read_table(source, dict.fromkeys(COLUMNS, NEEDED), fixed=True)
    names = [id_text(name) or "" for name in table.column("worker").to_pylist()]
    if len(set(names)) < len(names):
        raise ConflictingGoldError("a rater is listed twice in the table of raters; keep one row each")
    intercept, scale, noise = (
        number_column(table.column(name), name, "the table of raters", allow_missing=True, error=ScoreError)
        for name in COLUMNS[1:]
    )
    known = np.isfinite(intercept) & np.isfinite(scale) & (noise > 0)
    if not known.any():
        raise NoRowsError("no rater of the table has an intercept, a scale and a noise; a consensus needs some")
    lines = {
        name: (float(a), float(b), float(s))
        for name, a, b, s, is_known in zip(names, intercept, scale, noise, known, strict=True)
        if is_known
    }
    return ScoreConsensus(lines, centre or 0.0, task_deviation, level)
