"""Input that once ended badly, kept as it was after it had been made small; and a few hundred cases of `make fuzz`."""

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("the limits on memory are Unix's", allow_module_level=True)

from tests.fuzz.__main__ import case_of
from tests.fuzz.endings import end_of
from tests.fuzz.targets import TARGETS, Case

KEPT = sorted((Path(__file__).parent / "corpus").glob("*.json"))
assert KEPT, "without its cases the test below would be skipped, and nobody would see it"


@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_what_once_ended_badly_ends_well(path: Path) -> None:
    assert end_of(Case.from_json(path.read_text())) in ("read", "refused")


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_input_ends_in_a_result_or_a_named_line(target: str) -> None:
    for number in range(12):
        assert end_of(case_of(target, f"test:{number}")) in ("read", "refused")
