"""How often answers are right on tasks of each class, as a range: by the labels themselves, or by known ones.

By the labels themselves such a figure is off by 0.061 on average over 74 classes of 21 public crowds, and by more than
0.2 where a crowd gets a class wrong together, as then do its labels. So no single figure is stated, but the range in
which nine in ten of those turned out to lie. Known labels of ten tasks of a class or more replace it by what they show.
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, runs

OFF = 0.16  # how far from the stated share the truth lies at the most, in nine of ten classes of 21 public crowds
LEAST_SHARE, MOST_SHARE = 0.01, 0.99  # nobody is always right, as far as answers can tell
ENOUGH = 10  # known tasks of a class, from which on they speak for it
Z = 1.645  # of a range that holds nine times in ten


@dataclass(frozen=True)
class RightByClass:
    """The share of answers that are right on tasks of each class; shapes (classes,)."""

    share: FloatArray
    low: FloatArray
    high: FloatArray
    checked: BoolArray  # by known labels

    def text(self, k: int) -> str:
        """Write the range of a class: '42 to 68 %'.

        >>> RightByClass(*np.array([[0.6], [0.42], [0.68]]), np.array([False])).text(0)
        '42 to 68 %'
        """
        return f"{100 * self.low[k]:.0f} to {100 * self.high[k]:.0f} %"


def right_by_class(answers: Answers, posterior: FloatArray, known: IntArray | None = None) -> RightByClass:
    """Estimate how often answers are right on tasks of each class.

    Args:
        answers: who answered what.
        posterior: what is believed, tasks × classes.
        known: the known class of each task, -1 where unknown; None where no gold is given.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(500, 10, 5, skills=np.full(10, 0.6), seed=0)
    >>> found = right_by_class(crowd.answers, quorate.aggregate(crowd.answers).ballot.posterior)
    >>> bool(((found.low < 0.8) & (0.8 < found.high)).all())
    True
    """
    m, total = answers.n_classes, np.zeros(answers.n_classes)
    for run in runs(*posterior.shape):
        total += (answers.per_task[run, None] * posterior[run]).sum(axis=0)
    cells, times = np.unique(answers.cells, return_counts=True)
    share = np.bincount(cells % m, times * posterior[cells // m, cells % m], m) / np.maximum(total, 1e-9)
    low, high = share - OFF, share + OFF
    checked = np.zeros(answers.n_classes, dtype=bool)
    if known is not None:
        right = answers.by_task(answers.label == known[answers.task])
        tasks = np.bincount(known[(known >= 0) & (answers.per_task > 0)], minlength=m)
        for k in np.flatnonzero(tasks >= ENOUGH).tolist():
            mine, n = known == k, int(tasks[k])
            checked[k] = True
            share[k] = right[mine].sum() / answers.per_task[mine].sum()
            # Wilson's interval, of as many tasks: answers to one task hang together.
            middle = (share[k] + Z**2 / (2 * n)) / (1 + Z**2 / n)
            half = Z * np.sqrt(share[k] * (1 - share[k]) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
            low[k], high[k] = middle - half, middle + half
    return RightByClass(share, np.clip(low, LEAST_SHARE, MOST_SHARE), np.clip(high, LEAST_SHARE, MOST_SHARE), checked)
