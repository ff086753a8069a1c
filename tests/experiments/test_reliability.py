"""What a confidence means: as often right as it says, and not surer for skills that hardly anything is known of."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from experiments.calibration import reliability as experiment
from experiments.calibration.judged import BINS, Judged, judge, pooled, reliability
from experiments.calibration.reliability import few_answers, hard_tasks

from quorate.evaluation.metrics import calibration_error, expected_error, log_loss
from quorate.methods.aggregate import aggregate
from quorate.simulate import Crowd, crowd
from quorate.voting.vote import plug_in_vote, skill_of, weight
from tests.crowds import answers_of


def three_errors(judged: Judged) -> float:
    """Three standard errors of the share that is right: what chance explains."""
    return float(3 * np.sqrt(judged.error * (1 - judged.error) / len(judged.right)))


@pytest.mark.parametrize("method", experiment.METHODS)
def test_figures_of_pooled_labels_are_those_of_the_score(method: str) -> None:
    simulated = crowd(200, 15, 4, n_classes=3, seed=1)
    result = aggregate(simulated.answers, method)
    judged = judge(result, simulated.truth_table)
    assert judged.error == pytest.approx(expected_error(result, simulated.truth_table).error)
    assert judged.log_loss == pytest.approx(log_loss(result, simulated.truth_table))
    assert judged.calibration_error == pytest.approx(calibration_error(result, simulated.truth_table, bins=BINS))


def test_tasks_without_truth_are_not_judged_and_an_unknown_truth_is_wrong() -> None:
    result = aggregate(answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "x"), (3, "a", "x")]), "majority")
    judged = judge(result, {1: "x", 2: "never given"})
    assert judged.sure.tolist() == [0.5, 1.0]
    assert judged.right.tolist() == [0.5, 0.0]
    assert judged.true_probability.tolist() == [0.5, 0.0]


def test_the_reliability_diagram_is_the_calibration_error_drawn() -> None:
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.3, 1.0, 5_000)
    judged = Judged(sure, (rng.random(5_000) < sure**2).astype(np.float64), sure)
    points = reliability(judged)
    n = np.bincount(judged.bins, minlength=BINS)
    gaps = [abs(point["confidence"] - point["right"]) for point in points]
    # The points are rounded to four digits.
    assert n[n > 0] @ np.array(gaps) / n.sum() == pytest.approx(judged.calibration_error, abs=1e-4)
    assert all(point["right"] == pytest.approx(point["confidence"] ** 2, abs=0.05) for point in points)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_vote_that_knows_the_skills_is_right_as_often_as_it_says(n_classes: int) -> None:
    simulated = crowd(4_000, 40, 5, n_classes=n_classes, seed=2)
    task_vote = plug_in_vote(simulated.answers, weight(simulated.skills, n_classes))
    known = aggregate(simulated.answers, "rank-one")
    judged = judge(replace(known, label_source=task_vote), simulated.truth_table)
    assert abs(judged.gap) < three_errors(judged)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_averaging_over_uncertain_skills_is_voting_with_their_means(n_classes: int) -> None:
    """The posterior of one task, averaged over all that three workers' accuracies may be, by brute force."""
    rng = np.random.default_rng(3)
    possible = rng.uniform(0.1, 0.95, (3, 4))  # four accuracies for each worker
    chance = rng.dirichlet(np.ones(4), 3)  # and how likely each is
    labels = [0, 1, 0]
    likelihood = np.zeros(n_classes)
    for picked in product(range(4), repeat=3):
        p = possible[range(3), picked]
        for truth in range(n_classes):
            given = [p[w] if labels[w] == truth else (1 - p[w]) / (n_classes - 1) for w in range(3)]
            likelihood[truth] += chance[range(3), picked].prod() * np.prod(given)
    answers = answers_of(
        [("t", f"w{w}", "xyz"[label]) for w, label in enumerate(labels)], classes=list("xyz"[:n_classes])
    )
    means = skill_of((possible * chance).sum(axis=1), n_classes)
    voted = plug_in_vote(answers, weight(means, n_classes)).posterior[0]
    assert voted == pytest.approx(likelihood / likelihood.sum(), rel=1e-12)


def test_with_few_answers_a_worker_only_skills_taken_at_face_value_are_too_sure() -> None:
    found: dict[str, list[Judged]] = {method: [] for method in experiment.METHODS}
    for seed in range(2):
        simulated = few_answers(np.random.default_rng(seed))
        for method in found:
            found[method].append(judge(aggregate(simulated.answers, method), simulated.truth_table))
    all_of = {method: pooled(parts) for method, parts in found.items()}
    for method in ("rank-one", "one-coin", "dawid-skene"):
        assert all_of[method].gap > 0.05
    assert all_of["quorate"].gap < three_errors(all_of["quorate"])
    # The mean skill is itself estimated, and each answer has a part in its own worker's skill: 0.03 is above both.
    assert abs(all_of["rank-one-centred"].gap) < 0.03
    assert all_of["quorate"].log_loss < all_of["majority"].log_loss


def test_the_crowds_are_what_they_are_called() -> None:
    few: Crowd = few_answers(np.random.default_rng(0))
    assert 2 <= np.median(few.answers.per_worker) <= 5
    hard = hard_tasks(np.random.default_rng(0), share=1.0)
    a = hard.answers
    # Everybody guesses: 7,000 answers are right by chance, within three standard errors.
    assert np.mean(a.label == hard.truth[a.task]) == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(a.n_answers))


def test_on_public_data_the_standard_methods_confidence_costs_least(real: Any) -> None:
    for name in ("rte1", "temp"):
        data = real.load(name)
        losses = {each: judge(aggregate(data.answers, each), data.truth).log_loss for each in experiment.METHODS}
        assert min(losses, key=lambda method: losses[method]) == "quorate"
