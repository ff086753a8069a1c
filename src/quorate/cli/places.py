"""What every command does around its work: refuse outputs that cannot be written, and protect what it reads."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer
from typer.models import OptionInfo

from quorate.cli.options import offering


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
        from quorate.reading.inputs import guard_inputs

        outputs = {flag: given[name] for name, flag in flags.items() if given[name] is not None}
        if outputs:
            from quorate.errors import OptionError
            from quorate.writing.places import check_places

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
