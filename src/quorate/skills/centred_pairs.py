"""The products of centred answers pair by pair, once for all sweeps, where classes are many.

What a pass over the answers costs grows with the classes; what a product with a table of pairs costs does not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.meetings.pairs import meetings, n_meetings

if TYPE_CHECKING:
    from scipy import sparse

MANY_CLASSES = 50  # from which on: with ten the passes are as quick, with a hundred they take four times as long
MEETINGS_AN_ANSWER = 5  # of two answers at the most, so that the table is linear in the answers
ENTRIES = 1 << 21  # of pairs × classes that are multiplied at a time: 16 MB each


@dataclass(frozen=True)
class CentredPairs:
    """Sums over the tasks that each two workers share: of omega z_i·z_j, and of omega."""

    signed: "sparse.csr_array"
    shared: "sparse.csr_array"

    def both(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Do what `quorate.blocks.kernels.centred_products` does."""
        return self.signed @ x, self.shared @ (x * x)


def pairs_pay(answers: Answers) -> bool:
    """Whether the pairs are few enough, and the classes many enough.

    >>> import quorate
    >>> pairs_pay(quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}))
    False
    """
    return answers.n_classes >= MANY_CLASSES and n_meetings(answers) <= MEETINGS_AN_ANSWER * answers.n_answers


def centred_pairs(answers: Answers, frequency: FloatArray, omega: FloatArray) -> CentredPairs:
    """Sum the products of centred answers over the tasks that each two workers share.

    Args:
        answers: who answered what.
        frequency: the habits f, workers × classes.
        omega: the weight of each task.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> centred_pairs(answers, np.full((2, 2), 0.5), np.ones(1)).signed.toarray().tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    from scipy import sparse

    n = answers.n_workers
    total = [sparse.csr_array((n, n)), sparse.csr_array((n, n))]
    for first, second, products in centred_meetings(answers, frequency):
        i, j = answers.worker[first], answers.worker[second]
        weight = omega[answers.task[first]]
        for k, values in enumerate((weight * products, weight)):
            one_way = sparse.coo_array((values, (i, j)), shape=(n, n)).tocsr()
            total[k] = total[k] + one_way + one_way.T
    return CentredPairs(total[0].tocsr(), total[1].tocsr())


def centred_meetings(answers: Answers, frequency: FloatArray) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Multiply every two centred answers to one task, some at a time: [same class] - f_j(l_i) - f_i(l_j) + f_i·f_j.

    Args:
        answers: who answered what.
        frequency: the habits f, workers × classes.

    Yields the two answers of each meeting, and the product.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> [[each.tolist() for each in some] for some in centred_meetings(answers, np.full((2, 2), 0.5))]
    [[[0], [1], [0.5]]]
    """
    for first, second in meetings(answers):
        i, j = answers.worker[first], answers.worker[second]
        given, other = answers.label[first], answers.label[second]
        products = (given == other) - frequency[j, given] - frequency[i, other] + _alike(frequency, i, j)
        yield first, second, products


def peer_sums(answers: Answers, frequency: FloatArray, x: FloatArray) -> FloatArray:
    """Sum x_j z_it·z_jt over the peers of each answer.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> peer_sums(answers, np.full((2, 2), 0.5), np.array([1.0, 10.0])).tolist()
    [5.0, 0.5]
    """
    total = np.zeros(answers.n_answers)
    for first, second, products in centred_meetings(answers, frequency):
        for mine, other in ((first, second), (second, first)):
            total += np.bincount(mine, x[answers.worker[other]] * products, answers.n_answers)
    return total


def _alike(frequency: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return f_i·f_j of each meeting, each pair multiplied once."""
    n, m = frequency.shape
    keys, place = np.unique(i.astype(np.int64) * n + j, return_inverse=True)
    found = [
        np.einsum("pl,pl->p", frequency[some // n], frequency[some % n])
        for some in np.array_split(keys, -(-len(keys) * m // ENTRIES))
    ]
    products: FloatArray = np.concatenate(found)[place]
    return products
