from typing import Any

import numpy as np
import pytest
from experiments.simulation.planted_faults import relabelled

import quorate
from quorate.answers import Answers
from quorate.datasets.sources import SOURCES
from quorate.diagnostics.diagnose import diagnose
from quorate.diagnostics.one_button import MIN_ANSWERS, button_findings, one_button
from quorate.io.gold import match_truth
from quorate.simulate import crowd


def pressed(answers: Answers, workers: list[int], button: int) -> Answers:
    """Let some workers answer one class, whatever the task."""
    return relabelled(answers, np.where(np.isin(answers.worker, workers), button, answers.label))


def test_who_presses_one_button_is_named_with_its_class_and_its_cost() -> None:
    answers = pressed(crowd(400, 12, 5, skills=np.full(12, 0.7), seed=0).answers, [3, 8], 1)
    found = diagnose(answers)
    findings = found.of_kind("one-button")
    assert {worker for finding in findings for worker in finding.workers} == {3, 8}
    assert [finding.evidence["cost"] for finding in findings] == sorted(
        answers.per_worker[[3, 8]].tolist(), reverse=True
    )
    for finding in findings:
        n = int(answers.per_worker[finding.workers[0]])
        assert finding.strength == pytest.approx(n / answers.n_answers)
        assert f'{n:,} of {n:,} are "c1"' in finding.sentence
        assert finding.line.endswith("[stop or retest]")
        for kind in ("spammer", "likely-guesser", "below-typical"):
            assert not any(set(finding.workers) & set(each.workers) for each in found.of_kind(kind))


@pytest.mark.parametrize("seed", range(6))
def test_able_workers_of_a_skewed_crowd_are_not(seed: int) -> None:
    """Nine tasks in ten are of one class, so that everybody gives it nine times in ten."""
    simulated = crowd(400, 20, 5, skills=np.full(20, 0.9), prior=np.array([0.94, 0.06]), seed=seed)
    result = quorate.aggregate(simulated.answers)
    assert not one_button(simulated.answers, result.vote.posterior).named.any()


def test_of_a_few_answers_nothing_is_reported() -> None:
    activity = np.concatenate([np.ones(11), [0.01]])
    answers = pressed(crowd(300, 12, 4, activity=activity, seed=1).answers, [11], 0)
    assert answers.per_worker[11] < MIN_ANSWERS
    assert not one_button(answers, quorate.aggregate(answers).vote.posterior).named[11]


def test_trec_names_the_workers_who_press_one_button_the_costliest_first(real: Any) -> None:
    """22 workers of 40 answers or more give one class 95 times in a hundred: 26,019 of 88,385 answers."""
    result = quorate.aggregate(real.load("trec").answers)
    answers = result.answers
    findings = button_findings(one_button(answers, result.vote.posterior), result)
    workers = [worker for finding in findings for worker in finding.workers]
    assert answers.worker_names[workers[0]].as_py() == "38"
    given = np.zeros((answers.n_workers, answers.n_classes))
    np.add.at(given, (answers.worker, answers.label), 1)
    same = np.flatnonzero((given.max(axis=1) >= 0.95 * answers.per_worker) & (answers.per_worker >= 40))
    assert (len(same), answers.per_worker[same].sum()) == (22, 26_019)
    assert set(same.tolist()) <= set(workers)
    assert findings[0].sentence.startswith("Worker 38 gives the same answer almost every time: 7,0")


@pytest.mark.parametrize("name", SOURCES)
def test_those_named_tell_next_to_nothing_by_the_truth(real: Any, name: str) -> None:
    """How much more often each gives its class where that is true than elsewhere: 1 for knowing, 0 for a button."""
    data = real.load(name)
    result = quorate.aggregate(data.answers)
    answers = result.answers
    found = one_button(answers, result.vote.posterior)
    tasks, labels = match_truth(data.truth, answers)
    truth = np.full(answers.n_tasks, -1)
    truth[tasks.codes[tasks.codes >= 0]] = labels.codes[tasks.codes >= 0]
    true, informed = truth[answers.task], []
    for worker in found.ranked.tolist():
        mine, button = answers.worker == worker, found.favourite[worker]
        there, elsewhere = mine & (true == button), mine & (true >= 0) & (true != button)
        if min(there.sum(), elsewhere.sum()) >= 5:
            informed.append((answers.label[there] == button).mean() - (answers.label[elsewhere] == button).mean())
    assert all(each < 0.25 for each in informed)
    assert abs(np.mean(informed or [0.0])) < 0.05 or len(informed) < 4  # one of 24 answers is off by more
