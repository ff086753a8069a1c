"""What every command that writes refuses before it begins: to replace what it reads, or one output by another."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from glob import glob
from pathlib import Path
from typing import Any

from quorate.cli.options import offering

# The parameters that name a file; others of the same name that hold numbers are passed over.
WRITTEN = ("output", "workers_out", "posterior_out", "tasks_out", "truth_out", "skills_out", "gold_out", "answers_out")
READ = ("file", "files", "gold", "truth", "workers", "labels", "ledger")


def keeping_places(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command refuse outputs that would destroy something."""
    parameters = inspect.signature(command).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        outputs, inputs = _outputs(given), dict(_inputs(given))
        if outputs:
            from quorate.errors import OptionError
            from quorate.writing.places import check_places

            check_places(outputs, inputs)
            if given.get("json") and "-" in outputs.values():
                what = next(name for name, path in outputs.items() if path == "-")
                raise OptionError(f"--json and {what} would both go to standard output; name a file with {what}")
        command(**given)

    return offering(parameters.values(), run)


def _outputs(given: Mapping[str, Any]) -> dict[str, str]:
    named = {_flag(name): given[name] for name in WRITTEN if isinstance(given.get(name), str)}
    tables = given.get("tables")  # the folder of a report, which is made where it is not there
    if isinstance(tables, str) and Path(tables).is_dir():
        named |= {f"--tables {name}": str(Path(tables) / f"{name}.csv") for name in ("workers", "labels")}
    return {name: path for name, path in named.items() if "://" not in path}


def _inputs(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in READ:
        value = given.get(name)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str):
                shown = name.upper() if name in ("file", "files", "ledger") else _flag(name)
                # An engine reads patterns.
                yield from ((f"{shown} {each}", each) for each in ([path] if Path(path).exists() else glob(path)))


def _flag(name: str) -> str:
    return "-o" if name == "output" else f"--{name.replace('_', '-')}"
