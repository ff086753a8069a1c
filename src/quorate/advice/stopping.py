"""When to stop: which tasks need no more answers, and how many the rest will need."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray
from quorate.voting.vote import MOST_LOG_ODDS


@dataclass(frozen=True)
class Need:
    """How sure the labels are, and what it takes to be as sure as wanted."""

    target: float  # the error that is wanted
    error: FloatArray  # of each task's label, as expected: 1 - confidence
    further: FloatArray  # answers that each task needs until its own expected error is at the target; 0 if it is
    whole: float  # answers until the mean expected error of all tasks is

    @property
    def settled(self) -> BoolArray:
        """Which tasks need no more answers."""
        settled: BoolArray = self.further == 0
        return settled

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
    told = p * (digamma(right + 1) - digamma(wrong) + np.log(n_classes - 1))  # E p ln(p/a)
    rate = (n_classes * told - vote) / (n_classes - 1)
    weights = share / share.sum() if share.sum() > 0 else np.full(len(both), 1 / len(both))
    return Drift(max(float(weights @ rate), 1e-6), max(float(weights @ vote), 0.0))


def need(posterior: FloatArray, pace: Drift, target: float) -> Need:
    """Estimate how many further answers the tasks need.

    For the whole set the answers go to the least sure tasks, as advice gives them: each is brought down to that error
    at which the mean of all is the target.

    Args:
        posterior: tasks × classes.
        pace: how fast answers make tasks surer.
        target: the error that is wanted, above 0.

    >>> found = need(np.array([[0.99, 0.01], [0.5, 0.5]]), Drift(0.8, 1.4), 0.05)
    >>> found.settled.tolist(), found.further.round(1).tolist(), round(found.expected_error, 3), found.reached
    ([True, False], [0.0, 4.6], 0.255, False)
    """
    error = 1 - posterior.max(axis=1)
    level = _level(error, target)
    # Over many tasks the last answer's overshoot is not lost: it makes up for others.
    whole = _way(posterior, level)[error > level].sum() / pace.rate if error.size and error.mean() > target else 0.0
    return Need(target, error, answers_until(posterior, pace, target), float(whole))


def answers_until(posterior: FloatArray, pace: Drift, error: float) -> FloatArray:
    """Estimate how many answers bring each task's expected error down to ``error``; 0 where it is there already.

    By Wald: if class c is true, its log-odds rise by the drift with each answer, from where they stand to those of the
    wanted error, and the last answer overshoots by half a vote. Averaged over which class is true, by the posterior.

    >>> answers_until(np.array([[0.5, 0.5]]), Drift(0.83, 1.39), 0.05).round(2).tolist()
    [4.38]
    """
    number: FloatArray = np.maximum((_way(posterior, error) + pace.vote / 2) / pace.rate, 1.0)
    return np.where(1 - posterior.max(axis=1) <= error, 0.0, number)


def _way(posterior: FloatArray, error: float) -> FloatArray:
    """Return how far the log-odds of the true class have to rise, on average over which class that is."""
    goal = np.log1p(-error) - np.log(error)
    with np.errstate(divide="ignore"):
        odds = np.clip(np.log(posterior) - np.log1p(-posterior), -MOST_LOG_ODDS, MOST_LOG_ODDS)
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
