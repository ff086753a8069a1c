"""The tie rule: among the classes of the best score, plain majority decides, then class prior, then class order.

Scores count as equal if they differ by at most `TIE_TOLERANCE`.
"""

from collections.abc import Callable

import numpy as np

from quorate.arrays import FloatArray, IntArray, runs
from quorate.blocks.block import Block
from quorate.blocks.kernels import vote_sums
from quorate.blocks.task_tables import TIE_TOLERANCE as TIE_TOLERANCE
from quorate.blocks.task_tables import leading_classes
from quorate.errors import count


def tie_sentence(n: int) -> str:
    """Return the sentence on the number of labels that were decided by breaking a tie.

    >>> tie_sentence(1), tie_sentence(2)
    ('1 label was decided by breaking a tie.', '2 labels were decided by breaking a tie.')
    """
    return f"{count(n, 'label')} {'was' if n == 1 else 'were'} decided by breaking a tie."


def break_ties(
    block: Block,
    label: IntArray,
    tied: IntArray,
    scores_of: Callable[[IntArray], FloatArray],
    prior: FloatArray | None,
) -> None:
    """Choose the labels of tied tasks by plain majority, then class prior, then order of the classes.

    Args:
        block: the tasks and their answers.
        label: the class of each task; those of tied tasks are changed in place.
        tied: the numbers of the tied tasks.
        scores_of: returns the scores of some tasks, tasks × classes.
        prior: the probability of each class; None if the classes are equally probable.

    >>> block = Block(np.array([0, 3]), np.array([0, 1, 2]), np.array([0, 1, 1]), n_workers=3, n_classes=2)
    >>> label = np.array([0])
    >>> break_ties(block, label, np.array([0]), lambda tasks: np.zeros((len(tasks), 2)), None)
    >>> label.tolist()
    [1]
    """
    for run in runs(len(tied), block.n_classes):
        tasks = tied[run]
        is_candidate = leading_classes(scores_of(tasks))
        tied_block = block.of_tasks(tasks)
        votes = vote_sums(tied_block, np.ones(block.n_workers))
        for criterion in [votes] if prior is None else [votes, np.broadcast_to(prior, is_candidate.shape)]:
            is_candidate &= leading_classes(np.where(is_candidate, criterion, -np.inf))
        label[tasks] = is_candidate.argmax(axis=1)
