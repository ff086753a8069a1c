"""Expected error of the labels after the answers that are assigned by advice, by simulation."""

import numpy as np

from quorate.advice.advice import Advice
from quorate.advice.information_gain import tempered_accuracy
from quorate.advice.stopping import share_of_next
from quorate.arrays import FloatArray, IntArray, runs
from quorate.voting.vote import accuracy

TOTAL_DRAWS = 100_000  # draws over all tasks with assignments: their mean error is then within a tenth of a point
# Limits of the number of draws per task.
MIN_DRAWS = 8
MAX_DRAWS = 200


def error_after(advice: Advice, dependence: float = 0.0, *, seed: int = 0) -> FloatArray:
    """Return the expected error of each task's label after the advised answers.

    True classes are drawn from the posterior, and answers from the skills. The log-odds of an answer are reduced by the
    dependence between workers (see `share_of_next`). Tasks without assignments keep their expected error.

    Args:
        advice: the assignments.
        dependence: correlation of the errors of answers to the same task, as in `quorate.advice.advise.advise_result`.
        seed: of the draws.

    >>> import quorate
    >>> from quorate.advice.advise import advise
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
    draws = int(np.clip(TOTAL_DRAWS // len(tasks), MIN_DRAWS, MAX_DRAWS))
    true = _draw(advice.posterior, tasks, rng.random((len(tasks), draws)))
    right = np.clip(accuracy(advice.skills, n_classes), 1e-6, 1 - 1e-6)
    answered = advice.answers.per_task[tasks].copy()
    turn = _turns(place)
    all_answers = np.empty((len(place), draws), np.int64)
    log_odds = np.empty((len(place), draws))
    for number in range(int(turn.max()) + 1):
        asked = np.flatnonzero(turn == number)  # at most one answer per task
        at = place[asked]
        tempered = tempered_accuracy(right[advice.worker[asked]], share_of_next(answered[at], dependence), n_classes)[
            :, None
        ]
        gives = advice.worker_pool.gives[advice.worker[asked]][:, None]
        is_answered = np.ones((len(at), draws)) <= gives if (gives == 1).all() else rng.random((len(at), draws)) < gives
        answer = np.where(rng.random((len(at), draws)) < tempered, true[at], _another(true[at], n_classes, rng))
        all_answers[asked] = answer
        log_odds[asked] = np.where(is_answered, np.log(tempered * (n_classes - 1) / (1 - tempered)), 0.0)
        answered[at] += 1
    # The expected error cannot rise by more answers: a larger error is simulation noise.
    error[tasks] = np.minimum(
        error[tasks], 1 - _confidence_after(advice.posterior[tasks], place, all_answers, log_odds).mean(axis=1)
    )
    return error


def _confidence_after(posterior: FloatArray, place: IntArray, answer: IntArray, log_odds: FloatArray) -> FloatArray:
    """Return the largest posterior probability of each task after the answers of each draw; tasks × draws.

    A class without answers keeps its probability, up to the normalisation. So only the classes with answers are
    computed, and of the others only the most probable one: no table of draws × classes is needed.

    Args:
        posterior: of the tasks, before the answers.
        place: the task of each answer, as an index into ``posterior``.
        answer: the class that is given, answers × draws.
        log_odds: what is added to the log-probability of that class, answers × draws.
    """
    n_tasks, m = posterior.shape
    draws = answer.shape[1]
    rows = n_tasks * draws  # a row for each task and draw
    row = place[:, None] * draws + np.arange(draws)
    cells, which = np.unique((row * m + answer).ravel(), return_inverse=True)
    gain = np.bincount(which, log_odds.ravel(), len(cells))
    of_row = cells // m
    probability = posterior[of_row // draws, cells % m]
    most = np.zeros(rows)  # the gain of classes without answers is 0
    np.maximum.at(most, of_row, gain)
    after = probability * np.exp(gain - most[of_row])
    best = np.zeros(rows)
    np.maximum.at(best, of_row, after)
    unobserved = np.exp(-most)
    total = np.bincount(of_row, after, rows) + np.maximum(1 - np.bincount(of_row, probability, rows), 0.0) * unobserved
    confidence: FloatArray = np.maximum(best, _largest_unobserved(posterior, draws, cells) * unobserved) / total
    return confidence.reshape(n_tasks, draws)


def _largest_unobserved(posterior: FloatArray, draws: int, cells: IntArray) -> FloatArray:
    """Return the largest probability of a class without answers, for each task and draw; 0 if all classes have some."""
    n_tasks, m = posterior.shape
    n = min(int(np.bincount(cells // m).max()) + 1, m)  # among the n most probable classes, one has no answer
    classes = np.empty((n_tasks, n), np.int64)
    for run in runs(n_tasks, m):
        p = posterior[run]
        top = np.argpartition(p, m - n, axis=1)[:, m - n :] if n < m else np.tile(np.arange(n), (len(p), 1))
        classes[run] = np.take_along_axis(top, np.argsort(-np.take_along_axis(p, top, axis=1), axis=1), axis=1)
    left = np.arange(n_tasks * draws)
    largest = np.zeros(n_tasks * draws)
    for rank in range(n):
        candidate = classes[left // draws, rank]
        is_given = (
            cells[np.minimum(np.searchsorted(cells, left * m + candidate), len(cells) - 1)] == left * m + candidate
        )
        largest[left[~is_given]] = posterior[left[~is_given] // draws, candidate[~is_given]]
        left = left[is_given]
    return largest


def _turns(place: IntArray) -> IntArray:
    """Return for each entry the number of earlier entries with the same value."""
    order = np.argsort(place, kind="stable")
    sorted_places = place[order]
    begins = np.searchsorted(sorted_places, sorted_places)
    turn = np.empty(len(place), np.int64)
    turn[order] = np.arange(len(place)) - begins
    return turn


def _draw(posterior: FloatArray, tasks: IntArray, random: FloatArray) -> IntArray:
    """Return classes drawn from the posterior of each task with uniform random numbers; tasks × draws."""
    sampled = [np.searchsorted(posterior[task].cumsum(), row) for task, row in zip(tasks, random, strict=True)]
    sampled_class: IntArray = np.minimum(np.array(sampled), posterior.shape[1] - 1)
    return sampled_class


def _another(true: IntArray, n_classes: int, rng: np.random.Generator) -> IntArray:
    return (true + rng.integers(1, n_classes, true.shape)) % n_classes
