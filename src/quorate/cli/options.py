"""Options that several commands share, and how a command is given more of them."""

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Gold = Annotated[str | None, typer.Option(metavar="FILE", help="Known labels of some tasks, in the same columns.")]
Skills = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="quorate: what is known of workers, as --workers-out wrote it."),
]
Tool = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="auto, table, labelstudio, argilla, mturk, toloka, prodigy, crowdkit, cleanlab; of judges: inspect, "
        "promptfoo, lm-eval, deepeval, mlflow, langfuse, phoenix, openai.",
    ),
]
Question = Annotated[str | None, typer.Option(help="Which question, if the export asks several.")]
JoinChoices = Annotated[
    bool, typer.Option("--join-choices", help="Take several choices at once for a class of their own.")
]
KeepRejected = Annotated[bool, typer.Option("--keep-rejected", help="Count assignments that were rejected.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates the fields of a CSV file.")]
Encoding = Annotated[str, typer.Option(help="Of a CSV file.")]
ExcelSafe = Annotated[
    bool, typer.Option("--excel-safe", help="In CSV, keep spreadsheets from running text as formulas.")
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same bytes.")]


def offering(parameters: Iterable[inspect.Parameter], run: Callable[..., None]) -> Callable[..., None]:
    """Let typer read the options of a command from these parameters, whatever ``run`` itself takes."""
    shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # what typer reads the options from
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


def said(**options: Any) -> dict[str, Any]:
    """Leave out the options that were not given."""
    return {name: value for name, value in options.items() if value is not None}
