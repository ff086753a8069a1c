"""The last step of every method: from a ballot and what was learnt of the workers to a `Result`."""

from collections.abc import Sequence

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.meetings.graph import Identifiability, identify
from quorate.result import Result
from quorate.said import unheard_line
from quorate.skills.evidence import IDENTIFIED, NO_ANSWERS, NOT_ESTIMATED
from quorate.skills.notes import CONTRADICTION, NOT_SETTLED, UNHEARD, Note
from quorate.uncertainty.workforce import Workforce
from quorate.voting.basis import Basis
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.vote import Ballot, accuracy, majority, reveal

AS_THE_VOTE = ("majority", "quorate")  # the vote itself, and what leans to it wherever it is in doubt
# Of the skill that the workers' agreement speaks for, labels leave a share. On 25 public crowds whatever errs about as
# often as the vote leaves more than this, but where the vote itself is wrong on most tasks (`benchmarks/doubts.py`).
SKILL_LEFT = 2 / 3
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
    if method not in AS_THE_VOTE and not any(note.kind == CONTRADICTION for note in notes):
        notes += contradiction(answers, ballot.label, method)
    if answers.said is not None and answers.said.unheard:
        notes += (Note(UNHEARD, unheard_line(answers.said.unheard)),)
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
    """Warn where the labels contradict most votes, or the agreement of the crowd: classes or workers were turned round.

    A model of confusion fits as well with its classes exchanged, and a group of workers who met few others as well with
    all of them liars. Neither costs likelihood, so that no method notices by itself.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> print(*contradiction(answers, np.array([0]), "mine"))
    mine: 100% of the labels contradict the majority vote; it may have mixed up the classes
    """
    answered = answers.per_task > 0
    if not answered.any() or answers.n_classes < 2:
        return ()
    agreeing = np.bincount(answers.task, label[answers.task] == answers.label, answers.n_tasks)
    if np.mean((2 * agreeing <= answers.per_task)[answered]) > 0.5:  # more than half of the answers are no minority
        share = np.mean((label != majority(answers).label)[answered])
        if share > 0.5:
            text = f"{method}: {share:.0%} of the labels contradict the majority vote; it may have mixed up the classes"
            return (Note(CONTRADICTION, text),)
    right, agreed = implied_skills(answers, agreeing)
    if right >= SKILL_LEFT * agreed:
        return ()
    by_labels, by_agreement = (accuracy(np.array(each), answers.n_classes) for each in (right, agreed))
    text = (
        f"{method}: by its labels {by_labels:.0%} of the answers are right, and by how often workers agree "
        f"{by_agreement:.0%}; it may have mixed up the classes of some tasks"
    )
    return (Note(CONTRADICTION, text),)


def implied_skills(answers: Answers, agreeing: IntArray) -> tuple[float, float]:
    """Return the crowd's mean skill twice: as labels say, and as the agreement of its workers does.

    Two answers to a task correlate as the product of their workers' skills [Ma20, §4.2]; over all pairs that averages
    to the square of the mean skill, liars included, whatever the labels. Where workers err together it is more.

    Args:
        answers: who answered what.
        agreeing: how many answers to each task the labels call right.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxxyyy")})
    >>> implied_skills(answers, np.array([3, 3])), implied_skills(answers, np.array([3, 0]))
    ((1.0, 1.0), (0.0, 1.0))
    """
    m, others = answers.n_classes, np.maximum(answers.per_task - 1, 0)
    pairs = float(others @ answers.per_task)
    if pairs == 0:
        return 0.0, 0.0
    alike = np.unique(answers.cells, return_counts=True)[1]
    shares = np.array([others @ agreeing, alike @ (alike - 1)]) / pairs
    by_labels, by_agreement = (m * shares - 1) / (m - 1)
    return float(by_labels), float(np.sqrt(max(by_agreement, 0.0)))


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
