"""Charts as plain Vega-Lite specifications: encodings, colours, shapes of ratings, and which workers to draw.

`quorate.reporting.svg` draws a specification for a page; `notebook.py` returns it as an altair chart. Colour-blind
readers can distinguish the colours (Okabe and Ito), and ratings also differ by shape.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray, take
from quorate.diagnostics.ratings import RATINGS
from quorate.graph.pairs import PairStats, pair_stats
from quorate.skills.signs import strongest_tree


def choose_workers(answers: Answers, component: IntArray, most: int, first: Sequence[int] = ()) -> IntArray:
    """Return the codes of at most ``most`` workers: those in ``first``, then the most active of each component in turn.

    Each component has one worker before any has a second, so that small components are visible; only the largest
    component has more than twelve, as long as other workers are left.

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
    # The most // 4 largest components come first: more small components are not needed.
    crowded = component > most // 4
    order = np.lexsort([active.argsort(), round_of, crowded, late])
    named = np.array(list(dict.fromkeys(first)), np.int64)
    return np.concatenate([named, order[~np.isin(order, named)]])[:most].astype(np.int64)


def pairs_among(answers: Answers, chosen: IntArray) -> PairStats:
    """Return the pairs among chosen workers; their codes are indices into ``chosen``.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2, 2], "worker": list("abcac"), "label": list("xxyxx")})
    >>> pairs = pairs_among(answers, np.array([2, 0]))
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.shared.tolist(), pairs.agreed.tolist()
    ([0], [1], [2], [1])
    """
    index = np.full(answers.n_workers, -1)
    index[chosen] = np.arange(len(chosen))
    inside = answers.where(index[answers.worker] >= 0)
    names = take(answers.worker_names, chosen)
    return pair_stats(replace(inside, worker=index[inside.worker], worker_names=names))


def strongest(pairs: PairStats, n: int, most: int) -> IntArray:
    """Return the indices of at most ``most`` pairs: a spanning tree of each component, then the most shared tasks.

    Args:
        pairs: of n workers.
        n: number of workers.
        most: largest number of pairs.

    >>> pairs = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [5, 4, 3], [5, 0, 3]]))
    >>> strongest(pairs, 3, 2).tolist()
    [0, 1]
    """
    if len(pairs) <= most:
        return np.arange(len(pairs))
    is_in_tree = np.zeros(len(pairs), dtype=bool)
    is_in_tree[strongest_tree(n, pairs.i, pairs.j, pairs.shared.astype(np.float64))] = True
    order = np.lexsort([np.arange(len(pairs)), -pairs.shared, ~is_in_tree])
    return np.sort(order[:most])


# Colours by meaning. The page replaces each by a variable, which differs between light and dark mode.
PALETTE = {
    "ink": "#1f2328",
    "faint": "#59636e",
    "line": "#c4cad1",
    "grid": "#e6e9ed",
    "good": "#0072b2",  # blue
    "doubt": "#d98c00",  # orange, darker than that of Okabe and Ito for contrast on white
    "bad": "#c44e00",  # vermilion, also darker
    "unknown": "#7a828b",
    "copy": "#b4578c",  # purple
}
# Agreement, from always different to always equal answers; the middle is chance.
AGREEMENT = ("#b24600", "#e0803c", "#f3c9a5", "#e9ebee", "#b3d4ea", "#5ba3cf", "#0064a0")
WIDTH = 420  # pixels: two charts side by side on a desktop screen, one on a phone
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
    """Return the encoding of a numeric field.

    >>> quantitative("skill", title="how good")
    {'field': 'skill', 'type': 'quantitative', 'title': 'how good'}
    """
    return {"field": field, "type": "quantitative", **more}


def nominal(field: str, **more: Any) -> Spec:
    """Return the encoding of a field of names.

    >>> nominal("worker")
    {'field': 'worker', 'type': 'nominal'}
    """
    return {"field": field, "type": "nominal", **more}


def coded(field: str, names: Sequence[str], appearances: Sequence[str], **more: Any) -> Spec:
    """Return the encoding of a field of few names, each with its own appearance; the legend has them in this order.

    >>> coded("verdict", ["yes", "no"], ["green", "red"])["scale"]
    {'domain': ['yes', 'no'], 'range': ['green', 'red']}
    """
    return nominal(field, scale={"domain": list(names), "range": list(appearances)}, **more)


def hover() -> Spec:
    """Return the encoding of the description of a mark, as a tooltip and for screen readers.

    >>> sorted(hover())
    ['description', 'tooltip']
    """
    return {"description": nominal("tip"), "tooltip": nominal("tip", title=" ")}


def layer(mark: str, encoding: Spec, rows: Sequence[Spec] | None = None, **look: Any) -> Spec:
    """Return a layer with one mark per row.

    Args:
        mark: of Vega-Lite, such as "point".
        encoding: encodings by channel.
        rows: one dictionary per mark; None: the rows of the chart.
        look: properties of all marks.

    >>> layer("point", {"x": quantitative("skill")}, size=9)
    {'mark': {'type': 'point', 'size': 9}, 'encoding': {'x': {'field': 'skill', 'type': 'quantitative'}}}
    """
    data = {} if rows is None else {"data": {"values": list(rows)}}
    return {**data, "mark": {"type": mark, **look}, "encoding": encoding}


def layered(layers: Sequence[Spec], rows: Sequence[Spec], *, height: int | dict[str, int]) -> Spec:
    """Return a chart of layers that share their rows; its width includes axes and names.

    Args:
        layers: the bottom layer first.
        rows: one dictionary per mark.
        height: in pixels, or {"step": pixels per band}.

    >>> layered([layer("point", {})], [{}], height=100)["width"]
    420
    """
    fit = {"type": "fit-x", "contains": "padding"}
    return {**canvas(layers, height=height), "data": {"values": list(rows)}, "autosize": fit}


def canvas(layers: Sequence[Spec], *, height: int | dict[str, int]) -> Spec:
    """Return a chart of layers with the common colours and fonts.

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
MAX_NAME_LENGTH = 28  # characters of a name in a chart


def legend(rows: Sequence[Spec]) -> Spec:
    """Return the encoding of ratings by colour and shape; the legend has the ratings that occur.

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


def short_names(names: Sequence[Any], longest: int = MAX_NAME_LENGTH) -> list[str]:
    """Return ids as different texts that fit a chart: long ones are cut, and numbered if two would be equal.

    Invisible characters, such as those that change the direction of writing, are replaced.

    >>> short_names([7, "ann", "x" * 50, "x" * 51], longest=5)
    ['7', 'ann', 'xxxx…', 'xxxx… (2)']
    """
    shown: dict[str, None] = {}
    for name in map(str, names):
        text = " ".join(name.split())
        if not text.isprintable():
            text = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
        text = text if len(text) <= longest else text[: longest - 1] + "…"
        unique = text
        number = 1
        while unique in shown:
            number += 1
            unique = f"{text} ({number})"
        shown[unique] = None
    return list(shown)
