"""What advice is expected to bring: the error of the labels once its answers have come."""

import numpy as np

from quorate.advice.advice import Advice
from quorate.advice.information import as_heard
from quorate.advice.stopping import share_of_next
from quorate.arrays import FloatArray, IntArray
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
    p = np.repeat(advice.posterior[tasks][:, None, :], draws, axis=1)
    true = _draw(p, rng)
    right = np.clip(accuracy(advice.skills, n_classes), 1e-6, 1 - 1e-6)
    answered = advice.answers.per_task[tasks].copy()
    turn = _turns(place)
    for number in range(int(turn.max()) + 1):
        asked = np.flatnonzero(turn == number)  # at most one answer a task
        at = place[asked]
        heard = as_heard(right[advice.worker[asked]], share_of_next(answered[at], dependence), n_classes)[:, None]
        gives = advice.crew.gives[advice.worker[asked]][:, None]
        given = np.ones((len(at), draws)) <= gives if (gives == 1).all() else rng.random((len(at), draws)) < gives
        said = np.where(rng.random((len(at), draws)) < heard, true[at], _another(true[at], n_classes, rng))
        odds = heard * (n_classes - 1) / (1 - heard)
        p[at] *= np.where((np.arange(n_classes) == said[..., None]) & given[..., None], odds[..., None], 1.0)
        p[at] /= p[at].sum(axis=-1, keepdims=True)
        answered[at] += 1
    # An expectation cannot be worse than now: where draws say so, they are too few.
    error[tasks] = np.minimum(error[tasks], 1 - p.max(axis=-1).mean(axis=1))
    return error


def _turns(place: IntArray) -> IntArray:
    """Count, for each entry, the entries before it of the same value."""
    order = np.argsort(place, kind="stable")
    sorted_places = place[order]
    begins = np.searchsorted(sorted_places, sorted_places)
    turn = np.empty(len(place), np.int64)
    turn[order] = np.arange(len(place)) - begins
    return turn


def _draw(p: FloatArray, rng: np.random.Generator) -> IntArray:
    drawn: IntArray = np.minimum((rng.random((*p.shape[:-1], 1)) > p.cumsum(axis=-1)).sum(axis=-1), p.shape[-1] - 1)
    return drawn


def _another(true: IntArray, n_classes: int, rng: np.random.Generator) -> IntArray:
    return (true + rng.integers(1, n_classes, true.shape)) % n_classes
