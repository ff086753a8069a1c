"""`quorate agreement`, `quorate estimate` and `quorate check` on the command line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from quorate.cli import exit_codes
from tests.cli.running import quorate

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture
def folder(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    quorate(capsys, "simulate", "-o", "answers.csv", "--truth-out", "truth.csv", "--tasks", 150, "--workers", 10)
    lines = Path("truth.csv").read_text().splitlines(keepends=True)
    Path("known.csv").write_text("".join(lines[:41]))
    Path("few.csv").write_text("".join(lines[:4]))
    return tmp_path


def test_agreement_gives_every_coefficient_under_its_name(capsys: Any, folder: Path) -> None:
    code, out, _ = quorate(capsys, "agreement", "answers.csv", "--json")
    found = json.loads(out)
    assert code == 0
    for name in ("krippendorff_alpha", "fleiss_kappa", "gwet_ac1", "percent_agreement"):
        assert set(found[name]) == {"value", "low", "high"}
        assert found[name]["low"] <= found[name]["value"] <= found[name]["high"]
    assert len(found["by_worker"]) == 10
    code, out, _ = quorate(capsys, "agreement", "answers.csv", "--workers-out", "workers.csv")
    assert "Krippendorff's alpha (nominal): 0." in out
    assert len(Path("workers.csv").read_text().splitlines()) == 11


def test_agreement_on_a_scale_needs_an_order(capsys: Any, folder: Path) -> None:
    code, _, err = quorate(capsys, "agreement", "answers.csv", "--scale", "ordinal")
    assert (code, "Give their order" in err) == (2, True)
    code, out, _ = quorate(capsys, "agreement", "answers.csv", "--scale", "ordinal", "--classes", "c1, c0", "--json")
    assert (code, "gwet_ac2" in json.loads(out)) == (0, True)


def test_estimate_gives_what_is_promised(capsys: Any, folder: Path) -> None:
    more = ("--predictions", "truth.csv", "--value", "c0=0,c1=2", "--plan", 0.05)
    code, out, _ = quorate(capsys, "estimate", "answers.csv", "--gold", "known.csv", *more, "-o", "draw.csv", "--json")
    found = json.loads(out)
    assert (code, found["n_known"], found["method"]) == (0, 40, "prediction-powered")
    assert [each["label"] for each in found["prevalence"]] == ["c0", "c1"]
    for each in (*found["prevalence"], found["accuracy"]):
        assert {"share", "low", "high", "known_only_low", "known_only_high"} <= set(each)
        assert each["high"] - each["low"] <= each["known_only_high"] - each["known_only_low"] + 1e-9
    assert found["accuracy"]["high"] == 1.0
    assert found["mean"]["mean"] == pytest.approx(2 * found["prevalence"][1]["share"], abs=0.02)
    assert Path("draw.csv").read_text().splitlines()[0] == "task,inclusion_probability"
    assert found["plan"]["n_more"] == len(Path("draw.csv").read_text().splitlines()) - 1


def test_estimate_refuses_what_it_cannot_state(capsys: Any, folder: Path) -> None:
    code, out, err = quorate(capsys, "estimate", "answers.csv", "--gold", "few.csv")
    assert (code, out) == (2, "")
    assert "3 known labels are too few for an interval" in err
    code, _, err = quorate(capsys, "estimate", "answers.csv", "--value", "c0=much")
    assert (code, "got 'c0=much'" in err) == (2, True)
    code, out, _ = quorate(capsys, "estimate", "answers.csv")
    assert (code, "these intervals assume" in out) == (0, True)


def test_check_says_it_by_its_exit_code(capsys: Any, folder: Path) -> None:
    code, out, err = quorate(capsys, "check", "answers.csv", "--min-agreement", "alpha=-0.5", "--junit", "check.xml")
    assert (code, out.splitlines()[0], err) == (0, "The limit holds.", "")
    assert 'failures="0"' in Path("check.xml").read_text()
    code, out, _ = quorate(
        capsys, "check", "answers.csv", "--min-agreement", "alpha=0.99", "--json", "--summary", "summary.md"
    )
    assert (code, json.loads(out)["holds"]) == (1, False)
    assert "❌ | min-alpha" in Path("summary.md").read_text()
    assert quorate(capsys, "check", "answers.csv")[0] == 2
    assert quorate(capsys, "check", "nowhere.csv", "--min-agreement", "alpha=0.5")[0] == 2
    assert quorate(capsys, "check", "answers.csv", "--fail-on", "thief")[0] == 2
    assert quorate(capsys, "check", "answers.csv", "--min-agreement", "alpha=0", "--junit", "no/where.xml")[0] == 2


def test_a_summary_is_added_to(capsys: Any, folder: Path) -> None:
    Path("summary.md").write_text("before\n")
    quorate(capsys, "check", "answers.csv", "--min-answers", 1, "--summary", "summary.md")
    assert Path("summary.md").read_text().startswith("before\n### Quorate: The limit holds")


def test_the_table_of_exit_codes_lists_every_code() -> None:
    page = (DOCS / "pipelines.md").read_text()
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    codes = {value for name, value in vars(exit_codes).items() if name.isupper()}
    assert {0, *codes} <= listed
