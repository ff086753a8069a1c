"""Standard streams that are full, closed, slow or pipes, and what a terminal would obey."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import ROWS, quorate
from tests.terminal import on_a_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell, pipes and terminals as Unix has them")
QUORATE = f"{sys.executable} -m quorate"
SAMPLES = Path(__file__).parents[1] / "io" / "exports" / "samples"


def shown(arguments: list[str]) -> str:
    """What a terminal gets; the bar that moves on standard error is rich's own."""
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm"}
    return on_a_terminal([sys.executable, "-m", "quorate", *arguments], "stdout", env=environment)


def shell(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    (folder / "a.csv").write_text(ROWS)
    line = command.replace("quorate", QUORATE)
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=folder, timeout=120, check=False)


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("quorate aggregate a.csv --json > /dev/full", 2, "Standard output cannot be written: No space left on device"),
        ("quorate aggregate a.csv -o labels.csv >&-", 2, "Standard output is closed"),
        ("quorate aggregate - <&-", 2, "Standard input is closed"),
        ("quorate aggregate <(cat a.csv) -o labels.csv", 0, ""),
        ("cat a.csv | quorate aggregate /dev/stdin -o labels.csv", 0, ""),
        ("(head -3 a.csv; sleep 0.3; tail -n +4 a.csv) | quorate aggregate - -o labels.csv", 0, ""),
        ("LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii quorate diagnose a.csv", 0, ""),
    ],
)
def test_streams_of_every_kind(tmp_path: Path, command: str, code: int, says: str) -> None:
    done = shell(command, tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1 if says else 0), done.stderr
    assert says in done.stderr


def test_an_export_through_a_slow_pipe_is_recognised(tmp_path: Path) -> None:
    sample = SAMPLES / "labelstudio.json"
    done = shell(
        f"(head -c 100 {sample}; sleep 0.3; tail -c +101 {sample}) | quorate convert - --question animal", tmp_path
    )
    assert done.returncode == 0
    assert done.stdout.count("\n") == 8


INTERRUPTED = """
import os, signal, sys

interrupted = [sys.argv.pop(1)]

class Interrupting:
    def find_spec(self, name, *_):
        if name in interrupted:
            interrupted.clear()
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from quorate.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "numpy", "pyarrow", "quorate.arrow_compute", "quorate.methods.quorate"])
def test_an_interrupt_while_something_is_imported_is_one_line(tmp_path: Path, module: str) -> None:
    (tmp_path / "a.csv").write_text(ROWS)
    command = [sys.executable, "-c", INTERRUPTED, module, "aggregate", "a.csv", "-o", "labels.csv"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (130, "quorate: Interrupted.\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


ODD = ["[red]r", "[link=http://x]l", ":smile:", "d\\", "ann\x1b]0;x\x07", "\x1b[2Jz", "‮evil", "a\rb"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    path = tmp_path / "odd.jsonl"
    rows = [{"task": f"{a}{t}", "worker": a, "label": ODD[(t * k) % 3]} for t in range(6) for k, a in enumerate(ODD)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


OBEYED = ("\x1b]", "\x1b[2J", "\x07", "‮", "\r")


@pytest.mark.parametrize("command", ["aggregate", "diagnose", "advise --budget 5", "compare --methods majority"])
def test_a_terminal_shows_ids_and_obeys_none(odd: Path, command: str) -> None:
    text = shown([*command.split(), str(odd)]).replace("\r\n", "\n")
    ours = text.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert not any(mark in ours for mark in OBEYED)
    assert ("[red]r" if "compare" not in command else "majority") in text  # it came so far as to show something
    assert "Traceback" not in text


def test_ids_are_shown_as_they_are(odd: Path) -> None:
    text = shown(["aggregate", str(odd)])
    for name in ("[red]r", "[link=http://x]l", ":smile:", "d\\ ", "ann\\x1b]0;x\\x07"):
        assert name in text


def test_errors_ledgers_and_plain_tables_obey_nothing(capsys: Any, odd: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    for expected, arguments in (
        (0, ["ledger", "add", ledger, odd]),
        (0, ["ledger", "show", ledger]),
        (0, ["diagnose", odd]),
        (2, ["aggregate", odd, "--task", "no\x1b]0;x\x07"]),
        (2, ["aggregate", odd, "--method", "no\x1b[2J"]),
        (2, ["aggregate", "no\x1b[2Jfile.csv"]),
        (2, ["aggregate", "--no\x1b[2Joption"]),
    ):
        code, out, err = quorate(capsys, *arguments)
        assert code == expected
        assert not any(mark in out + err for mark in OBEYED)
