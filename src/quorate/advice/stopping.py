"""When to stop: which tasks need no more answers, and how many the rest will need."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, sortable
from quorate.renamed import renamed_attribute


@dataclass(frozen=True, eq=False)
class AnswersNeeded:
    """Expected error of the labels, and the number of answers that a target needs, computed when first used."""

    target_error: float  # the expected error to reach
    error: FloatArray  # expected error of each task's label: 1 - confidence
    estimate: Callable[[], tuple[FloatArray, float]]  # returns `per_task` and `answers_for_mean_error`

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return renamed_attribute(self, name, OLD_ATTRIBUTES)

    @cached_property
    def _estimated(self) -> tuple[FloatArray, float]:
        return self.estimate()

    @property
    def per_task(self) -> FloatArray:
        """Answers that each task needs until its own expected error is at the target; 0 if it is."""
        return self._estimated[0]

    @property
    def answers_for_mean_error(self) -> float:
        """Answers until the mean expected error of all tasks is at the target; infinite if no number reaches it."""
        return self._estimated[1]

    @property
    def is_task_done(self) -> BoolArray:
        """Which tasks need no more answers, because their own expected error is at the target."""
        is_task_done: BoolArray = self.per_task == 0
        return is_task_done

    @property
    def is_unreachable(self) -> BoolArray:
        """Which tasks no number of answers brings to the target, because the errors of workers are correlated."""
        return np.isinf(self.per_task)

    @property
    def answers_for_reachable_tasks(self) -> float:
        """The total number of further answers of the tasks that can reach the target."""
        return float(self.per_task[~self.is_unreachable].sum())

    @property
    def expected_error(self) -> float:
        """The mean expected error of all labels."""
        return float(self.error.mean()) if len(self.error) else 0.0

    @property
    def is_mean_reached(self) -> bool:
        """Whether the mean expected error is at the target."""
        return self.expected_error <= self.target_error


# Attributes of version 0.2 -> current names.
OLD_ATTRIBUTES = {
    "target": "target_error",
    "further": "per_task",
    "for_all": "answers_for_mean_error",
    "for_the_rest": "answers_for_reachable_tasks",
    "is_enough": "is_task_done",
    "reached": "is_mean_reached",
}
# Numbers of further answers at which the expected error of a task is computed; between them it is interpolated.
ANSWER_STEPS = np.array([0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024])
MAX_CURVES = 512  # tasks with their own curve; the others use the curve of a task of about the same confidence
# Draws over all curves: the mean error is then within a tenth of a point.
TOTAL_DRAWS = 50_000
MIN_DRAWS = 16
MAX_CELLS = 4_000_000  # largest size of a table of tasks × draws × classes


def effective_votes_added(answered: IntArray, dependence: float) -> FloatArray:
    """Return the effective votes that one more answer to a task adds: a number from 0 to 1.

    n answers with errors of correlation rho carry the information of n/(1 + rho (n - 1)) independent answers; this is
    the increase from n to n + 1.

    >>> effective_votes_added(np.array([0, 1, 10]), 0.2).round(3).tolist()
    [1.0, 0.667, 0.095]
    """
    before = 1 + dependence * (np.maximum(answered, 1) - 1.0)
    share: FloatArray = np.where(answered > 0, (1 - dependence) / (before * (before + dependence)), 1.0)
    return share


def estimate_answers_needed(
    posterior: FloatArray,
    accuracy: float,
    target_error: float,
    *,
    answered: IntArray | None = None,
    dependence: float = 0.0,
    seed: int = 0,
) -> AnswersNeeded:
    """Estimate how many further answers the tasks need, by the model of `quorate.advice.expected_error`.

    `AnswersNeeded.answers_for_mean_error` assigns answers where the expected error falls most per answer, until the
    mean over all tasks is at the target.

    Args:
        posterior: tasks × classes.
        accuracy: mean accuracy of the workers who will answer.
        target_error: the expected error to reach, above 0.
        answered: number of answers that each task has; needed if the errors are correlated.
        dependence: correlation of the errors of two answers to a task.
        seed: of the draws.

    >>> needed = estimate_answers_needed(np.array([[0.99, 0.01], [0.5, 0.5]]), 0.8, 0.05)
    >>> needed.is_task_done.tolist(), needed.per_task.round().tolist()
    ([True, False], [0.0, 7.0])
    >>> round(needed.expected_error, 3), needed.is_mean_reached
    (0.255, False)
    """
    error: FloatArray = 1 - posterior.max(axis=1)
    estimate = partial(_estimate, posterior, error, accuracy, target_error, answered, dependence, seed)  # it pickles
    return AnswersNeeded(target_error, error, estimate)


def _estimate(
    posterior: FloatArray,
    error: FloatArray,
    accuracy: float,
    target_error: float,
    answered: IntArray | None,
    dependence: float,
    seed: int,
) -> tuple[FloatArray, float]:
    """Return `AnswersNeeded.per_task` and `AnswersNeeded.answers_for_mean_error`."""
    if len(error) == 0 or error.max() <= target_error:
        return np.zeros(len(error)), 0.0
    # Tasks in order of their expected error; curves are computed for evenly spaced tasks of this order.
    order = np.lexsort([np.arange(len(error)), sortable(error)])
    n_curves = min(len(error), MAX_CURVES, max(MAX_CELLS // (MIN_DRAWS * posterior.shape[1]), 1))
    chosen = order[np.linspace(0, len(error) - 1, n_curves).round().astype(np.int64)]
    n_before = np.zeros(n_curves, np.int64) if answered is None else answered[chosen]
    curves = error_curves(posterior[chosen], accuracy, n_before, dependence, seed=seed)
    curve_of = np.empty(len(error), np.int64)
    curve_of[order] = np.arange(len(error)) * n_curves // len(error)
    for_mean_error = 0.0
    if error.mean() > target_error:
        weights = np.bincount(curve_of, minlength=n_curves)
        for_mean_error = _answers_for_mean(curves, weights, target_error)
    per_task = np.maximum(_answers_until(curves, target_error)[curve_of], 1.0)
    return np.where(error <= target_error, 0.0, per_task), for_mean_error


def error_curves(
    posterior: FloatArray, accuracy: float, answered: IntArray, dependence: float, *, seed: int = 0
) -> FloatArray:
    """Return the expected error of each task after each number of `ANSWER_STEPS` further answers; tasks × steps.

    The true class is drawn from the posterior. k further answers to a task with n answers count as the effective votes
    of n + k answers minus those of n, and are drawn with an accuracy that is reduced accordingly.

    >>> error_curves(np.array([[0.5, 0.5]]), 0.8, np.array([0]), 0.0)[0, :2].round(2).tolist()
    [0.5, 0.2]
    """
    n_tasks, m = posterior.shape
    n_draws = max(min(TOTAL_DRAWS // n_tasks, MAX_CELLS // (n_tasks * m)), MIN_DRAWS)
    rng = np.random.default_rng(seed)
    cumulative = posterior.cumsum(axis=1)
    true = np.array([np.searchsorted(row, rng.random(n_draws)) for row in cumulative]).clip(max=m - 1)
    with np.errstate(divide="ignore"):
        scores = np.repeat(np.log(posterior)[:, None, :], n_draws, axis=1)
    # Column j of `shifted` is the class true + j, modulo m: column 0 is the true class.
    shifted = (true[:, :, None] + np.arange(m)) % m
    scores = np.take_along_axis(scores, shifted, axis=2)
    log_odds = float(np.log(accuracy * (m - 1) / (1 - accuracy)))
    curves = np.empty((n_tasks, len(ANSWER_STEPS)))
    curves[:, 0] = 1 - posterior.max(axis=1)
    for step in range(1, len(ANSWER_STEPS)):
        before = ANSWER_STEPS[step - 1]
        after = ANSWER_STEPS[step]
        gained = effective_votes(answered + after, dependence) - effective_votes(answered + before, dependence)
        vote = log_odds * gained / (after - before)  # of one answer
        right = 1 / (1 + (m - 1) * np.exp(-vote))
        chances = np.concatenate([right[:, None], np.repeat(((1 - right) / (m - 1))[:, None], m - 1, axis=1)], axis=1)
        counts = rng.multinomial(int(after - before), np.repeat(chances[:, None, :], n_draws, axis=1))
        scores += counts * vote[:, None, None]
        most = scores.max(axis=2)
        curves[:, step] = 1 - (1 / np.exp(scores - most[:, :, None]).sum(axis=2)).mean(axis=1)
    # The expected error cannot rise with more answers: a rise is simulation noise.
    falling: FloatArray = np.minimum.accumulate(curves, axis=1)
    return falling


def effective_votes(n: IntArray, dependence: float) -> FloatArray:
    """Return the effective votes of n answers: n/(1 + rho (n - 1)).

    >>> effective_votes(np.array([0, 1, 10]), 0.2).round(2).tolist()
    [0.0, 1.0, 3.57]
    """
    return np.where(n > 0, n / (1 + dependence * (np.maximum(n, 1) - 1.0)), 0.0)


def _answers_until(curves: FloatArray, target_error: float) -> FloatArray:
    """Return the number of answers after which each curve is at the target; infinity if it never is."""
    is_reached = curves <= target_error
    first = is_reached.argmax(axis=1)
    rows = np.arange(len(curves))
    before = np.maximum(first - 1, 0)
    high = curves[rows, before]
    low = curves[rows, first]
    part = np.divide(high - target_error, high - low, out=np.ones(len(curves)), where=high > low)
    number = ANSWER_STEPS[before] + part.clip(0, 1) * (ANSWER_STEPS[first] - ANSWER_STEPS[before])
    return np.where(is_reached.any(axis=1), np.where(first == 0, 0.0, number), np.inf)


def _answers_for_mean(curves: FloatArray, weights: IntArray, target_error: float) -> float:
    """Return the fewest answers that bring the weighted mean of the curves to the target, or infinity."""
    falls = []
    numbers = []
    for curve, weight in zip(curves, weights, strict=True):
        at = 0
        while at < len(ANSWER_STEPS) - 1:  # follow the lower convex hull, whose slopes become flatter
            slopes = (curve[at] - curve[at + 1 :]) / (ANSWER_STEPS[at + 1 :] - ANSWER_STEPS[at])
            best = at + 1 + int(slopes.argmax())
            falls.append(weight * (curve[at] - curve[best]))
            numbers.append(weight * float(ANSWER_STEPS[best] - ANSWER_STEPS[at]))
            at = best
    fall = np.array(falls)
    number = np.array(numbers)
    steepest = np.argsort(-fall / number, kind="stable")
    total = np.cumsum(fall[steepest]) / weights.sum()
    needed_fall = float((weights @ curves[:, 0]) / weights.sum()) - target_error
    if needed_fall <= 0:
        return 0.0
    if total[-1] < needed_fall:
        return float("inf")
    return float(
        np.interp(needed_fall, np.concatenate([[0.0], total]), np.concatenate([[0.0], np.cumsum(number[steepest])]))
    )
