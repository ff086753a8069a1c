from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.advice.adaptive_skills import fit_worker_posterior
from quorate.advice.advise import advise
from quorate.advice.available_workers import gather_available_workers
from quorate.advice.information_gain import entropy, expected_gain, plan
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.graph.components import identify
from quorate.simulate import crowd
from quorate.voting.vote import accuracy, skill_of
from tests.advice.samples import posteriors
from tests.crowds import answers_of, rows

Asked = tuple[int, int]  # task and worker


def naive_plan(answers: Answers, worth: FloatArray, order: list[int], per_worker: int, budget: int) -> list[Asked]:
    """Each task in turn chooses the best worker who is left and has not answered it; if none is, the next task does.

    ``worth`` is that of a task's first, second, ... further answer; tasks × answers.
    """
    assigned = set(zip(answers.task.tolist(), answers.worker.tolist(), strict=True))
    room, chosen = dict.fromkeys(order, per_worker), list[Asked]()
    for _, task in sorted((-worth[t, k], t) for t, k in np.ndindex(worth.shape)):
        worker = next((w for w in order if room[w] > 0 and (task, w) not in assigned), None)
        if worker is not None and len(chosen) < budget:
            assigned.add((task, worker))
            chosen.append((task, worker))
            room[worker] -= 1
    return chosen


def test_the_plan_is_what_each_task_would_choose_in_turn() -> None:
    """60 crowds; in some of them a task finds nobody, and others are asked instead."""
    instead = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n_tasks, n_workers = int(rng.integers(5, 30)), int(rng.integers(4, 10))
        answers = crowd(n_tasks, n_workers, int(rng.integers(1, 4)), seed=seed).answers
        q, p = posteriors(n_tasks, 2, seed), rng.uniform(0.55, 0.95, n_workers)
        per_worker, budget = int(rng.integers(1, 8)), int(rng.integers(1, n_tasks))
        worker_pool = gather_available_workers(answers, budget, per_worker=per_worker)
        found = plan((answers.task, answers.worker), q, p, worker_pool, budget, np.ones(n_tasks, dtype=bool))
        order = np.argsort(-p, kind="stable").tolist()
        once = expected_gain(q, np.full(1, p[order[0]]))
        worth = once[:, None] * (1 - once / entropy(q))[:, None] ** np.arange(n_workers)
        naive = naive_plan(answers, worth, order, per_worker, budget)
        got = list(zip(found.task.tolist(), found.worker.tolist(), strict=True))
        assert sorted(got) == sorted(naive)
        open_to = np.arange(n_workers) < (n_workers - answers.per_task)[:, None]
        first = np.argsort(-np.where(open_to, worth, 0).ravel(), kind="stable")[:budget] // n_workers
        instead += sorted(first.tolist()) != sorted(found.task.tolist())
    assert instead >= 5


@given(rows(max_classes=3), st.integers(1, 30), st.none() | st.integers(1, 4), st.booleans())
@settings(max_examples=60)
def test_nobody_is_asked_twice_or_too_often(
    table: list[tuple[int, str, str]], budget: int, per_worker: int | None, unknown_ids: bool
) -> None:
    answers = answers_of(table, classes=["a", "b", "c", "d"])
    available = [*answers.worker_names.to_pylist()[::2], *(["new1", "new2"] if unknown_ids else [])]
    if not set(product({task for task, _, _ in table}, available)) - {(task, who) for task, who, _ in table}:
        with pytest.raises(OptionError, match=r"already answered|may take another"):
            advise(answers, budget, available=available, per_worker=per_worker)
        return
    advice = advise(answers, budget, available=available, per_worker=per_worker)
    found = advice.assignments.to_pylist()
    pairs = [(row["task"], row["worker"]) for row in found]
    assert 0 < len(set(pairs)) == len(pairs) <= budget
    assert not set(pairs) & {(task, worker) for task, worker, _ in table}
    asked = [worker for _, worker in pairs]
    assert set(asked) <= set(available)
    if per_worker is not None:
        assert max(map(asked.count, asked), default=0) <= per_worker
    assert all((row["gain"] is None) == (row["reason"] != "most useful") for row in found)


@pytest.mark.parametrize("budget", [30, 300, 2000])
def test_by_default_no_load_exceeds_twice_the_mean(budget: int) -> None:
    answers = crowd(100, 20, 3, seed=0).answers
    advice = advise(answers, budget)
    load = answers.per_worker + np.bincount(advice.worker, minlength=20)
    within = load <= np.ceil(2 * (answers.n_answers + budget) / 20)
    assert np.all(within | (load == answers.per_worker))


def test_a_budget_above_the_number_of_tasks_gives_the_doubtful_ones_several() -> None:
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
        worker_pool = gather_available_workers(answers, 4, available=table, per_worker=40, cost="cost")
        even = np.full((40, 2), 0.5)
        done = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        return int(np.bincount(plan(done, even, known, worker_pool, 4, np.ones(40, dtype=bool)).worker).argmax())

    gain = expected_gain(np.array([0.5, 0.5]), known)
    assert first([2, 1, 100, 1, 1, 1]) == 1
    assert first([2, 1, 0.9 * gain[2] / gain[1], 9, 9, 9]) == 2
    assert first([2, 1, 1.1 * gain[2] / gain[1], 9, 9, 9]) == 1


def test_newcomers_have_the_mean_skill_and_can_be_asked() -> None:
    answers = crowd(60, 8, 4, seed=2).answers
    advice = advise(answers, 10, available=["w0", "someone new"])
    assert advice.worker_pool.names.to_pylist()[-1] == "someone new"
    mean = fit_worker_posterior(answers, answers, None, identify(answers)).mean
    assert advice.skills[-1] == pytest.approx(skill_of(np.array(mean), 2))
    assert advice.skills[:8].min() < advice.skills[-1] < advice.skills[:8].max()
    assert set(advice.assignments["worker"].to_pylist()) <= {"w0", "someone new"}


def test_the_same_input_gives_the_same_advice_and_known_tasks_are_left_alone() -> None:
    simulated = crowd(80, 10, 3, seed=4)
    gold = {f"t{k}": f"c{simulated.truth[k]}" for k in range(20)}
    one, two = (advise(simulated.answers, 300, gold=gold) for _ in range(2))
    assert one.assignments == two.assignments
    asked = {row["task"] for row in one.assignments.to_pylist() if row["reason"] == "most useful"}
    assert asked
    assert not asked & set(gold)
    assert one.answers_needed.error[:20].max() == 0
