"""Laws of the ranking: what must not change the result, what must change it in a known way, and what it must cover."""

from typing import Any

import numpy as np
import pytest
from experiments.ranking.figures import score_quorate
from experiments.ranking.simulated import PANELS, simulate
from scipy.optimize import minimize
from scipy.special import expit

import quorate
from quorate.ranking import comparisons, information, intervals
from quorate.ranking.intervals import N_MULTIPLIER_DRAWS, random_signs
from tests.ranking.panels import Columns, rows_of, strengths, swapped, votes

RICH = votes(log_tie=-0.5, side=0.4, skills=[1.5, 1.0, 1.0, 0.6, 0.0, -0.8], n_tasks=60)


def judge_column(ranking: quorate.Ranking, name: str) -> dict[str, Any]:
    table = ranking.judges.to_arrow()
    return dict(zip(table["judge"].to_pylist(), table[name].to_pylist(), strict=True))


def test_exchanging_sides_negates_leanings_only() -> None:
    one = quorate.rank(RICH, judge_skill="on")
    other = quorate.rank(swapped(RICH), judge_skill="on")
    np.testing.assert_allclose(one.strengths, other.strengths, atol=1e-9)
    leaning, opposite = judge_column(one, "left_bias"), judge_column(other, "left_bias")
    for judge, value in leaning.items():
        assert value == pytest.approx(-opposite[judge], abs=1e-9)


def test_row_order_changes_no_byte() -> None:
    order = np.random.default_rng(1).permutation(len(RICH["left"]))
    one = quorate.rank(RICH)
    other = quorate.rank(rows_of(RICH, order))
    assert one.items == other.items
    assert one.judges == other.judges
    assert one.pairs == other.pairs


def test_the_same_seed_gives_the_same_draws_and_another_gives_others() -> None:
    one, again, other = (quorate.rank(RICH, judge_skill="on", seed=seed) for seed in (3, 3, 0))
    assert one.items == again.items
    assert not np.array_equal(one.uncertainty.draws, other.uncertainty.draws)


def test_renaming_items_and_judges_renames_the_result() -> None:
    renamed: Columns = dict(RICH)
    for name in ("left", "right"):
        renamed[name] = [f"z{9 - int(value[1:])}" for value in RICH[name]]
    renamed["judge"] = [f"q{9 - int(value[1:])}" for value in RICH["judge"]]
    one = quorate.rank(RICH, judge_skill="on")
    other = quorate.rank(renamed, judge_skill="on")
    for item, value in strengths(one).items():
        assert strengths(other)[f"z{9 - int(item[1:])}"] == pytest.approx(value, abs=1e-9)
    for judge, value in judge_column(one, "skill").items():
        assert judge_column(other, "skill")[f"q{9 - int(judge[1:])}"] == pytest.approx(value, abs=1e-9)


def test_rows_repeated_within_their_tasks_narrow_nothing() -> None:
    twice = {name: values + values for name, values in RICH.items()}
    one = quorate.rank(RICH, judge_skill="off")
    other = quorate.rank(twice, judge_skill="off")
    # Shrinkage alone differs: twice the rows look like twice the evidence to the prior.
    np.testing.assert_allclose(one.strengths, other.strengths, atol=0.05)
    ratio = other.uncertainty.standard_error / one.uncertainty.standard_error
    assert ratio.min() > 0.93
    assert ratio.max() < 1.07
    new_tasks = dict(twice)
    new_tasks["task"] = RICH["task"] + [f"{value} again" for value in RICH["task"]]
    independent = quorate.rank(new_tasks, judge_skill="off").uncertainty.standard_error
    assert (independent / one.uncertainty.standard_error).mean() == pytest.approx(np.sqrt(0.5), abs=0.06)


def test_counts_equal_repeated_rows() -> None:
    pairs = [("a", "b", 7, 3), ("b", "c", 6, 4), ("a", "c", 8, 1)]
    counts = {
        "model_a": [pair[0] for pair in pairs],
        "model_b": [pair[1] for pair in pairs],
        "A_wins": [pair[2] for pair in pairs],
        "B_wins": [pair[3] for pair in pairs],
    }
    rows: Columns = {"winner": [], "loser": []}
    for a, b, wins, losses in pairs:
        rows["winner"] += [a] * wins + [b] * losses
        rows["loser"] += [b] * wins + [a] * losses
    one = quorate.rank(counts)
    other = quorate.rank(rows)
    np.testing.assert_allclose(one.strengths, other.strengths, atol=1e-9)
    np.testing.assert_allclose(one.uncertainty.standard_error, other.uncertainty.standard_error, atol=1e-9)


def test_without_shrinkage_one_judge_is_maximum_likelihood() -> None:
    columns = votes(n_judges=1, n_rows=400)
    ranking = quorate.rank(columns, shrink=False, position=False)
    items = ranking.comparisons.items
    place = {item: code for code, item in enumerate(items)}
    left = np.array([place[value] for value in columns["left"]])
    right = np.array([place[value] for value in columns["right"]])
    sign = np.where(np.array(columns["winner"]) == "left", 1.0, -1.0)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (theta[left] - theta[right])
        slope = -sign * expit(-margin)
        gradient = np.bincount(left, slope, len(items)) - np.bincount(right, slope, len(items))
        return float(np.logaddexp(0, -margin).sum()), gradient

    best = minimize(loss, np.zeros(len(items)), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(ranking.strengths, best - best.mean(), atol=1e-6)


def test_ties_follow_davidson() -> None:
    columns = votes(n_items=4, n_judges=1, n_rows=3000, log_tie=0.3)
    ranking = quorate.rank(columns, shrink=False, position=False)
    pairs = ranking.pair_fit
    # The score equations of the strengths: observed and expected wins of each item agree.
    for item in range(4):
        gained = np.where(pairs.low == item, 1, 0) - np.where(pairs.high == item, 1, 0)
        observed = (pairs.wins + pairs.ties / 2) * gained
        assert observed.sum() == pytest.approx((pairs.expected * gained).sum(), abs=1e-4)
    assert ranking.fit.parameters.log_tie[0] == pytest.approx(0.3, abs=0.15)


def test_a_random_judge_moves_no_order_and_its_interval_holds_zero() -> None:
    base = votes(n_judges=5, n_rows=1500)
    rng = np.random.default_rng(4)
    noise: Columns = {
        "left": base["left"][:300],
        "right": base["right"][:300],
        "winner": rng.choice(["left", "right"], 300).tolist(),
        "judge": ["random"] * 300,
    }
    joined = {name: base[name] + noise[name] for name in base}
    one = quorate.rank(base, judge_skill="on")
    other = quorate.rank(joined, judge_skill="on")
    np.testing.assert_allclose(one.strengths, other.strengths, atol=0.1)
    assert judge_column(other, "skill_low")["random"] < 0 < judge_column(other, "skill_high")["random"]
    assert judge_column(other, "status")["random"] in ("uninformative", "weakly identified")


def test_judges_and_not_rows_decide_the_direction() -> None:
    honest = votes(n_judges=6, n_rows=900)
    busy = swapped(votes(n_judges=1, n_rows=3000, seed=0))
    busy["left"], busy["right"] = busy["right"], busy["left"]  # the answers alone are exchanged
    busy["judge"] = ["busy"] * 3000
    joined = {name: honest[name] + busy[name] for name in honest}
    ranking = quorate.rank(joined, judge_skill="on")
    assert ranking.fit.flipped
    assert [warning.kind for warning in ranking.warnings].count("direction") == 1
    assert judge_column(ranking, "status")["busy"] == "reversed"
    assert ranking.items["item"].to_pylist()[0] == "i0"


def test_gold_decides_the_direction_of_reversed_judges() -> None:
    columns = votes(n_judges=5, n_rows=1200)
    exchanged = dict(columns)
    exchanged["winner"] = swapped(columns)["winner"]
    plain = quorate.rank(columns, judge_skill="on")
    turned = quorate.rank(exchanged, judge_skill="on")
    np.testing.assert_allclose(plain.strengths, -turned.strengths, atol=1e-6)
    gold = {"left": ["i0", "i1"], "right": ["i7", "i6"], "winner": ["left", "left"]}
    corrected = quorate.rank(exchanged, judge_skill="on", gold=gold)
    np.testing.assert_allclose(plain.strengths, corrected.strengths, atol=0.05)
    assert corrected.fit.flipped
    assert max(judge_column(corrected, "skill").values()) < 0


def test_each_part_is_ranked_as_if_alone() -> None:
    columns = votes(n_judges=1, n_rows=500)
    other = {name: [f"other {value}" if name in ("left", "right") else value for value in values]
             for name, values in votes(n_judges=1, n_rows=500, seed=1).items()}  # fmt: skip
    both = quorate.rank({name: columns[name] + other[name] for name in columns}, shrink=False, position=False)
    assert both.connectivity.n_parts == 2
    assert not both.is_determined
    alone = strengths(quorate.rank(columns, shrink=False, position=False))
    for item, value in alone.items():
        assert strengths(both)[item] == pytest.approx(value, abs=1e-6)
    assert both.items["rank"].to_pylist().count(1) == 2
    with pytest.raises(quorate.errors.OptionError, match="no chain of comparisons"):
        both.difference("i0", "other i0")


def test_shuffled_tasks_widen_nothing() -> None:
    tasks = np.random.default_rng(2).permutation(RICH["task"]).tolist()
    shuffled = quorate.rank({**RICH, "task": tasks}, judge_skill="on").uncertainty.standard_error
    by_row = quorate.rank(RICH, judge_skill="on", cluster="none").uncertainty.standard_error
    assert (shuffled / by_row).mean() == pytest.approx(1, abs=0.12)


def test_intervals_by_task_are_wider_where_answers_hang_together() -> None:
    rng = np.random.default_rng(8)
    n_rows = 1500
    task = rng.integers(0, 20, n_rows)
    deviation = 1.5 * rng.standard_normal((6, 20))
    left = rng.integers(0, 6, n_rows)
    right = (left + rng.integers(1, 6, n_rows)) % 6
    gap = deviation[left, task] - deviation[right, task]
    winner = np.where(rng.random(n_rows) < expit(gap), "left", "right").tolist()
    columns = {
        "left": [f"i{code}" for code in left],
        "right": [f"i{code}" for code in right],
        "winner": winner,
        "task": task.tolist(),
    }
    by_task = quorate.rank(columns)
    by_row = quorate.rank(columns, cluster="none")
    assert (by_task.uncertainty.standard_error / by_row.uncertainty.standard_error).mean() > 1.5
    assert "dependent rows" in [warning.kind for warning in by_row.warnings]


def test_rank_one_skills_follow_the_skills_of_judges() -> None:
    rng = np.random.default_rng(3)
    skill = np.linspace(-0.3, 2.0, 12)
    strength = rng.standard_normal(15)
    n_pairs = 400
    left = rng.integers(0, 15, n_pairs)
    right = (left + rng.integers(1, 15, n_pairs)) % 15
    gap = strength[left] - strength[right]
    answers = rng.random((12, n_pairs)) < expit(skill[:, None] * gap)
    pair, judge = np.meshgrid(np.arange(n_pairs), np.arange(12))
    columns = {
        "left": [f"i{left[code]}" for code in pair.ravel()],
        "right": [f"i{right[code]}" for code in pair.ravel()],
        "winner": np.where(answers.ravel(), "left", "right").tolist(),
        "judge": [f"j{code}" for code in judge.ravel()],
        "task": pair.ravel().tolist(),
    }
    ranking = quorate.rank(columns, judge_skill="on")
    fitted = judge_column(ranking, "skill")
    votes_by_side = {"task": columns["task"], "worker": columns["judge"], "label": columns["winner"]}
    result = quorate.aggregate(votes_by_side, "rank-one")
    names = result.answers.worker_names.to_pylist()
    correlation = np.corrcoef([fitted[name] for name in names], result.skills)[0, 1]
    assert correlation > 0.9
    assert np.corrcoef([fitted[f"j{code}"] for code in range(12)], skill)[0, 1] > 0.95


@pytest.mark.parametrize("name", ["plain", "spammers", "reversed", "one judge", "10 rows per judge"])
def test_intervals_cover_the_strengths_of_simulated_panels(name: str) -> None:
    figures = [score_quorate(simulate(PANELS[name], 8800 + number)) for number in range(6)]
    # 120 correlated intervals: a standard error of about 0.03 around the 0.88 to 1 of the long run.
    assert np.mean([each.coverage for each in figures]) > 0.84
    assert np.mean([each.rank_coverage for each in figures]) > 0.89


def test_skills_improve_the_prediction_where_judges_differ() -> None:
    panel = simulate(PANELS["reversed"], 11)
    assert score_quorate(panel, judge_skill="on").log_loss < score_quorate(panel, judge_skill="off").log_loss - 0.03


def test_multiplier_draws_agree_with_the_sandwich(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = quorate.rank(RICH, judge_skill="on").uncertainty.standard_error
    monkeypatch.setattr("quorate.ranking.intervals.MAX_COVARIANCE_ITEMS", 2)
    drawn = quorate.rank(RICH, judge_skill="on").uncertainty
    assert drawn.covariance is None
    assert drawn.draws.shape == (N_MULTIPLIER_DRAWS, 8)
    assert (drawn.standard_error / exact).mean() == pytest.approx(1, abs=0.15)


def test_random_signs_depend_on_key_and_seed_alone() -> None:
    keys = np.arange(200, dtype=np.uint64)
    signs = random_signs(keys, 128, 0)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.03
    np.testing.assert_array_equal(signs[50:60], random_signs(keys[50:60], 128, 0))
    assert not np.array_equal(signs, random_signs(keys, 128, 1))


@pytest.mark.parametrize("limits", ["pieces", "pieces of tasks", "sparse", "draws"])
def test_the_size_of_pieces_changes_no_result(limits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over pieces of cells and tasks, dense or sparse, equal those at once."""
    rng = np.random.default_rng(5)
    n = 900
    left = rng.integers(0, 4, n)
    outcome = rng.choice(["left", "right", "tie"], n, p=[0.5, 0.35, 0.15])
    columns = {
        "left": left,
        "right": (left + rng.integers(1, 4, n)) % 4,
        "winner": outcome,
        "judge": rng.integers(0, 30, n),
        "task": rng.integers(0, 200, n),
    }
    data: dict[str, Any] = {name: [str(value) for value in column] for name, column in columns.items()}
    data["length"] = rng.normal(size=n).tolist()
    if limits == "draws":
        monkeypatch.setattr(intervals, "MAX_COVARIANCE_ITEMS", 1)
    expected = quorate.rank(data, covariates=["length"], judge_skill="on").to_dict()
    monkeypatch.setattr(comparisons, "PIECE_CELLS", 7 if limits != "sparse" else 1 << 15)
    monkeypatch.setattr(intervals, "MAX_ROWS", 11 if limits != "pieces" else 1 << 20)
    monkeypatch.setattr(information, "MAX_NUMBERS_PER_CELL", 0 if limits == "sparse" else 10)
    found = quorate.rank(data, covariates=["length"], judge_skill="on").to_dict()
    for table in ("items", "judges"):
        for one, other in zip(expected[table], found[table], strict=True):
            assert one == pytest.approx(other, abs=1e-9)
