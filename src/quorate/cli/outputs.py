"""What every command does around its work: refuse outputs that cannot be written, and protect what it reads.

Outputs of one run: refused before anything is read where two have one path, or one cannot be written.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import typer
from typer.models import OptionInfo

from quorate.cli.options import offering
from quorate.errors import OptionError, UnwritableFileError
from quorate.io.atomic import check_target, naming
from quorate.io.inputs import local_path


def guard_commands(app: typer.Typer) -> None:
    """Let every command of an app, and of those within it, refuse outputs that would destroy something."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = guarding_files(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            guard_commands(group.typer_instance)


def guarding_files(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command refuse outputs that would replace each other, or a file that the command reads.

    An option declared with ``writable=True`` names an output, which is then refused before anything is computed. The
    writer refuses any other output too, when it is written.
    """
    parameters = inspect.signature(command).parameters
    flags = {name: flag for name, each in parameters.items() if (flag := _output_flag(each)) is not None}

    @wraps(command)
    def run(**given: Any) -> None:
        from quorate.io.inputs import guard_inputs

        outputs = {flag: given[name] for name, flag in flags.items() if given[name] is not None}
        if outputs:
            from quorate.errors import OptionError

            check_places(outputs)
            streamed = [flag for flag, path in outputs.items() if path == "-"]
            if given.get("json") and streamed:
                raise OptionError(
                    f"--json and {streamed[0]} would both go to standard output; name a file with {streamed[0]}"
                )
        with guard_inputs(outputs):
            command(**given)

    return offering(parameters.values(), run)


def _output_flag(parameter: inspect.Parameter) -> str | None:
    """Return the flag of an option that names a file to write; None for any other parameter."""
    for declared in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(declared, OptionInfo) and declared.writable and declared.file_okay:
            # Within Annotated, typer.Option takes the first flag for the default value.
            flags = (declared.default, *(declared.param_decls or ()), f"--{parameter.name.replace('_', '-')}")
            return next(flag for flag in flags if isinstance(flag, str))
    return None


STREAM = "-"  # standard output


def check_places(outputs: Mapping[str, str | Path | None]) -> None:
    """Refuse outputs that would replace each other, or could not be written.

    That no output replaces an input is for the writer to see to, which knows what was read.

    Args:
        outputs: what the user calls each (``-o``) and where it goes; None for one that was not asked for.

    Raises:
        OptionError: two outputs have one place.
        UnwritableFileError: the place is a folder or a read-only file, or there is no folder for it.

    >>> check_places({"-o": "labels.csv", "--workers-out": None})
    """
    taken: dict[tuple[object, ...], str] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        if not str(path):
            raise OptionError(f"{name} names no file: what it was given is empty")
        place = _identity(path)
        if place in taken:
            what = "standard output" if path == STREAM else str(path)
            raise OptionError(
                f"{taken[place]} and {name} would both be written to {what}; give each a place of its own"
            )
        taken[place] = name
        if path != STREAM and "://" not in local_path(path):
            _check(path)


def _check(path: str | Path) -> None:
    with naming(path):  # a name may be too long even to ask
        check_target(path)
        has_folder = Path(os.path.realpath(local_path(path))).parent.is_dir()
    if not has_folder:
        raise UnwritableFileError(f"cannot write {path}: there is no such folder. Make it, or choose another")


def _identity(path: str | Path) -> tuple[object, ...]:
    """Tell files apart, whatever names and links lead to them; what can be written twice is never the same."""
    local = local_path(path)
    if local == STREAM or "://" in local:
        return (local,)
    try:
        found = os.stat(local)
    except OSError:
        return (os.path.realpath(local),)
    if not Path(local).is_file() and not Path(local).is_dir():  # /dev/null and its like
        return (object(),)
    return found.st_dev, found.st_ino
