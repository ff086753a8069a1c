"""The interaction graph: who shared tasks with whom, and which components cannot be judged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.arrays import BoolArray, IntArray
from quorate.meetings.pairs import PairStats
from quorate.reporting.charts.layout import Layout, place
from quorate.reporting.charts.sample import choose_workers, pairs_among, strongest
from quorate.reporting.charts.specification import Spec, canvas, hover, layer, quantitative
from quorate.reporting.charts.standing import STANDINGS, legend, short_names, standings
from quorate.reporting.charts.style import PALETTE, WIDTH
from quorate.result import Result

MOST_WORKERS = 120
MOST_EDGES = 900
HIGHEST = 380  # pixels


def graph_chart(result: Result, *, copying: Sequence[tuple[int, int]] = ()) -> Spec:
    """Draw workers and the tasks they share; of a large crowd, the most active of each component.

    Args:
        result: what was aggregated.
        copying: pairs of workers, by code, to mark.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> graph_chart(result)["width"]
    420
    """
    answers, verdict = result.answers, result.identifiability
    component = verdict.component[: answers.n_workers]
    chosen = choose_workers(answers, component, MOST_WORKERS, [code for pair in copying for code in pair])
    met = pairs_among(answers, chosen)
    drawn = strongest(met, len(chosen), MOST_EDGES)
    numbers, own = np.unique(component[chosen], return_inverse=True)
    pull = np.sqrt(met.shared[drawn].astype(np.float64))
    layout, height = place(own, met.i[drawn], met.j[drawn], pull).fitted(WIDTH, HIGHEST)

    names = short_names(answers.worker_names.to_pylist())
    alone = np.bincount(own) == 1
    layers = [
        _discs(layout, numbers, result.identifiability.identifiable[numbers], alone),
        *_edges(layout, met, drawn, chosen, names, copying),
        _nodes(layout, result, chosen, names),
    ]
    return {**canvas(layers, height=height), "resolve": {"scale": {"color": "independent", "shape": "independent"}}}


def _discs(layout: Layout, numbers: IntArray, identifiable: BoolArray, alone: BoolArray) -> Spec:
    """Draw a disc behind each component; a dashed ring where it cannot be judged."""
    rows = [
        {
            **_at(layout.centre[k]),
            "size": round(float((2 * layout.radius[k]) ** 2), 1),
            "identifiable": bool(identifiable[k]),
            "told": f"component {numbers[k]}: {_verdict(bool(identifiable[k]), bool(alone[k]))}",
        }
        for k in range(len(numbers))
    ]
    encoding = {
        **_place(),
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
        return "skills can be told"
    return "shares no task with anyone" if alone else "bipartite, so skills cannot be told"


def _edges(
    layout: Layout,
    met: PairStats,
    drawn: IntArray,
    chosen: IntArray,
    names: Sequence[str],
    copying: Sequence[tuple[int, int]],
) -> list[Spec]:
    """Draw a line for each pair that shares tasks, the thicker the more; those who may copy stand out."""
    marked = {frozenset(pair) for pair in copying}
    plain: list[Spec] = []
    bold: list[Spec] = []
    most = np.sqrt(met.shared[drawn].max(initial=1))
    for e in drawn.tolist():
        one, two = (int(chosen[end[e]]) for end in (met.i, met.j))
        is_marked = frozenset((one, two)) in marked
        told = f"{names[one]} and {names[two]}: alike on {met.agreed[e]:,} of {met.shared[e]:,} shared tasks"
        row: Spec = {**_at(layout.at[met.i[e]]), **_at(layout.at[met.j[e]], "x2", "y2")}
        row |= {
            "width": round(float(0.4 + 2 * np.sqrt(met.shared[e]) / most), 2),
            "told": told + ("; they agree beyond their skills" if is_marked else ""),
        }
        (bold if is_marked else plain).append(row)
    ends = {**_place(), "x2": {"field": "x2"}, "y2": {"field": "y2"}, **hover()}
    by_shared = {**ends, "strokeWidth": quantitative("width", scale=None)}
    opacity = round(min(max(100 / max(len(plain), 1), 0.12), 0.6), 2)
    return [
        *([layer("rule", by_shared, plain, color=PALETTE["unknown"], opacity=opacity)] if plain else []),
        *([layer("rule", ends, bold, color=PALETTE["copy"], strokeWidth=4)] if bold else []),
    ]


def _nodes(layout: Layout, result: Result, chosen: IntArray, names: Sequence[str]) -> Spec:
    """Draw each worker: colour and shape by standing, size by answers."""
    n_answers = result.answers.per_worker
    kinds = standings(result)
    rows = []
    for place_in, k in enumerate(chosen.tolist()):
        skill = result.skills[k]
        known = STANDINGS[kinds[k]] if np.isnan(skill) else f"skill {skill:.2f}"
        rows.append(
            {
                **_at(layout.at[place_in]),
                "standing": STANDINGS[kinds[k]],
                "size": round(float(30 + 170 * np.sqrt(n_answers[k] / n_answers.max())), 1),
                "told": f"{names[k]}: {known}, {n_answers[k]:,} answers",
            }
        )
    encoding = {**_place(), "size": quantitative("size", scale=None), **legend(rows), **hover()}
    return layer("point", encoding, rows, filled=True, opacity=1, stroke="white", strokeWidth=1)


def _at(point: Any, x: str = "x", y: str = "y") -> dict[str, float]:
    return {x: round(float(point[0]), 1), y: round(float(point[1]), 1)}


def _place() -> Spec:
    """Take x and y as pixels."""
    return {"x": quantitative("x", scale=None, axis=None), "y": quantitative("y", scale=None, axis=None)}
