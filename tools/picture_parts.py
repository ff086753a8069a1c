"""What the pictures of docs/explained.md are put together from: a palette, words, axes, and graphs of workers."""

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

FONT = "system-ui, sans-serif"

# Light colour -> the same thing on a dark page. Blue and orange are told apart by colour-blind readers.
PAPER, INK, FAINT, BLUE, ORANGE = "#fdfdfb", "#1f2933", "#d5dae0", "#2a6fb0", "#c2570c"
SOFT, PALE_BLUE, PALE_ORANGE, ON_COLOUR = "#52606d", "#dcebf7", "#fbe6d3", "#fffffe"
DARK = {
    PAPER: "#1b1f27",
    INK: "#e4e7eb",
    FAINT: "#3a424e",
    BLUE: "#6aaee6",
    ORANGE: "#f0944d",
    SOFT: "#a9b4c0",
    PALE_BLUE: "#1f3a52",
    PALE_ORANGE: "#4a3020",
    ON_COLOUR: "#11151b",
}


def rows(values: Iterable[dict[str, Any]]) -> alt.InlineData:
    """Wrap rows for altair."""
    return alt.InlineData(values=list(values))


def at(x: Any, y: Any) -> list[dict[str, float]]:
    """Pair numbers, rounded so that no platform's last digit shows."""
    return [{"x": round(float(a), 4), "y": round(float(b), 4)} for a, b in zip(x, y, strict=True)]


def sheet() -> dict[str, Any]:
    """Encode x and y, from 0 to 1, on a sheet without axes."""
    plain = alt.Scale(domain=[0, 1], nice=False)
    return {"x": alt.X("x:Q", axis=None, scale=plain), "y": alt.Y("y:Q", axis=None, scale=plain)}


def texts(where: Sequence[tuple[float, float, str]], **mark: Any) -> alt.Chart:
    """Write words at places of a sheet."""
    style = {"fontSize": 13, "color": INK, "font": FONT} | mark
    data = rows({"x": x, "y": y, "t": t} for x, y, t in where)
    return alt.Chart(data).mark_text(**style).encode(text="t:N", **sheet())


def axes(
    x: str, y: str, across: Sequence[float], up: Sequence[float], ticks: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """Encode x and y on two axes with titles, ends and ticks."""
    return {
        "x": alt.X("x:Q", title=x, scale=alt.Scale(domain=across, nice=False), axis=alt.Axis(values=list(ticks[0]))),
        "y": alt.Y("y:Q", title=y, scale=alt.Scale(domain=up, nice=False), axis=alt.Axis(values=list(ticks[1]))),
    }


def graph(
    nodes: dict[str, tuple[float, float]],
    edges: Sequence[tuple[str, str, str]],
    *,
    fills: dict[str, str] | None = None,
    notes: dict[str, str] | None = None,
    dashed: Sequence[tuple[str, str]] = (),
    radius: int = 20,
) -> alt.LayerChart:
    """Draw workers as discs, pairs as lines with a number on them, and a note above or below a worker."""
    layers: list[alt.Chart] = []
    for a, b, _ in edges:
        ends = {"x": nodes[a][0], "y": nodes[a][1], "x2": nodes[b][0], "y2": nodes[b][1]}
        dash = [5, 4] if (a, b) in dashed else [1, 0]
        line = alt.Chart(rows([ends])).mark_rule(strokeWidth=2, color=SOFT, strokeDash=dash)
        layers.append(line.encode(x2="x2:Q", y2="y2:Q", **sheet()))
    marked = [((nodes[a][0] + nodes[b][0]) / 2, (nodes[a][1] + nodes[b][1]) / 2, t) for a, b, t in edges if t]
    if marked:
        plates = alt.Chart(rows({"x": x, "y": y} for x, y, _ in marked)).mark_square(size=1500, color=PAPER, opacity=1)
        layers += [plates.encode(**sheet()), texts(marked, fontSize=15, fontWeight="bold")]
    for name, (x, y) in nodes.items():
        fill = (fills or {}).get(name, BLUE)
        disc = alt.Chart(rows([{"x": x, "y": y}])).mark_circle(size=4 * radius * radius, color=fill, opacity=1)
        ink = INK if fill in (FAINT, PALE_ORANGE) else ON_COLOUR
        layers += [disc.encode(**sheet()), texts([(x, y, name)], color=ink, fontWeight="bold")]
        if notes and name in notes:
            layers.append(texts([(x, y, notes[name])], dy=(radius + 12) * (-1 if y > 0.5 else 1)))
    return alt.layer(*layers)
