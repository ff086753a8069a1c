"""The command line. What a command needs is imported when it runs; each has a file in `commands/`.

Standard output and error as they may be: closed, full, or of an encoding that lacks letters.
"""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

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
from quorate.cli.exit_codes import INTERRUPTED
from quorate.cli.outputs import guard_commands
from quorate.errors import QuorateError, UnwritableFileError, in_shell, shown, visible
from quorate.io.pipes import keep_pipes


class _Closed(io.TextIOBase):
    """A standard output that is not there; what is written to it is not lost in silence."""

    def write(self, _: str) -> int:
        raise UnwritableFileError("standard output is closed; name a file with -o, or give it somewhere to go")


def prepare_streams() -> None:
    """Let letters that a stream cannot hold be written out, and closed streams say so."""
    if sys.stdout is None:
        sys.stdout = _Closed()  # Python has None for a closed stream
    if sys.stderr is None:
        sys.stderr = io.StringIO()  # nobody could read it
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Let what is left in the buffer go nowhere: the end of the program would try once more to write it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Nothing here gains from threads inside numpy's linear algebra, and idle ones spin. The user's own setting stands.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = typer.Typer(
    name="quorate",
    help="Labels you can trust from many unreliable workers, and an honest account of what the data cannot tell.",
    no_args_is_help=True,
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
    """Labels you can trust from many unreliable workers."""


# In the order of `quorate --help`.
for command in (
    doctor.doctor,
    aggregate.aggregate,
    rate.rate,
    diagnose.diagnose,
    agreement.agreement,
    estimate.estimate,
    rank.rank,
    check.check,
    advise.advise,
    report.report,
    convert.convert,
    label_studio.pull,
    label_studio.push,
    compare.compare,
    compare.methods,
    simulate.simulate,
    score.score,
    simulate.demo,
):
    app.command()(command)
app.command(hidden=True, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    reproduce.reproduce
)
app.add_typer(ledger.app, name="ledger")
app.add_typer(datasets.app, name="datasets")
guard_commands(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors are one line on standard error, with exit code 2."""
    # Without a word, what there is; typer would end it with an error that says nothing.
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    prepare_streams()
    with known_addresses(given), keep_pipes():
        _run(given)


def _run(given: Sequence[str]) -> None:
    speaking = in_shell.set(True)
    try:
        code = app(given, prog_name="quorate", standalone_mode=False)
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
    except BrokenPipeError:  # whoever read our output has seen enough
        give_up_output()
        sys.exit(1)
    except MemoryError:
        _fail("there is not enough memory for this; give fewer answers, or an engine that spills to disk (--engine)")
    except OSError as error:
        if error.filename is not None:  # a name that cannot even be asked about: too long, or in a ring of links
            _fail(f"cannot use the file {shown(error.filename)}: {error.strerror}. Choose another name")
        give_up_output()  # other files have errors of their own: this is standard output
        _fail(f"cannot write to standard output: {error.strerror or error}")
    finally:
        in_shell.reset(speaking)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int = 2, hints: Sequence[str] = ()) -> None:
    lines = [f"quorate: {' '.join(message.split())}", *(hide_secrets(hint) for hint in hints)]
    sys.stderr.write("".join(f"{visible(line)}\n" for line in lines))
    sys.exit(code)


if __name__ == "__main__":
    main()
