from typing import Any

import numpy as np
import pytest
from experiments.simulation.planted_faults import relabelled

from quorate.answers import Answers
from quorate.diagnostics.class_dependence import (
    SIGNIFICANCE_LEVEL,
    RightByClass,
    _log_probability,
    _one_coin_log_probability,
    held_out,
    misfit_findings,
    right_by_class,
)
from quorate.methods.aggregate import aggregate
from quorate.simulate import crowd
from tests.diagnostics.samples import at_most, class_dependent


def by_class(answers: Answers) -> RightByClass:
    return right_by_class(answers, aggregate(answers).vote.posterior)


def test_crowds_of_one_coin_show_no_misfit() -> None:
    """60 crowds with 2, 4 and 10 classes, half of them with an uneven class prior: at most 1 % may be named."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        m, w, t = int(rng.choice([2, 4, 10])), int(rng.choice([10, 40])), int(rng.choice([100, 400]))
        prior = None if seed % 2 else rng.dirichlet(np.full(m, 2.0))
        found = held_out(crowd(t, w, 4, n_classes=m, skills=rng.uniform(0, 1, w), prior=prior, seed=rng).answers)
        alarms += found is not None and found.p <= SIGNIFICANCE_LEVEL
    assert alarms <= at_most(0.01, 60)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_two_skilled_workers_among_guessers_show_no_misfit(n_classes: int) -> None:
    """Twenty crowds: one coin a worker, however far the two lie from the crowd's mean accuracy."""
    skills = np.zeros(10)
    skills[:2] = (n_classes * 0.95 - 1) / (n_classes - 1)
    alarms = 0
    for seed in range(20):
        found = held_out(crowd(200, 10, 10, n_classes=n_classes, skills=skills, seed=seed).answers)
        alarms += found is not None and found.p <= SIGNIFICANCE_LEVEL
    assert alarms <= at_most(0.01, 20)


@pytest.mark.parametrize("name", ["bluebird", "trec"])
def test_the_known_sets_with_class_dependent_accuracy_show_it(real: Any, name: str) -> None:
    answers = real.load(name).answers
    (finding,) = misfit_findings(held_out(answers), answers, by_class(answers))
    assert finding.strength < 1e-6
    assert " is harder than " in finding.sentence
    assert finding.evidence["better_method"] in ("quorate", "dawid-skene")


def test_a_crowd_that_slips_on_one_class_is_found_and_that_class_is_named() -> None:
    rng = np.random.default_rng(0)
    simulated = crowd(1500, 30, 5, skills=rng.uniform(0.5, 0.9, 30), seed=rng)
    a = simulated.answers
    slips = (a.label == 0) & (simulated.truth[a.task] == 0) & (rng.random(a.n_answers) < 0.5)
    biased = relabelled(a, np.where(slips, 1, a.label))
    (finding,) = misfit_findings(held_out(biased), biased, by_class(biased))
    ranges = finding.evidence["right_by_class"]
    assert ranges["c0"]["share"] < ranges["c1"]["share"]
    assert finding.sentence.startswith('Class "c0" is harder than class "c1"')


def test_an_answer_is_foretold_from_the_others_on_its_task() -> None:
    """A naive double loop over Bayes' rule."""
    answers = crowd(20, 5, 4, n_classes=3, seed=3).answers
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(3), size=(5, 3)).transpose(0, 2, 1)  # workers × answers × classes
    prior = np.array([0.5, 0.3, 0.2])
    fast = _log_probability(answers, theta[answers.worker, answers.label], prior)
    for k in range(answers.n_answers):
        others = [o for o in range(answers.n_answers) if answers.task[o] == answers.task[k] and o != k]
        belief = prior.copy()
        for o in others:
            belief = belief * theta[answers.worker[o], answers.label[o]]
        belief /= belief.sum()
        assert fast[k] == pytest.approx(np.log(belief @ theta[answers.worker[k], answers.label[k]]))


@pytest.mark.parametrize("n_classes", [2, 7])
def test_one_accuracy_per_worker_is_a_matrix_with_equal_errors(n_classes: int) -> None:
    """An accuracy of one or zero has the least probability that a model gives to an answer."""
    answers = crowd(40, 6, 5, n_classes=n_classes, seed=5).answers
    accuracy = np.array([0.0, 0.2, 0.5, 0.8, 0.999999, 1.0])
    prior = np.random.default_rng(0).dirichlet(np.ones(n_classes))
    wrong = (1 - accuracy) / (n_classes - 1)
    matrices = np.where(np.eye(n_classes, dtype=bool), accuracy[:, None, None], wrong[:, None, None])
    by_matrix = _log_probability(answers, matrices[answers.worker, answers.label], prior)
    np.testing.assert_allclose(_one_coin_log_probability(answers, accuracy, prior), by_matrix, atol=1e-9)


@pytest.mark.parametrize(("n_classes", "gap", "is_found"), [(30, 0.0, False), (3, 0.6, True)])
def test_matrices_far_behind_on_one_fold_do_not_change_the_test(
    n_classes: int, gap: float, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """12,000 answers by 300 workers: one matrix per worker predicts them much worse than one accuracy per worker."""
    answers = class_dependent(3000, 300, 4, n_classes, gap, np.random.default_rng(3))
    found = held_out(answers)
    monkeypatch.setattr("quorate.diagnostics.class_dependence.MAX_DEFICIT_Z", np.inf)
    of_all_folds = held_out(answers)
    assert found is not None
    assert of_all_folds is not None
    assert of_all_folds.z("dawid-skene") < -12
    assert (of_all_folds.p <= SIGNIFICANCE_LEVEL) == is_found
    assert found.p == pytest.approx(of_all_folds.p)
    for name in ("pooled", "quorate"):
        assert found.gain[name] == pytest.approx(of_all_folds.gain[name], abs=1e-12)
    # The figures of a finding are those of all folds.
    assert (found == of_all_folds) == is_found


def test_too_few_tasks_or_too_many_cells_are_left_out(monkeypatch: Any) -> None:
    few = crowd(10, 5, 3).answers
    assert held_out(few) is None
    assert misfit_findings(None, few, by_class(few)) == []
    monkeypatch.setattr("quorate.diagnostics.class_dependence.MAX_MATRIX_ENTRIES", 10)
    assert held_out(crowd(100, 5, 3).answers) is None


def test_workers_with_no_answer_left_do_no_harm() -> None:
    full = crowd(100, 5, 3, seed=0).answers
    kept = full.worker != 4
    lost = Answers(
        full.task[kept], full.worker[kept], full.label[kept], full.task_names, full.worker_names, full.classes
    )
    found = held_out(lost)
    assert found is not None
    assert np.isfinite(list(found.log_likelihood.values())).all()
