"""Where classes are many and all alike frequent: each task keeps the classes that someone gave, and one for the others.

Under one accuracy a worker the classes that nobody gave a task are alike likely, so one column stands for them all.
What EM does is then linear in the answers, however many classes there are, and comes out the same.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray

PAYS = 4  # times fewer columns than classes, from which on the way there and back is worth it


@dataclass(frozen=True)
class Condensed:
    """Answers whose classes are places among those given to their task; the last column stands for all others."""

    answers: Answers
    code: IntArray  # the class of each place, tasks × places; -1 where a task has fewer
    open: FloatArray  # logarithm of how many classes each column stands for, tasks × (places + 1)
    n_classes: int  # M, as it was

    def lost(self, known: IntArray | None) -> float:
        """Return what the known labels among a task's other classes are less likely than those classes together."""
        if known is None:
            return 0.0
        return float(self.open[known == self.code.shape[1], -1].sum())

    def known(self, gold: IntArray | None) -> IntArray | None:
        """Return the column of each known class; -1 where unknown."""
        if gold is None:
            return None
        at = self.code == gold[:, None]
        others = self.code.shape[1]
        return np.where(gold < 0, -1, np.where(at.any(axis=1), at.argmax(axis=1), others))

    def gathered(self, posterior: FloatArray) -> FloatArray:
        """Bring a posterior over all classes into these columns."""
        own = np.where(self.code >= 0, np.take_along_axis(posterior, np.maximum(self.code, 0), axis=1), 0.0)
        return np.concatenate([own, np.maximum(1 - own.sum(axis=1, keepdims=True), 0.0)], axis=1)

    def spread(self, scores: FloatArray) -> FloatArray:
        """Bring log joint probabilities back to all classes."""
        single = scores - np.where(np.isfinite(self.open), self.open, 0.0)
        full = np.repeat(single[:, -1:], self.n_classes, axis=1)
        task, place = np.nonzero(self.code >= 0)
        full[task, self.code[task, place]] = single[task, place]
        return full


def condensed(answers: Answers) -> Condensed | None:
    """Condense the classes of each task to those given; None where that would not pay.

    >>> import quorate
    >>> answers = quorate.read({"task": range(50), "worker": ["a"] * 50, "label": range(50)})
    >>> condensed(answers).open.round(3)[0].tolist()  # the class given, and 49 others
    [0.0, 3.892]
    >>> condensed(quorate.read({"task": [1, 1], "worker": list("ab"), "label": list("xy")})) is None
    True
    """
    m = answers.n_classes
    cells, place_of = np.unique(answers.cells, return_inverse=True)
    task = cells // m
    first = np.searchsorted(task, np.arange(answers.n_tasks))
    place = np.arange(len(cells)) - first[task]
    n_places = int(place.max(initial=-1)) + 1
    if (n_places + 1) * PAYS > m:
        return None
    code = np.full((answers.n_tasks, n_places), -1)
    code[task, place] = cells % m
    given = (code >= 0).sum(axis=1)
    with np.errstate(divide="ignore"):
        others = np.log(m - given.astype(np.float64))
    stands = np.concatenate([np.where(code >= 0, 0.0, -np.inf), others[:, None]], axis=1)
    fewer = replace(answers, label=place[place_of].astype(answers.label.dtype), classes=pa.nulls(n_places + 1))
    return Condensed(fewer, code, stands, m)
