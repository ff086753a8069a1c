"""Draw tasks at random, the same ones every time: by a hash of the task's number.

Every k-th task is no sample where tasks come in an order (by day, by kind), and folds of every k-th task can be empty.
"""

import numpy as np
from numpy.typing import NDArray

from quorate.answers import Answers
from quorate.arrays import BoolArray

STEP = np.uint64(0x9E3779B97F4A7C15)  # the constants are those of splitmix64
STIRS = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))


def scattered(n: int) -> NDArray[np.uint64]:
    """Return a hash of each number below n, whose bits are as good as random.

    >>> bool(abs((scattered(10_000) % 4 == 0).mean() - 0.25) < 0.02)
    True
    """
    with np.errstate(over="ignore"):
        hashed = (np.arange(1, n + 1, dtype=np.uint64) * STEP) ^ STEP
        for shift, factor in STIRS:
            hashed = (hashed ^ (hashed >> shift)) * factor
        return hashed ^ (hashed >> np.uint64(31))


def sampled_tasks(answers: Answers, enough: int) -> BoolArray:
    """Choose tasks with about so many answers between them; all tasks, if there are no more.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(1000, 10, 3, seed=0).answers
    >>> bool(sampled_tasks(answers, 3000).all()), bool(abs(sampled_tasks(answers, 600).mean() - 0.2) < 0.05)
    (True, True)
    """
    if answers.n_answers <= enough:
        return np.ones(answers.n_tasks, dtype=bool)
    share = (scattered(answers.n_tasks) >> np.uint64(11)).astype(np.float64) / 2.0**53
    kept: BoolArray = share < enough / answers.n_answers
    return kept
