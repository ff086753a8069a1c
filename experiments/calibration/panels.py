"""A simulated panel with a family of judges that are wrong together."""

import numpy as np

from quorate.simulate import Crowd, collect

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
