"""What the baselines share: the last step, from a ballot and what was learnt of the workers to a `Result`."""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.meetings.graph import identify
from quorate.result import Result
from quorate.skills.evidence import IDENTIFIED, NO_ANSWERS, NOT_ESTIMATED
from quorate.skills.solution import Solution
from quorate.voting.vote import Ballot, majority, reveal


def outcome(
    method: str,
    answers: Answers,
    ballot: Ballot,
    *,
    gold: IntArray | None = None,
    skills: FloatArray | None = None,
    weights: FloatArray | None = None,
    solution: Solution | None = None,
    notes: tuple[str, ...] = (),
) -> Result:
    """Put a result together; the tasks of known label have that label, for certain.

    Args:
        method: its name.
        answers: who answered what.
        ballot: the labels and the posterior.
        gold: the known class of each task, -1 where unknown.
        skills: of each worker, NaN where the method could not tell; None if it estimates none.
        weights: what each worker's vote counted; even by default.
        solution: how an iterative method ended.
        notes: what a reader must know.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> outcome("mine", answers, majority(answers)).workers["status"][0].as_py()
    'not estimated by this method'
    """
    n = answers.n_workers
    found = np.full(n, np.nan) if skills is None else skills
    status = np.where(np.isnan(found), NOT_ESTIMATED, IDENTIFIED)
    status[answers.per_worker == 0] = NO_ANSWERS
    return Result(
        method,
        answers,
        ballot if gold is None else reveal(ballot, gold),
        np.where(answers.per_worker == 0, np.nan, found),
        np.ones(n) if weights is None else weights,
        status,
        identify(answers),
        solution,
        notes=notes,
    )


def contradiction(answers: Answers, label: IntArray, method: str) -> tuple[str, ...]:
    """Warn where most labels contradict the majority: a model of confusion fits as well with its classes exchanged.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> contradiction(answers, np.array([0]), "mine")
    ('mine: 100% of the labels contradict the majority vote; it may have mixed up the classes',)
    """
    answered = answers.per_task > 0
    share = np.mean((label != majority(answers).label)[answered]) if answered.any() else 0.0
    if share <= 0.5:
        return ()
    return (f"{method}: {share:.0%} of the labels contradict the majority vote; it may have mixed up the classes",)
