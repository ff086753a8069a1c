"""The command line: the list of commands, and what becomes of errors. Each command has a file in `quorate.cli`.

What a command needs is imported when it runs. Standard output and error may be closed, full, or have an encoding that
lacks letters (`prepare_streams`).
"""

import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from copy import copy
from typing import Annotated, Any

import typer

from quorate import __version__
from quorate.addresses import hide_secrets, known_addresses
from quorate.cli import (
    advise,
    aggregate,
    agreement,
    check,
    compare,
    convert,
    datasets,
    diagnose,
    doctor,
    estimate,
    label_studio,
    ledger,
    rank,
    rate,
    report,
    reproduce,
    score,
    simulate,
)
from quorate.cli.command import Command, Group
from quorate.cli.exit_codes import BAD_INPUT, INTERRUPTED, LIMIT_FAILS, PROGRAM_ERROR
from quorate.cli.options import AnswersCommand, CleaningCommand
from quorate.errors import QuorateError, UnwritableFileError, as_sentence, in_shell, shown, visible, with_full_stop
from quorate.io.pipes import keep_pipes


class _Closed(io.TextIOBase):
    """A standard output that is closed; writing to it is an error."""

    def write(self, _: str) -> int:
        raise UnwritableFileError("Standard output is closed. Name a file with -o")


def prepare_streams() -> None:
    """Write letters that a stream's encoding lacks as escapes, and make writing to closed streams an error."""
    if sys.stdout is None:
        sys.stdout = _Closed()  # Python has None for a closed stream
    if sys.stderr is None:
        sys.stderr = io.StringIO()  # nobody could read it
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Discard what is left in the buffer, which the end of the program would try to write once more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Nothing here gains from threads inside numpy's linear algebra, and idle ones spin. The user's own setting stands.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

TRACEBACK = "QUORATE_TRACEBACK"  # the variable with which an error of the program is printed in full
ISSUES = "https://github.com/quorate/quorate/issues"
START = "Start here"
UNDERSTAND = "Understand your data"
MEASURE = "Measure"
MOVE = "Move data"
RESEARCH = "Research"

app = typer.Typer(
    name="quorate",
    cls=Group,
    help="Turn the answers of several people or models into one label per task, and find out whom to trust.",
    epilog="Example: quorate report answers.csv\n\nAll options of a command: quorate COMMAND --help-all\n\n"
    "Documentation: https://quorate.github.io/quorate",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from quorate.blocks import in_use

        typer.echo(f"quorate {__version__}, kernels in {in_use()}")
        raise typer.Exit


@app.callback()
def quorate(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Turn the answers of several people or models into one label per task, and find out whom to trust."""


# In the order of `quorate --help`.
app.command(cls=doctor.DoctorCommand, rich_help_panel=START)(doctor.doctor)
app.command(cls=Command, rich_help_panel=START)(simulate.demo)
app.command(cls=CleaningCommand, rich_help_panel=START)(aggregate.aggregate)
app.command(cls=AnswersCommand, rich_help_panel=START)(report.report)
app.command(cls=diagnose.DiagnoseCommand, rich_help_panel=UNDERSTAND)(diagnose.diagnose)
app.command(cls=AnswersCommand, rich_help_panel=UNDERSTAND)(agreement.agreement)
app.command(cls=advise.AdviseCommand, rich_help_panel=UNDERSTAND)(advise.advise)
app.command(cls=rank.RankCommand, rich_help_panel=UNDERSTAND)(rank.rank)
app.command(cls=rate.RateCommand, rich_help_panel=UNDERSTAND)(rate.rate)
app.command(cls=AnswersCommand, rich_help_panel=MEASURE)(estimate.estimate)
app.command(cls=check.CheckCommand, rich_help_panel=MEASURE)(check.check)
app.command(cls=Command, rich_help_panel=MEASURE)(score.score)
app.command(cls=AnswersCommand, rich_help_panel=MEASURE)(compare.compare)
app.command(cls=convert.ConvertCommand, rich_help_panel=MOVE)(convert.convert)
app.add_typer(label_studio.app, name="labelstudio", rich_help_panel=MOVE)
app.command(cls=label_studio.OldName, hidden=True)(label_studio.pull)
app.command(cls=label_studio.OldName, hidden=True)(label_studio.push)
app.add_typer(ledger.app, name="ledger", rich_help_panel=MOVE)
app.command(cls=Command, rich_help_panel=RESEARCH)(compare.methods)
app.command(cls=Command, rich_help_panel=RESEARCH)(simulate.simulate)
app.add_typer(datasets.app, name="datasets", rich_help_panel=RESEARCH)
app.command(hidden=True, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    reproduce.reproduce
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors are one line on standard error, with exit code 2."""
    # Without arguments, the help; typer would print it and exit with an error code.
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    prepare_streams()
    with known_addresses(given), keep_pipes():
        copy_context().run(_run, given)  # what the command notes for its messages ends with it


def _with_command(name: str) -> typer.Typer:
    """Return the program with one command alone; complete where there is no such command.

    The options of a command are made by inspecting its function, which for all commands takes a tenth of a second.
    """
    commands = [info for info in app.registered_commands if name == (info.name or _name_of(info.callback))]
    groups = [info for info in app.registered_groups if info.name == name]
    if not commands and not groups:
        return app
    chosen = copy(app)
    chosen.registered_commands = commands
    chosen.registered_groups = groups
    return chosen


def _name_of(function: Callable[..., Any] | None) -> str:
    """Return the name that typer gives to the command of a function."""
    return "" if function is None else function.__name__.lower().replace("_", "-")


def _run(given: Sequence[str]) -> None:
    token = in_shell.set(True)
    try:
        code = _with_command(given[0])(given, prog_name="quorate", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # what typer gives for Ctrl-C
            _fail("interrupted", INTERRUPTED)
    except typer.TyperException as error:
        _fail(hide_secrets(error.format_message()))
    except QuorateError as error:
        hints = [f"Run: {command}" for command in error.commands[:1]]
        hints += [f"Or:  {command}" for command in error.commands[1:]]
        if error.look_at:
            hints.append(f"To see what the file holds: {error.look_at}")
        _fail(str(error), hints=hints)
    except typer.Abort:
        _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the program that reads our output has ended
        give_up_output()
        sys.exit(LIMIT_FAILS)
    except MemoryError:
        _fail("There is not enough memory. Use --engine duckdb, which writes to disk, or give fewer answers")
    except OSError as error:
        if error.filename is not None:  # a name that is too long, or a ring of links
            _fail(f"The file {shown(error.filename)} cannot be used: {error.strerror}. Choose another name")
        give_up_output()  # other files have errors of their own: this is standard output
        _fail(f"Standard output cannot be written: {error.strerror or error}. Name a file with -o")
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        _fail(
            f"This is an error of quorate {__version__}, not of your file: {type(error).__name__}: "
            f"{shown(str(error), 200)}. Please report it at {ISSUES}, with what {TRACEBACK}=1 quorate ... prints",
            PROGRAM_ERROR,
        )
    finally:
        in_shell.reset(token)
    sys.exit(code if isinstance(code, int) else 0)


def _sentence(text: str) -> str:
    """Write an error as a sentence; the name of a file stays as it is."""
    return with_full_stop(text) if os.path.exists(text.partition(" ")[0]) else as_sentence(text)


def _fail(message: str, code: int = BAD_INPUT, hints: Sequence[str] = ()) -> None:
    lines = [f"quorate: {_sentence(' '.join(message.split()))}", *(hide_secrets(hint) for hint in hints)]
    sys.stderr.write("".join(f"{visible(line)}\n" for line in lines))
    sys.exit(code)


if __name__ == "__main__":
    main()
