"""How sure the labels are: tasks counted by the confidence of their label."""

from typing import Any

import numpy as np

from quorate.errors import count
from quorate.reporting.charts.style import PALETTE, altair, layered
from quorate.result import Result

BINS = 20
SURE = 0.9  # a label less sure than this needs more answers


def confidence_rows(result: Result, sure: float = SURE) -> list[dict[str, Any]]:
    """Count the tasks in each twentieth of the confidence.

    >>> import quorate
    >>> result = quorate.majority_vote({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")})
    >>> [(row["low"], row["tasks"]) for row in confidence_rows(result)]
    [(0.5, 1), (0.95, 1)]
    """
    # A share such as 0.3 may be stored a hair below it; it belongs to the bar that it begins.
    place = np.minimum(np.floor(result.ballot.confidence * BINS + 1e-9).astype(int), BINS - 1)
    rows = []
    for k, n in enumerate(np.bincount(place, minlength=BINS).tolist()):
        if n:
            low, high = round(k / BINS, 4), round((k + 1) / BINS, 4)
            verdict = "sure enough" if low >= sure - 1e-9 else "needs more answers"
            told = f"{count(n, 'task')} with confidence {low:.2f} to {high:.2f}"
            rows.append({"low": low, "high": high, "tasks": n, "verdict": verdict, "told": told})
    return rows


def confidence_chart(result: Result, sure: float = SURE) -> Any:
    """Draw how many tasks have which confidence.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> sum(row["tasks"] for row in confidence_chart(result).data.values)
    100
    """
    alt = altair()
    rows = confidence_rows(result, sure)
    lowest = min(row["low"] for row in rows)
    domain = ["sure enough", "needs more answers"]
    colour = alt.Color(
        "verdict:N", scale=alt.Scale(domain=domain, range=[PALETTE["good"], PALETTE["doubt"]]), sort=domain
    )
    scale = alt.Scale(domain=[lowest, 1], nice=False)
    bars = (
        alt.Chart()
        .mark_rect(cornerRadiusTopLeft=2, cornerRadiusTopRight=2)
        .encode(
            x=alt.X("left:Q", title="confidence of the label", scale=scale, axis=alt.Axis(grid=False, format=".0%")),
            x2="right:Q",
            y=alt.Y("tasks:Q", title="tasks", scale=alt.Scale(zero=True)),
            y2=alt.datum(0),
            color=colour,
            description=alt.Description("told:N"),
            tooltip=alt.Tooltip("told:N", title=" "),
        )
    )
    gap = 0.004 * (1 - lowest)
    rows = [{**row, "left": row["low"] + gap, "right": row["high"] - gap} for row in rows]
    return layered([bars], rows, height=220)
