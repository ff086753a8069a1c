"""Classes in an order: workers who know come near the truth, and the crowd's middle answer has a say.

Three opinions as ever, each for classes that have an order. By skill: a worker who knows gives the true class or a
neighbour, by a law of the distance that all who know share, and one who does not answers by habit. By matrix: each
worker's own answers, drawn to that. By vote: where the middle of the answers lies, each counted by the square of how
often its worker knows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Sums
from quorate.blocks.kernels import em_step, expected_counts, task_scores
from quorate.blocks.memory import Answered, answers_in, blocks_of
from quorate.skills.centred import Habits
from quorate.voting.dependence import flat_in
from quorate.voting.habit_vote import LEAST_CHANCE
from quorate.voting.posterior import FLOOR, softmax
from quorate.voting.shrinkage import LEAST_WORTH
from quorate.voting.voices import Telling

STEPS = 10  # of EM, as in `quorate.voting.refine`
DECAY = 0.2  # of the law of distances, at the start: a step away is a fifth as likely
LEAST_KNOWN, MOST_KNOWN = 0.01, 0.99  # how often a worker knows: each can err, and each can be right
# By skill and by matrix half the say together, and half the middle answer: a judgement, made with web, age and crowds
# simulated with normal noise in view; `quorate.evaluation.experiments.graded` prints what it comes to.
WEIGHTS = np.array([0.25, 0.25, 0.5])


@dataclass(frozen=True)
class Knowing:
    """How often each worker knows, how near those come who do, and what the classes' shares are."""

    share: FloatArray  # of each worker's answers, those that come from knowing
    near: FloatArray  # answers × classes: what those who know answer
    prior: FloatArray  # of the classes
    habit: FloatArray  # workers × answers: what those who do not answer

    @property
    def theta(self) -> FloatArray:
        """The matrices, workers × answers × classes."""
        return _matrices(self.share, self.near, self.habit)[1]

    def scores(self, block: Block) -> FloatArray:
        """Return the log joint probabilities of a block's tasks by who knows."""
        return task_scores(block, np.log(self.theta), np.log(np.maximum(self.prior, FLOOR)))


def learn_knowing(answers: Answered, skills: FloatArray, habits: Habits) -> Knowing:
    """Fit the model by EM.

    Args:
        answers: who answered what.
        skills: of each worker, to begin with.
        habits: of the workers, and the class prior.

    >>> import quorate
    >>> from quorate.skills.centred import habits_of
    >>> crowd = quorate.simulate.crowd(300, 8, 5, n_classes=4, seed=1)
    >>> known = learn_knowing(crowd.answers, np.full(8, 0.5), habits_of(crowd.answers))
    >>> bool(np.corrcoef(known.share, crowd.skills)[0, 1] > 0.8)
    True
    """
    m, blocks = answers.n_classes, blocks_of(answers)
    apart = distances(m)
    habit = habits.frequency[: answers.n_workers]
    share, prior = np.clip(skills, LEAST_KNOWN, MOST_KNOWN), habits.prior
    law = DECAY ** np.arange(m, dtype=np.float64)
    n = answers.per_worker
    for _ in range(STEPS):
        near = _near(law)
        known, theta = _matrices(share, near, habit)
        logs = np.log(theta), np.log(np.maximum(prior, FLOOR))
        counts, believed = blocks.sums(em_step, *logs, False)  # known labels speak later, of what was learnt without
        knew = counts * np.minimum(known / theta, 1.0)
        mean = knew.sum() / max(n.sum(), 1)
        share = np.clip((knew.sum(axis=(1, 2)) + LEAST_WORTH * mean) / (n + LEAST_WORTH), LEAST_KNOWN, MOST_KNOWN)
        prior = (believed + 1) / (believed + 1).sum()
        law = _law(knew.sum(axis=0), apart)
    return Knowing(share, _near(law), prior, habit)


def distances(n_classes: int) -> FloatArray:
    """How many steps two classes are apart.

    >>> distances(3).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    steps = np.arange(n_classes, dtype=np.float64)
    apart: FloatArray = np.abs(steps[:, None] - steps[None, :])
    return apart


@dataclass(frozen=True)
class InOrder(Telling):
    """What the opinions of classes in an order know of the workers; worker-sized, but for a factor of each task."""

    knowing: Knowing
    by_matrix: FloatArray  # log theta of each worker's own answers, drawn to what knowing makes likely
    shift: FloatArray  # the log prior of the classes that goes with it
    factor: FloatArray | float  # by which scores will be flattened; the middle answer is as flat as it should be

    def scores(self, block: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log joint probabilities of a block's tasks by skill, by matrix and by the middle answer."""
        middle = middle_answer(answers_in(block), self.knowing.share**2)
        by_matrix = task_scores(block, self.by_matrix, self.shift)
        return self.knowing.scores(block), by_matrix, np.log(np.maximum(middle, FLOOR)) / flat_in(block, self.factor)


def learn_in_order(answers: Answered, knowing: Knowing, factor: FloatArray | float) -> InOrder:
    """Learn each worker's own matrix from what knowing and the middle of the answers make of the tasks.

    Args:
        answers: who answered what.
        knowing: what was learnt of the workers.
        factor: by which each task's scores will be flattened, or the dependence that asks for it.

    >>> import quorate
    >>> from quorate.skills.centred import habits_of
    >>> crowd = quorate.simulate.crowd(300, 8, 5, n_classes=4, seed=1)
    >>> known = learn_knowing(crowd.answers, np.full(8, 0.5), habits_of(crowd.answers))
    >>> [each.shape for each in learn_in_order(crowd.answers, known, 0.0).all_scores(crowd.answers)]
    [(300, 4), (300, 4), (300, 4)]
    """
    m, blocks = answers.n_classes, blocks_of(answers)
    counts, believed = blocks.sums(_believed, knowing, factor)
    worth = LEAST_WORTH * m / 2  # answers a column, as in `quorate.voting.refine.pooled_matrix`
    own = counts + worth * knowing.theta
    own /= own.sum(axis=1, keepdims=True)
    shares = (believed + 1) / (blocks.n_tasks + m)  # a task of each class besides (Laplace's rule)
    return InOrder(knowing, np.log(np.maximum(own, FLOOR)), np.log(shares), factor)


def _believed(blocks: Iterable[Block], knowing: Knowing, factor: FloatArray | float) -> Sums:
    """Count answers by what their tasks are believed to be, half by knowing and half by the middle; and the tasks."""
    counts, total = np.zeros_like(knowing.theta), np.zeros(len(knowing.prior))
    for block in blocks:
        middle = middle_answer(answers_in(block), knowing.share**2)
        belief = (softmax(knowing.scores(block) * flat_in(block, factor)) + middle) / 2
        counts += expected_counts([replace(block, first=0)], belief)[0]
        total += belief.sum(axis=0)
    return counts, total


def middle_answer(answers: Answers, weights: FloatArray) -> FloatArray:
    """Say where the middle of each task's answers lies, as so many independent ones as they are worth can tell.

    The share of the weight up to a class is a proportion; how likely it is that more than half lies there, its Beta
    law says (Jeffreys' prior).

    Args:
        answers: who answered what.
        weights: of each worker's answer.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": [1, 2, 3]})
    >>> middle_answer(answers, np.ones(3)).argmax(axis=1).tolist()
    [1]
    """
    from scipy.special import betainc

    cast = answers.by_task(weights[answers.worker])
    share = np.zeros((answers.n_tasks, answers.n_classes))
    np.add.at(share, (answers.task, answers.label), weights[answers.worker])
    up_to = np.cumsum(share, axis=1) / np.maximum(cast, FLOOR)[:, None]
    squares = answers.by_task(weights[answers.worker] ** 2)
    worth = np.where(squares > 0, cast**2 / np.maximum(squares, FLOOR), 0.0)[:, None]  # Kish's effective size
    within = 1 - betainc(worth * up_to + 0.5, worth * np.maximum(1 - up_to, 0.0) + 0.5, 0.5)
    within[cast <= 0] = np.arange(1, answers.n_classes + 1) / answers.n_classes
    within[:, -1] = 1.0
    middle: FloatArray = np.diff(within, axis=1, prepend=0.0)
    return np.maximum(middle, 0.0)


def _matrices(share: FloatArray, near: FloatArray, habit: FloatArray) -> tuple[FloatArray, FloatArray]:
    known = share[:, None, None] * near[None]
    theta = np.maximum(known + (1 - share)[:, None, None] * habit[:, :, None], LEAST_CHANCE)
    return known, theta / theta.sum(axis=1, keepdims=True)


def _near(law: FloatArray) -> FloatArray:
    """Spread the law of distances over the answers to each class; at either end there are fewer neighbours."""
    near = law[distances(len(law)).astype(np.int64)]
    near /= near.sum(axis=0, keepdims=True)
    return near


def _law(knew: FloatArray, apart: FloatArray) -> FloatArray:
    """Count how often those who know are so far off, for each pair of answer and class that is so far apart."""
    m = len(apart)
    chances = np.array([(knew.sum(axis=0) * (apart == d).sum(axis=0)).sum() for d in range(m)])
    found = np.array([knew[apart == d].sum() for d in range(m)]) / np.maximum(chances, FLOOR)
    law = found + LEAST_CHANCE / 10
    shares: FloatArray = law / law.sum()
    return shares
