"""Text from outside is text on the page, whatever it holds."""

from html.parser import HTMLParser

import pytest
from experiments.runner.contents import index, own_ids, section
from experiments.runner.experiment import FAILS, HOLDS, PARTLY, Claim, Experiment, Figure, Tabulation, spread, verdict
from experiments.runner.figures import axis, bars, lines
from experiments.runner.render import to_csv, to_markdown, to_png, to_svg

HOSTILE = "<script>alert('x')</script>\" onload=\"y & z"


def hostile_experiment() -> Experiment:
    rows = [{"x": 1, "y": 1.0, "series": HOSTILE}, {"x": 2, "y": 2.0, "series": HOSTILE}]
    spec = lines(rows, axis("x", "x", HOSTILE), axis("y", "y", HOSTILE), "series", order=[HOSTILE])
    sheet = Tabulation(HOSTILE, (HOSTILE, "b|c"), ((HOSTILE, "d|e"),))
    return Experiment(sheet, (sheet,), (Figure("f", HOSTILE, spec),), (Claim(HOSTILE, HOLDS, HOSTILE),), (HOSTILE,))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, [name for name, _ in attrs]))


def test_hostile_text_is_escaped_everywhere() -> None:
    experiment = hostile_experiment()
    html = section(experiment, "item", HOSTILE, HOSTILE, {"f": to_svg(experiment.figures[0])})
    page = index([("item", HOSTILE, html)], [("item", experiment.claims[0])], HOSTILE)
    tags = Tags()
    tags.feed(page)
    assert not [tag for tag, _ in tags.seen if tag == "script"]
    assert not [name for _, names in tags.seen for name in names if name.startswith("on")]


def test_a_bar_in_a_cell_does_not_split_the_row_of_a_markdown_table() -> None:
    text = to_markdown(hostile_experiment(), "t", "s")
    assert "b\\|c" in text
    assert "d\\|e" in text


def test_csv_quotes_what_needs_quotes() -> None:
    assert to_csv(Tabulation("", ("a",), (("x,y",), ('"',)))) == 'a\n"x,y"\n""""\n'


def test_drawings_have_the_same_bytes_each_time() -> None:
    rows = [{"case": case, "what": what, "error": 0.1} for case in "ab" for what in "cd"]
    spec = bars(rows, axis("x", "error", "error"), "case", "what", order="cd", category_order="ab")
    figure = Figure("f", "", spec)
    assert to_svg(figure) == to_svg(figure)
    assert to_png(figure) == to_png(figure)


def test_ids_of_two_drawings_do_not_clash() -> None:
    drawing = '<g id="a"/><g id="ab" clip-path="url(#a)"/><use fill="url(#ab)"/>'
    assert own_ids(drawing, "p") == '<g id="p-0"/><g id="p-1" clip-path="url(#p-0)"/><use fill="url(#p-1)"/>'


def test_a_spread_counts_failures_and_leaves_them_out() -> None:
    found = spread([0.2, None, 0.4])
    assert found.mean == pytest.approx(0.3)
    assert (found.n, found.n_failed) == (2, 1)
    assert str(spread([None])) == "failed"


def test_a_claim_of_several_parts() -> None:
    assert [verdict(True, True), verdict(True, False), verdict(False)] == [HOLDS, PARTLY, FAILS]
