"""JUnit XML and Markdown: read back, and safe whatever the names are."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from quorate.cli.check import Outcome
from quorate.cli.check import as_junit as junit
from quorate.cli.check import as_markdown as markdown


@given(st.text(), st.text(), st.sampled_from([True, False, None]))
def test_junit_can_be_read_whatever_is_in_it(name: str, observed: str, passed: bool | None) -> None:
    text = junit([Outcome(name, observed, passed, "mend it")], observed)
    root = ElementTree.fromstring(text.encode("utf-8", "replace"))
    failures = int(passed is False)
    errors = int(passed is None)
    assert root.attrib == {"tests": "1", "failures": str(failures), "errors": str(errors)}
    cases = root.findall("./testsuite/testcase")
    assert len(cases) == 1
    assert len(cases[0].findall("failure")) == failures
    assert len(cases[0].findall("error")) == errors


def test_a_name_of_a_worker_is_no_markup() -> None:
    text = markdown(
        [
            Outcome(
                "fail-on spammer",
                "worker 'a|b' <img src=x> @team [x](y) `c` https://e.vil www.e.vil\nnext",
                False,
                "look",
            )
        ],
        "1 fails",
    )
    row = text.splitlines()[-1]
    assert row.count(" | ") == 3
    assert "<img" not in row.replace("\\<", "")
    assert "@team" not in row
    assert "](" not in row.replace("\\]", "")
    assert "`" not in row.replace("\\`", "")
    assert "://" not in row  # GitHub makes links of bare addresses
    assert "www." not in row


def test_what_passes_has_no_remedy() -> None:
    assert (
        markdown([Outcome("min-alpha", "fine", True)], "1 limit holds").splitlines()[-1]
        == "| ✅ | min-alpha | fine |  |"
    )
