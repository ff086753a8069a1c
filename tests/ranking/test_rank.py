"""`quorate.rank`: identifiability, refusals, tables, next pairs, groups, engines, page."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.charts.ranking import item_chart, judge_chart, pair_chart
from quorate.errors import GoldError, OptionError, UndeterminedError
from quorate.io.exports.pairwise import read_pairs
from quorate.ranking.comparisons import combine_codes
from quorate.ranking.cross_validation import N_FOLDS, fold_weight
from quorate.ranking.rank import comparisons_of
from tests.backends.test_spark import session
from tests.ranking.panels import Columns, rows_of, strengths, swapped, votes


def rows(pairs: list[tuple[str, str, str]]) -> Columns:
    return {
        "left": [pair[0] for pair in pairs],
        "right": [pair[1] for pair in pairs],
        "winner": [pair[2] for pair in pairs],
    }


def kinds(ranking: quorate.Ranking) -> list[str]:
    return [warning.kind for warning in ranking.warnings]


def test_a_side_that_always_wins_has_a_finite_effect() -> None:
    ranking = quorate.rank(rows([("a", "b", "left"), ("b", "a", "left"), ("a", "b", "left"), ("b", "a", "left")]))
    (effect,) = ranking.effects.to_arrow().to_pylist()
    assert 0 < effect["estimate"] < 10  # five comparisons' odds at the most, not the largest number that fits
    assert effect["low"] < 0 < effect["high"]


def test_only_ties_determine_nothing() -> None:
    with pytest.raises(UndeterminedError, match="all 2 comparisons are ties"):
        quorate.rank(rows([("a", "b", "tie"), ("b", "c", "tie")]))


def test_items_that_never_lose_have_an_open_bound() -> None:
    ranking = quorate.rank(rows([("a", "b", "left"), ("b", "c", "left"), ("c", "b", "left"), ("c", "d", "left")]))
    table = {row["item"]: row for row in ranking.items.to_arrow().to_pylist()}
    assert table["a"]["status"] == "open above"
    assert table["a"]["high"] is None
    assert table["d"]["status"] == "open below"
    assert table["d"]["low"] is None
    assert table["b"]["status"] == table["c"]["status"] == "ranked"
    assert kinds(ranking).count("open bound") == 2


def test_a_strongly_connected_graph_has_no_open_bound() -> None:
    ranking = quorate.rank(rows([("a", "b", "left"), ("b", "c", "left"), ("c", "a", "left")]))
    assert set(ranking.items["status"].to_pylist()) == {"ranked"}


def test_cycles_are_reported() -> None:
    ranking = quorate.rank(rows([("rock", "scissors", "left"), ("scissors", "paper", "left"),
                                 ("paper", "rock", "left")] * 30), position=False)  # fmt: skip
    assert ranking.dispersion > 10
    assert "misfit" in kinds(ranking)
    assert min(abs(value) for value in ranking.pairs["misfit"].to_pylist()) > 3


def test_a_covariate_of_the_items_is_refused_by_name() -> None:
    columns = votes(n_rows=300)
    size = {f"i{code}": float(code**2) for code in range(8)}
    gaps = [size[a] - size[b] for a, b in zip(columns["left"], columns["right"], strict=True)]
    with pytest.raises(OptionError, match="'size' cannot be separated from the items"):
        quorate.rank({**columns, "size": gaps}, covariates=["size"])


def test_a_covariate_that_sways_judges_is_estimated() -> None:
    rng = np.random.default_rng(0)
    columns = votes(n_rows=3000)
    length = rng.normal(0, 10, 3000)
    is_longer = np.where(length > 0, "left", "right")
    follow = rng.random(3000) < 0.3
    columns["winner"] = np.where(follow, is_longer, columns["winner"]).tolist()
    ranking = quorate.rank({**columns, "length": length.tolist()}, covariates=["length"])
    effect = ranking.effects.to_arrow().to_pylist()[1]
    assert effect["effect"] == "length"
    assert effect["low"] > 0
    assert effect["free_share"] > 0.9


def test_a_side_that_is_the_item_is_not_estimated() -> None:
    columns = rows([("base", "a", "left"), ("base", "a", "right"), ("base", "b", "right"), ("base", "b", "left")] * 5)
    ranking = quorate.rank(columns)
    assert not ranking.has_position
    assert "left side" in kinds(ranking)
    assert ranking.judges["left_bias"].to_pylist() == [None]


def test_a_direction_that_one_judge_decides_is_refused() -> None:
    one = votes(n_judges=1, n_rows=600)
    other = dict(one)
    other["winner"] = swapped(one)["winner"]
    other["judge"] = ["opposite"] * 600
    both = {name: one[name] + other[name] for name in one}
    with pytest.raises(UndeterminedError, match=r"contradict each other.*gold="):
        quorate.rank(both, judge_skill="on")
    known = {"left": ["i0"], "right": ["i7"], "winner": ["left"]}
    assert quorate.rank(both, judge_skill="on", gold=known).items["item"].to_pylist()[0] in ("i0", "i1")


def test_unknown_gold_items_are_refused() -> None:
    with pytest.raises(GoldError, match="'nobody'"):
        quorate.rank(votes(), gold={"left": ["nobody"], "right": ["i0"], "winner": ["left"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.5}, "level= must lie between 0 and 1"),
        ({"judge_skill": "maybe"}, "judge_skill= takes 'auto', 'on' or 'off' or True or False, not 'maybe'"),
        ({"baseline": "nobody"}, "baseline= must be one of the items .* got 'nobody'"),
        ({"tie_below": -1.0}, "must not be negative"),
    ],
)
def test_options_without_meaning_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        quorate.rank(votes(n_rows=50), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.5}, "level= must lie between 0 and 1"),
        ({"judge_skill": "maybe"}, "judge_skill= .*'maybe'"),
        ({"level": "high"}, "level= takes a number, not 'high'"),
        ({"tie": 3}, "tie= takes .*not 3"),
        ({"tie_bellow": 1.0}, "there is no option 'tie_bellow' for reading comparisons; there are .*tie_below"),
    ],
)
def test_options_without_meaning_are_refused_with_an_engine(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        quorate.backends.rank(votes(n_rows=50), engine="duckdb", **options)


def test_known_comparisons_are_read_by_the_columns_of_the_comparisons() -> None:
    columns = votes(n_rows=300)
    columns["best"] = columns.pop("winner")
    names: dict[str, Any] = {"left": "left", "right": "right", "winner": "best"}
    known = {"left": ["i7"], "right": ["i0"], "best": ["left"]}
    here = quorate.rank(columns, gold=known, judge_skill="on", **names)
    there = quorate.backends.rank(columns, engine="duckdb", gold=known, judge_skill="on", **names)
    assert there.items["item"].to_pylist() == here.items["item"].to_pylist()


def test_skills_are_dropped_where_every_judge_answers_once() -> None:
    columns = votes(n_rows=200, n_judges=1)
    columns["judge"] = [f"j{number}" for number in range(200)]
    ranking = quorate.rank(columns)
    assert not ranking.choice.used
    assert "Every judge has the same weight" in ranking.summary()


def test_skills_are_used_where_half_of_the_judges_answer_at_random() -> None:
    ranking = quorate.rank(votes(skills=[1.5, 1.5, 1.5, 0, 0, 0], n_rows=1500))
    assert ranking.choice.used
    assert ranking.choice.loss_with is not None
    assert ranking.choice.loss_without is not None
    assert ranking.choice.loss_with < ranking.choice.loss_without


def test_folds_divide_all_weight_and_keep_tasks_whole() -> None:
    for columns in (votes(n_rows=300), votes(n_rows=300, n_tasks=20)):
        comparisons, _ = comparisons_of(read_pairs(columns))
        weights = np.stack([fold_weight(comparisons, fold) for fold in range(N_FOLDS)])
        np.testing.assert_allclose(weights.sum(axis=0), comparisons.weight)
        if comparisons.task is not None:
            used = (np.stack([np.bincount(comparisons.task, fold, 20) for fold in weights]) > 0).sum(axis=0)
            assert used.max() == 1


def test_probabilities_and_differences_are_antisymmetric() -> None:
    ranking = quorate.rank(votes())
    forward = ranking.difference("i0", "i5")
    backward = ranking.difference("i5", "i0")
    assert forward["gap"] == pytest.approx(-backward["gap"])
    assert forward["low"] == pytest.approx(-backward["high"])
    assert ranking.probability("i0", "i5") == pytest.approx(1 - ranking.probability("i5", "i0"))
    assert ranking.probability("i0", "i7") > 0.99
    with pytest.raises(quorate.errors.UnknownNameError, match="no item 'nobody'"):
        ranking.probability("i0", "nobody")


def test_predictions_follow_the_judge_and_sum_to_one() -> None:
    ranking = quorate.rank(votes(skills=[1.5, 1.5, 1.5, 0, 0, -1.5], n_rows=2000, log_tie=-0.5), judge_skill="on")
    good = ranking.predict("i0", "i7", judge="j0")
    bad = ranking.predict("i0", "i7", judge="j5")
    assert sum(good.values()) == pytest.approx(1)
    assert good["left"] > 0.7 > 0.3 > bad["left"]
    swapped_sides = ranking.predict("i7", "i0")
    assert swapped_sides["right"] > swapped_sides["left"]
    with pytest.raises(quorate.errors.UnknownNameError, match="no judge 'nobody'"):
        ranking.predict("i0", "i1", judge="nobody")


def test_a_covariate_that_sways_one_judge_only_is_pointed_out() -> None:
    rng = np.random.default_rng(1)
    columns = votes(n_rows=2400)
    length = rng.normal(0, 1, 2400)
    is_swayed = np.array(columns["judge"]) == "j0"
    columns["winner"] = np.where(is_swayed, np.where(length > 0, "left", "right"), columns["winner"]).tolist()
    ranking = quorate.rank({**columns, "length": length.tolist()}, covariates=["length"])
    assert "covariate by judge" in kinds(ranking)


def test_codes_above_64_bits_keep_their_order() -> None:
    first = np.array([3, 1 << 40, 1 << 40])
    second = np.array([1, 0, (1 << 30) - 1])
    key = combine_codes(first, (second, 1 << 30), (np.array([0, 5, 2]), 1 << 30))
    assert np.argsort(key).tolist() == [0, 1, 2]


def test_a_baseline_has_strength_zero() -> None:
    ranking = quorate.rank(votes(), baseline="i3")
    row = next(row for row in ranking.items.to_arrow().to_pylist() if row["item"] == "i3")
    assert (row["strength"], row["low"], row["high"]) == (0, 0, 0)


@pytest.mark.parametrize("aim", ["information", "order", "best"])
def test_next_pairs_are_different_items_with_positive_gain(aim: str) -> None:
    table = quorate.rank(votes(n_rows=150)).next(12, aim=aim).to_arrow().to_pylist()  # type: ignore[arg-type]
    assert len(table) == 12
    assert all(row["item_x"] != row["item_y"] for row in table)
    assert all(row["gain"] > 0 for row in table)
    assert len({frozenset((row["item_x"], row["item_y"])) for row in table}) == 12
    assert sum(row["chosen"] == "at random" for row in table) == 2


def test_next_pairs_for_the_best_are_among_the_leaders() -> None:
    ranking = quorate.rank(votes(n_rows=400))
    chance = dict(zip(ranking.items["item"].to_pylist(), ranking.items["p_best"].to_pylist(), strict=True))
    leaders = sorted(chance, key=lambda item: -chance[item])[:4]
    for row in ranking.next(3, aim="best", random_share=0).to_arrow().to_pylist():
        assert {row["item_x"], row["item_y"]} <= set(leaders)


def test_next_pairs_connect_separate_parts_first() -> None:
    ranking = quorate.rank(rows([("a", "b", "left"), ("b", "a", "left"), ("c", "d", "left"), ("d", "c", "left")]))
    assert kinds(ranking)[0] == "several parts"
    first = ranking.next(1).to_arrow().to_pylist()[0]
    assert first["chosen"] == "joins parts"
    joined = {first["item_x"], first["item_y"]}
    assert len(joined & {"a", "b"}) == 1
    assert len(joined & {"c", "d"}) == 1


def test_agreement_after_swapping_is_counted_by_judge() -> None:
    columns = {
        "task": [1, 1, 2, 2],
        "left": ["a", "b", "a", "b"],
        "right": ["b", "a", "b", "a"],
        "winner": ["left", "right", "left", "left"],
        "judge": ["j"] * 4,
    }
    assert quorate.rank(columns).judges["swap_agreement"].to_pylist() == [0.5]


def test_groups_are_shrunk_to_the_common_ranking() -> None:
    columns = votes(n_rows=1200)
    small = [f"{'rare' if number % 60 == 0 else 'usual'}" for number in range(1200)]
    ranking = quorate.rank({**columns, "topic": small}, by="topic")
    assert set(ranking.groups) == {"rare", "usual"}
    np.testing.assert_allclose(ranking.groups["rare"].strengths, ranking.strengths, atol=0.8)
    reverse = dict(columns)
    reverse["winner"] = swapped(columns)["winner"]
    joined = {name: columns[name] + columns[name] + reverse[name] for name in columns}
    joined["topic"] = ["one"] * 2400 + ["two"] * 1200
    groups = quorate.rank(joined, by="topic", judge_skill="off").groups
    assert np.corrcoef(groups["one"].strengths, groups["two"].strengths)[0, 1] < 0


def two_criteria() -> Columns:
    accuracy = votes(n_rows=500, seed=1)
    style = votes(n_rows=400, seed=2, skills=[1.0, 1.0, 0.0, 0.5, 1.5, -1.0])
    both: Columns = {name: accuracy[name] + style[name] for name in accuracy}
    both["criterion"] = ["accuracy"] * 500 + ["style"] * 400
    return both


def test_each_criterion_is_ranked_as_if_alone() -> None:
    both = two_criteria()
    ranking = quorate.rank(both, criterion="criterion", judge_skill="on")
    assert list(ranking.criteria) == ["accuracy", "style"]
    rows = [place for place, name in enumerate(both["criterion"]) if name == "style"]
    columns = rows_of({name: both[name] for name in ("left", "right", "winner", "judge")}, rows)
    pairs = [
        f"{j}/{min(a, b)}/{max(a, b)}"
        for j, a, b in zip(*(columns[k] for k in ("judge", "left", "right")), strict=True)
    ]
    alone = quorate.rank({**columns, "task": pairs}, judge_skill="on")
    assert ranking.criteria["style"].items == alone.items
    assert ranking.criteria["style"].judges == alone.judges


def test_equal_answers_by_two_criteria_are_not_independent() -> None:
    columns = votes(n_rows=400, n_judges=3)
    twice: Columns = {name: values * 2 for name, values in columns.items()}
    twice["criterion"] = ["accuracy"] * 400 + ["style"] * 400
    once = quorate.rank({**columns, "criterion": ["accuracy"] * 400}, criterion="criterion", judge_skill="off")
    common = quorate.rank(twice, criterion="criterion", judge_skill="off")
    ratio = common.uncertainty.standard_error / once.uncertainty.standard_error
    np.testing.assert_allclose(ratio, 1, atol=0.1)  # 0.71 if they were


def test_a_criterion_without_an_order_is_a_warning(tmp_path: Path) -> None:
    both = two_criteria()
    both["winner"] = [
        "tie" if name == "style" else each for name, each in zip(both["criterion"], both["winner"], strict=True)
    ]
    ranking = quorate.rank(both, criterion="criterion")
    assert list(ranking.criteria) == ["accuracy"]
    assert any("'style' has no separate ranking: all 400 comparisons are ties" in str(w) for w in ranking.warnings)
    table = ranking.by_criterion("items").to_arrow()
    assert table["criterion"].to_pylist() == [None] * 8 + ["accuracy"] * 8
    assert list(ranking.to_dict()["criteria"]) == ["accuracy"]
    ranking.report(tmp_path / "page.html")
    assert "Items by each criterion" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("judge_skill", [True, False])
def test_the_page_has_the_sentences_of_the_summary(tmp_path: Path, judge_skill: bool) -> None:
    ranking = quorate.rank(two_criteria(), judge_skill=judge_skill)
    ranking.report(tmp_path / "page.html")
    paragraphs = re.findall("<p>(.*?)</p>", (tmp_path / "page.html").read_text())
    _, size, skills, *_ = ranking.lines()
    assert size in paragraphs
    assert skills in paragraphs


def test_criteria_in_duckdb_equal_those_in_memory(tmp_path: Path) -> None:
    both = two_criteria()
    path = tmp_path / "votes.csv"
    names = list(both)
    lines = [",".join(names), *(",".join(row) for row in zip(*both.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    memory = quorate.rank(str(path), criterion="criterion")
    engine = quorate.backends.rank(str(path), engine="duckdb", criterion="criterion")
    for name, ranking in memory.criteria.items():
        np.testing.assert_allclose(engine.criteria[name].strengths, ranking.strengths, atol=1e-9)
    np.testing.assert_allclose(engine.uncertainty.standard_error, memory.uncertainty.standard_error, atol=1e-9)


def test_tables_have_the_columns_of_the_documentation() -> None:
    ranking = quorate.rank(votes(n_tasks=40))
    assert ranking.items.column_names == [
        "item", "rank", "strength", "low", "high", "elo", "rank_low", "rank_high", "tier", "p_best", "comparisons",
        "decided", "win_rate", "judges", "part", "status",
    ]  # fmt: skip
    assert sum(ranking.items["p_best"].to_pylist()) == pytest.approx(1)
    assert sum(ranking.items["comparisons"].to_pylist()) == 1800
    tiers = ranking.items["tier"].to_pylist()
    assert tiers == sorted(tiers)
    assert json.dumps(ranking.to_dict())


def test_the_page_shows_names_as_text(tmp_path: Path) -> None:
    columns = votes(n_rows=200)
    columns["left"] = [f"<b>{value}" for value in columns["left"]]
    columns["right"] = [f"<b>{value}" for value in columns["right"]]
    path = tmp_path / "page.html"
    quorate.rank(columns).report(path)
    page = path.read_text()
    assert "&lt;b&gt;i0" in page
    assert "<b>i0" not in page
    assert page.count("<svg") == 3


@pytest.mark.parametrize("draw", [item_chart, judge_chart, pair_chart])
def test_charts_follow_the_schema_of_vega_lite(draw: Any) -> None:
    altair = pytest.importorskip("altair")
    parts = rows([("a", "b", "left"), ("b", "a", "tie"), ("c", "d", "left")])
    for columns in (votes(n_rows=200), parts):
        altair.Chart.from_dict(draw(quorate.rank(columns)))


def test_sums_of_duckdb_equal_those_of_memory(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    _compare_engine(tmp_path, {"engine": "duckdb"})


@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore")  # Spark warns of newer versions of pandas
def test_sums_of_spark_equal_those_of_memory(tmp_path: Path) -> None:
    with session("local[1]"):
        _compare_engine(tmp_path, {"engine": "spark", "master": "local[1]"})


def _compare_engine(folder: Path, where: dict[str, Any]) -> None:
    columns = votes(n_rows=800, log_tie=-1.0, side=0.3, skills=[1.2, 1, 1, 0.5, 0, -1])
    columns["task"] = [f"t{number % 50}" for number in range(800)]
    path = folder / "votes.csv"
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    here = quorate.rank(str(path))
    there = quorate.backends.rank(str(path), **where)
    np.testing.assert_allclose(here.strengths, there.strengths, atol=1e-9)
    np.testing.assert_allclose(here.uncertainty.standard_error, there.uncertainty.standard_error, atol=1e-9)
    assert strengths(here).keys() == strengths(there).keys()
    for name in ("skill", "skill_low", "left_bias", "swap_agreement", "tasks"):
        ours = [np.nan if value is None else value for value in here.judges[name].to_pylist()]
        theirs = [np.nan if value is None else value for value in there.judges[name].to_pylist()]
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_rankings_in_duckdb_equal_those_in_memory(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    rng = np.random.default_rng(0)
    path = tmp_path / "rankings.csv"
    lines = ["system1,system2,system3,rank1,rank2,rank3,judge"]
    for _ in range(120):
        systems = rng.permutation(["a", "b", "c", "d"])[:3]
        ranks = rng.permutation([1, 2, 3])
        lines.append(",".join([*systems, *map(str, ranks), f"j{rng.integers(4)}"]))
    path.write_text("\n".join(lines) + "\n")
    here = quorate.rank(str(path), judge_skill="off")
    there = quorate.backends.rank(str(path), engine="duckdb", judge_skill="off")
    np.testing.assert_allclose(here.strengths, there.strengths, atol=1e-9)
    np.testing.assert_allclose(here.uncertainty.standard_error, there.uncertainty.standard_error, atol=1e-9)
