"""Charts in one style: colours that colour-blind readers can distinguish, each with a shape."""

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

from quorate.errors import QuorateError

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E", "#A65628", "#8B7FD1", "#000000")
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
    "M0,-1L0.95,-0.31L0.59,0.81L-0.59,0.81L-0.95,-0.31Z",  # a pentagon
    "stroke",
)
PANEL = (260, 200)  # width and height of one panel, in pixels
_EXPONENT = "round(log(datum.value) / LN10)"
_DIGIT = "substring('⁰¹²³⁴⁵⁶⁷⁸⁹', {0}, {0} + 1)"
# Short numbers are written in full, others as powers of ten; no labels between powers of ten.
POWERS = (
    "datum.value >= 0.001 && datum.value < 100000 ? format(datum.value, '~g') : "
    f"abs(log(datum.value) / LN10 - {_EXPONENT}) > 1e-6 ? '' : "
    f"'10' + ({_EXPONENT} < 0 ? '⁻' : '') + (abs({_EXPONENT}) >= 10 ? "
    f"{_DIGIT.format(f'floor(abs({_EXPONENT}) / 10)')} : '') + {_DIGIT.format(f'(abs({_EXPONENT}) % 10)')}"
)


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
    """Return a numeric axis, ``x`` or ``y``; a linear axis starts at the smallest value of the data."""
    alt = altair()
    options: dict[str, Any] = {"type": "log", "nice": False} if log else {"zero": False}
    if domain is not None:
        options["domain"] = list(domain)
    ticks = alt.Axis(labelExpr=POWERS, labelOverlap=True, tickCount=6, gridOpacity=0.5) if log else alt.Axis()
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
    bands: bool = False,
) -> dict[str, Any]:
    """Return a chart with one line per series, in one or several panels.

    Args:
        rows: the data, one dictionary per point.
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
        bands: rows have ``low`` and ``high``, drawn as bars at each point; what comes last in the rows is on top.
    """
    alt = altair()
    scale = alt.Scale(domain=list(order), range=list(COLOURS[: len(order)]))
    shape = alt.Scale(domain=list(order), range=list(SHAPES[: len(order)]))
    is_dashed = alt.FieldOneOfPredicate(field=series, oneOf=list(dashed))
    encoding = {
        "x": x,
        "y": y,
        "color": alt.Color(series, type="nominal", scale=scale, title=None, sort=list(order)),
        "strokeDash": alt.condition(is_dashed, alt.value([5, 3]), alt.value([1, 0])),  # a scale would change the legend
    }
    chart = alt.Chart().mark_line(strokeWidth=1.8, strokeJoin="round").encode(**encoding)
    if bands:
        bar = alt.Chart().mark_rule(strokeWidth=1)
        title = y.to_dict()["title"]
        ends = {"y": alt.Y("low", type="quantitative", title=title), "y2": "high"}
        chart = bar.encode(x=x, color=encoding["color"], **ends) + chart
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
    faceted = alt.FacetChart(spec=chart, facet=facet, columns=columns, data=data)
    return faceted.resolve_scale(**dict.fromkeys(own, "independent")) if own else faceted


def bars(
    rows: Sequence[dict[str, Any]],
    x: Any,
    category: str,
    series: str,
    *,
    order: Sequence[str],
    category_order: Sequence[str],
    panels: str | None = None,
    panel_order: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a chart of horizontal bars: one group per category, one bar per series; in one or several panels."""
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
        .properties(width=440 if panels is None else 190, height={"step": 11})
    )
    if panels is not None:
        header = alt.Header(title=None, labelFontWeight="bold", labelFontSize=12)
        facet = alt.Facet(panels, type="nominal", sort=list(panel_order), header=header)
        chart = chart.facet(facet=facet, columns=2).resolve_scale(x="independent")
    return finished(chart, order)


def graphs(drawn: dict[str, tuple[Any, Any]], n: int) -> dict[str, Any]:
    """Return a chart of small graphs with workers on a circle; a worker connected to all others is in the centre."""
    alt = altair()
    charts = []
    for name, (i, j) in drawn.items():
        degree = [int((i == k).sum() + (j == k).sum()) for k in range(n)]
        hub = degree.index(n - 1) if degree.count(n - 1) == 1 else None
        around = [k for k in range(n) if k != hub]
        angle = {k: 2 * pi * place / len(around) for place, k in enumerate(around)}
        at = {k: (0.0, 0.0) if k == hub else (sin(angle[k]), cos(angle[k])) for k in range(n)}
        edges = [
            {"x": at[int(a)][0], "y": at[int(a)][1], "x2": at[int(b)][0], "y2": at[int(b)][1]}
            for a, b in zip(i, j, strict=True)
        ]
        scale = alt.Scale(domain=[-1.15, 1.15])
        x = alt.X("x:Q", axis=None, scale=scale)
        y = alt.Y("y:Q", axis=None, scale=scale)
        links = alt.Chart(alt.Data(values=edges)).mark_rule(color="#8A8A8A").encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
        dots = alt.Chart(alt.Data(values=[{"x": a, "y": b} for a, b in at.values()]))
        marks = dots.mark_point(filled=True, size=90, opacity=1, color=COLOURS[0]).encode(x=x, y=y)
        charts.append((links + marks).properties(width=170, height=170, title=name))
    return finished(alt.hconcat(*charts), list(drawn))


def finished(chart: Any, series: Sequence[str]) -> dict[str, Any]:
    """Return the specification of a chart with the common fonts and a legend of at most its width."""
    columns = max(1, min(5, 520 // (7 * max(map(len, series)) + 30)))
    styled = (
        chart.configure_view(stroke="#CCCCCC")
        .configure_axis(labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#EAEAEA")
        .configure_legend(orient="bottom", labelFontSize=12, symbolSize=70, columns=columns, labelLimit=0)
    )
    spec: dict[str, Any] = styled.to_dict()
    return spec
