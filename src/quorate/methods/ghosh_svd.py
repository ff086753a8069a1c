"""Ghosh-SVD: the leading singular vector of the matrix of ±1 answers separates the tasks [Ghosh11]."""

import numpy as np
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.io.read_table import Source
from quorate.methods.binary_reduction import (
    ROUNDING_LEVEL,
    BinaryAnswers,
    BinaryScores,
    aggregate_by_class,
    leading_vector,
    side_of,
    weigh_by_component,
)
from quorate.result import Result


def ghosh_svd(answers: Answers, *, gold: Source = None, classes: str = "one-vs-rest") -> Result:
    """Label each task by the sign of its entry in the leading left singular vector of the ±1 answers.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; these tasks get them.
        classes: how more than two classes are split: ``one-vs-rest`` or ``ordered``.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=10, per_task=5, seed=1)
    >>> bool((ghosh_svd(crowd.answers).vote.label == crowd.truth).mean() > 0.9)
    True
    """
    return aggregate_by_class("ghosh-svd", answers, gold, classes, singular_scores)


def singular_scores(binary: BinaryAnswers) -> BinaryScores:
    """Weigh workers by the leading right singular vector v of U; the task scores U v are proportional to the left one.

    Each component has its own vector: that of all answers is zero outside one component.

    >>> task, worker = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    >>> answers = BinaryAnswers(task, worker, np.array([1.0, 1, -1, -1, -1, 1]), 2, 3, np.zeros(3, int))
    >>> singular_scores(answers).weights.round(3).tolist()
    [0.577, 0.577, -0.577]
    """

    def weigh_component(workers: IntArray, block: sparse.csr_array) -> tuple[FloatArray, float, bool]:
        v, converged = leading_vector(lambda x: block.T @ (block @ x), len(workers), scale=block.nnz)
        score = block @ v
        plain = block.sum(axis=1)
        score[np.abs(score) <= ROUNDING_LEVEL * (abs(block) @ np.abs(v))] = 0.0
        # Choose the sign whose labels agree with more votes; if both have equally many, decide by the scores.
        side = np.sign(np.sign(score) @ plain) or side_of(score, plain)
        return side * v, 0.0, converged

    return weigh_by_component(binary, weigh_component)
