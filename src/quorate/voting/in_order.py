"""Classes in an order: workers who see the truth with noise of their own width, and the middle of the best answers.

Three opinions as ever, each for classes that have an order. By skill: a worker answers the class where it sees the
task, by a normal law of its own width around the true class, or else by the crowd's habit; how many workers are of each
kind is learnt with them. By matrix: each worker's own answers, drawn to that. By vote: where the middle lies of the
answers of those who are at least half as skilled as the best one there.

The first two take the truth for something of which every answer is a reading; the third for what those who know settle
among themselves, as on web, whose truth is the middle of three experts' answers that are among the others. No answers
tell which of these a truth is, so either has half the say.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Sums, added
from quorate.blocks.kernels import em_step, expected_counts, task_scores
from quorate.blocks.memory import Answered, answers_in, blocks_of
from quorate.skills.centred import Habits
from quorate.voting.dependence import flat_in
from quorate.voting.habit_vote import LEAST_CHANCE
from quorate.voting.posterior import FLOOR, softmax
from quorate.voting.shrinkage import LEAST_WORTH
from quorate.voting.voices import Telling

STEPS = 10  # of EM, as in `quorate.voting.refine`
LEAST_WIDTH, WIDER = 0.2, 2.0**0.5  # in classes: the least sees no other class, and few answers tell two next to it
SEEING = np.array([0.05, 0.25, 0.5, 0.75, 0.9, 0.98])  # how often a kind answers by what it sees: never all or nothing
KINDS_WORTH = 10.0  # workers that all kinds being alike frequent is worth; 1 and 50 do as well on simulated crowds
LEAST_SKILL = 0.01  # each worker can be right
# Who is heard in the middle, next to the best worker there, and how many answers each of theirs counts for: those who
# settle a truth settle it exactly, were it known who they are. Chosen on simulated crowds of both meanings: the
# log-loss is alike for .35 and .5, the error lower for .5; with more than 4, confidence would be further above what is
# right than it is without an order. `quorate.evaluation.experiments.orders --choose` prints it.
AS_SKILLED, SETTLES = 0.5, 4.0
WEIGHTS = np.array([0.25, 0.25, 0.5])  # of the opinions: half for either meaning of truth


@dataclass(frozen=True)
class Knowing:
    """What was learnt of the workers, and what the classes' shares are."""

    logs: FloatArray  # of the matrices, expected over the kinds that a worker may be of
    theta: FloatArray  # the matrices so expected, workers × answers × classes
    prior: FloatArray  # of the classes

    def scores(self, block: Block) -> FloatArray:
        """Return the log joint probabilities of a block's tasks by what workers see."""
        return task_scores(block, self.logs, np.log(np.maximum(self.prior, FLOOR)))

    @cached_property
    def skill(self) -> FloatArray:
        """How often each worker is right beyond chance, as a share of how often it could be."""
        right = np.einsum("wkk,k->w", self.theta, self.prior)
        by_chance = float(self.prior @ self.prior)
        skill: FloatArray = np.clip((right - by_chance) / max(1 - by_chance, FLOOR), LEAST_SKILL, 1.0)
        return skill


def learn_knowing(answers: Answered, skills: FloatArray, habits: Habits) -> Knowing:
    """Fit the model by EM; a worker's kind is averaged over, as far as its answers leave it open.

    Args:
        answers: who answered what.
        skills: of each worker, to begin with.
        habits: of the workers.

    >>> import quorate
    >>> from quorate.skills.centred import habits_of
    >>> crowd = quorate.simulate.crowd(300, 8, 5, n_classes=4, seed=1)
    >>> known = learn_knowing(crowd.answers, np.full(8, 0.5), habits_of(crowd.answers))
    >>> bool(np.corrcoef(known.skill, crowd.skills)[0, 1] > 0.8)
    True
    """
    m, blocks = answers.n_classes, blocks_of(answers)
    counts, tasks = blocks.sums(_by_middle, np.maximum(skills, LEAST_SKILL))
    prior = (tasks + 1) / (tasks + 1).sum()  # a task of each class besides (Laplace's rule)
    share: FloatArray | float = 1.0
    for _ in range(STEPS):
        fit = [counts.reshape(-1, m * m) @ np.log(kinds).T for kinds in kinds_of_workers(habits.crowd)]
        kind = softmax(np.hstack(fit) + np.log(share))
        share = (kind.sum(axis=0) + KINDS_WORTH / kind.shape[1]) / (len(kind) + KINDS_WORTH)
        logs, theta = np.zeros((2, answers.n_workers, m * m))
        for k, kinds in enumerate(kinds_of_workers(habits.crowd)):
            part = kind[:, k * len(SEEING) : (k + 1) * len(SEEING)]
            logs += part @ np.log(kinds)
            theta += part @ kinds
        # Known labels speak later, of what was learnt without them.
        counts, tasks = blocks.sums(em_step, logs.reshape(-1, m, m), np.log(prior), False)
        prior = (tasks + 1) / (tasks + 1).sum()
    return Knowing(logs.reshape(-1, m, m), theta.reshape(-1, m, m), prior)


def kinds_of_workers(habit: FloatArray) -> Iterator[FloatArray]:
    """Yield the matrices of the kinds of each width, a row for each of how often they see; answers × classes flat.

    Args:
        habit: how often each class is given by those who do not see.

    >>> widths = list(kinds_of_workers(np.full(3, 1 / 3)))
    >>> len(widths), widths[0][-1].reshape(3, 3).round(2).tolist()
    (7, [[0.98, 0.01, 0.01], [0.01, 0.97, 0.01], [0.01, 0.01, 0.98]])
    """
    from scipy.special import ndtr

    m, width = len(habit), LEAST_WIDTH
    away = np.concatenate([[-np.inf], np.arange(m - 1) + 0.5, [np.inf]])[:, None] - np.arange(m)
    while width < WIDER * m / 2:
        seen = np.diff(ndtr(away / width), axis=0)
        mixed = SEEING[:, None, None] * seen + (1 - SEEING)[:, None, None] * habit[:, None]
        kinds = np.maximum(mixed, LEAST_CHANCE)
        kinds /= kinds.sum(axis=1, keepdims=True)
        yield kinds.reshape(len(SEEING), -1)
        width *= WIDER


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
    by_matrix: FloatArray  # log theta of each worker's own answers, drawn to what it sees
    shift: FloatArray  # the log prior of the classes that goes with it
    factor: FloatArray | float  # by which scores will be flattened; the middle answer is as flat as it should be

    def scores(self, block: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log joint probabilities of a block's tasks by skill, by matrix and by the middle answer."""
        middle = middle_answer(answers_in(block), self.knowing.skill)
        by_matrix = task_scores(block, self.by_matrix, self.shift)
        return self.knowing.scores(block), by_matrix, np.log(np.maximum(middle, FLOOR)) / flat_in(block, self.factor)


def learn_in_order(answers: Answered, knowing: Knowing, factor: FloatArray | float) -> InOrder:
    """Learn each worker's own matrix from what it sees and the middle of the answers make of the tasks.

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
    counts, tasks = blocks_of(answers).sums(_by_both, knowing, factor)
    worth = LEAST_WORTH * answers.n_classes / 2  # answers a column, as in `quorate.voting.refine.pooled_matrix`
    own = counts + worth * knowing.theta
    own /= own.sum(axis=1, keepdims=True)
    prior = (tasks + 1) / (tasks + 1).sum()
    return InOrder(knowing, np.log(np.maximum(own, FLOOR)), np.log(prior), factor)


def _by_middle(blocks: Iterable[Block], skill: FloatArray) -> Sums:
    """Count answers by where the middle of their task lies; workers × answers × classes, and the tasks."""
    return added(_counted(block, middle_answer(answers_in(block), skill)) for block in blocks)


def _by_both(blocks: Iterable[Block], knowing: Knowing, factor: FloatArray | float) -> Sums:
    """Count answers by what their tasks are believed to be, half by what workers see and half by the middle."""

    def believed(block: Block) -> FloatArray:
        seen = softmax(knowing.scores(block) * flat_in(block, factor))
        half: FloatArray = (seen + middle_answer(answers_in(block), knowing.skill)) / 2
        return half

    return added(_counted(block, believed(block)) for block in blocks)


def _counted(block: Block, belief: FloatArray) -> Sums:
    return expected_counts([replace(block, first=0)], belief)[0], belief.sum(axis=0)


def middle_answer(answers: Answers, skill: FloatArray) -> FloatArray:
    """Say where the middle lies of the answers of the best workers on each task, each counted by its squared skill.

    The share of the weight up to a class is a proportion; how likely it is that more than half lies there, its Beta
    law says (Jeffreys' prior), of `SETTLES` times as many answers as theirs are worth (Kish's effective size).

    Args:
        answers: who answered what.
        skill: of each worker, above zero.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": [1, 2, 3]})
    >>> middle_answer(answers, np.ones(3)).argmax(axis=1).tolist()
    [1]
    >>> middle_answer(answers, np.array([0.9, 0.3, 0.3])).argmax(axis=1).tolist()
    [0]
    """
    from scipy.special import betainc

    own, best = skill[answers.worker], np.zeros(answers.n_tasks)
    np.maximum.at(best, answers.task, own)
    weight = np.where(own >= AS_SKILLED * best[answers.task], own**2, 0.0)
    cast, squares = answers.by_task(weight), answers.by_task(weight**2)
    share = np.bincount(answers.cells, weight, answers.n_tasks * answers.n_classes).reshape(-1, answers.n_classes)
    up_to = np.cumsum(share, axis=1) / np.maximum(cast, FLOOR)[:, None]
    worth = SETTLES * (cast**2 / np.maximum(squares, FLOOR))[:, None]
    within = 1 - betainc(worth * up_to + 0.5, worth * np.maximum(1 - up_to, 0.0) + 0.5, 0.5)
    within[cast <= 0] = np.arange(1, answers.n_classes + 1) / answers.n_classes
    within[:, -1] = 1.0
    middle: FloatArray = np.diff(within, axis=1, prepend=0.0)
    return np.maximum(middle, 0.0)
