"""Render a self-contained HTML page from a template.

Rows of tables are written here, not in the template: the page has thousands of cells, and the template would take ten
times as long.
"""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from quorate.charts.notebook import as_text
from quorate.errors import not_installed, visible
from quorate.reporting.tables import Badge, Cell, Column, Sheet


def rows_html(sheet: Sheet) -> str:
    """Return the rows of a table as HTML; the content of cells is escaped.

    >>> columns = (Column("worker"), Column("answers", number=True))
    >>> rows_html(Sheet("workers", "", columns, ((Cell("<b>"), Cell("7", 7.0)),), 1))
    '<tr><th scope="row" class="text">&lt;b&gt;</th><td class="number" data-value="7">7</td></tr>'
    """
    kinds = [_kind(column) for column in sheet.columns]
    # Start and end tag of each cell; the first cell is the header of its row.
    tags = [('th scope="row"', "th"), *[("td", "td")] * (len(kinds) - 1)]
    return "\n".join(f"<tr>{''.join(map(_cell, row, kinds, tags))}</tr>" for row in sheet.rows)


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
    """Return the rendered template; texts are escaped, drawings are not.

    Args:
        context: values of the names in the template.
        drawings: SVG from `quorate.reporting.svg`, in which names are already escaped.
        template: the name of a file in this folder, or the text of a template if it contains ``{{``.

    Raises:
        QuorateError: jinja2 is not installed.

    >>> render({"worker": "<b>"}, {"dot": "<svg/>"}, "{{ worker }}: {{ drawings.dot }}")
    '&lt;b&gt;: <svg/>'
    """
    jinja2 = templates()
    from markupsafe import Markup  # a dependency of jinja2

    def make_visible(value: Any) -> Any:
        """Return text with control characters made visible; our own markup is unchanged."""
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=make_visible,
    )
    script = file_text("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The content security policy allows only this script and no network, so that names in the data cannot run code.
    values = {
        **context,
        "css": Markup(file_text("report.css")),
        "js": Markup(script),
        "script_hash": f"sha256-{digest}",
        "rows": lambda sheet: Markup(rows_html(sheet)),
        "drawings": {name: Markup(svg) for name, svg in drawings.items()},
    }
    text = template if "{{" in template else file_text(template)
    return str(environment.from_string(text).render(values))


def templates() -> Any:
    """Return the module jinja2.

    Raises:
        QuorateError: jinja2 is not installed.

    >>> templates().__name__
    'jinja2'
    """
    try:
        import jinja2
    except ImportError:
        raise not_installed("a report", "jinja2", "[report]") from None
    return jinja2


def file_text(name: str) -> str:
    """Return the text of a file that is packaged with this module.

    >>> file_text("report.js").splitlines()[0]
    '"use strict";'
    """
    return files("quorate.reporting").joinpath(name).read_text(encoding="utf-8")
