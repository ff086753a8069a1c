"""Rows of a table -> HTML. The page has thousands of cells, and a template takes ten times as long for them."""

import html

from quorate.errors import visible
from quorate.reporting.sheet import Badge, Cell, Column, Sheet


def as_text(text: str) -> str:
    """Let a name be text on a page: no markup, and nothing that a page obeys instead of showing it.

    >>> as_text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(visible(text))


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
    if not cell.lines:
        return shown
    lines = (f"<li><b>{as_text(label)}</b> {as_text(who)}</li>" for label, who in cell.lines)
    return f'{shown}<ul class="said">{"".join(lines)}</ul>'


def _badge(badge: Badge) -> str:
    return f'<span class="badge {as_text(badge.tone)}">{as_text(badge.text)}</span> '
