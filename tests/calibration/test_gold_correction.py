"""Corrections by gold labels are averaged over those that are computed."""

import numpy as np
import pytest

import quorate
from quorate.calibration import gold_correction
from quorate.calibration.gold_correction import CORRECTIONS, VOTES


def test_with_many_classes_corrections_of_votes_have_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """The average is that of the other corrections; "no correction" counts once, not in place of each of votes."""
    crowd = quorate.simulate.crowd(200, 12, 4, n_classes=3, seed=1)
    gold = crowd.truth_table.slice(0, 60)
    without_votes = tuple(entry for entry in CORRECTIONS if entry[0] != VOTES)
    with monkeypatch.context() as patch:
        patch.setattr(gold_correction, "MAX_VOTE_CLASSES", 2)
        limited = quorate.aggregate(crowd.answers, gold=gold)
    with monkeypatch.context() as patch:
        patch.setattr(gold_correction, "CORRECTIONS", without_votes)
        expected = quorate.aggregate(crowd.answers, gold=gold)
    np.testing.assert_allclose(limited.posterior_matrix, expected.posterior_matrix, rtol=1e-12)
    checks = [result.to_dict()["confidence"]["known_labels"] for result in (limited, expected)]
    assert checks[0]["gain_nats"] == pytest.approx(checks[1]["gain_nats"])
    weights = dict(zip(CORRECTIONS, checks[0]["corrections"], strict=True))
    assert [weights[entry] for entry in without_votes] == pytest.approx(checks[1]["corrections"])
    assert all(weight == 0 for (kind, _), weight in weights.items() if kind == VOTES)
