"""Answers as methods for yes or no take them."""

import numpy as np

from quorate.answers import Answers
from quorate.graph.components import identify
from quorate.methods.binary_reduction import BinaryAnswers


def binary_of(answers: Answers) -> BinaryAnswers:
    """Take the first class for no and every other for yes."""
    value = np.where(answers.label > 0, 1.0, -1.0)
    component = identify(answers).component
    return BinaryAnswers(answers.task, answers.worker, value, answers.n_tasks, answers.n_workers, component)
