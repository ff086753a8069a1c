"""`quorate diagnose`: what these answers can and cannot tell."""

from typing import Annotated

import typer

from quorate.commands.options import Gold, Json
from quorate.commands.reading import Reading, reads_answers


@reads_answers
def diagnose(
    reading: Reading,
    *,
    gold: Gold = None,
    delta: Annotated[float, typer.Option(help="With what probability the finite-task bounds may fail.")] = 0.05,
    json: Json = False,
) -> None:
    """Say what the answers determine, who cannot be identified and why, and what would repair it."""
    from quorate.diagnosis import diagnose
    from quorate.output import to_json
    from quorate.terminal import print_lines, print_table, showing_progress

    with showing_progress():
        found = diagnose(reading.answers, gold=reading.gold(gold), delta=delta)
    if json:
        typer.echo(to_json(found.to_dict()))
        return
    print_lines(found.lines())
    print_table("Components", found.columns(), found.rows())
