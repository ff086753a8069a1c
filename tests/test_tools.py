"""The examples in the tools hold, too."""

import doctest
import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "tools"
TOOLS = sorted(path.stem for path in FOLDER.glob("*.py") if ">>> " in path.read_text(encoding="utf-8"))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.skipif(sys.platform == "win32", reason="some fork, and limit memory, as Unix has it")
@pytest.mark.parametrize("name", TOOLS)
def test_every_example_of_a_tool_holds(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"tools.{name}"), optionflags=FLAGS).failed == 0


def test_there_are_tools_with_examples() -> None:
    assert {"console", "mutations", "mutilate"} <= set(TOOLS)
