"""A chart -> SVG inside the page: its colours follow the page's light or dark, its details show on hover."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from typing import Any
from xml.etree import ElementTree

from quorate.errors import QuorateError
from quorate.reporting.charts.specification import Spec
from quorate.reporting.charts.style import AGREEMENT, PALETTE

# The page's own colours, by name; report.css sets each twice, for light and dark.
VARIABLES = {
    **{colour: name for name, colour in PALETTE.items()},
    **{colour: f"agree-{k}" for k, colour in enumerate(AGREEMENT)},
    "white": "card",
}
# Attributes that draw; what else vega writes is for its own scripts and for readers of the marks one by one.
KEPT = {
    "viewBox", "transform", "d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "fill", "stroke", "opacity",
    "fill-opacity", "stroke-opacity", "stroke-width", "stroke-dasharray", "text-anchor", "font-size", "font-weight",
}  # fmt: skip
DRAWER: ContextVar[Any] = ContextVar("DRAWER", default=None)
FINE = re.compile(r"\d+\.\d{3,}")


def to_svg(chart: Spec, label: str) -> str:
    """Draw a chart as SVG for a page.

    Args:
        chart: a specification of Vega-Lite; tests hold ours to its schema.
        label: what a screen reader says of it.

    Raises:
        QuorateError: vl-convert is not installed.

    >>> import quorate
    >>> from quorate.reporting.charts.skill_chart import skills_chart
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> to_svg(skills_chart(result), "skills")[:30]
    '<svg viewBox="0 0 420 ...
    """
    layers = [{**each, "encoding": {**each["encoding"], "tooltip": None}} for each in chart["layer"]]  # the page's own
    return for_page(converter().vegalite_to_svg({**chart, "layer": layers}), label)


def warm_up(drawer: Any) -> None:
    """Let the engine that draws start beside what comes before drawing: it takes a second.

    >>> warm_up(converter())
    """
    nothing = {"data": {"values": []}, "mark": "point"}
    Thread(target=lambda: drawer.vegalite_to_svg(nothing)).start()


def converter() -> Any:
    """Return what turns charts into SVG: vl-convert, or what `drawn_by` says.

    Raises:
        QuorateError: it is not installed.

    >>> converter().__name__
    'vl_convert'
    """
    if (drawer := DRAWER.get()) is not None:
        return drawer
    try:
        import vl_convert
    except ImportError:
        raise QuorateError("a report needs vl-convert to draw: pip install 'quorate[report]'") from None
    return vl_convert


@contextmanager
def drawn_by(drawer: Any) -> Iterator[None]:
    """Let something else draw what is drawn in this block; it has vl-convert's ``vegalite_to_svg``.

    >>> class Nothing:
    ...     def vegalite_to_svg(self, chart): return "<svg/>"
    >>> with drawn_by(Nothing()):
    ...     to_svg({"layer": []}, "nothing")
    '<svg viewBox="" role="img" aria-label="nothing" />'
    """
    token = DRAWER.set(drawer)
    try:
        yield
    finally:
        DRAWER.reset(token)


def for_page(svg: str, label: str) -> str:
    """Make a drawing part of a page.

    What was told of each mark becomes ``data-tip``, which the page shows on hover; to a screen reader the drawing is
    one picture, and its figures stand in a table nearby. Names are parsed and written as XML, so they stay text.

    >>> drawn = '<svg viewBox="0 0 9 9" width="9"><path role="x" aria-label="a &amp; b" fill="#0072b2"/></svg>'
    >>> for_page(drawn, "two")
    '<svg viewBox="0 0 9 9" role="img" aria-label="two"><path fill="var(--good)" data-tip="a &amp; b" /></svg>'
    """
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        for child in [child for child in parent if child.get("display") == "none"]:
            parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        told = element.get("aria-label", "")
        element.attrib = {name: _shown(value) for name, value in element.items() if name in KEPT}
        if told and element.tag != "g":  # a group is an axis or a legend
            element.set("data-tip", told)
    root.attrib = {"viewBox": root.get("viewBox", ""), "role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode")


def _shown(value: str) -> str:
    """Put the page's own colour for ours; round what is finer than a hundredth of a pixel, or the page doubles."""
    name = VARIABLES.get(value.lower())
    return f"var(--{name})" if name else FINE.sub(lambda found: f"{float(found[0]):.2f}", value)
