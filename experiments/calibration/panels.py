"""A simulated panel with a family of judges that share errors."""

import numpy as np

from quorate.simulate import Crowd, collect

# Numbers of judges of one family, and of judges without a family.
FAMILY = 6
ALONE = 4


def family_panel(rng: np.random.Generator, shared: float = 0.7, n_tasks: int = 300, *, together: bool = False) -> Crowd:
    """Simulate six judges of accuracy 65 % who share a part of their answers, and four independent ones of 80 %.

    Args:
        rng: random numbers.
        shared: the share of its answers that a member takes from the common draw of the family.
        n_tasks: number of tasks.
        together: all members take it on the same tasks, instead of on different random tasks.

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
