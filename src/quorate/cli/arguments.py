"""The options that every command which reads answers takes, in one place."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.options import Delimiter, Encoding, JoinChoices, KeepRejected, Question, Tool, offering

if TYPE_CHECKING:
    from quorate.reading.options import ReadOptions
    from quorate.reading.read import Reading


def _reading_options(
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
    tool: Tool = "auto",
    question: Question = None,
    join_choices: JoinChoices = False,
    keep_rejected: KeepRejected = False,
    on_conflict: Annotated[
        str,
        typer.Option(help="When a worker gave a task two labels: error, or keep the first, the last, or drop them."),
    ] = "error",
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Leave out rows with a missing field.")] = False,
    merge_spellings: Annotated[
        bool, typer.Option("--merge-spellings", help="Make one label of those that differ only by case or spaces.")
    ] = False,
    input_format: Annotated[
        str | None, typer.Option(help="csv, tsv, parquet or jsonl, if the name does not say.")
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of what workers may err together by: model family, vendor, site."),
    ] = None,
) -> None:
    """How answers are read; see `quorate.read`."""


FLAGS = inspect.signature(_reading_options).parameters
COLUMNS = ("task", "worker", "label")


def read_options_of(given: Mapping[str, Any]) -> "ReadOptions":
    """Make the library's options of those that a command was given; what it does not offer is as usual."""
    from quorate.reading.options import ReadOptions

    said = {name: given[name] for name in FLAGS if name in given and name not in ("file", "input_format")}
    # A column of the usual name is none that was chosen: another tool's export has names of its own.
    said |= {name: None for name in COLUMNS if said.get(name) == FLAGS[name].default}
    return ReadOptions(**said, format=given.get("input_format"))


def reads_answers(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the reading options, and hand it what was read as its first argument."""
    own = list(inspect.signature(command).parameters.values())[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        command(_read(given), **{parameter.name: given[parameter.name] for parameter in own})

    return offering((*FLAGS.values(), *own), run)


def _read(given: Mapping[str, Any]) -> "Reading":
    """Read the answers, and say what was read from another tool's export."""
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.reading.read import read_source

    with showing_progress():
        found = read_source(given["file"], read_options_of(given))
    if found.export is not None:
        print_lines(found.export.lines(), error=True)
    return found
