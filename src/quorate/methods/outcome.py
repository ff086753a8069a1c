"""The last step of every method: from a ballot and what was learnt of the workers to a `Result`."""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.meetings.graph import Identifiability, identify
from quorate.result import Result
from quorate.skills.evidence import IDENTIFIED, NO_ANSWERS, NOT_ESTIMATED
from quorate.skills.notes import CONTRADICTION, Note
from quorate.uncertainty.workforce import Workforce
from quorate.voting.basis import Basis
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.vote import Ballot, majority, reveal


def outcome(
    method: str,
    answers: Answers,
    ballot: Ballot,
    *,
    gold: IntArray | None = None,
    skills: FloatArray | None = None,
    weights: FloatArray | None = None,
    workforce: Workforce | None = None,
    graph: Identifiability | None = None,
    matrices: ConfusionMatrices | None = None,
    basis: Basis | None = None,
    notes: tuple[Note, ...] = (),
) -> Result:
    """Put a result together; the tasks of known label have that label, for certain.

    Args:
        method: its name.
        answers: who answered what.
        ballot: the labels and the posterior.
        gold: the known class of each task, -1 where unknown.
        skills: of each worker, NaN where the method could not tell; None if it estimates none.
        weights: what each worker's vote counted; even by default.
        workforce: what was found out of the workers, by a method that knows more of them than skills and weights.
        graph: who met whom; judged here if the method did not.
        matrices: of confusion, if the method fits such.
        basis: what the confidence rests on, of a method that says more than its model's own posterior.
        notes: what a reader must know.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> outcome("mine", answers, majority(answers)).workers["status"][0].as_py()
    'not estimated by this method'
    """
    return Result(
        method=method,
        roster=answers,
        vote=ballot if gold is None else reveal(ballot, gold),
        workforce=workforce_of(answers.per_worker, skills, weights) if workforce is None else workforce,
        graph=identify(answers) if graph is None else graph,
        gold=gold,
        matrices=matrices,
        confidence_basis=basis,
        notes=notes,
    )


def workforce_of(per_worker: IntArray, skills: FloatArray | None, weights: FloatArray | None = None) -> Workforce:
    """Put together what a method knows of the workers that looks at the labels only, and not at who met whom.

    >>> workforce_of(np.array([3, 0]), np.array([0.5, 0.5])).skills.tolist()
    [0.5, nan]
    """
    n = len(per_worker)
    found = np.full(n, np.nan) if skills is None else skills
    status = np.where(np.isnan(found), NOT_ESTIMATED, IDENTIFIED)
    status[per_worker == 0] = NO_ANSWERS
    return Workforce(
        skills=np.where(per_worker == 0, np.nan, found),
        weights=np.ones(n) if weights is None else weights,
        status=status,
    )


def contradiction(answers: Answers, label: IntArray, method: str) -> tuple[Note, ...]:
    """Warn where most labels contradict the majority: a model of confusion fits as well with its classes exchanged.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> print(*contradiction(answers, np.array([0]), "mine"))
    mine: 100% of the labels contradict the majority vote; it may have mixed up the classes
    """
    answered = answers.per_task > 0
    share = np.mean((label != majority(answers).label)[answered]) if answered.any() else 0.0
    if share <= 0.5:
        return ()
    text = f"{method}: {share:.0%} of the labels contradict the majority vote; it may have mixed up the classes"
    return (Note(CONTRADICTION, text),)
