"""Response bias: workers know the class with probability x and otherwise answer with fixed label frequencies.

The rank-one completion of centred answers assumes this model (`quorate.skills.centred`).
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.kernels import e_step
from quorate.blocks.memory import blocks_of
from quorate.models.confusion import log_joint, max_entries, sum_over_answers
from quorate.models.many_classes import SparseScores
from quorate.voting.posterior import FLOOR, add_one_proportions


@dataclass(frozen=True, eq=False)
class ResponseBias:
    """How often each worker gives each class, and how frequent the classes are."""

    frequency: FloatArray  # f, workers × classes, shrunk toward the crowd's
    prior: FloatArray  # pi [classes], from the pluralities of the tasks, with one task of each class added
    spread: float  # G = 1 - sum pi²
    crowd: FloatArray  # how often each class is given by all workers


MIN_PROBABILITY = 1e-3  # of any answer


def response_bias_scores(answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Return the log joint probability of answers and class by this model, tasks × classes.

    Args:
        answers: who answered what.
        skills: x of each worker.
        bias_of_workers: label frequencies of the workers, and the class prior.

    >>> import quorate
    >>> from quorate.skills.shrinkage import response_bias
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> response_bias_scores(answers, np.array([0.9, 0.1, 0.1]), response_bias(answers)).argmax(axis=1).tolist()
    [0]
    """
    m = answers.n_classes
    if answers.n_workers * m**2 > max_entries(answers.n_answers):
        return sparse_response_bias_scores(answers, skills, bias_of_workers)
    return log_joint(answers, np.log(response_bias_matrices(skills, bias_of_workers)), bias_of_workers.prior)


def response_bias_matrices(skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Return the confusion matrices of skills and response bias, workers × answers × classes.

    >>> even = ResponseBias(np.array([[0.5, 0.5]]), np.full(2, 0.5), 0.5, np.full(2, 0.5))
    >>> response_bias_matrices(np.array([0.6]), even).round(9).tolist()
    [[[0.8, 0.2], [0.2, 0.8]]]
    """
    x = skills[:, None, None]
    frequency = bias_of_workers.frequency[: len(skills), :, None]
    theta = np.maximum(x * np.eye(frequency.shape[1]) + (1 - x) * frequency, MIN_PROBABILITY)
    theta /= sum_over_answers(theta)
    return theta


def class_prior_by_response_bias(answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Return the class prior from the posterior of this model, with one task of each class added.

    >>> import quorate
    >>> from quorate.skills.shrinkage import response_bias
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("yyy")}, classes=["x", "y"])
    >>> class_prior_by_response_bias(answers, np.full(3, 0.9), response_bias(answers)).round(2).tolist()
    [0.33, 0.67]
    """
    if answers.n_workers * answers.n_classes**2 > max_entries(answers.n_answers):
        return _class_prior_of_many(answers, skills, bias_of_workers)
    logs = np.log(response_bias_matrices(skills, bias_of_workers))
    shift = np.log(np.maximum(bias_of_workers.prior, FLOOR))
    return add_one_proportions(blocks_of(answers).sum(e_step, logs, shift)[1])


def sparse_response_bias_scores(answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Return `response_bias_scores` without matrices: the probability of a wrong answer does not depend on the class.

    >>> import quorate
    >>> from quorate.skills.shrinkage import response_bias
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> scores = sparse_response_bias_scores(answers, np.array([0.9, 0.1, 0.1]), response_bias(answers))
    >>> scores.argmax(axis=1).tolist()
    [0]
    """
    right, wrong = _right_and_wrong(answers, skills, bias_of_workers)
    cells = np.bincount(answers.cells, right - wrong, answers.n_tasks * answers.n_classes)
    scores: FloatArray = cells.reshape(answers.n_tasks, answers.n_classes) + answers.by_task(wrong)[:, None]
    return scores + np.log(np.maximum(bias_of_workers.prior, FLOOR))


def _right_and_wrong(
    answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias
) -> tuple[FloatArray, FloatArray]:
    """Return the log-probability of each answer if it is right, and if it is wrong."""
    x = skills[answers.worker]
    frequency = bias_of_workers.frequency[answers.worker, answers.label]
    right = np.log(np.maximum(x + (1 - x) * frequency, MIN_PROBABILITY))
    wrong = np.log(np.maximum((1 - x) * frequency, MIN_PROBABILITY))
    return right, wrong


def _class_prior_of_many(answers: Answers, skills: FloatArray, bias_of_workers: ResponseBias) -> FloatArray:
    """Return `class_prior_by_response_bias`, computed only from cells with answers."""
    right, wrong = _right_and_wrong(answers, skills, bias_of_workers)
    prior = np.maximum(bias_of_workers.prior, FLOOR)
    cells = SparseScores.of(answers)
    posterior, log_total = cells.posterior(cells.sum_answers(right - wrong), prior)
    unobserved = np.exp(-log_total)  # posterior / prior of the classes that a task did not receive
    above_unobserved = posterior - prior[cells.label] * unobserved[cells.task]
    totals = np.bincount(cells.label, above_unobserved, answers.n_classes) + prior * unobserved.sum()
    return add_one_proportions(totals)
