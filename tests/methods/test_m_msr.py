"""Trimmed completion: exact where the data are, near the truth where some workers' correlations are anything."""

import numpy as np
import pytest

import quorate
from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError, TooLargeError
from quorate.graph import pairs as pairs_module
from quorate.methods.m_msr import complete, m_msr, trimmed_means
from quorate.simulate import answer, clique, crowd, crowd_on_graph, ring, star
from quorate.skills.identification import BIPARTITE, IDENTIFIED, ISOLATED, NO_ANSWERS, ONE_CLASS
from quorate.skills.objective import CAPPED, CONVERGED
from tests.crowds import connected_odd_graph


def slow_trimmed_mean(ratios: list[float], estimate: float, drop: int) -> float:
    """Drop the largest of those above, one by one, then the smallest of those below."""
    kept = sorted(ratios)
    above = [ratio for ratio in kept if ratio > estimate]
    below = [ratio for ratio in kept if ratio < estimate]
    level = [ratio for ratio in kept if ratio == estimate]
    for _ in range(drop):
        if above:
            above.remove(max(above))
        if below:
            below.remove(min(below))
    left = below + level + above
    return sum(left) / len(left) if left else estimate


def test_trimmed_means_equal_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(1, 8))
        target = np.sort(rng.integers(0, n, int(rng.integers(0, 40))))
        ratio = rng.integers(0, 6, len(target)) / 4  # with many equal to each other and to the estimate
        estimate, drop = rng.integers(0, 6, n) / 4, rng.integers(0, 4, n)
        slow = [slow_trimmed_mean(ratio[target == k].tolist(), float(estimate[k]), int(drop[k])) for k in range(n)]
        np.testing.assert_allclose(trimmed_means(target, ratio, estimate, drop), slow)


@pytest.mark.parametrize("n", [3, 7, 20])
def test_exact_correlations_return_the_skills(n: int) -> None:
    rng = np.random.default_rng(n)
    graphs = [clique(n), star(n), connected_odd_graph(n, rng)] + ([ring(n)] if n % 2 else [])
    for i, j in graphs:
        skills = rng.uniform(0.1, 0.95, n)
        found = complete(i, j, skills[i] * skills[j], np.zeros(n, int), trim=0)
        assert found.status == CONVERGED
        # The change a round is below 1e-10; on the ring of 7 it shrinks by about a tenth a round.
        np.testing.assert_allclose(found.size, skills, atol=1e-8)


def test_trimming_does_not_move_exact_correlations() -> None:
    i, j = clique(15)
    skills = np.random.default_rng(1).uniform(0.1, 0.95, 15)
    for trim in (None, 1, 4, 100):
        found = complete(i, j, skills[i] * skills[j], np.zeros(15, int), trim=trim)
        np.testing.assert_allclose(found.size, skills, atol=1e-8)


def test_components_are_completed_each_on_its_own() -> None:
    (i, j), (k, m) = clique(5), clique(4)
    skills = np.random.default_rng(2).uniform(0.2, 0.9, 9)
    i, j = np.concatenate([i, k + 5]), np.concatenate([j, m + 5])
    found = complete(i, j, skills[i] * skills[j], np.repeat([0, 1], [5, 4]))
    np.testing.assert_allclose(found.size, skills, atol=1e-8)


def corrupted(rng: np.random.Generator, n: int, liars: int) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return a clique with exact correlations, but for those of the first few workers, which are anything."""
    i, j = clique(n)
    skills = rng.uniform(0.3, 0.9, n)
    lied = i < liars
    return i, j, np.where(lied, rng.uniform(0, 1, len(i)), skills[i] * skills[j]), skills


def test_a_few_workers_of_arbitrary_correlations_do_not_move_the_others() -> None:
    for seed in range(5):
        i, j, size, skills = corrupted(np.random.default_rng(seed), 30, 5)
        component = np.zeros(30, int)
        trimmed, untrimmed = (complete(i, j, size, component, trim=trim).size[5:] for trim in (5, 0))
        assert np.abs(trimmed - skills[5:]).max() < 0.02
        assert np.abs(untrimmed - skills[5:]).max() > 0.05


def test_skills_and_signs_of_a_crowd_with_a_third_of_adversaries() -> None:
    skills = np.concatenate([np.full(10, -0.6), np.full(20, 0.7)])
    simulated = crowd(3000, 30, 6, skills=skills, seed=3)
    result = m_msr(simulated.answers)
    assert np.abs(result.skills - skills).mean() < 0.06  # 600 answers each; skills alone are known to about 0.03
    assert np.all(np.sign(result.skills) == np.sign(skills))
    assert (result.vote.label != simulated.truth).mean() < 0.05
    assert result.notes == ()


def test_more_classes_need_no_reduction() -> None:
    skills = np.linspace(0.2, 0.9, 12)
    simulated = crowd(3000, 12, 5, n_classes=4, skills=skills, seed=4)
    assert np.abs(m_msr(simulated.answers).skills - skills).max() < 0.06


def test_workers_whom_the_graph_does_not_determine_vote_with_the_mean_skill() -> None:
    triangle = [(t, w, t % 2) for t in range(30) for w in range(3)]
    triangle += [(t, w, 1) for t, w in zip(range(30, 33), range(3), strict=True)]
    rows = [*triangle, (100, 10, 0), (100, 11, 1), (200, 20, 0)]
    task, worker, label = zip(*rows, strict=True)
    result = m_msr(quorate.read({"task": task, "worker": worker, "label": label}))
    assert result.status.tolist() == [IDENTIFIED] * 3 + [BIPARTITE] * 2 + [ISOLATED]
    assert np.isnan(result.skills[3:]).all()
    np.testing.assert_allclose(result.weights, result.weights[0])
    assert result.notes[0].text.startswith("3 of 6 workers cannot be rated")


def test_a_crowd_of_pairs_only_is_a_majority_vote() -> None:
    answers = crowd_on_graph(star(5, odd_cycle=False), np.full(5, 0.7), 40).answers
    result = m_msr(answers)
    assert np.isnan(result.skills).all()
    np.testing.assert_array_equal(result.vote.label, quorate.aggregate(answers, "majority").vote.label)


def test_a_worker_of_no_correlation_at_all_has_skill_zero_and_stops_nobody() -> None:
    i, j = clique(5)
    skills = np.array([0.0, 0.5, 0.6, 0.7, 0.8])
    found = complete(i, j, skills[i] * skills[j], np.zeros(5, int), trim=0)
    np.testing.assert_allclose(found.size, skills, atol=1e-8)


def test_zero_correlations_that_leave_no_odd_cycle_do_not_let_skills_run_off() -> None:
    i, j = clique(4)
    size = np.array([0.625, 0.125, 0.125, 0.25, 0.0, 0.0])  # worker 3 has one peer that tells anything
    found = complete(i, j, size, np.zeros(4, int))
    assert found.status == CONVERGED
    assert np.all(found.size <= 1)


def test_the_seed_is_a_start_and_the_end_does_not_hang_on_it() -> None:
    answers = crowd(500, 15, 5, seed=5).answers
    one, same, other = (m_msr(answers, seed=seed) for seed in (0, 0, 1))
    assert one.skills.tobytes() == same.skills.tobytes()
    np.testing.assert_allclose(one.skills, other.skills, atol=1e-6)


def test_stopping_short_is_reported() -> None:
    i, j = clique(5)
    assert complete(i, j, np.linspace(0.1, 0.6, 10), np.zeros(5, int), max_iterations=2).status == CAPPED
    result = m_msr(crowd(200, 8, 4, seed=6).answers, max_iterations=1)
    assert [str(note) for note in result.notes] == ["m-msr: iteration cap reached (after 1 rounds)"]


def test_a_cycle_of_the_trimming_is_reported_and_ended() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):  # noise so coarse that the trimming sometimes finds no rest
        i, j = connected_odd_graph(12, rng, share=0.5)
        found = complete(i, j, rng.integers(0, 5, len(i)) / 4, np.zeros(12, int), trim=2)
        if found.status != CONVERGED:
            assert "cycle" in found.status
            assert found.iterations < 2000
            assert np.nanmax(found.size) <= 1
            return
    pytest.fail("no cycle in 200 crowds: does the test still reach it?")


def test_one_class_and_no_answers() -> None:
    one = m_msr(quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxx")}))
    assert one.vote.label.tolist() == [0, 0]
    rng = np.random.default_rng(1)
    absent = answer(np.repeat(np.arange(50), 3), np.tile(np.arange(3), 50), np.full(4, 0.6), 50, 2, None, rng)
    result = m_msr(absent.answers)
    assert result.status.tolist() == [IDENTIFIED] * 3 + [NO_ANSWERS]
    assert ONE_CLASS not in result.status


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="trim must be zero or more, got -1"):
        m_msr(crowd(10, 4, 3).answers, trim=-1)


def test_too_many_pairs_are_refused_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 15_000
    many = quorate.read({"task": [1] * n, "worker": range(n), "label": [k % 2 for k in range(n)]})
    with pytest.raises(TooLargeError, match=r"m-msr needs a table .* 112,492,500 pairs"):
        m_msr(many)
    monkeypatch.setattr(pairs_module, "MIN_TABLE_PAIRS", -195)
    with pytest.raises(TooLargeError, match="6 pairs of workers share a task"):
        m_msr(crowd(10, 4, 4).answers)
