from itertools import product

import numpy as np
import pytest
from experiments.simulation.planted_faults import relabelled

from quorate.answers import Answers
from quorate.blocks import sampling
from quorate.diagnostics import hard_tasks
from quorate.diagnostics.diagnose import diagnose
from quorate.diagnostics.hard_tasks import (
    N_DRAWS,
    SKILL_FRACTIONS,
    TaskTest,
    _Model,
    _simulated_p,
    task_findings,
    task_test,
)
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.simulate import crowd
from tests.crowds import answers_of
from tests.diagnostics.samples import at_least, at_most


def naive_chance(labels: tuple[int, ...], skills: list[float], m: int, part: float) -> float:
    total = 0.0
    for truth in range(m):
        chance = 1 / m
        for label, skill in zip(labels, skills, strict=True):
            p = ((m - 1) * part * skill + 1) / m
            chance *= p if label == truth else (1 - p) / (m - 1)
        total += chance
    return total


def one_task(labels: tuple[int, ...], m: int) -> Answers:
    return answers_of([("t", f"w{k}", label) for k, label in enumerate(labels)], classes=list(range(m)))


@pytest.mark.parametrize("m", [2, 3])
def test_the_p_value_is_that_of_all_outcomes_counted_one_by_one(m: int) -> None:
    """Five workers, every outcome listed; 3,000 draws put the p-value within a fifth of the exact one."""
    skills = [0.9, 0.8, 0.7, 0.85, 0.6]
    outcomes = list(product(range(m), repeat=5))
    chance = {labels: naive_chance(labels, skills, m, 1.0) for labels in outcomes}
    ratio = {
        labels: np.log(np.mean([naive_chance(labels, skills, m, part) for part in SKILL_FRACTIONS]) / chance[labels])
        for labels in outcomes
    }
    assert sum(chance.values()) == pytest.approx(1.0)
    model = _Model.of(np.array(skills), m)
    for labels in ((0, 0, 0, 1, 1), (0, 0, 1, 1, 0), (0, 0, 0, 0, 1)):
        exact = sum(chance[other] for other in outcomes if ratio[other] >= ratio[labels] - 1e-9)
        answers = one_task(labels, m)
        found = model.ratio(model.log_chances(answers.task, answers.worker, answers.label[None], 1))
        assert found[0] == pytest.approx(ratio[labels], abs=1e-6)
        p, least_p = _simulated_p(model, answers, np.array([0]), found, N_DRAWS[-1], np.random.default_rng(0))
        assert least_p[0] < exact
        assert p[0] == pytest.approx(min(exact, np.exp(-ratio[labels])), rel=0.2)


@pytest.mark.parametrize("n_classes", [2, 3, 40])
def test_a_class_that_nobody_gives_needs_no_cell(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the cells that occur and by a table of all: of answers, of draws, and of a task without an answer."""
    answers = crowd(20, 12, 5, n_classes=n_classes, seed=0).answers
    answers = answers.where(answers.task != 7)
    model = _Model.of(np.linspace(-0.5 / (n_classes - 1), 0.99, 12), n_classes)
    labels = np.stack([answers.label, np.random.default_rng(0).integers(0, n_classes, answers.n_answers)])
    found = []
    for cells in (0, 1 << 40):
        monkeypatch.setattr(hard_tasks, "MAX_CELLS_PER_ANSWER", cells)
        found.append(model.log_chances(answers.task, answers.worker, labels, 20))
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def guessed(share: float, seed: int, n_classes: int) -> tuple[Answers, np.ndarray]:
    """300 tasks with 12 answers by workers of skill 0.7 to 0.95; on some tasks everyone guesses."""
    rng = np.random.default_rng([seed, n_classes])
    a = crowd(300, 30, 12, n_classes=n_classes, skills=rng.uniform(0.7, 0.95, 30), seed=rng).answers
    hard = rng.random(300) < share
    return relabelled(a, np.where(hard[a.task], rng.integers(0, n_classes, a.n_answers), a.label)), hard


def test_few_tasks_are_named_where_none_is_hard() -> None:
    """40 crowds, none with a hard task: any named is a false discovery, at most 5 %."""
    alarms = 0
    for seed in range(40):
        answers, _ = guessed(0.0, seed, 2 + 2 * (seed % 2))
        alarms += len(task_test(answers, aggregate_in_memory("rank-one", answers).skills).flagged) > 0
    assert alarms <= at_most(0.05, 40)


def test_hard_tasks_are_found_and_few_others() -> None:
    """20 crowds of four classes, one task in twenty hard: at least 70 % found, false discovery at most 5 %."""
    false, found, n_hard = 0.0, 0, 0
    for seed in range(20):
        answers, hard = guessed(0.05, seed, 4)
        named = np.zeros(300, dtype=bool)
        named[task_test(answers, aggregate_in_memory("rank-one", answers).skills).flagged] = True
        false += (named & ~hard).sum() / max(named.sum(), 1)
        found += int((named & hard).sum())
        n_hard += int(hard.sum())
    assert false <= at_most(0.05, 20)
    assert found >= at_least(0.7, n_hard)


def test_a_task_nobody_doubts_and_a_task_of_one_are_not_named() -> None:
    skills = np.full(10, 0.9)
    agreed = one_task((1,) * 10, 2)
    assert task_test(agreed, skills).p.tolist() == [1.0]
    alone = one_task((1,), 2)
    assert np.isnan(task_test(alone, skills[:1]).p).all()


def test_the_finding_tells_the_votes() -> None:
    answers = one_task((0,) * 6 + (1,) * 6, 2)
    result = aggregate_in_memory("rank-one", answers)
    test = TaskTest(np.array([9.0]), np.array([1e-5]), np.array([1e-4]))
    (finding,) = task_findings(test, result)
    assert finding.evidence["votes"] == {"0": 6, "1": 6}
    assert finding.sentence.startswith('Task t may be unclear: 6 answers "0", 6 answers "1"')


def test_above_a_stated_size_a_sample_of_complete_tasks_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """The p-values of the sample are those of its tasks alone; the output names the sample."""
    simulated = crowd(300, 20, 5, seed=3)
    answers = simulated.answers
    assert diagnose(answers).samples == {}
    monkeypatch.setattr(sampling, "MAX_TESTED_ANSWERS", 500)
    test = task_test(answers, simulated.skills)
    is_tested = ~np.isnan(test.p)
    assert 50 < is_tested.sum() <= 100
    alone = task_test(answers.only(is_tested), simulated.skills)
    np.testing.assert_array_equal(test.p[is_tested], alone.p)
    np.testing.assert_array_equal(test.adjusted[is_tested], alone.adjusted)
    found = diagnose(answers)
    assert found.to_dict()["test_sample"] == {
        "n_tasks": is_tested.sum(),
        "n_answers": 5 * is_tested.sum(),
        "of_tasks": 300,
        "of_answers": 1500,
        "drawn_by": "hash of the task's id",
    }
    assert any(f"Tests of groups and tasks use {is_tested.sum()} tasks" in line for line in found.lines())
