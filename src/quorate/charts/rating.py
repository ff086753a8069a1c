"""Charts of a rating: scores with intervals, the lines of the raters, raters needed, correlations of errors."""

import numpy as np

from quorate.arrays import IntArray
from quorate.charts.vega import (
    AGREEMENT,
    PALETTE,
    Spec,
    coded,
    hover,
    layer,
    layered,
    nominal,
    quantitative,
    short_names,
)
from quorate.errors import count
from quorate.rating.rating import (
    FEW_ANSWERS,
    IDENTIFIED,
    NOT_IDENTIFIED,
    REVERSED,
    STATUSES,
    UNINFORMATIVE,
    WEAKLY_IDENTIFIED,
    Rating,
)

MAX_SCORES = 300  # tasks that are drawn, evenly spaced by rank of score
MAX_LINES = 60  # raters that are drawn, those with the most answers
MAX_HEAT_RATERS = 40  # raters in the map of correlations
RELIABILITIES = tuple(round(0.5 + 0.01 * k, 2) for k in range(47))
STATUS_COLOURS = {
    IDENTIFIED: PALETTE["good"],
    WEAKLY_IDENTIFIED: PALETTE["doubt"],
    NOT_IDENTIFIED: PALETTE["unknown"],
    FEW_ANSWERS: PALETTE["unknown"],
    UNINFORMATIVE: PALETTE["bad"],
    REVERSED: PALETTE["copy"],
}


def scores_chart(rating: Rating) -> Spec:
    """Return the chart of scores in ascending order with their intervals; plain means are hollow dots."""
    tasks = rating.tasks
    rated = np.flatnonzero(tasks.n_answers > 0)
    order = rated[np.argsort(tasks.score[rated], kind="stable")]
    chosen = np.unique(np.linspace(0, len(order) - 1, min(len(order), MAX_SCORES)).round().astype(int))
    rows = []
    for rank, k in zip(chosen.tolist(), order[chosen].tolist(), strict=True):
        name = rating.task_ids[k].as_py()
        tip = (
            f"{name}: {tasks.score[k]:.3g} ({tasks.low[k]:.3g} to {tasks.high[k]:.3g}), mean {tasks.mean[k]:.3g}, "
            f"{count(int(tasks.n_answers[k]), 'answer')}"
        )
        rows.append(
            {
                "rank": rank + 1,
                "score": float(tasks.score[k]),
                "low": float(tasks.low[k]),
                "high": float(tasks.high[k]),
                "mean": float(tasks.mean[k]),
                "tip": tip,
            }
        )
    rank = quantitative("rank", title="tasks, the lowest score first", scale={"nice": False})
    free = {"zero": False}
    ends = {"x": rank, "y": quantitative("low", title="score", scale=free), "y2": {"field": "high"}}
    layers = [
        layer("rule", {**ends, **hover()}, color=PALETTE["good"], strokeWidth=1.5, opacity=0.45),
        layer("point", {"x": rank, "y": quantitative("mean")}, color=PALETTE["faint"], size=12, opacity=0.7),
        layer("point", {"x": rank, "y": quantitative("score"), **hover()}, color=PALETTE["good"], filled=True, size=20),
    ]
    return layered(layers, rows, height=280)


def lines_chart(rating: Rating) -> Spec:
    """Return the chart of each rater's answer by score of the task: bias and scale as a line, noise as its width."""
    raters = rating.raters
    order = np.lexsort([np.arange(len(raters.n_answers)), -raters.n_answers])[:MAX_LINES]
    rated = rating.tasks.n_answers > 0
    ends = np.array([rating.tasks.panel_score[rated].min(), rating.tasks.panel_score[rated].max()])
    typical = float(np.median(raters.noise[order]))
    rows = []
    for k in order.tolist():
        status = STATUSES[raters.status[k]]
        name = str(rating.worker_ids[k].as_py())
        tip = f"{name}: bias {raters.bias[k]:.2g}, scale {raters.scale[k]:.2f}, noise {raters.noise[k]:.2g}, {status}"
        for x in ends:
            answer = rating.intercept[k] + raters.scale[k] * x
            width = float(np.clip(2 * raters.noise[k] / max(typical, 1e-12), 0.6, 6))
            rows.append(
                {
                    "rater": name,
                    "score": float(x),
                    "answer": float(answer),
                    "status": status,
                    "width": width,
                    "tip": tip,
                }
            )
    present = [status for status in STATUSES if any(row["status"] == status for row in rows)]
    colour = coded("status", present, [STATUS_COLOURS[status] for status in present], title=None)
    free = {"zero": False, "nice": False}
    encoding = {
        "x": quantitative("score", title="score of the task", scale=free),
        "y": quantitative("answer", title="answer of the rater", scale={"zero": False}),
        "detail": nominal("rater"),
        "color": colour,
        "strokeWidth": quantitative("width", scale=None, legend=None),
        **hover(),
    }
    return layered([layer("line", encoding, opacity=0.45)], rows, height=280)


def needed_chart(rating: Rating) -> Spec:
    """Return the chart of the raters needed per task for each reliability."""
    rows = []
    for target in RELIABILITIES:
        needed = rating.reliability.raters_needed(target)
        if needed is not None:
            rows.append({"reliability": target, "raters": needed})
    x = quantitative("reliability", title="reliability of the score", scale={"zero": False, "nice": False})
    y = quantitative("raters", title="raters per task", scale={"type": "symlog"})
    layers = [
        layer("line", {"x": x, "y": y}, color=PALETTE["good"], interpolate="step-before"),
        layer("rule", {"y": {"datum": rating.reliability.k}}, color=PALETTE["faint"], strokeDash=[4, 3], aria=False),
    ]
    return layered(layers, rows, height=220)


def heat_chart(rating: Rating) -> Spec | None:
    """Return the map of correlations of residuals, raters by group; None if no pair shares enough tasks."""
    shared = rating.shared
    if shared.correlation is None or shared.raters is None:
        return None
    raters: IntArray = shared.raters
    most = np.argsort(-rating.raters.n_answers[raters], kind="stable")[:MAX_HEAT_RATERS]
    group = np.zeros(len(raters), np.int64) if rating.raters.group is None else rating.raters.group[raters]
    order = most[np.lexsort([most, group[most]])]
    names = short_names([rating.worker_ids[int(raters[k])].as_py() for k in order])
    rows = []
    for one, i in zip(names, order.tolist(), strict=True):
        for two, j in zip(names, order.tolist(), strict=True):
            value = shared.correlation[i, j]
            if i != j and np.isfinite(value):
                tip = f"{one} and {two}: {value:.2f}"
                rows.append({"one": one, "two": two, "correlation": float(np.clip(value, -1, 1)), "tip": tip})
    if not rows:
        return None
    axis = {"labelLimit": 90, "grid": False}
    encoding = {
        "x": nominal("two", title=None, scale={"domain": names}, axis={**axis, "labelAngle": -60}),
        "y": nominal("one", title=None, scale={"domain": names}, axis=axis),
        "color": quantitative("correlation", scale={"domain": [-1, 1], "range": list(AGREEMENT)}, title=None),
        **hover(),
    }
    return layered([layer("rect", encoding)], rows, height={"step": 14})
