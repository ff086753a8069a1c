"""A chart as a plain Vega-Lite specification: what is drawn stays data until something draws it.

The page hands it to vl-convert as it is; `plots.py` makes an altair chart of it for notebooks.
"""

from collections.abc import Sequence
from typing import Any

from quorate.reporting.charts.style import LOOK, WIDTH

Spec = dict[str, Any]


def quantitative(field: str, **more: Any) -> Spec:
    """Encode a field of numbers.

    >>> quantitative("skill", title="how good")
    {'field': 'skill', 'type': 'quantitative', 'title': 'how good'}
    """
    return {"field": field, "type": "quantitative", **more}


def nominal(field: str, **more: Any) -> Spec:
    """Encode a field of names.

    >>> nominal("worker")
    {'field': 'worker', 'type': 'nominal'}
    """
    return {"field": field, "type": "nominal", **more}


def coded(field: str, names: Sequence[str], looks: Sequence[str], **more: Any) -> Spec:
    """Encode a field of few names, each by a look of its own; the legend has them in this order.

    >>> coded("verdict", ["yes", "no"], ["green", "red"])["scale"]
    {'domain': ['yes', 'no'], 'range': ['green', 'red']}
    """
    return nominal(field, scale={"domain": list(names), "range": list(looks)}, **more)


def hover() -> Spec:
    """Encode what is told of a mark, to a reader who points at it and to one who listens.

    >>> sorted(hover())
    ['description', 'tooltip']
    """
    return {"description": nominal("told"), "tooltip": nominal("told", title=" ")}


def layer(mark: str, encoding: Spec, rows: Sequence[Spec] | None = None, **look: Any) -> Spec:
    """Draw a mark for each row, of the layer's own or of the chart.

    Args:
        mark: of Vega-Lite, such as "point".
        encoding: a channel's name -> what it shows.
        rows: one dictionary a mark, where the layer has its own.
        look: what is the same for all marks.

    >>> layer("point", {"x": quantitative("skill")}, size=9)
    {'mark': {'type': 'point', 'size': 9}, 'encoding': {'x': {'field': 'skill', 'type': 'quantitative'}}}
    """
    own = {} if rows is None else {"data": {"values": list(rows)}}
    return {**own, "mark": {"type": mark, **look}, "encoding": encoding}


def layered(layers: Sequence[Spec], rows: Sequence[Spec], *, height: int | dict[str, int]) -> Spec:
    """Put layers that share their rows on one drawing, axes and names included in its width.

    Args:
        layers: the lowest first.
        rows: one dictionary a mark.
        height: in pixels, or a step for each row of a list.

    >>> layered([layer("point", {})], [{}], height=100)["width"]
    420
    """
    fit = {"type": "fit-x", "contains": "padding"}
    return {**canvas(layers, height=height), "data": {"values": list(rows)}, "autosize": fit}


def canvas(layers: Sequence[Spec], *, height: int | dict[str, int]) -> Spec:
    """Put layers on one drawing, in the house's look.

    >>> canvas([layer("point", {}, [{}])], height=100)["config"]["axis"]["gridColor"]
    '#e6e9ed'
    """
    return {"layer": list(layers), "width": WIDTH, "height": height, "background": "white", "config": LOOK}
