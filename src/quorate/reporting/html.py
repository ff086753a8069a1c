"""Everything to show -> one page that needs nothing beside it.

A chart -> SVG inside the page: its colours follow the page's light or dark, its details show on hover.

Rows of a table -> HTML. The page has thousands of cells, and a template takes ten times as long for them.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib.resources import files
from threading import Thread
from typing import Any
from xml.etree import ElementTree

from quorate.charts.notebook import as_text
from quorate.charts.vega import AGREEMENT, PALETTE, Spec
from quorate.errors import not_installed, visible
from quorate.reporting.tables import Badge, Cell, Column, Sheet

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
FINE = re.compile(r"\d+\.\d{3,}")


def to_svg(chart: Spec, label: str) -> str:
    """Draw a chart as SVG for a page.

    Args:
        chart: a specification of Vega-Lite; tests hold ours to its schema.
        label: text for screen readers.

    Raises:
        QuorateError: vl-convert is not installed.

    >>> import quorate
    >>> from quorate.charts.result import skills_chart
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> to_svg(skills_chart(result), "skills")[:30]
    '<svg viewBox="0 0 420 ...
    """
    layers = [
        {**layer, "encoding": {**layer["encoding"], "tooltip": None}} for layer in chart["layer"]
    ]  # the page's own
    return for_page(converter().vegalite_to_svg({**chart, "layer": layers}), label)


def warm_up(drawer: Any) -> None:
    """Let the engine that draws start beside what comes before drawing: it takes a second.

    >>> warm_up(converter())
    """
    empty_chart = {"data": {"values": []}, "mark": "point"}
    Thread(target=lambda: drawer.vegalite_to_svg(empty_chart)).start()


def converter() -> Any:
    """Return vl-convert, which turns charts into SVG.

    Raises:
        QuorateError: it is not installed.

    >>> converter().__name__
    'vl_convert'
    """
    try:
        import vl_convert
    except ImportError:
        raise not_installed("a report", "vl-convert", "[report]") from None
    return vl_convert


def for_page(svg: str, label: str) -> str:
    """Make a drawing part of a page.

    The description of each mark becomes ``data-tip``, which the page shows on hover; to a screen reader the drawing is
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
        description = element.get("aria-label", "")
        element.attrib = {name: _shown(value) for name, value in element.items() if name in KEPT}
        if description and element.tag != "g":  # a group is an axis or a legend
            element.set("data-tip", description)
    root.attrib = {"viewBox": root.get("viewBox", ""), "role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode")


def _shown(value: str) -> str:
    """Put the page's own colour for ours; round what is finer than a hundredth of a pixel, or the page doubles."""
    name = VARIABLES.get(value.lower())
    return f"var(--{name})" if name else FINE.sub(lambda match: f"{float(match[0]):.2f}", value)


def rows_html(sheet: Sheet) -> str:
    """Write the rows of a table; whatever is in its cells stays text.

    >>> columns = (Column("worker"), Column("answers", number=True))
    >>> rows_html(Sheet("workers", "", columns, ((Cell("<b>"), Cell("7", 7.0)),), 1))
    '<tr><th scope="row" class="text">&lt;b&gt;</th><td class="number" data-value="7">7</td></tr>'
    """
    kinds = [_kind(column) for column in sheet.columns]
    return "\n".join(f"<tr>{''.join(map(_cell, row, kinds, _tags(len(row))))}</tr>" for row in sheet.rows)


def _tags(n: int) -> list[tuple[str, str]]:
    """Return how cells begin and end; the first names its row."""
    return [('th scope="row"', "th"), *[("td", "td")] * (n - 1)]


def _kind(column: Column) -> str:
    return ("number" if column.number else "text") + (" spare" if column.spare else "")


def _cell(cell: Cell, kind: str, tag: tuple[str, str]) -> str:
    value = "" if cell.value is None else f' data-value="{cell.value:.6g}"'
    return f'<{tag[0]} class="{kind}"{value}>{_inside(cell)}</{tag[1]}>'


def _inside(cell: Cell) -> str:
    shown = as_text(cell.text)
    if cell.badges:
        shown = "".join(map(_badge, cell.badges)) + (f"<small>{shown}</small>" if shown else "")
    if cell.marks:
        shown = f"{shown}<small>{''.join(map(_badge, cell.marks))}</small>"
    if cell.note:
        shown = f"{shown}<small>{as_text(cell.note)}</small>"
    if not cell.lines:
        return shown
    lines = (f"<li><b>{as_text(label)}</b> {as_text(who)}</li>" for label, who in cell.lines)
    return f'{shown}<ul class="answers">{"".join(lines)}</ul>'


def _badge(badge: Badge) -> str:
    return f'<span class="badge {as_text(badge.tone)}">{as_text(badge.text)}</span> '


def render(context: Mapping[str, Any], drawings: Mapping[str, str], template: str = "report.html.j2") -> str:
    """Fill in the template; ids and labels are escaped, drawings are not.

    Args:
        context: what the template names.
        drawings: SVG from `quorate.reporting.html`, which escaped the names in it.
        template: a file of this folder, or a template itself if it has braces.

    Raises:
        QuorateError: jinja2 is not installed.

    >>> render({"worker": "<b>"}, {"dot": "<svg/>"}, "{{ worker }}: {{ drawings.dot }}")
    '&lt;b&gt;: <svg/>'
    """
    jinja2 = templates()
    from markupsafe import Markup  # which jinja2 needs

    def seen(value: Any) -> Any:
        """Write out what a page would obey instead of showing it; our own markup has none of it."""
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=seen
    )
    script = file_text("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The page may run this one script and fetch nothing, whatever a name in it tries.
    ours = {"css": Markup(file_text("report.css")), "js": Markup(script), "script_hash": f"sha256-{digest}"}
    shown = {name: Markup(svg) for name, svg in drawings.items()}
    rows = {"rows": lambda sheet: Markup(rows_html(sheet))}
    text = template if "{{" in template else file_text(template)
    return str(environment.from_string(text).render({**context, **ours, **rows, "drawings": shown}))


def templates() -> Any:
    """Import what fills in templates.

    Raises:
        QuorateError: it is not installed.

    >>> templates().__name__
    'jinja2'
    """
    try:
        import jinja2
    except ImportError:
        raise not_installed("a report", "jinja2", "[report]") from None
    return jinja2


def file_text(name: str) -> str:
    """Read a file that is packaged with this module.

    >>> file_text("report.js").splitlines()[0]
    '"use strict";'
    """
    return files("quorate.reporting").joinpath(name).read_text(encoding="utf-8")
