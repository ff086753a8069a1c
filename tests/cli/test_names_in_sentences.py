"""Names of files, columns, workers, tasks and classes are printed as they are, also at the beginning of a sentence.

Every name here begins with "zq" and has only small letters, as an ordinary word has: "Zq" in an output is a name that
was capitalised as the first word of a sentence.
"""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

import quorate
from quorate.methods.model_worker import trained_note
from quorate.notes import warning_line
from tests.cli.running import quorate as run

CLASSES = ("zqcat", "zqdog", "zqelk")
JUDGES = ("zqanna", "zqbob", "zqcyd", "zqdan", "zqeve", "zqfay")


def letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:04d}")


def write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Workers of every kind: good ones, one with the classes swapped, one who guesses, one constant, and a copy."""
    rng = np.random.default_rng(0)
    rows: list[tuple[str, ...]] = []
    for task in range(100):
        truth = int(rng.integers(0, 3))
        answers = [truth if rng.random() < 0.85 else int(rng.integers(0, 3)) for _ in JUDGES[:3]]
        answers += [(truth + 1) % 3, int(rng.integers(0, 3)), 0]
        for judge, answer in zip((*JUDGES, "zqgil"), (*answers, answers[4]), strict=True):
            rows.append((f"zqtask{letters(task)}", f"zqworker{judge}", CLASSES[answer], f"zqset{judge[-1]}"))
    rows.append(("zqtaskalone", "zqworkernew", "zqfxo", "zqseta"))
    return write(tmp_path / "zqlabels all.csv", ("zqitem", "zqwho", "zqsays", "zqset"), rows)


@pytest.mark.parametrize(
    "words",
    [
        ["aggregate", "{}"],
        ["diagnose", "{}", "--group", "zqset"],
        ["advise", "{}", "--budget", "20"],
        ["advise", "{}", "--expert", "20", "-o", "zqexpert.csv"],
        ["check", "{}", "--max-error", "0.01", "--fail-on", "unreliable,copying"],
        ["agreement", "{}"],
        ["compare", "{}", "--methods", "majority,quorate"],
        ["estimate", "{}"],
        ["report", "{}", "-o", "zqreport.html"],
    ],
)
def test_commands_on_labels(
    words: list[str], labels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(labels.parent)
    columns = ("--task", "zqitem", "--worker", "zqwho", "--label", "zqsays")
    code, out, err = run(capsys, *(word.format(labels.name) for word in words), *columns)
    assert code in (0, 1, 3), err
    pages = "".join(page.read_text() for page in labels.parent.glob("*.html"))
    pages = pages.replace("Zqlabels all", "")  # the title of a report is written as a title
    assert "Zq" not in out + err + pages


def comparisons(n_rows: int, share_of_first: float) -> list[tuple[object, ...]]:
    rng = np.random.default_rng(1)
    rows: list[tuple[object, ...]] = []
    for _ in range(n_rows):
        left, right = rng.choice(4, 2, replace=False)
        judge = JUDGES[0] if rng.random() < share_of_first else JUDGES[int(rng.integers(1, 6))]
        winner = min(left, right) if rng.random() < 0.8 else max(left, right)
        # The length follows from the items, so its effect rests on few comparisons.
        length = left - right + 0.1 * rng.random()
        rows.append((f"zqitem{letters(left)}", f"zqitem{letters(right)}", f"zqitem{letters(winner)}", judge, length))
    return rows


def test_warnings_of_rank_on_a_judge_and_a_covariate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "a.csv", ("left", "right", "winner", "judge", "zqlength"), comparisons(400, 0.7))
    code, out, err = run(capsys, "rank", file, "--covariate", "zqlength", "--no-position")
    assert code == 0
    assert "Judge zqanna made" in err
    assert "The covariate zqlength depends almost only" in err
    assert "Zq" not in out + err


def test_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    rows = [
        (f"zqtask{letters(task)}", judge, round(task + rng.normal(0, 5), 1))
        for task in range(40)
        for judge in JUDGES[:4]
    ]
    code, out, err = run(capsys, "rate", write(tmp_path / "a.csv", ("task", "worker", "score"), rows))
    assert code == 0
    assert "Zq" not in out + err


@pytest.mark.parametrize("name", ["zqanswers", "zqmy answers.csv", "zqmy folder/zqanswers"])
@pytest.mark.parametrize(
    ("content", "command"),
    [
        ("", "aggregate"),
        ("zqx,zqy\n", "aggregate"),
        ("zqx,zqy\n1,2\n", "aggregate"),
        ("left,right,winner\na,a,left\n", "rank"),
        ("task,worker,label\n1,zqann,zqcat\n1,zqann,zqdog\n", "aggregate"),
        ("task,worker,label\n1,zqann,\n", "aggregate"),
        ("task,worker,score\n1,zqann,zqhigh\n", "rate"),
    ],
)
def test_errors_about_a_file(
    name: str,
    content: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(content)
    code, out, err = run(capsys, command, name)
    assert code in (2, 3)
    assert "Zq" not in out + err


@pytest.mark.parametrize(
    "words",
    [
        ["aggregate", "zqno file"],
        ["aggregate", "zqno file.csv", "--engine", "duckdb"],
        ["aggregate", "{}", "-o", "zqmy labels.foo"],
        ["aggregate", "{}", "-o", "zqmy labels.ods"],
        ["check", "{}", "--config", "zqmy limits.toml"],
        ["diagnose", "{}", "--group", "zqnone"],
        ["rank", "zqno file"],
    ],
)
def test_errors_about_missing_files(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("task,worker,label\n1,zqann,zqcat\n1,zqbob,zqdog\n")
    code, out, err = run(capsys, *(word.format("a.csv") for word in words))
    assert code == 2
    assert "zq" in err
    assert "Zq" not in out + err


def test_the_note_on_a_model_that_repeats_mistakes() -> None:
    answers = quorate.simulate.crowd(400, 10, 3, seed=0).answers
    (note,) = trained_note(answers, quorate.aggregate(answers, "majority").vote.label, "zqmodel")
    assert "'zqmodel' repeats" in warning_line(note)
