"""How sure the labels are: tasks counted by the confidence of their label."""

import numpy as np

from quorate.errors import count
from quorate.reporting.charts.specification import Spec, coded, hover, layer, layered, quantitative
from quorate.reporting.charts.style import PALETTE
from quorate.result import Result

BINS = 20
SURE = 0.9  # a label less sure than this needs more answers
VERDICTS = ("sure enough", "needs more answers")


def confidence_rows(result: Result, sure: float = SURE) -> list[Spec]:
    """Count the tasks in each twentieth of the confidence; those without one are not counted.

    >>> import quorate
    >>> result = quorate.majority_vote({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")})
    >>> [(row["low"], row["tasks"]) for row in confidence_rows(result)]
    [(0.5, 1), (0.95, 1)]
    """
    # A share such as 0.3 may be stored a hair below it; it belongs to the bar that it begins.
    confidence = result.ballot.confidence
    stated = confidence[~np.isnan(confidence)]
    place = np.minimum(np.floor(stated * BINS + 1e-9).astype(int), BINS - 1)
    rows = []
    for k, n in enumerate(np.bincount(place, minlength=BINS).tolist()):
        if n:
            low, high = round(k / BINS, 4), round((k + 1) / BINS, 4)
            verdict = VERDICTS[low < sure - 1e-9]
            told = f"{count(n, 'task')} with confidence {low:.2f} to {high:.2f}"
            rows.append({"low": low, "high": high, "tasks": n, "verdict": verdict, "told": told})
    return rows


def confidence_chart(result: Result, sure: float = SURE) -> Spec:
    """Draw how many tasks have which confidence.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> sum(row["tasks"] for row in confidence_chart(result)["data"]["values"])
    100
    """
    rows = confidence_rows(result, sure)
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
