"""Draw the pictures of docs/explained.md, the same bytes each time.

    python -m tools.pictures [FOLDER]    # docs/pictures by default

Each panel is a file, so that panels stand side by side on a desk and one below the other on a phone. Drawn in a light
palette; a style sheet inside each file exchanges it for a dark one where the page is dark. The background belongs to
the picture, so that it is legible wherever it is shown.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert as vlc

import quorate
from quorate.graph.pairs import correlations, pair_stats
from quorate.voting.vote import weight

FONT = "system-ui, sans-serif"

# Light colour -> the same thing on a dark page. Blue and orange can be distinguished by colour-blind readers.
PAPER = "#fdfdfb"
INK = "#1f2933"
FAINT = "#d5dae0"
BLUE = "#2a6fb0"
ORANGE = "#c2570c"
SOFT = "#52606d"
PALE_BLUE = "#dcebf7"
PALE_ORANGE = "#fbe6d3"
ON_COLOUR = "#fffffe"
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


FOLDER = Path(__file__).parent.parent / "docs" / "pictures"


def agreement() -> alt.LayerChart:
    """Every pair of a simulated crowd: how much it agrees, against the product of its skills."""
    crowd = quorate.simulate.crowd(4000, 14, 5, skills=np.linspace(-0.3, 0.95, 14), seed=3)
    pairs = pair_stats(crowd.answers)
    dots = at(crowd.skills[pairs.i] * crowd.skills[pairs.j], correlations(pairs, 2))
    ticks = [-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1]
    place = axes("skill × skill (known: simulated)", "agreement beyond chance", [-0.4, 1], [-0.4, 1], [ticks, ticks])
    line = alt.Chart(rows(at([-0.4, 1], [-0.4, 1]))).mark_line(color=ORANGE, strokeWidth=2).encode(**place)
    points = alt.Chart(rows(dots)).mark_circle(size=55, color=BLUE, opacity=0.85).encode(**place)
    return alt.layer(line, points).properties(width=270, height=260)


MATRIX_SKILLS = {"ann": 0.9, "bob": 0.8, "cem": 0.6, "dee": 0.5, "eve": 0.3, "fay": -0.2}
SHARED = ["ann bob", "ann cem", "bob cem", "cem dee", "dee eve", "bob eve", "eve fay", "ann fay"]


def matrix(filled: bool) -> alt.LayerChart:
    """Agreements between six workers, with holes or filled in."""
    names = list(MATRIX_SKILLS)
    cells = []
    for a in names:
        for b in names:
            is_shared = f"{a} {b}" in SHARED or f"{b} {a}" in SHARED
            number = f"{MATRIX_SKILLS[a] * MATRIX_SKILLS[b]:.2f}".replace("-", "−")
            text = "·" if a == b else number if is_shared or filled else ""
            fill = PAPER if a == b else PALE_BLUE if is_shared else PALE_ORANGE if filled else FAINT
            cells.append({"a": a, "b": b, "t": text, "fill": fill})
    bare = {"ticks": False, "domain": False}
    base = alt.Chart(rows(cells)).encode(
        x=alt.X("b:N", sort=names, title=None, axis=alt.Axis(orient="top", labelAngle=0, **bare)),
        y=alt.Y("a:N", sort=names, title=None, axis=alt.Axis(**bare)),
    )
    squares = base.mark_rect(stroke=PAPER, strokeWidth=3).encode(fill=alt.Fill("fill:N", scale=None))
    return alt.layer(squares, base.mark_text(fontSize=13, color=INK, font=FONT).encode(text="t:N"))


def three() -> alt.LayerChart:
    """Three workers who share tasks pairwise give three equations."""
    corners = {"ann": (0.5, 0.78), "bob": (0.14, 0.22), "cem": (0.86, 0.22)}
    pairs = [("ann", "bob", "0.54"), ("ann", "cem", "0.36"), ("bob", "cem", "0.24")]
    return graph(corners, pairs, notes={"ann": "skill 0.9", "bob": "skill 0.6", "cem": "skill 0.4"})


def two() -> alt.LayerChart:
    """Two workers give one equation, with many solutions."""
    ticks = [0.4, 0.6, 0.8, 1.0]
    place = axes("skill of ann", "skill of cem", [0.3, 1.1], [0.3, 1.05], [ticks, ticks])
    x = np.linspace(0.36, 1, 65)
    line = alt.Chart(rows(at(x, 0.36 / x))).mark_line(color=ORANGE, strokeWidth=3).encode(**place)
    points = [{"x": a, "y": b, "t": f"{a} × {b}"} for a, b in ((0.9, 0.4), (0.6, 0.6), (0.4, 0.9))]
    spots = alt.Chart(rows(points))
    marks = spots.mark_circle(size=110, color=ORANGE, opacity=1).encode(**place)
    words = spots.mark_text(align="left", dx=10, dy=-9, fontSize=13, color=INK, font=FONT).encode(text="t:N", **place)
    return alt.layer(line, marks, words)


SQUARE = {"a": (0.18, 0.78), "b": (0.82, 0.78), "c": (0.82, 0.22), "d": (0.18, 0.22)}
RING = [("a", "b", ""), ("b", "c", ""), ("c", "d", ""), ("a", "d", "")]


def ring_of_four() -> alt.LayerChart:
    """Draw a cycle of four, which can be stretched."""
    stretched = {"a": "skill × 2", "c": "skill × 2", "b": "skill ÷ 2", "d": "skill ÷ 2"}
    return graph(SQUARE, RING, fills={"b": ORANGE, "d": ORANGE}, notes=stretched)


def one_more_link() -> alt.LayerChart:
    """Draw it with one more link, which cannot."""
    return graph(SQUARE, [*RING, ("a", "c", "")], dashed=[("a", "c")])


def ring_of_five() -> alt.LayerChart:
    """Draw a cycle of five, which cannot either."""
    turn = np.pi / 2 + 2 * np.pi * np.arange(5) / 5
    places = zip(
        (0.5 + 0.38 * np.cos(turn)).round(4).tolist(), (0.48 + 0.38 * np.sin(turn)).round(4).tolist(), strict=True
    )
    return graph(dict(zip("abcde", places, strict=True)), [(a, b, "") for a, b in zip("abcde", "bcdea", strict=True)])


VOTERS = {"ann": (0.9, "cat"), "cem": (0.4, "dog"), "dee": (0.5, "dog")}
VOTES = {name: float(weight(np.array([skill]), 2)[0]) for name, (skill, _) in VOTERS.items()}


def skill_to_weight() -> alt.LayerChart:
    """Draw what a vote is worth."""
    place = axes("skill", "weight of a vote", [-0.65, 1.02], [-1.6, 4], [[-0.5, 0, 0.5, 1], [-1, 0, 1, 2, 3, 4]])
    skills = np.linspace(-0.6, 0.96, 79)
    line = alt.Chart(rows(at(skills, weight(skills, 2)))).mark_line(color=BLUE, strokeWidth=3).encode(**place)
    layers = [line]
    for name, v in VOTES.items():
        spot = alt.Chart(rows([{"x": VOTERS[name][0], "y": round(v, 4), "t": f"{name} {v:.1f}"}]))
        right = name == "cem"
        words = spot.mark_text(
            align="left" if right else "right",
            dx=10 if right else -10,
            dy=9 if right else -8,
            fontSize=13,
            color=INK,
            font=FONT,
        )
        marks = spot.mark_circle(size=110, color=ORANGE, opacity=1)
        layers += [marks.encode(**place), words.encode(text="t:N", **place)]
    return alt.layer(*layers)


def one_task() -> alt.LayerChart:
    """Draw a task on which one skilled worker outvotes two others."""
    bars = []
    reached = {"cat": 0.0, "dog": 0.0}
    for name, v in VOTES.items():
        label = VOTERS[name][1]
        start, reached[label] = reached[label], reached[label] + v
        ends = {"from": round(start, 4), "to": round(reached[label], 4), "middle": round(start + v / 2, 4)}
        bars.append({"label": label, "t": f"{name} {v:.1f}", "fill": BLUE if label == "cat" else ORANGE, **ends})
    wide = alt.X(
        "from:Q", title="weight of the votes", scale=alt.Scale(domain=[0, 3]), axis=alt.Axis(values=[0, 1, 2, 3])
    )
    base = alt.Chart(rows(bars)).encode(y=alt.Y("label:N", title=None, axis=alt.Axis(labelFontSize=14, ticks=False)))
    batched_components = base.mark_bar(height=44, stroke=PAPER, strokeWidth=2)
    inside = base.mark_text(color=ON_COLOUR, fontSize=12, fontWeight="bold", font=FONT).encode(x="middle:Q", text="t:N")
    return alt.layer(batched_components.encode(x=wide, x2="to:Q", fill=alt.Fill("fill:N", scale=None)), inside)


def how_sure() -> alt.LayerChart:
    """How often labels of a given confidence are right, on simulated tasks."""
    crowd = quorate.simulate.crowd(15_000, 60, 5, skills=np.linspace(-0.1, 0.95, 60), seed=0)
    ticks = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    place = axes("confidence", "share of labels that are right", [0.48, 1.03], [0.48, 1.03], [ticks, ticks])
    layers = [alt.Chart(rows(at([0.5, 1], [0.5, 1]))).mark_line(color=SOFT, strokeDash=[4, 4]).encode(**place)]
    named = {"rank-one": (BLUE, 0.83, 0.74, "log-odds vote"), "majority": (ORANGE, 0.52, 0.92, "share of the votes")}
    for method, (colour, x, y, name) in named.items():
        task_vote = quorate.aggregate(crowd.answers, method).vote
        group = np.digitize(task_vote.confidence, [0.5, 0.6 + 1e-9, 0.7, 0.8 + 1e-9, 0.9])
        groups = [group == k for k in np.unique(group)]
        right = task_vote.label == crowd.truth
        points = at([task_vote.confidence[g].mean() for g in groups], [right[g].mean() for g in groups])
        dots = alt.Chart(rows(points)).mark_line(point={"color": colour, "size": 70, "opacity": 1}, color=colour)
        word = alt.Chart(rows([{"x": x, "y": y, "t": name}])).mark_text(
            align="left", fontSize=13, color=colour, font=FONT
        )
        layers += [dots.encode(**place), word.encode(text="t:N", **place)]
    return alt.layer(*layers)


def islands() -> alt.LayerChart:
    """Draw a crowd in parts: what is determined, and what is not."""
    nodes = {
        "a": (0.09, 0.86), "b": (0.3, 0.94), "c": (0.42, 0.74), "d": (0.7, 0.84), "e": (0.91, 0.72),
        "f": (0.12, 0.42), "g": (0.42, 0.42), "h": (0.12, 0.17), "i": (0.42, 0.17), "j": (0.84, 0.3),
    }  # fmt: skip
    edges = ["ab", "bc", "ac", "cd", "de", "fg", "gi", "hi", "fh"]
    fills = dict.fromkeys("fi", ORANGE) | dict.fromkeys("gh", PALE_ORANGE) | {"j": FAINT}
    drawn = graph(nodes, [(e[0], e[1], "") for e in edges], fills=fills, radius=16)
    words = [
        (0.5, 0.58, "an odd cycle, a – b – c: all five determined"),
        (0.27, 0.03, "two sides: open"),
        (0.84, 0.03, "no shared task: open"),
    ]
    return alt.layer(drawn, texts(words))


# File -> what draws it, its title, its second line, and the size of its inside.
PICTURES: dict[str, tuple[Any, str, str, tuple[int, int]]] = {
    "agreement": (agreement, "Each dot is a pair of workers", "on the line: agreement = skill × skill", (270, 250)),
    "observed": (lambda: matrix(False), "What was observed", "blue: shared tasks; grey: no shared task", (280, 220)),
    "filled": (lambda: matrix(True), "What must be there", "orange: filled in, skill × skill", (280, 220)),
    "three": (three, "Three pairs: one solution", "on the lines: agreement beyond chance", (290, 250)),
    "two": (two, "One pair: many solutions", "every point of this line fits 0.36", (250, 220)),
    "ring-of-four": (ring_of_four, "Cycle of four: open", "two sides, links only across", (190, 200)),
    "one-more-link": (one_more_link, "Fifth link: determined", "a – b – c – a is a triangle", (190, 200)),
    "ring-of-five": (ring_of_five, "Cycle of five: determined", "odd cycles do not stretch", (190, 200)),
    "weight": (skill_to_weight, "From skill to weight", "for two classes", (250, 220)),
    "one-task": (one_task, "One against two, and cat wins", "ann: cat; cem and dee: dog", (250, 150)),
    "how-sure": (how_sure, "Share of right labels", "dashed: share right = confidence", (260, 240)),
    "islands": (islands, "A crowd in three parts", "colours: the two sides of a part", (300, 280)),
}


def svg(name: str) -> str:
    """Draw a picture as SVG that follows its page into the dark."""
    draw, title, subtitle, (width, height) = PICTURES[name]
    heading = alt.TitleParams(title, subtitle=subtitle, anchor="start", fontSize=15, subtitleFontSize=13, offset=12)
    chart = draw().properties(title=heading, width=width, height=height)
    plain = {"labelColor": INK, "titleColor": INK, "labelFont": FONT, "titleFont": FONT, "labelFontSize": 12}
    styled = (
        chart.configure(background=PAPER, padding=14, font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            **plain, titleFontSize=13, titleFontWeight="normal", gridColor=FAINT, domainColor=SOFT, tickColor=SOFT
        )
        .configure_title(color=INK, subtitleColor=SOFT, font=FONT, subtitleFont=FONT)
    )
    drawn = str(vlc.vegalite_to_svg(styled.to_json()))
    swapped = "".join(f'[fill="{a}"]{{fill:{b}}}[stroke="{a}"]{{stroke:{b}}}' for a, b in DARK.items())
    head, rest = drawn.split(">", 1)
    style = f"<style>@media (prefers-color-scheme: dark){{{swapped}}}</style>"
    return f'{head} role="img" aria-label="{title}">{style}{rest}\n'


def main() -> None:
    """Draw every picture."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        (folder / f"{name}.svg").write_text(svg(name))
    sys.stdout.write(f"{len(PICTURES)} pictures in {folder}\n")


if __name__ == "__main__":
    main()
