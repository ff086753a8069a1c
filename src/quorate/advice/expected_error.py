"""Expected error of the labels after the answers that are assigned by advice, by simulation."""

import numpy as np

from quorate.advice.advice import Advice
from quorate.advice.information_gain import tempered_accuracy
from quorate.advice.stopping import effective_votes_added
from quorate.arrays import FloatArray, IntArray, runs
from quorate.voting.vote import accuracy

TOTAL_DRAWS = 100_000  # draws over all tasks with assignments: their mean error is then within a tenth of a point
# Limits of the number of draws per task.
MIN_DRAWS = 8
MAX_DRAWS = 200
MAX_COMPARED_CLASSES = 20  # up to this, numbers are compared with all limits of classes, which takes less than a search


def error_after(advice: Advice, dependence: float = 0.0, *, seed: int = 0) -> FloatArray:
    """Return the expected error of each task's label after the advised answers.

    True classes are drawn from the posterior, and answers from the skills. The log-odds of an answer are reduced by the
    dependence between workers (see `effective_votes_added`). Tasks without assignments keep their expected error.

    Args:
        advice: the assignments.
        dependence: correlation of the errors of answers to the same task, as in `quorate.advice.advise.advise_result`.
        seed: of the draws.

    >>> import quorate
    >>> from quorate.advice.advise import advise
    >>> advice = advise(quorate.simulate.crowd(100, 10, 2, seed=0).answers, budget=40)
    >>> bool(error_after(advice).mean() < advice.answers_needed.error.mean())
    True
    """
    error = advice.answers_needed.error.copy()
    if advice.n_assignments == 0:
        return error
    rng = np.random.default_rng(seed)
    n_classes = advice.posterior.shape[1]
    tasks, row_of_assignment = np.unique(advice.task, return_inverse=True)
    draws = int(np.clip(TOTAL_DRAWS // len(tasks), MIN_DRAWS, MAX_DRAWS))
    true_class = _draw_classes(advice.posterior, tasks, rng.random((len(tasks), draws)))
    right = np.clip(accuracy(advice.skills, n_classes), 1e-6, 1 - 1e-6)
    n_answers = advice.answers.per_task[tasks].copy()
    turn = _turns(row_of_assignment)
    drawn_answers = np.empty((len(row_of_assignment), draws), np.int64)
    log_odds = np.empty((len(row_of_assignment), draws))
    for number in range(int(turn.max()) + 1):
        assigned = np.flatnonzero(turn == number)  # at most one answer per task
        row = row_of_assignment[assigned]
        worker = advice.worker[assigned]
        shape = (len(row), draws)
        votes_added = effective_votes_added(n_answers[row], dependence)
        tempered = tempered_accuracy(right[worker], votes_added, n_classes)[:, None]
        gives = advice.worker_pool.gives[worker][:, None]
        is_answered = np.ones(shape, dtype=bool)
        if not (gives == 1).all():
            is_answered = rng.random(shape) < gives
        is_right = rng.random(shape) < tempered
        wrong_class = (true_class[row] + rng.integers(1, n_classes, shape)) % n_classes
        drawn_answers[assigned] = np.where(is_right, true_class[row], wrong_class)
        log_odds[assigned] = np.where(is_answered, np.log(tempered * (n_classes - 1) / (1 - tempered)), 0.0)
        n_answers[row] += 1
    # The expected error cannot rise by more answers: a larger error is simulation noise.
    confidence = _confidence_after(advice.posterior[tasks], row_of_assignment, drawn_answers, log_odds)
    error[tasks] = np.minimum(error[tasks], 1 - confidence.mean(axis=1))
    return error


def _confidence_after(
    posterior: FloatArray, row_of_answer: IntArray, answer: IntArray, log_odds: FloatArray
) -> FloatArray:
    """Return the largest posterior probability of each task after the answers of each draw; tasks × draws.

    A class without answers keeps its probability, up to the normalisation. So only the classes with answers are
    computed, and of the others only the most probable one: no table of draws × classes is needed.

    Args:
        posterior: of the tasks, before the answers.
        row_of_answer: the task of each answer, as an index into ``posterior``.
        answer: the class that is given, answers × draws.
        log_odds: what is added to the log-probability of that class, answers × draws.
    """
    n_tasks, m = posterior.shape
    draws = answer.shape[1]
    n_rows = n_tasks * draws  # a row for each task and draw
    row = row_of_answer[:, None] * draws + np.arange(draws)
    cells, cell_of_answer = np.unique((row * m + answer).ravel(), return_inverse=True)
    gain = np.bincount(cell_of_answer, log_odds.ravel(), len(cells))
    row_of_cell = cells // m
    probability = posterior[row_of_cell // draws, cells % m]
    most = np.zeros(n_rows)  # the gain of classes without answers is 0
    np.maximum.at(most, row_of_cell, gain)
    after = probability * np.exp(gain - most[row_of_cell])
    best = np.zeros(n_rows)
    np.maximum.at(best, row_of_cell, after)
    scale = np.exp(-most)  # of the classes without answers
    unobserved = np.maximum(1 - np.bincount(row_of_cell, probability, n_rows), 0.0)
    total = np.bincount(row_of_cell, after, n_rows) + unobserved * scale
    confidence: FloatArray = np.maximum(best, _largest_unobserved(posterior, draws, cells) * scale) / total
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
    open_rows = np.arange(n_tasks * draws)  # in which all more probable classes have answers
    largest = np.zeros(n_tasks * draws)
    for rank in range(n):
        candidate = classes[open_rows // draws, rank]
        cell = open_rows * m + candidate
        has_answers = cells[np.minimum(np.searchsorted(cells, cell), len(cells) - 1)] == cell
        is_largest = ~has_answers
        largest[open_rows[is_largest]] = posterior[open_rows[is_largest] // draws, candidate[is_largest]]
        open_rows = open_rows[has_answers]
    return largest


def _turns(values: IntArray) -> IntArray:
    """Return for each entry the number of earlier entries with the same value."""
    order = np.argsort(values, kind="stable")
    sorted_values = values[order]
    begins = np.searchsorted(sorted_values, sorted_values)
    turn = np.empty(len(values), np.int64)
    turn[order] = np.arange(len(values)) - begins
    return turn


def _draw_classes(posterior: FloatArray, tasks: IntArray, random: FloatArray) -> IntArray:
    """Return classes drawn from the posterior of each task with uniform random numbers; tasks × draws."""
    if posterior.shape[1] > MAX_COMPARED_CLASSES:
        sampled = [np.searchsorted(posterior[task, :-1].cumsum(), row) for task, row in zip(tasks, random, strict=True)]
        return np.array(sampled)
    sampled_class = np.zeros(random.shape, np.int64)
    for limit in posterior[tasks].cumsum(axis=1).T[:-1]:
        sampled_class += random > limit[:, None]
    return sampled_class
