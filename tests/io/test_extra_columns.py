"""Further columns of the rows: by task and by answer, from tables, JSON and exports, under the user's names."""

import json
from pathlib import Path

import numpy as np
import pytest

import quorate
from quorate.errors import QuorateError
from quorate.io.extra_columns import row_columns, task_texts
from quorate.io.gold import labels_for, read_gold
from quorate.io.options import ReadOptions
from quorate.io.read import read_source
from tests.cli.running import quorate as run

ROWS = [
    ("r1", "first text", "ann", "x", 5),
    ("r1", "first text", "bob", "y", 9),
    ("r2", "second, text", "ann", "x", 4),
    ("r2", "second, text", "bob", "x", 8),
    ("r3", "third text", "bob", "y", 7),
    ("r3", "third text", "cat", "y", 1),
]
NAMES = ("Item ID", "Text", "Annotator", "Sentiment", "Seconds")
OPTIONS = ("--task", "Item ID", "--worker", "Annotator", "--label", "Sentiment")


@pytest.fixture
def team(tmp_path: Path) -> Path:
    file = tmp_path / "team.csv"
    cells = [",".join(f'"{value}"' for value in row) for row in (NAMES, *ROWS)]
    file.write_text("\n".join(cells) + "\n")
    return file


def test_values_go_to_their_tasks_and_answers_whatever_the_order_of_rows(team: Path) -> None:
    reading = read_source(team, ReadOptions(task="Item ID", worker="Annotator", label="Sentiment"))
    rows = row_columns(reading, "--show")
    answers = reading.answers
    texts = dict(zip(answers.task_names.to_pylist(), rows.by_task("Text", "--show"), strict=True))
    assert texts == {row[0]: row[1] for row in ROWS}
    seconds = rows.numbers_by_answer("Seconds", "--duration")
    expected = {(row[0], row[2]): float(row[4]) for row in ROWS}
    tasks = answers.task_names.to_pylist()
    workers = answers.worker_names.to_pylist()
    for task, worker, value in zip(answers.task, answers.worker, seconds, strict=True):
        assert expected[tasks[task], workers[worker]] == value


def test_nested_json_and_a_missing_column(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.jsonl"
    lines = [{"task": row[0], "worker": row[2], "label": row[3], "data": {"text": row[1]}} for row in ROWS]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reading = read_source(file)
    texts = task_texts(reading, "data.text")
    assert texts is not None
    assert texts.short(1) == "second, text"
    with pytest.raises(QuorateError, match=r"There is no column 'data\.title'"):
        task_texts(reading, "data.title")


def test_what_is_not_a_number_names_its_row(team: Path) -> None:
    reading = read_source(team, ReadOptions(task="Item ID", worker="Annotator", label="Sentiment"))
    with pytest.raises(QuorateError, match="'first text', which is not a number, in row 1"):
        row_columns(reading, "--covariate").numbers_by_answer("Text", "--covariate")


def test_answers_without_a_source_are_refused() -> None:
    answers = quorate.simulate.crowd(20, 4, 3, seed=0).answers
    with pytest.raises(QuorateError, match="needs answers in a file or a table"):
        quorate.diagnose(answers, show="text")


def test_long_texts_are_cut_and_stay_on_one_line() -> None:
    rows = {"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"], "text": ["line\nend " * 50] * 2}
    texts = task_texts(read_source(rows), "text")
    assert texts is not None
    assert len(texts.short(0)) == 100
    assert "\n" not in texts.short(0)


def test_every_command_shows_the_text(team: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = tmp_path / "labels.csv"
    run(capsys, "aggregate", team, *OPTIONS, "--show", "Text", "-o", labels)
    assert '"second, text"' in labels.read_text()
    expert = tmp_path / "expert.csv"
    run(capsys, "advise", team, *OPTIONS, "--expert", 2, "--show", "Text", "-o", expert)
    assert " text" in expert.read_text()
    assert "Seconds" not in expert.read_text()
    following = tmp_path / "next.csv"
    run(capsys, "advise", team, *OPTIONS, "--budget", 2, "--anyway", "--show", "Text", "-o", following)
    assert following.read_text().splitlines()[0].startswith("Item ID,Text,Annotator")
    page = tmp_path / "report.html"
    code, _, _ = run(capsys, "report", team, *OPTIONS, "--show", "Text", "--compare", "", "-o", page)
    assert code == 0
    assert "third text" in page.read_text()


def test_diagnose_shows_the_text_of_an_unclear_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    lines = ["task,worker,label,text"]
    for task in range(200):
        for worker in range(12):
            label = worker % 2 if task == 7 else int(rng.random() < 0.02)
            lines.append(f"{task},w{worker},{'ab'[label]},text of {task}")
    file = tmp_path / "answers.csv"
    file.write_text("\n".join(lines) + "\n")
    code, out, _ = run(capsys, "diagnose", file, "--show", "text")
    assert code == 0
    assert "Task 7 may be unclear" in out
    assert "   text: text of 7" in out


@pytest.mark.parametrize("parts", [("a / b,c", "a,b / c"), ("a,", "b,"), ("1.0,c", "2.0,c"), ("1.0", "7")])
def test_texts_and_known_labels_find_tasks_of_several_columns(parts: tuple[str, str], tmp_path: Path) -> None:
    columns = ["page", "part"][: 1 + parts[0].count(",")]
    header = ",".join(columns)
    rows = [(part, k, worker) for k, part in enumerate(parts) for worker in ("ann", "bob")]
    answers = tmp_path / "answers.csv"
    lines = [f"{part},{worker},{'xy'[k]},text {k}" for part, k, worker in rows]
    answers.write_text("\n".join([f"{header},who,label,text", *lines, ""]))
    gold = tmp_path / "gold.csv"
    gold.write_text("\n".join([f"{header},label", *(f"{part},{'xy'[k]}" for k, part in enumerate(parts)), ""]))
    reading = read_source(answers, ReadOptions(task=header, worker="who", label="label"))
    assert row_columns(reading, "--show").by_task("text", "--show") == ["text 0", "text 1"]
    if len(columns) > 1:
        assert read_gold(labels_for(reading, gold), reading.answers).tolist() == [0, 1]


def test_a_number_with_a_point_is_found_where_it_was_read_as_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("page,label,text\n1.0,x,one\n7,y,two\n")
    reading = read_source(path, ReadOptions(task="page", label="label", worker_name="me"))
    assert reading.answers.task_names.to_pylist() == ["1", "7"]
    assert row_columns(reading, "--show").by_task("text", "--show") == ["one", "two"]
