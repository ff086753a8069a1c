"""Majority vote weighed by known labels: a worker's vote counts its share of right answers to them."""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import count
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import outcome
from quorate.notes import OTHER_METHOD, UNDETERMINED, Note
from quorate.result import Result
from quorate.voting.vote import majority, skill_of, weighted_majority


def gold_majority(answers: Answers, *, gold: Source = None) -> Result:
    """Weigh each worker by its share of right answers to tasks of known label.

    A worker who answered none of them takes part with the share of the whole crowd, and has no skill. Without known
    labels every vote counts the same.

    Args:
        answers: who answered what.
        gold: known labels of some tasks, which they then have.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyyx")})
    >>> gold_majority(answers, gold={1: "x"}).labels["label"].to_pylist()
    ['x', 'y']
    """
    known = known_classes(gold, answers)
    if known is None or not (known[answers.task] >= 0).any():
        text = "gold-majority: no answered task has a known label, so every vote counts the same"
        return outcome("gold-majority", answers, majority(answers), gold=known, notes=(Note(OTHER_METHOD, text),))
    share, everybody = shares_of_gold(answers, known)
    unseen = np.isnan(share)
    weights = np.where(unseen, everybody, share)
    n_unrated = int((unseen & (answers.per_worker > 0)).sum())
    notes = (_unseen(n_unrated, everybody),) if n_unrated else ()
    skills = skill_of(share, answers.n_classes) if answers.n_classes > 1 else None
    task_vote = weighted_majority(answers, weights)
    return outcome("gold-majority", answers, task_vote, gold=known, skills=skills, weights=weights, notes=notes)


def shares_of_gold(answers: Answers, known: IntArray) -> tuple[FloatArray, float]:
    """Return each worker's share of right answers to tasks of known class, NaN for who has none, and everybody's.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyy")})
    >>> shares_of_gold(answers, np.array([0, -1]))
    (array([ 1.,  0., nan]), 0.5)
    """
    asked = answers.by_worker(known[answers.task] >= 0)
    right = answers.alike(known)
    share = np.divide(right, asked, out=np.full(answers.n_workers, np.nan), where=asked > 0)
    return share, float(right.sum() / asked.sum())


def _unseen(n: int, share: float) -> Note:
    who = count(n, "worker")
    return Note(
        UNDETERMINED,
        (
            f"gold-majority: {who} answered no task with a known label; their votes have the weight of "
            f"the whole crowd, {share:.2f}"
        ),
    )
