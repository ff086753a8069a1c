"""`quorate diagnose`: problems of the answers, and what they cannot determine."""

from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.command import ADVANCED, INPUT
from quorate.cli.options import Gold, Json, KnownWorkers, Quiet, Verbose, open_sample

if TYPE_CHECKING:
    from quorate.arrays import FloatArray
    from quorate.io.read import Reading


def diagnose(
    ctx: typer.Context,
    *,
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COLUMN",
            rich_help_panel=INPUT,
            help="The column with the time of each answer: finds workers who got better or worse.",
        ),
    ] = None,
    gold: Gold = None,
    known_workers: KnownWorkers = None,
    delta: Annotated[
        float,
        typer.Option(
            "--delta",
            rich_help_panel=ADVANCED,
            help="The probability with which the bounds that --verbose prints may fail.",
        ),
    ] = 0.05,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find problems: unreliable or copying workers, unclear tasks, and gaps that no method can bridge.

    Examples:
      quorate diagnose answers.csv
      quorate diagnose answers.csv --time submitted_at --json
    """
    from quorate.cli.outputs import known_workers_table
    from quorate.cli.terminal import print_json, print_lines, print_table, showing_progress
    from quorate.diagnostics.diagnose import diagnose

    with open_sample(ctx) as reading:
        with showing_progress():
            times = None if time is None else _times(reading, time)
            known = known_workers_table(known_workers, reading)
            diagnosis = diagnose(reading, gold=gold, times=times, skills=known, delta=delta)
        if json:
            print_json({**diagnosis.to_dict(), **reading.sample_fields()})
            return
        if not quiet or diagnosis.findings:
            print_lines(diagnosis.lines(verbose=verbose))
        if verbose:
            print_table("Components", diagnosis.columns(), diagnosis.rows())


def _times(reading: "Reading", column: str) -> "FloatArray":
    """Read the file again for its times; the answers themselves keep none."""
    from quorate.errors import OptionError
    from quorate.io.timestamps import times_of

    if reading.export is not None:
        raise OptionError(
            "--time cannot be read from another tool's export; give a table with the columns task, worker, label, time"
        )
    return times_of(reading.source, reading.answers, column, reading.options)
