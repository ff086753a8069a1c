"""The house keeps its order: rooms import in one direction only, files stay small, and every room is explained."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tools.house import FRONT_DOOR, SOURCE, edges, order, room

from quorate.blocks import in_use
from quorate.evaluation import simulate

ROOT = SOURCE.parent.parent
FILES = sorted(SOURCE.rglob("*.py"))
WRITTEN = [path for folder in ("src", "tests", "benchmarks", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]
TOP = {"__init__", "__main__", "errors", "arrays", "progress", "said", "answers", "gold", "result"}
ROOMS = 16  # folders at the most; one more needs a reason, and one less somewhere


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_rooms_import_in_one_direction_only() -> None:
    """`order` fails if the rooms cannot be put in an order in which each imports only from earlier ones."""
    assert order(edges(SOURCE))[-1] == "__main__"


def test_the_house_has_few_rooms_and_the_top_holds_what_everything_shares() -> None:
    rooms = {room(path) for path in FILES}
    assert {path.stem for path in SOURCE.glob("*.py")} == TOP
    assert len(rooms - TOP) <= ROOMS


def test_only_those_named_go_by_the_front_door() -> None:
    """`import quorate` reaches every room, so a file inside that does so could close a circle unseen."""
    found = {
        str(path.relative_to(SOURCE))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and any(alias.name == "quorate" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "quorate")
    }
    assert found - {"__init__.py"} == set(FRONT_DOOR)


@pytest.mark.parametrize("path", WRITTEN, ids=map(named, WRITTEN))
def test_a_file_keeps_its_budget(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_a_file_has_a_name_of_its_own() -> None:
    """Only a command is called what the function that it calls is called."""
    names = Counter(path.stem for path in FILES if path.stem != "__init__" and room(path) != "cli")
    assert [name for name, n in names.items() if n > 1] == []


def test_the_tests_mirror_the_rooms() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert folders == {room(path) for path in FILES} - TOP


def test_the_architecture_page_tells_of_every_room_and_shows_its_picture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert "pictures/house.svg" in page
    untold = [name for name in {room(path) for path in FILES} - TOP if f"`{name}/`" not in page]
    assert untold == []


def test_the_way_of_the_data_changes_rooms_no_more_than_half_as_often_as_it_once_did(tmp_path: Path) -> None:
    """403 times, before the rooms were named after the data's path. Steps of EM are changes; kernels in numpy, too."""
    if in_use() != "C":
        pytest.skip("no kernels in C are built here")
    a, answers, labels = simulate.crowd(800, 164, 10, seed=0).answers, tmp_path / "answers.csv", tmp_path / "labels.csv"
    rows = zip(a.task.tolist(), a.worker.tolist(), a.label.tolist(), strict=True)
    answers.write_text("task,worker,label\n" + "".join(f"{t},w{w},{c}\n" for t, w, c in rows))
    command = ["-m", "tools.way", "aggregate", str(answers), "-o", str(labels)]
    found = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True)
    *way, said = found.stderr.splitlines()
    assert labels.exists()
    assert said == f"{len(way)} changes of rooms"
    assert 100 < len(way) <= 403 // 2


def test_every_public_function_has_a_docstring_with_an_example() -> None:
    """Functions of the library; the command line is tested as a whole, and methods are shown by their class."""
    missing = []
    for path in FILES:
        if room(path) in {"cli", "__main__", "__init__"} or "experiments" in path.parts:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                text = ast.get_docstring(node) or ""
                if ">>>" not in text:
                    missing.append(f"{path.name}:{node.name}")
    # These need more around them than an example can show; the tests do.
    assert set(missing) <= {
        "descent.py:descend",
        "solve.py:solve_signed",
        "datasets.py:fetch",
        "progress.py:listening",
    }
