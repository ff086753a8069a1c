"""Skills of centred answers: what they are drawn to, how strongly, and where they start."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from quorate.answers import Answers
from quorate.blocks.kernels import centred_products
from quorate.blocks.memory import blocks_of
from quorate.evaluation import simulate
from quorate.skills.centred import (
    HABIT_ANSWERS,
    LEAST_MEAN,
    LEAST_SCALE,
    STRENGTH,
    centred_moments,
    centred_skills,
    habits_of,
    task_weights,
)
from quorate.skills.centred_pairs import centred_pairs, pairs_pay
from quorate.skills.coordinate import coordinate_sweeps
from tests.crowds import answers_of, rows


@given(rows())
def test_habits_are_counted_as_by_hand(table: list[tuple[int, str, str]]) -> None:
    """A worker's answers and two of the crowd's; the classes that lead each task, ties split, and one more each."""
    answers = answers_of(table)
    m = answers.n_classes
    crowd = [np.mean(answers.label == c) for c in range(m)]
    found = habits_of(answers)
    for worker in range(answers.n_workers):
        own = answers.label[answers.worker == worker]
        for c in range(m):
            expected = ((own == c).sum() + HABIT_ANSWERS * crowd[c]) / (len(own) + HABIT_ANSWERS)
            assert found.frequency[worker, c] == pytest.approx(expected)
    leads = np.ones(m)
    for task in range(answers.n_tasks):
        given = np.bincount(answers.label[answers.task == task], minlength=m)
        leads += (given == given.max()) / (given == given.max()).sum()
    assert found.prior == pytest.approx(leads / leads.sum())
    assert found.spread == pytest.approx(1 - sum((leads / leads.sum()) ** 2))


def contrary(n_classes: int) -> Answers:
    """Every two who met gave different classes: nobody can be thought to know anything."""
    rng = np.random.default_rng(0)
    cells = [
        (t, w, (c + k) % n_classes) for t in range(300) for c in [t] for k, w in enumerate(rng.permutation(12)[:2])
    ]
    return answers_of([(t, int(w), c) for t, w, c in cells])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("knows", [True, False])
def test_ridge_box_and_mean_belong_together(knows: bool, n_classes: int) -> None:
    """In a good crowd, and in one that knows nothing, whose mean is kept above zero and whose ridge is finite."""
    good = simulate.crowd(400, 12, 4, n_classes=n_classes, skills=np.linspace(0.4, 0.9, 12), seed=0)
    answers = good.answers if knows else contrary(n_classes)
    found = centred_skills(answers)
    problem, n = found.problem, answers.per_worker
    assert isinstance(problem.centre, float)  # nothing is known of anyone from before
    assert found.mean == pytest.approx(max(float(n @ found.solution.skills / n.sum()), LEAST_MEAN))
    assert abs(found.mean - problem.centre) < 1e-3  # it stood still
    mu = max(problem.centre, LEAST_SCALE)
    assert problem.ridge == pytest.approx(STRENGTH / mu**2)
    reach = 1 - 1 / np.sqrt(n + STRENGTH / mu**4)
    assert problem.upper == pytest.approx(reach)
    assert problem.lower == pytest.approx(-np.minimum(reach, 1 / (n_classes - 1)))
    assert (found.mean == LEAST_MEAN) != knows


def test_gold_stays_at_one_and_does_not_count_in_the_mean() -> None:
    crowd = simulate.crowd(300, 8, 3, skills=np.linspace(0.2, 0.6, 8), seed=1)
    answers = crowd.answers.with_worker(np.where(np.arange(300) < 100, crowd.truth, -1))
    is_gold = np.arange(9) == 8
    found = centred_skills(answers, is_gold=is_gold)
    assert found.solution.skills[8] == 1
    assert (found.problem.lower[8], found.problem.upper[8]) == (1, 1)
    n = answers.per_worker[:8]
    assert found.mean == pytest.approx(float(n @ found.solution.skills[:8] / n.sum()))


def test_gold_says_which_way_round_skills_are() -> None:
    """A crowd that is mostly wrong: from its agreement with gold descent finds it so, without gold it cannot."""
    crowd = simulate.crowd(600, 8, 4, skills=np.full(8, -0.6), seed=1)
    answers = crowd.answers.with_worker(np.where(np.arange(600) < 300, crowd.truth, -1))
    assert (centred_skills(answers, is_gold=np.arange(9) == 8).solution.skills[:8] < -0.3).all()
    assert (centred_skills(crowd.answers).solution.skills > 0.3).all()


def test_the_cap_is_for_all_sweeps_however_often_the_mean_is_refitted() -> None:
    crowd = simulate.crowd(400, 12, 4, skills=np.linspace(0.1, 0.6, 12), seed=0)
    usual = centred_skills(crowd.answers).solution
    assert usual.converged
    assert usual.solver == "centred coordinate"
    capped = centred_skills(crowd.answers, max_iterations=2, tolerance=1e-12).solution
    assert not capped.converged
    assert capped.iterations == 2


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.6), (0.5, 0.9), (0.0, 0.5)])
def test_a_mean_refitted_on_the_way_ends_where_one_refitted_between_solves_does(low: float, high: float) -> None:
    """Both means stand still to 1e-3, which moves a skill by no more than that: the ridge never outweighs the data."""
    crowd = simulate.crowd(800, 12, 4, skills=np.linspace(low, high, 12), seed=0)
    found = centred_skills(crowd.answers, tolerance=1e-8)
    n, mean, skills = crowd.answers.per_worker, 0.5, np.full(12, 0.5)
    for _ in range(50):
        reach = 1 - 1 / np.sqrt(n + STRENGTH / mean**4)
        problem = replace(found.problem, lower=-reach, upper=reach, ridge=STRENGTH / mean**2, centre=mean)
        skills = coordinate_sweeps(problem, skills, tolerance=1e-8).skills
        mean = float(n @ skills / n.sum())
    assert found.solution.converged
    assert found.mean == pytest.approx(mean, abs=3e-3)
    assert found.solution.skills == pytest.approx(skills, abs=5e-3)


def test_no_loss_is_claimed_for_the_constant_that_is_not_known() -> None:
    answers = simulate.crowd(50, 6, 3, seed=0).answers
    moments = centred_moments(answers, habits_of(answers))
    assert moments.energy == 0
    assert moments.degree == pytest.approx(answers.per_worker)  # each answer counts once
    single = answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "y")])
    assert centred_moments(single, habits_of(single)).degree.tolist() == [1, 1]


def test_products_pair_by_pair_are_those_of_the_kernel_and_come_where_classes_are_many() -> None:
    """Of 80 classes and of five alike; a task with thousands of answers has too many pairs."""
    rng = np.random.default_rng(0)
    for n_classes in (5, 80):
        answers = simulate.crowd(300, 25, 4, n_classes=n_classes, seed=1).answers
        habits, x = habits_of(answers), rng.uniform(-0.2, 0.9, 25)
        by_pair = centred_pairs(answers, habits.frequency, task_weights(answers)).both(x)
        by_kernel = blocks_of(answers).sums(centred_products, x, habits.frequency)
        for found, expected in zip(by_pair, by_kernel, strict=True):
            assert found == pytest.approx(expected, abs=1e-9)
        assert pairs_pay(answers) is (n_classes == 80)
        signed = centred_moments(answers, habits).signed @ x
        assert signed == pytest.approx(by_kernel[0] / habits.spread, abs=1e-9)
    assert not pairs_pay(simulate.crowd(10, 100, 60, n_classes=80, seed=1).answers)
