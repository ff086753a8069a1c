"""The map of agreement: for each two workers, how much more alike they answered than chance."""

from collections.abc import Sequence

import numpy as np

from quorate.meetings.pairs import correlations
from quorate.reporting.charts.sample import choose_workers, pairs_among
from quorate.reporting.charts.specification import Spec, coded, hover, layer, layered, nominal, quantitative
from quorate.reporting.charts.standing import short_names
from quorate.reporting.charts.style import AGREEMENT, WIDTH
from quorate.result import Result

MOST_IN_MAP = 40  # workers
STEPS = (-0.5, -0.25, -0.1, 0.1, 0.4, 0.7)  # of the correlation, between the colours
LEVELS = (
    "opposite",
    "mostly opposite",
    "rather opposite",
    "as by chance",
    "rather alike",
    "mostly alike",
    "alike",
)
FEW, MANY = 5, 20  # shared tasks below which a square is small, or middling


def agreement_chart(result: Result, *, first: Sequence[int] = ()) -> Spec:
    """Draw a square for each two workers who share tasks: blue where alike, orange where opposite.

    Of a large crowd, the forty most active and those named first.

    Args:
        result: what was aggregated.
        first: workers, by code, who must be there.

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
    encoding = {
        "x": nominal("one", scale=scale, axis=None),
        "y": nominal("two", scale=scale, axis=names),
        "size": quantitative("size", scale=None),
        "color": coded("level", LEVELS, AGREEMENT, legend={"columns": 2}),
        **hover(),
    }
    filled = [{**row, "size": round((step * row["fill"]) ** 2, 1)} for row in rows]
    return layered([layer("square", encoding, opacity=1)], filled, height={"step": step})


def agreement_rows(result: Result, *, first: Sequence[int] = ()) -> tuple[list[Spec], list[str]]:
    """List the squares of the map, each pair twice, and the workers in the order of their skill.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> rows, order = agreement_rows(result)
    >>> order, rows[0]["told"]
    (['a', 'b', 'c'], 'a and b: alike on 1 of 1 shared tasks')
    """
    answers, skills = result.answers, np.nan_to_num(result.skills, nan=-2.0)
    component = result.identifiability.component[: answers.n_workers]
    chosen = choose_workers(answers, component, MOST_IN_MAP, first)
    chosen = chosen[np.lexsort([chosen, -skills[chosen], component[chosen]])]
    met = pairs_among(answers, chosen)
    everyone = answers.worker_names.to_pylist()
    names = short_names([everyone[k] for k in chosen])
    level = np.searchsorted(STEPS, correlations(met, max(answers.n_classes, 2)), side="right")
    rows = []
    for e in np.lexsort([met.j, met.i]).tolist():
        shared, agreed = int(met.shared[e]), int(met.agreed[e])
        fill = 0.45 if shared < FEW else 0.7 if shared < MANY else 0.94
        one, two = (names[end[e]] for end in (met.i, met.j))
        told = f"{one} and {two}: alike on {agreed:,} of {shared:,} shared tasks"
        row = {"level": LEVELS[level[e]], "fill": fill, "told": told}
        rows += [{"one": one, "two": two, **row}, {"one": two, "two": one, **row}]
    return rows, names
