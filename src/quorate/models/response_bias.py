"""The vote of workers who know the answer, or else follow a habit: the model that centred answers assume."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.kernels import em_step
from quorate.blocks.memory import blocks_of
from quorate.models.confusion import cells_of, most_entries, over_answers
from quorate.voting.posterior import FLOOR


@dataclass(frozen=True)
class ResponseBias:
    """How often each worker gives each class, and how frequent the classes are."""

    frequency: FloatArray  # f, workers × classes, shrunk toward the crowd's
    prior: FloatArray  # pi [classes], by the plurality of each task, one task of each class added
    spread: float  # G = 1 - sum pi²
    crowd: FloatArray  # how often each class is given by all workers


LEAST_CHANCE = 1e-3  # of any answer, whatever the skill and the habit


def response_bias_scores(answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Score each class by a model in which a worker knows with probability x, and else answers by habit.

    Args:
        answers: who answered what.
        skills: x of each worker.
        bias_of_workers: of the workers, and the class prior.

    Returns the log joint probability, tasks × classes.

    >>> import quorate
    >>> from quorate.skills.centred import response_bias_of
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> response_bias_scores(answers, np.array([0.9, 0.1, 0.1]), response_bias_of(answers)).argmax(axis=1).tolist()
    [0]
    """
    m = answers.n_classes
    if answers.n_workers * m**2 > most_entries(answers.n_answers):
        return habit_cells(answers, skills, bias_of_workers)
    return cells_of(answers).log_joint(np.log(response_bias_matrices(skills, bias_of_workers)), bias_of_workers.prior)


def response_bias_matrices(skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Write skills and habits as confusion matrices, workers × answers × classes.

    >>> even = ResponseBias(np.array([[0.5, 0.5]]), np.full(2, 0.5), 0.5, np.full(2, 0.5))
    >>> response_bias_matrices(np.array([0.6]), even).round(9).tolist()
    [[[0.8, 0.2], [0.2, 0.8]]]
    """
    x, habit = skills[:, None, None], bias_of_workers.frequency[: len(skills), :, None]
    theta = np.maximum(x * np.eye(habit.shape[1]) + (1 - x) * habit, LEAST_CHANCE)
    theta /= over_answers(theta)
    return theta


def class_prior_by_response_bias(answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Return the share of each class among the tasks as the same model believes, a task of each besides.

    >>> import quorate
    >>> from quorate.skills.centred import response_bias_of
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("yyy")}, classes=["x", "y"])
    >>> class_prior_by_response_bias(answers, np.full(3, 0.9), response_bias_of(answers)).round(2).tolist()
    [0.33, 0.67]
    """
    if answers.n_workers * answers.n_classes**2 > most_entries(answers.n_answers):
        return _shares_by_cell(answers, skills, bias_of_workers)
    logs, shift = (
        np.log(response_bias_matrices(skills, bias_of_workers)),
        np.log(np.maximum(bias_of_workers.prior, FLOOR)),
    )
    believed = blocks_of(answers).sum(em_step, logs, shift)[1] + 1
    shares: FloatArray = believed / believed.sum()
    return shares


def habit_cells(answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Scores of `response_bias_scores` without a matrix per worker: a wrong answer is as likely whatever the class.

    >>> import quorate
    >>> from quorate.skills.centred import response_bias_of
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> habit_cells(answers, np.array([0.9, 0.1, 0.1]), response_bias_of(answers)).argmax(axis=1).tolist()
    [0]
    """
    right, wrong = _right_and_wrong(answers, skills, bias_of_workers)
    cells = np.bincount(answers.cells, right - wrong, answers.n_tasks * answers.n_classes)
    scores: FloatArray = cells.reshape(answers.n_tasks, answers.n_classes) + answers.by_task(wrong)[:, None]
    return scores + np.log(np.maximum(bias_of_workers.prior, FLOOR))


def _right_and_wrong(
    answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias
) -> tuple[FloatArray, FloatArray]:
    """Return the logarithm of how likely each answer is where it is right, and where it is wrong."""
    x, habit = skills[answers.worker], bias_of_workers.frequency[answers.worker, answers.label]
    wrong = np.log(np.maximum((1 - x) * habit, LEAST_CHANCE))
    return np.log(np.maximum(x + (1 - x) * habit, LEAST_CHANCE)), wrong


def _shares_by_cell(answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Sum that belief over the tasks: the classes that nobody gave a task divide by the prior what is left of it."""
    right, wrong = _right_and_wrong(answers, skills, bias_of_workers)
    n, m, prior = answers.n_tasks, answers.n_classes, np.maximum(bias_of_workers.prior, FLOOR)
    cells, place = np.unique(answers.cells, return_inverse=True)
    gained = np.bincount(place, right - wrong, len(cells))
    task, label = cells // m, cells % m
    most = np.zeros(n)
    np.maximum.at(most, task, gained)
    unsaid = np.exp(-most)
    own = prior[label] * (np.exp(gained - most[task]) - unsaid[task])  # more than the class has unsaid
    total = unsaid * prior.sum() + np.bincount(task, own, n)
    believed = np.bincount(label, own / total[task], m) + prior * (unsaid / total).sum() + 1
    shares: FloatArray = believed / believed.sum()
    return shares
