"""Options that several commands share: how answers are read, which engine reads them, what is printed.

`declare_reading_options` and `declare_engine_options` declare them. A command has these options if its class is
`AnswersCommand`; `open_answers` reads the answers that they name.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from quorate.cli.command import (
    ADVANCED,
    CLEANING,
    FILES_AND_DATABASES,
    INPUT,
    METHOD,
    OUTPUT,
    Command,
    option,
    shared_option,
)
from quorate.errors import OptionError, as_sentence, for_shell

if TYPE_CHECKING:
    from quorate.backends.engine_options import EngineOptions
    from quorate.backends.source import EngineReading, EngineSource
    from quorate.io.options import ReadOptions
    from quorate.io.read import Reading

Json = Annotated[bool, shared_option("--json", OUTPUT, "Print the result as one JSON object.")]
Quiet = Annotated[bool, shared_option("--quiet", OUTPUT, "Print warnings and errors only.")]
Verbose = Annotated[bool, shared_option("--verbose", OUTPUT, "Also print how the figures were computed.")]
Gold = Annotated[
    list[str] | None,
    shared_option(
        "--gold FILE",
        METHOD,
        "Known labels of some tasks: a file with your column names, or with task and label. Repeatable.",
    ),
]
KnownWorkers = Annotated[
    str | None,
    shared_option(
        "--known-workers FILE", METHOD, "The workers' skills from an earlier run: the file that --workers-out wrote."
    ),
]
Method = Annotated[
    str,
    shared_option(
        "--method NAME",
        METHOD,
        "How to combine the answers (list: quorate methods). Options follow a colon: rank-one:tau=3.",
    ),
]
Tool = Annotated[
    str,
    shared_option(
        "--from TOOL",
        INPUT,
        "The tool that wrote the file, or its format (csv, tsv, parquet, jsonl), if it is not recognised. "
        "List: quorate doctor --formats.",
        show_default=False,
    ),
]
Question = Annotated[
    str | None, shared_option("--question NAME", INPUT, "Which question to use, if the file has several.")
]
KeepRejected = Annotated[
    bool,
    shared_option(
        "--keep-rejected",
        FILES_AND_DATABASES,
        "Include answers that the requester rejected (Mechanical Turk, Toloka, Figure Eight).",
    ),
]
SkipMissing = Annotated[
    bool,
    shared_option(
        "--skip-missing", CLEANING, "Ignore rows with an empty task or worker; an empty answer counts as an abstention."
    ),
]
Delimiter = Annotated[
    str | None,
    shared_option(
        "--delimiter TEXT",
        FILES_AND_DATABASES,
        "The separator of a CSV file, if the guess is wrong: one character, or tab.",
    ),
]
Encoding = Annotated[
    str,
    shared_option(
        "--encoding NAME",
        FILES_AND_DATABASES,
        "The character encoding of a CSV file; auto finds UTF-8, UTF-16 and cp1252.",
    ),
]
ExcelSafe = Annotated[
    bool,
    shared_option("--excel-safe", ADVANCED, "Write CSV so that a spreadsheet program treats no text as a formula."),
]
OutputFormat = Annotated[
    str | None,
    shared_option(
        "--output-format FORMAT",
        ADVANCED,
        "The format of the output if the file name does not end with it: csv, parquet, jsonl or xlsx.",
    ),
]
PlainColumns = Annotated[
    bool,
    shared_option(
        "--plain-columns", ADVANCED, "Name the columns of the output task and worker, instead of keeping your names."
    ),
]
Show = Annotated[
    str | None,
    shared_option("--show COLUMN", OUTPUT, "Show this column of the answers beside each task, e.g. the text."),
]
Duration = Annotated[
    str | None,
    shared_option(
        "--duration COLUMN",
        INPUT,
        "The column with the seconds that each answer took. Found automatically if its name is common.",
    ),
]
CovariateColumns = Annotated[
    list[str] | None,
    shared_option(
        "--covariate COLUMN",
        INPUT,
        "A column that should not influence the answers, e.g. length. For text, its length is used. Repeatable.",
    ),
]
System = Annotated[
    str | None,
    shared_option(
        "--system COLUMN",
        INPUT,
        "The column with the system that wrote the output: finds judges that prefer their own family.",
    ),
]
Pair = Annotated[
    str | None,
    shared_option(
        "--pair COLUMN",
        INPUT,
        "The column that identifies the pair, if pairs were judged in both orders: finds judges that prefer a "
        "position.",
    ),
]
Seed = Annotated[int, shared_option("--seed N", ADVANCED, "Random seed; the same seed gives the same output.")]
Level = Annotated[float, shared_option("--level X", ADVANCED, "Confidence level of the intervals.")]


def declare_reading_options(
    file: list[str] | None = typer.Argument(
        None,
        metavar="[FILE]...",
        show_default=False,
        help="The answers: a table (CSV, Parquet, JSON, Excel), an export of an annotation tool, a log of LLM "
        "judges, or a database URL. Several files, a folder or a pattern are read together. Use - for standard "
        "input.",
    ),
    task: str = option(
        "--task COLUMN",
        INPUT,
        "The column that identifies the task. Found automatically if its name is common. Separate several "
        "columns by commas, and the levels of nested JSON by dots.",
        default="task",
        show_default=False,
    ),
    worker: str = option(
        "--worker COLUMN",
        INPUT,
        "The column that identifies the worker. Found automatically if its name is common.",
        default="worker",
        show_default=False,
    ),
    label: str = option(
        "--label COLUMN",
        INPUT,
        "The column that holds the answer. Found automatically if its name is common. Name several "
        "columns if there is one per class, e.g. 'votes_*'.",
        default="label",
        show_default=False,
    ),
    workers: str | None = option(
        "--workers COLUMNS",
        INPUT,
        "The columns that hold one worker's answers each, in a table with one row per task, e.g. 'judge_*'.",
    ),
    tool: Tool = "auto",
    question: Question = None,
    group: str | None = option(
        "--group COLUMN", INPUT, "The column that shows which workers may share mistakes: model family, vendor, site."
    ),
    judges: bool | None = option(
        "--judges/--no-judges",
        INPUT,
        "Whether the workers are language models. Found automatically by the format and the workers' names.",
        show_default=False,
    ),
    on_conflict: str = option(
        "--on-conflict HOW",
        CLEANING,
        "What to do if a worker gave one task two different answers: error, first, last or drop.",
        default="error",
    ),
    skip_missing: SkipMissing = False,
    abstain: str | None = option("--abstain LABELS", CLEANING, 'Answers that mean "no answer", e.g. unsure,skip,n/a.'),
    classes: str | None = option("--classes LABELS", CLEANING, "All possible labels, in order, e.g. no,maybe,yes."),
    multi: str | None = option(
        "--multi TEXT",
        CLEANING,
        'The separator between several labels in one answer, e.g. ",". Each label becomes a yes/no question. '
        "--multi join treats several choices in an export as one label.",
    ),
    merge_spellings: bool = option(
        "--merge-spellings", CLEANING, 'Treat "Yes", "yes" and "yes " as one label.', default=False
    ),
    worker_name: str | None = option(
        "--worker-name NAME",
        FILES_AND_DATABASES,
        "The worker's name, if all answers of the file are by one worker and no column has the name.",
    ),
    fold: str | None = option("--fold COLUMNS", INPUT, "Treat numbered columns as separate tasks, e.g. 'adj_*'."),
    gold_column: str | None = option(
        "--gold-column COLUMN", FILES_AND_DATABASES, "The column of the answers that holds known labels."
    ),
    columns: str | None = option(
        "--columns NAMES",
        FILES_AND_DATABASES,
        "Names of the columns of a file without a header, e.g. task,worker,label. Write none to number them.",
    ),
    map: str | None = option(
        "--map FILE",
        FILES_AND_DATABASES,
        "A table that maps answers to classes (columns answer and class). An answer with an empty class is left out.",
    ),
    keep_rejected: KeepRejected = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "auto",
) -> None:
    """Declare the options of reading answers; see `quorate.read`."""


def declare_engine_options(
    engine: str | None = option(
        "--engine NAME",
        FILES_AND_DATABASES,
        "The engine that reads the answers: duckdb or spark. Chosen automatically. Settings follow a colon: "
        "duckdb:memory=4GB,temp=/scratch or spark:master=local[4].",
    ),
    table: str | None = option(
        "--table NAME",
        FILES_AND_DATABASES,
        "The table to read, if the database has several: name, or schema.name for another schema.",
    ),
    order: str | None = option(
        "--order COLUMN", FILES_AND_DATABASES, "For a database: the column that shows which of two answers came later."
    ),
) -> None:
    """Declare the options of the engine."""


class AnswersCommand(Command):
    """A command that reads answers; `open_answers` reads them."""

    shared: ClassVar[tuple[Callable[..., None], ...]] = (declare_reading_options, declare_engine_options)
    cleans_as_aggregate: ClassVar[bool] = True
    rare_options: ClassVar[frozenset[str]] = frozenset({"question", "group", "judges", "fold"})


class CleaningCommand(AnswersCommand):
    """A command that reads answers and shows the options for cleaning them in its help."""

    shown_panels: ClassVar[frozenset[str]] = frozenset({CLEANING})
    cleans_as_aggregate: ClassVar[bool] = False
    rare_options: ClassVar[frozenset[str]] = frozenset({"judges", "group", "fold", "show"})


COLUMNS = {"task": "task", "worker": "worker", "label": "label"}  # the usual names, which are the defaults
ENGINE_OPTIONS = ("engine", "table", "order")
FILE_FORMATS = ("csv", "tsv", "parquet", "jsonl")
JOIN = "join"  # value of --multi that joins several choices to one label
SCORE_OPTIONS = ("scores", "min_reliability", "max_half_width")  # options with which the labels are read as numbers
LISTS = ("abstain", "classes")  # options that are lists of labels, separated by commas
NOT_READ = ("file", "columns", "tool", "multi")  # reading options that `library_options` translates or leaves out
# Options that do not work with an engine, with their defaults.
FILES_ONLY = {"tool": "auto", "question": None, "keep_rejected": False, "encoding": "auto"}


def read_options_of(parameters: Mapping[str, Any]) -> "ReadOptions":
    """Return the library's reading options for the parameters of a command."""
    from quorate.io.options import ReadOptions

    options = library_options(parameters)
    if any(parameters.get(name) not in (None, False) for name in SCORE_OPTIONS):
        from quorate.io.scores import ScoreOptions, resolve_score_column

        return resolve_score_column(one_source(parameters["file"]), ScoreOptions(**options))
    return ReadOptions(**options)


def library_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reading options of the command line under the names of the library."""
    options = {name: parameters[name] for name in _READING_NAMES if name in parameters and name not in NOT_READ}
    # The usual name is the default, which does not count as chosen: exports of other tools have other names.
    for name, usual in COLUMNS.items():
        if options.get(name) == usual:
            options[name] = None
    for name in LISTS:
        if options.get(name) is None:
            options.pop(name, None)
        else:
            options[name] = split_labels(options[name])
    _refuse_file_of_workers(options.get("workers"))
    tool, file_format = split_tool(parameters.get("tool") or "auto")
    options["tool"] = tool
    options["format"] = file_format
    options["column_names"] = parameters.get("columns")
    if parameters.get("multi") == JOIN:
        options["join_choices"] = True
    else:
        options["multi"] = parameters.get("multi")
    return options


_READING_NAMES = tuple(declare_reading_options.__annotations__)


def split_tool(text: str) -> tuple[str, str | None]:
    """Return the tool and the file format that --from names: a tool, a format, or both with a colon.

    >>> split_tool("mturk"), split_tool("tsv"), split_tool("mturk:csv")
    (('mturk', None), ('auto', 'tsv'), ('mturk', 'csv'))
    """
    first, colon, second = text.partition(":")
    if colon:
        return first, second
    return ("auto", first) if first in FILE_FORMATS else (first, None)


def _refuse_file_of_workers(workers: str | None) -> None:
    """Raise an error if --workers names a file: in 0.2.0 it was a list of available workers."""
    if workers is not None and os.path.isfile(workers):
        raise OptionError(
            f"--workers names columns of a table with one row per task, and {workers} is a file. To list the workers "
            f"who can be asked, use quorate advise with --available {workers}"
        )


def split_labels(text: str) -> tuple[str, ...]:
    """Return the labels of a list with commas; a label in quotes may contain a comma, as in CSV."""
    import csv

    return tuple(label.strip() for label in next(csv.reader([text], skipinitialspace=True)) or [""])


def split_settings(text: str) -> tuple[str, dict[str, str | bool]]:
    """Return a name and the settings that follow its colon; a setting without a value is true.

    >>> split_settings("duckdb:memory=4GB,temp=/scratch")
    ('duckdb', {'memory': '4GB', 'temp': '/scratch'})
    >>> split_settings("quorate:cautious")
    ('quorate', {'cautious': True})
    """
    name, _, rest = text.partition(":")
    settings: dict[str, str | bool] = {}
    for part in filter(None, (piece.strip() for piece in rest.split(","))):
        key, equals, value = part.partition("=")
        settings[key] = value if equals else True
    return name, settings


def method_options(text: str) -> tuple[str, dict[str, Any]]:
    """Return a method's name and its options, which follow a colon.

    Raises:
        OptionError: an option that is not a switch has no value.

    >>> method_options("rank-one:solver=gradient,tau=3")
    ('rank-one', {'solver': 'gradient', 'tau': 3})
    """
    if ":" not in text:
        return text, {}
    import inspect

    from quorate.evaluation.compare import parse_method
    from quorate.methods.registry import METHODS, method_name

    name, settings = split_settings(text.replace(":", ",").replace(",", ":", 1))
    name = method_name(name)
    for key, value in settings.items():
        known = inspect.signature(METHODS[name].load()).parameters
        if value is True and not (key in known and isinstance(known[key].default, bool)):
            raise OptionError(f"The option {key!r} of {name} needs a value: {name}:{key}=VALUE")
    words = [f"{key}={'true' if value is True else value}" for key, value in settings.items()]
    return parse_method(":".join([name, *words]))


def engine_options_of(parameters: Mapping[str, Any]) -> "EngineOptions":
    """Return the engine options.

    Raises:
        OptionError: --engine has an unknown setting.
    """
    from quorate.backends.engine_options import EngineOptions

    name, settings = (None, {}) if parameters.get("engine") is None else split_settings(parameters["engine"])
    for setting in settings:
        if setting not in ("memory", "temp", "master"):
            raise OptionError(
                f"--engine has no setting {setting!r}; duckdb takes memory and temp, spark takes master, "
                "e.g. duckdb:memory=4GB"
            )
    return EngineOptions(engine=name or None, table=parameters.get("table"), order=parameters.get("order"), **settings)  # type: ignore[arg-type]


@contextmanager
def open_answers(ctx: typer.Context, *, sample: bool = True) -> Iterator["Reading | EngineSource"]:
    """Read the answers of a command; the connection to their engine is closed at the end of the block.

    Args:
        ctx: of the command, with the shared options in ``ctx.obj``.
        sample: if the answers are too many for memory: True reads a sample of tasks, False yields the engine's table.
    """
    from quorate.cli.terminal import print_lines
    from quorate.io.read import Reading
    from quorate.notes import printed_commands_use

    parameters = {**ctx.params, **ctx.obj, "file": one_source(ctx.obj["file"])}
    with reading_for(str(ctx.info_name), parameters["file"], options_typed(ctx), reading_typed(ctx), doctor_typed(ctx)):
        answers = _read(parameters, command=str(ctx.info_name), sample=sample)
    if isinstance(answers, Reading) and ctx.info_name != "aggregate":  # the summary of aggregate has this warning
        print_lines(_spelling_warnings(answers), error=True)
    try:
        with printed_commands_use(_source_as_typed(parameters, answers), partial(repeated_options, ctx)):
            yield answers
    finally:
        source = getattr(answers, "engine_source", None) if isinstance(answers, Reading) else answers
        if source is not None:
            source.engine.close()


def _spelling_warnings(reading: "Reading") -> list[str]:
    """Return warnings that propose --merge-spellings if labels differ only by case or spaces."""
    from quorate.io.labels import spelling_notes

    if reading.options.merge_spellings:
        return []
    return [f"Warning: {for_shell(note)}." for note in spelling_notes(reading.answers.classes)]


def _source_as_typed(parameters: Mapping[str, Any], source: "Reading | EngineSource") -> str:
    """Return the file and its reading options, quoted for a shell, for the commands that outputs print."""
    import shlex

    from quorate.io.proposals import source_as_typed

    flags_and_values = [
        (flag_of(name), parameters[name]) for name in ENGINE_OPTIONS if parameters.get(name) is not None
    ]
    words = [word for pair in flags_and_values for word in pair]
    reading = source.reading if hasattr(source, "reading") else source.options
    return " ".join(filter(None, [source_as_typed(parameters["file"], reading), shlex.join(words)]))


@contextmanager
def open_sample(ctx: typer.Context) -> Iterator["Reading"]:
    """Read the answers of a command, or a sample of whole tasks if they are too many for memory."""
    from quorate.io.read import Reading

    with open_answers(ctx) as reading:
        assert isinstance(reading, Reading)
        yield reading


# Options other than those of reading that change figures. A printed command repeats those that it also has.
REPEATED = ("gold", "known_workers", "method", "time", "duration", "covariate", "system", "pair", "show")


def repeated_options(ctx: typer.Context, name: str) -> str:
    """Return the options of the running command that a printed command of this name repeats, quoted for a shell."""
    import importlib
    import inspect

    function = getattr(importlib.import_module(f"quorate.cli.{name}"), name)  # every command has a module of its name
    taken = inspect.signature(function).parameters
    return options_typed(ctx, [option for option in REPEATED if option in taken])


def one_source(files: Any) -> Any:
    """Return the name of a single file, a list of several names, or None."""
    if not files:
        return None
    if isinstance(files, str):
        return files
    return files[0] if len(files) == 1 else list(files)


def options_typed(ctx: typer.Context, names: Collection[str] | None = None) -> str:
    """Return the options of the command itself, not those of reading, that were typed, quoted for a shell.

    Args:
        ctx: of the command.
        names: of the options; by default all.
    """
    return _joined(words for name, words in _words_typed(ctx, ctx.params) if names is None or name in names)


# Reading options that name columns: a proposed command has its own values for them, and repeats the other options.
LAYOUT = frozenset({"file", "task", "worker", "label", "workers", "tool", "fold", "columns"})


def reading_typed(ctx: typer.Context) -> dict[str, str]:
    """Return the reading options that were typed and do not name columns: by flag, the words quoted for a shell."""
    return {words[0]: _joined([words]) for name, words in _words_typed(ctx, ctx.obj) if name not in LAYOUT}


def doctor_typed(ctx: typer.Context) -> str:
    """Return the reading options that were typed and that `quorate doctor` also has, quoted for a shell."""
    from quorate.cli.doctor import DoctorCommand

    left_out = DoctorCommand.left_out | {"file"}
    return _joined(
        words for name, words in _words_typed(ctx, ctx.obj) if name in _READING_NAMES and name not in left_out
    )


def _joined(options: Iterable[list[str]]) -> str:
    """Return the words of options, quoted for a shell, without passwords."""
    import shlex

    from quorate.addresses import hide_secrets

    return hide_secrets(shlex.join(word for words in options for word in words))


def _words_typed(ctx: typer.Context, values: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each parameter that was typed, and its words."""
    for parameter in ctx.command.params:
        name = str(parameter.name)
        value = values.get(name)
        source = ctx.get_parameter_source(name)
        if value in (None, [], ()) or source is None or source.name != "COMMANDLINE":
            continue
        if value is False:
            yield name, list(parameter.secondary_opts[:1])
        elif value is True:
            yield name, [parameter.opts[0]]
        else:
            entries = value if isinstance(value, list | tuple) else [value]
            yield name, [word for entry in entries for word in (parameter.opts[0], str(entry))]


@contextmanager
def reading_for(
    command: str, source: Any, options: str = "", reading: Mapping[str, str] | None = None, doctor: str = ""
) -> Iterator[None]:
    """Add to errors of reading the proposal of this command, and the `quorate doctor` command for the file.

    Args:
        command: its name.
        source: the file or the files.
        options: of the command itself, which the proposal repeats.
        reading: reading options, by flag, which the proposal repeats unless it has its own value.
        doctor: reading options that the `quorate doctor` command repeats.
    """
    import shlex

    from quorate.errors import EmptyFileError, InputError, MapError, QuorateError, UnreadableFileError
    from quorate.io.proposals import command_line, has_command, running_command

    token = running_command.set(command)
    try:
        yield
    except QuorateError as error:
        command_start = f"quorate {command} "
        for flag, words in (*(reading or {}).items(), ("", options)):
            error.commands = tuple(
                f"{line} {words}"
                if words and line.startswith(command_start) and flag not in shlex.split(line)
                else line
                for line in error.commands
            )
        names = [source] if isinstance(source, str) else source or []
        is_readable = not isinstance(error, UnreadableFileError | EmptyFileError | MapError)  # doctor cannot help here
        is_about_file = (isinstance(error, InputError) and is_readable) or error.commands
        if is_about_file and has_command("doctor") and names and "-" not in names:
            error.look_at = " ".join(filter(None, (command_line("doctor", names, {}), doctor)))
        raise
    finally:
        running_command.reset(token)


def _read(parameters: Mapping[str, Any], *, command: str, sample: bool) -> "Reading | EngineSource":
    """Read the answers, and print how; return the engine's table if they are too many for memory and not sampled."""
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.io.read import read_source

    options = read_options_of(parameters)
    if _is_ledger(parameters["file"]):
        return _read_ledger(parameters["file"], options)
    in_engine = find_in_engine(parameters, options, command=command, sample=sample)
    if in_engine is not None:
        return in_engine
    with showing_progress():
        source = read_source(parameters["file"], options)
    if not parameters.get("quiet"):
        lines = [*source.notes, *([] if source.export is None else source.export.lines())]
        print_lines(map(for_shell, lines), error=True)
    if not any(parameters.get(option) for option in SCORE_OPTIONS):  # the warnings are about labels
        print_lines(
            (for_shell(f"Warning: {as_sentence(warning)}") for warning in source.warnings(with_counts=False)),
            error=True,
        )
    return source


def _is_ledger(source: Any) -> bool:
    """Whether the source is a folder of `quorate ledger`."""
    if not isinstance(source, str) or not os.path.isdir(source):
        return False
    from quorate.ledger.index import INDEX_NAME

    return os.path.isfile(os.path.join(source, INDEX_NAME))


def _read_ledger(folder: str, options: "ReadOptions") -> "Reading":
    """Read the answers of a ledger; only the reading options on the meaning of labels apply."""
    from dataclasses import replace

    from quorate.cli.terminal import showing_progress
    from quorate.io.read import read_source
    from quorate.ledger import Ledger

    with showing_progress():
        return replace(read_source(Ledger.load(folder).answers.to_table(), options), source=folder)


def find_in_engine(
    parameters: Mapping[str, Any], reading: "ReadOptions", *, command: str, sample: bool
) -> "EngineReading | EngineSource | None":
    """Read answers with an engine; None if no engine is needed.

    If the answers are too many for memory, read a sample or, with ``sample=False``, only return the table. The first
    line that is printed names the engine and the reason for it.
    """
    from quorate.backends.choose_engine import choose_engine
    from quorate.cli.terminal import print_lines, showing_progress

    engine_options = engine_options_of(parameters)
    file = parameters["file"]
    choice = None if needs_no_engine(file, engine_options) else choose_engine(file, engine_options)
    if choice is None:
        if file is None:
            example = "scores.csv" if command == "rate" else "answers.csv"
            raise OptionError(f"No file is given. Example: quorate {command} {example}")
        for name in ("order", "output_table", "workers_table"):
            if parameters.get(name) is not None:
                raise OptionError(
                    f"{flag_of(name)} is for databases, and {file} is read without one. "
                    "Leave it out, or read the file with --engine duckdb"
                )
        return None
    for name, usual in FILES_ONLY.items():
        if parameters.get(name, usual) != usual and not (name == "tool" and split_tool(parameters[name])[0] == "auto"):
            raise OptionError(f"{flag_of(name)} does not work where {choice.name} reads the answers; leave it out")
    if parameters.get("multi") == JOIN:
        raise OptionError(f"--multi join does not work where {choice.name} reads the answers; leave it out")
    from quorate.backends.source import find_answers, read_into_memory

    with showing_progress():
        source = find_answers(file, reading, engine_options)
        time = parameters.get("time")
        try:
            extra_columns = [] if time is None else [time]
            answers = read_into_memory(source, extra_columns, sample=sample) if source.is_small or sample else source
        except BaseException:
            source.engine.close()
            raise
    if not parameters.get("quiet"):
        print_lines(answers.lines(), error=_prints_data(parameters))
    return answers


def needs_no_engine(source: Any, engine_options: "EngineOptions") -> bool:
    """Whether no engine option is given and several files, a folder or a pattern are small enough for memory."""
    from quorate.backends.engine_options import EngineOptions
    from quorate.io.several_files import expand_files, fit_in_memory

    if engine_options != EngineOptions() or source is None:
        return False
    if isinstance(source, str) and "://" in source:
        return False
    files = expand_files(source)
    return files is not None and fit_in_memory(files)


def flag_of(name: str) -> str:
    """Return the flag of an option of this name."""
    return "--from" if name == "tool" else f"--{name.replace('_', '-')}"


def _prints_data(parameters: Mapping[str, Any]) -> bool:
    """Whether standard output is for a program: JSON, or a table in a pipe."""
    in_pipe = "output" in parameters and parameters["output"] in (None, "-") and not sys.stdout.isatty()
    return bool(parameters.get("json")) or (in_pipe and parameters.get("output_table") is None)
