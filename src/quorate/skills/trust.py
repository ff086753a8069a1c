"""Does one skill a worker explain who agrees with whom? A warning for crowds that copy or share a bias.

Under one factor, agreement between two workers is the product of their skills. Then skilled workers agree among
themselves just as much as their agreement with the crowd says: with u_i the skill less its mean, and sums over tasks
and over pairs of different workers, a0 = sum z_i·z_j, a1 = sum u_i z_i·z_j, a2 = sum u_i u_j z_i·z_j satisfy
a0 a2 = a1². A tight group that agrees beyond that makes a0 a2 larger. Second moments cannot tell a tight group of
experts from a tight group that is wrong alike: `opinion_weights.py` leans to the plain vote where trust is low.
"""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray
from quorate.skills.centred import Habits, centred_answers, centred_skills, habits_of, task_weights
from quorate.skills.scatter import folds_by_id, sampled

FOLDS = 4
SLACK = 1.5  # standard errors that are put down to chance
ENOUGH = 150_000  # answers; of a larger crowd only so many are looked at
ENTRIES = 30_000_000  # of answers × classes that are looked at, 240 MB: of many classes, fewer answers


def trust(answers: Answers, habits: Habits | None = None) -> float:
    """Return how well one factor explains the agreements, from 0 to 1; 1 where nothing speaks against it.

    Skills are fitted on three quarters of the tasks and the sums taken on the fourth, in turn; which quarter a task is
    in, its hash says.

    Args:
        answers: who answered what.
        habits: of the workers, where more is known of them than these answers; by default as the answers say.

    >>> import quorate
    >>> trust(quorate.simulate.crowd(500, 20, 5, seed=0).answers)
    1.0
    """
    if answers.n_classes < 2 or answers.per_task.max(initial=0) < 2:
        return 1.0
    habits = habits_of(answers) if habits is None else habits
    looked_at = sampled(answers, min(ENOUGH, ENTRIES // answers.n_classes))
    fold = folds_by_id(looked_at, FOLDS)
    sums = np.concatenate([_fold_sums(looked_at, habits, fold != k, fold == k) for k in range(FOLDS)])
    a0, a1, a2 = sums.sum(axis=0)
    # The delta method over tasks: how a0 a2 - a1² moves with each task's sums.
    pulls = sums @ np.array([a2, -2 * a1, a0])
    error = np.sqrt(max(float(pulls @ pulls - pulls.sum() ** 2 / max(len(pulls), 1)), 0.0))
    excess = max(float(a0 * a2 - a1**2 - SLACK * error), 0.0)
    return float(a1**2 / (a1**2 + excess)) if excess > 0 else 1.0


def _fold_sums(answers: Answers, habits: Habits, fitted: BoolArray, tested: BoolArray) -> FloatArray:
    """Fit skills on some tasks, and return a0, a1, a2 of each of the others; shape (tasks, 3)."""
    if not (fitted[answers.task].any() and tested[answers.task].any()):
        return np.zeros((0, 3))
    skills = centred_skills(answers.only(fitted), tolerance=1e-3, max_iterations=100).solution.skills
    held = answers.only(tested)
    u = skills - np.average(skills, weights=held.per_worker)
    return _tetrad_sums(held, habits, u)


def _tetrad_sums(answers: Answers, habits: Habits, u: FloatArray) -> FloatArray:
    """Sum z_i·z_j, u_i z_i·z_j and u_i u_j z_i·z_j over the pairs of each task, by way of sum z and sum u z."""
    z = centred_answers(answers, habits)
    size = (z * z).sum(axis=1)
    own = u[answers.worker]
    omega = task_weights(answers)
    total, pulled = answers.by_task(z), answers.by_task(own[:, None] * z)
    alone = answers.by_task(np.stack([size, own * size, own**2 * size], axis=1))
    products = [(total * total).sum(axis=1), (pulled * total).sum(axis=1), (pulled * pulled).sum(axis=1)]
    return omega[:, None] * (np.stack(products, axis=1) - alone)
