"""Intervals on skills: the score, its inversion, the inflation, and how often they hold."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.cli.app import main
from quorate.errors import OptionError
from quorate.evaluation import simulate
from quorate.evaluation.experiments.coverage import with_habits
from quorate.evaluation.experiments.gold_skills import gold_skills
from quorate.skills.centred import Habits, habits_of
from quorate.uncertainty import CentredInference, OneCoinInference, intervals
from quorate.uncertainty.centred_score import _third_moments, _traces
from quorate.uncertainty.inflation import DRAWN, Curvature, by_task, gram, inflation
from quorate.uncertainty.intervals import Intervals, Score, invert
from quorate.writing.tables import write_table
from tests.crowds import answers_of, rows

METHODS = ("rank-one", "quorate")
Z = 1.959964


def meetings(answers: Answers) -> list[tuple[int, list[tuple[int, int]]]]:
    """The workers and classes of each task."""
    found: dict[int, list[tuple[int, int]]] = {}
    for task, worker, label in zip(answers.task, answers.worker, answers.label, strict=True):
        found.setdefault(int(task), []).append((int(worker), int(label)))
    return sorted(found.items())


# The score


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_one_coin_score_is_that_of_a_loop_over_all_pairs(n_classes: int) -> None:
    crowd = simulate.crowd(40, 8, 4, n_classes=n_classes, seed=n_classes)
    x, m, n = crowd.skills, n_classes, crowd.answers.n_workers
    d, psi, alpha, beta, gamma = np.zeros((5, n))
    for _, there in meetings(crowd.answers):
        for i, mine in there:
            mates = [(j, label) for j, label in there if j != i]
            q2, q3, q4 = (sum(x[j] ** power for j, _ in mates) for power in (2, 3, 4))
            d[i] += q2
            for j, label in mates:
                psi[i] += ((m * (label == mine) - 1) / (m - 1) - x[i] * x[j]) * x[j]
            alpha[i] += (q2 + q2**2 - q4) / (m - 1)
            beta[i] += (m - 2) / (m - 1) * (q3 + q2**2 - q4)
            gamma[i] += q2**2
    found = OneCoinInference(crowd.answers, x, np.ones(n, dtype=bool)).score()
    assert found.raw == pytest.approx(x + psi / d)
    assert found.alpha == pytest.approx(alpha / d**2)
    assert found.beta == pytest.approx(beta / d**2)
    assert found.gamma == pytest.approx(gamma / d**2)


@pytest.mark.parametrize(("m", "u"), [(2, 0.3), (2, -0.4), (3, 0.7), (4, 0.0), (4, 1.0)])
def test_the_variance_of_the_score_is_that_of_every_possible_answer(m: int, u: float) -> None:
    """One task, three workers: sum over all answers by their probability, the true class being the first."""
    x = np.array([0.9, 0.5, 0.2])
    accuracy = [((m - 1) * skill + 1) / m for skill in (u, x[1], x[2])]
    mean = square = 0.0
    for labels in product(range(m), repeat=3):
        chance = np.prod([p if c == 0 else (1 - p) / (m - 1) for p, c in zip(accuracy, labels, strict=True)])
        a = [(m * (labels[0] == label) - 1) / (m - 1) for label in labels[1:]]
        r = (a[0] * x[1] + a[1] * x[2]) / (x[1] ** 2 + x[2] ** 2)
        mean, square = mean + chance * r, square + chance * r**2
    answers = answers_of([(1, w, k) for k, w in enumerate("abc")], classes=list(range(max(m, 3))))
    if m == 2:
        answers = answers_of([(1, w, k % 2) for k, w in enumerate("abc")])
    score = OneCoinInference(answers, x, np.ones(3, dtype=bool)).score()
    assert mean == pytest.approx(u)
    assert score.variance(np.full(3, u))[0] == pytest.approx(square - mean**2)


def test_the_moments_of_habits_are_those_of_every_possible_answer() -> None:
    """E[(z_i · z_j)² | skills u and v], summed over the true class and both answers."""
    rng = np.random.default_rng(0)
    m, u, v = 3, 0.3, 0.2
    mine, theirs, prior = (rng.dirichlet(np.full(m, 5.0)) for _ in range(3))
    second = 0.0
    for g, label, other in product(range(m), repeat=3):
        true = np.eye(m)[g]
        chance = prior[g] * (mine + u * (true - prior))[label] * (theirs + v * (true - prior))[other]
        second += chance * float((np.eye(m)[label] - mine) @ (np.eye(m)[other] - theirs)) ** 2
    matrix = np.diag(theirs) - np.outer(theirs, theirs)
    _, e = _third_moments(mine[None], theirs, prior)
    assert _traces(mine[None], matrix)[0] + u * v * e[0] == pytest.approx(second)


def test_two_mates_add_what_they_say_of_the_truth() -> None:
    """E[(z_i · (e_g - pi))² | skill u] is tr(F_i Pi) + u B_i."""
    rng = np.random.default_rng(1)
    m, u = 4, 0.2
    mine, prior = (rng.dirichlet(np.full(m, 5.0)) for _ in range(2))
    second = sum(
        prior[g]
        * (mine + u * (np.eye(m)[g] - prior))[label]
        * float((np.eye(m)[label] - mine) @ (np.eye(m)[g] - prior)) ** 2
        for g, label in product(range(m), repeat=2)
    )
    b, _ = _third_moments(mine[None], prior, prior)
    assert _traces(mine[None], np.diag(prior) - np.outer(prior, prior))[0] + u * b[0] == pytest.approx(second)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_habits_the_centred_score_is_the_one_coin_score(n_classes: int) -> None:
    """But for what centring takes, one answer in a thousand, and for the classes' shares in the sample, 1 or 2 %."""
    crowd = simulate.crowd(3000, 6, 4, n_classes=n_classes, skills=np.linspace(0.2, 0.8, 6), seed=3)
    even = np.full((6, n_classes), 1 / n_classes)
    habits = Habits(even, even[0], 1 - 1 / n_classes)
    free, gold = np.ones(6, dtype=bool), np.zeros(6, dtype=bool)
    one = OneCoinInference(crowd.answers, crowd.skills, free).score()
    two = CentredInference(crowd.answers, crowd.skills, gold, free, habits, 0.0).score()
    assert two.raw == pytest.approx(one.raw, rel=1e-3)
    for name in ("alpha", "gamma"):
        assert getattr(two, name) == pytest.approx(getattr(one, name), rel=0.03)
    assert two.beta == pytest.approx(one.beta, rel=0.03, abs=0.03 * one.alpha.max())


def against_gold(seed: int, law: tuple[float, float], per_worker: int = 8) -> tuple[simulate.Crowd, quorate.Result]:
    """A thousand workers of few answers who met nobody but gold, by the standard method."""
    rng = np.random.default_rng(seed)
    crowd = simulate.crowd(1000 * per_worker, 1000, 1, skills=rng.uniform(*law, 1000), seed=rng)
    known = {f"t{t}": f"c{c}" for t, c in enumerate(crowd.truth.tolist())}
    return crowd, quorate.aggregate(crowd.answers, "rank-one-centred", gold=known)


def test_what_centring_takes_from_few_answers_is_given_back() -> None:
    """Eight answers: a tenth. The raw skills of 1,000 workers, each known to .33, average to .03 from the truth."""
    crowd, result = against_gold(0, (0.5, 1.0))
    assert result.inference is not None
    off = result.inference.score().raw[:1000] - crowd.skills
    assert abs(off[crowd.answers.per_worker >= 3].mean()) < 0.03
    others = simulate.crowd(3000, 1000, 3, skills=crowd.skills, seed=1)
    found = quorate.aggregate(others.answers, "rank-one-centred").inference
    assert found is not None
    few, many = (
        (found.score().raw - others.skills)[mask].mean()
        for mask in ((others.answers.per_worker < 8) & (others.answers.per_worker > 3), others.answers.per_worker > 10)
    )
    assert abs(few - many) < 0.05  # the scale is common to both; three standard errors of the difference


def test_perfect_workers_who_met_gold_are_not_thought_certain() -> None:
    """Their habit is the share of the classes in eight tasks, which is chance: .95 less 2.6 standard errors, .018."""
    crowd, result = against_gold(2, (0.95, 1.0))
    assert np.mean(held(result.intervals, crowd.skills, crowd.answers.per_worker)) >= 0.95 - 0.018


# Its inversion


def test_the_ends_solve_the_equation() -> None:
    score = Score(*(np.array(each) for each in ([0.3, 0.6], [0.02, 0.03], [0.01, 0.0], [0.02, 0.01])))
    f = np.array([1.0, 1.7])
    for end in invert(score, f, Z, -1.0):
        assert (score.raw - end) ** 2 == pytest.approx(Z**2 * f * score.variance(end))


@pytest.mark.parametrize("right", [0, 3, 9, 10])
def test_against_gold_alone_it_is_wilsons_interval(right: int) -> None:
    n = 10
    answers = answers_of([(t, "a", "x" if t < right else "y") for t in range(n)], classes=["x", "y"])
    found = quorate.aggregate(answers, "rank-one", gold=dict.fromkeys(range(n), "x")).intervals
    p = right / n
    centre, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n * n))
    low, high = ((centre + sign * half) / (1 + Z**2 / n) for sign in (-1, 1))
    assert len(found.low) == 1  # gold has no interval
    assert (found.low[0], found.high[0]) == pytest.approx((2 * low - 1, 2 * high - 1), abs=1e-5)


def test_a_raw_skill_beyond_every_skill_still_has_an_interval() -> None:
    score = Score(*(np.array([value]) for value in (3.0, 0.01, 0.0, 0.01)))
    (low,), (high,) = invert(score, np.ones(1), Z, -1.0)
    assert -1 <= low < high == 1


# The inflation


def dense(score_of: OneCoinInference) -> tuple[FloatArray, FloatArray, FloatArray]:
    """D, the curvature and psi by task, from a double loop."""
    a, x, m = score_of.crowd, score_of.skills, score_of.n_classes
    n = a.n_workers
    d, h, psi = np.zeros(n), np.zeros((n, n)), np.zeros((a.n_tasks, n))
    for task, there in meetings(a):
        for (i, mine), (j, label) in product(there, there):
            if i != j:
                agreed = (m * (mine == label) - 1) / (m - 1)
                d[i] += x[j] ** 2
                h[i, j] += (2 - DRAWN) * x[i] * x[j] - (1 - DRAWN) * agreed
                psi[task, i] += (agreed - x[i] * x[j]) * x[j]
    return d, h, psi


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_inflation_is_that_of_a_dense_solve(n_classes: int) -> None:
    """With the same signs; conjugate gradients stop at a residual of 1 %, so f, a square, is right to 3 %."""
    crowd = simulate.crowd(300, 9, 4, n_classes=n_classes, skills=np.linspace(0.4, 0.9, 9), seed=1)
    inference = OneCoinInference(crowd.answers, crowd.skills, np.arange(9) != 4)
    d, h, psi = dense(inference)
    draws = 40
    signs = 2.0 * np.random.default_rng(7).integers(0, 2, (300, draws), dtype=np.int8) - 1
    b, free = psi.T @ signs, inference.is_free
    moved = np.zeros_like(b)
    moved[free] = np.linalg.solve((np.diag(d) + h)[np.ix_(free, free)], b[free])
    raw, alone = (b - h @ moved) / d[:, None], b / d[:, None]
    slope = (raw * alone).sum(axis=1) / (alone**2).sum(axis=1)
    rest = ((raw - slope[:, None] * alone) ** 2).sum(axis=1) / (draws - 1)
    naive = slope**2 + rest / ((psi**2).sum(axis=0) / d**2)
    assert naive.max() > 1.01  # there is something to see
    assert inference.inflation(draws=draws, seed=7) == pytest.approx(np.clip(naive, 1, 25), rel=0.03)


def test_the_inflation_of_centred_skills_is_that_of_a_dense_solve() -> None:
    """To 3 %, as above."""
    crowd = with_habits("four classes, 7 : 1 : 1 : 1", 10, 120, np.random.default_rng(3))
    inference = quorate.aggregate(crowd.answers, "rank-one-centred").inference
    assert isinstance(inference, CentredInference)
    a, x, f, spread = crowd.answers, inference.skills, inference.habits.frequency, inference.habits.spread
    tried = np.clip(inference.score().raw, -1 / 3, 1) * inference._kept / inference._in_scale
    d, h, psi = np.zeros(10), np.zeros((10, 10)), np.zeros((a.n_tasks, 10))
    for task, there in meetings(a):
        for (i, mine), (j, label) in product(there, there):
            if i != j:
                omega = 1 / (len(there) - 1)
                agreed = float((np.eye(4)[mine] - f[i]) @ (np.eye(4)[label] - f[j])) / spread
                d[i] += omega * x[j] ** 2
                h[i, j] += omega * ((2 - DRAWN) * x[i] * x[j] - (1 - DRAWN) * agreed)
                psi[task, i] += omega * (agreed - tried[i] * x[j]) * x[j]
    signs = 2.0 * np.random.default_rng(7).integers(0, 2, (a.n_tasks, 40), dtype=np.int8) - 1
    b = psi.T @ signs
    moved = np.linalg.solve(np.diag(d + inference.ridge) + h, b)
    raw, alone = (b - h @ moved) / d[:, None], b / d[:, None]
    slope = (raw * alone).sum(axis=1) / (alone**2).sum(axis=1)
    rest = ((raw - slope[:, None] * alone) ** 2).sum(axis=1) / 39
    naive = slope**2 + rest / ((psi**2).sum(axis=0) / d**2)
    assert inference.is_free.all()
    assert naive.max() > 1.1
    assert inference.inflation(draws=40, seed=7) == pytest.approx(np.clip(naive, 1, 25), rel=0.03)


def test_a_product_with_the_curvature_is_that_of_the_dense_matrix() -> None:
    """In one block and in many, the tasks without answers among them."""
    crowd = simulate.crowd(5000, 7, 3, seed=2)
    found = []
    for n_tasks in (5000, 5003):
        per_task = np.append(crowd.answers.per_task, np.zeros(n_tasks - 5000, np.int64))
        rows_of = by_task(crowd.answers.worker, np.ones(15_000), per_task, 7)
        found.append(gram([(rows_of, np.full(n_tasks, 0.5))], n_tasks) @ np.eye(7))
    whole = 0.5 * (rows_of.T @ rows_of).toarray()
    assert len(gram([(rows_of, np.ones(5003))], 5003).blocks) == 3
    assert found[0] == pytest.approx(whole - np.diag(np.diag(whole)))
    assert found[1] == pytest.approx(found[0])


def test_mates_who_know_nothing_more_make_no_difference() -> None:
    """Workers who met gold alone move as if alone: f = 1."""
    crowd = simulate.crowd(200, 5, 1, seed=0)
    gold = dict(zip(crowd.truth_table["task"].to_pylist(), crowd.truth_table["label"].to_pylist(), strict=True))
    for method in METHODS:
        found = quorate.aggregate(crowd.answers, method, gold=gold).intervals
        assert found.inflation == pytest.approx(np.ones(5))


def test_a_direction_that_the_data_do_not_determine_is_given_up() -> None:
    """Two workers who met each other alone: their ratio is free, and f stays within its limit."""
    pair = gram([(sparse.csr_array(np.ones((1, 2))), np.array([1.0]))], 1)
    pulls = sparse.csr_array(np.array([[1.0, -1.0]]))
    f = inflation(Curvature(np.ones(2), pair, np.ones(2, dtype=bool)), pulls, draws=10, seed=0)
    assert np.all((f >= 1) & (f <= 25))


# How often they hold


def held(found: Intervals, skills: FloatArray, n_answers: Any) -> list[bool]:
    counted = (n_answers >= 5) & ~np.isnan(found.low)
    kept: list[bool] = ((found.low <= skills) & (skills <= found.high))[counted].tolist()
    return kept


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
def test_the_standard_method_allows_for_habits(name: str) -> None:
    """Two crowds of 400: .95 less 1.6 points, two standard errors; one skill a worker does not explain such crowds."""
    found: dict[str, list[bool]] = {method: [] for method in ("rank-one", "rank-one-centred")}
    for seed in range(2):
        crowd = with_habits(name, 400, 60, np.random.default_rng(seed))
        for method, kept in found.items():
            sure = quorate.aggregate(crowd.answers, method).intervals
            kept += held(sure, crowd.skills, crowd.answers.per_worker)
    assert np.mean(found["rank-one-centred"]) >= 0.95 - 0.016
    if name.startswith("two"):
        assert np.mean(found["rank-one"]) < 0.92


@pytest.mark.parametrize("method", ["rank-one", "rank-one-centred"])
def test_gold_counts(method: str) -> None:
    """It narrows the intervals, which hold as before: 600 of them, so two points and a half for chance."""
    rng = np.random.default_rng(0)
    crowd = simulate.crowd(6000, 600, 3, skills=rng.uniform(0.05, 0.6, 600), seed=rng)
    known = {f"t{t}": f"c{crowd.truth[t]}" for t in range(0, 6000, 2)}
    without, with_gold = (quorate.aggregate(crowd.answers, method, gold=gold).intervals for gold in (None, known))
    assert with_gold.width.mean() < 0.8 * without.width.mean()
    assert np.mean(held(with_gold, crowd.skills, crowd.answers.per_worker)) == pytest.approx(0.95, abs=0.025)


# What comes out


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
        one, two = (quorate.aggregate(each, method, intervals=kind).intervals for each in (crowd, other))
        assert two.low[places] == pytest.approx(one.low, abs=1e-4)


def test_labels_alone_compute_no_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("nobody asked for intervals")

    monkeypatch.setattr("quorate.result.skill_intervals", refuse)
    answers = simulate.crowd(50, 6, 3, seed=0)
    result = quorate.aggregate(answers.answers)
    assert len(result.labels) == 50
    assert "interval" not in result.summary()
    assert "intervals" not in result.to_dict(workers=False)
    write_table(answers.answer_table, tmp_path / "answers.csv")
    with pytest.raises(SystemExit) as ended:
        main(["aggregate", str(tmp_path / "answers.csv"), "-o", str(tmp_path / "labels.csv")])
    assert ended.value.code == 0


def test_the_columns_are_null_where_there_is_no_interval() -> None:
    answers = simulate.crowd(60, 6, 3, seed=0).answers
    columns = ["skill_low", "skill_high", "standard_error"]
    for method, kind in (("majority", "auto"), ("kos", "auto"), ("one-coin", "full"), ("rank-one", "none")):
        result = quorate.aggregate(answers, method, intervals=kind)
        assert [result.workers[name].null_count for name in columns] == [6, 6, 6]
        assert result.to_dict()["intervals"] == {"level": 0.95, "kind": "none"}
    alone = answers_of([*((t, w, "xy"[t % 2]) for t in range(4) for w in "abc"), (9, "d", "x")])
    for method in METHODS:
        assert quorate.aggregate(alone, method).workers["skill_low"].is_null().to_pylist() == [False] * 3 + [True]


def test_large_crowds_get_fast_intervals_and_the_summary_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = simulate.crowd(60, 6, 3, seed=0).answers
    assert quorate.aggregate(answers).intervals.kind == "full"
    monkeypatch.setattr(intervals, "AUTO_FULL", answers.n_answers - 1)
    result = quorate.aggregate(answers)
    assert "interval" not in result.summary()
    assert result.intervals.kind == "fast"
    assert "0.95 intervals, fast" in result.summary()
    assert quorate.aggregate(answers, intervals="full").intervals.kind == "full"


@pytest.mark.parametrize(
    "options", [{"level": 0.0}, {"level": 1.0}, {"level": 95}, {"level": float("nan")}, {"intervals": "some"}]
)
def test_a_level_or_kind_that_is_none_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"between 0 and 1|auto, full, fast, none"):
        quorate.aggregate(simulate.crowd(20, 5, 3).answers, **options)


def test_the_command_line_takes_level_and_kind(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "answers.csv"
    write_table(simulate.crowd(60, 6, 3, seed=0).answer_table, path)
    with pytest.raises(SystemExit):
        main(["aggregate", str(path), "--json", "--level", "0.8", "--intervals", "fast"])
    told = json.loads(capsys.readouterr().out)
    assert told["intervals"] == {"level": 0.8, "kind": "fast"}
    assert all(row["skill_low"] <= row["skill_high"] for row in told["skills"])
    with pytest.raises(SystemExit) as ended:
        main(["aggregate", str(path), "--level", "95"])
    assert ended.value.code != 0
    assert "between 0 and 1" in capsys.readouterr().err


def test_skills_by_gold_are_agreement_above_guessing_or_above_habit() -> None:
    answers = answers_of([(t, "a", "x" if t < 6 else "y") for t in range(8)])
    truth = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    plain, n = gold_skills(answers, truth, centred=False)
    habitual, _ = gold_skills(answers, truth, centred=True)
    assert (plain[0], n[0]) == (0.5, 8)
    assert habitual[0] == pytest.approx((0.75 - 0.5) / 0.5)
    assert habits_of(answers).prior.sum() == pytest.approx(1)
