"""`result.plot`, and the HTML view of a result in a notebook: tables and small charts without other packages."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from quorate.charts.graph import graph_chart
from quorate.charts.result import SURE, agreement_chart, confidence_chart, confidence_rows, skills_chart
from quorate.charts.vega import COLOURS, PALETTE, Spec, short_names
from quorate.diagnostics.ratings import RATINGS, ratings
from quorate.errors import not_installed, visible
from quorate.io.arguments import check_arguments
from quorate.result import Result


@dataclass(frozen=True)
class Plots:
    """Charts of a result; every method returns an altair chart, which a notebook displays and `.save` writes.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> type(Plots(result).skills()).__name__
    'LayerChart'
    """

    result: Result

    def skills(self) -> Any:
        """Return the chart of each worker's skill with its interval, the most skilled first."""
        return _altair(skills_chart(self.result))

    def graph(self, *, copying: Sequence[tuple[int, int]] = ()) -> Any:
        """Return the chart of the interaction graph by component; pairs of codes in ``copying`` are marked."""
        return _altair(graph_chart(self.result, copying=copying))

    def agreement(self) -> Any:
        """Return the map of agreement between each two workers."""
        return _altair(agreement_chart(self.result))

    @check_arguments
    def confidence(self, *, confident: float = SURE) -> Any:
        """Return the histogram of the confidence of the labels; labels below ``confident`` need more answers."""
        return _altair(confidence_chart(self.result, confident))


def _altair(chart: Spec) -> Any:
    """Return a specification as an altair chart."""
    alt = _library()

    def made(kind: Any, part: Spec) -> Any:
        """Return the part as an altair object, to which the rows are added as a whole."""
        around = kind.from_dict({**part, "data": {"values": []}})
        around.data = alt.Data(values=Rows(part["data"]["values"])) if "data" in part else alt.Undefined
        return around

    layers = [made(alt.Chart, layer) for layer in chart["layer"]]
    layered = made(alt.LayerChart, {**chart, "layer": []})
    layered.layer = layers
    object.__setattr__(layered, "__class__", _offline_chart())  # altair's own setattr would change the specification
    return layered


@cache
def _offline_chart() -> Any:
    """Return a subclass of altair's LayerChart that notebooks show as SVG, without a network.

    Altair's own view loads JavaScript from a server.
    """
    alt = _library()

    class LayerChart(alt.LayerChart):  # type: ignore[misc, name-defined]  # altair is known at run time
        """A chart with layers that notebooks show as SVG."""

        def _repr_mimebundle_(self, *include: Any, **exclude: Any) -> Any:
            try:
                import vl_convert
            except ImportError:
                return super()._repr_mimebundle_(*include, **exclude)
            return {"image/svg+xml": vl_convert.vegalite_to_svg(self.to_dict()), "text/plain": "<LayerChart>"}

    return LayerChart


def _library() -> Any:
    try:
        import altair
    except ImportError:
        raise not_installed("a chart", "altair", "[report]") from None
    return altair


class Rows(Sequence[Spec]):
    """The rows of a chart as one object: altair copies lists and dictionaries field by field at every step.

    >>> import altair
    >>> altair.Chart(altair.Data(values=Rows([{"x": 1}]))).mark_point().to_dict()["data"]
    {'values': [{'x': 1}]}
    """

    _schema: ClassVar[dict[str, str]] = {"type": "array"}  # altair recognises its own objects by this attribute

    def __init__(self, rows: Sequence[Spec]) -> None:
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def to_dict(self, *_: Any, **__: Any) -> list[Spec]:
        """Return the rows unchanged."""
        return self.rows


MAX_LISTED = 12  # largest number of workers, and of tasks
STYLE = (
    ".quorate table{border-collapse:collapse;font-variant-numeric:tabular-nums;display:inline-table;margin:0 2em 1em 0;"
    "vertical-align:top}.quorate td,.quorate th{padding:.15em .6em;text-align:left}"
    ".quorate caption{text-align:left;font-weight:600;padding:.3em 0}.quorate p{margin:.3em 0}"
)


def result_html(result: Result) -> str:
    """Return a result as HTML: warnings, the workers by skill, the distribution of confidence, the least certain tasks.

    >>> import quorate
    >>> answers = {"task": [1, 1, 1], "worker": ["<b>", "bob", "eve"], "label": list("xxy")}
    >>> html = result_html(quorate.aggregate(answers, "majority"))
    >>> "<b>" in html, "&lt;b&gt;" in html
    (False, True)
    """
    lines = "".join(f"<p>{as_text(line)}</p>" for line in result.summary().splitlines())
    return (
        f"<div class='quorate'><style>{STYLE}</style>{lines}"
        f"{_workers(result)}{_confidence(result)}{_doubtful(result)}</div>"
    )


def _workers(result: Result) -> str:
    """Return a table of the most and the least skilled workers, each with a drawing of its interval."""
    answers = result.answers
    intervals = result.intervals
    order = np.argsort(-np.where(np.isnan(result.skills), -np.inf, result.skills), kind="stable")
    half = MAX_LISTED // 2
    shown = order if len(order) <= MAX_LISTED else np.concatenate([order[:half], order[-half:]])
    kinds = ratings(result)
    worker_names = answers.worker_names.to_pylist()
    names = short_names([worker_names[k] for k in shown])
    rows = []
    for name, k in zip(names, shown.tolist(), strict=True):
        skill = "–" if np.isnan(result.skills[k]) else f"{result.skills[k]:.2f}"
        bar = _interval(result.skills[k], intervals.low[k], intervals.high[k], COLOURS[kinds[k]])
        cells = [as_text(name), skill, bar, f"{answers.per_worker[k]:,}", as_text(RATINGS[kinds[k]])]
        rows.append(cells)
    title = "Workers" if len(order) <= MAX_LISTED else f"Workers: best and worst of {len(order):,}"
    return _table(title, ["worker", "skill", "", "answers", "rating"], rows)


def _interval(skill: float, low: float, high: float, colour: str) -> str:
    """Return a drawing of a skill and its interval on a line from -1 to 1."""
    if np.isnan(skill):
        return ""
    low, high = (skill, skill) if np.isnan(low) else (low, high)
    left, right, dot = (50 + 50 * value for value in (low, high, skill))
    return (
        "<svg width='104' height='12' viewBox='-2 0 104 12' aria-hidden='true'>"
        f"<path d='M0 6H100M50 2V10' stroke='{PALETTE['line']}'/>"
        f"<path d='M{left:.1f} 6H{right:.1f}' stroke='{colour}' stroke-width='3' opacity='.6'/>"
        f"<circle cx='{dot:.1f}' cy='6' r='3.5' fill='{colour}'/></svg>"
    )


def _confidence(result: Result) -> str:
    """Return a table with the histogram of the confidence."""
    rows = confidence_rows(result)
    most = max((row["tasks"] for row in rows), default=0)
    cells = []
    for row in rows:
        colour = PALETTE["good" if row["low"] >= SURE - 1e-9 else "doubt"]
        width = max(round(100 * row["tasks"] / most), 1)
        bar = (
            f"<svg width='100' height='10' aria-hidden='true'><rect width='{width}' height='10' fill='{colour}'/></svg>"
        )
        cells.append([f"{row['low']:.2f}–{row['high']:.2f}", bar, f"{row['tasks']:,}"])
    return _table("Confidence of the labels", ["confidence", "", "tasks"], cells)


def _doubtful(result: Result) -> str:
    """Return a table of the tasks with the least certain labels."""
    task_vote = result.vote
    order = np.argsort(task_vote.confidence, kind="stable")[:MAX_LISTED]
    tasks = result.answers.task_names.to_pylist()
    classes = result.answers.classes.to_pylist()
    rows = []
    for k, confidence in zip(order.tolist(), task_vote.confidence[order].tolist(), strict=True):
        label = "–" if task_vote.label[k] < 0 else str(classes[task_vote.label[k]])[:60]
        rows.append([as_text(str(tasks[k])[:60]), as_text(label), "–" if np.isnan(confidence) else f"{confidence:.2f}"])
    return _table("Least certain labels", ["task", "label", "confidence"], rows)


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are already HTML."""
    head = "".join(f"<th scope='col'>{column}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{as_text(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def as_text(text: str) -> str:
    """Return a text escaped for HTML, with control characters made visible.

    >>> as_text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(visible(text))
