"""The house keeps its order: a file imports only from files earlier on the data's path, and stays small."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "quorate"

# The path of the data (docs/architecture.md). A file may import from those before it, and from its own folder.
PATH = [
    "errors", "arrays", "arrow", "progress", "table", "files", "whole", "columns", "answers", "gold", "pairs", "graph",
    "spectrum", "skills", "signs", "evidence", "signed", "status", "vote", "confusion", "refine", "trust",
    "uncertainty", "result", "estimate", "standard", "simulate", "bounds", "oracle", "score", "baselines", "methods",
    "repair", "findings", "diagnosis", "advice", "ledger", "compare", "datasets", "experiments", "output", "formats",
    "warehouse", "estimators", "charts", "report", "terminal", "demo", "commands", "cli", "__main__",
]  # fmt: skip


def room(path: Path) -> str:
    """The place of a file on the path: its folder if it has one."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """The rooms that a file imports from, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "quorate":
            parts = node.module.split(".")[1:]
            names |= {parts[0]} if parts else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("quorate.")}
    return {name for name in names if name != "__version__"}


FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_a_file_imports_only_from_earlier_on_the_path(path: Path) -> None:
    assert room(path) in PATH, f"{path.name} has no place on the path: add it to docs/architecture.md and here"
    allowed = set(PATH[: PATH.index(room(path)) + 1])
    if path.parent == SOURCE:
        allowed -= {room(path)}
    assert imported(path) <= allowed


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_a_file_keeps_its_budget(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_every_public_function_has_a_docstring_with_an_example() -> None:
    """Functions of the library; the command line is tested as a whole, and methods are shown by their class."""
    missing = []
    for path in FILES:
        if room(path) in {"cli", "commands", "terminal", "demo", "experiments", "__main__"}:
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                text = ast.get_docstring(node) or ""
                if ">>>" not in text:
                    missing.append(f"{path.name}:{node.name}")
    # These need more around them than an example can show; the tests do.
    assert set(missing) <= {
        "descent.py:descend",
        "signed.py:solve_signed",
        "datasets.py:fetch",
        "progress.py:listening",
    }
