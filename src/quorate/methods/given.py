"""The classes of which something can be learnt: those that a worker gave, or that gold has."""

from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, take


@dataclass(frozen=True)
class Given:
    """The answers, with those classes only that a worker gave or that gold has: of others nothing can be learnt."""

    answers: Answers
    known: IntArray | None
    codes: IntArray  # of these classes, among all
    n_classes: int  # all of them

    def spread(self, columns: FloatArray, fill: float) -> FloatArray:
        """Put the columns where their classes stand among all, and ``fill`` into the others."""
        full = np.full((len(columns), self.n_classes), fill)
        full[:, self.codes] = columns
        return full


def given_classes(answers: Answers, known: IntArray | None) -> Given:
    """Leave out the classes that neither a worker gave nor gold has.

    >>> import quorate
    >>> answers = quorate.read({"task": [1], "worker": ["a"], "label": ["y"]}, classes=["x", "y"])
    >>> given = given_classes(answers, None)
    >>> given.answers.n_classes, given.spread(np.ones((1, 1)), 0.0).tolist()
    (1, [[0.0, 1.0]])
    """
    codes = answers.label if known is None else np.concatenate([answers.label, known[known >= 0]])
    kept = np.flatnonzero(np.bincount(codes, minlength=answers.n_classes))
    if len(kept) == 0:  # a conflict policy left no answer at all
        kept = np.arange(answers.n_classes)
    place = np.full(answers.n_classes, -1, np.int32)
    place[kept] = np.arange(len(kept))
    fewer = replace(answers, label=place[answers.label], classes=take(answers.classes, kept))
    return Given(fewer, None if known is None else np.where(known < 0, -1, place[known]), kept, answers.n_classes)
