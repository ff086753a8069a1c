"""`quorate diagnose`: problems of the answers, and what they cannot determine."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.command import ADVANCED, INPUT
from quorate.cli.options import AnswersCommand, Gold, Json, KnownWorkers, Quiet, Show, Verbose, open_sample
from quorate.errors import ColumnTypeError

if TYPE_CHECKING:
    from quorate.arrays import FloatArray
    from quorate.diagnostics.judge_bias import Covariate
    from quorate.io.read import Reading
    from quorate.io.row_columns import RowColumns


class DiagnoseCommand(AnswersCommand):
    """Shows the options that most people need."""

    rare = AnswersCommand.rare | {"duration", "system", "known_workers", "quiet"}


def diagnose(
    ctx: typer.Context,
    *,
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COLUMN",
            rich_help_panel=INPUT,
            help="The column with the time of each answer: finds workers who got better, worse or faster.",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            "--duration",
            metavar="COLUMN",
            rich_help_panel=INPUT,
            help="The column with the seconds that each answer took. Found automatically if its name is common.",
        ),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            "--covariate",
            metavar="COLUMN",
            rich_help_panel=INPUT,
            help="A column that should not influence the answers, e.g. length. For text, its length is used. "
            "Repeatable.",
        ),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            metavar="COLUMN",
            rich_help_panel=INPUT,
            help="The column with the system that wrote the output: finds judges that prefer their own family.",
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair",
            metavar="COLUMN",
            rich_help_panel=INPUT,
            help="The column that identifies the pair, if pairs were judged in both orders: finds judges that prefer a "
            "position.",
        ),
    ] = None,
    gold: Gold = None,
    known_workers: KnownWorkers = None,
    delta: Annotated[
        float,
        typer.Option(
            "--delta",
            metavar="X",
            rich_help_panel=ADVANCED,
            help="With --verbose: the probability that one of the printed bounds does not hold.",
        ),
    ] = 0.05,
    show: Show = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find problems: unreliable or copying workers, unclear tasks, and workers who cannot be rated.

    Examples:
      quorate diagnose answers.csv
      quorate diagnose answers.csv --time submitted_at --json
    """
    from quorate.cli.outputs import known_workers_table
    from quorate.cli.terminal import print_json, print_lines, print_table, showing_progress
    from quorate.diagnostics.diagnose import diagnose
    from quorate.notes import shell_command, typed_source

    with open_sample(ctx) as reading:
        with showing_progress():
            times = None if time is None else _times(reading, time)
            known = known_workers_table(known_workers, reading)
            columns = _row_columns(reading, duration, covariate or [], system, pair)
            diagnosis = diagnose(reading, gold=gold, times=times, skills=known, show=show, delta=delta, **columns)
        if json:
            print_json({**diagnosis.to_dict(), **reading.sample_fields()})
            return
        if not quiet or diagnosis.findings:
            print_lines(diagnosis.lines(verbose=verbose))
        if not quiet and not verbose:
            print_lines([f"Details: {shell_command('diagnose', typed_source.get(), '--verbose')}"])
        if verbose:
            print_table("Components", diagnosis.columns(), diagnosis.rows())


def _row_columns(
    reading: "Reading", duration: str | None, covariates: "list[str]", system: str | None, pair: str | None
) -> dict[str, Any]:
    """Read the further columns that options name; a column of durations is recognised by its name.

    Raises:
        OptionError: the answers do not stand in rows that can be read again.
    """
    from quorate.diagnostics.haste import is_duration_name
    from quorate.errors import OptionError
    from quorate.io.row_columns import row_columns

    is_asked = duration is not None or covariates or system is not None or pair is not None
    try:
        rows = row_columns(reading, "--duration" if duration is not None else "--covariate")
    except OptionError:
        if is_asked:
            raise
        return {}
    reserved = set(reading.options.columns)
    named = [name for name in rows.content.fields if is_duration_name(name) and name not in reserved]
    found: dict[str, Any] = {}
    if duration is not None:
        found["durations"] = rows.numbers_by_answer(duration, "--duration")
    elif len(named) == 1:
        with suppress(ColumnTypeError):  # another kind of column by that name
            found["durations"] = rows.numbers_by_answer(named[0], "--duration")
    found["covariates"] = [_covariate(rows, name) for name in covariates]
    if system is not None:
        found["systems"] = rows.by_answer(system, "--system")
    if pair is not None:
        found["pairs"] = rows.by_answer(pair, "--pair")
    return found


def _covariate(rows: "RowColumns", name: str) -> "Covariate":
    """Read a covariate: numbers or, of a column of texts, their lengths."""
    import numpy as np

    from quorate.diagnostics.judge_bias import Covariate

    try:
        return Covariate(name, rows.numbers_by_answer(name, "--covariate"))
    except ColumnTypeError:
        texts = rows.by_answer(name, "--covariate")
        lengths = np.array([np.nan if text is None else len(text) for text in texts], np.float64)
        return Covariate(name, lengths, is_length=True)


def _times(reading: "Reading", column: str) -> "FloatArray":
    """Read the file again for its times; the answers themselves keep none."""
    from quorate.errors import OptionError
    from quorate.io.timestamps import times_of

    if reading.export is not None:
        raise OptionError(
            "--time cannot be read from an export of another tool. Give a table with the columns task, worker, label "
            "and time"
        )
    return times_of(reading.source, reading.answers, column, reading.options)
