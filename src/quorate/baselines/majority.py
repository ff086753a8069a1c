"""Majority vote: every vote counts the same. Nothing is estimated, and nothing can go wrong but the majority."""

import numpy as np

from quorate.answers import Answers
from quorate.files import Source
from quorate.gold import read_gold
from quorate.graph import identify
from quorate.result import Result
from quorate.status import NOT_ESTIMATED
from quorate.vote import majority, reveal


def majority_vote(answers: Answers, *, gold: Source = None) -> Result:
    """Label each task by the class that most of its workers gave; confidence is their share.

    Args:
        answers: who answered what.
        gold: known labels of some tasks, which they then have.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> majority_vote(answers).labels["label"].to_pylist()
    ['y']
    """
    ballot = majority(answers)
    if gold is not None:
        ballot = reveal(ballot, read_gold(gold, answers))
    n = answers.n_workers
    return Result(
        "majority", answers, ballot, np.full(n, np.nan), np.ones(n), np.full(n, NOT_ESTIMATED), identify(answers)
    )
