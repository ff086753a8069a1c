"""Faults that are added to simulated crowds, to test whether they are found."""

from dataclasses import replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray


def relabelled(answers: Answers, label: IntArray) -> Answers:
    """Return the answers with other labels.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> relabelled(answers, 1 - answers.label).label.tolist()
    [1, 0]
    """
    return replace(answers, label=label.astype(answers.label.dtype))


def copying(answers: Answers, pairs: IntArray, share: float, rng: np.random.Generator) -> Answers:
    """Return answers in which the second worker of each pair copies the first, on a share of their shared tasks.

    Args:
        answers: who answered what.
        pairs: of workers, one row each: whose answer, and who copies it.
        share: of the tasks.
        rng: draws the tasks.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> copying(answers, np.array([[0, 1]]), 1.0, np.random.default_rng(0)).label.tolist()
    [0, 0]
    """
    label_table = np.full((answers.n_tasks, answers.n_workers), -1)
    label_table[answers.task, answers.worker] = answers.label
    for source, copier in pairs:
        taken = (label_table[:, source] >= 0) & (label_table[:, copier] >= 0) & (rng.random(answers.n_tasks) < share)
        label_table[taken, copier] = label_table[taken, source]
    return relabelled(answers, label_table[answers.task, answers.worker])
