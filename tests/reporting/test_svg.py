"""Drawings of a page: marks lie where their figures belong, labels are legible, and colours are those of the page."""

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import quorate
from quorate.charts.result import agreement_chart, confidence_chart, skills_chart
from quorate.charts.vega import AGREEMENT, PALETTE, layer, layered, nominal, quantitative
from quorate.reporting.svg import text_width, ticks, to_svg

HEIGHT = 200


@pytest.fixture(scope="module")
def result() -> quorate.Result:
    return quorate.aggregate(quorate.simulate.crowd(300, 9, 4, seed=2).answers)


def elements(svg: str, name: str) -> list[ElementTree.Element]:
    return [element for element in ElementTree.fromstring(svg).iter() if element.tag == name]


def offset(element: ElementTree.Element) -> tuple[float, float]:
    match = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", element.get("transform", ""))
    assert match is not None
    return float(match[1]), float(match[2])


def drawn(mark: str, rows: list[dict[str, Any]], **look: Any) -> str:
    encoding = {"x": quantitative("a", title="a"), "y": quantitative("b", title="b")}
    return to_svg(layered([layer(mark, encoding, **look)], rows, height=HEIGHT), "a chart")


def test_positions_are_linear_in_the_figures_and_y_points_up() -> None:
    rows = [{"a": a, "b": b} for a, b in ((0, 0), (5, 5), (10, 10))]
    marks = [offset(element) for element in elements(drawn("point", rows, filled=True), "path")]
    left, middle, right = marks
    assert middle[0] == pytest.approx((left[0] + right[0]) / 2, abs=0.02)
    assert left[0] < right[0]
    assert (left[1], middle[1], right[1]) == (HEIGHT, HEIGHT / 2, 0)


def test_a_row_without_a_figure_has_no_mark() -> None:
    assert len(elements(drawn("point", [{"a": 1, "b": 2}, {"a": 3}]), "path")) == 1


def test_workers_stand_in_the_order_of_their_skill_beside_their_name(result: quorate.Result) -> None:
    svg = to_svg(skills_chart(result), "skills")
    marks = [element for element in elements(svg, "path") if element.get("data-tip")]
    lefts = [offset(element)[0] for element in marks]
    assert lefts == sorted(lefts, reverse=True)
    names = {element.text: offset(element)[1] for element in elements(svg, "text")}
    for mark in marks:
        name = str(mark.get("data-tip")).split(":", 1)[0]
        assert abs(names[name] - offset(mark)[1]) < 6


def test_workers_without_a_skill_have_a_description() -> None:
    result = quorate.aggregate({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    tips = [element.get("data-tip") for element in elements(to_svg(skills_chart(result), "skills"), "text")]
    assert {"a: too few answers, 2 answers", "b: too few answers, 1 answer"} <= set(tips)


def test_bars_begin_at_zero_and_are_as_high_as_their_counts(result: quorate.Result) -> None:
    chart = confidence_chart(result)
    bars = elements(to_svg(chart, "confidence"), "rect")
    counts = np.array([row["tasks"] for row in chart["data"]["values"]])
    heights = np.array([float(bar.get("height", "")) for bar in bars])
    np.testing.assert_allclose(heights / heights.max(), counts / counts.max(), atol=0.001)
    for bar in bars:
        assert float(bar.get("y", "")) + float(bar.get("height", "")) == pytest.approx(chart["height"], abs=0.02)


def test_everything_lies_inside_the_drawing(result: quorate.Result) -> None:
    for chart in (skills_chart(result), confidence_chart(result), agreement_chart(result)):
        root = ElementTree.fromstring(to_svg(chart, "a chart"))
        _, _, width, height = map(float, root.get("viewBox", "").split())
        for group in root:
            x0, y0 = offset(group)
            for element in group.iter():
                if element is not group and element.get("transform"):
                    x, y = offset(element)
                    assert -1 <= x0 + x <= width + 1
                    assert -1 <= y0 + y <= height + 1


def test_colours_follow_the_page(result: quorate.Result) -> None:
    svg = to_svg(skills_chart(result), "skills")
    assert "var(--good)" in svg
    assert not [colour for colour in PALETTE.values() if colour in svg]


def test_colours_between_two_of_the_page_follow_it_too() -> None:
    rows = [{"a": str(k), "b": "b", "share": share} for k, share in enumerate((0.0, 0.4, 0.75, 1.0))]
    encoding = {
        "x": nominal("a", scale={"domain": [row["a"] for row in rows]}),
        "y": nominal("b", scale={"domain": ["b"]}),
        "color": quantitative("share", scale={"domain": [0, 1], "range": list(AGREEMENT[2:5])}, legend=None),
    }
    svg = to_svg(layered([layer("rect", encoding)], rows, height={"step": 20}), "a chart")
    assert [element.get("fill") for element in elements(svg, "rect")] == [
        "var(--agree-2)",
        "color-mix(in srgb, var(--agree-2), var(--agree-3) 80%)",
        "color-mix(in srgb, var(--agree-3), var(--agree-4) 50%)",
        "var(--agree-4)",
    ]


def test_labels_do_not_overlap() -> None:
    rows = [{"a": 10**6 * k, "b": k} for k in range(50)]
    texts = elements(drawn("point", rows), "text")
    numbers = [element for element in texts if element.get("text-anchor") == "middle" and "," in (element.text or "")]
    lefts = [offset(element)[0] for element in numbers]
    assert len(lefts) >= 2
    assert np.diff(lefts).min() > 7 * 9  # a label such as 10,000,000


def test_labels_of_a_logarithmic_axis_do_not_overlap() -> None:
    rows = [{"a": k, "b": k} for k in range(350)]
    encoding = {"x": quantitative("a", title="a"), "y": quantitative("b", title="b", scale={"type": "symlog"})}
    texts = elements(to_svg(layered([layer("line", encoding)], rows, height=HEIGHT), "a chart"), "text")
    heights = [offset(element)[1] for element in texts if element.get("text-anchor") == "end"]
    assert len(heights) >= 3
    assert min(-np.diff(heights)) >= float(texts[0].get("font-size", ""))


@pytest.mark.parametrize(("value", "label"), [(0.0, "0"), (3.25, "3.25"), (-1e6, "\N{MINUS SIGN}1,000,000")])
def test_an_axis_of_one_value_has_its_label_only(value: float, label: str) -> None:
    free = {"zero": False}
    encoding = {"x": quantitative("a", title="a"), "y": quantitative("b", title="b", scale=free)}
    svg = to_svg(layered([layer("point", encoding)], [{"a": 1, "b": value}], height=HEIGHT), "a chart")
    assert [element.text for element in elements(svg, "text") if element.get("text-anchor") == "end"] == [label]


def test_labels_of_large_numbers_end_within_the_drawing() -> None:
    rows = [{"a": a, "b": 1} for a in (0, 1e13)]
    svg = drawn("point", rows)
    root = ElementTree.fromstring(svg)
    width = float(root.get("viewBox", "").split()[2])
    left = offset(root[0])[0]
    labels = [element for element in elements(svg, "text") if (element.text or "").endswith("000")]
    assert labels
    for element in labels:
        assert left + offset(element)[0] + text_width(element.text or "") / 2 <= width


@pytest.mark.parametrize("size", [1e-100, 1e-9, 1.0, 1e9, 1e100])
def test_labels_leave_room_for_the_marks_and_differ(size: float) -> None:
    svg = drawn("point", [{"a": 1, "b": b * size} for b in (-3, 5)])
    marks = [offset(element) for element in elements(svg, "path")]
    assert all(0 <= left <= 420 and 0 <= top <= HEIGHT for left, top in marks)
    labels = [element.text or "" for element in elements(svg, "text") if element.get("text-anchor") == "end"]
    numbers = [float(label.replace(",", "").replace("\N{MINUS SIGN}", "-")) / size for label in labels]
    assert numbers == pytest.approx([-4, -2, 0, 2, 4, 6], abs=1e-6)


def test_a_mark_at_an_axis_is_drawn_over_it(result: quorate.Result) -> None:
    lines = [
        (element.get("stroke-dasharray"), group.get("stroke"))
        for group in ElementTree.fromstring(to_svg(skills_chart(result), "skills")).iter("g")
        for element in group
        if element.tag == "line"
    ]
    guessing = lines.index(("4,3", None))
    assert ("var(--line)", True) not in [(stroke, place > guessing) for place, (_, stroke) in enumerate(lines)]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-0.37, 0.2), (0.0, 1e7), (0.001, 0.0042)])
def test_ticks_are_round_numbers_inside_the_range(low: float, high: float) -> None:
    found = ticks(low, high, 6)
    assert 3 <= len(found) <= 13
    assert found[0] >= low - 1e-12
    assert found[-1] <= high + 1e-9
    step = found[1] - found[0]
    first_digit = step / 10 ** np.floor(np.log10(step) + 1e-9)
    assert any(first_digit == pytest.approx(digit) for digit in (1, 2, 5))
