"""`quorate agreement`: how alike the answers are."""

from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.options import Json, Seed, reads_answers

if TYPE_CHECKING:
    from quorate.arrays import Table
    from quorate.io.read import Reading


@reads_answers
def agreement(
    reading: "Reading",
    *,
    scale: Annotated[
        str, typer.Option(help="nominal: alike or not; ordinal: classes have an order; interval: they are numbers.")
    ] = "nominal",
    ranked: Annotated[
        str | None,
        typer.Option(metavar="CLASSES", help="Every class from lowest to highest, separated by commas; for ordinal."),
    ] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    draws: Annotated[int, typer.Option(min=1, help="Of the bootstrap over tasks.")] = 1000,
    seed: Seed = 0,
    workers_out: Annotated[
        str | None,
        typer.Option(metavar="FILE", writable=True, help="Where it goes how each worker agrees with the rest."),
    ] = None,
    format: Annotated[str | None, typer.Option(help="Of what is written: csv, parquet or jsonl.")] = None,
    json: Json = False,
) -> None:
    """Say how alike the answers are: Krippendorff's alpha, Fleiss' kappa, Gwet's AC1 and AC2, percent agreement.

    Overall, for each class against the others, for each worker against the rest, and within each --group.
    """
    from quorate.cli.terminal import print_data, print_head, print_lines, showing_progress
    from quorate.interrater.agreement import agreement
    from quorate.io.write_table import to_json, write_table

    classes = None if ranked is None else [name.strip() for name in ranked.split(",")]
    with showing_progress():
        found = agreement(reading, scale=scale, ranked=classes, level=level, draws=draws, seed=seed)
    if workers_out is not None:
        write_table(found.workers, workers_out, format)
    if json:
        print_data(to_json({**found.to_dict(), **reading.sample_fields()}))
        return
    print_lines(found.lines(), error=workers_out == "-")
    if workers_out == "-":
        return
    for title, table in (("Classes, each against the others", found.classes), ("Within groups", found.groups)):
        if len(table):
            print_head(title, _points(table))
    print_head("Workers against the rest", found.workers)


def _points(table: "Table") -> "Table":
    """Leave out the ends of intervals, which would make the table too wide to read; --json has them."""
    from quorate.arrays import Table

    kept = [name for name in table.column_names if not name.endswith(("_low", "_high"))]
    return Table(table.arrow.select(kept))
