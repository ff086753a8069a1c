"""Every command that an output prints can be run as it is printed, for files with columns of any name."""

import html
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate.cli.app import main

COMMANDS = ("aggregate", "diagnose", "advise", "check", "report", "estimate", "agreement")
READING = ["--task", "Item ID", "--worker", "Annotator", "--label", "Sentiment", "--on-conflict", "first"]


def team(path: Path, *, workers: list[str], n_tasks: int = 150) -> Path:
    """Annotators of whom one guesses, in columns with names of their own, with one conflicting row."""
    rng = np.random.default_rng(0)
    rows = ["Item ID,Text,Annotator,Sentiment"]
    for task in range(n_tasks):
        truth = ("negative", "neutral", "positive")[task % 3]
        for k, worker in enumerate(workers):
            is_right = rng.random() < (0.0 if k == 0 else 0.85)
            label = truth if is_right else str(rng.choice(["negative", "neutral", "positive"]))
            rows.append(f"item {task},some text {task},{worker},{label}")
    rows.append(f"item 0,some text 0,{workers[1]},positive")
    path.write_text("\n".join(rows) + "\n")
    return path


def run(arguments: list[str], capfd: Any) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capfd.readouterr()
    code = ended.value.code
    return int(code or 0) if not isinstance(code, str) else 1, printed.out + printed.err


def commands_in(text: str) -> set[str]:
    found = set()
    for match in re.finditer(rf"quorate ({'|'.join(COMMANDS)}) '[^\n`<]*", text):
        found.add(match[0].strip().rstrip("."))
    return found


@pytest.mark.parametrize(
    "workers",
    [["finn", "ana", "ben", "chloe"], ["gpt-4o-mini", "claude-3-haiku", "gemini-1.5-pro", "llama-3-8b-instruct"]],
    ids=["people", "models"],
)
def test_printed_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, workers: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    team(tmp_path / "my team.csv", workers=workers)
    file = ["my team.csv", *READING]
    outputs = [
        run(["aggregate", *file, "-o", "labels.csv"], capfd)[1],
        run(["diagnose", *file], capfd)[1],
        run(["advise", *file], capfd)[1],
        run(["advise", *file, "--budget", "20", "-o", "some.csv"], capfd)[1],
        run(["advise", *file, "--expert", "12", "-o", "expert.csv"], capfd)[1],
        run(["check", *file, "--max-error", "0.05", "--min-alpha", "0.9", "--fail-on", "any"], capfd)[1],
        run(["estimate", *file], capfd)[1],
    ]
    run(["report", *file, "-o", "page.html", "--compare", ""], capfd)
    outputs += [html.unescape(each) for each in re.findall(r"<code[^>]*>(.*?)</code>", Path("page.html").read_text())]
    printed = set().union(*(commands_in(each) for each in outputs))
    assert len(printed) >= 4
    # The expert fills in the file between the command that writes it and those that read it.
    writing = [each for each in printed if "--gold" not in each]
    reading = [each for each in printed if "--gold" in each]
    assert any(" --expert " in each for each in writing)
    assert reading
    for command in writing:
        code, text = run(shlex.split(command)[1:], capfd)
        assert code in (0, 3) or command.startswith("quorate check"), (command, text)
    filled = Path("expert.csv").read_text().replace(",,", ",neutral,")
    Path("expert.csv").write_text(filled)
    for command in reading:
        code, text = run(shlex.split(command)[1:], capfd)
        assert code in (0, 3), (command, text)
