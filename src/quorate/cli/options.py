"""Options that several commands share, and how a command is given more of them."""

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Gold = Annotated[str | None, typer.Option(metavar="FILE", help="Known labels of some tasks, in the same columns.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same bytes.")]


def offering(parameters: Iterable[inspect.Parameter], run: Callable[..., None]) -> Callable[..., None]:
    """Let typer read the options of a command from these parameters, whatever ``run`` itself takes."""
    shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # what typer reads the options from
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run
