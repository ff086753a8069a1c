"""What is thought of each task by skills, by confusion matrices and by plain majority: both stages of the default."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.kernels import em_step
from quorate.blocks.memory import blocks_of
from quorate.skills.evidence import gather
from quorate.uncertainty.centred_workforce import CentredWorkforce, centred_workforce
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.confusion import ENTRIES
from quorate.voting.dependence import HIDDEN, TYPICAL, Matrices, flattening, matrices_by_skill
from quorate.voting.habit_vote import habit_matrices, habit_scores
from quorate.voting.posterior import softmax
from quorate.voting.refine import refine
from quorate.voting.sparse_refine import refine_sparse
from quorate.voting.vote import tally, weight

LEAST_MEAN = 0.05  # skill of the crowd, for its plain vote to say anything
UNKNOWN_MEAN = 0.5  # a crowd's skill where none is determined: half way from guessing to perfect


@dataclass(frozen=True)
class Opinions:
    """Log joint probabilities, tasks × classes, before anything is flattened."""

    by_skill: FloatArray
    by_matrix: FloatArray
    by_majority: FloatArray  # every vote with the crowd's mean weight
    matrices: ConfusionMatrices | None  # None where they would not fit, or nothing is determined
    skills: FloatArray  # that the votes were weighed by
    determined: bool  # whether any worker's skill is

    @property
    def belief(self) -> FloatArray:
        """What the tasks are thought to be by the matrices."""
        return softmax(self.by_matrix)

    def confusion(self, n_classes: int) -> Matrices:
        """Return how each worker errs, as far as that was kept."""
        if self.matrices is None:
            return matrices_by_skill(self.skills, n_classes)
        return Matrices(self.matrices.theta, self.skills, n_classes)


def fits(answers: Answers) -> bool:
    """Whether a confusion matrix for each worker fits in memory.

    >>> import quorate
    >>> fits(quorate.simulate.crowd(10, 5, 3).answers)
    True
    """
    return answers.n_workers * answers.n_classes**2 <= ENTRIES


def opinions_of(answers: Answers, workers: CentredWorkforce, anchors: IntArray | None = None) -> Opinions:
    """Let skills, matrices and the plain vote each say what the tasks are.

    Args:
        answers: who answered what.
        workers: what centred answers, and the anchors if there are any, say of them.
        anchors: known classes of tasks whose workers could not be told without them, -1 elsewhere.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> found = opinions_of(crowd.answers, centred_workforce(gather(crowd.answers)))
    >>> bool((found.belief.argmax(axis=1) == crowd.truth).mean() > 0.85)
    True
    """
    determined = workers.habits is not None
    mean = max(workers.mean, LEAST_MEAN) if determined else UNKNOWN_MEAN
    even = tally(answers, np.full(answers.n_workers, weight(np.array([mean]), answers.n_classes)[0]))
    if workers.habits is None:
        return Opinions(even, even, even, None, np.full(answers.n_workers, UNKNOWN_MEAN), determined)
    first = habit_scores(answers, workers.skills, workers.habits)
    if not fits(answers):
        second = refine_sparse(answers, softmax(first), workers.skills)
        return Opinions(first, second, even, None, workers.skills, determined)
    blocks = blocks_of(answers, anchors)
    theta = habit_matrices(workers.skills, workers.habits)
    refined = refine(blocks, blocks.sums(em_step, np.log(theta), np.log(workers.habits.prior)), workers.skills)
    matrices = ConfusionMatrices(refined.confusion, refined.counts)
    return Opinions(first, refined.scores(answers), even, matrices, workers.skills, determined)


def first_belief(answers: Answers) -> FloatArray:
    """Return what the tasks are thought to be, flattened as for a typical crowd: where a closer look begins.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1).answers
    >>> bool(np.allclose(first_belief(answers).sum(axis=1), 1))
    True
    """
    found = opinions_of(answers, centred_workforce(gather(answers)))
    factor = flattening(answers.per_task, HIDDEN * TYPICAL)[:, None]
    belief: FloatArray = (softmax(found.by_skill * factor) + softmax(found.by_matrix * factor)) / 2
    return belief
