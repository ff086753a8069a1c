"""Known labels that are matched with tasks as those go by, a part of the tasks at a time."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, IntArray, from_numpy
from quorate.errors import UnknownGoldClassError, UnknownGoldTaskError, listing
from quorate.gold import MEND_CLASS, read_alike
from quorate.reading.columns import as_type, positions
from quorate.reading.files import Source
from quorate.reading.options import AS_USUAL, ReadOptions


@dataclass(frozen=True)
class LocalGold:
    """Known labels, and which of their tasks have been seen."""

    tasks: pa.Array
    labels: pa.Array
    seen: BoolArray = field(repr=False)

    def codes_of(self, names: pa.Array) -> IntArray:
        """Return which known label each of these tasks has, -1 for none."""
        place = positions(as_type(self.tasks, names.type, "known tasks"), names)
        found: IntArray = np.flatnonzero(place >= 0)
        self.seen[found] = True
        codes = np.full(len(names), -1, np.int32)
        codes[place[found]] = found
        return codes

    def check(self, classes: pa.Array) -> None:
        """Refuse what no task was.

        Raises:
            GoldError: a task or a class does not occur in the answers.
        """
        if not self.seen.all():
            strangers = listing(self.tasks.filter(from_numpy(~self.seen)).to_pylist())
            raise UnknownGoldTaskError(
                f"gold names tasks that nobody answered: {strangers}. Check the ids, or take them out"
            )
        labels = as_type(self.labels, classes.type, "known labels")
        unknown = positions(labels, classes) < 0
        if unknown.any():
            strangers = listing(labels.filter(from_numpy(unknown)).unique().to_pylist())
            raise UnknownGoldClassError(
                f"gold has classes that nobody gave: {strangers}; the classes of the answers are "
                f"{listing(classes.to_pylist(), 12)}. {MEND_CLASS}"
            )

    def classed(self, codes: IntArray, classes: pa.Array) -> IntArray:
        """Turn which label a task has into the class that it is."""
        place = np.append(positions(as_type(self.labels, classes.type, "known labels"), classes), -1)
        return place.astype(np.int32)[codes]


def local_gold(source: Source | None, reading: ReadOptions = AS_USUAL) -> LocalGold | None:
    """Read known labels, to be matched with tasks that go by; None for none.

    Args:
        source: what `quorate.gold.match_truth` takes.
        reading: how the answers are read: gold has the same columns.

    >>> gold = local_gold({2: "dog"})
    >>> gold.codes_of(pa.array([1, 2])).tolist()
    [-1, 0]
    """
    if source is None:
        return None
    tasks, labels = read_alike(source, reading)
    return LocalGold(tasks, labels, np.zeros(len(tasks), bool))
