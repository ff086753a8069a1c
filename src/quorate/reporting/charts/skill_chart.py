"""Workers by skill, each with the interval that the data leave open."""

from typing import Any

import numpy as np

from quorate.reporting.charts.standing import STANDINGS, legend, short_names, standings
from quorate.reporting.charts.style import PALETTE, altair, layered
from quorate.result import Result

NAMED = 40  # up to so many workers, each has a line with its name
DRAWN = 400  # of more, so many are drawn


def skills_chart(result: Result) -> Any:
    """Draw every worker's skill and interval, the most skilled first; of a large crowd, an even sample.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> len(skills_chart(result).data.values)
    5
    """
    rows = skill_rows(result)
    return _named(rows) if len(result.skills) <= NAMED else _ranked(rows, len(result.skills))


def skill_rows(result: Result) -> list[dict[str, Any]]:
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


def _named(rows: list[dict[str, Any]]) -> Any:
    alt = altair()
    # By the scale's domain: a list to sort by becomes a JavaScript object, in which `constructor` is there already.
    order = alt.Scale(domain=list(dict.fromkeys(row["worker"] for row in rows)))
    worker = alt.Y("worker:N", scale=order, title=None, axis=alt.Axis(labelLimit=130, grid=False))
    ends = {"x": alt.X("low:Q", title="skill", scale=_scale(rows)), "x2": "high:Q", "y": worker}
    unknown = (
        alt.Chart()
        .mark_text(align="left", dx=6, fontSize=11, color=PALETTE["unknown"])
        .encode(x=alt.datum(0), y=worker, text="standing:N")
        .transform_filter(alt.FieldEqualPredicate(field="untold", equal=True))
    )
    layers = [
        _guessing("x"),
        alt.Chart().mark_rule(strokeWidth=2.5, opacity=0.55).encode(**ends, **_marks(rows, shape=False)),
        alt.Chart().mark_point(filled=True, size=75, opacity=1).encode(x="skill:Q", y=worker, **_marks(rows)),
        unknown,
    ]
    return layered(layers, rows, height={"step": 20})


def _ranked(rows: list[dict[str, Any]], n: int) -> Any:
    alt = altair()
    rank = alt.X("rank:Q", title="workers, the most skilled first", scale=alt.Scale(domain=[0, n + 1], nice=False))
    ends = {"y": alt.Y("low:Q", title="skill", scale=_scale(rows)), "y2": "high:Q", "x": rank}
    layers = [
        _guessing("y"),
        alt.Chart().mark_rule(strokeWidth=1, opacity=0.5).encode(**ends, **_marks(rows, shape=False)),
        alt.Chart().mark_point(filled=True, size=22, opacity=1).encode(x=rank, y="skill:Q", **_marks(rows)),
    ]
    return layered(layers, rows, height=300)


def _marks(rows: list[dict[str, Any]], *, shape: bool = True) -> dict[str, Any]:
    alt, encoding = altair(), legend(rows)
    if not shape:
        del encoding["shape"]
    return encoding | {"description": alt.Description("told:N"), "tooltip": alt.Tooltip("told:N", title=" ")}


def _scale(rows: list[dict[str, Any]]) -> Any:
    lowest = min([0.0, *(row.get("low", row["skill"]) for row in rows if "skill" in row)])
    return altair().Scale(domain=[max(np.floor(lowest * 10) / 10, -1.0), 1.0], nice=False)


def _guessing(channel: str) -> Any:
    """Draw a line where guessing is."""
    alt = altair()
    return (
        alt.Chart().mark_rule(color=PALETTE["faint"], strokeDash=[4, 3], aria=False).encode(**{channel: alt.datum(0)})
    )
