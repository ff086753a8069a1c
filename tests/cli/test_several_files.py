"""Every command that reads answers reads two files, a pattern and a folder as it reads one file of the same rows."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate import aggregate, simulate
from tests.cli.command_lines import commands
from tests.cli.running import quorate

CROWD = simulate.crowd(60, 6, 4, skills=np.array([0.9, 0.8, 0.8, 0.7, 0.6, 0.0]), seed=3)
ROWS = [
    {**row, "length": 10 + 7 * (k % 13), "seconds": 5 + k % 9, "at": k}
    for k, row in enumerate(CROWD.answers.to_table().to_pylist())
]
PAIRS = [
    {"left": x, "right": y, "winner": "left" if (x < y) == (k % 6 > 0) else "right", "judge": f"j{k % 4}"}
    for k, (x, y) in enumerate((f"m{k % 3}", f"m{(k + 1 + k % 2) % 3}") for k in range(120))
]
SCORES = [{"task": row["task"], "worker": row["worker"], "score": 1 + (k * k) % 5} for k, row in enumerate(ROWS)]
INPUTS: dict[str, list[dict[str, Any]]] = {"rank": PAIRS, "rate": SCORES}
# Options without which a command does nothing, and those that read further columns of the rows.
OPTIONS = {
    "diagnose": [[], ["--covariate", "length", "--duration", "seconds", "--time", "at"], ["--show", "length"]],
    "advise": [[], ["--expert", "5", "--show", "length"]],
    "check": [["--max-error", "0.5", "--fail-on", "any"], ["--fail-on", "drift", "--time", "at"]],
    "aggregate": [["-o", "labels.csv"]],
    "report": [["-o", "page.html", "--compare", ""]],
    "compare": [["--methods", "majority,quorate"]],
}
READERS = sorted(
    path[0]
    for path, command in commands()
    if len(path) == 1 and any(each.name == "file" and each.nargs == -1 for each in command.params)
)


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(
        "\n".join(",".join(map(str, row)) for row in [list(rows[0]), *(row.values() for row in rows)]) + "\n"
    )


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


WRITERS: dict[str, Callable[[Path, list[dict[str, Any]]], None]] = {"csv": write_csv, "jsonl": write_jsonl}
WAYS = {"two files": ["parts/a.{}", "parts/b.{}"], "pattern": ["parts/*.{}"], "folder": ["parts"]}


def test_the_commands_that_read_answers_are_known() -> None:
    assert {"aggregate", "diagnose", "advise", "check", "report", "estimate", "rank", "rate"} <= set(READERS)


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", READERS)
def test_every_command_reads_several_files_as_one(
    command: str, way: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("quorate.reporting.report.to_svg", lambda spec, label: "<svg/>")  # takes seconds
    rows = INPUTS.get(command, ROWS)
    (tmp_path / "parts").mkdir()
    half = len(rows) // 2
    WRITERS[ending](Path(f"parts/a.{ending}"), rows[:half])
    WRITERS[ending](Path(f"parts/b.{ending}"), rows[half:])
    WRITERS[ending](Path(f"all.{ending}"), rows)
    for options in OPTIONS.get(command, [[]]):
        files = [name.format(ending) for name in WAYS[way]]
        code, out, err = quorate(capsys, command, *files, *options)
        expected, out_of_one, _ = quorate(capsys, command, f"all.{ending}", *options)
        assert code == expected != 2, f"{shlex.join([command, *files, *options])}: {err}"
        if command not in ("doctor", "compare"):  # which describe the files themselves, and print seconds
            named = out.replace(shlex.join(files), f"all.{ending}")
            assert [line for line in named.split("\n") if "all." not in line and "parts" not in line] == [
                line for line in out_of_one.split("\n") if "all." not in line
            ]


@pytest.mark.parametrize("way", ["parts", "parts/*.csv"])
def test_proposed_commands_name_the_folder_or_the_pattern_as_typed(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    for name in ("a", "b"):
        lines = ["Item ID,Rater,Answer", *(f"{k % 9}{name},r{k % 4},{'xy'[k % 5 % 2]}" for k in range(60))]
        Path(f"parts/{name}.csv").write_text("\n".join(dict.fromkeys(lines)))
    code, _, err = quorate(capsys, "aggregate", way)
    (line,) = [line for line in err.split("\n") if line.startswith("Run: ")]
    words = shlex.split(line.removeprefix("Run: quorate "))
    assert code == 2
    assert words[:2] == ["aggregate", way]
    code, _, err = quorate(capsys, *words, "--on-conflict", "first")
    assert code == 0, err


def test_the_command_for_details_repeats_the_columns_of_the_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    WRITERS["csv"](Path("a.csv"), ROWS)
    options = ["--time", "at", "--duration", "seconds", "--covariate", "length"]
    _, out, _ = quorate(capsys, "diagnose", "a.csv", *options)
    words = shlex.split(out.rpartition("Details: quorate ")[2])
    for name, column in zip(options[::2], options[1::2], strict=True):
        assert words[words.index(name) + 1] == column
    code, detailed, _ = quorate(capsys, *words)
    assert code == 0
    assert [line for line in out.split("\n") if line[:2] in ("1.", "2.")] == [
        line for line in detailed.split("\n") if line[:2] in ("1.", "2.")
    ]


def test_no_share_of_right_answers_is_stated_where_nobody_can_be_rated() -> None:
    rows = {"task": [1, 1, 2, 2, 2], "worker": list("ababc"), "label": list("xxyxy")}
    text = aggregate(rows).summary()
    assert "too few answers to be rated" in text
    assert "Workers are right" not in text
