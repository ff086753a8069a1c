"""Figures of labels and confidence compared with true labels, and decisions by an interval of the share right."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.default_method.data import OUTSIDE, UNKNOWN, BoolArray, FloatArray, IntArray

LEAST_PROBABILITY = 1e-6  # smallest probability in the log-loss on public sets: the loss of one certain mistake is 13.8
# Floor on judge panels, where the truth of 158 tasks (117 of one panel) is no class that a judge gave: with 1e-6 these
# tasks alone add .018 to the log-loss by repository.
LEAST_PANEL_PROBABILITY = 1e-4
N_BINS = 10  # of the calibration error
PASS = "pass"
FAIL = "fail"
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Figures:
    """Of the scored tasks: those with truth and without a gold label."""

    error: float  # ties of the largest probability split evenly
    log_loss: float
    calibration_error: float
    stated: float  # mean of the largest probability

    @property
    def right(self) -> float:
        """Share of right labels."""
        return 1 - self.error

    @property
    def overstated(self) -> float:
        """Mean confidence less the share of right labels."""
        return self.stated - self.right


def score(
    posterior: FloatArray,
    truth: IntArray,
    gold: IntArray | None = None,
    least_probability: float = LEAST_PROBABILITY,
) -> Figures:
    """Score a posterior (tasks, classes); a task whose truth is OUTSIDE counts as wrong with probability 0."""
    scored = scored_tasks(truth, gold)
    probability = posterior[scored]
    true = truth[scored]
    rows = np.arange(len(true))
    inside = true != OUTSIDE
    code = np.where(inside, true, 0)
    confidence = probability.max(axis=1)
    is_top = np.isclose(probability, confidence[:, None], rtol=1e-9, atol=1e-12)
    right = np.where(inside, is_top[rows, code] / is_top.sum(axis=1), 0.0)
    of_truth = np.where(inside, probability[rows, code], 0.0)
    bins = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    gaps = np.bincount(bins, confidence - right, minlength=N_BINS)
    return Figures(
        error=float(1 - right.mean()),
        log_loss=float(-np.log(np.maximum(of_truth, least_probability)).mean()),
        calibration_error=float(np.abs(gaps).sum() / len(true)),
        stated=float(confidence.mean()),
    )


def scored_tasks(truth: IntArray, gold: IntArray | None) -> BoolArray:
    """Return which tasks have truth and no gold label."""
    has_truth: BoolArray = truth != UNKNOWN
    return has_truth if gold is None else has_truth & (gold == UNKNOWN)


def majority_error(votes: IntArray, truth: IntArray, gold: IntArray | None = None) -> float:
    """Return the error of majority vote on the scored tasks, ties split evenly."""
    proportions = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    return score(proportions, truth, gold).error


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error; the latter is NaN for one value."""
    array = np.asarray(values, dtype=np.float64)
    if len(array) < 2:
        return float(array.mean()), float("nan")
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array)))


def covers(interval: tuple[float, float, float], right: float) -> bool:
    """Return whether the share of right labels is in the interval (mean, low, high)."""
    return interval[1] <= right <= interval[2]


def decide(interval: tuple[float, float, float], max_error: float) -> str:
    """Decide `check --max-error` by the interval (mean, low, high) of the share of right labels."""
    _, low, high = interval
    if 1 - low <= max_error:
        return PASS
    if 1 - high > max_error:
        return FAIL
    return UNDECIDED


@dataclass(frozen=True)
class Decisions:
    """Counts of decisions, and of those that the true share of wrong labels contradicts."""

    passes: int
    wrong_passes: int
    fails: int
    wrong_fails: int
    undecided: int

    @property
    def total(self) -> int:
        """Number of decisions asked for."""
        return self.passes + self.fails + self.undecided


def count_decisions(outcomes: Iterable[tuple[tuple[float, float, float], float]], max_error: float) -> Decisions:
    """Count decisions over pairs of an interval and the share of right labels."""
    counts = dict.fromkeys((PASS, FAIL, UNDECIDED), 0)
    wrong = dict.fromkeys((PASS, FAIL), 0)
    for interval, right in outcomes:
        decision = decide(interval, max_error)
        counts[decision] += 1
        is_good = 1 - right <= max_error
        if (decision == PASS and not is_good) or (decision == FAIL and is_good):
            wrong[decision] += 1
    return Decisions(counts[PASS], wrong[PASS], counts[FAIL], wrong[FAIL], counts[UNDECIDED])


def mean_by_group(values: Sequence[float], groups: Sequence[str]) -> float:
    """Return the mean of the groups' means: every group has the same weight."""
    return float(np.mean(list(means_of_groups(values, groups).values())))


def means_of_groups(values: Sequence[float], groups: Sequence[str]) -> Mapping[str, float]:
    """Return the mean of each group, in order of first appearance."""
    members: dict[str, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        members.setdefault(group, []).append(value)
    return {group: float(np.mean(found)) for group, found in members.items()}
