"""Charts in one style: colours that colour-blind readers can tell apart, and a shape beside each."""

from collections.abc import Sequence
from typing import Any

from quorate.errors import QuorateError

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E", "#A65628", "#000000")
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
    "stroke",
)
PANEL = (260, 200)  # width and height of one panel, in pixels


def altair() -> Any:
    """Import altair.

    Raises:
        QuorateError: it is not installed.
    """
    try:
        import altair
    except ImportError:
        raise QuorateError("drawing charts needs altair and vl-convert: pip install 'quorate[report]'") from None
    return altair


def axis(kind: str, field: str, title: str, *, log: bool = False, domain: Sequence[float] | None = None) -> Any:
    """Make an axis, ``x`` or ``y``, of numbers; a linear one starts where the data do."""
    alt = altair()
    options: dict[str, Any] = {"type": "log", "nice": False} if log else {"zero": False}
    if domain is not None:
        options["domain"] = list(domain)
    ticks = alt.Axis(format="~g", labelOverlap=True, tickCount=6, gridOpacity=0.5) if log else alt.Axis()
    return (alt.X if kind == "x" else alt.Y)(
        field, type="quantitative", title=title, scale=alt.Scale(**options), axis=ticks
    )


def lines(
    rows: Sequence[dict[str, Any]],
    x: Any,
    y: Any,
    series: str,
    *,
    order: Sequence[str],
    panels: str | None = None,
    panel_order: Sequence[str] = (),
    columns: int = 2,
    points: bool = True,
    dashed: Sequence[str] = (),
    rules: Sequence[dict[str, Any]] = (),
    own_scales: str = "",
) -> dict[str, Any]:
    """Draw one line a series, in one panel or several.

    Args:
        rows: the data, one dictionary a point.
        x: the horizontal axis, from `axis`.
        y: the vertical one.
        series: the field that names the line.
        order: the series in the order of the legend.
        panels: the field that names the panel.
        panel_order: the panels in order.
        columns: panels side by side.
        points: mark each point by the shape of its series.
        dashed: series drawn as dashed lines.
        rules: rows with ``panel`` and ``value``: horizontal lines, such as the paper's figure.
        own_scales: which axes differ between panels: ``x``, ``y`` or ``xy``.
    """
    alt = altair()
    scale = alt.Scale(domain=list(order), range=list(COLOURS[: len(order)]))
    shape = alt.Scale(domain=list(order), range=list(SHAPES[: len(order)]))
    dash = alt.Scale(domain=list(order), range=[[5, 3] if name in dashed else [1, 0] for name in order])
    encoding = {
        "x": x,
        "y": y,
        "color": alt.Color(series, type="nominal", scale=scale, title=None, sort=list(order)),
        "strokeDash": alt.StrokeDash(series, type="nominal", scale=dash, title=None, sort=list(order)),
    }
    chart = alt.Chart().mark_line(strokeWidth=1.8, strokeJoin="round").encode(**encoding)
    if points:
        marks = alt.Chart().mark_point(filled=True, size=38, opacity=1)
        chart = chart + marks.encode(
            x=x,
            y=y,
            color=encoding["color"],
            shape=alt.Shape(series, type="nominal", scale=shape, title=None, sort=list(order)),
        )
    values = list(rows)
    if rules:
        values += [{str(panels): rule["panel"], "rule": rule["value"]} for rule in rules]
        chart = chart + alt.Chart().mark_rule(strokeDash=[3, 3], color="#444444").encode(
            y=alt.Y("rule", type="quantitative", title=y.to_dict()["title"])
        )
    chart = chart.properties(width=PANEL[0], height=PANEL[1])
    return finished(_in_panels(alt, chart, values, panels, panel_order, columns, own_scales), order)


def _in_panels(
    alt: Any, chart: Any, values: list[dict[str, Any]], panels: str | None, order: Sequence[str], columns: int, own: str
) -> Any:
    data = alt.Data(values=values)
    if panels is None:
        return chart.properties(data=data, width=420, height=260)
    header = alt.Header(title=None, labelFontWeight="bold", labelFontSize=12)
    facet = alt.Facet(panels, type="nominal", sort=list(order), header=header)
    whole = alt.FacetChart(spec=chart, facet=facet, columns=columns, data=data)
    return whole.resolve_scale(**dict.fromkeys(own, "independent")) if own else whole


def bars(
    rows: Sequence[dict[str, Any]],
    x: Any,
    category: str,
    series: str,
    *,
    order: Sequence[str],
    category_order: Sequence[str],
) -> dict[str, Any]:
    """Draw groups of horizontal bars: one group a category, one bar a series."""
    alt = altair()
    scale = alt.Scale(domain=list(order), range=list(COLOURS[: len(order)]))
    chart = (
        alt.Chart(alt.Data(values=list(rows)))
        .mark_bar()
        .encode(
            x=x,
            y=alt.Y(category, type="nominal", sort=list(category_order), title=None),
            yOffset=alt.YOffset(series, type="nominal", sort=list(order)),
            color=alt.Color(series, type="nominal", scale=scale, sort=list(order), title=None),
        )
        .properties(width=440, height={"step": 11})
    )
    return finished(chart, order)


def finished(chart: Any, series: Sequence[str]) -> dict[str, Any]:
    """Give a chart the house's fonts and a legend no wider than itself, and return its specification."""
    columns = max(1, min(5, 520 // (7 * max(map(len, series)) + 30)))
    styled = (
        chart.configure_view(stroke="#CCCCCC")
        .configure_axis(labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#EAEAEA")
        .configure_legend(orient="bottom", labelFontSize=12, symbolSize=70, columns=columns, labelLimit=0)
    )
    spec: dict[str, Any] = styled.to_dict()
    return spec
