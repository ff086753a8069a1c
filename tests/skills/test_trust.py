"""What the warning of many who err together is made of."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.scatter import divided
from quorate.evaluation import simulate
from quorate.skills import trust as module
from quorate.skills.centred import Habits, centred_skills, habits_of
from quorate.skills.trust import DIVISIONS, FOLDS, SLACK, _tetrad_sums, left_out_skills, trust
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
    assert _tetrad_sums(answers, habits, u[answers.worker][None]) == pytest.approx(expected)
    alone = answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "y")])
    u = np.array([0.2, -0.2])[alone.worker]
    assert _tetrad_sums(alone, habits_of(alone), u[None])[1] == pytest.approx(np.zeros(3))


def test_it_is_one_less_the_excess_beyond_what_chance_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    """a0 a2 against a1², with the error of their difference by the delta method over tasks."""
    rng = np.random.default_rng(0)
    sums = rng.normal([2.0, 0.3, 0.5], 0.2, (40, 3))
    monkeypatch.setattr(module, "_tetrad_sums", lambda *_: sums)
    a0, a1, a2 = sums.sum(axis=0)
    pulls = np.array([a2 * x - 2 * a1 * y + a0 * z for x, y, z in sums])
    error = np.sqrt(((pulls - pulls.mean()) ** 2).sum())
    excess = a0 * a2 - a1**2 - SLACK * error
    assert excess > 0
    assert trust(simulate.crowd(40, 6, 4, seed=0).answers) == pytest.approx(a1**2 / (a1**2 + excess))


@pytest.mark.parametrize("k", range(FOLDS))
def test_skills_of_a_fold_are_those_of_the_other_tasks(k: int) -> None:
    """Whatever is answered in a fold says nothing of the skills that the fold is tested by."""
    crowd = simulate.crowd(200, 10, 4, seed=0)
    fold = np.arange(200) % FOLDS
    found = left_out_skills(crowd.answers, fold[None])[0, k]
    turned = np.where(fold[crowd.answers.task] == k, 1 - crowd.answers.label, crowd.answers.label)
    other = simulate.collect(crowd.answers.task, crowd.answers.worker, turned, crowd.truth, crowd.skills, 2).answers
    again = left_out_skills(other, fold[None])[0, k]
    # The other folds' skills change, and with them the one mean that all are shrunk toward.
    assert np.corrcoef(found, again)[0, 1] > 0.99
    alone = centred_skills(crowd.answers.only(fold != k), tolerance=1e-6).solution.skills
    here = crowd.answers.only(fold == k).per_worker
    assert found == pytest.approx(alone - np.average(alone, weights=here), abs=0.02)


def test_a_large_crowd_is_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for 500 of 1,600 answers, 125 tasks; every one is tested."""
    seen: list[tuple[int, ...]] = []

    def note(answers: Answers, _: Habits, own: FloatArray) -> FloatArray:
        seen.append((answers.n_tasks, *own.shape))
        return np.zeros((0, 3))

    monkeypatch.setattr(module, "_tetrad_sums", note)
    crowd = simulate.crowd(400, 20, 4, seed=0)
    assert trust(crowd.answers) == 1.0
    monkeypatch.setattr(module, "ENOUGH", 500)
    assert trust(crowd.answers) == 1.0
    assert seen == [(400, DIVISIONS, 1600), (125, 1, 500)]


def test_where_there_is_nothing_to_compare_nothing_speaks_against_it() -> None:
    assert trust(answers_of([(t, "abc"[t % 3], "xy"[t % 2]) for t in range(9)])) == 1.0  # one answer a task
    assert trust(answers_of([(t, w, "x") for t in range(9) for w in "abc"])) == 1.0  # one class
    assert trust(answers_of([(1, w, "xy"[k % 2]) for k, w in enumerate("abcd")])) == 1.0  # one task: nothing held out


def test_two_answers_a_task_and_two_classes_are_enough_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(module, "_tetrad_sums", look)
    with pytest.raises(LookupError):
        trust(simulate.crowd(40, 6, 2, seed=0).answers)


@pytest.mark.parametrize("n", [90, 100, 120])
def test_every_fold_has_its_share_at_every_size(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """However much too large the crowd is (once three to four times made it blind)."""
    seen: list[IntArray] = []

    def note(answers: Answers, folds: IntArray) -> FloatArray:
        seen.extend(np.bincount(fold, minlength=FOLDS) for fold in folds)
        return np.zeros((len(folds), FOLDS, answers.n_workers))

    monkeypatch.setattr(module, "ENOUGH", 3000)
    monkeypatch.setattr(module, "left_out_skills", note)
    trust(simulate.crowd(n * 20, 20, 5, seed=0).answers)
    assert ((seen[0] > 150 * 0.7) & (seen[0] < 150 * 1.3)).all()


def test_each_task_s_sums_are_the_mean_over_the_divisions() -> None:
    answers = simulate.crowd(20, 6, 4, n_classes=3, seed=1).answers
    habits, own = habits_of(answers), np.random.default_rng(0).normal(0, 0.3, (DIVISIONS, answers.n_answers))
    each = [_tetrad_sums(answers, habits, u[None]) for u in own]
    assert _tetrad_sums(answers, habits, own) == pytest.approx(np.mean(each, axis=0))


def test_divisions_differ() -> None:
    """Folds by one bit pattern of the hash say nothing of those by another."""
    many = simulate.crowd(4000, 5, 3, seed=0).answers
    folds = divided(many, FOLDS, DIVISIONS)
    alike = (folds[:, None] == folds[None]).mean(axis=2)[~np.eye(DIVISIONS, dtype=bool)]
    assert alike == pytest.approx(1 / FOLDS, abs=0.05)


def test_workers_of_a_crowd_who_are_not_in_its_sample_change_nothing() -> None:
    crowd, fold = simulate.crowd(200, 10, 4, seed=0).answers, np.arange(200)[None] % FOLDS
    there = np.flatnonzero(np.arange(13) % 4 != 2)  # three of thirteen answer nothing
    names = pa.array([f"w{k}" for k in range(13)])
    among = replace(crowd, worker=there[crowd.worker].astype(crowd.worker.dtype), worker_names=names)
    found = left_out_skills(among, fold)
    assert found[:, :, there].tolist() == left_out_skills(crowd, fold).tolist()
    assert not np.delete(found, there, axis=2).any()
