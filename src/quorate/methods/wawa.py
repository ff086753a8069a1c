"""Wawa, worker agreement with aggregate: vote, weigh each worker by agreement with the vote, and vote once more."""

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import outcome
from quorate.methods.iwmv import agreement_with
from quorate.notes import Note
from quorate.result import Result
from quorate.voting.posterior import hold_labels
from quorate.voting.vote import majority, skill_of, weighted_majority


def wawa(answers: Answers, *, gold: Source = None) -> Result:
    """Weigh workers once by their share of agreement with the majority; unlike in `iwmv`, guessers have some weight.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; the workers are scored against them.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2, 2], "worker": list("abcac"), "label": list("xxyxy")})
    >>> wawa(answers).weights.tolist()
    [1.0, 1.0, 0.0]
    """
    known = known_classes(gold, answers)
    share = agreement_with(answers, hold_labels(majority(answers).label, known))
    return by_shares("wawa", answers, share, known)


def by_shares(
    method: str, answers: Answers, share: FloatArray, gold: IntArray | None, notes: tuple[Note, ...] = ()
) -> Result:
    """Vote with each worker's share of right answers as its weight; skills are these shares on another scale.

    >>> import numpy as np
    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": list("ab"), "label": list("xy")})
    >>> by_shares("mine", answers, np.array([0.5, 0.75]), None).skills.tolist()
    [0.0, 0.5]
    """
    task_vote = weighted_majority(answers, share)
    skills = skill_of(share, answers.n_classes) if answers.n_classes > 1 else None
    return outcome(method, answers, task_vote, gold=gold, skills=skills, weights=share, notes=notes)
