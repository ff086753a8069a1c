"""M3V in both forms: updates against naive loops, the certificate of the machine, and crowds of every awkward shape."""

import numpy as np
import pytest
from scipy import optimize

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.methods import m3v_svm as svm
from quorate.methods.m3v_svm import m3v_svm
from quorate.simulate import crowd
from quorate.voting.vote import majority
from tests.methods.m3v_samples import EASY, awkward, votes_for


def test_constraints_equal_the_loop_over_tasks_and_rivals() -> None:
    answers, label, _ = awkward()
    a, item = svm._constraints(answers, label)
    for i in range(25):
        naive = {tuple(votes_for(answers, i, label[i]) - votes_for(answers, i, k)) for k in range(3) if k != label[i]}
        assert {tuple(row) for row in a[item == i].toarray()} == naive


@pytest.mark.parametrize("c", [0.01, 0.25, 10.0, 1000.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_duality_gap_certifies_the_machine(n_classes: int, c: float) -> None:
    answers = crowd(n_tasks=200, n_workers=15, per_task=5, n_classes=n_classes, seed=2).answers
    label = np.where(np.arange(200) % 10 == 0, 0, majority(answers).label)  # some labels that no weights can reach
    machine = svm._solve(answers, label, 1.0, c)
    assert 0 <= machine.gap <= svm.MAX_GAP
    # The gap bounds the distance to the least objective; no weights nearby may beat it by more.
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(50):
            other = machine.weights + size * rng.standard_normal(15)
            assert svm._objective(answers, other, label, 1.0, c) >= machine.objective * (1 - machine.gap)


def test_the_machine_agrees_with_a_general_solver() -> None:
    answers, label, _ = awkward()
    a, item = svm._constraints(answers, label)
    n, m = answers.n_workers, answers.n_tasks

    def objective(x: FloatArray) -> float:
        return float(x[:n] @ x[:n] / 2 + 0.25 * x[n:].sum())

    rows = {"type": "ineq", "fun": lambda x: a @ x[:n] + x[n:][item] - 1.0}
    bounds = [(None, None)] * n + [(0, None)] * m
    start = np.concatenate([np.zeros(n), np.full(m, 2.0)])
    reference = optimize.minimize(objective, start, bounds=bounds, constraints=rows, method="SLSQP", tol=1e-12)
    machine = svm._solve(answers, label, 1.0, 0.25)
    assert reference.success
    np.testing.assert_allclose(machine.objective, reference.fun, rtol=1e-5)
    np.testing.assert_allclose(machine.weights, reference.x[:n], atol=1e-3)


def test_a_machine_that_can_be_solved_by_eye() -> None:
    # Two workers who agree on four tasks: both weights are 1/2, and every margin of 1 is met exactly.
    answers = quorate.read({"task": [1, 1, 2, 2, 3, 3, 4, 4], "worker": list("abababab"), "label": list("xxyyxxyy")})
    machine = svm._solve(answers, majority(answers).label, 1.0, 10.0)
    np.testing.assert_allclose(machine.weights, 0.5, atol=1e-3)
    assert machine.objective == pytest.approx(0.25, rel=1e-5)


def test_alternation_never_raises_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[svm.Machine] = []
    solve = svm._solve

    def watched(answers: Answers, label: IntArray, margin: float, c: float) -> svm.Machine:
        reached.append(solve(answers, label, margin, c))
        return reached[-1]

    monkeypatch.setattr(svm, "_solve", watched)
    answers = crowd(n_tasks=500, n_workers=40, per_task=3, n_classes=3, seed=6).answers
    result = m3v_svm(answers)
    objectives = np.array([machine.objective for machine in reached])
    assert len(objectives) > 2
    assert (np.diff(objectives) <= svm.MAX_GAP * objectives[:-1]).all()
    assert not result.notes


def test_labels_that_do_not_converge_are_noted() -> None:
    answers = crowd(n_tasks=500, n_workers=40, per_task=3, n_classes=3, seed=6).answers
    assert "not converged after 1" in m3v_svm(answers, max_iterations=1).notes[0].text


def test_a_machine_that_is_not_solved_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm, "MAX_STEPS", 2)
    assert "duality gap" in m3v_svm(EASY.answers).notes[-1].text
