from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from experiments.advice.collection import ask

from quorate.advice.adaptive_skills import adaptive_skills
from quorate.advice.advise import advise
from quorate.answers import Answers
from quorate.graph.components import identify
from quorate.graph.repair import repair
from quorate.simulate import collect
from tests.crowds import answers_of, coded


def sparse_cells(rng: np.random.Generator) -> tuple[set[tuple[int, int]], int, int]:
    n_workers, n_tasks = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    cells = {(int(rng.integers(n_tasks)), w) for w in range(n_workers)}
    return cells | {(t, int(rng.integers(n_workers))) for t in range(n_tasks)}, n_tasks, n_workers


def is_identifiable(answers: Answers) -> bool:
    identifiability = identify(answers)
    parts = np.unique(identifiability.component[answers.worker])
    return len(parts) == 1 and bool(identifiability.identifiable[parts[0]])


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
            assert is_identifiable(coded(cells | added, n_tasks, everyone))
        sizes = range(found.n_answers) if found.possible else range(5)
        assert not any(
            is_identifiable(coded(cells | set(some), n_tasks, everyone))
            for k in sizes
            for some in combinations(free, k)
        )


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
def test_repair_comes_first_and_then_enough_shared_tasks_to_decide_the_sign(sign: float) -> None:
    right = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        simulated = two_groups(rng, sign)
        advice = advise(simulated.answers, 120)
        kinds = [reason.split(":")[0] for reason in advice.assignments["reason"].to_pylist()]
        n = len(advice.reasons)
        assert kinds == ["repair"] + ["settle"] * (n - 1) + ["most useful"] * (120 - n)
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
    scale = [row for row in advice.assignments.to_pylist() if row["reason"] == "settle: a third answer to the task"]
    assert 10 <= len(scale) <= 80
    assert len({row["task"] for row in scale}) == len(scale)
    more = answers_of([*table, *((t, "ba"[t % 2], "lr"[t % 2]) for t in range(80))])  # three answers to every task
    assert not advise(more, 10).reasons
