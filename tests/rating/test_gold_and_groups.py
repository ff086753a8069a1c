"""Known scores, raters who err together, repeats, reliability."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.interrater.intraclass import intraclass_of
from tests.rating.crowds import crowd, in_order, table


def test_known_scores_are_returned_exactly() -> None:
    rows = crowd(30)
    gold = {t: float(rows[3][t]) for t in range(0, 300, 10)}
    found = quorate.rate(table(rows), gold=gold, bounds=(-1.0, 1.0), cut=0.0)
    for row in found.scores.to_pylist():
        if row["task"] in gold:
            known = gold[row["task"]]
            assert row["score"] == row["score_low"] == row["score_high"] == known
            assert row["se"] == 0
            assert row["above"] == float(known > 0)
        else:
            assert -1 <= row["score_low"] <= row["score"] <= row["score_high"] <= 1


def test_gold_on_another_scale_is_as_good() -> None:
    task, rater, score, truth = crowd(31)
    known = range(0, 300, 6)
    unknown = np.array([t for t in range(300) if t % 6])
    plain = quorate.rate(table((task, rater, score, truth)), gold={t: float(truth[t]) for t in known})
    moved = {"task": task, "worker": rater, "score": 3 * score + 10}
    found = quorate.rate(moved, gold={t: float(truth[t]) for t in known})
    error = [np.sqrt(np.mean((in_order(each, "score") - truth)[unknown] ** 2)) for each in (plain, found)]
    assert error[1] == pytest.approx(error[0], rel=0.02)


@pytest.mark.parametrize("n_known", [10, 20, 50])
def test_intervals_cover_unknown_tasks_with_shared_error(n_known: int) -> None:
    covered = []
    for seed in range(6):
        task, rater, score, truth = crowd(400 + seed)
        rng = np.random.default_rng(seed)
        shared = 0.5 * rng.normal(size=300)
        answers = {"task": task, "worker": rater, "score": 10 + 3 * (score + shared[task])}
        known = rng.choice(300, n_known, replace=False)
        found = quorate.rate(answers, gold={int(t): float(truth[t]) for t in known})
        rest = np.setdiff1d(np.arange(300), known)
        low, high = in_order(found, "score_low")[rest], in_order(found, "score_high")[rest]
        covered.append(np.mean((low <= truth[rest]) & (truth[rest] <= high)))
        assert found.reliability.shared is not None
    assert 0.92 <= np.mean(covered) <= 0.99


def test_without_gold_the_shared_error_is_not_measured() -> None:
    found = quorate.rate(table(crowd(32, n_tasks=50, n_raters=8)))
    assert found.reliability.shared is None
    assert "cannot be measured" in found.summary()
    few = quorate.rate(table(crowd(32, n_tasks=50, n_raters=8)), gold={0: 1.0, 1: 2.0})
    assert few.reliability.shared is None
    assert any(note.kind == "few-known-scores" for note in few.notes)
    assert few.scores.to_pylist()[0]["score"] == 1.0


def panel(seed: int, sizes: tuple[int, ...], n_tasks: int = 300) -> tuple[dict[str, Any], dict[int, int], FloatArray]:
    """Judges who all rate all; those of one group share an error."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_tasks)
    group = np.repeat(np.arange(len(sizes)), sizes)
    n = len(group)
    shared = 0.7 * rng.normal(size=(len(sizes), n_tasks))
    bias = 0.4 * rng.normal(size=n)
    scale = 1 + 0.2 * rng.normal(size=n)
    answers = bias[:, None] + scale[:, None] * truth + 0.5 * rng.normal(size=(n, n_tasks))
    for w in range(n):
        if sizes[group[w]] > 1:
            answers[w] += shared[group[w]]
    rows = {
        "task": np.tile(np.arange(n_tasks), n),
        "worker": np.repeat(np.arange(n), n_tasks),
        "score": answers.ravel(),
    }
    return rows, {w: int(group[w]) for w in range(n)}, truth


def test_group_of_each_alone_is_no_group() -> None:
    rows = table(crowd(33, n_tasks=80, n_raters=12))
    plain = quorate.rate(rows)
    alone = quorate.rate(rows, group={w: w for w in range(12)})
    for column in ("score", "se"):
        np.testing.assert_allclose(in_order(plain, column), in_order(alone, column), atol=1e-9)


def test_raters_who_err_together_are_found_and_groups_repair_it() -> None:
    covered: dict[str, list[float]] = {"plain": [], "grouped": []}
    correlation: dict[str, list[float]] = {"plain": [], "grouped": []}
    for seed in range(4):
        rows, group, truth = panel(seed, (5, 2, 1, 1, 1))
        plain = quorate.rate(rows)
        assert plain.shared.is_present
        note = next(note for note in plain.notes if note.kind == "correlated-errors")
        assert "group" in note.text
        grouped = quorate.rate(rows, group=group)
        assert grouped.shared.rho > 0.2
        for name, found in (("plain", plain), ("grouped", grouped)):
            score, low, high = (in_order(found, column) for column in ("score", "score_low", "score_high"))
            slope, level = np.polyfit(truth, score, 1)
            here = level + slope * truth
            covered[name].append(np.mean((low <= here) & (here <= high)))
            correlation[name].append(np.corrcoef(score, truth)[0, 1])
    assert np.mean(correlation["grouped"]) > np.mean(correlation["plain"]) + 0.03
    assert np.mean(covered["grouped"]) > 0.9


@pytest.mark.parametrize("options", [{}, {"points": 5}, {"skewed": True}, {"per_task": 3, "n_raters": 60}])
def test_independent_raters_raise_no_alarm(options: dict[str, object]) -> None:
    for seed in range(4):
        found = quorate.rate(table(crowd(500 + seed, **options)))
        assert found.shared.z is None or found.shared.z < 3


def test_repeats_of_one_judge_are_one_source() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=150)
    judges = 5
    own = 0.6 * rng.normal(size=(judges, 150))  # what a judge thinks of a task, whenever it is asked
    task: list[int] = []
    worker: list[int] = []
    score: list[float] = []
    for w in range(judges):
        for _ in range(5):
            task += range(150)
            worker += [w] * 150
            score += list(truth + own[w] + 0.2 * rng.normal(size=150))
    found = quorate.rate({"task": task, "worker": worker, "score": score}, on_conflict="mean")
    names = [f"{w}.{k // 150 % 5}" for k, w in enumerate(worker)]
    apart = quorate.rate({"task": task, "worker": names, "score": score})
    here = [np.polyfit(truth, in_order(each, "score"), 1) for each in (found, apart)]
    covered = []
    for each, (slope, level) in zip((found, apart), here, strict=True):
        low, high = in_order(each, "score_low"), in_order(each, "score_high")
        covered.append(np.mean((low <= level + slope * truth) & (level + slope * truth <= high)))
    assert covered[0] > 0.9
    assert found.shared.rho > 0.5
    assert in_order(found, "se").mean() > 1.5 * np.mean(
        in_order(apart, "se") / np.sqrt(apart.shared.widening(apart.tasks.n_answers))
    )


def test_intraclass_correlations_equal_the_analysis_of_variance_on_balanced_data() -> None:
    # Shrout and Fleiss (1979), table 2: six subjects, four judges; their table 4 has ICC(2,1) = .29, ICC(3,1) = .71,
    # ICC(2,4) = .62, ICC(3,4) = .91.
    y = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
    found = intraclass_of(np.repeat(np.arange(6), 4), np.tile(np.arange(4), 6), y.ravel()).to_dict()
    assert found["agreement"] == pytest.approx(0.2898, abs=1e-4)
    assert found["consistency"] == pytest.approx(0.7148, abs=1e-4)
    assert found["agreement_of_mean"] == pytest.approx(0.6201, abs=1e-4)
    assert found["consistency_of_mean"] == pytest.approx(0.9093, abs=1e-4)
    rows = {"task": np.repeat(np.arange(6), 4), "worker": np.tile(np.arange(4), 6), "score": y.ravel()}
    rated = quorate.rate(rows).reliability
    assert rated.agreement(1) == pytest.approx(found["agreement"], abs=1e-9)
    assert rated.consistency(4) == pytest.approx(found["consistency_of_mean"], abs=1e-9)
    alike = quorate.agreement({**rows, "label": rows["score"]}, scale="interval", draws=2)
    assert alike.intraclass is not None
    assert alike.intraclass.to_dict() == pytest.approx(found)
    assert quorate.agreement({**rows, "label": rows["score"]}, draws=2).intraclass is None


def test_intraclass_correlations_are_unbiased_on_unbalanced_data() -> None:
    figures = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        q, a = rng.normal(size=120), 0.5 * rng.normal(size=30)
        task = np.repeat(np.arange(120), rng.integers(2, 7, 120))
        rater = np.concatenate([rng.choice(30, n, replace=False) for n in np.bincount(task)])
        y = q[task] + a[rater] + rng.normal(size=len(task))
        one = intraclass_of(task, rater, y).consistency
        assert one is not None
        figures.append(one)
    assert np.mean(figures) == pytest.approx(0.5, abs=0.03)  # tau² / (tau² + s²)


def test_raters_needed_reach_the_reliability() -> None:
    found = quorate.rate(table(crowd(34))).reliability
    for target in (0.8, 0.9):
        n = found.raters_needed(target)
        assert n is not None
        reached, short = found.consistency(n), found.consistency(n - 1)
        assert reached is not None
        assert short is not None
        assert reached >= target > short


def test_mixed_scales_are_named() -> None:
    task, rater, score, _ = crowd(35, n_tasks=80, n_raters=8, per_task=6)
    hundred = np.where(rater < 6, 50 + 15 * score, (50 + 15 * score) / 100)
    found = quorate.rate({"task": task, "worker": rater, "score": hundred})
    note = next(note for note in found.notes if note.kind == "mixed-scales")
    assert "2 raters" in note.text


def test_predict_has_the_crowds_values_for_unknown_workers() -> None:
    rows = crowd(36)
    found = quorate.rate(table(rows))
    task, rater, score, _ = rows
    known = found.predict(task.tolist(), rater.tolist())
    inside = [
        low <= y <= high
        for low, y, high in zip(known["score_low"].to_pylist(), score, known["score_high"].to_pylist(), strict=True)
    ]
    assert 0.93 < np.mean(inside) < 1.0
    unknown = found.predict([9999], [9999]).to_pylist()[0]
    assert unknown["score"] == pytest.approx(found.centre)
    assert unknown["se"] > max(known["se"].to_pylist()[:50])
    with pytest.raises(OptionError, match="as many workers"):
        found.predict([1, 2], [1])
