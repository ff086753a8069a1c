"""What advice is expected to bring: the error of the labels once its answers have come."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.advice.advice import Advice
from quorate.advice.information import as_heard
from quorate.advice.stopping import share_of_next
from quorate.arrays import FloatArray, IntArray, runs
from quorate.voting.vote import accuracy

ALL_DRAWS = 100_000  # over all tasks that are asked: their mean error is then within a tenth of a point
FEWEST, MOST = 8, 200  # of one task


def error_after(advice: Advice, dependence: float = 0.0, *, seed: int = 0) -> FloatArray:
    """Return the expected error of each task's label once the advised answers have come.

    Answers are drawn as the posterior and the skills say they will be, and heard as the dependence between workers
    allows: what repeats the others tells nothing. Tasks that are not asked stay as they are.

    Args:
        advice: what is asked of whom.
        dependence: of answers to the same task, as in `quorate.advice.plan.advise_result`.
        seed: of the draws.

    >>> import quorate
    >>> from quorate.advice import advise
    >>> advice = advise(quorate.simulate.crowd(100, 10, 2, seed=0).answers, budget=40)
    >>> bool(error_after(advice).mean() < advice.need.error.mean())
    True
    """
    error = advice.need.error.copy()
    if advice.n_assignments == 0:
        return error
    rng = np.random.default_rng(seed)
    n_classes = advice.posterior.shape[1]
    tasks, place = np.unique(advice.task, return_inverse=True)
    draws = int(np.clip(ALL_DRAWS // len(tasks), FEWEST, MOST))
    true = _draw(advice.posterior, tasks, rng.random((len(tasks), draws)))
    right = np.clip(accuracy(advice.skills, n_classes), 1e-6, 1 - 1e-6)
    answered = advice.answers.per_task[tasks].copy()
    turn = _turns(place)
    turns = []
    for number in range(int(turn.max()) + 1):
        asked = np.flatnonzero(turn == number)  # at most one answer a task
        at = place[asked]
        heard = as_heard(right[advice.worker[asked]], share_of_next(answered[at], dependence), n_classes)[:, None]
        gives = advice.crew.gives[advice.worker[asked]][:, None]
        given = np.ones((len(at), draws)) <= gives if (gives == 1).all() else rng.random((len(at), draws)) < gives
        said = np.where(rng.random((len(at), draws)) < heard, true[at], _another(true[at], n_classes, rng))
        turns.append(_Turn(at, said, np.where(given, heard * (n_classes - 1) / (1 - heard), 1.0)))
        answered[at] += 1
    # An expectation cannot be worse than now: where draws say so, they are too few.
    error[tasks] = np.minimum(error[tasks], 1 - _surest(advice.posterior, tasks, turns, draws).mean(axis=1))
    return error


@dataclass(frozen=True)
class _Turn:
    """One answer to each of some tasks, as it was drawn."""

    at: IntArray  # places of the tasks
    said: IntArray  # classes, tasks × draws
    odds: FloatArray  # by which the probability of that class grows; one where nothing was given


def _surest(posterior: FloatArray, tasks: IntArray, turns: Sequence[_Turn], draws: int) -> FloatArray:
    """Return how sure each task's label is once the answers of all turns have come; tasks × draws.

    A class that nobody says keeps its probability, up to what makes all sum to one. So only those that are said are
    counted, and of the others the likeliest is as sure as it was: no table of draws × classes is made.
    """
    best, total = np.zeros((len(tasks), draws)), np.ones((len(tasks), draws))
    for number, turn in enumerate(turns):
        odds, is_first = turn.odds.copy(), np.ones(turn.said.shape, dtype=bool)
        for other in range(len(turns)):
            mine, theirs = _both(turn, turns[other])
            if other != number:
                again = turn.said[mine] == turns[other].said[theirs]
                odds[mine] *= np.where(again, turns[other].odds[theirs], 1.0)
                is_first[mine] &= ~again | (other > number)
        own = posterior[tasks[turn.at][:, None], turn.said]
        total[turn.at] += np.where(is_first, own * (odds - 1), 0.0)
        best[turn.at] = np.maximum(best[turn.at], own * odds)
    surest: FloatArray = np.maximum(best, _likeliest_unsaid(posterior, tasks, turns, draws)) / total
    return surest


def _both(one: _Turn, other: _Turn) -> tuple[IntArray, IntArray]:
    """Return the rows of two turns that are of the same task."""
    _, mine, theirs = np.intersect1d(one.at, other.at, assume_unique=True, return_indices=True)
    return mine, theirs


def _likeliest_unsaid(posterior: FloatArray, tasks: IntArray, turns: Sequence[_Turn], draws: int) -> FloatArray:
    """Return how likely the likeliest class is that no turn says; tasks × draws."""
    n = min(len(turns) + 1, posterior.shape[1])  # of so many classes, one at least is never said
    classes = np.empty((len(tasks), n), np.int64)
    for run in runs(len(tasks), posterior.shape[1]):
        p = posterior[tasks[run]]
        most = np.argpartition(p, -n, axis=1)[:, -n:] if n < p.shape[1] else np.tile(np.arange(n), (len(p), 1))
        order = np.argsort(np.take_along_axis(p, most, axis=1), axis=1)
        classes[run] = np.take_along_axis(most, order, axis=1)
    left = np.zeros((len(tasks), draws))
    for each in classes.T:  # from the least likely on
        is_said = np.zeros(left.shape, dtype=bool)
        for turn in turns:
            is_said[turn.at] |= turn.said == each[turn.at][:, None]
        left = np.where(is_said, left, posterior[tasks, each][:, None])
    return left


def _turns(place: IntArray) -> IntArray:
    """Count, for each entry, the entries before it of the same value."""
    order = np.argsort(place, kind="stable")
    sorted_places = place[order]
    begins = np.searchsorted(sorted_places, sorted_places)
    turn = np.empty(len(place), np.int64)
    turn[order] = np.arange(len(place)) - begins
    return turn


def _draw(posterior: FloatArray, tasks: IntArray, random: FloatArray) -> IntArray:
    """Draw classes of each task from its posterior, by numbers between 0 and 1; tasks × draws."""
    each = [np.searchsorted(posterior[task].cumsum(), row) for task, row in zip(tasks, random, strict=True)]
    drawn: IntArray = np.minimum(np.array(each), posterior.shape[1] - 1)
    return drawn


def _another(true: IntArray, n_classes: int, rng: np.random.Generator) -> IntArray:
    return (true + rng.integers(1, n_classes, true.shape)) % n_classes
