"""A pipe, as a shell's process substitution makes it, can be read once: every option that names an input takes one."""

import inspect
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import quorate
from tests.cli import running
from tests.cli.command_lines import (
    ANSWERS,
    CONTENT,
    CROWD,
    EXPORT,
    EXPORT_LABELS,
    KNOWN_SCORES,
    LABELS,
    PAIRS,
    SCORES,
    TRUTH,
    arguments,
    is_output,
    text_parameters,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes as Unix has them")

# Inputs that are no stream of bytes by nature.
NO_PIPE = {
    "ledger": "is changed in place; a pipe is refused",
    "ledgers": "likewise",
    "tables": "a folder to write to",
    "temp": "a folder to write to",
}
SERVED = ("labelstudio", "pull", "push")  # need a running server
CASES = [
    pytest.param(path, each.name, each, id=f"{'-'.join(path)}-{each.name}")
    for path, each in text_parameters()
    if ("FILE" in (each.metavar or "") or each.name in CONTENT)
    and not is_output(each)
    and each.name not in NO_PIPE
    and path[0] not in SERVED
    and (path[0], each.name) != ("simulate", "skills")  # a law
]


@contextmanager
def pipe(content: str) -> Iterator[str]:
    """A pipe that holds the content and has no writer any more: read again, it is empty."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        assert len(content.encode()) < 1 << 16, "more than a pipe holds"
        stream.write(content)
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


@pytest.fixture(autouse=True)
def no_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.reporting.report.to_svg", lambda *_: "<svg/>")


@pytest.mark.parametrize(("path", "name", "parameter"), CASES)
def test_every_option_that_names_an_input_takes_a_pipe(
    path: tuple[str, ...], name: str, parameter: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = CONTENT[name]
    if path[0] == "convert":
        content = EXPORT if name == "file" else EXPORT_LABELS
    if path[0] == "rank":
        content = PAIRS
    if path[0] == "rate":
        content = SCORES if name == "file" else KNOWN_SCORES

    def run(folder: Path, value: str) -> tuple[int, str]:
        folder.mkdir()
        code, out, err = running.quorate(capsys, *arguments(path, folder, parameter, value))
        text = f"{out}\n{err}".replace(value, "INPUT").replace(str(folder), "FOLDER")
        text = text.replace("quorate rate FILE", "quorate rate INPUT")  # a pipe cannot be named again
        return code, re.sub(r'"seconds": [\d.e-]+', "", text)

    with pipe(content) as there:
        file = tmp_path / Path(there).name  # a model is called by the name of its file
        file.write_text(content)
        expected = run(tmp_path / "by_file", str(file))
        assert expected[0] in (0, 1), expected[1]
        assert run(tmp_path / "by_pipe", there) == expected


# What a function needs beside the input that is a pipe.
NEEDS: dict[str, dict[str, Any]] = {
    "adaptive_skills": {"answers": CROWD.answers},
    "advise": {"budget": 5},
    "advise_result": {"budget": 5},
    "suggest_gold": {"n": 5},
    "advise_scores": {"budget": 5},
    "compare": {"methods": ["majority", "quorate"]},
    "check": {"min_answers": 1},
    "report": {"methods": []},
    "read_times": {"answers": CROWD.answers},
    "write_back": {"to": "labelstudio"},
}


def functions() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Every public function, and each of its parameters that may be a file to read."""
    offered = {name: getattr(quorate, name) for name in quorate.__all__}
    offered |= {f"warehouse.{name}": getattr(quorate.backends, name) for name in quorate.backends.__all__}
    for name, function in offered.items():
        parameters = inspect.signature(function).parameters if inspect.isfunction(function) else {}
        for parameter in parameters.values():
            annotation = str(parameter.annotation)
            takes = (
                "Path" in annotation or "Source" in annotation or ("Any" in annotation and "ndarray" not in annotation)
            )
            if takes and parameter.name in CONTENT and (name, parameter.name) not in NO_FILE:
                yield name, function, parameter.name


NO_FILE = {
    ("read_times", "answers"): "answers that were read",
    ("warehouse.aggregate", "source"): "an engine opens files itself and refuses streams",
    ("warehouse.diagnose", "source"): "likewise",
    ("warehouse.read", "source"): "likewise",
    ("warehouse.rank", "source"): "likewise",
    ("warehouse.rate", "source"): "likewise",
    ("inspect_reducer", "skills"): "needs inspect-ai; reads by way of consensus",
}


@pytest.mark.parametrize(
    ("name", "function", "parameter"), [pytest.param(*case, id=f"{case[0]}-{case[2]}") for case in functions()]
)
def test_every_argument_that_names_an_input_takes_a_pipe(
    name: str, function: Callable[..., Any], parameter: str, tmp_path: Path
) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text(ANSWERS)
    content = CONTENT[parameter]
    needed = dict(NEEDS.get(name.rpartition(".")[2], {}))
    if "source" in inspect.signature(function).parameters:
        needed.setdefault("source", answers)
    if "result" in inspect.signature(function).parameters:
        needed["result"] = quorate.aggregate(CROWD.answers)
    if name == "write_back":
        (tmp_path / "export.json").write_text(EXPORT)
        needed |= {"export": quorate.read_export(tmp_path / "export.json"), "path": tmp_path / "labels.json"}
        content = EXPORT_LABELS
    if name.endswith("rank"):
        answers.write_text(PAIRS)
        content = PAIRS
        needed |= {"data": answers} if name == "rank" else {}
    if name in ("rate", "advise_scores", "compare_scores", "read_scores"):
        answers.write_text(SCORES)
        content = SCORES if parameter in ("answers", "source") else KNOWN_SCORES
        needed |= {"answers": answers} if "answers" in inspect.signature(function).parameters else {}
    if name == "score":
        gold = tmp_path / "gold.csv"
        gold.write_text(CONTENT["truth"])
        needed |= {"labels": gold, "truth": gold}
    if parameter == "tasks":
        needed["by"] = "part"
    with pipe(content) as there:
        function(**{**needed, parameter: there})


def test_a_named_pipe_is_opened_once(tmp_path: Path) -> None:
    """Who opens it a second time waits until somebody writes to it again."""
    there = tmp_path / "gold.csv"
    os.mkfifo(there)
    writer = threading.Thread(target=lambda: there.write_text(LABELS), daemon=True)
    writer.start()
    found = quorate.estimate(CROWD.answers, gold=there)
    writer.join(10)
    assert found.n_known == len(TRUTH)


def test_another_call_reads_a_named_pipe_again(tmp_path: Path) -> None:
    there = tmp_path / "answers.csv"
    os.mkfifo(there)
    for rows in ("task,worker,label\n1,a,x\n", "task,worker,label\n1,a,x\n2,a,y\n"):
        writer = threading.Thread(target=there.write_text, args=(rows,), daemon=True)
        writer.start()
        assert quorate.read(there).n_answers == rows.count("\n") - 1
        writer.join(10)
