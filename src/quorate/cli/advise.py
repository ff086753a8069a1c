"""`quorate advise`: which worker should answer which task next, and when to stop."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.arguments import reads_answers
from quorate.cli.options import Gold, Json

if TYPE_CHECKING:
    from quorate.reading.read import Reading


@reads_answers
def advise(
    reading: "Reading",
    *,
    budget: Annotated[int, typer.Option(metavar="N", help="How many further answers there can be.")],
    workers: Annotated[
        str | None, typer.Option(metavar="FILE", help="Who is available, new workers too: a file with a column worker.")
    ] = None,
    per_worker: Annotated[
        int | None, typer.Option(metavar="K", help="How many further tasks each may get; else twice the mean load.")
    ] = None,
    cost: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the workers' file with the cost of an answer.")
    ] = None,
    target_error: Annotated[
        float | None, typer.Option(metavar="E", help="Stop where labels are expected to be wrong as rarely as this.")
    ] = None,
    gold: Gold = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Where the assignments go.")
    ] = None,
    tasks_out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where it goes which tasks have enough answers.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Of what is written: csv, parquet or jsonl.")] = None,
    json: Json = False,
) -> None:
    """Say which worker should answer which task next: repair first, then what tells most; and when to stop.

    Without -o, a terminal gets a table and a summary; a pipe gets the assignments, and the summary goes to standard
    error.
    """
    from quorate.advice import advise
    from quorate.cli.terminal import print_head, print_lines, showing_progress
    from quorate.writing.tables import to_json, write_table

    with showing_progress():
        found = advise(
            reading,
            budget,
            workers=workers,
            per_worker=per_worker,
            cost=cost,
            target_error=target_error,
            gold=gold,
        )
    for table, path in (("assignments", output), ("tasks", tasks_out)):
        if path is not None:
            write_table(getattr(found, table), path, format)
    if json:
        typer.echo(to_json(found.to_dict(assignments=output is None, tasks=tasks_out is None)))
    elif output is not None:
        print_lines(found.summary().splitlines(), error=output == "-")
    elif sys.stdout.isatty():
        print_head("Next", found.assignments)
        print_lines(["", *found.summary().splitlines()])
    else:
        write_table(found.assignments, "-", format)
        print_lines(found.summary().splitlines(), error=True)
