"""What was found out of every worker: skill, weight and status, how the skills were reached, and how sure they are."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.skills.signs import Signs
from quorate.skills.solution import Solution
from quorate.uncertainty.intervals import Inference, IntervalChoice, interval_kind


@dataclass(frozen=True, kw_only=True)
class Workforce:
    """One entry a worker, in the order of their codes; gold is not among them.

    >>> workers = Workforce(skills=np.array([0.5, np.nan]), weights=np.ones(2), status=np.array([0, 1]))
    >>> list(workers.lines(IntervalChoice()))  # a method without a solution has no more to tell
    []
    """

    skills: FloatArray  # NaN where not determined
    weights: FloatArray  # what each worker's vote counted
    status: IntArray  # a position in `quorate.skills.evidence.STATUSES`
    solution: Solution | None = None  # how the skills were found
    signs: Signs | None = None  # how much of the evidence contradicts the signs of the skills
    inference: Inference | None = None  # what intervals need to know of the estimate; None where it has none

    def lines(self, choice: IntervalChoice) -> Iterator[str]:
        """Tell how the skills spread, which intervals they have, and how they were reached."""
        if self.solution is None:
            return
        known = self.skills[~np.isnan(self.skills)]
        if len(known):
            low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
            spread = f"skills: median {middle:.2f}, nine in ten above {low:.2f}, one in ten above {high:.2f}"
            kind = interval_kind(self.inference, choice.kind)
            yield spread if kind == "none" else f"{spread}; {choice.level:.4g} intervals, {kind}"
        yield f"solver {self.solution}"
        if self.signs is not None and self.signs.contradicted >= 0.005:
            yield f"signs: {self.signs.contradicted:.0%} of the evidence of the pairs contradicts them"
