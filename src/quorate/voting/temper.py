"""Scores -> a posterior that allows for workers who err together, and one that leans towards the majority."""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.skills.notes import LOW_TRUST
from quorate.voting.posterior import softmax
from quorate.voting.vote import tally, weight

DEPENDENCE = 0.2  # how much of each further answer repeats what the others said: workers err together
NO_TRUST = 0.5  # at and below this, a cautious vote is the crowd's plain vote


def tempered(scores: FloatArray, answers: Answers) -> FloatArray:
    """Turn scores into a posterior, less sure the more answers there are: workers are not independent.

    >>> import quorate
    >>> answers = quorate.read({"task": [1] * 6, "worker": list("abcdef"), "label": list("xxxxxy")})
    >>> tempered(np.log([[9.0, 1.0]]), answers).round(2).tolist()
    [[0.75, 0.25]]
    """
    beta = 1 / (1 + DEPENDENCE * np.maximum(answers.per_task - 1.0, 0.0))
    return softmax(scores * beta[:, None])


def leaning_to_the_majority(posterior: FloatArray, answers: Answers, *, trust: float, mean_skill: float) -> FloatArray:
    """Mix a posterior with that of a vote in which all workers have the crowd's mean skill, the more the less trust.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> sure = np.array([[0.9, 0.1]])
    >>> leaning_to_the_majority(sure, answers, trust=0.8, mean_skill=0.5).tolist()
    [[0.9, 0.1]]
    >>> leaning_to_the_majority(sure, answers, trust=0.5, mean_skill=0.5).argmax(axis=1).tolist()
    [1]
    """
    share = np.clip((trust - NO_TRUST) / (LOW_TRUST - NO_TRUST), 0.0, 1.0)
    even = tally(answers, np.full(answers.n_workers, weight(np.array([mean_skill]), answers.n_classes)[0]))
    mixed: FloatArray = share * posterior + (1 - share) * tempered(even, answers)
    return mixed
