"""Columns for the tests of bias: by name in Python and on the command line; what cannot be used is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import MissingColumnError, OptionError
from tests.cli.running import quorate as run

JUDGES = ("gpt-4o", "claude-3", "llama-3", "qwen-2", "mistral-7b")
OPTIONS = {"--pair": "pairs", "--system": "systems", "--covariate": "covariates"}


def rows(*, bias: float = 0.0, position: float = 0.0, n: int = 120, seed: int = 0) -> dict[str, list[Any]]:
    """Five judges on pairs in both orders; one prefers long outputs, or the first position."""
    rng = np.random.default_rng(seed)
    table: dict[str, list[Any]] = {
        name: [] for name in ("task", "worker", "label", "pair", "system", "length", "row", "same")
    }
    for pair in range(n):
        is_better = rng.random() < 0.5
        length = rng.normal()
        for order in range(2):
            for k, judge in enumerate(JUDGES):
                says_first = (is_better == (order == 0)) == (rng.random() < 0.8)
                if k == 0 and rng.random() < bias:
                    says_first = length > 0
                if k == 0 and rng.random() < position:
                    says_first = True
                table["task"].append(f"{pair}-{order}")
                table["worker"].append(judge)
                table["label"].append("A" if says_first else "B")
                table["pair"].append(pair)
                table["system"].append(("gpt-4.1", "gemini-2")[pair % 2])
                table["length"].append(round(length, 3))
                table["row"].append(len(table["row"]))
                table["same"].append(1)
    return table


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write(rows(), tmp_path / "clean.csv")


def write(table: dict[str, list[Any]], path: Path) -> Path:
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("command", ["diagnose", "check"])
@pytest.mark.parametrize(
    ("option", "column", "reason"),
    [
        ("--pair", "worker", "the column of the workers"),
        ("--pair", "system", "no worker judged any pair exactly twice"),
        ("--pair", "row", "no worker judged any pair exactly twice"),
        ("--pair", "nowhere", "There is no column 'nowhere'"),
        ("--system", "worker", "the column of the workers"),
        ("--system", "row", "a different value for each"),
        ("--system", "nowhere", "There is no column 'nowhere'"),
        ("--covariate", "worker", "the column of the workers"),
        ("--covariate", "label", "the column of the labels"),
        ("--covariate", "same", "the same value in every row"),
        ("--covariate", "nowhere", "There is no column 'nowhere'"),
    ],
)
def test_a_column_that_cannot_be_used_is_refused_with_the_reason(
    command: str, option: str, column: str, reason: str, clean: Path, capsys: Any
) -> None:
    more = ["--fail-on", "any"] if command == "check" else []
    code, _, err = run(capsys, command, clean, option, column, *more)
    assert code == 2
    assert reason in err
    given: Any = {OPTIONS[option]: column}
    with pytest.raises((OptionError, MissingColumnError), match=reason):
        quorate.diagnose(clean, **given)


def test_a_clean_test_states_the_largest_effect_and_its_interval(clean: Path, capsys: Any) -> None:
    code, out, err = run(capsys, "diagnose", clean, "--covariate", "length", "--system", "system", "--pair", "pair")
    assert code == 0, err
    for what in ("length", "Self-preference", "Position"):
        (line,) = (each for each in out.split("\n") if each.startswith(f"{what} was tested for "))
        assert "no effect was found" in line
        assert "95% interval" in line


@pytest.mark.parametrize(
    ("kind", "options", "table"),
    [
        ("position-bias", ["--pair", "pair"], rows(position=0.6)),
        ("covariate-bias", ["--covariate", "length"], rows(bias=0.6)),
    ],
)
def test_every_kind_of_bias_can_fail_and_pass_a_check(
    kind: str, options: list[str], table: dict[str, list[Any]], clean: Path, capsys: Any
) -> None:
    biased = write(table, clean.parent / "biased.csv")
    assert run(capsys, "check", biased, *options, "--fail-on", kind)[0] == 1
    assert run(capsys, "check", clean, *options, "--fail-on", kind)[0] == 0
    given: Any = {OPTIONS[options[0]]: options[1]}
    found = quorate.diagnose(biased, **given)
    assert [finding.kind for finding in found.findings].count(kind) == 1


def test_a_measured_position_bias_replaces_the_suspicion(clean: Path) -> None:
    biased = write(rows(position=0.6), clean.parent / "biased.csv")
    suspected = quorate.diagnose(biased).of_kind("position-bias")
    measured = quorate.diagnose(biased, pairs="pair").of_kind("position-bias")
    assert ["may be" in finding.sentence for finding in suspected] == [True]
    assert ["in both orders for" in finding.sentence for finding in measured] == [True]
    assert suspected[0].line in quorate.aggregate(biased).summary()


def test_values_may_be_given_for_every_answer(clean: Path) -> None:
    answers = quorate.read(clean)
    with pytest.raises(OptionError, match=r"systems= needs a column name, or one value per answer"):
        quorate.diagnose(answers, systems=["a", "b"])
    assert quorate.diagnose(answers, systems=["x"] * answers.n_answers).tested
