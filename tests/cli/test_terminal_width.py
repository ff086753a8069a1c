"""Tables on a terminal: as wide as it is, no number or word split, and what is not shown is named."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as library
from quorate.cli.terminal import FOR_PROGRAMS, HEADINGS, fit
from quorate.io.write_table import write_table
from tests.cli.running import quorate


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    made = library.simulate.crowd(200, 25, 4, skills=np.array([*[0.8] * 24, 0.0]), seed=1)
    write_table(made.answer_table, path)
    return path


def plain(out: str) -> list[str]:
    return [line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", out).splitlines()]


def on_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("LINES", "40")


@pytest.mark.parametrize("width", [80, 100, 200])
def test_tables_fit_the_terminal_and_split_nothing(
    width: int, crowd: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch, width)
    code, out, _ = quorate(capsys, "aggregate", crowd)
    assert code == 0
    lines = plain(out)
    start = next(k for k, line in enumerate(lines) if line.startswith("Workers"))
    header, rows = lines[start + 1], lines[start + 2 : start + 12]
    assert max(map(len, (header, *rows))) <= width
    shown = re.split(r"\s{2,}", header.strip())
    assert all(len(re.split(r"\s{2,}", row.strip())) == len(shown) for row in rows)
    workers = library.aggregate(str(crowd)).workers
    everything = [name for name in workers.column_names if workers[name].null_count < len(workers)]
    for name in ("skill", "right"):
        everything[everything.index(f"{name}_low")] = f"{name} interval"
        everything.remove(f"{name}_high")
    of_people = [HEADINGS.get(name, name) for name in everything if name not in {*FOR_PROGRAMS, "accuracy", "status"}]
    left_out = [name for name in of_people if name not in shown]
    assert "skill interval" in shown
    assert not FOR_PROGRAMS & set(shown)
    assert bool(left_out) == any("use a wider terminal" in line for line in lines)
    if left_out:
        assert f"not shown ({', '.join(left_out)}): use a wider terminal" in lines[start + 12]


def test_the_rows_that_matter_are_shown(crowd: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch, 100)
    _, out, _ = quorate(capsys, "aggregate", crowd)
    result = library.aggregate(str(crowd))
    least = min(zip(result.labels["confidence"].to_pylist(), result.labels["task"].to_pylist(), strict=True))[1]
    lines = plain(out)
    assert "the 10 least certain, of 200" in lines[0]
    assert any(line.split()[0] == least for line in lines[2:12])
    start = next(k for k, line in enumerate(lines) if line.startswith("Workers"))
    assert "the 10 with the most extra wrong answers, of 25" in lines[start]
    assert lines[start + 2].split()[0] == "w24"


def test_numbers_are_never_cut_and_text_is_wrapped_between_words() -> None:
    cells = [["a" * 60, "0.1234", "a sentence of several words that is too long"]]
    for room in range(12, 150):
        found = fit(["worker", "skill", "status"], cells, [False, True, False], room)
        assert 0 in found.widths
        assert found.widths.get(1, 6) == 6
        assert found.widths.get(2, 8) >= len("sentence")
        if len(found.widths) > 1:
            assert sum(found.widths.values()) + 2 * (len(found.widths) - 1) <= room
        assert set(found.widths) | set(found.dropped) == {0, 1, 2}
    assert fit(["worker", "skill", "status"], cells, [False, True, False], 150).dropped == ()


def test_without_a_word_there_is_help_and_nothing_else(capsys: Any) -> None:
    code, out, err = quorate(capsys)
    assert (code, err) == (0, "")
    assert "Usage" in out
    assert "aggregate" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_QUORATE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "quorate aggr")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "quorate aggr")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    monkeypatch.setattr("sys.argv", ["quorate"])
    _, out, _ = quorate(capsys)
    assert "aggregate" in out
    assert "diagnose" not in out


def test_columns_of_other_names_are_recognised_in_the_message(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("item,annotator,answer,comment\n1,a,x,\n1,b,x,\n2,a,y,\n2,b,y,\n")
    code, _, err = quorate(capsys, "aggregate", path)
    assert code == 2
    _, proposed, look_at = err.splitlines()
    assert proposed == f"Run: quorate aggregate {path} --task item --worker annotator --label answer"
    assert look_at == f"To see what the file holds: quorate doctor {path}"
    code, _, _ = quorate(capsys, *proposed.split()[2:])
    assert code == 0


@pytest.mark.parametrize("ending", ["xls", "ods"])
def test_no_file_is_called_a_spreadsheet_that_is_none(ending: str, crowd: Path, tmp_path: Path, capsys: Any) -> None:
    code, _, err = quorate(capsys, "aggregate", crowd, "-o", tmp_path / f"labels.{ending}")
    assert code == 2
    assert "labels.csv" in err
    assert not (tmp_path / f"labels.{ending}").exists()
