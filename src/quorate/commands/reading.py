"""The options that every command which reads answers takes, in one place."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from quorate.answers import Answers


def _reading_options(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Answers: CSV, TSV, Parquet or JSON lines; - for standard input.")
    ],
    task: Annotated[str, typer.Option(metavar="COLUMN", help="Column of task ids.")] = "task",
    worker: Annotated[str, typer.Option(metavar="COLUMN", help="Column of worker ids.")] = "worker",
    label: Annotated[str, typer.Option(metavar="COLUMN", help="Column of labels.")] = "label",
    on_conflict: Annotated[
        str,
        typer.Option(help="When a worker gave a task two labels: error, or keep the first, the last, or drop them."),
    ] = "error",
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Leave out rows with a missing field.")] = False,
    input_format: Annotated[
        str | None, typer.Option(help="csv, tsv, parquet or jsonl, if the name does not say.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="What separates the fields of a CSV file.")] = None,
    encoding: Annotated[str, typer.Option(help="Of a CSV file.")] = "utf-8",
) -> "Answers":
    from quorate.answers import read

    return read(
        file,
        task=task,
        worker=worker,
        label=label,
        on_conflict=on_conflict,
        skip_missing=skip_missing,
        format=input_format,
        delimiter=delimiter,
        encoding=encoding,
    )


@dataclass(frozen=True)
class Reading:
    """What the reading options read, and how to read gold alike."""

    answers: "Answers"
    columns: dict[str, str]

    def gold(self, path: str | None) -> Any:
        """Read known or true labels from the columns that the answers have; None for no path."""
        if path is None:
            return None
        from quorate.gold import read_labels

        tasks, labels = read_labels(path, **self.columns)
        return {"task": tasks, "label": labels}


def reads_answers(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the reading options, and hand it what they read as its first argument."""
    ours = inspect.signature(_reading_options).parameters
    own = list(inspect.signature(command).parameters.values())[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        from quorate.terminal import showing_progress

        with showing_progress():
            answers = _reading_options(**{name: given[name] for name in ours})
        reading = Reading(answers, {"task": given["task"], "label": given["label"]})
        command(reading, **{parameter.name: given[parameter.name] for parameter in own})

    shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*ours.values(), *own)]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # what typer reads the options from
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run
