"""Skills that were estimated from a crowd, and the answers behind them: what every score starts from."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.memory import Answered, blocks_of, collected
from quorate.skills.weak_identification import BlockGraph, WeakIdentification, weak_identification
from quorate.uncertainty.answer_sums import AnswerSums, answer_sums
from quorate.uncertainty.intervals import WorkerScore


@dataclass(frozen=True)
class Estimated:
    """Skills, and the answers behind them.

    >>> import quorate
    >>> Estimated(quorate.simulate.crowd(30, 3, 3).answers, np.array([0.5, np.nan, 0.7])).n_classes
    2
    """

    crowd: Answered  # its last worker is the known labels, if there are any
    skills: FloatArray  # NaN where not determined

    @property
    def n_classes(self) -> int:
        """M."""
        return self.crowd.n_classes

    @property
    def n_answers(self) -> int:
        """How many answers there are, gold's included."""
        return self.crowd.n_answers

    @property
    def per_worker(self) -> IntArray:
        """N_i, gold's included."""
        return self.crowd.per_worker

    @cached_property
    def _sums(self) -> AnswerSums:
        return answer_sums(self.answers)

    @property
    def answers(self) -> Answers:
        """The answers in memory, which full intervals need."""
        return self.crowd if isinstance(self.crowd, Answers) else collected(self.crowd)

    def score(self) -> WorkerScore:
        """Return what each worker's answers say of its skill."""
        raise NotImplementedError

    def agreement_score(self) -> WorkerScore:
        """Return what each worker's agreement says of its skill, from which strong workers are told."""
        return self.score()

    @property
    def is_known_before(self) -> BoolArray:
        """Which workers' skills are known from an earlier run."""
        return np.zeros(len(self.skills), dtype=bool)

    def weak(self, n_workers: int) -> WeakIdentification:
        """Test which of the first workers are only weakly identified; the others are gold."""
        score = self.agreement_score()
        is_gold = np.arange(len(self.skills)) >= n_workers
        return weak_identification(
            BlockGraph(blocks_of(self.crowd)),
            self.skills,
            score.raw,
            np.sqrt(np.maximum(score.alpha, 0.0)),
            lowest=-1 / (self.n_classes - 1),
            is_anchor=is_gold | self.is_known_before,
        ).first(n_workers)

    @cached_property
    def _x(self) -> FloatArray:
        """The skills, zero where they are not determined: such workers tell nothing of the others."""
        return np.nan_to_num(self.skills)
