"""JUnit XML and Markdown: read back, and safe whatever the names are."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.cli.app import TRACEBACK
from quorate.cli.check import Outcome
from quorate.cli.check import as_junit as junit
from quorate.cli.check import as_markdown as markdown
from quorate.diagnostics.check import FAMILIES
from quorate.diagnostics.finding import KIND_WORDS, KINDS
from tests.cli.running import ROWS, quorate


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
        markdown([Outcome("min-alpha", "fine", True)], "The limit holds").splitlines()[-1]
        == "| ✅ | min-alpha | fine |  |"
    )


def test_every_kind_of_finding_can_be_a_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(ROWS)
    for kind in (*KINDS, *FAMILIES):
        code, out, err = quorate(capsys, "check", path, "--fail-on", kind)
        assert code in (0, 1, 3), err
        assert kind in FAMILIES or KIND_WORDS[kind].phrase.removeprefix("two ") in out


def test_an_old_name_in_a_file_of_limits_is_printed_as_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(ROWS)
    results = {}
    for name in ("sure", "confident"):
        limits = tmp_path / f"{name}.toml"
        limits.write_text(f"max-unsure = 1\n{name} = 0.8\n")
        results[name] = quorate(capsys, "check", path, "--config", limits)
    code, out, err = results["sure"]
    assert err.splitlines()[0] == f"Warning: the limit sure in {tmp_path / 'sure.toml'} is now confident"
    assert (code, out) == results["confident"][:2]
    assert "is now" not in results["confident"][2]


def test_an_error_of_the_program_has_a_code_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("no such kind")

    path = tmp_path / "answers.csv"
    path.write_text(ROWS)
    monkeypatch.delenv(TRACEBACK)
    monkeypatch.setattr("quorate.diagnostics.check.check", fail)
    code, out, err = quorate(capsys, "check", path, "--fail-on", "any")
    assert (code, out, err.count("\n")) == (70, "", 1)
    assert "KeyError" in err
    assert "report it" in err
