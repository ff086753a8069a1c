import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.calibration.coverage import with_response_bias
from experiments.calibration.gold_skills import gold_skills
from hypothesis import given

import quorate
from quorate import simulate
from quorate.cli.app import main
from quorate.errors import OptionError
from quorate.io.write_table import write_table
from quorate.skills import centred_score, intervals
from quorate.skills.shrinkage import response_bias
from tests.crowds import answers_of, rows
from tests.skills.interval_samples import METHODS, held


def covered(method: str, shapes: list[tuple[int, int, int]], law: tuple[float, float], trials: int = 1) -> float:
    every: list[bool] = []
    for (n_classes, per_task, n_workers), trial in product(shapes, range(trials)):
        rng = np.random.default_rng([trial, n_classes, per_task, n_workers])
        skills = rng.uniform(*law, n_workers)
        activity = np.exp(rng.uniform(-1.5, 1.0, n_workers))
        n_tasks = 40 * n_workers // per_task
        crowd = simulate.crowd(
            n_tasks, n_workers, per_task, n_classes=n_classes, skills=skills, activity=activity, seed=rng
        )
        every += held(quorate.aggregate(crowd.answers, method).intervals, skills, crowd.answers.per_worker)
    assert len(every) > 4000
    return float(np.mean(every))


@pytest.mark.parametrize("method", ["rank-one", "rank-one-centred"])
def test_intervals_hold_as_often_as_they_say(method: str) -> None:
    """.94 to .965, and .009 for chance: 2.6 standard errors of a share of .95 among 4,000 intervals."""
    shapes = [(2, 3, 500), (4, 5, 300), (10, 10, 200), (2, 10, 30), (4, 3, 30), (10, 5, 30)]
    assert 0.94 - 0.009 <= covered(method, shapes, (0.0, 1.0), trials=4) <= 0.965 + 0.009


@pytest.mark.parametrize("method", ["rank-one", "rank-one-centred"])
def test_intervals_hold_where_all_skills_are_low(method: str) -> None:
    """.92 at the least, and .01 for chance: 2.4 standard errors of a share of .92 among 4,000 intervals."""
    assert covered(method, [(2, 3, 30), (2, 3, 100), (2, 3, 500)], (0.05, 0.6), trials=7) >= 0.92 - 0.01


def test_fast_intervals_hold_less_often_there() -> None:
    """What the inflation is for: without it, one in five is missed."""
    crowd = simulate.crowd(7000, 500, 3, skills=np.random.default_rng(0).uniform(0.05, 0.6, 500), seed=0)
    fast, full = (
        np.mean(held(quorate.aggregate(crowd.answers, "rank-one", intervals=kind).intervals, crowd.skills, 40))
        for kind in ("fast", "full")
    )
    assert fast < 0.85 < 0.92 < full


@pytest.mark.parametrize("name", ["two classes, 7 : 3", "four classes, even"])
def test_the_standard_method_allows_for_response_bias(name: str) -> None:
    """Two crowds of 400: .95 less 1.6 points, two standard errors; one skill per worker does not explain them."""
    found: dict[str, list[bool]] = {method: [] for method in ("rank-one", "rank-one-centred")}
    for seed in range(2):
        crowd = with_response_bias(name, 400, 60, np.random.default_rng(seed))
        for method, kept in found.items():
            sure = quorate.aggregate(crowd.answers, method).intervals
            kept += held(sure, crowd.skills, crowd.answers.per_worker)
    assert np.mean(found["rank-one-centred"]) >= 0.95 - 0.016
    if name.startswith("two"):
        assert np.mean(found["rank-one"]) < 0.92


@pytest.mark.parametrize("name", ["two classes, 9 : 1", "four classes, 7 : 1 : 1 : 1"])
def test_a_rare_class_does_not_make_the_standard_method_too_sure_of_skills(name: str) -> None:
    """The plurality's prior alone holds .82 at 9 : 1. 300 intervals: .95 less two standard errors of 1.3 points.

    Skills are on the scale of the true prior to a tenth, where the plurality's is a fifth off at 9 : 1.
    """
    crowd = with_response_bias(name, 300, 400, np.random.default_rng(0))
    result = quorate.aggregate(crowd.answers, "rank-one-centred")
    assert np.mean(held(result.intervals, crowd.skills, crowd.answers.per_worker)) >= 0.95 - 0.026
    assert abs(float(result.skills @ crowd.skills / (crowd.skills @ crowd.skills)) - 1) < 0.1


@pytest.mark.parametrize("method", ["rank-one", "rank-one-centred"])
def test_gold_counts(method: str) -> None:
    """It narrows the intervals, which hold: two points for chance (600 intervals), one for ends that are averaged."""
    rng = np.random.default_rng(0)
    crowd = simulate.crowd(6000, 600, 3, skills=rng.uniform(0.05, 0.6, 600), seed=rng)
    known = {f"t{t}": f"c{crowd.truth[t]}" for t in range(0, 6000, 2)}
    without, with_gold = (quorate.aggregate(crowd.answers, method, gold=gold).intervals for gold in (None, known))
    assert with_gold.width.mean() < 0.8 * without.width.mean()
    assert np.mean(held(with_gold, crowd.skills, crowd.answers.per_worker)) == pytest.approx(0.95, abs=0.03)


@given(rows())
def test_every_determined_worker_has_an_interval_within_the_range(table: list[tuple[int, str, str]]) -> None:
    answers = answers_of(table)
    for method in METHODS:
        result = quorate.aggregate(answers, method)
        found, known = result.intervals, ~np.isnan(result.skills)
        assert (np.isnan(found.low) == ~known).all()
        lowest = -1 / max(answers.n_classes - 1, 1)
        assert np.all(found.low[known] <= found.high[known])
        assert np.all((found.low[known] >= lowest) & (found.high[known] <= 1))
        assert np.all(found.inflation[known] >= 1)
        assert not np.any(found.standard_error[known] < 0)


@pytest.mark.parametrize("method", METHODS)
def test_a_higher_level_gives_a_wider_interval(method: str) -> None:
    answers = simulate.crowd(300, 12, 4, seed=5).answers
    wide, narrow = (quorate.aggregate(answers, method, level=level).intervals for level in (0.99, 0.8))
    assert np.all((wide.low <= narrow.low) & (narrow.high <= wide.high) & (wide.width > narrow.width))


def test_the_standard_method_has_the_intervals_of_its_first_stage() -> None:
    answers = simulate.crowd(300, 12, 4, n_classes=3, seed=5).answers
    one, two = (quorate.aggregate(answers, method).intervals for method in ("quorate", "rank-one-centred"))
    assert (one.low == two.low).all()
    assert (one.high == two.high).all()


def test_renaming_workers_changes_nothing_else() -> None:
    """Fast intervals; the full ones draw signs task by task, and the order of the tasks is kept here."""
    crowd = simulate.crowd(200, 8, 3, seed=1).answers
    renamed = {f"w{k}": f"v{7 - k}" for k in range(8)}
    table = crowd.to_table().to_pylist()
    other = answers_of([(row["task"], renamed[row["worker"]], row["label"]) for row in table])
    names = [renamed[name] for name in crowd.worker_names.to_pylist()]
    places = [other.worker_names.to_pylist().index(name) for name in names]
    for method, kind in product(METHODS, ("fast", "full")):
        one, two = (quorate.aggregate(each, method, intervals=kind).intervals for each in (crowd, other))  # type: ignore[arg-type]
        assert two.low[places] == pytest.approx(one.low, abs=1e-4)


def test_labels_alone_compute_no_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("nobody asked for intervals")

    monkeypatch.setattr("quorate.result.skill_intervals", refuse)
    answers = simulate.crowd(50, 6, 3, seed=0)
    result = quorate.aggregate(answers.answers)
    assert len(result.labels) == 50
    assert "intervals" not in result.to_dict(workers=False)
    # In larger files than this the summary does not test the workers.
    monkeypatch.setattr("quorate.result.MAX_ANSWERS_CHECKED", 100)
    write_table(answers.answer_table, tmp_path / "answers.csv")
    with pytest.raises(SystemExit) as ended:
        main(["aggregate", str(tmp_path / "answers.csv"), "-o", str(tmp_path / "labels.csv")])
    assert ended.value.code == 0


def test_the_columns_are_null_where_there_is_no_interval() -> None:
    answers = simulate.crowd(60, 6, 3, seed=0).answers
    columns = ["skill_low", "skill_high", "standard_error"]
    for method, kind in (("majority", "auto"), ("kos", "auto"), ("one-coin", "full"), ("rank-one", "none")):
        result = quorate.aggregate(answers, method, intervals=kind)  # type: ignore[arg-type]
        assert [result.workers[name].null_count for name in columns] == [6, 6, 6]
        assert result.to_dict()["intervals"] == {"level": 0.95, "kind": "none"}
    alone = answers_of([*((t, w, "xy"[t % 2]) for t in range(4) for w in "abc"), (9, "d", "x")])
    for method in METHODS:
        assert quorate.aggregate(alone, method).workers["skill_low"].is_null().to_pylist() == [False] * 3 + [True]


@pytest.mark.parametrize("method", METHODS)
def test_large_crowds_get_fast_intervals_and_the_summary_says_so(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = simulate.crowd(60, 6, 3, seed=0).answers
    monkeypatch.setattr(intervals, "AUTO_FULL", answers.n_answers)
    assert quorate.aggregate(answers, method).intervals.kind == "full"
    monkeypatch.setattr(intervals, "AUTO_FULL", answers.n_answers - 1)
    result = quorate.aggregate(answers, method)
    assert result.intervals.kind == "fast"
    assert "0.95 intervals (fast)" in result.summary(verbose=True)
    assert quorate.aggregate(answers, method, intervals="full").intervals.kind == "full"


def test_very_many_workers_get_fast_intervals_from_centred_answers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = simulate.crowd(60, 6, 3, seed=0).answers
    for most, kind in ((6, "full"), (5, "fast")):
        monkeypatch.setattr(centred_score, "AUTO_FULL_WORKERS", most)
        assert quorate.aggregate(answers).intervals.kind == kind
        assert quorate.aggregate(answers, "rank-one").intervals.kind == "full"


def test_among_workers_of_few_answers_fast_intervals_are_as_wide_and_cover_as_often_as_full_ones() -> None:
    crowd = simulate.crowd(2_000, 2_000, 5, seed=3)
    full = quorate.aggregate(crowd.answers, intervals="full").intervals
    fast = quorate.aggregate(crowd.answers, intervals="fast").intervals
    full_held, fast_held = (held(each, crowd.skills, crowd.answers.per_worker) for each in (full, fast))
    assert abs(np.mean(full_held) - np.mean(fast_held)) < 0.01
    assert abs(np.nanmean(full.width) - np.nanmean(fast.width)) < 0.01


def test_classes_count_in_what_an_interval_of_centred_answers_costs() -> None:
    """Ten classes cost what an answer costs anyway, twenty as much again, and so forth."""
    for n_classes, times in ((2, 1), (10, 1), (19, 1), (20, 2), (35, 3)):
        answers = simulate.crowd(100, 6, 3, n_classes=n_classes, seed=0).answers
        assert answers.n_classes == n_classes
        inference = quorate.aggregate(answers, "rank-one-centred").inference
        assert inference is not None
        assert inference.n_answers == times * 300


@pytest.mark.parametrize(
    "options", [{"level": 0.0}, {"level": 1.0}, {"level": 95}, {"level": float("nan")}, {"intervals": "some"}]
)
def test_a_level_or_kind_that_is_none_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"between 0 and 1|'auto', 'full', 'fast' or 'none'"):
        quorate.aggregate(simulate.crowd(20, 5, 3).answers, **options)


def test_the_command_line_takes_level_and_kind(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "answers.csv"
    write_table(simulate.crowd(60, 6, 3, seed=0).answer_table, path)
    with pytest.raises(SystemExit):
        main(["aggregate", str(path), "--json", "--level", "0.8", "--intervals", "fast"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["intervals"] == {"level": 0.8, "kind": "fast"}
    assert all(row["skill_low"] <= row["skill_high"] for row in printed["skills"])
    with pytest.raises(SystemExit) as ended:
        main(["aggregate", str(path), "--level", "95"])
    assert ended.value.code != 0
    assert "between 0 and 1" in capsys.readouterr().err


def test_skills_by_gold_are_agreement_above_guessing_or_above_response_bias() -> None:
    answers = answers_of([(t, "a", "x" if t < 6 else "y") for t in range(8)])
    truth = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    plain, n = gold_skills(answers, truth, centred=False)
    with_bias, _ = gold_skills(answers, truth, centred=True)
    assert (plain[0], n[0]) == (0.5, 8)
    assert with_bias[0] == pytest.approx((0.75 - 0.5) / 0.5)
    assert response_bias(answers).prior.sum() == pytest.approx(1)
