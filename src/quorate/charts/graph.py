"""The chart of the interaction graph: which workers share tasks, and which components cannot be rated.

Each component is drawn in its own disc, and the discs do not overlap. The layout starts from fixed positions and takes
a fixed number of steps, so the drawing of a graph is deterministic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.charts.vega import (
    PALETTE,
    WIDTH,
    Spec,
    canvas,
    choose_workers,
    hover,
    layer,
    legend,
    pairs_among,
    quantitative,
    short_names,
    strongest,
)
from quorate.diagnostics.ratings import RATINGS, ratings
from quorate.errors import count
from quorate.graph.components import grouped
from quorate.graph.pairs import PairStats
from quorate.result import Result

LAYOUT_STEPS = 150  # of the force layout
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))  # golden angle in radians: points at its multiples cover a disc evenly
ASPECT = 1.5  # width of a drawing divided by its height


@dataclass(frozen=True)
class Layout:
    """Positions of workers, and a disc around each component."""

    at: FloatArray  # shape (workers, 2)
    centre: FloatArray  # shape (components, 2)
    radius: FloatArray

    def fitted(self, width: float, most_height: float) -> tuple["Layout", int]:
        """Return the layout scaled and moved into a rectangle, and the height of the rectangle, in pixels."""
        radius = self.radius[:, None]
        low = (self.centre - radius).min(axis=0)
        high = (self.centre + radius).max(axis=0)
        total_width, total_height = high - low
        scale = min(width / total_width, most_height / total_height)
        shift = np.array([(width - scale * total_width) / 2, 0.0])
        at = (self.at - low) * scale + shift
        centre = (self.centre - low) * scale + shift
        return Layout(at, centre, self.radius * scale), int(np.ceil(scale * total_height))


def layout_of(component: IntArray, i: IntArray, j: IntArray, weight: FloatArray) -> Layout:
    """Return positions of workers such that workers who share many tasks are close.

    Args:
        component: of each worker, numbered from 0, the largest first.
        i: one end of each edge.
        j: the other end.
        weight: attraction of each edge.

    >>> triangle_and_loner = layout_of(np.array([0, 0, 0, 1]), np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3))
    >>> triangle_and_loner.radius.round(2).tolist()
    [2.23, 1.5]
    """
    n_components = int(component.max(initial=-1)) + 1
    members = grouped(component, n_components)
    edges = grouped(component[i], n_components)
    radius = 0.5 + np.sqrt(np.array([len(nodes) for nodes in members], np.float64))
    centre = _pack(radius)
    at = np.zeros((len(component), 2))
    for number, (nodes, inside) in enumerate(zip(members, edges, strict=True)):
        one, two = (np.searchsorted(nodes, end[inside]) for end in (i, j))
        at[nodes] = centre[number] + (radius[number] - 0.5) * _relax(len(nodes), one, two, weight[inside])
    return Layout(at, centre, radius)


def _relax(n: int, i: IntArray, j: IntArray, weight: FloatArray) -> FloatArray:
    """Return positions in the unit disc by the force layout of Fruchterman and Reingold (1991).

    Edges attract their nodes, and all nodes repel each other.
    """
    if n == 1:
        return np.zeros((1, 2))
    turn = GOLDEN_ANGLE * np.arange(n)
    at = np.sqrt((np.arange(n) + 0.5) / n)[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    pull = np.zeros((n, n))
    pull[i, j] = pull[j, i] = weight / weight.max(initial=1e-9)
    ideal = np.sqrt(np.pi / n)
    for step in range(LAYOUT_STEPS):
        x, y = (coordinate - coordinate[:, None] for coordinate in at.T.copy())  # from the row's node to the column's
        distance = np.sqrt(x * x + y * y) + 1e-9
        force = ideal**2 / distance**2 - pull * distance / ideal
        np.fill_diagonal(force, 0.0)
        move = np.stack([(force * x).sum(axis=0), (force * y).sum(axis=0)], axis=1)
        length = np.sqrt((move**2).sum(axis=1)) + 1e-9
        most = 0.3 * (1 - step / LAYOUT_STEPS) ** 2 + 1e-3  # largest move: it decreases with every step
        at += move * (np.minimum(length, most) / length)[:, None]
    at -= (at.max(axis=0) + at.min(axis=0)) / 2
    positions: FloatArray = at / np.sqrt((at**2).sum(axis=1)).max()
    return positions


def _pack(radius: FloatArray) -> FloatArray:
    """Return centres of discs without overlap: each disc in turn at the free position nearest to the first disc."""
    centre = np.zeros((len(radius), 2))
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    around = np.stack([ASPECT * np.cos(angles), np.sin(angles)], axis=1)
    for k in range(1, len(radius)):
        distance = 0.0
        while True:
            distance += 0.25 * radius[k]
            candidates = centre[0] + distance * around
            gaps = np.sqrt(((candidates[:, None] - centre[None, :k]) ** 2).sum(axis=2)) - radius[:k]
            free = np.flatnonzero(gaps.min(axis=1) >= radius[k])
            if len(free):
                centre[k] = candidates[free[0]]
                break
    return centre


MAX_WORKERS = 120
MAX_EDGES = 900
MAX_HEIGHT = 380  # pixels


def graph_chart(result: Result, *, copying: Sequence[tuple[int, int]] = ()) -> Spec:
    """Return the chart of workers and the tasks they share; for a large crowd, the most active of each component.

    Args:
        result: what was aggregated.
        copying: pairs of worker codes to mark.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> graph_chart(result)["width"]
    420
    """
    answers = result.answers
    identifiability = result.identifiability
    component = identifiability.component[: answers.n_workers]
    chosen = choose_workers(answers, component, MAX_WORKERS, [code for pair in copying for code in pair])
    pairs = pairs_among(answers, chosen)
    edge_index = strongest(pairs, len(chosen), MAX_EDGES)
    numbers, component_of_chosen = np.unique(component[chosen], return_inverse=True)
    pull = np.sqrt(pairs.shared[edge_index].astype(np.float64))
    layout = layout_of(component_of_chosen, pairs.i[edge_index], pairs.j[edge_index], pull)
    layout, height = layout.fitted(WIDTH, MAX_HEIGHT)

    names = short_names(answers.worker_names.to_pylist())
    alone = np.bincount(component_of_chosen) == 1
    layers = [
        _discs(layout, numbers, result.identifiability.identifiable[numbers], alone),
        *_edges(layout, pairs, edge_index, chosen, names, copying),
        _nodes(layout, result, chosen, names),
    ]
    return {**canvas(layers, height=height), "resolve": {"scale": {"color": "independent", "shape": "independent"}}}


def _discs(layout: Layout, numbers: IntArray, identifiable: BoolArray, alone: BoolArray) -> Spec:
    """Return the layer with a disc behind each component; a dashed ring if it cannot be rated."""
    rows = [
        {
            **_at(layout.centre[k]),
            "size": round(float((2 * layout.radius[k]) ** 2), 1),
            "identifiable": bool(identifiable[k]),
            "tip": f"component {numbers[k]}: {_verdict(bool(identifiable[k]), bool(alone[k]))}",
        }
        for k in range(len(numbers))
    ]
    encoding = {
        **_pixel_position(),
        "size": quantitative("size", scale=None),
        "fill": _if_identifiable(PALETTE["grid"], "white"),
        "stroke": _if_identifiable(PALETTE["grid"], PALETTE["unknown"]),
        "strokeDash": _if_identifiable([1, 0], [5, 4]),
        **hover(),
    }
    return layer("point", encoding, rows, filled=True, shape="circle", opacity=1, strokeWidth=1.5)


def _if_identifiable(yes: Any, no: Any) -> Spec:
    return {"condition": {"test": "datum.identifiable", "value": yes}, "value": no}


def _verdict(identifiable: bool, alone: bool) -> str:
    if identifiable:
        return "skills are determined"
    if alone:
        return "shares no task with anyone"
    return "two sides that share tasks only with each other, so skills are not determined"


def _edges(
    layout: Layout,
    pairs: PairStats,
    edge_index: IntArray,
    chosen: IntArray,
    names: Sequence[str],
    copying: Sequence[tuple[int, int]],
) -> list[Spec]:
    """Return layers with a line per pair that shares tasks, thicker for more tasks; pairs who may copy are marked."""
    marked = {frozenset(pair) for pair in copying}
    plain: list[Spec] = []
    bold: list[Spec] = []
    most = np.sqrt(pairs.shared[edge_index].max(initial=1))
    for e in edge_index.tolist():
        one, two = (int(chosen[end[e]]) for end in (pairs.i, pairs.j))
        is_marked = frozenset((one, two)) in marked
        tip = (
            f"{names[one]} and {names[two]}: the same answer on {pairs.agreed[e]:,} of {pairs.shared[e]:,} shared tasks"
        )
        row: Spec = {**_at(layout.at[pairs.i[e]]), **_at(layout.at[pairs.j[e]], "x2", "y2")}
        row |= {
            "width": round(float(0.4 + 2 * np.sqrt(pairs.shared[e]) / most), 2),
            "tip": tip + ("; they agree more than their skills explain" if is_marked else ""),
        }
        (bold if is_marked else plain).append(row)
    ends = {**_pixel_position(), "x2": {"field": "x2"}, "y2": {"field": "y2"}, **hover()}
    by_shared = {**ends, "strokeWidth": quantitative("width", scale=None)}
    opacity = round(min(max(100 / max(len(plain), 1), 0.12), 0.6), 2)
    return [
        *([layer("rule", by_shared, plain, color=PALETTE["unknown"], opacity=opacity)] if plain else []),
        *([layer("rule", ends, bold, color=PALETTE["copy"], strokeWidth=4)] if bold else []),
    ]


def _nodes(layout: Layout, result: Result, chosen: IntArray, names: Sequence[str]) -> Spec:
    """Return the layer of workers: colour and shape by rating, size by number of answers."""
    n_answers = result.answers.per_worker
    kinds = ratings(result)
    rows = []
    for index, k in enumerate(chosen.tolist()):
        skill = result.skills[k]
        skill_text = RATINGS[kinds[k]] if np.isnan(skill) else f"skill {skill:.2f}"
        rows.append(
            {
                **_at(layout.at[index]),
                "rating": RATINGS[kinds[k]],
                "size": round(float(30 + 170 * np.sqrt(n_answers[k] / n_answers.max())), 1),
                "tip": f"{names[k]}: {skill_text}, {count(int(n_answers[k]), 'answer')}",
            }
        )
    encoding = {**_pixel_position(), "size": quantitative("size", scale=None), **legend(rows), **hover()}
    return layer("point", encoding, rows, filled=True, opacity=1, stroke="white", strokeWidth=1)


def _at(point: Any, x: str = "x", y: str = "y") -> dict[str, float]:
    return {x: round(float(point[0]), 1), y: round(float(point[1]), 1)}


def _pixel_position() -> Spec:
    """Return encodings of x and y in pixels."""
    return {"x": quantitative("x", scale=None, axis=None), "y": quantitative("y", scale=None, axis=None)}
