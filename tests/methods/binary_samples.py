import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.graph.components import identify
from quorate.methods.binary_reduction import BinaryAnswers


def binary_of(answers: Answers) -> BinaryAnswers:
    """The first class is -1, any other +1."""
    value = np.where(answers.label > 0, 1.0, -1.0)
    component = identify(answers).component
    return BinaryAnswers(answers.task, answers.worker, value, answers.n_tasks, answers.n_workers, component)


def dense(binary: BinaryAnswers) -> FloatArray:
    matrix = np.zeros((binary.n_tasks, binary.n_workers))
    matrix[binary.task, binary.worker] = binary.value
    return matrix
