"""`result.plot`: the charts of a result, for notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from quorate.errors import QuorateError
from quorate.reporting.charts.agreement_chart import agreement_chart
from quorate.reporting.charts.confidence_chart import SURE, confidence_chart
from quorate.reporting.charts.graph_chart import graph_chart
from quorate.reporting.charts.skill_chart import skills_chart
from quorate.reporting.charts.specification import Spec
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
        return _altair(skills_chart(self.result))

    def graph(self, *, copying: Sequence[tuple[int, int]] = ()) -> Any:
        """Draw who shared tasks with whom, component by component; pairs in ``copying`` (by code) are marked."""
        return _altair(graph_chart(self.result, copying=copying))

    def agreement(self) -> Any:
        """Draw how alike each two workers answered."""
        return _altair(agreement_chart(self.result))

    def confidence(self, *, sure: float = SURE) -> Any:
        """Draw how many labels are how sure; those below ``sure`` need more answers."""
        return _altair(confidence_chart(self.result, sure))


def _altair(chart: Spec) -> Any:
    """Make an altair chart of a specification."""
    alt = _library()

    def made(kind: Any, part: Spec) -> Any:
        """Make what is around the rows, then put them in as a whole."""
        around = kind.from_dict({**part, "data": {"values": []}})
        around.data = alt.Data(values=Rows(part["data"]["values"])) if "data" in part else alt.Undefined
        return around

    layers = [made(alt.Chart, each) for each in chart["layer"]]
    whole = made(alt.LayerChart, {**chart, "layer": []})
    whole.layer = layers
    return whole


def _library() -> Any:
    try:
        import altair
    except ImportError:
        raise QuorateError("charts need altair: pip install 'quorate[report]'") from None
    return altair


class Rows(Sequence[Spec]):
    """The rows of a chart, as a whole: altair copies lists and dictionaries field by field at every step.

    >>> import altair
    >>> altair.Chart(altair.Data(values=Rows([{"x": 1}]))).mark_point().to_dict()["data"]
    {'values': [{'x': 1}]}
    """

    _schema: ClassVar[dict[str, str]] = {"type": "array"}  # what altair knows its own by

    def __init__(self, rows: Sequence[Spec]) -> None:
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def to_dict(self, *_: Any, **__: Any) -> list[Spec]:
        """Return the rows as they are."""
        return self.rows
