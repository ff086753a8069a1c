"""The standard method: its parts, its promises, its claims."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from experiments.calibration import regimes

import quorate
from quorate import simulate
from quorate.blocks.memory import blocks_of
from quorate.calibration.one_factor import one_factor_fit
from quorate.evaluation.metrics import calibration_error, expected_error, log_loss
from quorate.skills.centred import centred_moments, centred_skills
from quorate.skills.objective import Problem
from quorate.skills.shrinkage import response_bias
from quorate.voting.vote import majority
from tests.crowds import answers_of
from tests.skills.slopes import assert_that_the_gradient_is_the_slope

SETS = ("bluebird", "dogs", "rte1", "temp", "trec", "web", "wsd")
OTHERS = ("majority", "dawid-skene", "one-coin", "rank-one")


def test_it_holds_on_real_crowds(real: Any) -> None:
    """Better on average than other methods, never far from the vote, and calibrated."""
    errors: dict[str, list[float]] = {method: [] for method in ("quorate", *OTHERS)}
    figures = []
    for name in SETS:
        data = real.load(name)
        for method, found in errors.items():
            result = quorate.aggregate(data.answers, method, intervals="none")
            found.append(expected_error(result, data.truth).error)
            if method == "quorate":
                figures.append((log_loss(result, data.truth), calibration_error(result, data.truth)))
        assert errors["quorate"][-1] <= errors["majority"][-1] + 0.03, name
    for method in OTHERS:
        assert np.mean(errors["quorate"]) < np.mean(errors[method])
    losses, calibrations = np.mean(figures, axis=0)
    assert losses <= 0.36
    assert calibrations <= 0.065


@pytest.mark.parametrize("regime", regimes.REGIMES, ids=lambda regime: regime.name)
def test_it_does_not_lose_to_majority_vote(regime: regimes.Regime) -> None:
    """Nor does it where a group copies. Where a group shares a bias the warning fires instead."""
    errors, trusted = regimes.measure(regime, seeds=range(2))
    if "bias shared" in regime.name:
        assert errors["cautious"] <= errors["majority"] + 0.01
        assert errors["quorate"] <= errors["majority"] + 0.01 or trusted < 0.8
    else:
        assert errors["quorate"] <= errors["majority"] + 0.01


def test_it_is_better_on_average_than_what_it_is_made_of() -> None:
    fair = [regime for regime in regimes.REGIMES if not regime.excepted]
    means = dict.fromkeys(regimes.METHODS, 0.0)
    for regime in fair:
        errors, _ = regimes.measure(regime, seeds=[7])
        means = {name: means[name] + errors[name] / len(fair) for name in means}
    assert means["quorate"] < min(means[name] for name in ("rank-one", "one-coin", "dawid-skene", "majority"))


def test_most_of_the_gain_of_known_skills_is_had_where_most_workers_gave_one_or_two_answers() -> None:
    crowd = regimes.heavy_tailed(np.random.default_rng(3))
    assert (crowd.answers.per_worker < 3).mean() > 0.5
    errors = [
        expected_error(quorate.aggregate(crowd.answers, method), crowd.truth_table).error
        for method in ("majority", "rank-one", "quorate")
    ]
    assert errors[2] < errors[0]
    assert errors[2] < errors[1]


# --- centred skills ---


def test_centred_moments_equal_a_double_loop() -> None:
    answers = simulate.crowd(30, 6, 3, n_classes=3, seed=4).answers
    bias_of_workers = response_bias(answers)
    moments = centred_moments(answers, bias_of_workers)
    v = np.random.default_rng(0).normal(size=6)
    z = np.eye(3)[answers.label] - bias_of_workers.frequency[answers.worker]
    signed, shared = np.zeros(6), np.zeros(6)
    for a in range(answers.n_answers):
        for b in range(answers.n_answers):
            if a != b and answers.task[a] == answers.task[b]:
                omega = 1 / max(answers.per_task[answers.task[a]] - 1, 1)
                shared[answers.worker[a]] += omega * v[answers.worker[b]]
                signed[answers.worker[a]] += omega * (z[a] @ z[b]) / bias_of_workers.spread * v[answers.worker[b]]
    assert moments.shared @ v == pytest.approx(shared, abs=1e-9)
    assert moments.signed @ v == pytest.approx(signed, abs=1e-9)


def test_the_ridged_gradient_agrees_with_finite_differences() -> None:
    answers = simulate.crowd(60, 8, 3, seed=2).answers
    moments = centred_moments(answers, response_bias(answers))
    problem = Problem(moments, -np.ones(8), np.ones(8), np.ones(8), ridge=3.0, centre=0.4)
    assert_that_the_gradient_is_the_slope(problem, 8)


def test_centring_removes_the_class_prior_and_the_bias_towards_a_class() -> None:
    """Nine tasks in ten are of one class, and some workers always give it: they agree, and know nothing."""
    rng = np.random.default_rng(0)
    n_tasks, n_workers = 4000, 12
    truth = (rng.random(n_tasks) < 0.1).astype(np.int64)
    knows = np.where(np.arange(n_workers) < 4, 0.0, 0.7)
    bias_label = (rng.random((n_tasks, n_workers)) < 0.02).astype(np.int64)  # nearly always class 0
    label = np.where(rng.random((n_tasks, n_workers)) < knows, truth[:, None], bias_label)
    cells = [(t, w, int(label[t, w])) for t in range(n_tasks) for w in range(n_workers)]
    answers = answers_of(cells)
    centred = centred_skills(answers).solution.skills
    plain = quorate.aggregate(answers, "rank-one").skills
    # Centred, a guesser is distinguished from a skilled worker; by plain agreement all look skilled.
    assert np.abs(centred[:4]).max() < 0.15
    assert centred[4:].min() > 0.5
    assert plain[:4].min() > 0.5


def test_workers_with_few_answers_are_drawn_to_the_mean() -> None:
    skills = simulate.grid_skills(60, 0.0, 0.9, seed=0)
    crowd = simulate.crowd(400, 60, 5, skills=skills, activity=simulate.zipf_activity(60, 1.2), seed=0)
    found = centred_skills(crowd.answers)
    off, n = np.abs(found.solution.skills - found.mean), crowd.answers.per_worker
    # The skills themselves lie 0.2 from the mean; what ten answers cannot tell is not claimed.
    assert off[n <= 10].mean() < np.abs(skills - found.mean)[n <= 10].mean() / 2
    assert np.abs(found.solution.skills - skills)[n >= 60].mean() < 0.15


# --- refinement ---


def test_a_worker_better_at_one_class_is_reported() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    right = np.where(np.arange(6) == 0, np.where(truth[:, None] == 0, 0.98, 0.55), 0.85)
    label = np.where(rng.random((600, 6)) < right, truth[:, None], 1 - truth[:, None])
    result = quorate.aggregate(answers_of([(t, f"w{w}", f"c{label[t, w]}") for t in range(600) for w in range(6)]))
    accuracy_text = result.workers["class_accuracy"].to_pylist()
    assert accuracy_text[0] is not None
    assert accuracy_text[0].startswith("c0 0.9")
    assert sum(text is not None for text in accuracy_text[1:]) <= 1  # at 1 % each, two false ones would be a surprise


# --- trust ---


def test_no_false_alarm_in_120_crowds_of_one_factor() -> None:
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n_classes, per_task = int(rng.integers(2, 6)), int(rng.integers(3, 9))
        crowd = simulate.crowd(400, 25, per_task, n_classes=n_classes, skills=rng.uniform(0, 0.95, 25), seed=rng)
        blocks = blocks_of(crowd.answers)
        assert one_factor_fit(blocks, response_bias(blocks)) >= 0.8, seed


def test_the_warning_fires_when_a_large_group_copies() -> None:
    for seed in range(5):
        answers = regimes.copied(np.random.default_rng(seed), share=0.4).answers
        result = quorate.aggregate(answers)
        assert result.confidence_basis is not None
        assert result.confidence_basis.families or (result.one_factor_weight or 1.0) < 0.8
        assert (
            "give the same answers far more often than their skills explain" in result.summary()
            or "may copy or share a bias" in result.summary()
        )
        assert quorate.aggregate(answers, cautious=True).vote.posterior.sum(axis=1) == pytest.approx(1)


# --- promises ---


def test_gold_anchors_and_undetermined_workers_are_marked() -> None:
    crowd = simulate.crowd(400, 4, 4, skills=np.array([-0.8, -0.7, -0.6, 0.5]), seed=0)
    gold = {row["task"]: row["label"] for row in crowd.truth_table.to_pylist()[:100]}
    anchored = quorate.aggregate(crowd.answers, gold=gold)
    assert (np.sign(anchored.skills) == np.sign(crowd.skills)).all()
    assert expected_error(anchored, crowd.truth_table).error < 0.1
    pair = quorate.aggregate(answers_of([(t, w, "xy"[t % 2]) for t in range(4) for w in "ab"]))
    assert np.isnan(pair.skills).all()
    assert pair.one_factor_weight is None
    assert "be rated" in pair.summary()


def test_the_class_order_does_not_matter() -> None:
    answers = simulate.crowd(300, 12, 3, n_classes=3, seed=1).answers
    order = np.array([2, 0, 1])
    other = replace(answers, label=order[answers.label].astype(np.int32))
    one, two = (quorate.aggregate(each) for each in (answers, other))
    assert two.vote.posterior[:, order] == pytest.approx(one.vote.posterior, abs=1e-6)
    assert two.skills == pytest.approx(one.skills, abs=1e-6)


def test_majority_is_the_answer_where_nobody_can_be_identified() -> None:
    answers = answers_of([(t, f"w{t}{k}", "xy"[t % 2]) for t in range(4) for k in range(2)])
    assert (quorate.aggregate(answers).vote.label == majority(answers).label).all()
