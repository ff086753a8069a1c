"""Charts of a ranking: items with intervals, judges by skill and side preference, observed wins of pairs."""

from typing import Any

import numpy as np
from scipy.special import ndtri

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
from quorate.ranking.ranking import Ranking

MAX_ITEMS = 60  # items in the chart of items
MAX_MATRIX_ITEMS = 25  # items in the matrix of pairs
MAX_JUDGES = 400  # judges in the chart of judges
MIN_MARKED_MISFIT = float(ndtri(0.995))  # standard deviations above which a pair is marked: 1 in 100 pairs by chance
TIER_COLOURS = ("good", "unknown")
STATUS_LOOK = {
    "identified": ("good", "circle"),
    "weakly identified": ("doubt", "diamond"),
    "uninformative": ("doubt", "square"),
    "reversed": ("bad", "triangle-down"),
    "few answers": ("unknown", "cross"),
    "not identified": ("unknown", "circle"),
}


def item_chart(ranking: Ranking) -> Spec:
    """Return the chart of items in order, with intervals; tiers alternate in colour, open bounds end in an arrow.

    >>> import quorate
    >>> votes = {"left": list("aab"), "right": list("bcc"), "winner": ["left", "left", "left"]}
    >>> len(item_chart(quorate.rank(votes))["data"]["values"])
    3
    """
    table = ranking.items.to_arrow().slice(0, MAX_ITEMS).to_pylist()
    names = short_names([row["item"] for row in table])
    finite = [row[key] for row in table for key in ("low", "high", "strength") if row[key] is not None]
    reach = max(finite) - min(finite) if finite else 1.0
    rows: list[Spec] = []
    for name, row in zip(names, table, strict=True):
        low = row["low"] if row["low"] is not None else min(finite) - 0.05 * reach
        high = row["high"] if row["high"] is not None else max(finite) + 0.05 * reach
        bounds = f"{_bound(row['low'])} to {_bound(row['high'])}"
        label = (
            f"{row['item']}: rank {row['rank']} ({row['rank_low']} to {row['rank_high']}), strength "
            f"{row['strength']:.2f} ({bounds}), tier {row['tier']}"
        )
        mark: Spec = {"item": name, "strength": row["strength"], "low": low, "high": high, "tip": label}
        mark["tier"] = "odd tier" if row["tier"] % 2 else "even tier"
        if row["low"] is None:
            mark["arrow_low"] = low
        if row["high"] is None:
            mark["arrow_high"] = high
        rows.append(mark)
    item = nominal("item", scale={"domain": list(dict.fromkeys(names))}, title=None, axis={"labelLimit": 150})
    colour = coded("tier", ["odd tier", "even tier"], [PALETTE[colour] for colour in TIER_COLOURS], legend=None)
    scale = {"zero": False, "nice": True}
    ends = {"x": quantitative("low", title="strength (log-odds)", scale=scale), "x2": {"field": "high"}, "y": item}
    layers = [
        layer("rule", {**ends, "color": colour, **hover()}, strokeWidth=2.5, opacity=0.55),
        layer(
            "point",
            {"x": quantitative("strength"), "y": item, "color": colour, **hover()},
            filled=True,
            size=75,
            opacity=1,
        ),
        _arrows("arrow_low", "triangle-left", item),
        _arrows("arrow_high", "triangle-right", item),
    ]
    return layered(layers, rows, height={"step": 20})


def _arrows(field: str, shape: str, item: Spec) -> Spec:
    arrow = layer(
        "point", {"x": quantitative(field), "y": item}, filled=True, shape=shape, size=90, color=PALETTE["faint"]
    )
    return {**arrow, "transform": [{"filter": {"field": field, "valid": True}}]}


def _bound(value: float | None) -> str:
    return "open" if value is None else f"{value:.2f}"


def judge_chart(ranking: Ranking) -> Spec:
    """Return the chart of judges by skill and preference for the left side; marks grow with the comparisons."""
    table = ranking.judges.to_arrow().to_pylist()
    table = sorted(table, key=lambda row: -float(row["comparisons"]))[:MAX_JUDGES]
    rows = []
    for row in table:
        side = row["left_bias"] if row["left_bias"] is not None else 0.0
        label = (
            f"{row['judge']}: skill {row['skill']:.2f}, preference for the left side {side:.2f}, "
            f"{row['comparisons']:,} comparisons"
        )
        rows.append({
            "judge": row["judge"], "skill": row["skill"], "side": side, "size": row["comparisons"],
            "status": row["status"], "tip": label,
        })  # fmt: skip
    present = [status for status in STATUS_LOOK if any(row["status"] == status for row in rows)]
    colours = [PALETTE[STATUS_LOOK[status][0]] for status in present]
    shapes = [STATUS_LOOK[status][1] for status in present]
    encoding: dict[str, Any] = {
        "x": quantitative("skill", title="skill (1: typical, 0: answers at random)", scale={"zero": True}),
        "y": quantitative("side", title="preference for the left side (log-odds)", scale={"zero": True}),
        "color": coded("status", present, colours, title=None),
        "shape": coded("status", present, shapes, title=None),
        "size": quantitative("size", legend=None, scale={"range": [25, 350]}),
        **hover(),
    }
    zero = layer("rule", {"x": {"datum": 0}}, color=PALETTE["faint"], strokeDash=[4, 3], aria=False)
    return layered([zero, layer("point", encoding, filled=True, opacity=0.75)], rows, height=280)


def pair_chart(ranking: Ranking) -> Spec:
    """Return the matrix of shares of wins among the leading items; an x marks pairs with a large misfit."""
    names = ranking.items["item"].to_pylist()[:MAX_MATRIX_ITEMS]
    short = dict(zip(names, short_names(names), strict=True))
    rows = []
    for pair in ranking.pairs.to_arrow().to_pylist():
        if pair["item_x"] not in short or pair["item_y"] not in short:
            continue
        observed = (pair["wins_x"] + pair["ties"] / 2) / pair["comparisons"]
        expected = pair["expected"] / pair["comparisons"]
        for x, y, share, expectation in (
            (pair["item_x"], pair["item_y"], observed, expected),
            (pair["item_y"], pair["item_x"], 1 - observed, 1 - expected),
        ):
            label = f"{x} against {y}: won {share:.0%} of {pair['comparisons']:,.0f}, expected {expectation:.0%}"
            mark: Spec = {"x": short[x], "y": short[y], "share": round(float(share), 4), "tip": label}
            if abs(pair["misfit"]) > MIN_MARKED_MISFIT:
                mark["misfit"] = "x"
            rows.append(mark)
    domain = {"domain": [short[name] for name in names]}
    axes = {
        "x": nominal("y", scale=domain, title="against", axis={"labelAngle": -60, "labelLimit": 110}),
        "y": nominal("x", scale=domain, title=None, axis={"labelLimit": 130}),
    }
    colour = quantitative(
        "share", title="won", scale={"domain": list(np.linspace(0, 1, len(AGREEMENT))), "range": list(AGREEMENT)}
    )
    colour["legend"] = None
    layers = [
        layer("rect", {**axes, "color": colour, **hover()}),
        {
            **layer("text", {**axes, "text": nominal("misfit")}, fontSize=12, color=PALETTE["ink"]),
            "transform": [{"filter": {"field": "misfit", "equal": "x"}}],
        },
    ]
    return layered(layers, rows, height={"step": 20})
