"""Three charts of a result as Vega-Lite: skills of the workers, agreement between them, confidence of the labels.

`skills_chart` has the workers by skill, each with its interval. `agreement_chart` is a map of how much more often two
workers agree than by chance. `confidence_chart` has the number of tasks by the confidence of their label.
"""

import math
from collections.abc import Sequence

import numpy as np

from quorate.arrays import distinct
from quorate.charts.vega import (
    AGREEMENT,
    PALETTE,
    WIDTH,
    Spec,
    choose_workers,
    coded,
    hover,
    layer,
    layered,
    legend,
    nominal,
    pairs_among,
    quantitative,
    short_names,
)
from quorate.diagnostics.ratings import RATINGS, ratings
from quorate.errors import count
from quorate.graph.pairs import correlations
from quorate.result import Result

MAX_NAMED_WORKERS = 40  # largest number of workers who each have a row with their name
MAX_DRAWN_WORKERS = 400  # largest number of workers who are drawn


def skills_chart(result: Result) -> Spec:
    """Return the chart of each worker's skill and interval, the most skilled first; for a large crowd, an even sample.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> len(skills_chart(result)["data"]["values"])
    5
    """
    rows = skill_rows(result)
    if len(result.skills) <= MAX_NAMED_WORKERS:
        return _chart_by_name(rows)
    return _chart_by_rank(rows, len(result.skills))


def skill_rows(result: Result) -> list[Spec]:
    """Return the rows of the chart: one per worker, best first, workers without a skill last.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 1, 2], "worker": list("abcd"), "label": list("xxyx")})
    >>> [row["worker"] for row in skill_rows(result)]
    ['a', 'b', 'c', 'd']
    """
    low = result.intervals.low
    high = result.intervals.high
    kinds = ratings(result)
    names = short_names(result.answers.worker_names.to_pylist())
    order = np.argsort(-np.where(np.isnan(result.skills), -np.inf, result.skills), kind="stable")
    chosen = distinct(np.linspace(0, len(order) - 1, min(len(order), MAX_DRAWN_WORKERS)).round().astype(int))
    rows = []
    for rank, k in zip(chosen.tolist(), order[chosen].tolist(), strict=True):
        rating = RATINGS[kinds[k]]
        has_skill = not np.isnan(result.skills[k])
        skill = rating
        if has_skill:
            skill = f"skill {result.skills[k]:.2f}"
            if not np.isnan(low[k]):
                skill += f" ({low[k]:.2f} to {high[k]:.2f})"
        tip = f"{names[k]}: {skill}, {count(int(result.answers.per_worker[k]), 'answer')}"
        row = {"worker": names[k], "rank": rank + 1, "rating": rating, "tip": tip}
        row |= {"skill": round(float(result.skills[k]), 4)} if has_skill else {"no_skill": True}
        if not np.isnan(low[k]):
            row |= {"low": round(float(low[k]), 4), "high": round(float(high[k]), 4)}
        rows.append(row)
    return rows


def _chart_by_name(rows: list[Spec]) -> Spec:
    # The order is given as the domain of the scale: as "sort" it becomes a JavaScript object, which has a key
    # `constructor` already.
    order = {"domain": list(dict.fromkeys(row["worker"] for row in rows))}
    worker = nominal("worker", scale=order, title=None, axis={"labelLimit": 130, "grid": False})
    ends = {"x": quantitative("low", title="skill", scale=_scale(rows)), "x2": {"field": "high"}, "y": worker}
    unknown = {"x": {"datum": 0}, "y": worker, "text": nominal("rating"), **hover()}
    layers = [
        _guessing("x"),
        layer("rule", {**ends, **_bars(rows)}, strokeWidth=2.5, opacity=0.55),
        layer("point", {"x": quantitative("skill"), "y": worker, **_points(rows)}, filled=True, size=75, opacity=1),
        {
            **layer("text", unknown, align="left", dx=6, fontSize=11, color=PALETTE["unknown"]),
            "transform": [{"filter": {"field": "no_skill", "equal": True}}],
        },
    ]
    return layered(layers, rows, height={"step": 20})


def _chart_by_rank(rows: list[Spec], n: int) -> Spec:
    rank = quantitative("rank", title="workers, most skilled first", scale={"domain": [0, n + 1], "nice": False})
    ends = {"y": quantitative("low", title="skill", scale=_scale(rows)), "y2": {"field": "high"}, "x": rank}
    layers = [
        _guessing("y"),
        layer("rule", {**ends, **_bars(rows)}, strokeWidth=1, opacity=0.5),
        layer("point", {"x": rank, "y": quantitative("skill"), **_points(rows)}, filled=True, size=22, opacity=1),
    ]
    return layered(layers, rows, height=300)


def _points(rows: list[Spec]) -> Spec:
    return {**legend(rows), **hover()}


def _bars(rows: list[Spec]) -> Spec:
    return {"color": legend(rows)["color"], **hover()}  # a bar has no shape


def _scale(rows: list[Spec]) -> Spec:
    lowest = min([0.0, *(row["low" if "low" in row else "skill"] for row in rows if "skill" in row)])
    return {"domain": [max(math.floor(lowest * 10) / 10, -1.0), 1.0], "nice": False}


def _guessing(channel: str) -> Spec:
    """Return a line at skill 0, which is guessing."""
    return layer("rule", {channel: {"datum": 0}}, color=PALETTE["faint"], strokeDash=[4, 3], aria=False)


MAX_MAP_WORKERS = 40  # workers in the agreement map
LEVEL_LIMITS = (-0.5, -0.25, -0.1, 0.1, 0.4, 0.7)  # correlations at which the colour changes
LEVELS = (
    "always disagree",
    "mostly disagree",
    "often disagree",
    "no better than chance",
    "often agree",
    "mostly agree",
    "always agree",
)
# Numbers of shared tasks below which a square is small, or of medium size.
FEW_SHARED_TASKS = 5
MANY_SHARED_TASKS = 20


def agreement_chart(result: Result, *, first: Sequence[int] = ()) -> Spec:
    """Return the map of agreement, a square per pair that shares tasks: blue for agreement, orange for disagreement.

    A large crowd is limited to MAX_MAP_WORKERS workers: those in ``first``, then the most active.

    Args:
        result: what was aggregated.
        first: codes of workers who are always included.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> len(agreement_chart(result)["data"]["values"])
    20
    """
    rows, order = agreement_rows(result, first=first)
    step = int(np.clip((WIDTH - 90) // max(len(order), 1), 8, 26))
    names = {
        "labelFontSize": min(step - 1, 13),
        "labelLimit": 90,
        "labelOverlap": False,
        "grid": False,
        "ticks": False,
        "domain": False,
        "title": None,
    }
    scale = {"domain": order, "paddingInner": 0, "paddingOuter": 0.5}
    upright = {**names, "orient": "top", "labelAngle": -90, "labelAlign": "left", "labelBaseline": "middle"}
    encoding = {
        "x": nominal("one", scale=scale, axis=upright),
        "y": nominal("two", scale=scale, axis=names),
        "size": quantitative("size", scale=None),
        "color": coded("level", LEVELS, AGREEMENT, legend={"columns": 2}),
        **hover(),
    }
    sized_rows = [{**row, "size": round((step * row["fill"]) ** 2, 1)} for row in rows]
    return layered([layer("square", encoding, opacity=1)], sized_rows, height={"step": step})


def agreement_rows(result: Result, *, first: Sequence[int] = ()) -> tuple[list[Spec], list[str]]:
    """Return the squares of the map, each pair twice, and the workers by component, then skill.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> rows, order = agreement_rows(result)
    >>> order, rows[0]["tip"]
    (['a', 'b', 'c'], 'a and b: the same answer on 1 of 1 shared tasks')
    """
    answers = result.answers
    skills = np.nan_to_num(result.skills, nan=-2.0)
    component = result.identifiability.component[: answers.n_workers]
    chosen = choose_workers(answers, component, MAX_MAP_WORKERS, first)
    chosen = chosen[np.lexsort([chosen, -skills[chosen], component[chosen]])]
    pairs = pairs_among(answers, chosen)
    worker_names = answers.worker_names.to_pylist()
    names = short_names([worker_names[k] for k in chosen])
    level = np.searchsorted(LEVEL_LIMITS, correlations(pairs, max(answers.n_classes, 2)), side="right")
    rows = []
    for e in np.lexsort([pairs.j, pairs.i]).tolist():
        shared = int(pairs.shared[e])
        agreed = int(pairs.agreed[e])
        fill = 0.94
        if shared < FEW_SHARED_TASKS:
            fill = 0.45
        elif shared < MANY_SHARED_TASKS:
            fill = 0.7
        one, two = (names[end[e]] for end in (pairs.i, pairs.j))
        tip = f"{one} and {two}: the same answer on {agreed:,} of {shared:,} shared tasks"
        row = {"level": LEVELS[level[e]], "fill": fill, "tip": tip}
        rows += [{"one": one, "two": two, **row}, {"one": two, "two": one, **row}]
    return rows, names


BINS = 20
SURE = 0.9  # default of the confidence below which a label needs more answers
VERDICTS = ("confident", "to review")


def confidence_rows(result: Result, confident: float = SURE) -> list[Spec]:
    """Return the number of tasks in each bin of the confidence, of width 1/BINS; empty bins are left out.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")}, "majority")
    >>> [(row["low"], row["tasks"]) for row in confidence_rows(result)]
    [(0.5, 1), (0.95, 1)]
    """
    # A share such as 0.3 may be stored as a slightly smaller number; it belongs to the bin that begins at 0.3.
    confidence = result.vote.confidence
    stated = confidence[~np.isnan(confidence)]
    bin_of_label = np.minimum(np.floor(stated * BINS + 1e-9).astype(int), BINS - 1)
    rows = []
    for k, n in enumerate(np.bincount(bin_of_label, minlength=BINS).tolist()):
        if n:
            low = round(k / BINS, 4)
            high = round((k + 1) / BINS, 4)
            verdict = VERDICTS[low < confident - 1e-9]
            tip = f"{count(n, 'task')} with confidence {low:.2f} to {high:.2f}"
            rows.append({"low": low, "high": high, "tasks": n, "verdict": verdict, "tip": tip})
    return rows


def confidence_chart(result: Result, confident: float = SURE) -> Spec:
    """Return the histogram of the confidence of the labels.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> sum(row["tasks"] for row in confidence_chart(result)["data"]["values"])
    100
    """
    rows = confidence_rows(result, confident)
    lowest = min((row["low"] for row in rows), default=0.0)
    scale = {"domain": [lowest, 1], "nice": False}
    encoding = {
        "x": quantitative("left", title="confidence of the label", scale=scale, axis={"grid": False, "format": ".0%"}),
        "x2": {"field": "right"},
        "y": quantitative("tasks", title="tasks", scale={"zero": True}),
        "y2": {"datum": 0},
        "color": coded("verdict", VERDICTS, (PALETTE["good"], PALETTE["doubt"])),
        **hover(),
    }
    gap = 0.004 * (1 - lowest)
    rows = [{**row, "left": row["low"] + gap, "right": row["high"] - gap} for row in rows]
    bars = layer("rect", encoding, cornerRadiusTopLeft=2, cornerRadiusTopRight=2)
    return layered([bars], rows, height=220)
