"""ER, eigenvector ratio: leading eigenvector of the agreements over that of the shared tasks [Dalvi13]."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import TooLargeError
from quorate.graph.pairs import PairStats, correlations, pair_stats, too_many_pairs
from quorate.io.read_table import Source
from quorate.methods.binary_reduction import (
    BinaryAnswers,
    BinaryScores,
    aggregate_by_class,
    leading_vector,
    side_of,
    weigh_by_component,
)
from quorate.result import Result


def er(answers: Answers, *, gold: Source = None, classes: str = "one-vs-rest") -> Result:
    """Weigh each worker by the leading eigenvector of the agreement rates over that of the interaction graph.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; these tasks get them.
        classes: how more than two classes are split: ``one-vs-rest`` or ``ordered``.

    Raises:
        TooLargeError: too many pairs of workers share a task.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=10, per_task=5, seed=1)
    >>> bool((er(crowd.answers).vote.label == crowd.truth).mean() > 0.9)
    True
    """
    return aggregate_by_class("er", answers, gold, classes, lambda binary: ratio_scores(answers, binary))


def count_pairs(answers: Answers, method: str) -> PairStats:
    """Return the statistics of the pairs of workers.

    Raises:
        TooLargeError: there are more pairs than a table may hold.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> len(count_pairs(answers, "er"))
    1
    """
    reason = too_many_pairs(answers)
    if reason is not None:
        raise TooLargeError(
            f"The method {method} needs a table of the pairs of workers: {reason}. Use rank-one instead, or leave "
            "out answers to the tasks that have most"
        )
    return pair_stats(answers)


def ratio_scores(answers: Answers, binary: BinaryAnswers) -> BinaryScores:
    """Weigh by the ratio of the two eigenvectors, component by component [Dalvi13].

    Each component has its own vectors: those of all answers are zero outside one component.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyyyx")})
    >>> binary = BinaryAnswers(answers.task, answers.worker, 2.0 * answers.label - 1, 2, 3, np.zeros(3, int))
    >>> ratio_scores(answers, binary).weights.round(3).tolist()
    [1.0, 1.0, -1.0]
    """
    pairs = count_pairs(replace(answers, label=(binary.value > 0).astype(answers.label.dtype)), "er")
    n = binary.n_workers
    agreement = _with_ones(n, pairs.i, pairs.j, correlations(pairs, n_classes=2))
    share_tasks = _with_ones(n, pairs.i, pairs.j, np.ones(len(pairs)))

    def weigh_component(workers: IntArray, block: sparse.csr_array) -> tuple[FloatArray, float, bool]:
        v1, has_first = _leading(agreement[workers][:, workers])
        v2, has_second = _leading(share_tasks[workers][:, workers])
        # All entries of v2 have one sign. A worker whose entry is zero has no ratio, and weight zero.
        ratio = np.divide(v1, np.abs(v2), out=np.zeros(len(workers)), where=v2 != 0)
        return ratio * side_of(block @ ratio, block.sum(axis=1)), 0.0, has_first and has_second

    return weigh_by_component(binary, weigh_component)


def _leading(matrix: sparse.csr_array) -> tuple[FloatArray, bool]:
    n = matrix.shape[0]
    return leading_vector(lambda x: matrix @ x, n, scale=n)


def _with_ones(n: int, i: IntArray, j: IntArray, values: FloatArray) -> sparse.csr_array:
    """Form a symmetric matrix with ones on its diagonal: each worker agrees with itself."""
    diagonal = np.arange(n)
    entries = np.concatenate([values, values, np.ones(n)])
    rows = np.concatenate([i, j, diagonal])
    columns = np.concatenate([j, i, diagonal])
    return sparse.coo_array((entries, (rows, columns)), shape=(n, n)).tocsr()
