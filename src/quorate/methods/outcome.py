"""The last step of every method: from a ballot and what was learnt of the workers to a `Result`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.calibration.confidence import ConfidenceBasis
from quorate.meetings.graph import Identifiability, identify
from quorate.methods.contradiction import contradiction
from quorate.methods.support import support_of_answers
from quorate.result import Result
from quorate.said import unheard_line
from quorate.skills.evidence import IDENTIFIED, NO_ANSWERS, NOT_ESTIMATED
from quorate.skills.notes import NOT_SETTLED, UNHEARD, Note
from quorate.uncertainty.workforce import Workforce
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.vote import Ballot, reveal

STILL_RISING = 1e-3  # nats an answer: labels still move when EM is stopped while it gains as much a step


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
    basis: ConfidenceBasis | None = None,
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
    >>> from quorate.voting.vote import majority
    >>> outcome("mine", answers, majority(answers)).workers["status"][0].as_py()
    'not estimated by this method'
    """
    notes += contradiction(answers, ballot.label, method)
    if answers.said is not None and answers.said.unheard:
        notes += (Note(UNHEARD, unheard_line(answers.said.unheard)),)
    if workforce is None:
        workforce = workforce_of(answers.per_worker, skills, weights)
    support = support_of_answers(answers, gold, workforce)
    return Result(
        method=method,
        roster=answers,
        vote=support.apply(ballot if gold is None else reveal(ballot, gold), answers.per_task, gold),
        workforce=workforce,
        graph=identify(answers) if graph is None else graph,
        gold=gold,
        matrices=matrices,
        confidence_basis=basis,
        notes=(*notes, *support.notes),
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


def with_gold_counts(result: Result, *, centred: bool = False) -> Result:
    """Let answers to tasks of known label count as right or wrong in the skills of a method that does not hold to them.

    Args:
        result: of a method in memory.
        centred: what a skill is; see `quorate.uncertainty.gold_counts.count_gold`.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": list("aa"), "label": list("xy")})
    >>> from quorate.voting.vote import majority
    >>> result = outcome("mine", answers, majority(answers), gold=np.array([0, 0]), skills=np.array([0.9]))
    >>> with_gold_counts(result).skills.tolist()
    [0.0]
    """
    workforce = result.workforce.with_gold(result.answers, result.gold, centred=centred)
    return replace(result, workforce=workforce)


def fit_notes(method: str, log_likelihoods: Sequence[float], converged: bool, n_answers: int) -> tuple[Note, ...]:
    """Warn of EM that ended where it cannot stand: worse than where it began, or still on its way.

    >>> print(*fit_notes("mine", [-10.0, -12.0], True, 10))
    mine: EM ended at a worse likelihood than it began with; its labels cannot be relied on
    >>> print(*fit_notes("mine", [-10.0, -9.0], False, 10))
    mine: EM had not settled after 2 steps; allow it more (max_iterations, or rounds)
    >>> fit_notes("mine", [-10.0, -9.9999], False, 10)
    ()
    """
    if len(log_likelihoods) < 2:
        return ()
    if log_likelihoods[-1] < log_likelihoods[0] - STILL_RISING * n_answers:
        text = f"{method}: EM ended at a worse likelihood than it began with; its labels cannot be relied on"
    elif not converged and log_likelihoods[-1] - log_likelihoods[-2] > STILL_RISING * n_answers:
        steps = len(log_likelihoods)
        text = f"{method}: EM had not settled after {steps} steps; allow it more (max_iterations, or rounds)"
    else:
        return ()
    return (Note(NOT_SETTLED, text),)
