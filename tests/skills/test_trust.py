"""What the warning of many who err together is made of."""

import numpy as np
import pytest

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray
from quorate.evaluation import simulate
from quorate.skills import trust as module
from quorate.skills.centred import Habits, habits_of
from quorate.skills.trust import FOLDS, SLACK, _tetrad_sums, trust
from tests.crowds import answers_of


def test_the_sums_of_a_task_are_those_over_its_pairs() -> None:
    answers = simulate.crowd(20, 6, 4, n_classes=3, seed=1).answers
    habits, u = habits_of(answers), np.linspace(-0.3, 0.4, 6)
    z = np.eye(3)[answers.label] - habits.frequency[answers.worker]
    expected = np.zeros((20, 3))
    for a in range(answers.n_answers):
        for b in range(answers.n_answers):
            if a != b and answers.task[a] == answers.task[b]:
                one, two = u[answers.worker[a]], u[answers.worker[b]]
                expected[answers.task[a]] += z[a] @ z[b] / 3 * np.array([1, one, one * two])  # 1/(R - 1)
    assert _tetrad_sums(answers, habits, u) == pytest.approx(expected)
    alone = answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "y")])
    assert _tetrad_sums(alone, habits_of(alone), np.array([0.2, -0.2]))[1] == pytest.approx(np.zeros(3))


def test_it_is_one_less_the_excess_beyond_what_chance_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    """a0 a2 against a1², with the error of their difference by the delta method over tasks."""
    rng = np.random.default_rng(0)
    sums = rng.normal([2.0, 0.3, 0.5], 0.2, (40, 3))
    parts = iter(np.split(sums, FOLDS))
    monkeypatch.setattr(module, "_fold_sums", lambda *_: next(parts))
    a0, a1, a2 = sums.sum(axis=0)
    pulls = np.array([a2 * x - 2 * a1 * y + a0 * z for x, y, z in sums])
    error = np.sqrt(((pulls - pulls.mean()) ** 2).sum())
    excess = a0 * a2 - a1**2 - SLACK * error
    assert excess > 0
    assert trust(simulate.crowd(40, 6, 4, seed=0).answers) == pytest.approx(a1**2 / (a1**2 + excess))


@pytest.mark.parametrize("enough", [10**6, 500])
def test_every_task_looked_at_is_tested_once_by_skills_from_others(
    monkeypatch: pytest.MonkeyPatch, enough: int
) -> None:
    """Of 400 tasks with 1,600 answers all, or with room for 500 answers about 125."""
    seen: list[tuple[BoolArray, BoolArray]] = []

    def note(_: Answers, __: Habits, fitted: BoolArray, test: BoolArray) -> FloatArray:
        seen.append((fitted, test))
        return np.zeros((0, 3))

    monkeypatch.setattr(module, "ENOUGH", enough)
    monkeypatch.setattr(module, "_fold_sums", note)
    assert trust(simulate.crowd(400, 20, 4, seed=0).answers) == 1.0
    tested = np.sum([test for _, test in seen], axis=0)
    assert tested.max() == 1
    assert 100 < tested.sum() < 150 or (enough > 1600 and tested.all())
    assert len(seen) == FOLDS
    for fitted, test in seen:
        assert not (fitted & test).any()
        assert np.array_equal(fitted | test, tested == 1)


def test_where_there_is_nothing_to_compare_nothing_speaks_against_it() -> None:
    assert trust(answers_of([(t, "abc"[t % 3], "xy"[t % 2]) for t in range(9)])) == 1.0  # one answer a task
    assert trust(answers_of([(t, w, "x") for t in range(9) for w in "abc"])) == 1.0  # one class
    assert trust(answers_of([(1, w, "xy"[k % 2]) for k, w in enumerate("abcd")])) == 1.0  # one task: nothing held out


def test_two_answers_a_task_and_two_classes_are_enough_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(module, "_fold_sums", look)
    with pytest.raises(LookupError):
        trust(simulate.crowd(40, 6, 2, seed=0).answers)


@pytest.mark.parametrize("n", [90, 100, 120])
def test_it_works_at_every_size(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """Every fold has its share, however much too large the crowd is (once three to four times made it blind)."""
    seen: list[tuple[BoolArray, BoolArray]] = []

    def note(_: Answers, __: Habits, fitted: BoolArray, test: BoolArray) -> FloatArray:
        seen.append((fitted, test))
        return np.zeros((0, 3))

    monkeypatch.setattr(module, "ENOUGH", 3000)
    monkeypatch.setattr(module, "_fold_sums", note)
    trust(simulate.crowd(n * 20, 20, 5, seed=0).answers)
    assert len(seen) == FOLDS
    for fitted, tested in seen:
        assert 150 * 0.7 < tested.sum() < 150 * 1.3
        assert 450 * 0.8 < fitted.sum() < 450 * 1.2
