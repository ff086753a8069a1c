"""The example notebooks run, and what they show is what they print."""

import re
from pathlib import Path

import pytest

from tests.notebooks import NOTEBOOKS, executed, printed, stored

pytest.importorskip("nbclient", reason="running notebooks needs nbclient and ipykernel")

# The kernel is another process, whose sockets are closed when they are collected.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs_and_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    assert printed(executed(path, tmp_path)) == printed(stored(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_is_small_and_names_no_machine(path: Path) -> None:
    text = path.read_text()
    assert len(text) < 500_000
    assert re.findall(r"(?:/home/|/root/|/tmp/|site-packages|[A-Z]:\\\\)", text) == []
    assert str(path.parents[2]) not in text  # where this checkout lies
    assert not re.search(r'"(?:iopub|shell)\.', text)  # when each cell ran
    assert '"output_type": "error"' not in text
