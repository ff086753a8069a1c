"""The options that every command which reads answers takes, in one place."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.engine import ENGINE, closing_engine, find_in_engine, flag_of
from quorate.cli.options import Delimiter, Encoding, JoinChoices, KeepRejected, Question, Tool, offering

if TYPE_CHECKING:
    from quorate.reading.options import ReadOptions
    from quorate.reading.read import Reading
    from quorate.warehouse.taken_out import Held


def _reading_options(
    file: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="The answers: a table (CSV, Parquet, JSON, Excel), an export of an annotation tool, a log of LLM "
            "judges, or a database URL. Several files, a folder or a pattern are read together. Use - for standard "
            "input.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="The column that identifies the task; commas join several, dots name nested JSON."
        ),
    ] = "task",
    worker: Annotated[str, typer.Option(metavar="COLUMN", help="The column that identifies the worker.")] = "worker",
    label: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column that holds the answer; or a column per class.")
    ] = "label",
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="The columns that hold one worker's answers each, in a table with one row per task, e.g. 'judge_*'.",
        ),
    ] = None,
    worker_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The worker, if no column says it: one judge per file.")
    ] = None,
    fold: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Treat numbered columns as separate tasks, e.g. 'adj_*'."),
    ] = None,
    gold_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of known labels, in the table of answers.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Names of the columns of a file without a header, e.g. task,worker,label; none to number them.",
        ),
    ] = None,
    tool: Tool = "auto",
    question: Question = None,
    join_choices: JoinChoices = False,
    keep_rejected: KeepRejected = False,
    on_conflict: Annotated[
        str,
        typer.Option(help="When a worker gave a task two labels: error, or keep the first, the last, or drop them."),
    ] = "error",
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Leave out rows with a missing field.")] = False,
    abstain: Annotated[
        str | None,
        typer.Option(metavar="LABELS", help="Labels that are no answers, as unsure,skip,n/a: never classes."),
    ] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="LABELS", help="Every class there is, in order, as no,maybe,yes.")
    ] = None,
    multi: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help='What stands between two labels, as ",": each label is then a yes/no question.'
        ),
    ] = None,
    map: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Which class each grade points to (answer, class; blank: none)."),
    ] = None,
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
    judges: Annotated[
        bool | None,
        typer.Option(
            "--judges/--no-judges",
            help="The workers are language models, or people. By default the format and the workers' names decide.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """How answers are read; see `quorate.read`."""


FLAGS = inspect.signature(_reading_options).parameters
COLUMNS = ("task", "worker", "label")
SCORE_OPTIONS = ("scores", "min_reliability", "max_half_width")  # of a command, that make numbers of the labels
LISTS = ("abstain", "classes")  # of labels, with a comma between two


def read_options_of(given: Mapping[str, Any]) -> "ReadOptions":
    """Make the library's options of those that a command was given; what it does not offer is as usual."""
    from quorate.reading.options import ReadOptions

    said = {name: given[name] for name in FLAGS if name in given and name not in ("file", "input_format", "columns")}
    # A column of the usual name is none that was chosen: another tool's export has names of its own.
    said |= {name: None for name in COLUMNS if said.get(name) == FLAGS[name].default}
    said |= {name: _listed(said[name]) for name in LISTS if said.get(name) is not None}
    said = {name: value for name, value in said.items() if value is not None or name not in LISTS}
    _refuse_file_of_workers(said.get("workers"))
    said |= {"format": given.get("input_format"), "column_names": given.get("columns")}
    if any(given.get(name) not in (None, False) for name in SCORE_OPTIONS):
        from quorate.reading.scores import ScoreOptions, resolve_score_column

        return resolve_score_column(given["file"], ScoreOptions(**said))
    return ReadOptions(**said)


def _refuse_file_of_workers(workers: str | None) -> None:
    """Refuse a file where columns are to be named: it was a list of available workers in 0.2.0."""
    import os

    from quorate.errors import OptionError

    if workers is not None and os.path.isfile(workers):
        raise OptionError(
            f"--workers names the columns of a wide table, and {workers} is a file; the file of workers who can be "
            "asked is now --available (quorate advise)"
        )


def _listed(text: str) -> tuple[str, ...]:
    """Part a list of labels at its commas; quotes keep a comma within a label, as in CSV."""
    import csv

    return tuple(label.strip() for label in next(csv.reader([text], skipinitialspace=True)) or [""])


def reads_answers(command: Callable[..., None], beyond: Callable[..., None] | None = None) -> Callable[..., None]:
    """Give a command the options of reading and of engines, and hand it what was read as its first argument.

    ``beyond`` runs instead where the answers are too many for memory. It takes what an engine holds, and names as its
    other parameters the options of the command that mean something there; any other that is given says that it does
    not. A command without it looks at a sample of whole tasks.
    """
    own = list(inspect.signature(command).parameters.values())[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        from quorate.reading.read import Reading

        chosen = {parameter.name: given[parameter.name] for parameter in own}
        given = {**given, "file": one_source(given["file"])}
        with reading_for(command.__name__, given["file"]):
            found = _read(given, sample=beyond is None)
        if isinstance(found, Reading):
            with closing_engine(found):
                command(found, **chosen)
        else:
            assert beyond is not None  # or a sample would have been read
            taken = list(inspect.signature(beyond).parameters)[1:]
            for parameter in own:
                if parameter.name not in taken and chosen[parameter.name] != parameter.default:
                    raise found.refuse(flag_of(parameter.name))
            beyond(found, **{name: chosen[name] for name in taken})

    return offering((*FLAGS.values(), *own, *ENGINE.values()), run)


def one_source(files: list[str] | None) -> Any:
    """Return the only file that was named, the list of several, or None."""
    if not files:
        return None
    return files[0] if len(files) == 1 else list(files)


@contextmanager
def reading_for(command: str, source: Any) -> Iterator[None]:
    """Let errors of reading propose this command, and end with the one that looks at the file."""
    from quorate.errors import EmptyFileError, InputError, QuorateError, UnreadableFileError
    from quorate.reading.proposals import command_line, has_command, running_command

    token = running_command.set(command)
    try:
        yield
    except QuorateError as error:
        names = [source] if isinstance(source, str) else source or []
        is_there = not isinstance(error, UnreadableFileError | EmptyFileError)
        is_about_file = (isinstance(error, InputError) and is_there) or error.commands
        if is_about_file and has_command("doctor") and names and "-" not in names:
            error.look_at = command_line("doctor", names, {})
        raise
    finally:
        running_command.reset(token)


def _read(given: Mapping[str, Any], *, sample: bool) -> "Reading | Held":
    """Read the answers, and say what an engine or another tool's export held; or find that they are too many."""
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.reading.read import read_source

    reading = read_options_of(given)
    there = find_in_engine(given, reading, sample=sample)
    if there is not None:
        return there
    with showing_progress():
        found = read_source(given["file"], reading)
    lines = [*found.notes, *([] if found.export is None else found.export.lines())]
    print_lines([*lines, *(f"Warning: {each}" for each in found.warnings(with_counts=False))], error=True)
    return found
