"""Ids are data in pictures: whatever they hold, a drawing stays well-formed and runs nothing."""

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

import quorate
from quorate.charts.graph import graph_chart
from quorate.charts.rating import heat_chart
from quorate.charts.result import agreement_chart, confidence_chart, skills_chart
from quorate.charts.vega import MAX_NAME_LENGTH, Spec
from quorate.reporting.svg import to_svg

NAMES = (
    "<script>alert(1)</script>",
    "]]></svg><svg onload=alert(1)>",
    '" onmouseover="alert(1)',
    "&lt;b&gt; &amp; 'quoted'",
    "datum.x; now()",
    "\x1b]0;title\x07",
    "a\u202eb\u0000c",
)


@pytest.fixture(scope="module")
def result() -> quorate.Result:
    rows = [(task, worker, "yes" if (task + k) % 3 else "no") for task in range(40) for k, worker in enumerate(NAMES)]
    tasks, workers, labels = zip(*rows, strict=True)
    names = [f"<img src=x onerror=alert({task})>" for task in tasks]
    shown = [f"<b onclick=x>{label}" for label in labels]
    return quorate.aggregate({"task": names, "worker": list(workers), "label": shown})


@pytest.mark.parametrize("draw", [skills_chart, graph_chart, agreement_chart, confidence_chart])
def test_names_stay_text_in_drawings(result: quorate.Result, draw: Callable[[quorate.Result], Spec]) -> None:
    svg = to_svg(draw(result), "<script>label</script>")
    root = ElementTree.fromstring(svg)  # well-formed, or this raises
    tags = {element.tag for element in root.iter()}
    assert tags <= {"svg", "g", "path", "text", "line", "rect", "tspan", "defs", "clipPath"}
    assert not [name for element in root.iter() for name in element.attrib if name.lower().startswith("on")]
    assert "<script" not in svg
    assert root.get("aria-label") == "<script>label</script>"
    if draw is skills_chart:
        assert any(NAMES[0] in (element.get("data-tip") or "") for element in root.iter())


def test_names_of_raters_fit_the_map_of_their_errors() -> None:
    names = ["\u202e" * 40, "a" * 2000, "a" * 1999 + "b", *"cdefgh"]
    rows = [(task, name, (task * 7 + k * task) % 11) for task in range(20) for k, name in enumerate(names)]
    tasks, workers, scores = zip(*rows, strict=True)
    chart = heat_chart(quorate.rate({"task": list(tasks), "worker": list(workers), "score": list(scores)}))
    assert chart is not None
    shown = chart["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert len(set(shown)) == len(names)
    assert all(name.isprintable() and len(name) <= MAX_NAME_LENGTH + len(" (2)") for name in shown)
