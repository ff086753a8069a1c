"""Print every error message, for readers: `python tools/error_messages.py`.

The cases of `tools/error_cases.py` are run in a folder of their own: command lines, and calls of the library. Each is
printed with its message as a user sees it. Messages that no case causes are printed as they stand in the source, with
their place.
"""

import argparse
import ast
import io
import os
import shlex
import sqlite3
import sys
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pandas as pd
from error_cases import CALLS, COMMANDS, FILES, LONG

import quorate
from quorate.cli import app

SOURCE = Path(quorate.__file__).parent
Place = tuple[str, int]  # a file and the first line of a statement


def sites() -> dict[Place, tuple[int, str]]:
    """Return every statement of the package that raises an error with a message: its last line and its text."""
    found: dict[Place, tuple[int, str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call) or not node.exc.args:
                continue
            name = ast.unparse(node.exc.func)
            if name.endswith("Exit") or name == "AttributeError":  # an exit code, and what getattr expects
                continue
            text = f"{name}: {ast.unparse(node.exc.args[0])}"
            found[str(path), node.lineno] = (node.end_lineno or node.lineno, text)
    return found


def raised_at(trace: TracebackType | None) -> list[Place]:
    """Return the statements of the package that an error passed."""
    passed: list[Place] = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(str(SOURCE)):
            passed.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return passed


def run(command: str) -> tuple[int, str, list[Place]]:
    """Run a command line: its exit code, its message, and the statements that raised the error."""
    passed: list[Place] = []
    fail = app._fail

    def noted(message: str, code: int = 2, hints: tuple[str, ...] = ()) -> None:
        error = sys.exc_info()[1]
        while error is not None:
            passed.extend(raised_at(error.__traceback__))
            error = error.__context__
        fail(message, code, hints)

    app._fail = noted
    err = io.StringIO()
    code = 0
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(err):
            app.main(shlex.split(command))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        app._fail = fail
    return code, err.getvalue().strip(), passed


def call(code: str, names: dict[str, Any]) -> tuple[str, list[Place]]:
    """Run a call of the library: its error, and the statements that raised it."""
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            eval(code, names)
    except Exception as error:  # the point of the exercise
        passed = raised_at(error.__traceback__)
        if error.__context__ is not None:
            passed += raised_at(error.__context__.__traceback__)
        return f"{type(error).__name__}: {error}", passed
    return "(no error)", []


def prepare() -> dict[str, Any]:
    """Write the files that the cases use into the current folder; return the names that calls use."""
    for folder in ("folder", "locked"):
        Path(folder).mkdir()
    for name, content in FILES.items():
        Path(name).write_bytes(content.encode("latin-1" if name == "latin.csv" else "utf-8"))
    database = sqlite3.connect("answers.db")
    for table in ("one", "two"):
        database.execute(f"create table {table} (task text, worker text, label text)")
        database.execute(f"insert into {table} values ('1', 'ann', 'x')")
    database.commit()
    database.close()
    frame = pd.read_csv("answers.csv")
    index = pd.MultiIndex.from_product([["w0", "w1", "w2", "w3"], ["x", "y"]], names=["worker", "label"])
    errors = pd.DataFrame(np.full((8, 2), 0.5), index=index, columns=["x", "y"])
    return {"quorate": quorate, "np": np, "pd": pd, "frame": frame, "errors": errors}


def main() -> None:
    """Print the messages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--caused-only", action="store_true", help="leave out those that no case here causes")
    options = parser.parse_args()
    passed: set[Place] = set()
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            names = prepare()
            for command in COMMANDS:
                code, message, places = run(command)
                passed.update(places)
                shown = f"$ quorate {command}\n{message}\n[{code}]\n\n"
                sys.stdout.write(shown.replace(LONG, "xxx..."))
            for code_text in CALLS:
                message, places = call(code_text, names)
                passed.update(places)
                sys.stdout.write(f">>> {code_text}\n{message}\n\n")
        finally:
            os.chdir(home)
    places_of_errors = sites()
    caused = {
        (file, first)
        for (file, first), (last, _) in places_of_errors.items()
        if any(other == file and first <= line <= last for other, line in passed)
    }
    n_cases = len(COMMANDS) + len(CALLS)
    sys.stdout.write(f"{n_cases} cases caused errors at {len(caused)} of {len(places_of_errors)} places.\n")
    if not options.caused_only:
        sys.stdout.write("\nThe others, as they stand in the source:\n\n")
        for place, (_, text) in places_of_errors.items():
            if place not in caused:
                sys.stdout.write(f"{Path(place[0]).relative_to(SOURCE)}:{place[1]}\n  {text}\n")


if __name__ == "__main__":
    main()
