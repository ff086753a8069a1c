"""Charts as plain Vega-Lite specifications: encodings, colours, shapes of ratings, and which workers to draw.

`quorate.reporting.svg` draws a specification for a page; `notebook.py` makes an altair chart of it. Colour-blind
readers can distinguish the colours (Okabe and Ito), and every colour has a shape.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, take
from quorate.diagnostics.ratings import RATINGS
from quorate.graph.pairs import PairStats, pair_stats


def choose_workers(answers: Answers, component: IntArray, most: int, first: Sequence[int] = ()) -> IntArray:
    """Choose at most so many workers: those named first, then in turn the most active of each component.

    Small components are there to be seen, so each gives one worker before any gives its second; no component but the
    largest gives more than a dozen.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 30, 3).answers
    >>> choose_workers(answers, np.zeros(30, int), 3, first=[7]).tolist()[0]
    7
    """
    active = np.lexsort([np.arange(answers.n_workers), -answers.per_worker])
    round_of = np.zeros(answers.n_workers, np.int64)
    by_component = active[np.argsort(component[active], kind="stable")]
    starts = np.searchsorted(component[by_component], component[by_component])
    round_of[by_component] = np.arange(answers.n_workers) - starts
    late = (component > 0) & (round_of >= 12)
    # A quarter of the places is enough for the first of each small component.
    crowded = (component > most // 4) & (round_of >= 0)
    order = np.lexsort([active.argsort(), round_of, crowded, late])
    named = np.array(list(dict.fromkeys(first)), np.int64)
    return np.concatenate([named, order[~np.isin(order, named)]])[:most].astype(np.int64)


def pairs_among(answers: Answers, chosen: IntArray) -> PairStats:
    """Count the pairs of chosen workers, by their places among them; the others' answers are not looked at.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2, 2], "worker": list("abcac"), "label": list("xxyxx")})
    >>> pairs = pairs_among(answers, np.array([2, 0]))
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.shared.tolist(), pairs.agreed.tolist()
    ([0], [1], [2], [1])
    """
    place = np.full(answers.n_workers, -1)
    place[chosen] = np.arange(len(chosen))
    inside = answers.where(place[answers.worker] >= 0)
    names = take(answers.worker_names, chosen)
    return pair_stats(replace(inside, worker=place[inside.worker], worker_names=names))


def strongest(pairs: PairStats, n: int, most: int) -> IntArray:
    """Choose at most so many pairs: first those that hold each component together, then those who share most.

    Args:
        pairs: over n workers.
        n: workers.
        most: pairs to choose.

    >>> pairs = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [5, 4, 3], [5, 0, 3]]))
    >>> strongest(pairs, 3, 2).tolist()
    [0, 1]
    """
    if len(pairs) <= most:
        return np.arange(len(pairs))
    from scipy import sparse
    from scipy.sparse import csgraph

    cost: FloatArray = 1.0 / pairs.shared
    ends = (pairs.i.astype(np.int32), pairs.j.astype(np.int32))  # before scipy 1.17.1 a tree is found for 32 bits only
    tree = csgraph.minimum_spanning_tree(sparse.coo_array((cost, ends), shape=(n, n)).tocsr()).tocoo()
    row = tree.row.astype(np.int64)
    col = tree.col.astype(np.int64)
    holds = np.isin(pairs.i * n + pairs.j, np.minimum(row, col) * n + np.maximum(row, col))
    order = np.lexsort([np.arange(len(pairs)), -pairs.shared, ~holds])
    return np.sort(order[:most])


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
LOOK: dict[str, Any] = {
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "labelColor": PALETTE["ink"],
        "titleColor": PALETTE["faint"],
        "gridColor": PALETTE["grid"],
        "domainColor": PALETTE["line"],
        "tickColor": PALETTE["line"],
    },
    "legend": {
        "orient": "bottom",
        "labelFontSize": 13,
        "labelColor": PALETTE["ink"],
        "title": None,
        "symbolSize": 90,
        "symbolOpacity": 1,
        "labelLimit": 0,
        "columns": 2,
        "columnPadding": 16,
    },
}


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


def coded(field: str, names: Sequence[str], appearances: Sequence[str], **more: Any) -> Spec:
    """Encode a field of few names, each by a look of its own; the legend has them in this order.

    >>> coded("verdict", ["yes", "no"], ["green", "red"])["scale"]
    {'domain': ['yes', 'no'], 'range': ['green', 'red']}
    """
    return nominal(field, scale={"domain": list(names), "range": list(appearances)}, **more)


def hover() -> Spec:
    """Encode the description of a mark, as a tooltip and for screen readers.

    >>> sorted(hover())
    ['description', 'tooltip']
    """
    return {"description": nominal("tip"), "tooltip": nominal("tip", title=" ")}


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
    data = {} if rows is None else {"data": {"values": list(rows)}}
    return {**data, "mark": {"type": mark, **look}, "encoding": encoding}


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


COLOURS = (
    PALETTE["good"],
    PALETTE["good"],
    PALETTE["doubt"],
    PALETTE["doubt"],
    PALETTE["bad"],
    PALETTE["unknown"],
    PALETTE["unknown"],
    PALETTE["unknown"],
    PALETTE["bad"],
)
SHAPES = (
    "circle",
    "triangle-up",
    "square",
    "cross",
    "triangle-down",
    "diamond",
    "diamond",
    "diamond",
    "triangle-right",
)
LONGEST = 28  # characters of a name in a chart


def legend(rows: Sequence[Spec]) -> Spec:
    """Encode the rating of each row by colour and shape; the legend has the ratings that occur.

    >>> legend([{"rating": "weak"}, {"rating": "good"}])["shape"]["scale"]["domain"]
    ['good', 'weak']
    """
    observed = {row["rating"] for row in rows}
    codes = [code for code, rating in enumerate(RATINGS) if rating in observed]
    names = [RATINGS[code] for code in codes]
    return {
        "color": coded("rating", names, [COLOURS[code] for code in codes]),
        "shape": coded("rating", names, [SHAPES[code] for code in codes]),
    }


def short_names(names: Sequence[Any], longest: int = LONGEST) -> list[str]:
    """Write ids as text that fits a chart, all different: a long one is cut, and numbered where that makes two alike.

    Characters that nobody sees, such as those that turn the direction of writing, become visible.

    >>> short_names([7, "ann", "x" * 50, "x" * 51], longest=5)
    ['7', 'ann', 'xxxx…', 'xxxx… (2)']
    """
    shown: dict[str, None] = {}
    for name in map(str, names):
        text = " ".join(name.split())
        if not text.isprintable():
            text = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
        text = text if len(text) <= longest else text[: longest - 1] + "…"
        unlike = text
        number = 1
        while unlike in shown:
            number += 1
            unlike = f"{text} ({number})"
        shown[unlike] = None
    return list(shown)
