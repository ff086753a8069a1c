"""A worker against the rest: kappa by loops, and its interval by leaving out one task after the other."""

import numpy as np
import pytest
from scipy.stats import t as student

import quorate
from quorate.answers import Answers
from quorate.interrater.agreement import agreement


def a_crowd(n_tasks: int) -> Answers:
    """Four workers of three classes, one of which is rare; some tasks have one answer."""
    rng = np.random.default_rng(n_tasks)
    truth = rng.choice(3, n_tasks, p=[0.6, 0.3, 0.1])
    rows = [
        (t, w, int(truth[t] if rng.random() < 0.5 + 0.1 * w else rng.integers(0, 3)))
        for t in range(n_tasks)
        for w in range(4)
        if rng.random() < (0.2 if t % 5 == 0 else 0.8)
    ]
    return quorate.read(dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)))


def by_task(answers: Answers, worker: int) -> tuple[list[float], list[float]]:
    """Of each task that the worker shares: the share of the others who agree, and what chance would give."""
    alike, chance = [], []
    labels_of_task = [answers.label[answers.task == t].tolist() for t in range(answers.n_tasks)]
    paired = [label for labels in labels_of_task if len(labels) > 1 for label in labels]
    for t, own in zip(answers.task[answers.worker == worker], answers.label[answers.worker == worker], strict=True):
        if len(labels_of_task[t]) > 1:
            alike.append((labels_of_task[t].count(own) - 1) / (len(labels_of_task[t]) - 1))
            chance.append(paired.count(own) / len(paired))
    return alike, chance


def test_kappa_is_agreement_above_chance() -> None:
    answers = a_crowd(60)
    found = agreement(answers, draws=1).by_worker
    for worker in range(answers.n_workers):
        alike, chance = (np.mean(each) for each in by_task(answers, worker))
        assert found.kappa[worker] == pytest.approx((alike - chance) / (1 - chance))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_is_that_of_the_jackknife_with_one_unseen_task(level: float) -> None:
    """The change with one task less is a derivative, up to one part in as many tasks as there are.

    The lower end has one more task, on which nobody agrees with the worker, the upper end one on which all do.
    """
    answers = a_crowd(400)
    found = agreement(answers, draws=1, level=level).by_worker
    for worker in range(answers.n_workers):
        shares, by_chance = (np.array(each) for each in by_task(answers, worker))
        chance = np.append(by_chance, by_chance.mean())
        for unseen, stated in ((0.0, found.low[worker]), (1.0, found.high[worker])):
            alike = np.append(shares, unseen)
            n = len(alike)
            without = [(np.delete(alike, k).mean(), np.delete(chance, k).mean()) for k in range(n)]
            kappas = np.array([(a - e) / (1 - e) for a, e in without])
            error = np.sqrt((n - 1) / n * ((kappas - kappas.mean()) ** 2).sum())
            half = student.ppf((1 + level) / 2, n - 1) * error
            centre = (alike.mean() - chance.mean()) / (1 - chance.mean())
            assert abs(stated - centre) == pytest.approx(half, rel=5 / n)


def test_where_chance_is_the_same_everywhere_the_interval_is_students() -> None:
    """Two workers, two classes as frequent as each other: of six tasks they agree on four, by hand."""
    labels = [("x", "x"), ("y", "y"), ("x", "x"), ("y", "y"), ("x", "y"), ("y", "x")]
    rows = [(task, worker, label) for task, pair in enumerate(labels) for worker, label in zip("ab", pair, strict=True)]
    answers = quorate.read(dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)))
    found = agreement(answers, draws=1).by_worker
    alike = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0])  # the last is the unseen task
    half = student.ppf(0.975, 6) * alike.std(ddof=1) / np.sqrt(7) / (1 - 0.5)
    assert found.kappa == pytest.approx([(4 / 6 - 0.5) / 0.5] * 2)
    assert found.low == pytest.approx([(4 / 7 - 0.5) / 0.5 - half] * 2)


def test_tasks_of_one_answer_are_counted_and_noted() -> None:
    answers = a_crowd(60)
    single = int((answers.per_task < 2).sum())
    assert single > 1
    head = agreement(answers, draws=1).lines()[0]
    assert f"Agreement on {answers.n_tasks - single} tasks" in head
    assert head.endswith(f" ({single} tasks with fewer than two answers not counted), with 95% intervals:")
