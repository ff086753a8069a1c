"""Does one skill a worker explain who agrees with whom? A warning for crowds that copy or share a bias.

Under one factor, agreement between two workers is the product of their skills. Then skilled workers agree among
themselves just as much as their agreement with the crowd says: with u_i the skill less its mean, and sums over tasks
and over pairs of different workers, a0 = sum z_i·z_j, a1 = sum u_i z_i·z_j, a2 = sum u_i u_j z_i·z_j satisfy
a0 a2 = a1². A tight group that agrees beyond that makes a0 a2 larger. Second moments cannot tell a tight group of
experts from a tight group that is wrong alike: `opinion_weights.py` leans to the plain vote where trust is low.
"""

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.scatter import divided, sampled, those_who_answered
from quorate.skills.centred import Habits, centred_answers, centred_skills, habits_of, task_weights

FOLDS = 4
SLACK = 1.5  # standard errors that are put down to chance
ENOUGH = 150_000  # answers; of a larger crowd only so many are looked at
# Ways to divide a crowd into folds, where that looks at no more answers than a large crowd has. With one, trust in a
# small crowd hangs on the division (of ten on wsd, .60 to .97; on dogs, .57 to .67); five bring the halves together.
DIVISIONS = 5
ENTRIES = 10_000_000  # of answers × classes that are looked at, 80 MB: of many classes, fewer answers


def trust(answers: Answers, habits: Habits | None = None) -> float:
    """Return how well one factor explains the agreements, from 0 to 1; 1 where nothing speaks against it.

    Skills are fitted on three quarters of the tasks and the sums taken on the fourth, in turn; which quarter a task is
    in, its hash says. A small crowd is divided several ways, and each task's sums are the mean over them.

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
    enough = min(ENOUGH, ENTRIES // answers.n_classes)
    looked_at = sampled(answers, enough)
    n_divisions = min(max(enough // max(looked_at.n_answers, 1), 1), DIVISIONS)
    folds = divided(looked_at, FOLDS, n_divisions)
    each = zip(folds, left_out_skills(looked_at, folds), strict=True)
    sums = _tetrad_sums(looked_at, habits, np.stack([u[fold[looked_at.task], looked_at.worker] for fold, u in each]))
    a0, a1, a2 = sums.sum(axis=0)
    # The delta method over tasks: how a0 a2 - a1² moves with each task's sums.
    pulls = sums @ np.array([a2, -2 * a1, a0])
    error = np.sqrt(max(float(pulls @ pulls - pulls.sum() ** 2 / max(len(pulls), 1)), 0.0))
    excess = max(float(a0 * a2 - a1**2 - SLACK * error), 0.0)
    return float(a1**2 / (a1**2 + excess)) if excess > 0 else 1.0


def left_out_skills(answers: Answers, folds: IntArray) -> FloatArray:
    """Return each worker's skill by the tasks of the other folds, less the mean of those who answer this one's.

    One solve for all: of a crowd in which every worker stands once for each fold of each division, with its tasks.

    Args:
        answers: who answered what.
        folds: of each task, in each division; divisions × tasks.

    Returns divisions × folds × workers; zero for who answered nothing.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 3, 3, skills=np.array([0.8, 0.6, 0.1]), seed=0)
    >>> left_out_skills(crowd.answers, np.arange(400)[None] % FOLDS)[0].argsort(axis=1)[:, 0].tolist()
    [2, 2, 2, 2]
    """
    everyone, (answers, there) = answers.n_workers, those_who_answered(answers)
    n, shape = answers.n_workers, (len(folds), FOLDS, answers.n_workers)
    others = [fold != k for fold in folds for k in range(FOLDS)]  # the tasks that teach, of each fold
    taught = [np.flatnonzero(kept[answers.task]) for kept in others]
    start = np.concatenate([[0], np.cumsum([int(kept.sum()) for kept in others])])
    number = [np.cumsum(kept) - 1 + first for kept, first in zip(others, start[:-1], strict=True)]  # of each task there
    crowd = Answers(
        np.concatenate([number[k][answers.task[rows]] for k, rows in enumerate(taught)]),
        np.concatenate([answers.worker[rows] + k * n for k, rows in enumerate(taught)]),
        np.concatenate([answers.label[rows] for rows in taught]),
        *(pa.nulls(size) for size in (int(start[-1]), len(others) * n, answers.n_classes)),
    )
    skills = centred_skills(crowd, tolerance=1e-3, max_iterations=100).solution.skills.reshape(shape)
    here = np.stack([np.bincount(answers.worker[~kept[answers.task]], minlength=n) for kept in others]).reshape(shape)
    means = (skills * here).sum(axis=2, keepdims=True) / np.maximum(here.sum(axis=2, keepdims=True), 1)
    apart = np.zeros((*shape[:2], everyone))
    apart[:, :, there] = skills - means
    return apart


def _tetrad_sums(answers: Answers, habits: Habits, own: FloatArray) -> FloatArray:
    """Sum z_i·z_j, u_i z_i·z_j and u_i u_j z_i·z_j over the pairs of each task, by way of sum z and sum u z.

    Args:
        answers: who answered what.
        habits: that answers are centred at.
        own: u of each answer's worker, in each division; divisions × answers. The sums are the mean over them.
    """
    z = centred_answers(answers, habits)
    size = np.einsum("al,al->a", z, z)
    omega = task_weights(answers)
    u, squared = own.mean(axis=0), (own * own).mean(axis=0)
    total, *pulled = [answers.by_task(factor[:, None] * z) for factor in (np.ones(len(z)), u, *own)]
    alone = answers.by_task(np.stack([size, u * size, squared * size], axis=1))
    pairs = [(total, total), (total, pulled[0]), *((each, each) for each in pulled[1:])]
    products = [np.einsum("tl,tl->t", a, b) for a, b in pairs]
    return omega[:, None] * (np.stack([*products[:2], np.mean(products[2:], axis=0)], axis=1) - alone)
