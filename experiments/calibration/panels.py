"""Simulated crowds that are wrong together: a family of judges, mostly adversaries, most workers swapping two classes.

Without known labels or groups, the second and third look like good crowds to any method.
"""

import numpy as np

from quorate.simulate import Crowd, collect, crowd

# Judges of one family, and judges each of a family of their own.
FAMILY = 6
ALONE = 4


def family_panel(rng: np.random.Generator, shared: float = 0.7, n_tasks: int = 300, *, together: bool = False) -> Crowd:
    """Let six judges, right on 65 % of the tasks, draw a share of their answers together; four of 80 % do not.

    Args:
        rng: source of the randomness.
        shared: the share of its answers that a member takes from the family's draw.
        n_tasks: how many tasks.
        together: all members take it on the same tasks, instead of each for itself.

    >>> family_panel(np.random.default_rng(0)).answers.n_workers
    10
    """
    n = FAMILY + ALONE
    truth = rng.integers(0, 2, n_tasks)
    right = np.where(np.arange(n) < FAMILY, 0.65, 0.8)
    own = np.where(rng.random((n_tasks, n)) < right, truth[:, None], 1 - truth[:, None])
    draw = np.where(rng.random(n_tasks) < right[0], truth, 1 - truth)
    taken = rng.random((n_tasks, 1 if together else FAMILY)) < shared
    own[:, :FAMILY] = np.where(taken, draw[:, None], own[:, :FAMILY])
    task = np.repeat(np.arange(n_tasks), n)
    worker = np.tile(np.arange(n), n_tasks)
    return collect(task, worker, own.ravel(), truth, 2 * right - 1, 2)


def mostly_adversaries(rng: np.random.Generator) -> Crowd:
    """Let two workers in three be wrong more often than right.

    >>> int((mostly_adversaries(np.random.default_rng(0)).skills < 0).sum())
    33
    """
    sign = np.where(np.arange(50) < 33, -1, 1)
    return crowd(1000, 50, 7, skills=sign * rng.uniform(0.3, 0.9, 50), seed=rng)


def swapped_classes(rng: np.random.Generator, share: float = 0.8) -> Crowd:
    """Let most workers take the first two of four classes for each other.

    >>> swapped_classes(np.random.default_rng(0)).answers.n_classes
    4
    """
    honest = crowd(1000, 50, 7, n_classes=4, skills=rng.uniform(0.4, 0.9, 50), seed=rng)
    a = honest.answers
    mistaken = (np.arange(50) < share * 50)[a.worker]
    label = np.where(mistaken, np.array([1, 0, 2, 3])[a.label], a.label)
    return collect(a.task, a.worker, label, honest.truth, honest.skills, 4)
