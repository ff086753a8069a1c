"""Worker estimates: evidence against the signs is reported where there is some, and only there."""

from dataclasses import replace

import pytest

import quorate
from quorate.skills.intervals import IntervalChoice
from quorate.skills.signs import Signs


@pytest.mark.parametrize(("share", "percentages"), [(0.0, []), (0.004, []), (0.006, ["1%"]), (0.25, ["25%"])])
def test_evidence_against_the_signs_is_reported_with_its_share(share: float, percentages: list[str]) -> None:
    workers = quorate.aggregate(quorate.simulate.crowd(100, 8, 4, seed=0).answers, "rank-one").skill_estimates
    signs = Signs(workers.skills, share)
    lines = [line for line in replace(workers, signs=signs).lines(IntervalChoice()) if line.startswith("signs")]
    assert lines == [f"signs: {each} of the evidence of the pairs contradicts them" for each in percentages]
    unsigned = replace(workers, signs=None).lines(IntervalChoice())
    assert not any(line.startswith("signs") for line in unsigned)
