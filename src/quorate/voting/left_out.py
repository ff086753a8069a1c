"""Scores by confusion matrices in which no answer vouches for itself.

An answer is among those that its worker's matrix was counted from, weighed by what is believed of its task. Where a
worker has a handful of answers that makes the vote surer than it is right: what the answer made likely, it confirms.
So each task is scored by matrices that were counted from the other tasks; with expected counts that is one subtraction.
"""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, sums_of
from quorate.voting.confusion import cells_of
from quorate.voting.posterior import FLOOR, one_more_each
from quorate.voting.refine import pooled_matrix, relative_errors, tilted


def left_out_scores(answers: Answers, posterior: FloatArray, skills: FloatArray) -> FloatArray:
    """Score each task by the matrices of its workers on the other tasks.

    Args:
        answers: who answered what.
        posterior: what the tasks are believed to be, tasks × classes.
        skills: of each worker, which say how often it errs.

    Returns the log joint probability, tasks × classes.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 10, 4, seed=1)
    >>> scores = left_out_scores(crowd.answers, np.eye(2)[crowd.truth], crowd.skills)
    >>> bool((scores.argmax(axis=1) == crowd.truth).mean() > 0.8)
    True
    """
    counts = cells_of(answers).expected_counts(posterior)
    pooled, strength = pooled_matrix(counts.sum(axis=0))
    drawn = counts + strength * tilted(
        pooled, relative_errors(answers.per_worker.astype(np.float64), skills, answers.n_classes)
    )
    own = posterior[answers.task]
    given = drawn[answers.worker, answers.label] - own
    chance = given / (drawn.sum(axis=1)[answers.worker] - own)
    logs = np.log(np.maximum(chance, FLOOR))
    return sums_of(logs, answers.start) + np.log(one_more_each(posterior))
