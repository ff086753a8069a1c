import numpy as np
import pytest

from quorate.diagnostics.finding import MAX_FALSE_DISCOVERIES
from quorate.diagnostics.workers import (
    MAX_SPAMMER_SKILL,
    is_unrated,
    skill_test,
    spammer_p,
    too_few_answers,
    worker_findings,
)
from quorate.methods.aggregate import aggregate
from quorate.simulate import crowd
from quorate.skills.identification import IDENTIFIED
from tests.diagnostics.samples import at_least, at_most


def named(result: object, kind: str) -> set[int]:
    return {finding.workers[0] for finding in worker_findings(result) if finding.kind == kind}  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["rank-one", "quorate"])
def test_few_innocent_workers_are_named(method: str) -> None:
    """30 crowds; a third guess (no adversaries), a third have the very skill at which a spammer is none any more."""
    adversaries = spammers = 0.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        skills = np.concatenate([np.zeros(8), np.full(8, MAX_SPAMMER_SKILL), rng.uniform(0.3, 0.9, 8)])
        result = aggregate(crowd(800, 24, 8, skills=skills, seed=rng).answers, method)
        adversaries += bool(named(result, "adversary"))
        spam = named(result, "spammer")
        spammers += len([k for k in spam if skills[k] >= MAX_SPAMMER_SKILL]) / max(len(spam), 1)
    assert adversaries <= at_most(0.05, 30)
    assert spammers <= at_most(0.05, 30)


def test_adversaries_and_spammers_are_found() -> None:
    """20 crowds, 400 answers per worker: 95 % of the adversaries of skill -.5, 80 % of the spammers of skill 0."""
    bad = spam = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        skills = np.concatenate([np.full(4, -0.5), np.zeros(4), rng.uniform(0.5, 0.9, 12)])
        result = aggregate(crowd(800, 20, 10, skills=skills, seed=rng).answers)
        bad += len(named(result, "adversary") & set(range(4)))
        spam += len(named(result, "spammer") & set(range(4, 8)))
    assert bad >= at_least(0.95, 80)
    assert spam >= at_least(0.8, 80)


def test_who_is_named_has_an_interval_that_says_so() -> None:
    rng = np.random.default_rng(0)
    skills = np.concatenate([np.full(4, -0.5), np.zeros(4), rng.uniform(0.5, 0.9, 12)])
    result = aggregate(crowd(800, 20, 10, skills=skills, seed=rng).answers)
    findings = [finding for finding in worker_findings(result) if finding.kind in ("adversary", "spammer")]
    assert {finding.kind for finding in findings} == {"adversary", "spammer"}
    for finding in findings:
        assert finding.strength <= MAX_FALSE_DISCOVERIES
        low, high = finding.evidence["low"], finding.evidence["high"]
        assert (low, high) == (result.intervals.low[finding.workers[0]], result.intervals.high[finding.workers[0]])
        assert high < (0 if finding.kind == "adversary" else MAX_SPAMMER_SKILL)
        assert finding.kind == "adversary" or low > -MAX_SPAMMER_SKILL


def test_a_spammer_is_tested_from_both_sides() -> None:
    skills = np.array([0.8, 0.8, 0.8, 0.8, 0.0, -0.8])
    p = spammer_p(aggregate(crowd(1000, 6, 6, skills=skills, seed=0).answers))
    assert p[4] < 0.01
    assert p[0] > 0.99
    assert p[5] > 0.99


def test_both_the_adjusted_test_and_the_interval_must_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    skills = np.array([0.8, 0.8, 0.8, 0.8, 0.0, -0.8])
    result = aggregate(crowd(1000, 6, 6, skills=skills, seed=0).answers)
    assert (named(result, "adversary"), named(result, "spammer")) == ({5}, {4})
    for kind, who in (("adversary", {5}), ("spammer", {4})):
        for p, expected in ((0.0, who), (1.0, set())):  # the test names everyone: the interval decides; or nobody
            monkeypatch.setattr(f"quorate.diagnostics.workers.{kind}_p", lambda _, p=p: np.full(6, p))
            assert named(result, kind) == expected


@pytest.mark.parametrize("method", ["rank-one", "quorate"])
def test_the_test_is_the_one_that_gives_the_interval(method: str) -> None:
    """At the ends of a 95 % interval the test stands at 1.96 standard errors, wherever the end is not cut."""
    result = aggregate(crowd(400, 12, 4, skills=np.linspace(-0.2, 0.8, 12), seed=0).answers, method)
    ends = [(k, float(end)) for side in (result.intervals.low, result.intervals.high) for k, end in enumerate(side)]
    # An end at the estimate itself was moved there: the shrunk estimate lies outside the interval of the raw one.
    within = [(worker, end) for worker, end in ends if -0.999 < end < 0.999 and end != result.skills[worker]]
    assert len(within) >= 20  # of 24
    for worker, end in within:
        assert abs(skill_test(result, end)[worker]) == pytest.approx(1.96, abs=0.001)


def test_workers_of_a_method_without_skills_are_not_judged() -> None:
    result = aggregate(crowd(100, 6, 4).answers, "majority")
    assert np.isnan(skill_test(result, 0.0)).all()
    assert list(worker_findings(result)) == []


def test_who_cannot_be_distinguished_from_a_guesser_cannot_be_judged() -> None:
    answers = crowd(300, 40, 3, activity=np.concatenate([np.ones(30), np.full(10, 0.01)]), seed=0).answers
    result = aggregate(answers, "rank-one")
    (finding,) = too_few_answers(result)
    sure = result.intervals
    assert finding.kind == "cannot-be-judged"
    is_identified = result.status == IDENTIFIED  # weakly identified workers have a finding of their own
    assert set(finding.workers) == set(np.flatnonzero(is_unrated(sure.low, sure.high, 2) & is_identified).tolist())
    assert min(finding.evidence["widths"]) > 1.0
    assert finding.evidence["answers"] == sorted(finding.evidence["answers"], reverse=True)
