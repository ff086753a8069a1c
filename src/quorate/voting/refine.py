"""Confusion matrices shrunk to what the skills predict: the data speak where they are plentiful.

The second stage of the standard method. A worker's skill says how often it errs; the crowd's pooled matrix says how
people err. Their product is each worker's prior matrix, and a few steps of MAP-EM weigh it against the worker's own
answers.
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Blocks, Sums
from quorate.blocks.kernels import em_step
from quorate.progress import tracked
from quorate.skills.priors import Priors
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.confusion import cells_of, over_answers
from quorate.voting.posterior import FLOOR, hold_known
from quorate.voting.shrinkage import above_guessing, crowd_worth
from quorate.voting.vote import accuracy

STEPS = 10  # more follow the model where it is wrong
SETTLED = 1e-4  # of the answers that are counted otherwise than a step before: no label moves by it
OWN_ERRORS = 4.0  # answers that the crowd's errors are worth, where a worker's are counted
LEAST_WRONG = 1e-6  # of a crowd's answers: how often a worker errs is told next to it
MOST_WRONG = 0.999  # of a column of a prior matrix: the right answer is never impossible


@dataclass(frozen=True)
class Refined:
    """Where the refinement ended."""

    confusion: FloatArray  # theta, workers × answers × classes
    prior: FloatArray  # of the classes
    counts: FloatArray  # expected answers behind them
    strength: float  # pseudo-answers that each prior column was worth
    steps: int

    def scores(self, answers: Answers) -> FloatArray:
        """Return the log joint probability, tasks × classes."""
        return cells_of(answers).log_joint(np.log(np.maximum(self.confusion, FLOOR)), self.prior)


def refine(
    blocks: Blocks,
    start: Sums,
    skills: FloatArray,
    *,
    steps: int = STEPS,
    hold: bool = True,
    priors: Priors | None = None,
) -> Refined:
    """Improve confusion matrices by EM, shrunk to what the skills predict; one pass over the answers a step.

    Args:
        blocks: of tasks.
        start: expected answers, workers × answers × classes, and expected tasks of each class, to begin with.
        skills: of each worker.
        steps: of EM at the most.
        hold: believe the known classes that blocks bring.
        priors: what is known of the workers from before, as answers that they gave.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> from quorate.voting.vote import majority
    >>> crowd = quorate.simulate.crowd(200, 10, 4, n_classes=3, seed=0)
    >>> start = counted(crowd.answers, majority(crowd.answers).posterior)
    >>> refined = refine(blocks_of(crowd.answers), start, crowd.skills)
    >>> bool((refined.scores(crowd.answers).argmax(axis=1) == crowd.truth).mean() > 0.8)
    True
    """
    counts, believed = start
    n_answers = counts.sum(axis=(1, 2))
    worth = n_answers if priors is None else n_answers + priors.worth
    relative = relative_errors(worth, skills, len(believed))
    for step in tracked("refining", range(1, steps + 1)):
        prior = (believed + 1) / (believed + 1).sum()  # a task of each class besides (Laplace's rule)
        before, (theta, strength) = counts, shrunk(_and_known(counts, prior, priors), relative)
        counts, believed = blocks.sums(em_step, _logs(theta), _logs(prior), hold)
        refined = Refined(theta, prior, before, strength, step)
        if np.abs(counts - before).sum() <= SETTLED * n_answers.sum():
            break
    return refined


def _and_known(counts: FloatArray, shares: FloatArray, priors: Priors | None) -> FloatArray:
    """Add the answers that what is known of each worker is worth; whom they confuse, this crowd says."""
    if priors is None:
        return counts
    both: FloatArray = counts + priors.answered(shares, pooled_matrix(counts.sum(axis=0))[0])
    return both


def counted(answers: Answers, posterior: FloatArray) -> Sums:
    """Count answers and tasks by what the tasks are believed to be, tasks × classes: where the refinement may begin.

    >>> import quorate
    >>> answers = quorate.read({"task": [1], "worker": ["a"], "label": ["x"]}, classes=["x", "y"])
    >>> counts, believed = counted(answers, np.array([[0.75, 0.25]]))
    >>> counts[0, 0].tolist(), believed.tolist()
    ([0.75, 0.25], [0.75, 0.25])
    """
    return cells_of(answers).expected_counts(posterior), posterior.sum(axis=0)


def _logs(p: FloatArray) -> FloatArray:
    logs: FloatArray = np.log(np.maximum(p, FLOOR))
    return logs


def matrices_of(answers: Answers, posterior: FloatArray, gold: IntArray | None = None) -> ConfusionMatrices:
    """Form the confusion matrices that a posterior, and known labels, speak for; one step of the refinement.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(200, 10, 4, seed=0)
    >>> bool(np.allclose(matrices_of(crowd.answers, np.eye(2)[crowd.truth]).theta.sum(axis=1), 1))
    True
    """
    counts = cells_of(answers).expected_counts(hold_known(posterior, gold))
    return ConfusionMatrices(shrunk(counts)[0], counts)


def relative_errors(n_answers: FloatArray, skills: FloatArray, n_classes: int) -> FloatArray:
    """Return how often each worker errs, next to the crowd.

    >>> relative_errors(np.ones(2), np.array([0.0, 0.6]), 2).round(3).tolist()
    [1.429, 0.571]
    """
    wrong = 1 - accuracy(skills, n_classes)
    relative: FloatArray = wrong / max(float(n_answers @ wrong / max(n_answers.sum(), 1)), FLOOR)
    return relative


def shrunk(counts: FloatArray, relative: FloatArray | None = None) -> tuple[FloatArray, float]:
    """Draw each worker's matrix to the crowd's, which is scaled by how often the worker errs.

    Args:
        counts: expected answers, workers × answers × classes.
        relative: how often each worker errs, next to the crowd; by default as the counts themselves say, which
            `OWN_ERRORS` draws to the crowd.

    Returns the matrices, and how many answers a column of the crowd's was worth.

    >>> theta, strength = shrunk(np.array([[[8.0, 2.0], [2.0, 8.0]], [[0.0, 0.0], [0.0, 0.0]]]))
    >>> theta[0].round(2).tolist(), theta[1].round(2).tolist()
    ([[0.8, 0.2], [0.2, 0.8]], [[0.8, 0.2], [0.2, 0.8]])
    """
    if relative is None:
        n, right = counts.sum(axis=(1, 2)), np.einsum("wcc->w", counts)
        of_crowd = max(1 - float(right.sum() / max(n.sum(), 1.0)), LEAST_WRONG)
        relative = (n - right + OWN_ERRORS * of_crowd) / (n + OWN_ERRORS) / of_crowd
    pooled, strength = pooled_matrix(counts.sum(axis=0))
    theta = counts + strength * tilted(pooled, relative)
    theta /= over_answers(theta)
    return theta, strength


def pooled_matrix(total: FloatArray) -> tuple[FloatArray, float]:
    """Return the crowd's confusion matrix, and how many answers it is worth as a prior for one worker.

    What `quorate.voting.shrinkage` says of two classes; a column of M entries takes M/2 times as many to settle.

    Args:
        total: expected answers of all workers, answers × classes.

    >>> pooled_matrix(np.array([[80.0, 20.0], [20.0, 80.0]]))[0].round(2).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    m = len(total)
    right = above_guessing(np.trace(total) / max(total.sum(), FLOOR), m)
    even = np.full((m, m), (1 - right) / max(m - 1, 1))
    np.fill_diagonal(even, right)
    pooled = total + m / 2 * even  # a class that nobody gives still has a column
    return pooled / pooled.sum(axis=0), crowd_worth(right, m) * m / 2


def tilted(pooled: FloatArray, relative: FloatArray) -> FloatArray:
    """Scale the crowd's wrong answers by how often each worker errs; the right answer takes the rest.

    Args:
        pooled: the crowd's matrix, answers × classes.
        relative: how often each worker errs, next to the crowd.

    >>> tilted(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([1.0, 2.0]))[1].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    m = len(pooled)
    prior: FloatArray = (pooled * (1 - np.eye(m)))[None] * relative[:, None, None]
    taken = over_answers(prior)
    prior *= np.minimum(1.0, MOST_WRONG / np.maximum(taken, FLOOR))
    prior[:, np.arange(m), np.arange(m)] = 1 - over_answers(prior)[:, 0]
    return prior
