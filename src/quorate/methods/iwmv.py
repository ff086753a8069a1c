"""IWMV, iterative weighted majority vote: vote, score each worker against the vote, weigh, and vote again [Li14]."""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.gold import known_classes
from quorate.methods.outcome import outcome
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills.notes import NOT_SETTLED, Note
from quorate.voting.posterior import hold_labels
from quorate.voting.vote import skill_of, weighted_majority


def iwmv(answers: Answers, *, gold: Source = None, max_iterations: int = 100) -> Result:
    """Weigh each worker by M·w - 1, w its share of agreement with the labels, until the labels stand still.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; the workers are scored against them.
        max_iterations: votes at the most.

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxy")}
    >>> iwmv(quorate.read(answers)).labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    known = known_classes(gold, answers)
    weights = np.ones(answers.n_workers)
    label, agreement = np.full(answers.n_tasks, -1), weights
    notes: tuple[Note, ...] = (not_settled(max_iterations),)
    for _ in range(max_iterations):
        ballot = weighted_majority(answers, weights)
        unchanged = np.array_equal(ballot.label, label)
        label = ballot.label
        if unchanged or answers.n_classes < 2:
            notes = ()
            break
        agreement = agreement_with(answers, hold_labels(label, known))
        weights = answers.n_classes * agreement - 1
    skills = skill_of(agreement, answers.n_classes) if answers.n_classes > 1 else None
    return outcome("iwmv", answers, ballot, gold=known, skills=skills, weights=weights, notes=notes)


def not_settled(votes: int) -> Note:
    """Say that the votes ended before the labels stood still.

    >>> print(not_settled(3))
    iwmv: the labels had not settled after 3 votes
    """
    return Note(NOT_SETTLED, f"iwmv: the labels had not settled after {votes} votes")


def agreement_with(answers: Answers, label: IntArray) -> FloatArray:
    """Return each worker's share of answers that agree with the labels; 1/M where there is no answer.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")})
    >>> agreement_with(answers, np.array([0, 1])).tolist()
    [0.5, 0.0]
    """
    alike = answers.alike(label)
    n = answers.per_worker
    share: FloatArray = np.where(n > 0, alike / np.maximum(n, 1), 1 / answers.n_classes)
    return share
