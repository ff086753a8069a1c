"""Confusion matrices <-> posterior: the two products that every model of confusion is fitted with.

With q the posterior (tasks × classes) and theta_i(l, g) the probability that worker i answers l where the truth is g,
both are sums over the answers: of q over a worker's tasks, and of log theta over a task's workers.
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers, Sized
from quorate.arrays import FloatArray
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import expected_counts, task_scores
from quorate.blocks.memory import blocks_of
from quorate.errors import TooLargeError
from quorate.voting.posterior import FLOOR

ENTRIES = 100_000_000  # of all confusion matrices together, or of the posterior: 800 MB
# A few answers say nothing of so many entries, and a fit holds several tables of them: up to 80 MB each, or 400 bytes
# an answer, whichever is more.
FEW_ENTRIES, ENTRIES_AN_ANSWER = 10_000_000, 50
FEW_ANSWERS = 8  # classes up to which a loop over them is quicker than numpy's sum: three times with two classes


@dataclass(frozen=True)
class Cells:
    """The answers, and both products.

    >>> import quorate
    >>> cells = cells_of(quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["y", "x"]}))
    >>> cells.expected_counts(np.array([[0.25, 0.75]]))[0].tolist()  # the first worker said y, the second of two
    [[0.0, 0.0], [0.25, 0.75]]
    """

    blocks: Blocks

    def expected_counts(self, posterior: FloatArray) -> FloatArray:
        """Return how often each worker is expected to have answered l where g is true; workers × answers × classes."""
        return self.blocks.sums(expected_counts, posterior)[0]

    def log_joint(self, log_theta: FloatArray, prior: FloatArray) -> FloatArray:
        """Return log P(answers, class) of each task and class, from workers × answers × classes of logarithms."""
        return np.concatenate(list(self.blocks.each(task_scores, log_theta, np.log(np.maximum(prior, FLOOR)))))


def cells_of(answers: Answers) -> Cells:
    """Lay the answers out for both products.

    >>> import quorate
    >>> cells_of(quorate.simulate.crowd(10, 5, 3).answers).log_joint(np.zeros((5, 2, 2)), np.ones(2)).shape
    (10, 2)
    """
    return Cells(blocks_of(answers))


def over_answers(table: FloatArray) -> FloatArray:
    """Sum workers × answers × classes over the answers, to the bit as numpy does, which takes longer over so few.

    >>> over_answers(np.array([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
    [[[4.0, 6.0]]]
    """
    if table.shape[1] > FEW_ANSWERS:
        many: FloatArray = table.sum(axis=1, keepdims=True)
        return many
    total: FloatArray = table[:, :1].copy()
    for answer in range(1, table.shape[1]):
        total += table[:, answer : answer + 1]
    return total


def most_entries(n_answers: int) -> int:
    """Return how many entries the confusion matrices of a crowd with so many answers may have.

    >>> most_entries(1000), most_entries(1_000_000)
    (10000000, 50000000)
    """
    return min(ENTRIES, max(FEW_ENTRIES, ENTRIES_AN_ANSWER * n_answers))


def check_size(answers: Sized, method: str, *, matrices: bool = True, posterior: bool = True) -> None:
    """Refuse a crowd whose confusion matrices or posterior would not fit in memory, before it is tried.

    Args:
        answers: who answered what.
        method: that would keep them.
        matrices: whether it keeps a confusion matrix for each worker.
        posterior: whether it keeps the posterior of every task.

    Raises:
        TooLargeError: workers × classes × classes, or tasks × classes, is too much.

    >>> import quorate
    >>> check_size(quorate.simulate.crowd(10, 5, 3).answers, "dawid-skene")
    """
    m, some = answers.n_classes, "Merge rare classes, or use a method with one skill a worker, such as rank-one or iwmv"
    each = f"a {m:,} × {m:,} confusion matrix for each of {answers.n_workers:,} workers"
    sizes = [(each, answers.n_workers * m**2, most_entries(answers.n_answers), some)] if matrices else []
    every = "If the labels are free text, make classes of them; merge rare ones, or give the tasks in parts"
    if posterior:
        of_tasks = f"a probability for each of {answers.n_tasks:,} tasks and {m:,} classes"
        sizes.append((of_tasks, answers.n_tasks * m, ENTRIES, every))
    for what, entries, most, remedy in sizes:
        if entries > most:
            raise TooLargeError(f"{method} keeps {what}: {entries:,} entries, of which it may take {most:,}. {remedy}")
