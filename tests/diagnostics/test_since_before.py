"""Drift against what was known: who changed is named, who did not is not."""

import numpy as np

import quorate
from quorate import simulate
from quorate.diagnostics.drift import changed_p, since_before

NAMES = [f"w{k}" for k in range(10)]
STEADY = np.linspace(0.4, 0.8, 10)


def batch(skills: "np.ndarray[tuple[int], np.dtype[np.float64]]", seed: int, n: int = 200) -> quorate.Answers:
    return simulate.crowd(n, 10, 5, skills=skills, seed=seed).answers


def test_a_worker_who_changed_is_named_with_both_skills() -> None:
    fallen = STEADY.copy()
    fallen[9] = 0.0
    before = quorate.aggregate(batch(STEADY, 0, 600)).workers
    found = quorate.diagnose(batch(fallen, 1, 400), skills=before).of_kind("drift")
    assert [finding.workers for finding in found] == [(9,)]
    assert "got worse since the earlier run: skill 0." in found[0].sentence
    assert found[0].evidence["known"] > 0.6
    assert found[0].evidence["here"] < 0.3


def test_where_nobody_changed_hardly_anybody_is_named() -> None:
    """P-values are no smaller than chance makes them: of 300, 15 would lie below .05, and 30 hardly ever do."""
    p = np.concatenate(
        [
            changed_p(
                quorate.aggregate(batch(STEADY, seed), skills=quorate.aggregate(batch(STEADY, seed + 1000)).workers)
            )
            for seed in range(30)
        ]
    )
    assert len(p) == 300
    assert (p < 0.05).sum() <= 30
    assert (p < 0.5).sum() > 90  # and not so large that nothing could be found


def test_without_what_was_known_nothing_is_asked() -> None:
    result = quorate.aggregate(batch(STEADY, 0))
    assert np.isnan(changed_p(result)).all()
    assert list(since_before(result)) == []
