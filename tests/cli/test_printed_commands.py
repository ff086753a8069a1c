"""Every command that an output prints runs, on files of many layouts and with renamed columns."""

import csv
import html
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

from quorate import simulate
from quorate.cli.app import app
from tests.cli.command_lines import table
from tests.cli.running import quorate

COMMANDS = get_command(app).commands  # type: ignore[attr-defined]
WILD = Path(__file__).parents[2].parent / "shared" / "wild"
PRINTED = re.compile(rf"\bquorate ((?:{'|'.join(COMMANDS)})\b[^`\n<]*)")
UNDECIDED = 3


def printed_commands(text: str) -> Iterator[list[str]]:
    """Find the commands in an output: in backticks, or up to the end of the line."""
    for match in PRINTED.finditer(text):
        words = match.group(1).split("  #")[0].strip()
        if words.count("(") < words.count(")"):
            words = words[: words.rindex(")")]
        yield shlex.split(words)


def rows_of(seed: int = 3, spammer: str = "c0") -> list[tuple[str, str, str]]:
    """Return the answers of five able workers and one who always gives the same answer."""
    skills = np.array([0.9, 0.8, 0.8, 0.7, 0.6, 0.0])
    crowd = simulate.crowd(60, 6, 4, skills=skills, seed=seed)
    rows = [tuple(map(str, row.values())) for row in crowd.answers.to_table().to_pylist()]
    return [(task, worker, spammer if worker == "w5" else label) for task, worker, label in rows]


def wide(rows: list[tuple[str, str, str]], prefix: str) -> str:
    tasks = list(dict.fromkeys(task for task, _, _ in rows))
    workers = sorted({worker for _, worker, _ in rows})
    answers = {(task, worker): label for task, worker, label in rows}
    header = ",".join(["item", *(f"{prefix}{worker}" for worker in workers)])
    return table(header, [(task, *(answers.get((task, worker), "") for worker in workers)) for task in tasks])


def write_answers() -> None:
    rows = rows_of()
    Path("answers.csv").write_text(table("task,worker,label", rows))
    Path("my team.csv").write_text(
        table("Item ID,Text,Annotator,Sentiment", [(task, f"text of {task}", w, label) for task, w, label in rows])
    )
    spelled = [(task, worker, label.upper() if k % 7 == 0 else label) for k, (task, worker, label) in enumerate(rows)]
    Path("spelled.csv").write_text(
        table("item;who;verdict", []) + "".join(f"{';'.join(row)}\n" for row in [*spelled, (*rows[0][:2], "c1")])
    )
    Path("wide.csv").write_text(wide(rows, "judge_"))
    Path("judges.jsonl").write_text(
        "".join(
            json.dumps({"item": {"id": task}, "judge": f"gpt-4o-{worker}", "verdict": label}) + "\n"
            for task, worker, label in rows
        )
    )
    two = [
        (f"t{k}", worker, "c0" if (k + (worker == "b" and k > 15)) % 2 else "c1") for k in range(40) for worker in "ab"
    ]
    Path("two.csv").write_text(table("task,worker,label", two))
    sides = [(f"t{k}", worker, f"c{k % 2}") for k in range(40) for worker in (f"w{k % 3}", f"v{k % 4}")]
    Path("two sides.csv").write_text(table("task,worker,label", sides))
    numbers = np.random.default_rng(0)
    scores = [(task, worker, round(5 * numbers.random(), 1)) for task, worker, _ in rows]
    Path("scores.csv").write_text(table("item,rater,points", scores))
    Path("wide_scores.csv").write_text(wide([(t, w, str(x)) for t, w, x in scores], "rater_"))
    models = [(f"m{k % 3}", f"m{(k + 1 + k % 2) % 3}") for k in range(60)]
    pairs = [(x, y, "left" if (x < y) == (k % 6 > 0) else "right", f"j{k % 4}") for k, (x, y) in enumerate(models)]
    Path("pairs.csv").write_text(table("left,right,winner,judge", pairs))

    half = len(rows) // 2
    Path("parts").mkdir()
    for number, part in enumerate((rows[:half], rows[half:])):
        Path(f"parts/{number}.csv").write_text(table("Item ID,Annotator,Sentiment", part))
    Path("scores.json").write_text(
        json.dumps(
            [
                {"id": f"s{k}-{name}", "traceId": f"t{k}", "name": name, "source": "EVAL", "dataType": "CATEGORICAL"}
                | {"value": None, "stringValue": ("good", "bad")[k % 3 == 0]}
                for k in range(12)
                for name in ("toxicity", "tone of the answer")
            ]
        )
    )


FILES = {
    "answers.csv": [],
    "my team.csv": ["--task", "Item ID", "--worker", "Annotator", "--label", "Sentiment"],
    "spelled.csv": [
        *("--task", "item", "--worker", "who", "--label", "verdict", "--merge-spellings"),
        *("--on-conflict", "first", "--classes", "c0,c1"),
    ],
    "wide.csv": ["--task", "item", "--workers", "judge_*", "--skip-missing"],
    "judges.jsonl": ["--task", "item.id", "--worker", "judge", "--label", "verdict", "--judges"],
    "two.csv": [],
    "two sides.csv": [],
    "parts": ["--task", "Item ID", "--worker", "Annotator", "--label", "Sentiment"],
}
RUNS: dict[str, list[list[str]]] = {
    "doctor": [[]],
    "aggregate": [["-o", "labels.csv"], ["--verbose", "-o", "labels.csv", "--review-out", "review.csv"]],
    "diagnose": [[], ["--verbose"]],
    "advise": [[], ["--budget", "5"], ["--expert", "30", "-o", "expert-0.csv"]],
    "agreement": [[]],
    "estimate": [[]],
    "check": [["--max-error", "0.01", "--min-agreement", "alpha=0.99", "--fail-on", "any", "--max-unsure", "0"]],
    "compare": [["--methods", "quorate,majority"]],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("quorate.reporting.report.to_svg", lambda spec, label: "<svg/>")  # takes seconds
    write_answers()
    return tmp_path


def fill_in_labels(path: Path) -> None:
    """Do what the expert does: fill in the empty column."""
    with path.open() as file:
        header, *rows = list(csv.reader(file))
    empty = next((k for k in range(len(header)) if all(row[k] == "" for row in rows)), None)
    if empty is None:  # it was filled in before
        return
    for row in rows:
        row[empty] = "c0"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def failures(capsys: Any, output: str, *, allowed: tuple[int, ...] = (0,)) -> list[str]:
    """Run every command that an output prints; return those that fail, with their message."""
    failed = []
    for words in printed_commands(output):
        known = [Path(words[k + 1]) for k, word in enumerate(words) if word == "--gold"]
        for path in known:
            if path.name.startswith("expert") and path.exists():
                fill_in_labels(path)
        if "new.csv" in words:
            Path("new.csv").write_text("worker\nnina\nomar\n")
        if "COLUMN" in words:  # which column that is, only the user knows
            continue
        if "FILE" in words:  # of known scores, which only the user has
            Path("FILE").write_text("item,score\n" + "".join(f"t{k},{k % 5}\n" for k in range(20)))
        more = ["-o", "page.html"] if words[0] == "report" and "-o" not in words else []
        code, _, err = quorate(capsys, *words, *more)
        if code not in allowed and not (words[0] in ("check", "estimate") and code in (1, UNDECIDED)):
            failed.append(f"{shlex.join(words)}: exit {code}: {err}")
    return failed


@pytest.mark.parametrize("command", RUNS)
@pytest.mark.parametrize("file", FILES)
def test_commands_that_outputs_print_succeed(file: str, command: str, folder: Path, capsys: Any) -> None:
    for options in RUNS[command]:
        arguments = [command, file, *(FILES[file] if command != "doctor" else []), *options]
        code, out, err = quorate(capsys, *arguments)
        assert code in (0, 1, UNDECIDED) or "already answered all" in err, err
        assert failures(capsys, out + err) == []


@pytest.mark.parametrize("file", [file for file in FILES if file != "two.csv"])
def test_commands_of_a_report_succeed(file: str, folder: Path, capsys: Any) -> None:
    code, _, err = quorate(capsys, "report", file, *FILES[file], "-o", "report.html", "--compare", "majority")
    assert code == 0, err
    page = Path("report.html").read_text()
    texts = [html.unescape(re.sub("<[^>]+>", "", block)) for block in re.findall(r"<code[^>]*>.*?</code>", page, re.S)]
    commands = [text for text in texts if text.strip().startswith("quorate ")]
    assert commands
    assert failures(capsys, "\n".join(commands)) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["aggregate", "my team.csv"],
        ["aggregate", "wide.csv"],
        ["aggregate", "scores.csv"],
        ["aggregate", "spelled.csv", "--task", "item", "--worker", "who", "--label", "verdict"],
        ["aggregate", "judges.jsonl"],
        ["aggregate", "pairs.csv"],
        ["diagnose", "my team.csv"],
        ["check", "my team.csv"],
        ["rate", "scores.csv"],
        ["rate", "wide_scores.csv"],
        ["rate", "wide_scores.csv", "--task", "item", "--workers", "rater_*", "--skip-missing"],
        ["rank", "pairs.csv"],
        ["doctor", "scores.csv"],
        ["doctor", "wide_scores.csv"],
        ["doctor", "pairs.csv"],
        ["doctor", "parts"],
        ["doctor", "scores.json"],
        ["aggregate", "scores.json"],
        ["aggregate", "scores.json", "--question", "tone"],
        ["advise", "my team.csv", *FILES["my team.csv"], "--expert", "5"],
    ],
    ids=" ".join,
)
def test_commands_that_refusals_propose_succeed(arguments: list[str], folder: Path, capsys: Any) -> None:
    _, out, err = quorate(capsys, *arguments)
    assert failures(capsys, out + err) == []


def wild_files() -> list[Path]:
    """One small file of each layout."""
    found: dict[str, Path] = {}
    for path in sorted(WILD.glob("*/*")):
        if path.is_file() and path.stat().st_size < 400_000:
            found.setdefault(path.parent.name, path)
    return list(found.values())


@pytest.mark.skipif(not WILD.is_dir(), reason="the wild files are not beside this checkout")
@pytest.mark.parametrize("path", wild_files(), ids=lambda path: path.parent.name)
def test_doctor_proposes_commands_that_succeed_on_files_found_in_the_wild(
    path: Path, folder: Path, capsys: Any
) -> None:
    code, out, err = quorate(capsys, "doctor", path)
    assert code in (0, 2), err
    assert failures(capsys, out, allowed=(0, UNDECIDED)) == []


def test_a_proposed_command_repeats_every_option_that_was_given(folder: Path, capsys: Any) -> None:
    Path("blank.csv").write_text(table("Item ID,Annotator,Sentiment", [("t0", "w9", ""), *rows_of()]))
    Path("gold.csv").write_text("task,label\nt0,c0\n")
    options = ["--merge-spellings", "--abstain", "c2", "--no-judges", "--gold", "gold.csv", "--min-confidence", "0.9"]
    code, _, err = quorate(capsys, "aggregate", "blank.csv", *options, "-o", "labels.csv")
    assert code == 2
    (words,) = (words for words in printed_commands(err) if words[0] == "aggregate")
    assert "--skip-missing" in words
    for option in (*options, "-o", "labels.csv"):
        assert words.count(option) == 1
    code, _, err = quorate(capsys, *words)
    assert code == 0, err


def test_advice_that_writes_nothing_says_so_and_has_its_exit_code(folder: Path, capsys: Any) -> None:
    skills = np.array([0.5, 0.5, 0.5])
    crowd = simulate.crowd(40, 3, 2, skills=skills, seed=0)
    rows = [tuple(row.values()) for row in crowd.answers.to_table().to_pylist()]
    copied = [(task, f"{worker}-{k}", label) for task, worker, label in rows for k in range(3)]
    Path("copied.csv").write_text(table("task,worker,label", copied[:-9]))
    code, out, err = quorate(capsys, "advise", "copied.csv", "--budget", "3", "-o", "next.csv")
    assert (code, Path("next.csv").exists()) == (UNDECIDED, False), err
    assert "next.csv" in out
    assert quorate(capsys, "advise", "copied.csv", "--budget", "3", "-o", "next.csv", "--anyway")[0] == 0
    assert Path("next.csv").exists()
