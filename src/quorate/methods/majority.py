"""Majority vote: every vote counts the same. Nothing is estimated."""

from quorate.answers import Answers
from quorate.gold import known_classes
from quorate.methods.outcome import outcome
from quorate.reading.files import Source
from quorate.result import Result
from quorate.voting.vote import majority


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
    return outcome("majority", answers, majority(answers), gold=known_classes(gold, answers))
