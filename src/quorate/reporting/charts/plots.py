"""`result.plot`: the charts of a result, for notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quorate.reporting.charts.agreement_chart import agreement_chart
from quorate.reporting.charts.confidence_chart import SURE, confidence_chart
from quorate.reporting.charts.graph_chart import graph_chart
from quorate.reporting.charts.skill_chart import skills_chart
from quorate.result import Result


@dataclass(frozen=True)
class Plots:
    """Draws a result; every method returns an altair chart, which a notebook shows and `.save` writes.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> type(Plots(result).skills()).__name__
    'LayerChart'
    """

    result: Result

    def skills(self) -> Any:
        """Draw every worker's skill with its interval, the most skilled first."""
        return skills_chart(self.result)

    def graph(self, *, copying: Sequence[tuple[int, int]] = ()) -> Any:
        """Draw who shared tasks with whom, component by component; pairs in ``copying`` (by code) are marked."""
        return graph_chart(self.result, copying=copying)

    def agreement(self) -> Any:
        """Draw how alike each two workers answered."""
        return agreement_chart(self.result)

    def confidence(self, *, sure: float = SURE) -> Any:
        """Draw how many labels are how sure; those below ``sure`` need more answers."""
        return confidence_chart(self.result, sure)
