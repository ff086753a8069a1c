"""Majority vote weighed by known labels: the weight of a worker is its share of right answers to gold tasks."""

import numpy as np

from quorate.answers import Answers
from quorate.errors import count
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import outcome
from quorate.notes import OTHER_METHOD, UNDETERMINED, Note
from quorate.result import Result
from quorate.voting.vote import majority, skill_of, weighted_majority


def gold_majority(answers: Answers, *, gold: Source = None) -> Result:
    """Weigh each worker by its share of right answers to tasks of known label.

    A worker who answered none of them has the share of the whole crowd as its weight, and no skill. Without known
    labels every vote counts the same.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; these tasks get them.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyyx")})
    >>> gold_majority(answers, gold={1: "x"}).labels["label"].to_pylist()
    ['x', 'y']
    """
    known = known_classes(gold, answers)
    if known is None or not (known[answers.task] >= 0).any():
        text = "gold-majority: no answered task has a known label, so every vote counts the same"
        return outcome("gold-majority", answers, majority(answers), gold=known, notes=(Note(OTHER_METHOD, text),))
    n_known = answers.by_worker(known[answers.task] >= 0)
    right = answers.alike(known)
    share = np.divide(right, n_known, out=np.full(answers.n_workers, np.nan), where=n_known > 0)
    share_of_crowd = float(right.sum() / n_known.sum())
    weights = np.where(n_known > 0, share, share_of_crowd)
    n_unrated = int(((n_known == 0) & (answers.per_worker > 0)).sum())
    notes: tuple[Note, ...] = ()
    if n_unrated:
        text = (
            f"gold-majority: {count(n_unrated, 'worker')} answered no task with a known label; their votes have the "
            f"weight of the whole crowd, {share_of_crowd:.2f}"
        )
        notes = (Note(UNDETERMINED, text),)
    skills = skill_of(share, answers.n_classes) if answers.n_classes > 1 else None
    task_vote = weighted_majority(answers, weights)
    return outcome("gold-majority", answers, task_vote, gold=known, skills=skills, weights=weights, notes=notes)
