"""The command line: the list of commands, and the handling of errors. Each command has a module in `quorate.cli`.

The module of a command is imported when the command is run or listed; it imports what it needs when the command runs.
Standard output and error may be closed, full, or have an encoding without some characters (`prepare_streams`).
"""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from contextvars import copy_context
from importlib import import_module
from typing import Any, NamedTuple

import typer

from quorate import __version__
from quorate.addresses import hide_secrets, known_addresses
from quorate.cli.command import MAIN, CommandGroup, option
from quorate.cli.exit_codes import BAD_INPUT, INTERRUPTED, LIMIT_FAILS, PROGRAM_ERROR, UNDECIDED
from quorate.errors import (
    QuorateError,
    UndeterminedError,
    UnwritableFileError,
    as_sentence,
    in_shell,
    shown,
    visible,
    with_full_stop,
)
from quorate.io.pipes import keep_pipes


class _Closed(io.TextIOBase):
    """Replacement of a closed standard output; writing to it raises an error."""

    def write(self, _: str) -> int:
        raise UnwritableFileError("Standard output is closed. Name a file with -o")


def prepare_streams() -> None:
    """Write characters that an encoding does not have as escapes, and raise an error if standard output is closed."""
    if sys.stdout is None:
        sys.stdout = _Closed()  # Python has None for a closed stream
    if sys.stderr is None:
        sys.stderr = io.StringIO()  # what is written to it is lost
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Redirect standard output to the null device, so that the rest of its buffer is not written at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Threads inside numpy's linear algebra do not help here, and idle threads use CPU time. The user's own value is kept.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

TRACEBACK = "QUORATE_TRACEBACK"  # environment variable: if set, errors of the program have a traceback
ISSUES = "https://github.com/quorate/quorate/issues"
START = "Start here"
UNDERSTAND = "Understand your data"
MEASURE = "Measure"
MOVE = "Move data"
RESEARCH = "Research"
HELP = ("-h", "--help", "--help-all")
COMPLETION = "_QUORATE_COMPLETE"  # environment variable that a shell sets, without arguments, to get completions


def _print_version(asked: bool) -> None:
    if asked:
        from quorate.blocks import in_use

        typer.echo(f"quorate {__version__}, kernels in {in_use()}")
        raise typer.Exit


def _quorate(
    version: bool = option(
        "--version", MAIN, "Print the version and stop.", default=False, is_eager=True, callback=_print_version
    ),
) -> None:
    """Turn the answers of several people or models into one label per task, and find out whom to trust."""


class CommandEntry(NamedTuple):
    """A command, or a group of commands, that is imported when it is run or listed."""

    name: str
    panel: str | None  # of `quorate --help`; None if it is not listed there
    location: str  # module of `quorate.cli` and name in it, with a dot
    command_class: str | None = None  # likewise; None for a group
    settings: dict[str, Any] | None = None  # of its context


# In the order of `quorate --help`.
COMMANDS = (
    CommandEntry("doctor", START, "doctor.doctor", "doctor.DoctorCommand"),
    CommandEntry("demo", START, "simulate.demo", "command.Command"),
    CommandEntry("aggregate", START, "aggregate.aggregate", "options.CleaningCommand"),
    CommandEntry("report", START, "report.report", "options.AnswersCommand"),
    CommandEntry("diagnose", UNDERSTAND, "diagnose.diagnose", "diagnose.DiagnoseCommand"),
    CommandEntry("agreement", UNDERSTAND, "agreement.agreement", "options.AnswersCommand"),
    CommandEntry("advise", UNDERSTAND, "advise.advise", "advise.AdviseCommand"),
    CommandEntry("rank", UNDERSTAND, "rank.rank", "rank.RankCommand"),
    CommandEntry("rate", UNDERSTAND, "rate.rate", "rate.RateCommand"),
    CommandEntry("estimate", MEASURE, "estimate.estimate", "options.AnswersCommand"),
    CommandEntry("check", MEASURE, "check.check", "check.CheckCommand"),
    CommandEntry("score", MEASURE, "score.score", "command.Command"),
    CommandEntry("compare", MEASURE, "compare.compare", "options.AnswersCommand"),
    CommandEntry("convert", MOVE, "convert.convert", "convert.ConvertCommand"),
    CommandEntry("labelstudio", MOVE, "label_studio.app"),
    CommandEntry("pull", None, "label_studio.pull", "label_studio.OldName"),
    CommandEntry("push", None, "label_studio.push", "label_studio.OldName"),
    CommandEntry("ledger", MOVE, "ledger.app"),
    CommandEntry("methods", RESEARCH, "compare.methods", "command.Command"),
    CommandEntry("simulate", RESEARCH, "simulate.simulate", "command.Command"),
    CommandEntry("datasets", RESEARCH, "datasets.app"),
    CommandEntry(
        "reproduce",
        None,
        "reproduce.reproduce",
        "command.TyperCommand",
        settings={"allow_extra_args": True, "ignore_unknown_options": True},
    ),
)


def _imported(location: str) -> Any:
    """Return an object of a module of `quorate.cli`, which is imported."""
    module, name = location.split(".")
    return getattr(import_module(f"quorate.cli.{module}"), name)


def program(commands: Sequence[CommandEntry] = COMMANDS, *, has_options: bool = True) -> typer.Typer:
    """Return the program with these commands; the modules of other commands are not imported.

    Args:
        commands: of the program.
        has_options: whether the commands have their options; the list of commands needs only descriptions.
    """
    application = typer.Typer(
        name="quorate",
        cls=CommandGroup,
        help=_quorate.__doc__,
        epilog="Example: quorate report answers.csv\n\nAll options of a command: quorate COMMAND --help-all\n\n"
        "Documentation: https://quorate.github.io/quorate",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    application.callback()(_quorate)
    for entry in commands:
        command = _imported(entry.location)
        shown: dict[str, Any] = {"hidden": entry.panel is None, "rich_help_panel": entry.panel}
        if not has_options:
            description = command.info.help if entry.command_class is None else command.__doc__
            application.command(entry.name, help=description, **shown)(lambda: None)
        elif entry.command_class is None:
            application.add_typer(command, name=entry.name, **shown)
        else:
            application.command(
                entry.name, cls=_imported(entry.command_class), context_settings=entry.settings, **shown
            )(command)
    return application


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = program()  # with all commands, created at the first use
    return globals()["app"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors are one line on standard error, with exit code 2."""
    # Without arguments print the help with exit code 0; typer would exit with an error code.
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    prepare_streams()
    with known_addresses(words), keep_pipes():
        copy_context().run(_run, words)  # context variables that the command sets end with it


def _run(words: Sequence[str]) -> None:
    token = in_shell.set(True)
    # Only the named command, and none for --version: importing and inspecting all commands takes 0.03 seconds.
    needed = [entry for entry in COMMANDS if entry.name == words[0]]
    if not needed and words[0] != "--version":
        needed = list(COMMANDS)
    has_options = words[0] not in HELP or COMPLETION in os.environ
    try:
        code = program(needed, has_options=has_options)(words, prog_name="quorate", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # returned by typer after Ctrl-C
            _fail("interrupted", INTERRUPTED)
    except typer.TyperException as error:
        message = hide_secrets(error.format_message())
        _fail(message.replace("is not a valid float", "is not a number").replace("a valid integer", "a whole number"))
    except QuorateError as error:
        hints = [f"Run: {command}" for command in error.commands[:1]]
        hints += [f"Or:  {command}" for command in error.commands[1:]]
        if error.look_at:
            hints.append(f"To see what the file holds: {error.look_at}")
        _fail(str(error), UNDECIDED if isinstance(error, UndeterminedError) else BAD_INPUT, hints)
    except typer.Abort:
        _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the program that reads our output has ended
        give_up_output()
        sys.exit(LIMIT_FAILS)
    except MemoryError:
        _fail("There is not enough memory. Use --engine duckdb, which writes to disk, or give fewer answers")
    except OSError as error:
        if error.filename is not None:  # for example a name that is too long, or a cycle of links
            _fail(f"The file {shown(error.filename)} cannot be used: {error.strerror}. Choose another name")
        give_up_output()  # other files raise their own errors: this one is from standard output
        _fail(f"Standard output cannot be written: {error.strerror or error}. Name a file with -o")
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        _fail(
            (
                f"This is an error of quorate {__version__}, not of your file: {type(error).__name__}: "
                f"{shown(str(error), 200)}. Please report it at {ISSUES}, with the output of {TRACEBACK}=1 "
                "quorate ..."
            ),
            PROGRAM_ERROR,
        )
    finally:
        in_shell.reset(token)
    sys.exit(code if isinstance(code, int) else 0)


def _sentence(text: str) -> str:
    """Return an error as a sentence; if it begins with the name of a file, the first letter is not changed."""
    words = text.split(" ")
    beginnings = (" ".join(words[:n]) for n in range(1, len(words)))  # the name of a file may have spaces
    return with_full_stop(text) if any(map(os.path.exists, beginnings)) else as_sentence(text)


def _fail(message: str, code: int = BAD_INPUT, hints: Sequence[str] = ()) -> None:
    lines = [f"quorate: {_sentence(' '.join(message.split()))}", *(hide_secrets(hint) for hint in hints)]
    sys.stderr.write("".join(f"{visible(line)}\n" for line in lines))
    sys.exit(code)


if __name__ == "__main__":
    main()
