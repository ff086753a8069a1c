"""Long work says how far it is, and only on a terminal."""

import subprocess
import sys
from pathlib import Path

import quorate
from quorate import simulate
from quorate.io.write_table import write_table
from quorate.progress import listener, listening
from tests.terminal import on_a_terminal


def test_reading_and_estimating_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    write_table(simulate.crowd(2000, 20, 5, seed=0).answer_table, path)
    reported: list[tuple[str, int, int | None]] = []
    with listening(lambda stage, done, total: reported.append((stage, done, total))):
        assert listener.get() is not None
        one = quorate.aggregate(path, "rank-one")
    assert listener.get() is None
    assert {stage for stage, _, _ in reported} >= {"reading (MB)", "reading columns", "estimating skills"}
    known = [(done, total) for _, done, total in reported if total is not None]
    assert known
    assert all(done <= total for done, total in known)
    assert one.labels == quorate.aggregate(path, "rank-one").labels


def test_the_bar_is_for_terminals_only(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    write_table(simulate.crowd(2000, 20, 5, seed=0).answer_table, path)
    command = [sys.executable, "-m", "quorate", "aggregate", str(path), "-o", str(tmp_path / "labels.csv")]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert piped.stderr == ""
    assert "reading columns" in on_a_terminal(command, "stderr")
