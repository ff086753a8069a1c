"""Workers by skill, each with the interval that the data leave open."""

import math

import numpy as np

from quorate.reporting.charts.specification import Spec, hover, layer, layered, nominal, quantitative
from quorate.reporting.charts.standing import STANDINGS, legend, short_names, standings
from quorate.reporting.charts.style import PALETTE
from quorate.result import Result

NAMED = 40  # up to so many workers, each has a line with its name
DRAWN = 400  # of more, so many are drawn


def skills_chart(result: Result) -> Spec:
    """Draw every worker's skill and interval, the most skilled first; of a large crowd, an even sample.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> len(skills_chart(result)["data"]["values"])
    5
    """
    rows = skill_rows(result)
    return _named(rows) if len(result.skills) <= NAMED else _ranked(rows, len(result.skills))


def skill_rows(result: Result) -> list[Spec]:
    """List what the chart draws: a worker a row, best first, those of no skill last.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 1, 2], "worker": list("abcd"), "label": list("xxyx")})
    >>> [row["worker"] for row in skill_rows(result)]
    ['a', 'b', 'c', 'd']
    """
    low, high = result.intervals.low, result.intervals.high
    kinds = standings(result)
    names = short_names(result.answers.worker_names.to_pylist())
    order = np.argsort(-np.where(np.isnan(result.skills), -np.inf, result.skills), kind="stable")
    chosen = np.unique(np.linspace(0, len(order) - 1, min(len(order), DRAWN)).round().astype(int))
    rows = []
    for rank, k in zip(chosen.tolist(), order[chosen].tolist(), strict=True):
        standing, is_told = STANDINGS[kinds[k]], not np.isnan(result.skills[k])
        skill = _skill_text(result.skills[k], low[k], high[k]) if is_told else standing
        told = f"{names[k]}: {skill}, {result.answers.per_worker[k]:,} answers"
        row = {"worker": names[k], "rank": rank + 1, "standing": standing, "told": told}
        row |= {"skill": round(float(result.skills[k]), 4)} if is_told else {"untold": True}
        if not np.isnan(low[k]):
            row |= {"low": round(float(low[k]), 4), "high": round(float(high[k]), 4)}
        rows.append(row)
    return rows


def _skill_text(skill: float, low: float, high: float) -> str:
    return f"skill {skill:.2f}" if np.isnan(low) else f"skill {skill:.2f} ({low:.2f} to {high:.2f})"


def _named(rows: list[Spec]) -> Spec:
    # By the scale's domain: a list to sort by becomes a JavaScript object, in which `constructor` is there already.
    order = {"domain": list(dict.fromkeys(row["worker"] for row in rows))}
    worker = nominal("worker", scale=order, title=None, axis={"labelLimit": 130, "grid": False})
    ends = {"x": quantitative("low", title="skill", scale=_scale(rows)), "x2": {"field": "high"}, "y": worker}
    unknown = {"x": {"datum": 0}, "y": worker, "text": nominal("standing")}
    layers = [
        _guessing("x"),
        layer("rule", {**ends, **_bars(rows)}, strokeWidth=2.5, opacity=0.55),
        layer("point", {"x": quantitative("skill"), "y": worker, **_points(rows)}, filled=True, size=75, opacity=1),
        {
            **layer("text", unknown, align="left", dx=6, fontSize=11, color=PALETTE["unknown"]),
            "transform": [{"filter": {"field": "untold", "equal": True}}],
        },
    ]
    return layered(layers, rows, height={"step": 20})


def _ranked(rows: list[Spec], n: int) -> Spec:
    rank = quantitative("rank", title="workers, the most skilled first", scale={"domain": [0, n + 1], "nice": False})
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
    """Draw a line where guessing is."""
    return layer("rule", {channel: {"datum": 0}}, color=PALETTE["faint"], strokeDash=[4, 3], aria=False)
