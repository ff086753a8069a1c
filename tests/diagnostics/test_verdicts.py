"""One verdict for each worker: the findings, the ratings and the sentences of all outputs agree."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.answers import Answers
from quorate.diagnostics.ratings import OPPOSITE, SAME_ANSWER, TOO_FEW, possible_guessers_text, ratings
from quorate.skills.identification import WEAKLY_IDENTIFIED

KIND_OF_RATING = {"adversary": OPPOSITE, "one-button": SAME_ANSWER, "cannot-be-judged": TOO_FEW}


def crowd_with_one_answer() -> Answers:
    """Return answers of six workers, of whom the last gives one answer to few tasks."""
    rng = np.random.default_rng(1)
    truth = (rng.random(400) < 0.25).astype(int)
    task, worker, label = [], [], []
    for w in range(6):
        tasks = np.arange(400) if w < 5 else np.arange(40)
        task += tasks.tolist()
        worker += [f"w{w}"] * len(tasks)
        given = np.where(rng.random(len(tasks)) < 0.85, truth[tasks], 1 - truth[tasks])
        label += (given if w < 5 else np.zeros(len(tasks), int)).tolist()
    return quorate.read({"task": task, "worker": worker, "label": label})


def judged_kinds(result: quorate.Result) -> dict[int, list[str]]:
    """Return the findings about single workers by worker."""
    kinds: dict[int, list[str]] = {}
    for finding in quorate.diagnose(result).findings:
        if finding.action or finding.kind == "cannot-be-judged":
            for code in finding.workers:
                kinds.setdefault(code, []).append(finding.kind)
    return kinds


@pytest.mark.parametrize("name", ["bluebird", "temp", "rte1", None])
def test_findings_and_ratings_agree_on_every_worker(real: Any, name: str | None) -> None:
    answers = crowd_with_one_answer() if name is None else real.load(name).answers
    result = quorate.aggregate(answers)
    kinds = judged_kinds(result)
    rating = ratings(result)
    for code, found in kinds.items():
        assert len(found) == 1, found
        if found[0] in KIND_OF_RATING:
            assert rating[code] == KIND_OF_RATING[found[0]]
    is_weak = result.status == WEAKLY_IDENTIFIED  # who have a finding of their own
    for kind, code in KIND_OF_RATING.items():
        assert all(kind in kinds.get(int(worker), []) for worker in np.flatnonzero((rating == code) & ~is_weak))


def test_a_worker_of_the_same_answer_is_not_rated_too_few_answers() -> None:
    result = quorate.aggregate(crowd_with_one_answer())
    assert judged_kinds(result)[5] == ["one-button"]
    assert "40 of 40" in result.summary()
    assert "every time" in result.summary()


def test_a_weak_worker_is_named_in_the_summary() -> None:
    skills = np.array([0.85, 0.85, 0.8, 0.8, 0.75, 0.3])
    answers = quorate.simulate.crowd(200, 6, 3, n_classes=3, skills=skills, seed=2).answers
    result = quorate.aggregate(answers)
    found = quorate.diagnose(result).findings
    by_finding = any(5 in finding.workers for finding in found if finding.action)
    assert by_finding or "w5 (" in possible_guessers_text(result, found)
