"""KOS: messages between tasks and workers, and the centred singular vector that is also called KOS [Karger14]."""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import check_at_least_one
from quorate.io.read_table import Source
from quorate.methods.binary_reduction import (
    ROUNDING_LEVEL,
    BinaryAnswers,
    BinaryScores,
    aggregate_by_class,
    leading_vector,
    weigh_by_component,
)
from quorate.result import Result


def kos(
    answers: Answers, *, gold: Source = None, classes: str = "one-vs-rest", iterations: int = 10, seed: int = 0
) -> Result:
    """Pass messages between tasks and workers along the answers, and decide by the sign of their sums [Karger14].

    Args:
        answers: who answered what.
        gold: known labels of some tasks; these tasks get them.
        classes: how more than two classes are split: ``one-vs-rest`` or ``ordered``.
        iterations: number of rounds.
        seed: random seed of the first messages, which are normal with mean one and variance one.

    Raises:
        OptionError: the number of rounds is below one.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=10, per_task=5, seed=1)
    >>> bool((kos(crowd.answers).vote.label == crowd.truth).mean() > 0.9)
    True
    """
    check_at_least_one(iterations=iterations)
    return aggregate_by_class("kos", answers, gold, classes, lambda binary: pass_messages(binary, iterations, seed))


def pass_messages(binary: BinaryAnswers, iterations: int, seed: int) -> BinaryScores:
    """Exchange messages for some rounds; each message leaves out what its recipient sent [Karger14].

    >>> task, worker = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    >>> answers = BinaryAnswers(task, worker, np.array([1.0, 1, -1, -1, -1, 1]), 2, 3, np.zeros(3, int))
    >>> np.sign(pass_messages(answers, 10, seed=0).scores).tolist()
    [1.0, -1.0]
    """
    task = binary.task
    worker = binary.worker
    value = binary.value
    component = binary.component[worker]  # of each message
    n_messages = np.maximum(np.bincount(component), 1)
    # Every run draws the same noise, so that all classes are treated equally.
    to_task = np.random.default_rng(seed).normal(1.0, 1.0, len(task))
    for _ in range(iterations):
        to_worker = _sum_of_other_edges(value * to_task, task, binary.by_task)
        to_task = _sum_of_other_edges(value * to_worker, worker, binary.by_worker)
        # Only signs count, and messages never leave their component: scale each to a mean size of one.
        size = np.bincount(component, np.abs(to_task)) / n_messages
        to_task /= np.where(size > 0, size, 1.0)[component]
    message = value * to_task
    n_answers = np.maximum(binary.by_worker(np.ones(len(worker))), 1)
    return BinaryScores(binary.by_task(message), binary.by_task(np.abs(message)), binary.by_worker(to_task) / n_answers)


def _sum_of_other_edges(message: FloatArray, node: IntArray, sums: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return for each edge the sum of the messages of its node's other edges; zero if it is only a rounding error."""
    other_sum = sums(message)[node] - message
    other_sum[np.abs(other_sum) <= ROUNDING_LEVEL * sums(np.abs(message))[node]] = 0.0
    return other_sum


def kos_svd(answers: Answers, *, gold: Source = None, classes: str = "one-vs-rest") -> Result:
    """Label each task by the leading left singular vector of the ±1 answers, minus each worker's mean answer.

    Several published comparisons call this method KOS; it has little in common with message passing.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; these tasks get them.
        classes: how more than two classes are split: ``one-vs-rest`` or ``ordered``.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=10, per_task=5, seed=1)
    >>> bool((kos_svd(crowd.answers).vote.label == crowd.truth).mean() > 0.9)
    True
    """
    return aggregate_by_class("kos-svd", answers, gold, classes, centred_scores)


def centred_scores(binary: BinaryAnswers) -> BinaryScores:
    """Weigh each worker by the leading right singular vector of U - 1 mu', mu the mean of each column of U.

    The mean is over all tasks of the component; a task that the worker did not answer counts as zero. The matrix 1 mu'
    is never formed.

    >>> task, worker = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    >>> answers = BinaryAnswers(task, worker, np.array([1.0, 1, -1, -1, -1, 1]), 2, 3, np.zeros(3, int))
    >>> np.sign(centred_scores(answers).scores).tolist()
    [1.0, -1.0]
    """

    def weigh_component(workers: IntArray, block: sparse.csr_array) -> tuple[FloatArray, float, bool]:
        mean = block.sum(axis=0) / block.shape[0]

        def gram(x: FloatArray) -> FloatArray:
            left = block @ x - mean @ x
            product: FloatArray = block.T @ left - mean * left.sum()
            return product

        v, converged = leading_vector(gram, len(workers), scale=block.nnz)
        # Choose the sign with which workers of positive weight have most of the squared length; zero if both are equal.
        balance = (v * np.abs(v)).sum()
        v *= np.sign(balance) if abs(balance) > ROUNDING_LEVEL else 0.0
        return v, -float(mean @ v), converged

    return weigh_by_component(binary, weigh_component)
