"""One look for every chart: colours that the colour-blind can tell apart (Okabe and Ito), and a shape beside each."""

from collections.abc import Sequence
from typing import Any, ClassVar

from quorate.errors import QuorateError

# By what each means here. A page that knows dark from light puts its own colour in place of each.
PALETTE = {
    "ink": "#1f2328",
    "faint": "#59636e",
    "line": "#c4cad1",
    "grid": "#e6e9ed",
    "good": "#0072b2",  # blue
    "doubt": "#d98c00",  # orange, a shade darker than theirs so that it shows on white
    "bad": "#c44e00",  # vermilion, likewise
    "unknown": "#7a828b",
    "copy": "#b4578c",  # purple
}
# Agreement, from opposite to alike; the middle is chance.
AGREEMENT = ("#b24600", "#e0803c", "#f3c9a5", "#e9ebee", "#b3d4ea", "#5ba3cf", "#0064a0")
WIDTH = 420  # pixels: two charts side by side on a desk, one on a phone
FONT = "system-ui, sans-serif"


def altair() -> Any:
    """Import altair.

    Raises:
        QuorateError: it is not installed.

    >>> altair().__name__
    'altair'
    """
    try:
        import altair
    except ImportError:
        raise QuorateError("charts need altair: pip install 'quorate[report]'") from None
    return altair


class Rows(Sequence[dict[str, Any]]):
    """The rows of a chart, as a whole: altair copies lists and dictionaries field by field at every step.

    >>> alt = altair()
    >>> alt.Chart(alt.Data(values=Rows([{"x": 1}]))).mark_point().to_dict()["data"]
    {'values': [{'x': 1}]}
    """

    _schema: ClassVar[dict[str, str]] = {"type": "array"}  # what altair knows its own by

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def to_dict(self, *_: Any, **__: Any) -> list[dict[str, Any]]:
        """Return the rows as they are."""
        return self.rows


def layered(
    layers: Sequence[Any], rows: Sequence[dict[str, Any]], *, height: int | dict[str, int], width: int = WIDTH
) -> Any:
    """Put layers that share their rows on one drawing, in the house's look.

    Args:
        layers: altair charts without data, the lowest first.
        rows: one dictionary a mark.
        height: in pixels, or a step for each row of a list.
        width: in pixels, axes and names included.

    >>> alt = altair()
    >>> layered([alt.Chart().mark_point()], [{}], height=100).to_dict()["width"]
    420
    """
    alt = altair()
    chart = alt.layer(*layers, data=alt.Data(values=Rows(rows))).properties(
        width=width, height=height, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"), background="white"
    )
    return dressed(chart)


def dressed(chart: Any) -> Any:
    """Give a chart the house's fonts and colours.

    >>> alt = altair()
    >>> dressed(alt.Chart(alt.Data(values=[{}])).mark_point()).to_dict()["config"]["axis"]["gridColor"]
    '#e6e9ed'
    """
    return (
        chart.configure(font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=13,
            titleFontSize=13,
            titleFontWeight="normal",
            labelColor=PALETTE["ink"],
            titleColor=PALETTE["faint"],
            gridColor=PALETTE["grid"],
            domainColor=PALETTE["line"],
            tickColor=PALETTE["line"],
        )
        .configure_legend(
            orient="bottom",
            labelFontSize=13,
            labelColor=PALETTE["ink"],
            title=None,
            symbolSize=90,
            symbolOpacity=1,
            labelLimit=0,
            columns=2,
            columnPadding=16,
        )
    )
