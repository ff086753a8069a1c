"""Charts show what the result says, of everyone or of a sample that says so; the same result is always drawn alike."""

import re
import sys
from typing import Any

import altair
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import quorate
from quorate.charts import Plots, result_html
from quorate.charts.graph import graph_chart, layout_of
from quorate.charts.result import (
    MAX_DRAWN_WORKERS,
    agreement_chart,
    agreement_rows,
    confidence_chart,
    confidence_rows,
    skill_rows,
    skills_chart,
)
from quorate.charts.vega import choose_workers, pairs_among, short_names, strongest
from quorate.diagnostics.ratings import RATINGS
from quorate.errors import QuorateError
from quorate.graph.components import identify_pairs
from quorate.graph.pairs import PairStats, pair_stats
from quorate.result import Result

ISLANDS = {
    "task": [1, 1, 1, 2, 2, 2, 3, 3, 4],
    "worker": ["ann", "bob", "eve", "ann", "bob", "eve", "p", "q", "<b>alone</b>"],
    "label": list("xxyxxxyyx"),
}
CHARTS: dict[str, Any] = {
    "skills": skills_chart,
    "graph": lambda result: graph_chart(result, copying=[(0, 1)]),
    "agreement": agreement_chart,
    "confidence": confidence_chart,
}


@pytest.fixture(scope="module")
def result() -> Result:
    return quorate.aggregate(quorate.simulate.crowd(400, 15, 3, seed=5).answers)


graphs = st.integers(1, 25).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] < e[1]))
    )
)


@settings(max_examples=30)
@given(graphs)
def test_every_worker_lies_in_the_disc_of_its_component_and_no_two_discs_overlap(graph: Any) -> None:
    n, edges = graph
    i, j = (
        (np.array(ends, np.int64) for ends in zip(*sorted(set(edges)), strict=True)) if edges else np.zeros((2, 0), int)
    )
    component = identify_pairs(PairStats(i, j, i + 1, i + 1), n).component
    layout = layout_of(component, i, j, np.ones(len(i)))
    inside = np.linalg.norm(layout.at - layout.centre[component], axis=1)
    assert np.all(inside <= layout.radius[component])
    apart = np.linalg.norm(layout.centre[:, None] - layout.centre[None], axis=2)
    touching = layout.radius[:, None] + layout.radius[None]
    np.fill_diagonal(touching, 0.0)
    assert np.all(apart >= touching - 1e-9)  # rounding
    fitted, height = layout.fitted(400, 300)
    assert 0 < height <= 300
    assert np.all((fitted.at >= 0) & (fitted.at <= (400, height)))
    again = layout_of(component, i, j, np.ones(len(i)))
    assert again.at.tobytes() == layout.at.tobytes()


def test_workers_who_share_more_are_nearer() -> None:
    """Two cliques joined by one edge: peers are nearer to each other than to the other clique."""
    clique = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    edges = [*clique, *((a + 5, b + 5) for a, b in clique), (0, 5)]
    i, j = np.array(edges).T
    at = layout_of(np.zeros(10, int), i, j, np.ones(len(i))).at
    apart = np.linalg.norm(at[:, None] - at[None], axis=2)
    assert apart[:5, :5].max() < apart[1:5, 6:].min()


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(1, 12), st.lists(st.integers(0, 29), max_size=3), st.integers(0, 5))
def test_a_sample_has_whoever_was_named_and_some_of_every_component(n: int, most: int, named: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    task = np.arange(60) // 2
    answers = quorate.simulate.answer(task, rng.integers(0, n, 60), np.full(n, 0.5), 30, 2, None, rng).answers
    _, component = np.unique(np.sort(rng.integers(0, 5, n)), return_inverse=True)
    small = most // 4  # so many of the components other than the largest are drawn in any case
    first = [code for code in dict.fromkeys(named) if code < n][: most - small - 1]
    chosen = choose_workers(answers, component, most, first)
    assert len(set(chosen.tolist())) == len(chosen) == min(most, n)
    assert chosen[: len(first)].tolist() == first
    assert set(component[chosen].tolist()) >= set(component[component <= small].tolist())


@settings(max_examples=20)
@given(st.integers(2, 12), st.integers(0, 5))
def test_leaving_out_weak_pairs_keeps_what_is_joined(n: int, seed: int) -> None:
    answers = quorate.simulate.crowd(60, n, 2, seed=seed).answers
    pairs = pair_stats(answers)
    kept = strongest(pairs, n, n)
    assert len(kept) == min(len(pairs), n)
    fewer = pairs.among(kept)
    assert np.array_equal(identify_pairs(fewer, n).component, identify_pairs(pairs, n).component)


def test_the_pairs_of_a_sample_are_the_pairs_counted_by_hand(result: Result) -> None:
    chosen = np.array([7, 2, 11])
    pairs = pairs_among(result.answers, chosen)
    found = {
        frozenset((int(chosen[i]), int(chosen[j]))): (int(n), int(same))
        for i, j, n, same in zip(pairs.i, pairs.j, pairs.shared, pairs.agreed, strict=True)
    }
    a = result.answers
    given_by = {(int(w), int(t)): int(c) for w, t, c in zip(a.worker, a.task, a.label, strict=True)}
    for one, two in ((7, 2), (7, 11), (2, 11)):
        both = [t for t in range(a.n_tasks) if (one, t) in given_by and (two, t) in given_by]
        alike = sum(given_by[one, t] == given_by[two, t] for t in both)
        assert found.get(frozenset((one, two)), (0, 0)) == (len(both), alike)


def test_the_best_come_first_and_those_not_determined_last() -> None:
    rows = skill_rows(quorate.aggregate(ISLANDS))
    skills = [row.get("skill") for row in rows]
    known = [skill for skill in skills if skill is not None]
    assert known == sorted(known, reverse=True)
    assert len(known) == 3
    assert skills[3:] == [None] * 3
    assert {row["rating"] for row in rows[3:]} == {"too few answers"}


def test_of_a_large_crowd_an_even_sample_with_both_ends_is_drawn() -> None:
    skills = np.linspace(0, 0.9, MAX_DRAWN_WORKERS + 100)
    result = quorate.aggregate(quorate.simulate.crowd(3000, MAX_DRAWN_WORKERS + 100, 3, skills=skills, seed=0).answers)
    ranks = [row["rank"] for row in skill_rows(result)]
    assert len(ranks) == MAX_DRAWN_WORKERS
    assert (ranks[0], ranks[-1]) == (1, MAX_DRAWN_WORKERS + 100)
    assert set(np.diff(ranks)) <= {1, 2}


def test_the_bars_of_confidence_count_every_task(result: Result) -> None:
    rows = confidence_rows(result, 0.9)
    assert sum(row["tasks"] for row in rows) == result.answers.n_tasks
    doubtful = sum(row["tasks"] for row in rows if row["verdict"] == "to review")
    assert doubtful == int((result.vote.confidence < 0.9).sum())


def test_the_map_is_the_same_both_ways(result: Result) -> None:
    rows, order = agreement_rows(result)
    squares = {(row["one"], row["two"]): row["tip"] for row in rows}
    assert len(squares) == len(rows) == 2 * len(pair_stats(result.answers))
    assert all(squares[two, one] == value for (one, two), value in squares.items())
    skill = dict(zip(result.answers.worker_names.to_pylist(), result.skills, strict=True))
    assert [skill[name] for name in order] == sorted(skill.values(), reverse=True)


@settings(max_examples=30)
@given(st.lists(st.text(max_size=40), unique=True, max_size=8))
@example(["a b", "a  b", "a b (2)"])
def test_names_stay_different_short_and_visible(names: list[str]) -> None:
    shown = short_names(names, longest=6)
    assert len(set(shown)) == len(names)
    assert all(text.isprintable() for text in shown)
    assert all(len(re.sub(r" \(\d+\)$", "", text)) <= 6 for text in shown)  # besides the number that tells two apart


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_a_valid_specification(name: str, result: Result) -> None:
    many = quorate.aggregate(quorate.simulate.crowd(60, 50, 3, seed=0).answers, "majority")
    for each in (result, many, quorate.aggregate(ISLANDS), quorate.aggregate(ISLANDS, "majority")):
        altair.LayerChart.validate(CHARTS[name](each))  # raises what the schema does not allow


@pytest.mark.parametrize("name", CHARTS)
def test_a_notebook_and_the_page_draw_the_same_specification(name: str, result: Result) -> None:
    plain = CHARTS[name](result)
    chart = Plots(result).graph(copying=[(0, 1)]) if name == "graph" else getattr(Plots(result), name)()
    spec = chart.to_dict()  # altair checks it against the schema
    assert spec.pop("$schema").startswith("https://vega.github.io")
    own = spec.pop("config")
    assert spec == {key: value for key, value in plain.items() if key != "config"}
    assert {key: own[key] for key in plain["config"] if key != "view"} == {
        key: value for key, value in plain["config"].items() if key != "view"
    }
    assert own["view"].items() >= plain["config"]["view"].items()  # to which altair adds its own sizes


@pytest.mark.parametrize("name", CHARTS)
def test_the_same_result_is_drawn_alike(name: str) -> None:
    one, two = (getattr(Plots(quorate.aggregate(ISLANDS)), name)().to_dict() for _ in range(2))
    assert one == two


def test_copying_pairs_are_marked() -> None:
    result = quorate.aggregate(ISLANDS)
    plain = str(Plots(result).graph().to_dict())
    names = result.answers.worker_names.to_pylist()
    marked = str(Plots(result).graph(copying=[(names.index("ann"), names.index("bob"))]).to_dict())
    assert "more than their skills explain" not in plain
    assert marked.count("more than their skills explain") == 1


def test_a_method_that_estimates_no_skills_judges_nobody() -> None:
    voted, judged = quorate.aggregate(ISLANDS, "majority"), quorate.aggregate(ISLANDS, "rank-one")
    for result, word, other in (
        (voted, "not estimated", "too few answers"),
        (judged, "too few answers", "not estimated"),
    ):
        for chart in (Plots(result).skills(), Plots(result).graph()):
            drawn = str(chart.to_dict())
            assert f": {word}, 1 answer'" in drawn
            assert f": {other}" not in drawn
        assert word in result_html(result)
        assert other not in result_html(result)


def test_a_result_shows_itself_without_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    result = quorate.aggregate(ISLANDS)
    shown = result_html(result)
    assert "<b>alone" not in shown
    assert "&lt;b&gt;alone&lt;/b&gt;" in shown
    assert all(name in shown for name in ("ann", "bob", "eve"))
    assert any(rating in shown for rating in RATINGS)
    with pytest.raises(QuorateError, match=r"quorate\[report\]"):
        Plots(result).skills()


def test_what_a_notebook_shows_of_a_large_crowd_stays_small() -> None:
    result = quorate.aggregate(quorate.simulate.crowd(5000, 500, 3, seed=0).answers)
    assert len(result_html(result)) < 20_000  # a dozen rows of each table, whatever the crowd


@pytest.mark.parametrize("name", ["skills", "graph", "agreement", "confidence"])
def test_charts_show_in_notebooks_without_a_network(name: str) -> None:
    """A notebook gets a drawing, and no address of a server; changes by altair's methods keep that."""
    result = quorate.aggregate(quorate.simulate.crowd(60, 6, 3, seed=0).answers)
    chart = getattr(result.plot, name)()
    for shown in (chart, chart.properties(width=300)):
        bundle = shown._repr_mimebundle_()
        assert bundle["image/svg+xml"].startswith("<svg")
        assert "http" not in bundle["image/svg+xml"].replace("http://www.w3.org", "")
        assert "text/html" not in bundle
