"""Options that several commands share, and how a command is given more of them.

The options that say which engine holds the answers, and what is read there.

The options that every command which reads answers takes, in one place.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.errors import OptionError

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


if TYPE_CHECKING:
    from quorate.backends.engine import EngineOptions
    from quorate.backends.source import EngineReading, EngineSource
    from quorate.io.options import ReadOptions
    from quorate.io.read import Reading
    from quorate.result import Result


def _engine_options(
    engine: Annotated[
        str | None,
        typer.Option(help="duckdb or spark, to read FILE, which may be a pattern; mostly it is chosen for you."),
    ] = None,
    memory: Annotated[str | None, typer.Option(help="What may be used, as 4GB; beyond it, duckdb spills.")] = None,
    temp: Annotated[str | None, typer.Option(metavar="DIR", help="duckdb: where it spills to.")] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="spark: its master, as local[4].")] = None,
    connect: Annotated[
        str | None, typer.Option(metavar="URL", help="Of an engine, as postgres://host/name; or give it for FILE.")
    ] = None,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="The table there, if it has more than one.")] = None,
    order: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="In an engine: what says which of two answers came first.")
    ] = None,
) -> None:
    """Where the answers are."""


ENGINE = inspect.signature(_engine_options).parameters
# How a file is read that an engine does not read.
NOT_THERE = {"tool": "auto", "question": None, "join_choices": False, "keep_rejected": False, "encoding": "utf-8"}


def find_in_engine(
    given: Mapping[str, Any], reading: "ReadOptions", *, sample: bool
) -> "EngineReading | EngineSource | None":
    """Read answers that an engine holds; where they are too many a sample, or none of them. None without an engine.

    The first line that is printed says which engine it is, and why.
    """
    from quorate.backends.choose import choose_engine
    from quorate.backends.engine import EngineOptions
    from quorate.cli.terminal import print_lines, showing_progress

    where = EngineOptions(**{name: given[name] for name in ENGINE})
    choice = None if _needs_no_engine(given["file"], where) else choose_engine(given["file"], where)
    if choice is None:
        if given["file"] is None:
            raise OptionError("give FILE: a file or a pattern of files, the URL of an engine, or a database")
        if where.order is not None or given.get("output_table") is not None:
            flag = "--order" if where.order is not None else "--output-table"
            raise OptionError(f"{flag} is for an engine, and {given['file']} is read without one; say --engine duckdb")
        return None
    _refuse_others(given, choice.name)
    from quorate.backends.source import find_answers, read_into_memory

    with showing_progress():
        held, time = find_answers(given["file"], reading, where), given.get("time")
        try:
            also = [] if time is None else [time]
            found = read_into_memory(held, also, sample=sample) if held.is_small or sample else held
        except BaseException:
            held.engine.close()
            raise
    print_lines(found.lines(), error=_has_data(given))
    return found


def _needs_no_engine(source: Any, where: "EngineOptions") -> bool:
    """Whether several files, a folder or a pattern are small enough to be read without an engine, and none is named."""
    from quorate.io.several_files import expand_files, fit_in_memory

    if where != type(where)() or source is None:
        return False
    if isinstance(source, str) and "://" in source:
        return False
    files = expand_files(source)
    return files is not None and fit_in_memory(files)


@contextmanager
def closing_engine(reading: "Reading") -> Iterator[None]:
    """End the connection to the engine that the answers came from, if there is one, after the block."""
    try:
        yield
    finally:
        held = getattr(reading, "held", None)
        if held is not None:
            held.engine.close()


def _refuse_others(given: Mapping[str, Any], engine: str) -> None:
    """Say which of the options given mean nothing to an engine; none is passed over in silence."""
    for name, default in NOT_THERE.items():
        if given.get(name, default) != default:
            raise OptionError(f"{flag_of(name)} does not work where {engine} reads the answers; leave it out")


def flag_of(name: str) -> str:
    """Write an option as people type it."""
    return "--from" if name == "tool" else f"--{name.replace('_', '-')}"


def _has_data(given: Mapping[str, Any]) -> bool:
    """Whether standard output is for a program: JSON, or a table in a pipe."""
    in_pipe = "output" in given and given["output"] in (None, "-") and not sys.stdout.isatty()
    return bool(given.get("json")) or (in_pipe and given.get("output_table") is None)


def table_maker(reading: "Reading", name: str | None) -> Callable[["Result"], None]:
    """Return what makes a table of the labels in the engine that the answers came from; nothing, without a name.

    Raises:
        EngineError: there is a table of that name.
    """
    if name is None:
        return lambda result: None
    from quorate.backends.output import check_table, put_table
    from quorate.backends.source import EngineReading

    assert isinstance(reading, EngineReading)  # `find_in_engine` refuses the option where there is none
    engine = reading.home
    check_table(engine, name)
    return lambda result: put_table(engine, result.labels.arrow, name)


if TYPE_CHECKING:
    from quorate.backends.source import EngineSource
    from quorate.io.options import ReadOptions
    from quorate.io.read import Reading


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
    from quorate.io.options import ReadOptions

    said = {name: given[name] for name in FLAGS if name in given and name not in ("file", "input_format", "columns")}
    # A column of the usual name is none that was chosen: another tool's export has names of its own.
    said |= {name: None for name in COLUMNS if said.get(name) == FLAGS[name].default}
    said |= {name: _listed(said[name]) for name in LISTS if said.get(name) is not None}
    said = {name: value for name, value in said.items() if value is not None or name not in LISTS}
    _refuse_file_of_workers(said.get("workers"))
    said |= {"format": given.get("input_format"), "column_names": given.get("columns")}
    if any(given.get(name) not in (None, False) for name in SCORE_OPTIONS):
        from quorate.io.scores import ScoreOptions, resolve_score_column

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
        from quorate.io.read import Reading

        chosen = {parameter.name: given[parameter.name] for parameter in own}
        given = {**given, "file": one_source(given["file"])}
        with reading_for(command.__name__, given["file"]):
            found = _read(given, sample=beyond is None)
        if isinstance(found, Reading):
            from quorate.io.proposals import typed
            from quorate.notes import typed_source

            token = typed_source.set(typed(given["file"], found.options))
            try:
                with closing_engine(found):
                    command(found, **chosen)
            finally:
                typed_source.reset(token)
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
    from quorate.io.proposals import command_line, has_command, running_command

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


def _read(given: Mapping[str, Any], *, sample: bool) -> "Reading | EngineSource":
    """Read the answers, and say what an engine or another tool's export held; or find that they are too many."""
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.io.read import read_source

    reading = read_options_of(given)
    there = find_in_engine(given, reading, sample=sample)
    if there is not None:
        return there
    with showing_progress():
        found = read_source(given["file"], reading)
    lines = [*found.notes, *([] if found.export is None else found.export.lines())]
    print_lines([*lines, *(f"Warning: {each}" for each in found.warnings(with_counts=False))], error=True)
    return found
