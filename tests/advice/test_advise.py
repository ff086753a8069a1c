"""Advice: what an answer tells, who is asked, what is repaired, when to stop, and skills that stay unbiased."""

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from quorate.advice import adaptive_skills, advise
from quorate.advice.adaptive import likelihood_intervals
from quorate.advice.belief import believe
from quorate.advice.coins import fit_coins, judge, log_likelihood, without_own
from quorate.advice.crew import gather_crew
from quorate.advice.information import entropy, expected_gain, plan
from quorate.advice.joints import joints
from quorate.advice.stopping import Drift, answers_until, drift, need
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.cli.advise import advise as command
from quorate.errors import InputError, OptionError, QuorateError
from quorate.evaluation.experiments.collection import ADVICE, ask, collect_by
from quorate.evaluation.simulate import collect, crowd
from quorate.meetings.graph import identify
from quorate.meetings.repair import repair
from quorate.methods.rank_one import rank_one
from quorate.voting.em import expectation_maximisation
from quorate.voting.vote import accuracy, majority
from tests.crowds import answers_of, rows

probabilities = st.floats(0.01, 0.99)


def posteriors(n: int, m: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.7), n)


def after_each_answer(q: FloatArray, p: float) -> tuple[FloatArray, FloatArray]:
    """The probability of each answer of a worker of accuracy p, and the posterior that follows it."""
    m = len(q)
    likelihood = np.full((m, m), (1 - p) / (m - 1)) + np.eye(m) * (p - (1 - p) / (m - 1))  # answer × class
    joint = likelihood * q
    return joint.sum(axis=1), joint / joint.sum(axis=1, keepdims=True)


# --- what an answer tells ---


@given(st.integers(2, 5), probabilities, st.integers(0, 1000))
def test_the_gain_is_the_mean_fall_of_the_entropy_over_the_answers(m: int, p: float, seed: int) -> None:
    q = posteriors(1, m, seed)[0]
    probability, then = after_each_answer(q, p)
    naive = entropy(q) - probability @ entropy(then)
    assert expected_gain(q, np.array(p)) == pytest.approx(naive, abs=1e-12)


@given(st.integers(2, 5), st.integers(0, 1000))
def test_the_gain_rises_with_accuracy_above_guessing(m: int, seed: int) -> None:
    q = posteriors(1, m, seed)[0]
    gains = expected_gain(q[None], np.linspace(1 / m, 1, 40))
    assert gains[0] == pytest.approx(0, abs=1e-12)
    assert np.all(np.diff(gains) >= -1e-12)
    assert gains[-1] == pytest.approx(entropy(q))  # who is never wrong tells everything


def test_what_a_second_answer_is_taken_to_tell_is_near_what_it_tells() -> None:
    """The share rule against the exact sum over first answers: on average a tenth off, measured; a fifth is allowed."""
    exact, ruled = [], []
    for seed, (m, p) in enumerate(product((2, 4), (0.6, 0.75, 0.9))):
        for q in posteriors(50, m, seed):
            probability, then = after_each_answer(q, p)
            first = float(expected_gain(q, np.array(p)))
            exact.append(float(probability @ expected_gain(then, np.full(m, p))))
            ruled.append(first * (1 - first / float(entropy(q))))
    assert np.abs(np.array(ruled) - exact).mean() < 0.2 * np.mean(exact)


# --- who is asked ---


def naive_plan(answers: Answers, wanted: list[int], order: list[int], room: dict[int, int]) -> set[tuple[int, int]]:
    """Each task in turn chooses the best worker who is left and has not answered it."""
    met = set(zip(answers.task.tolist(), answers.worker.tolist(), strict=True))
    chosen = set()
    for task in wanted:
        worker = next((w for w in order if room[w] > 0 and (task, w) not in met), None)
        if worker is not None:
            met.add((task, worker))
            chosen.add((task, worker))
            room[worker] -= 1
    return chosen


@pytest.mark.parametrize("seed", range(12))
def test_the_plan_is_what_each_task_would_choose_in_turn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_tasks, n_workers = int(rng.integers(5, 30)), int(rng.integers(4, 10))
    answers = crowd(n_tasks, n_workers, int(rng.integers(1, 4)), seed=seed).answers
    q, p = posteriors(n_tasks, 2, seed), rng.uniform(0.55, 0.95, n_workers)
    per_worker, budget = int(rng.integers(1, 8)), int(rng.integers(1, n_tasks))
    crew = gather_crew(answers, budget, per_worker=per_worker)
    found = plan((answers.task, answers.worker), q, p, crew, budget, np.ones(n_tasks, dtype=bool))
    order = np.argsort(-p, kind="stable").tolist()
    once = expected_gain(q, np.full(1, p[order[0]]))
    left = 1 - once / entropy(q)
    most = n_workers - answers.per_task
    entries = sorted((-once[t] * left[t] ** k, t) for t in range(n_tasks) for k in range(most[t]))
    room = dict.fromkeys(order, per_worker)
    naive = naive_plan(answers, [t for _, t in entries[:budget]], order, room)
    got = set(zip(found.task.tolist(), found.worker.tolist(), strict=True))
    if len(naive) == budget:
        assert got == naive
    else:  # some task found nobody: others are asked instead
        assert naive <= got or len(got) >= len(naive)
    assert len(got) == len(found)


@given(rows(max_classes=3), st.integers(1, 30), st.none() | st.integers(1, 4), st.booleans())
@settings(max_examples=60)
def test_nobody_is_asked_twice_or_too_often(
    table: list[tuple[int, str, str]], budget: int, per_worker: int | None, strangers: bool
) -> None:
    answers = answers_of(table, classes=["a", "b", "c", "d"])
    available = [*answers.worker_names.to_pylist()[::2], *(["new1", "new2"] if strangers else [])]
    try:
        advice = advise(answers, budget, workers=available, per_worker=per_worker)
    except OptionError:  # nobody is left to ask
        left = set(product({task for task, _, _ in table}, available)) - {(task, who) for task, who, _ in table}
        assert not left or strangers is False
        return
    found = advice.assignments.to_pylist()
    pairs = [(row["task"], row["worker"]) for row in found]
    assert len(set(pairs)) == len(pairs) <= budget
    assert not set(pairs) & {(task, worker) for task, worker, _ in table}
    asked = [worker for _, worker in pairs]
    assert set(asked) <= set(available)
    if per_worker is not None:
        assert max(map(asked.count, asked), default=0) <= per_worker
    assert all((row["gain"] is None) == (row["reason"] != "information") for row in found)


@pytest.mark.parametrize("budget", [30, 300, 2000])
def test_by_default_no_load_exceeds_twice_the_mean(budget: int) -> None:
    answers = crowd(100, 20, 3, seed=0).answers
    advice = advise(answers, budget)
    load = answers.per_worker + np.bincount(advice.worker, minlength=20)
    within = load <= np.ceil(2 * (answers.n_answers + budget) / 20)
    assert np.all(within | (load == answers.per_worker))


def test_a_budget_beyond_the_tasks_gives_the_doubtful_ones_several() -> None:
    answers = crowd(50, 20, 2, seed=3).answers
    advice = advise(answers, 120)
    times = np.bincount(advice.task, minlength=50)
    assert advice.n_assignments == 120
    doubt = entropy(advice.posterior)
    assert times[doubt > np.quantile(doubt, 0.8)].mean() > times[doubt < np.quantile(doubt, 0.2)].mean()
    assert np.all(np.diff(advice.gain) <= 1e-12)  # the best first


def test_of_two_alike_the_cheaper_is_asked_and_the_dear_one_if_worth_it() -> None:
    answers = crowd(40, 6, 3, seed=1).answers
    known = accuracy(np.array([0.5, 0.5, 0.9, 0.2, 0.2, 0.2]), 2)

    def first(costs: list[float]) -> int:
        table = {"worker": answers.worker_names, "cost": costs}
        crew = gather_crew(answers, 4, workers=table, per_worker=40, cost="cost")
        even = np.full((40, 2), 0.5)
        done = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        return int(np.bincount(plan(done, even, known, crew, 4, np.ones(40, dtype=bool)).worker).argmax())

    gain = expected_gain(np.array([0.5, 0.5]), known)
    assert first([2, 1, 100, 1, 1, 1]) == 1
    assert first([2, 1, 0.9 * gain[2] / gain[1], 9, 9, 9]) == 2
    assert first([2, 1, 1.1 * gain[2] / gain[1], 9, 9, 9]) == 1


def test_newcomers_have_the_mean_skill_and_can_be_asked() -> None:
    answers = crowd(60, 8, 4, seed=2).answers
    advice = advise(answers, 10, workers=["w0", "someone new"])
    assert advice.crew.names.to_pylist()[-1] == "someone new"
    known = advice.skills[:8]
    assert known.min() < advice.skills[-1] < known.max()
    assert set(advice.assignments["worker"].to_pylist()) <= {"w0", "someone new"}


def test_the_same_input_gives_the_same_advice_and_known_tasks_are_left_alone() -> None:
    simulated = crowd(80, 10, 3, seed=4)
    gold = {f"t{k}": f"c{simulated.truth[k]}" for k in range(20)}
    one, two = (advise(simulated.answers, 300, gold=gold) for _ in range(2))
    assert one.assignments == two.assignments
    asked = {row["task"] for row in one.assignments.to_pylist() if row["reason"] == "information"}
    assert not asked & set(gold)
    assert one.need.error[:20].max() == 0


# --- repair ---


def sparse_cells(rng: np.random.Generator) -> tuple[set[tuple[int, int]], int, int]:
    n_workers, n_tasks = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    cells = {(int(rng.integers(n_tasks)), w) for w in range(n_workers)}
    return cells | {(t, int(rng.integers(n_workers))) for t in range(n_tasks)}, n_tasks, n_workers


def coded(cells: set[tuple[int, int]], n_tasks: int, n_workers: int) -> Answers:
    task, worker = (np.array(column) for column in zip(*sorted(cells), strict=True))
    return collect(task, worker, task % 2, np.arange(n_tasks) % 2, np.ones(n_workers), 2).answers


def is_whole(answers: Answers) -> bool:
    verdict = identify(answers)
    parts = np.unique(verdict.component[answers.worker])
    return len(parts) == 1 and bool(verdict.identifiable[parts[0]])


@pytest.mark.parametrize("block", range(4))
def test_the_repair_is_the_smallest_that_those_available_can_make(block: int) -> None:
    """200 tiny crowds, some workers away and some new, against every smaller set of assignments."""
    rng = np.random.default_rng(block)
    for _ in range(50):
        cells, n_tasks, n_workers = sparse_cells(rng)
        everyone = n_workers + int(rng.integers(0, 2))
        available = rng.permutation(everyone)[: int(rng.integers(1, everyone + 1))]
        answers = coded(cells, n_tasks, n_workers)
        found = repair(answers, identify(answers), available=available)
        added = set(zip(found.task.tolist(), found.worker.tolist(), strict=True))
        free = set(product(range(n_tasks), available.tolist())) - cells
        if found.possible:
            assert added <= free
            assert is_whole(coded(cells | added, n_tasks, everyone))
        sizes = range(found.n_answers) if found.possible else range(5)
        assert not any(
            is_whole(coded(cells | set(some), n_tasks, everyone)) for k in sizes for some in combinations(free, k)
        )


def naive_joints(answers: Answers, most: int) -> dict[tuple[int, ...], int]:
    """Take out each worker in turn, and look at what the rest falls into."""
    everyone = set(answers.worker.tolist())
    graph = nx.Graph((("w", w), ("t", t)) for t, w in zip(answers.task.tolist(), answers.worker.tolist(), strict=True))
    found = {}
    for v in everyone:
        left = graph.copy()
        left.remove_node(("w", v))
        own = {t for t in answers.task[answers.worker == v].tolist() if answers.per_task[t] > 1}
        for piece in nx.connected_components(left):
            group = {node for kind, node in piece if kind == "w"}
            rest = everyone - group - {v}
            inside = sum(("t", t) in piece for t in own)
            outside = len(own) - inside
            if min(len(group), len(rest)) < 2 or min(inside, outside) >= most:
                continue
            smaller = (group, inside, outside) if len(group) <= len(rest) else (rest, outside, inside)
            members, near, far = smaller
            found[tuple(sorted(members | {v} if near >= far else members))] = min(near, far)
    return found


def connected_crowd(rng: np.random.Generator) -> Answers:
    n_workers, n_tasks = int(rng.integers(4, 14)), int(rng.integers(3, 20))
    cells = {(int(rng.integers(n_tasks)), w) for w in range(n_workers)}
    cells |= {(int(rng.integers(n_tasks)), int(rng.integers(n_workers))) for _ in range(int(rng.integers(0, 30)))}
    while True:
        answers = coded(cells, n_tasks, n_workers)
        component = identify(answers).component
        if component.max() == 0:
            return answers
        home = answers.task[component[answers.worker] == 0]
        cells.add((int(home[0]), int(np.flatnonzero(component == 1)[0])))


def test_joints_are_the_workers_whose_leaving_would_part_the_crowd() -> None:
    rng = np.random.default_rng(0)
    n_found = 0
    for _ in range(150):
        answers = connected_crowd(rng)
        most = int(rng.integers(1, 20))
        found = {tuple(each.members.tolist()): each.shared for each in joints(answers, most)}
        assert found == naive_joints(answers, most)
        n_found += len(found)
    assert n_found > 50


def two_groups(rng: np.random.Generator, sign: float) -> Any:
    """Ten good workers on 170 tasks, and five, good or contrary, on 60 others; they share nothing."""
    skills = np.concatenate([rng.uniform(0.4, 0.9, 10), sign * rng.uniform(0.4, 0.9, 5)])
    worker = [rng.choice(np.arange(10) if t < 170 else np.arange(10, 15), 3, replace=False) for t in range(230)]
    truth = rng.integers(0, 2, 230)
    empty = np.zeros(0, np.int64)
    return ask(
        collect(empty, empty, empty, truth, skills, 2), np.repeat(np.arange(230), 3), np.concatenate(worker), rng
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_repair_comes_first_and_then_enough_shared_tasks_to_settle_the_sign(sign: float) -> None:
    right = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        simulated = two_groups(rng, sign)
        advice = advise(simulated.answers, 120)
        kinds = [reason.split(":")[0] for reason in advice.assignments["reason"].to_pylist()]
        n = len(advice.reasons)
        assert kinds == ["repair"] + ["settle"] * (n - 1) + ["information"] * (120 - n)
        assert 10 < n <= 101
        joined = ask(simulated, advice.task[:n], advice.worker[:n], rng)
        skills = adaptive_skills(joined.answers).skills
        right += bool(np.sign(skills[10:].sum()) == sign and skills[:10].sum() > 0)
    assert right >= 5  # of six; a coin would be right in three


def test_settling_goes_on_in_the_next_call_and_comes_to_an_end() -> None:
    rng = np.random.default_rng(0)
    simulated, used = two_groups(rng, 1.0), 0
    for _ in range(12):
        advice = advise(simulated.answers, 15)
        n = len(advice.reasons)
        if n == 0:
            break
        used += n
        simulated = ask(simulated, advice.task[:n], advice.worker[:n], rng)
    assert n == 0
    assert 15 < used <= 101


def test_few_threes_in_a_crowd_of_two_sides_are_added_to() -> None:
    """Every task joins one of a, b with one of x, y, but for one that three answered: the scale hangs by that one."""
    rng = np.random.default_rng(0)
    table = [(t, w, "lr"[(t + (rng.random() < 0.2)) % 2]) for t in range(80) for w in ("ab"[t % 2], "xy"[t // 2 % 2])]
    answers = answers_of([*table, (0, "b", "l")])
    advice = advise(answers, 100)
    scale = [row for row in advice.assignments.to_pylist() if row["reason"] == "settle: scale, by a third answer"]
    assert 10 <= len(scale) <= 80
    assert len({row["task"] for row in scale}) == len(scale)
    more = answers_of([*table, *((t, "ba"[t % 2], "lr"[t % 2]) for t in range(80))])  # three answers to every task
    assert not advise(more, 10).reasons


# --- when to stop ---


def test_at_the_target_nothing_is_advised_and_the_summary_says_so() -> None:
    simulated = crowd(60, 8, 7, skills=np.full(8, 0.8), seed=0)
    advice = advise(simulated.answers, 50, target_error=0.2)
    assert advice.stops
    assert advice.n_assignments == 0
    assert advice.summary().startswith("stop: the expected error of all labels is")
    assert not advise(simulated.answers, 50).stops
    assert advise(simulated.answers, 50).n_assignments == 50


def test_tasks_that_are_sure_enough_are_not_asked_and_no_more_than_needed_are() -> None:
    answers = crowd(200, 20, 3, seed=5).answers
    advice = advise(answers, 5000, target_error=0.05)
    assert not advice.need.reached
    assert 0 < advice.n_assignments == int(np.ceil(advice.need.whole)) < 5000
    assert not advice.need.settled[advice.task].any()
    sure = 1 - advice.posterior.max(axis=1) <= 0.05
    assert np.array_equal(advice.need.settled, sure)
    assert np.all(advice.need.further[~sure] >= 1)
    assert "fewer than the budget" in advice.summary()


@pytest.mark.parametrize(("m", "p"), [(2, 0.7), (2, 0.85), (4, 0.6)])
def test_the_number_of_answers_a_task_needs_is_about_right(m: int, p: float) -> None:
    """Against tasks answered one by one until they are sure, from a tie; Wald's formula is good to a quarter here."""
    rng = np.random.default_rng(0)
    vote = np.log((m - 1) * p / (1 - p))
    counts = []
    for _ in range(1500):
        scores = np.zeros(m)
        n = 0
        while True:
            q = np.exp(scores - scores.max())
            if 1 - q.max() / q.sum() <= 0.05:
                break
            scores[0 if rng.random() < p else rng.integers(1, m)] += vote
            n += 1
        counts.append(n)
    pace = drift(np.array([p]), np.array([1e9]), np.ones(1), m)
    assert answers_until(np.full((1, m), 1 / m), pace, 0.05)[0] == pytest.approx(np.mean(counts), rel=0.25)


def test_the_drift_is_its_mean_over_what_the_accuracy_may_be() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(6 * 0.7, 6 * 0.3, 400_000)
    a = (1 - p) / 2
    found = drift(np.array([0.7]), np.array([6.0]), np.ones(1), 3)
    assert found.rate == pytest.approx(((p - a) * np.log(p / a)).mean(), rel=0.01)  # the sample's own error is 0.3 %
    assert found.vote == pytest.approx(np.log(p / a).mean(), rel=0.01)


@given(st.integers(0, 1000), st.floats(0.01, 0.3))
def test_the_whole_set_needs_less_than_each_task_for_itself(seed: int, target: float) -> None:
    q = posteriors(30, 2, seed)
    found = need(q, Drift(0.8, 1.4), target)
    assert found.reached == (found.whole == 0)
    assert found.whole <= found.further.sum() + 1e-9
    assert np.array_equal(found.settled, 1 - q.max(axis=1) <= target)


def test_a_worker_who_has_answered_the_doubtful_tasks_is_not_sent_to_the_sure_ones() -> None:
    answers = crowd(100, 12, 3, seed=1).answers
    advice = advise(answers, 1000, workers=["w0"], target_error=0.05, per_worker=1000)
    open_to = ~advice.need.settled
    open_to[answers.task[answers.worker == 0]] = False
    assert np.array_equal(np.sort(advice.task), np.flatnonzero(open_to))
    assert "could be assigned" in advice.summary()


def test_the_expected_error_is_near_the_error() -> None:
    """Over twenty crowds of 200 tasks: the standard error of the mean gap is about .006."""
    gaps = []
    for seed in range(20):
        simulated = crowd(200, 20, 3, seed=seed)
        advice = advise(simulated.answers, 1)
        gaps.append(np.mean(advice.posterior.argmax(axis=1) != simulated.truth) - advice.need.expected_error)
    assert abs(np.mean(gaps)) < 0.025


# --- skills after adaptive collection ---


@pytest.mark.parametrize("m", [2, 4])
def test_the_fit_is_the_one_coin_em_of_the_baselines(m: int) -> None:
    answers = crowd(300, 12, 4, n_classes=m, seed=m).answers
    ours = fit_coins(answers, None, identify(answers), tolerance=1e-11, max_iterations=5000)
    start = majority(answers).posterior
    theirs = expectation_maximisation(answers, start, one_coin=True, tolerance=1e-12, max_iterations=5000)
    assert ours.accuracy == pytest.approx(theirs.accuracy, abs=1e-6)  # both stop that near the same point
    assert log_likelihood(answers, ours.accuracy, None) == pytest.approx(theirs.log_likelihoods[-1], rel=1e-6)


def test_drawn_to_the_mean_each_accuracy_counts_the_mean_as_so_many_answers() -> None:
    answers = crowd(60, 8, 3, seed=2).answers
    found = fit_coins(answers, None, identify(answers), strength=5.0, tolerance=1e-12, max_iterations=5000)
    p = found.accuracy
    votes = np.zeros((60, 2))
    np.add.at(votes, (answers.task, answers.label), np.log(p / (1 - p))[answers.worker])
    q = np.exp(votes) / np.exp(votes).sum(axis=1, keepdims=True)
    right = np.bincount(answers.worker, q[answers.task, answers.label], 8)
    assert p == pytest.approx((right + 5 * right.sum() / answers.n_answers) / (answers.per_worker + 5), abs=1e-9)


def test_a_fit_that_starts_with_everyone_contrary_ends_the_right_way_up() -> None:
    answers = crowd(200, 9, 4, skills=np.full(9, 0.6), seed=0).answers
    up, down = (fit_coins(answers, None, identify(answers), start=np.full(9, p)).accuracy for p in (0.75, 0.25))
    assert up.min() > 0.5
    assert down == pytest.approx(up, abs=1e-3)  # both have stopped within the tolerance of the same point


def test_gold_counts_in_the_fit_as_in_the_baselines() -> None:
    simulated = crowd(100, 8, 3, seed=5)
    known = np.where(np.arange(100) < 30, simulated.truth, -1)
    answers = simulated.answers
    verdict = judge(answers.with_worker(known), 8)
    ours = fit_coins(answers, known, verdict, tolerance=1e-11, max_iterations=5000)
    start = majority(answers).posterior
    theirs = expectation_maximisation(answers, start, one_coin=True, gold=known, tolerance=1e-12, max_iterations=5000)
    assert ours.accuracy == pytest.approx(theirs.accuracy, abs=1e-6)


def test_a_single_answer_changes_no_skill_and_no_interval() -> None:
    """The likelihood of a task with one answer is 1/M, whoever gave it."""
    simulated = crowd(100, 8, 3, seed=6)
    a = simulated.answers
    table = a.to_table().to_pylist()
    more = [*table, *({"task": f"extra{k}", "worker": "w1", "label": "c0"} for k in range(20))]
    with_singles = answers_of([(row["task"], row["worker"], row["label"]) for row in more])
    one, two = adaptive_skills(a), adaptive_skills(with_singles)
    place = [with_singles.worker_names.to_pylist().index(name) for name in a.worker_names.to_pylist()]
    for name in ("skills", "low", "high"):
        assert getattr(one, name) == pytest.approx(getattr(two, name)[place], abs=1e-6)


@pytest.mark.parametrize("m", [2, 3])
def test_the_probability_without_a_workers_own_answer_is_that_of_the_others(m: int) -> None:
    answers = crowd(40, 6, 3, n_classes=m, seed=m).answers
    p = np.random.default_rng(0).uniform(0.3, 0.99, 6)
    found = without_own(answers, p, None)
    for k in range(answers.n_answers):
        others = np.flatnonzero((answers.task == answers.task[k]) & (np.arange(answers.n_answers) != k))
        q = np.ones(m)
        for other in others:
            own = p[answers.worker[other]]
            q *= np.where(np.arange(m) == answers.label[other], own, (1 - own) / (m - 1))
        assert found[k] == pytest.approx(q[answers.label[k]] / q.sum(), abs=1e-12)


def test_an_interval_holds_exactly_what_is_likely_enough() -> None:
    """Against the likelihood on a fine grid."""
    answers = crowd(80, 6, 3, n_classes=3, seed=1).answers
    p = fit_coins(answers, None, identify(answers)).accuracy
    low, high = likelihood_intervals(answers, p, None, 3.841)
    q = without_own(answers, p, None)
    grid = np.linspace(0.0005, 0.9995, 2000)
    for worker in range(6):
        own = q[answers.worker == worker][:, None]
        likelihood = np.log(own * grid + (1 - own) * (1 - grid) / 2).sum(axis=0)
        likely = grid[2 * (likelihood.max() - likelihood) <= 3.841]
        assert (low[worker], high[worker]) == pytest.approx((likely[0], likely[-1]), abs=0.001)  # two steps of the grid


def test_a_crowd_that_is_mostly_contrary_is_turned_by_gold_only() -> None:
    simulated = crowd(200, 9, 4, skills=np.full(9, -0.6), seed=0)
    assert adaptive_skills(simulated.answers).skills.min() > 0  # the sum of skills is taken to be positive
    gold = {f"t{k}": f"c{simulated.truth[k]}" for k in range(60)}
    assert adaptive_skills(simulated.answers, gold=gold).skills.max() < 0


def test_who_is_not_determined_has_no_skill_and_counts_as_the_mean() -> None:
    triangle = [(f"t{t}", w, "xy"[(t * k) % 2]) for t in range(12) for k, w in enumerate("abc")]
    answers = answers_of([*triangle, *((f"u{t}", "z", "x") for t in range(9))])
    found = adaptive_skills(answers)
    assert np.isnan([found.skills[3], found.low[3], found.high[3]]).all()
    belief = believe(answers, answers, None, identify(answers))
    assert belief.accuracy[3] == pytest.approx(belief.mean)


def test_an_answer_counts_as_much_as_it_tells_of_its_worker() -> None:
    simulated = crowd(400, 5, 3, skills=np.full(5, 0.6), seed=0)
    table = [(row["task"], row["worker"], row["label"]) for row in simulated.answers.to_table().to_pylist()]
    answers = answers_of([*table, *((f"extra{k}", "w1", "c0") for k in range(30))])
    whole = believe(answers, answers, None, identify(answers))
    told = whole.answers - whole.strength
    assert np.all(told <= answers.per_worker)
    w1 = answers.worker_names.to_pylist().index("w1")
    assert told[w1] < answers.per_worker[w1] - 30 + 1e-9  # thirty tasks that nobody else answered tell nothing
    gold = simulated.answers.with_worker(simulated.truth)
    known = believe(simulated.answers, gold, simulated.truth, judge(gold, 5))
    # With every label known an answer is an answer; the two kinds, right and wrong, average out to one.
    assert known.answers - known.strength == pytest.approx(simulated.answers.per_worker, rel=0.2)


def test_after_advice_the_likelihood_is_unbiased_and_agreement_is_not() -> None:
    """Four collections, 160 workers: the standard error of a mean bias is about .015, of a coverage .018."""
    biases, pairwise, held, gaps = [], [], [], []
    for seed in range(4):
        trace = collect_by(ADVICE, 2, seed, batch=100, most=1500, after=1500, target=0.05)
        truth = trace.at_the_end.skills
        found = adaptive_skills(trace.at_the_end.answers)
        biases.append(found.skills - truth)
        pairwise.append(rank_one(trace.at_the_end.answers).skills - truth)
        held.append((found.low <= truth) & (truth <= found.high))
        assert trace.heaviest <= 2.1
        gaps.append(trace.error - trace.expected)
    assert abs(np.mean(biases)) < 0.06
    assert np.nanmean(pairwise) < -0.06
    assert 0.89 <= np.mean(held) <= 0.995
    assert abs(np.mean(gaps)) < 0.03  # what the advice expects on the way is what comes; the standard error is .008


# --- options and errors ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "one further answer at the least, not 0"),
        ({"target_error": 0.0}, "between 0 and 1, not at 0.0"),
        ({"target_error": 1.0}, "between 0 and 1, not at 1.0"),
        ({"per_worker": 0}, "one task at the least, not 0"),
        ({"cost": "price"}, "table of workers: give one"),
        ({"width": 0.0}, "between 0 and 2"),
        ({"workers": {"who": ["a"]}}, "no column 'worker'.*needs the column 'worker'"),
        ({"workers": {"worker": ["a"]}, "cost": "price"}, "no column 'price'.*--cost"),
        ({"workers": {"worker": ["a", "b"], "price": [1, -2]}, "cost": "price"}, "no positive number in row 2"),
        ({"workers": {"worker": ["a", "b"], "price": ["1", "x"]}, "cost": "price"}, "no number"),
        ({"workers": {"worker": ["a", "a"], "price": [1, 2]}, "cost": "price"}, "two costs in row 1"),
        ({"workers": {"worker": ["a", " "]}}, "'worker' is missing in row 2"),
        ({"workers": {"worker": []}}, "lists nobody"),
        ({"workers": ["a", "b", "c"]}, "nobody is left to ask: 3 available workers answered all of 8 open tasks"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(options: dict[str, Any], message: str) -> None:
    answers = answers_of([(t, w, "xy"[(t * k) % 2]) for t in range(8) for k, w in enumerate("abc")])
    with pytest.raises((OptionError, InputError), match=message):
        advise(answers, **{"budget": 5, **options})


def test_one_class_is_refused() -> None:
    with pytest.raises(OptionError, match="one class"):
        advise({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, 3)
    with pytest.raises(OptionError, match="level"):
        adaptive_skills(crowd(10, 4, 3).answers, level=1.0)


def test_two_workers_cannot_be_repaired_and_a_newcomer_can() -> None:
    answers = answers_of([(t, w, "xy"[t % 2]) for t in range(6) for w in "ab"])
    with pytest.raises(QuorateError, match="nobody is left"):
        advise(answers, 3)
    advice = advise(answers, 3, workers=["c"])
    assert advice.assignments["reason"].to_pylist()[0].startswith("repair")
    apart = answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "x"), (3, "b", "y")])
    assert "an odd cycle needs three workers" in advise(apart, 1).summary()


# --- the command ---


@pytest.fixture
def files(tmp_path: Path) -> Path:
    from quorate.writing.tables import write_table

    write_table(crowd(60, 8, 3, seed=0).answer_table, tmp_path / "answers.csv")
    (tmp_path / "workers.csv").write_text("worker,price\nw1,1\nw2,2\nnew,1.5\n")
    return tmp_path


def run(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_the_command_writes_what_the_function_advises(files: Path) -> None:
    chosen = [files / "answers.csv", "--budget", 12, "--workers", files / "workers.csv", "--cost", "price"]
    done = run(*chosen, "--per-worker", 5, "-o", files / "next.csv", "--tasks-out", files / "tasks.csv")
    assert done.exit_code == 0, done.output
    lines = (files / "next.csv").read_text().splitlines()
    assert lines[0] == "task,worker,reason,gain"
    advice = advise(str(files / "answers.csv"), 12, workers=str(files / "workers.csv"), cost="price", per_worker=5)
    assert [line.split(",")[:2] for line in lines[1:]] == [
        [row["task"], row["worker"]] for row in advice.assignments.to_pylist()
    ]
    assert "further answers advised, of a budget of 12" in done.output
    assert "one-coin EM" in done.output
    assert (files / "tasks.csv").read_text().startswith("task,confidence,enough,further\n")


def test_json_is_one_object_and_a_pipe_gets_the_table(files: Path) -> None:
    found = json.loads(run(files / "answers.csv", "--budget", 4, "--json", "--target-error", 0.01).stdout)
    assert found["advised"] == len(found["assignments"]) == 4
    assert found["stop"] is False
    assert len(found["task_needs"]) == 60
    assert found["skills_by"] == "one-coin"
    assert found["tasks_with_enough"] == sum(row["enough"] for row in found["task_needs"])
    assert run(files / "answers.csv", "--budget", 4).stdout.splitlines()[0] == "task,worker,reason,gain"
