"""Whether the known labels are a random sample, with which probabilities; and plans of a sample to label.

A plan states how many labels must be known for an interval of a given width, and which tasks to label for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, Table, table_of, take, to_numpy
from quorate.blocks.sampling import hash_ids, order_by_hash
from quorate.errors import (
    ColumnTypeError,
    MissingColumnError,
    OptionError,
    count,
    for_shell,
    in_shell,
    listing,
    rows_phrase,
)
from quorate.estimation.estimands import Estimand
from quorate.estimation.gold_sample_check import Imbalance, find_imbalance
from quorate.estimation.means import MIN_KNOWN_LABELS, ByKnown, MeanEstimator
from quorate.estimation.prediction_powered import PSEUDO_OBSERVATIONS, KnownSample, score_ends, tuning_factors
from quorate.io.columns import as_type, encode, positions
from quorate.io.dataframes import is_series
from quorate.io.read_table import Source, read_table
from quorate.result import Result

RANDOM = "random"
ADVISED = "advised"
UNKNOWN = "unknown"
SAMPLED = (RANDOM, ADVISED, UNKNOWN)
PROBABILITY = "inclusion_probability"


SamplingName: TypeAlias = Literal["random", "advised", "unknown"]


@dataclass(frozen=True)
class Sampling:
    """How the known labels were drawn, and what shows that they are not a random sample."""

    sample: KnownSample | None  # None: not a known random sample; the labels are used for their own tasks only
    imbalance: Imbalance | None = None  # a difference that random samples do not have; None also if not tested
    is_assumed: bool = False  # whether the random sample is only assumed, not stated


def sampling_of(
    answers: Answers, known: IntArray, result: Result, sampled: str | None, probability: FloatArray | None
) -> Sampling:
    """Return of which sample the known labels are.

    A stated sampling is used as stated. Otherwise they count as a random sample, unless a test rejects this.

    Args:
        answers: who answered what.
        known: the known class of each task, -1 where unknown.
        result: of an aggregation without the known labels.
        sampled: ``random``, ``advised`` or ``unknown``; None if not stated.
        probability: inclusion probability of each task, NaN where it is not given; None without such a column.

    Raises:
        OptionError: there are too few known labels, or the stated sampling needs a column that is missing.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 5, 3).answers
    >>> known = np.where(np.arange(100) % 10 == 0, 0, -1)
    >>> sampling_of(answers, known, quorate.aggregate(answers), None, None).sample.n_drawn
    10
    """
    rows = np.flatnonzero(known >= 0)
    has_probabilities = probability is not None and bool(np.isfinite(probability[rows]).all())
    if sampled == UNKNOWN:
        return Sampling(None)
    if sampled == ADVISED and not has_probabilities:
        raise OptionError(
            f"sampled='advised' (--sampled advised) needs the column {PROBABILITY} that quorate advise --expert "
            "wrote, for every known label. Add it, or use random or unknown"
        )
    has_design = has_probabilities and sampled != RANDOM
    sample = KnownSample.random(rows, answers.n_tasks)
    if has_design and probability is not None:
        sample = KnownSample(rows, probability[rows], answers.n_tasks)
    if sample.n_drawn < MIN_KNOWN_LABELS and len(rows) < answers.n_tasks:
        at_random = " drawn at random" if sample.n_drawn < len(rows) else ""
        verb = "is" if sample.n_drawn == 1 else "are"
        raise OptionError(
            f"{count(sample.n_drawn, 'known label')}{at_random} {verb} too few for an interval; at least "
            f"{MIN_KNOWN_LABELS} are needed, and 30 are better. Label more (plan=, --plan), or use sampled='unknown' "
            "(--sampled unknown) to estimate without them"
        )
    if has_design:
        return Sampling(sample)
    imbalance = find_imbalance(rows, result)
    if sampled == RANDOM:
        return Sampling(sample, imbalance)
    return Sampling(sample if imbalance is None else None, imbalance, is_assumed=True)


def probabilities(source: Source, answers: Answers, task: str = "task") -> FloatArray | None:
    """Return the inclusion probability of each task, NaN where unknown; None if there is no such column.

    Args:
        source: the known labels.
        answers: to the same tasks.
        task: the column of task ids.

    Raises:
        ColumnTypeError: the column contains a value that is not a probability.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"]})
    >>> probabilities({"task": [2], "label": ["y"], "inclusion_probability": [0.5]}, answers).tolist()
    [nan, 0.5]
    """
    if is_series(source) or (isinstance(source, Mapping) and PROBABILITY not in source):
        return None
    try:
        table = read_table(source, {task: "", PROBABILITY: ""}, fixed=True)
    except (MissingColumnError, ColumnTypeError):  # a mapping from task to label has no columns
        return None
    try:
        values = table.column(PROBABILITY).combine_chunks().cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ColumnTypeError(
            f"the column {PROBABILITY!r} of the known labels holds a value that is not a number; correct it"
        ) from None
    if isinstance(values, pa.ChunkedArray):  # older versions of pyarrow return chunks
        values = values.chunk(0) if values.num_chunks else pa.array([], pa.float64())
    numbers = to_numpy(values.fill_null(float("nan")))
    wrong = np.flatnonzero(~((numbers > 0) & (numbers <= 1)))
    if len(wrong):
        raise ColumnTypeError(
            f"{PROBABILITY!r} must be above 0 and at most 1; correct it in {rows_phrase(wrong.tolist())} "
            "of the known labels"
        )
    codes, names = encode(table.column(task), task)
    task_of_code = positions(as_type(names, answers.task_names.type, "known tasks"), answers.task_names)
    probability_of_task = np.full(answers.n_tasks, np.nan)
    is_matched = (codes >= 0) & (task_of_code[codes] >= 0)
    probability_of_task[task_of_code[codes[is_matched]]] = numbers[is_matched]
    return probability_of_task


MAX_PLAN_TASKS = 2000  # tasks whose labels are drawn from the posterior for a plan, if there are no known labels


@dataclass(frozen=True)
class LabelPlan:
    """A random sample of tasks to label, so that no interval is wider than ± the half-width."""

    answers: Answers
    half_width: float
    n_needed: int  # known labels that are needed, including the existing ones
    n_known: int
    n_alone: int  # known labels that would be needed without the answers
    task: IntArray  # codes of the tasks to label, drawn at random from those without a known label

    @cached_property
    def tasks(self) -> Table:
        """One row per task to label: task, inclusion_probability."""
        share = np.full(len(self.task), min(self.n_needed / max(self.answers.n_tasks, 1), 1.0))
        return Table(table_of({"task": take(self.answers.task_names, self.task), "inclusion_probability": share}))

    def to_dict(self) -> dict[str, Any]:
        """Return the object for JSON output."""
        return {
            "half_width": self.half_width,
            "n_needed": self.n_needed,
            "n_known": self.n_known,
            "n_more": len(self.task),
            "n_needed_without_answers": self.n_alone,
            "tasks": self.tasks["task"].to_pylist(),
        }

    def lines(self) -> list[str]:
        """Return sentences on how many labels are needed, and on the first tasks to label."""
        head = (
            f"For intervals of ± {self.half_width:g} you need about {count(self.n_needed, 'known label')} "
            f"({self.n_alone:,} if the answers are not used). You have {self.n_known:,}."
        )
        if len(self.task) == 0:
            return [head]
        first = listing(self.tasks["task"].to_pylist(), write=str)
        tasks = count(len(self.task), "task")
        write = "-o FILE writes all of them." if in_shell.get() else "plan.tasks lists all of them."
        give = for_shell("Then give the labels with gold= (--gold).")
        return [head, f"Label {tasks}, drawn at random: {first}. {write} {give}"]


def plan_labels(
    answers: Answers, estimator: MeanEstimator, quantity: Estimand, half_width: float, *, seed: int
) -> LabelPlan:
    """Estimate how many labels of a random sample are needed, and draw the tasks that are missing.

    Args:
        answers: who answered what.
        estimator: with the posterior, and the known labels if there are any.
        quantity: all its rows must have intervals of at most this width.
        half_width: of the intervals.
        seed: seed of the draw.

    Raises:
        OptionError: the width is not between 0 and 1.

    >>> import quorate
    >>> from quorate.estimation.means import model_estimator
    >>> from quorate.estimation.estimands import Prevalence
    >>> answers = quorate.simulate.crowd(1000, 20, 5, seed=0).answers
    >>> plan = plan_labels(answers, model_estimator(answers, None, 1.96), Prevalence(2), 0.05, seed=0)
    >>> plan.n_needed < plan.n_alone < 1000
    True
    """
    if not 0 < half_width < 1:
        raise OptionError(f"plan= (--plan) must lie between 0 and 1, got {half_width:g}")
    n_tasks = answers.n_tasks
    rng = np.random.default_rng(seed)
    # The tasks are sorted by a hash before they are shuffled, so that the draw does not depend on the order of rows.
    shuffled = rng.permutation(order_by_hash(hash_ids(answers.task_names)))
    y, f, middle = _labelled_values(estimator, quantity, shuffled[:MAX_PLAN_TASKS], rng)
    lowest = np.broadcast_to(np.asarray(quantity.lowest, np.float64), len(y))
    highest = np.broadcast_to(np.asarray(quantity.highest, np.float64), len(y))
    n_alone = _needed(y, (lowest, highest), half_width, n_tasks, estimator.z)
    factor = tuning_factors(y, f, np.ones(y.shape[1]))
    corrected = y - factor * (f - middle)
    ends = (np.minimum(corrected.min(axis=1), lowest), np.maximum(corrected.max(axis=1), highest))
    n_needed = min(_needed(corrected, ends, half_width, n_tasks, estimator.z), n_alone)
    is_known = np.zeros(n_tasks, dtype=bool)
    if isinstance(estimator, ByKnown):
        is_known[estimator.sample.rows] = True
    n_known = int(is_known.sum())
    unknown_tasks = shuffled[~is_known[shuffled]]
    to_label = np.sort(unknown_tasks[: max(n_needed - n_known, 0)])
    return LabelPlan(answers, half_width, n_needed, n_known, n_alone, to_label)


def _labelled_values(
    estimator: MeanEstimator, quantity: Estimand, tasks: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the values of labelled tasks, their guesses, and the mean guess of all tasks; rows × tasks.

    Without known labels, the labels are drawn from the posterior.
    """
    guess = quantity.expected(estimator.posterior)
    middle = guess.mean(axis=1, keepdims=True)
    if isinstance(estimator, ByKnown):
        return quantity.at(estimator.sample.rows, estimator.true), guess[:, estimator.sample.rows], middle
    passed = rng.random(len(tasks))[:, None] > np.cumsum(estimator.posterior[tasks], axis=1)
    sampled_class = np.minimum(passed.sum(axis=1), estimator.posterior.shape[1] - 1)
    return quantity.at(tasks, sampled_class), guess[:, tasks], middle


def _needed(values: FloatArray, ends: tuple[FloatArray, FloatArray], half_width: float, n_tasks: int, z: float) -> int:
    """Return the smallest number of observations with this distribution that reaches the half-width, by bisection."""
    n = values.shape[1]
    smallest = min(MIN_KNOWN_LABELS, n_tasks)
    largest = n_tasks
    while smallest < largest:
        middle = (smallest + largest) // 2
        ratio = n / middle  # of the number of values to that of the observations
        shrink = ratio * (n_tasks - middle) / max(n_tasks - 1, 1)
        low, high = score_ends(values, *ends, shrink=shrink, z=z, unseen=PSEUDO_OBSERVATIONS * ratio)
        if (high - low).max() <= 2 * half_width:
            largest = middle
        else:
            smallest = middle + 1
    return largest
