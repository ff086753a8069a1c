"""`Rating`: scores of the tasks, lines of the raters, reliability, and notes on what is not determined."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import stdtrit

from quorate.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Shown,
    Table,
    from_numpy,
    from_strings,
    table_of,
    take,
)
from quorate.errors import OptionError, count
from quorate.io.arguments import check_arguments
from quorate.io.columns import as_type, positions
from quorate.io.write_table import SCHEMA_VERSION
from quorate.notes import Note
from quorate.rating.reliability import TARGETS, Reliability
from quorate.rating.shared_error import SharedError

IDENTIFIED = "identified"
WEAKLY_IDENTIFIED = "weakly identified"
NOT_IDENTIFIED = "not identified"
FEW_ANSWERS = "few answers"
UNINFORMATIVE = "uninformative"
REVERSED = "reversed"
# Text of the summary by status of raters, for one and for several.
STATUS_TEXTS = {
    REVERSED: ("scores in the opposite direction", "score in the opposite direction"),
    UNINFORMATIVE: ("does not distinguish the tasks", "do not distinguish the tasks"),
    NOT_IDENTIFIED: ("has a scale that the scores do not determine", "have scales that the scores do not determine"),
    WEAKLY_IDENTIFIED: ("has a scale that is known only roughly", "have scales that are known only roughly"),
    FEW_ANSWERS: ("has few answers", "have few answers"),
}
STATUSES = (IDENTIFIED, WEAKLY_IDENTIFIED, NOT_IDENTIFIED, FEW_ANSWERS, UNINFORMATIVE, REVERSED)
CONVERGED = "converged"
NOT_CONVERGED = "not converged"
MAX_NAMED = 3  # raters that a line of the summary names


@dataclass(frozen=True)
class TaskScores:
    """Arrays of the tasks, in the order of the blocks; on the scale of the scores."""

    score: FloatArray  # NaN for a task without answers
    se: FloatArray
    low: FloatArray
    high: FloatArray
    df: FloatArray
    n_answers: IntArray
    disagreement: FloatArray  # 1 if it is as large as the raters' noise explains
    component: IntArray  # -1 for a task without answers
    mean: FloatArray  # plain mean of the answers
    panel_score: FloatArray  # on the panel's scale, before gold changes it
    panel_variance: FloatArray
    unit_variance: FloatArray  # part of se² due to the panel's unit, which further answers to a task do not reduce
    is_known: BoolArray
    above: FloatArray | None = None  # P(score > cut)


@dataclass(frozen=True)
class RaterLines:
    """Arrays of the raters; on the scale of the scores."""

    bias: FloatArray
    bias_se: FloatArray
    scale: FloatArray
    scale_se: FloatArray  # NaN where the scale is not identified
    noise: FloatArray
    weight: FloatArray  # information per answer, relative to the best rater
    n_answers: IntArray
    n_peers: IntArray
    component: IntArray
    status: IntArray  # index of STATUSES
    group: IntArray | None = None
    group_names: pa.Array | None = None


@dataclass(frozen=True, repr=False)
class Rating(Shown):
    """One score per task with an interval, and the bias, scale and noise of each rater."""

    task_ids: pa.Array
    worker_ids: pa.Array
    tasks: TaskScores
    raters: RaterLines
    reliability: Reliability
    shared: SharedError
    notes: tuple[Note, ...]
    status: str  # `CONVERGED` or `NOT_CONVERGED`
    passes: int
    level: float
    centre: float  # the score at which biases are stated: the mean of the answers
    n_answers: int
    n_known: int = 0
    density: float = float("nan")  # mean log density of an answer, predicted from all others, in nats
    tails: float = 1.0
    has_workers: bool = True
    shows_mean: bool = False  # whether the plain mean is listed in addition to the score
    names: dict[str, str] = field(default_factory=dict)  # engine, file

    @cached_property
    def scores(self) -> Table:
        """One row per task: score, standard error, interval, answers, disagreement, component."""
        tasks = self.tasks
        empty = tasks.n_answers == 0
        columns: dict[str, Any] = {
            "task": self.task_ids,
            "score": from_numpy(tasks.score, mask=empty),
            "se": from_numpy(tasks.se, mask=empty),
            "score_low": from_numpy(tasks.low, mask=empty),
            "score_high": from_numpy(tasks.high, mask=empty),
            "n_answers": tasks.n_answers.astype(np.int64),
            "disagreement": from_numpy(tasks.disagreement, mask=empty),
            "component": from_numpy(tasks.component.astype(np.int64), mask=empty),
        }
        if tasks.above is not None:
            columns["above"] = from_numpy(tasks.above, mask=empty)
        if self.shows_mean:
            columns["mean"] = from_numpy(tasks.mean, mask=empty)
        return Table(table_of(columns))

    @cached_property
    def workers(self) -> Table:
        """One row per rater: bias, scale and noise, weight, and whether the scale is identified."""
        raters = self.raters
        unused = raters.n_answers == 0
        columns: dict[str, Any] = {
            "worker": self.worker_ids,
            "bias": from_numpy(raters.bias, mask=unused),
            "bias_se": from_numpy(raters.bias_se, mask=unused | np.isnan(raters.bias_se)),
            "scale": from_numpy(raters.scale, mask=unused),
            "scale_se": from_numpy(raters.scale_se, mask=unused | np.isnan(raters.scale_se)),
            "intercept": from_numpy(self.intercept, mask=unused),
            "noise": from_numpy(raters.noise, mask=unused),
            "weight": raters.weight,
            "n_answers": raters.n_answers.astype(np.int64),
            "n_peers": raters.n_peers.astype(np.int64),
            "component": raters.component.astype(np.int64),
            "status": from_strings([STATUSES[code] for code in raters.status]),
        }
        if raters.group is not None:
            names = raters.group_names
            if names is None:
                columns["group"] = from_numpy(raters.group.astype(np.int64), mask=raters.group < 0)
            else:
                columns["group"] = take(pa.concat_arrays([names, pa.nulls(1, names.type)]), raters.group)
        rows = table_of(columns)
        return Table(rows if self.has_workers else rows.slice(0, 0))

    @property
    def intercept(self) -> FloatArray:
        """Score that each rater would give a task of score 0: answer = intercept + scale × score + noise."""
        return self.centre + self.raters.bias - self.raters.scale * self.centre

    def status_counts(self) -> dict[str, int]:
        """Return the number of raters of each status."""
        counts = np.bincount(self.raters.status, minlength=len(STATUSES))
        return {name: int(n) for name, n in zip(STATUSES, counts, strict=True)} if self.has_workers else {}

    @check_arguments
    def predict(self, tasks: Sequence[Any], workers: Sequence[Any]) -> Table:
        """Predict the answers of raters to tasks; an unknown task or rater has the crowd's values.

        Returns a table of task, worker, score, se, df (of Student's t) and the interval at the level of the result.
        """
        if len(tasks) != len(workers):
            raise OptionError(f"predict takes as many workers as tasks, got {len(tasks):,} and {len(workers):,}")
        mean, variance, df = self.predictive(
            positions(as_type(tasks, self.task_ids.type, "tasks"), self.task_ids),
            positions(as_type(workers, self.worker_ids.type, "workers"), self.worker_ids),
        )
        half = stdtrit(df, 0.5 + self.level / 2) * np.sqrt(variance * (df - 2) / df)
        columns = {
            "task": as_type(tasks, self.task_ids.type, "tasks"),
            "worker": as_type(workers, self.worker_ids.type, "workers"),
            "score": mean,
            "se": np.sqrt(variance),
            "df": np.full(len(mean), df),
            "score_low": mean - half,
            "score_high": mean + half,
        }
        return Table(table_of(columns))

    @check_arguments
    def predictive(self, task: IntArray, worker: IntArray) -> tuple[FloatArray, FloatArray, float]:
        """Return mean and variance of answers by codes (-1: unknown), and the degrees of freedom of Student's t."""
        known_task = (task >= 0) & (self.tasks.n_answers[task] > 0)
        known_worker = (worker >= 0) & (self.raters.n_answers[worker] > 0)
        model = self.reliability
        x = np.where(known_task, self.tasks.panel_score[task] - self.centre, 0.0)
        v = np.where(known_task, self.tasks.panel_variance[task], model.task)
        bias = np.where(known_worker, self.raters.bias[worker], 0.0)
        scale = np.where(known_worker, self.raters.scale[worker], 1.0)
        bias_variance = np.where(known_worker, np.nan_to_num(self.raters.bias_se[worker]) ** 2, model.bias)
        of_crowd = model.scale / max(model.task, 1e-300)
        scale_variance = np.where(known_worker, np.nan_to_num(self.raters.scale_se[worker]) ** 2, of_crowd)
        noise = np.where(known_worker, self.raters.noise[worker] ** 2, model.noise)
        noise = noise * np.where(known_task, self.tasks.disagreement[task], 1.0)
        variance = noise + scale**2 * v + bias_variance + x**2 * scale_variance
        kurtosis = 1 + 2 / self.tails
        df = 200.0 if kurtosis <= 3.03 else min(4 + 6 / (kurtosis - 3), 200.0)
        return self.centre + bias + scale * x, variance, df

    def summary(self) -> str:
        """Return the summary, a few lines."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return counts; range and precision; reliability; raters that stand out; what is not determined; warnings."""
        tasks = self.tasks
        rated = tasks.n_answers > 0
        who = f" by {count(len(self.worker_ids), 'rater')}" if self.has_workers else ", raters unknown"
        lines = [f"{count(int(rated.sum()), 'score')} from {count(self.n_answers, 'answer')}{who}."]
        unknown = rated & ~tasks.is_known
        half = np.median((tasks.high - tasks.low)[unknown]) / 2 if unknown.any() else 0.0
        low = tasks.score[rated].min()
        high = tasks.score[rated].max()
        lines.append(
            f"Scores range from {_short(low)} to {_short(high)}; the median half-width of {self.level:.0%} intervals "
            f"is {_short(half)}."
        )
        lines.append(self._reliability_line())
        if self.has_workers:
            lines.append(self._outstanding_line())
        lines += [note.text for note in self.notes]
        return lines

    def _reliability_line(self) -> str:
        model = self.reliability
        of_one = model.consistency()
        of_mean = model.consistency(model.k)
        if of_one is None or of_mean is None or of_one <= 0:
            return (
                "Reliability: not determined, because the tasks differ no more than the noise of the raters explains."
            )
        n_needed = {target: model.raters_needed(target) for target in TARGETS}
        needed = [f"{target:g} needs {count(n, 'rater')} per task" for target, n in n_needed.items() if n is not None]
        per_task = f"{model.k:.1f}".removesuffix(".0")
        assumed = " These figures assume that the raters' errors are independent." if self.shared.is_present else ""
        return (
            f"Reliability (consistency): {of_one:.2f} for one rater, {of_mean:.2f} for {per_task} answers per task. "
            f"Absolute agreement: {model.agreement() or 0:.2f} and {model.agreement(model.k) or 0:.2f}. A reliability "
            f"of {', '.join(needed)}.{assumed}"
        )

    def _outstanding_line(self) -> str:
        parts = []
        for name in (REVERSED, UNINFORMATIVE, NOT_IDENTIFIED, WEAKLY_IDENTIFIED, FEW_ANSWERS):
            codes = np.flatnonzero(self.raters.status == STATUSES.index(name))
            if len(codes):
                names = [str(worker) for worker in take(self.worker_ids, codes[:MAX_NAMED]).to_pylist()]
                more = f" and {len(codes) - MAX_NAMED:,} more" if len(codes) > MAX_NAMED else ""
                parts.append(
                    f"{count(len(codes), 'rater')} {STATUS_TEXTS[name][len(codes) > 1]}: {', '.join(names)}{more}."
                )
        return " ".join(parts) or "No rater is unusually biased or noisy."

    def to_dict(self, *, scores: bool = True, workers: bool = True) -> dict[str, Any]:
        """Return everything for a program."""
        shared = self.shared
        ids = self.worker_ids
        out: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "n_tasks": len(self.task_ids),
            "n_answers": self.n_answers,
            "n_workers": len(ids) if self.has_workers else None,
            "status": self.status,
            "passes": self.passes,
            "level": self.level,
            "reliability": self.reliability.to_dict(),
            "shared_error": {
                "size": shared.size,
                "z": shared.z,
                "within_groups": shared.rho,
                "pairs": [
                    {"workers": [ids[i].as_py(), ids[j].as_py()], "correlation": value} for i, j, value in shared.pairs
                ],
            },
            "raters_by_status": self.status_counts(),
            "notes": [{"kind": note.kind, "text": note.text} for note in self.notes],
        }
        if scores:
            out["scores"] = self.scores.to_pylist()
        if workers and self.has_workers:
            out["workers"] = self.workers.to_pylist()
        return out

    def _tables(self) -> tuple[Table, ...]:
        return self.scores, self.workers


def _short(value: float) -> str:
    return f"{value:.3g}"
