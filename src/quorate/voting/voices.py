"""What the three opinions know of the workers: all that the score of any task is made of, wherever the task lies."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Blocks
from quorate.blocks.kernels import beliefs, task_scores, vote_sums
from quorate.blocks.memory import blocks_of
from quorate.voting.population import shares_of


class Telling:
    """What can say of any task what three opinions think of it."""

    def scores(self, block: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log joint probabilities of a block's tasks by skill, by matrix and by vote."""
        raise NotImplementedError

    def all_scores(self, answers: Answers) -> tuple[FloatArray, ...]:
        """Return the same of all tasks of answers in memory."""
        parts = zip(*blocks_of(answers).each(self.scores), strict=True)
        return tuple(np.concatenate(part) for part in parts)


@dataclass(frozen=True)
class Voices(Telling):
    """Worker-sized, so that it can be sent to where the tasks are.

    >>> logs = np.log(np.full((1, 2, 2), 0.5))
    >>> voices = Voices(logs, logs, np.zeros((2, 2)), 1.0)
    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([1]), n_workers=1, n_classes=2)
    >>> [scores.round(2).tolist() for scores in voices.scores(block)]
    [[[-0.69, -0.69]], [[-0.69, -0.69]], [[0.0, 1.0]]]
    """

    by_skill: FloatArray  # log theta of skills and habits, workers × answers × classes
    by_matrix: FloatArray  # log theta of the confusion matrices
    shifts: FloatArray  # the log priors of the classes that go with either
    vote: float  # log-odds that every vote of the plain majority counts

    def scores(self, block: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the log joint probabilities of a block's tasks by skill, by matrix and by majority."""
        by_skill = task_scores(block, self.by_skill, self.shifts[0])
        by_matrix = task_scores(block, self.by_matrix, self.shifts[1])
        return by_skill, by_matrix, vote_sums(block, np.full(block.n_workers, self.vote))

    def believe(self, blocks: Blocks, weights: FloatArray, rho: float, calibration: FloatArray) -> Iterator[FloatArray]:
        """Return what the opinions come to, block by block: flattened for rho, weighed, and calibrated."""
        share = shares_of(calibration)
        numbers = np.concatenate([self.shifts.ravel(), weights, [self.vote, rho], share])
        return blocks.each(beliefs, self.by_skill, self.by_matrix, numbers, len(share))
