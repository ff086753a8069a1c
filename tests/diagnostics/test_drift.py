import numpy as np
import pytest
from experiments.simulation.planted_faults import relabelled
from scipy.stats import t as student

from quorate.diagnostics.drift import MAX_TESTS, _consensus, _own_order, _trends, drift_findings, drift_test
from quorate.errors import OptionError
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.simulate import crowd
from tests.crowds import answers_of
from tests.diagnostics.samples import at_least, at_most, drifting


def test_few_workers_are_named_where_nobody_drifts() -> None:
    """60 crowds without drift: any worker named is a false discovery, at most 5 %."""
    alarms = 0
    for seed in range(60):
        answers, times = drifting(0, np.random.default_rng(seed))
        alarms += len(drift_test(answers, aggregate_in_memory("rank-one", answers).skills, times).flagged) > 0
    assert alarms <= at_most(0.05, 60)


def test_strong_drift_is_found_with_its_direction_and_few_others_are_named() -> None:
    """30 crowds in which two of twenty workers fall from skill .9 to .1 over 500 answers: at least 95 % found."""
    found, false = 0, 0.0
    for seed in range(30):
        answers, times = drifting(2, np.random.default_rng(seed))
        test = drift_test(answers, aggregate_in_memory("rank-one", answers).skills, times)
        named = set(test.flagged.tolist())
        found += len(named & {0, 1})
        false += len(named - {0, 1}) / max(len(named), 1)
        for finding in drift_findings(test, answers):
            if finding.workers[0] in (0, 1):
                assert "got worse" in finding.sentence
                # Evenly from .9 to .1: the halves average .7 and .3.
                assert abs(finding.evidence["first_half"] - 0.7) < 0.25
                assert abs(finding.evidence["second_half"] - 0.3) < 0.25
    assert found >= at_least(0.95, 60)
    assert false <= at_most(0.05, 30)


def test_a_skill_that_rises_is_reported() -> None:
    answers, times = drifting(1, np.random.default_rng(1), rising=True)
    findings = list(
        drift_findings(drift_test(answers, aggregate_in_memory("rank-one", answers).skills, times), answers)
    )
    assert [finding.workers for finding in findings] == [(0,)]
    assert "got better" in findings[0].sentence


def test_only_the_order_of_times_matters() -> None:
    answers, times = drifting(2, np.random.default_rng(0))
    skills = aggregate_in_memory("rank-one", answers).skills
    one, two = drift_test(answers, skills, times), drift_test(answers, skills, np.exp(5 * times))
    assert np.array_equal(one.p, two.p, equal_nan=True)


def test_the_order_is_each_workers_own_and_equal_times_share_a_place() -> None:
    rows = [(t, w, "x") for t in range(4) for w in "ab"]
    answers = answers_of(rows)
    times = np.array([0.0, 9, 1, 9, 1, 9, 5, np.nan])
    order = _own_order(answers, times)
    assert order[answers.worker == 0].tolist() == pytest.approx([-0.5, 0.0, 0.0, 0.5])
    assert order[answers.worker == 1][:3].tolist() == pytest.approx([0.0, 0.0, 0.0])
    assert np.isnan(order[-1])


def test_the_consensus_is_the_mates_alone() -> None:
    """A naive loop over Bayes' rule, without the worker's own answer."""
    answers = crowd(30, 6, 4, n_classes=3, seed=1).answers
    skills = np.linspace(0.1, 0.8, 6)
    agreement, sure = _consensus(answers, skills)
    for k in range(answers.n_answers):
        belief = np.ones(3)
        for o in np.flatnonzero(answers.task == answers.task[k]):
            if o != k:
                p = (2 * skills[answers.worker[o]] + 1) / 3
                belief *= np.where(np.arange(3) == answers.label[o], p, (1 - p) / 2)
        belief /= belief.sum()
        assert agreement[k] == pytest.approx((3 * belief[answers.label[k]] - 1) / 2)
        assert sure[k] == pytest.approx((3 * (belief**2).sum() - 1) / 2)


def test_the_trend_is_that_of_a_naive_loop_over_workers() -> None:
    """Peers who get surer with time, so that the middle of a worker's evidence is not the middle of its answers."""
    answers, times = drifting(2, np.random.default_rng(3))
    rng = np.random.default_rng(0)
    order = _own_order(answers, times)
    sure = np.clip(times + 0.3 * rng.random(answers.n_answers), 0.05, 1.0)
    agreement = sure * rng.uniform(-0.2, 1.2, answers.n_answers)
    found = _trends(answers, order, agreement, sure)
    for worker in range(answers.n_workers):
        c, k, x = (values[answers.worker == worker] for values in (agreement, sure, order))
        left = c - c.sum() / k.sum() * k
        away = x - (k * x).sum() / k.sum()
        n = len(c)
        t = (away * left).sum() / np.sqrt((away**2 * left**2).sum() * n / (n - 2))
        assert found.p[worker] == pytest.approx(2 * student.sf(abs(t), n - 2))
        assert found.early[worker] == pytest.approx(c[x < 0].sum() / k[x < 0].sum())


def test_mates_who_drift_do_not_make_others_seem_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everyone met everyone, two of six drift. Twelve crowds: setting the two aside names fewer of the other four."""

    def falsely_named() -> int:
        named = 0
        for seed in range(12):
            rng = np.random.default_rng(seed)
            answers = crowd(1000, 6, 6, seed=0).answers
            times = rng.permutation(1000)[answers.task] / 1000
            skill = np.where(answers.worker < 2, 0.95 - 0.95 * times, 0.6)
            truth = rng.integers(0, 2, 1000)[answers.task]
            right = rng.random(answers.n_answers) < (1 + skill) / 2
            answers_given = relabelled(answers, np.where(right, truth, 1 - truth))
            flagged = set(
                drift_test(answers_given, aggregate_in_memory("rank-one", answers_given).skills, times).flagged.tolist()
            )
            assert flagged >= {0, 1}
            named += len(flagged - {0, 1})
        return named

    once_more = falsely_named()
    monkeypatch.setattr("quorate.diagnostics.drift.MAX_TESTS", 1)
    assert MAX_TESTS > 1
    assert once_more < falsely_named()


def test_times_must_be_one_an_answer() -> None:
    answers = crowd(30, 6, 4).answers
    with pytest.raises(OptionError, match="120 answers"):
        drift_test(answers, np.zeros(6), np.zeros(7))
