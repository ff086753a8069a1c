"""The options that every command which reads answers takes, in one place."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.options import offering

if TYPE_CHECKING:
    from quorate.answers import Answers
    from quorate.reading.formats.export import Export


def reading_options(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Answers: CSV, TSV, Parquet or JSON lines, or another tool's export; - for standard input.",
        ),
    ],
    task: Annotated[str, typer.Option(metavar="COLUMN", help="Column of task ids.")] = "task",
    worker: Annotated[str, typer.Option(metavar="COLUMN", help="Column of worker ids.")] = "worker",
    label: Annotated[str, typer.Option(metavar="COLUMN", help="Column of labels.")] = "label",
    source_format: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="auto, table, labelstudio, argilla, mturk, toloka, prodigy, crowdkit or cleanlab.",
        ),
    ] = "auto",
    question: Annotated[str | None, typer.Option(help="Which question, if the export asks several.")] = None,
    join_choices: Annotated[
        bool, typer.Option("--join-choices", help="Take several choices at once for a class of their own.")
    ] = False,
    keep_rejected: Annotated[
        bool, typer.Option("--keep-rejected", help="Count assignments that were rejected.")
    ] = False,
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
) -> "tuple[Answers, Export | None]":
    """Read answers as the options say; for another tool's export, also what else was in it."""
    from quorate.reading.exports import read_answers

    return read_answers(
        file,
        source_format,
        question=question,
        join_choices=join_choices,
        keep_rejected=keep_rejected,
        task=task,
        worker=worker,
        label=label,
        on_conflict=on_conflict,
        skip_missing=skip_missing,
        kind=input_format,
        delimiter=delimiter,
        encoding=encoding,
    )


@dataclass(frozen=True)
class Reading:
    """What the reading options read, and how to read gold alike."""

    answers: "Answers"
    export: "Export | None"  # what else another tool's export held
    options: dict[str, Any]

    def gold(self, path: str | None) -> Any:
        """Read known labels from the columns that the answers have; without a path, those that an export holds."""
        return self.export.gold if path is None and self.export is not None else self.labels(path)

    def labels(self, path: str | None) -> Any:
        """Read known or true labels from the columns that the answers have; None for no path."""
        if path is None:
            return None
        from quorate.gold import read_labels

        columns = {"task": "task", "label": "label"} if self.export else {k: self.options[k] for k in ("task", "label")}
        tasks, labels = read_labels(path, **columns)
        return {"task": tasks, "label": labels}


def reads_answers(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the reading options, and hand it what they read as its first argument."""
    ours = inspect.signature(reading_options).parameters
    own = list(inspect.signature(command).parameters.values())[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        from quorate.cli.terminal import print_lines, showing_progress

        options = {name: given[name] for name in ours}
        with showing_progress():
            answers, export = reading_options(**options)
        if export is not None:
            print_lines(export.lines(), error=True)
        reading = Reading(answers, export, options)
        command(reading, **{parameter.name: given[parameter.name] for parameter in own})

    return offering((*ours.values(), *own), run)
