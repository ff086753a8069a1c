"""`quorate diagnose`: what these answers can and cannot tell, and what is wrong with them."""

from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.options import Gold, Json, Skills, reads_answers

if TYPE_CHECKING:
    from quorate.arrays import FloatArray
    from quorate.io.read import Reading


@reads_answers
def diagnose(
    reading: "Reading",
    *,
    gold: Gold = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of times: find workers whose skill drifts.")
    ] = None,
    skills: Skills = None,
    delta: Annotated[float, typer.Option(help="With what probability the finite-task bounds may fail.")] = 0.05,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print the statistics behind the findings, too.")] = False,
    json: Json = False,
) -> None:
    """Say what is wrong with the answers, who cannot be identified and why, and what would repair it."""
    from quorate.cli.terminal import print_data, print_lines, print_table, showing_progress
    from quorate.diagnostics.diagnose import diagnose
    from quorate.io.write_table import to_json

    with showing_progress():
        times = None if time is None else _times(reading, time)
        found = diagnose(reading, gold=gold, times=times, skills=skills, delta=delta)
    if json:
        print_data(to_json({**found.to_dict(), **reading.sample_fields()}))
        return
    print_lines(found.lines(verbose=verbose))
    if verbose:
        print_table("Components", found.columns(), found.rows())


def _times(reading: "Reading", column: str) -> "FloatArray":
    """Read the file again for its times; the answers themselves keep none."""
    from quorate.errors import OptionError
    from quorate.io.timestamps import times_of

    if reading.export is not None:
        raise OptionError(
            "--time cannot be read from another tool's export; give a table with the columns task, worker, label, time"
        )
    return times_of(reading.source, reading.answers, column, reading.options)
