"""When to stop: which tasks need no more answers, and how many the rest will need."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.voting.vote import MAX_LOG_ODDS


@dataclass(frozen=True)
class Need:
    """How sure the labels are, and what it takes to be as sure as wanted."""

    target: float  # the error that is wanted
    error: FloatArray  # of each task's label, as expected: 1 - confidence
    further: FloatArray  # answers that each task needs until its own expected error is at the target; 0 if it is
    for_all: float  # answers until the mean expected error of all tasks is; infinite where no number of answers will do

    @property
    def is_enough(self) -> BoolArray:
        """Which tasks need no more answers."""
        is_enough: BoolArray = self.further == 0
        return is_enough

    @property
    def is_unreachable(self) -> BoolArray:
        """Which tasks no number of answers brings there: workers who err together only repeat each other."""
        return np.isinf(self.further)

    @property
    def for_the_rest(self) -> float:
        """The answers that all tasks need which answers can help."""
        return float(self.further[~self.is_unreachable].sum())

    @property
    def expected_error(self) -> float:
        """The mean expected error of all labels."""
        return float(self.error.mean()) if len(self.error) else 0.0

    @property
    def reached(self) -> bool:
        """Whether the mean expected error is at the target."""
        return self.expected_error <= self.target


@dataclass(frozen=True)
class Drift:
    """How fast an answer makes a task surer, on average."""

    rate: float  # by which the log-odds of the true class rise with each answer
    vote: float  # what one answer counts, in log-odds


def drift(accuracy: FloatArray, answers: FloatArray, share: FloatArray, n_classes: int) -> Drift:
    """Return the mean drift of the workers who will answer.

    An answer counts v = ln(p/a), a = (1 - p)/(M - 1), and moves the log-odds by (p - a) v. Both are averaged over what
    the accuracy may be, a Beta law, because answers that come tell it: the mean over the law is larger than the value
    at its mean.

    Args:
        accuracy: the mean of each worker's law.
        answers: what the law's parameters add up to.
        share: of the answers that each worker will give, in any unit.
        n_classes: M.

    >>> drift(np.array([0.8]), np.array([1e9]), np.ones(1), 2)  # known for certain: 0.6 ln 4
    Drift(rate=0.83..., vote=1.38...)
    """
    from scipy.special import digamma

    p = np.clip(accuracy, 1.01 / n_classes, 1 - 1e-9)
    right, wrong, both = answers * p, answers * (1 - p), answers
    vote = digamma(right) - digamma(wrong) + np.log(n_classes - 1)  # E ln(p/a)
    expected_log_odds = p * (digamma(right + 1) - digamma(wrong) + np.log(n_classes - 1))  # E p ln(p/a)
    rate = (n_classes * expected_log_odds - vote) / (n_classes - 1)
    weights = share / share.sum() if share.sum() > 0 else np.full(len(both), 1 / len(both))
    return Drift(max(float(weights @ rate), 1e-6), max(float(weights @ vote), 0.0))


def share_of_next(answered: IntArray, dependence: float) -> FloatArray:
    """Return what one more answer to a task is worth, in answers of workers who err independently.

    n answers, of which each repeats the share rho of the others, are worth n/(1 + rho (n - 1)) independent
    ones; this is how much that rises.

    >>> share_of_next(np.array([0, 1, 10]), 0.2).round(3).tolist(), share_of_next(np.array([10]), 0.0).tolist()
    ([1.0, 0.667, 0.095], [1.0])
    """
    before = 1 + dependence * (np.maximum(answered, 1) - 1.0)
    share: FloatArray = np.where(answered > 0, (1 - dependence) / (before * (before + dependence)), 1.0)
    return share


def need(
    posterior: FloatArray, pace: Drift, target: float, *, answered: IntArray | None = None, dependence: float = 0.0
) -> Need:
    """Estimate how many further answers the tasks need.

    `for_all` assumes that answers go to the least certain tasks first, as advice assigns them: each of these is brought
    down to the error at which the mean over all tasks is the target.

    Args:
        posterior: tasks × classes.
        pace: how fast answers make tasks surer.
        target: the error that is wanted, above 0.
        answered: answers that each task has; needed where they depend on each other.
        dependence: how much of each further answer repeats the others.

    >>> found = need(np.array([[0.99, 0.01], [0.5, 0.5]]), Drift(0.8, 1.4), 0.05)
    >>> found.is_enough.tolist(), found.further.round(1).tolist(), round(found.expected_error, 3), found.reached
    ([True, False], [0.0, 4.6], 0.255, False)
    """
    error = 1 - posterior.max(axis=1)
    level = _level(error, target)
    for_all = 0.0
    if error.size and error.mean() > target:
        below = error > level
        # Over many tasks the last answer's overshoot is not lost: it makes up for others.
        steady = Drift(pace.rate, 0.0)
        some = None if answered is None else answered[below]
        for_all = float(answers_until(posterior[below], steady, level, some, dependence, least=0.0).sum())
    return Need(target, error, answers_until(posterior, pace, target, answered, dependence), for_all)


def answers_until(
    posterior: FloatArray,
    pace: Drift,
    error: float,
    answered: IntArray | None = None,
    dependence: float = 0.0,
    *,
    least: float = 1.0,
) -> FloatArray:
    """Estimate how many answers bring each task's expected error down to ``error``; 0 where it is there already.

    By Wald: if class c is true, its log-odds rise by the drift with each answer, from where they stand to those of the
    wanted error, and the last answer overshoots by half a vote. Averaged over which class is true, by the posterior.
    Where answers repeat each other, n of them have their sum of log-odds divided by 1 + rho (n - 1); so each further
    one must first make up for what it takes off the goal, and where it cannot, no number of answers will do: infinity.

    >>> answers_until(np.array([[0.5, 0.5]]), Drift(0.83, 1.39), 0.05).round(2).tolist()
    [4.38]
    >>> half = np.array([[0.5, 0.5]])
    >>> answers_until(half, Drift(0.83, 1.39), 0.05, np.array([3]), 0.1).round(2).tolist()
    [7.9]
    >>> answers_until(half, Drift(0.83, 1.39), 0.05, np.array([3]), 0.3).tolist()
    [inf]
    """
    goal = float(np.log1p(-error) - np.log(error))
    way, there = _way(posterior, goal), 1 - posterior.max(axis=1) <= error
    rate = pace.rate - dependence * max(goal, 0.0)
    if rate <= 0:
        return np.where(there, 0.0, np.inf)
    so_far = 0.0 if answered is None else np.maximum(answered - 1.0, 0.0)
    number = np.maximum((way * (1 + dependence * so_far) + pace.vote / 2) / rate, least)
    return np.where(there, 0.0, number)


def _way(posterior: FloatArray, goal: float) -> FloatArray:
    """Return how far the log-odds of the true class have to rise, on average over which class that is."""
    with np.errstate(divide="ignore"):
        odds = np.clip(np.log(posterior) - np.log1p(-posterior), -MAX_LOG_ODDS, MAX_LOG_ODDS)
    way: FloatArray = (posterior * np.maximum(goal - odds, 0.0)).sum(axis=1)
    return way


def _level(error: FloatArray, target: float) -> float:
    """Return the e at which the mean of min(error, e) is the target."""
    if len(error) == 0 or error.mean() <= target:
        return 1.0
    rising = np.sort(error)
    n = len(rising)
    below = np.concatenate([[0.0], np.cumsum(rising)[:-1]])
    mean_at = (below + rising * (n - np.arange(n))) / n  # if everything from here on were as this one
    k = int(np.searchsorted(mean_at, target))
    return float((target * n - below[k]) / (n - k))
