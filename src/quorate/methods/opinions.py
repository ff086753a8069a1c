"""What is thought of each task by skills, by confusion matrices and by plain majority: both stages of the default."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import em_step, task_scores
from quorate.blocks.memory import blocks_of
from quorate.blocks.scatter import drawn, sampled
from quorate.skills.evidence import gather
from quorate.uncertainty.centred_workforce import CentredWorkforce, centred_workforce
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.confusion import most_entries
from quorate.voting.dependence import HIDDEN, TYPICAL, Matrices, flattening, matrices_by_skill
from quorate.voting.habit_vote import habit_cells, habit_matrices
from quorate.voting.posterior import FLOOR, softmax
from quorate.voting.refine import refine
from quorate.voting.sparse_refine import refine_sparse
from quorate.voting.sparse_voices import SparseScores, SparseVoices, counted
from quorate.voting.voices import Voices
from quorate.voting.vote import weight

LEAST_MEAN = 0.05  # skill of the crowd, for its plain vote to say anything
UNKNOWN_MEAN = 0.5  # a crowd's skill where none is determined: half way from guessing to perfect


@dataclass(frozen=True)
class Opinions:
    """What is thought of the tasks of some answers, before anything is flattened."""

    answers: Answers
    voices: Voices | None  # None where matrices would not fit, or nothing is determined
    given: SparseVoices | None  # the scores themselves, where there are no voices
    matrices: ConfusionMatrices | None
    skills: FloatArray  # that the votes were weighed by
    determined: bool  # whether any worker's skill is
    vote: float  # log-odds of a worker of the crowd's mean skill

    @property
    def told(self) -> Voices | SparseVoices:
        """What scores are made of."""
        told = self.given if self.voices is None else self.voices
        assert told is not None  # there is one or the other
        return told

    @cached_property
    def scores(self) -> tuple[FloatArray, ...]:
        """Log joint probabilities by skill, by matrix and by majority; tasks × classes each."""
        return self.told.all_scores(self.answers)

    def belief(self, enough: int | None = None) -> FloatArray:
        """Return what the tasks, or those of a sample of so many answers, are thought to be by the matrices."""
        if self.voices is None:
            assert self.given is not None
            kept = None if enough is None else drawn(self.answers, enough)
            tasks = np.arange(self.answers.n_tasks) if kept is None else np.flatnonzero(kept)
            return softmax(self.given.opinions[1].rows(tasks))
        of = self.answers if enough is None else sampled(self.answers, enough)
        logs = (self.voices.by_matrix, self.voices.shifts[1])
        return softmax(np.concatenate(list(blocks_of(of).each(task_scores, *logs))))

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
    return answers.n_workers * answers.n_classes**2 <= most_entries(answers.n_answers)


def opinions_of(answers: Answers, workers: CentredWorkforce, anchors: IntArray | None = None) -> Opinions:
    """Let skills, matrices and the plain vote each say what the tasks are.

    Args:
        answers: who answered what.
        workers: what centred answers, and the anchors if there are any, say of them.
        anchors: known classes of tasks whose workers could not be told without them, -1 elsewhere.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> found = opinions_of(crowd.answers, centred_workforce(gather(crowd.answers)))
    >>> bool((found.belief().argmax(axis=1) == crowd.truth).mean() > 0.85)
    True
    """
    habits = workers.habits
    determined = habits is not None
    mean = max(workers.mean, LEAST_MEAN) if determined else UNKNOWN_MEAN
    vote = float(weight(np.array([mean]), answers.n_classes)[0])
    if habits is None:
        even = _plain_votes(answers, vote)
        skills = np.full(answers.n_workers, UNKNOWN_MEAN)
        return Opinions(answers, None, SparseVoices((even, even, even)), None, skills, determined, vote)
    if not fits(answers):
        first = habit_cells(answers, workers.skills, habits)
        given = SparseVoices(
            (first, refine_sparse(answers, first, workers.skills), _plain_votes(answers, vote)),
        )
        return Opinions(answers, None, given, None, workers.skills, determined, vote)
    voices, matrices = learn_voices(blocks_of(answers, anchors), workers, vote)
    return Opinions(answers, voices, None, matrices, workers.skills, determined, vote)


def _plain_votes(answers: Answers, vote: float) -> SparseScores:
    """Let every vote count the same."""
    return counted(answers, np.full(answers.n_answers, vote), np.zeros(answers.n_tasks), np.zeros(answers.n_classes))


def learn_voices(
    blocks: Blocks, workers: CentredWorkforce, vote: float, *, hold: bool = True
) -> tuple[Voices, ConfusionMatrices]:
    """Write skills and habits as confusion matrices, and refine those.

    Args:
        blocks: of tasks.
        workers: what centred answers say of them.
        vote: log-odds that every vote of the plain majority counts.
        hold: believe the known classes that blocks bring.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1).answers
    >>> learn_voices(blocks_of(answers), centred_workforce(gather(answers)), 1.0)[0].by_matrix.shape
    (10, 2, 2)
    """
    habits = workers.habits
    assert habits is not None  # something is determined
    logs, prior = np.log(habit_matrices(workers.skills, habits)), np.log(habits.prior)
    priors = None if workers.priors is None else workers.priors.of_first(len(workers.skills))
    refined = refine(blocks, blocks.sums(em_step, logs, prior, hold), workers.skills, hold=hold, priors=priors)
    by_matrix, shift = (np.log(np.maximum(p, FLOOR)) for p in (refined.confusion, refined.prior))
    voices = Voices(logs, by_matrix, np.stack([prior, shift]), vote)
    return voices, ConfusionMatrices(refined.confusion, refined.counts)


def first_belief(answers: Answers) -> FloatArray:
    """Return what the tasks are thought to be, flattened as for a typical crowd: where a closer look begins.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1).answers
    >>> bool(np.allclose(first_belief(answers).sum(axis=1), 1))
    True
    """
    found = opinions_of(answers, centred_workforce(gather(answers)))
    factor = flattening(answers.per_task, HIDDEN * TYPICAL)[:, None]
    belief: FloatArray = (softmax(found.scores[0] * factor) + softmax(found.scores[1] * factor)) / 2
    return belief
