"""False discovery and power of the pair test on simulated crowds: rates, sample sizes and tolerances are stated."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from experiments.simulation.planted_faults import copying, relabelled

from quorate.diagnostics import copying as copying_module
from quorate.diagnostics.copying import _Fit, agreement_findings, agreement_test, upper_tail
from quorate.graph.pairs import correlations, pair_stats
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.simulate import crowd
from quorate.skills.rank_one_score import OneCoinInference
from tests.diagnostics.samples import at_least, at_most, named_pairs


def false_share(named: set[tuple[int, int]], true: set[tuple[int, int]]) -> float:
    return len(named - true) / max(len(named), 1)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_few_false_discoveries_without_copying(n_classes: int) -> None:
    """80 crowds of 8 to 40 workers. Under the null a crowd with any pair named is a false discovery: at most 5 %."""
    alarms = 0
    for seed in range(80):
        rng = np.random.default_rng([seed, n_classes])
        n_workers = int(rng.choice([8, 20, 40]))
        skills = rng.uniform(0, 1, n_workers) if seed % 2 else rng.uniform(0.05, 0.6, n_workers)
        simulated = crowd(400, n_workers, 6, n_classes=n_classes, skills=skills, seed=rng)
        alarms += bool(named_pairs(simulated.answers)[0])
    assert alarms <= at_most(0.05, 80)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("n_tasks", "n_workers", "per_task"), [(100, 5, 5), (300, 10, 5), (400, 20, 8)])
def test_the_only_two_skilled_workers_are_not_accused(
    n_classes: int, n_tasks: int, n_workers: int, per_task: int
) -> None:
    """Two workers are right 95 % of the time, the others guess: in 30 crowds a pair is named in 5 % at the most."""
    skills = np.zeros(n_workers)
    skills[:2] = (n_classes * 0.95 - 1) / (n_classes - 1)
    alarms = 0
    accused = 0
    for seed in range(30):
        simulated = crowd(n_tasks, n_workers, per_task, n_classes=n_classes, skills=skills, seed=seed)
        named, _ = named_pairs(simulated.answers)
        alarms += bool(named)
        accused += (0, 1) in named
    assert alarms <= at_most(0.05, 30)
    assert accused <= 1


@pytest.mark.parametrize("n_classes", [2, 4])
def test_skills_above_zero_explain_no_less_than_chance(n_classes: int) -> None:
    for seed in range(20):
        skills = np.r_[0.93, 0.93, np.zeros(8)]
        answers = crowd(300, 10, 5, n_classes=n_classes, skills=skills, seed=seed).answers
        inference = aggregate_in_memory("rank-one", answers).inference
        assert isinstance(inference, OneCoinInference)
        test = agreement_test(inference, pair_stats(answers), 10)
        shown = inference.skills
        is_positive = (shown[test.pairs.i] >= 0) & (shown[test.pairs.j] >= 0)
        assert (test.expected[is_positive] >= 1 / n_classes - 1e-12).all()
        for k in range(len(test.p)):
            low, high = test.expected_range(k)
            assert 0 <= low <= test.expected[k] <= high <= 1
            assert low >= 1 / n_classes or not is_positive[k]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_two_guessers_who_copy_each_other_are_found_in_a_skilled_crowd(n_classes: int) -> None:
    """Nothing speaks for a skill of theirs, but much against it: 20 crowds, 57 shared tasks per pair."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, n_classes])
        simulated = crowd(400, 20, 8, n_classes=n_classes, skills=np.r_[0.0, 0.0, np.full(18, 0.6)], seed=rng)
        answers = copying(simulated.answers, np.array([[0, 1]]), 0.9, rng)
        found += (0, 1) in named_pairs(answers)[0]
    assert found >= at_least(0.9, 20)


@pytest.mark.parametrize(("share", "n_tasks", "more_than"), [(0.9, 800, 40), (0.6, 2000, 160)])
def test_copying_pairs_are_found_and_few_others(share: float, n_tasks: int, more_than: int) -> None:
    """40 crowds, 30 workers with skills uniform on [0, 1], three copying pairs each; two classes.

    Power at least .8 over the pairs with so many shared tasks, false discovery at most .05: one-in-a-thousand
    tolerance of the binomial law.
    """
    found, false = [], 0.0
    for seed in range(40):
        rng = np.random.default_rng([seed, n_tasks])
        per_task = 8 if share > 0.8 else 10
        simulated = crowd(n_tasks, 30, per_task, skills=rng.uniform(0, 1, 30), seed=rng)
        chosen = np.sort(rng.permutation(30)[:6].reshape(3, 2), axis=1)
        true = {(int(i), int(j)) for i, j in chosen}
        named, shared = named_pairs(copying(simulated.answers, chosen, share, rng))
        found += [pair in named for pair in true if shared.get(pair, 0) > more_than]
        false += false_share(named, true)
    assert len(found) >= 90
    assert sum(found) >= at_least(0.8, len(found))
    assert false <= at_most(0.05, 40)


def test_one_copying_pair_does_not_make_the_rest_of_a_small_crowd_look_guilty() -> None:
    """Six workers, two of whom copy: without setting that pair aside, others are named in one crowd of four."""
    false = 0.0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        simulated = crowd(400, 6, 5, skills=rng.uniform(0.1, 0.95, 6), seed=rng)
        chosen = np.sort(rng.permutation(6)[:2].reshape(1, 2), axis=1)
        named, _ = named_pairs(copying(simulated.answers, chosen, 0.8, rng))
        false += false_share(named, {(int(chosen[0, 0]), int(chosen[0, 1]))})
    assert false <= at_most(0.05, 60)


def test_the_tail_is_the_binomial_one_where_the_skills_are_known() -> None:
    for n, k, q in ((20, 15, 0.5), (37, 30, 0.71), (25, 25, 0.9), (25, 0, 0.1)):
        law = [comb(n, a) * q**a * (1 - q) ** (n - a) for a in range(n + 1)]
        mid_p = sum(law[k + 1 :]) + law[k] / 2
        assert upper_tail(np.array([n]), np.array([k]), np.array([q]), np.zeros(1))[0] == pytest.approx(mid_p)


def test_uncertain_skills_make_agreement_less_surprising() -> None:
    args = np.full(3, 50), np.full(3, 40), np.full(3, 0.5)
    p = upper_tail(*args, np.array([0.0, 0.02, 0.5]))
    assert p[0] < p[1] < p[2]


def test_twice_the_answers_leave_half_the_doubt_about_skills() -> None:
    """The variance of a skill falls with the answers behind it; a fifth of slack for the skills' own estimates."""
    rho = []
    for n_tasks in (1000, 2000):
        answers = crowd(n_tasks, 12, 6, skills=np.linspace(0.4, 0.8, 12), seed=0).answers
        inference = aggregate_in_memory("rank-one", answers).inference
        assert isinstance(inference, OneCoinInference)
        rho.append(agreement_test(inference, pair_stats(answers), 12).rho.mean())
    assert rho[1] / rho[0] == pytest.approx(0.5, rel=0.2)


def test_a_group_that_copies_from_one_is_a_cluster_and_a_pair_is_none() -> None:
    rng = np.random.default_rng(5)
    simulated = crowd(600, 20, 12, skills=np.full(20, 0.6), seed=rng)
    answers = copying(simulated.answers, np.array([[0, 1], [0, 2], [0, 3], [10, 11]]), 0.9, rng)
    result = aggregate_in_memory("rank-one", answers)
    assert isinstance(result.inference, OneCoinInference)
    test = agreement_test(result.inference, pair_stats(answers), 20)
    findings = list(agreement_findings(test, answers))
    assert (10, 11) in [each.workers for each in findings if each.kind == "agreeing-pair"]
    clusters = [each for each in findings if each.kind == "agreeing-cluster"]
    assert [each.workers for each in clusters] == [(0, 1, 2, 3)]
    assert "unusually similar answers in 6 pairs" in clusters[0].sentence
    assert "cop" not in clusters[0].sentence  # the data cannot say why


def test_renaming_classes_and_workers_changes_no_finding() -> None:
    rng = np.random.default_rng(2)
    simulated = crowd(500, 12, 8, skills=rng.uniform(0.2, 0.9, 12), seed=rng)
    answers = copying(simulated.answers, np.array([[3, 7]]), 0.9, rng)
    assert named_pairs(relabelled(answers, 1 - answers.label))[0] == named_pairs(answers)[0] == {(3, 7)}


def test_gold_answers_are_no_pair() -> None:
    simulated = crowd(100, 5, 4, skills=np.full(5, 0.9), seed=0)
    result = aggregate_in_memory("rank-one", simulated.answers, gold=simulated.truth_table)
    assert isinstance(result.inference, OneCoinInference)
    test = agreement_test(result.inference, pair_stats(result.inference.answers), 5)
    assert test.pairs.j.max() < 5
    assert len(test.flagged) == 0


@pytest.mark.parametrize("n_classes", [2, 4])
def test_sums_from_the_answers_are_those_over_the_pairs_that_are_left(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    answers = crowd(300, 30, 6, n_classes=n_classes, skills=rng.uniform(0, 1, 30), seed=rng).answers
    inference = aggregate_in_memory("rank-one", answers).inference
    assert isinstance(inference, OneCoinInference)
    pairs = pair_stats(answers)
    # Worker 0 keeps no pair, so that all of its sums are exactly zero.
    left_out = np.flatnonzero((pairs.i == 0) | (np.arange(len(pairs)) % 7 == 0))
    fit = _Fit.of(inference, pairs, 30).refitted(left_out)
    x = fit.skills
    rest = pairs.among(np.setdiff1d(np.arange(len(pairs)), left_out))
    c = correlations(rest, n_classes)
    sums = fit.peer_sums
    for found, factor, power in (
        (sums.products, c, 1),
        (sums.squares, 1.0, 2),
        (sums.cubes, 1.0, 3),
        (sums.fourths, 1.0, 4),
    ):
        weight = rest.shared * factor
        expected = rest.by_worker(30, weight * x[rest.j] ** power, weight * x[rest.i] ** power)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    assert sums.products[0] == sums.squares[0] == 0


@pytest.mark.parametrize("seed", range(6))
def test_pairs_that_cannot_be_suspect_do_not_change_the_test(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each crowd three pairs copy, so that pairs are left out; most pairs are excluded by the bound."""
    rng = np.random.default_rng(seed)
    n_workers = (8, 60, 200)[seed % 3]
    low = -0.2 if seed % 2 else 0.0
    simulated = crowd(600, n_workers, min(n_workers, 30), skills=rng.uniform(low, 1, n_workers), seed=rng)
    chosen = np.sort(rng.permutation(n_workers)[:6].reshape(3, 2), axis=1)
    answers = copying(simulated.answers, chosen, 0.9, rng)
    inference = aggregate_in_memory("rank-one", answers).inference
    assert isinstance(inference, OneCoinInference)
    pairs = pair_stats(answers)
    test = agreement_test(inference, pairs, n_workers)
    assert len(_Fit.of(inference, pairs, n_workers).without_suspects().left_out)
    every_pair = np.arange(len(pairs))
    searched = copying_module._PossibleSuspects.of
    monkeypatch.setattr(copying_module._PossibleSuspects, "of", lambda fit: replace(searched(fit), pairs=every_pair))
    among_all = agreement_test(inference, pairs, n_workers)
    for name in ("expected", "rho", "p", "adjusted"):
        np.testing.assert_array_equal(getattr(test, name), getattr(among_all, name))
