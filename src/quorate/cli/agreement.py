"""`quorate agreement`: inter-annotator agreement."""

from typing import TYPE_CHECKING

import typer

from quorate.cli.command import ADVANCED, METHOD, OUTPUT, option
from quorate.cli.options import Json, Level, OutputFormat, Quiet, Seed, open_sample, split_labels

if TYPE_CHECKING:
    from quorate.arrays import FloatArray, Table


def agreement(
    ctx: typer.Context,
    *,
    scale: str = option(
        "--scale NAME",
        METHOD,
        "How answers differ: nominal (equal or not), ordinal (in the order of --classes) or interval (numbers).",
        default="nominal",
    ),
    sort: str = option(
        "--sort ORDER", OUTPUT, "The order of the workers: worst (lowest agreement first) or name.", default="worst"
    ),
    level: Level = 0.95,
    draws: int = option(
        "--draws N",
        ADVANCED,
        "How many samples the intervals are computed from (bootstrap over tasks).",
        default=1000,
        min=1,
    ),
    seed: Seed = 0,
    workers_out: str | None = option(
        "--workers-out FILE", OUTPUT, "Write each worker's agreement with the others to this file."
    ),
    output_format: OutputFormat = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure inter-annotator agreement (Krippendorff's alpha, Fleiss' kappa, Gwet's AC1 and AC2, percent).

    Overall, for each class against the others, for each worker against the rest, and within each --group.

    Examples:
      quorate agreement answers.csv
      quorate agreement ratings.csv --scale ordinal --classes bad,fair,good
    """
    from quorate.arrays import Table
    from quorate.cli.outputs import for_files
    from quorate.cli.terminal import print_head, print_json, print_lines, showing_progress
    from quorate.errors import OptionError
    from quorate.interrater.agreement import agreement
    from quorate.io.write_table import write_table

    if sort not in ("worst", "name"):
        raise OptionError(f"--sort takes worst or name, got {sort!r}")
    classes = None if ctx.obj["classes"] is None else list(split_labels(ctx.obj["classes"]))
    with open_sample(ctx) as reading:
        ranked = classes if scale == "ordinal" else None
        with showing_progress():
            result = agreement(reading, scale=scale, ranked=ranked, level=level, draws=draws, seed=seed)  # type: ignore[arg-type]
        if workers_out is not None:
            write_table(for_files(result.workers, reading), workers_out, output_format)
        if json:
            print_json({**result.to_dict(), **reading.sample_fields()})
            return
        print_lines(result.lines(), error=workers_out == "-")
    if workers_out == "-" or quiet:
        return
    for title, table in (("Each class against the others", result.classes), ("Within groups", result.groups)):
        if len(table):
            # The ends of the intervals would make the table too wide; --json has them.
            columns = [name for name in table.column_names if not name.endswith(("_low", "_high"))]
            print_head(title, Table(table.arrow.select(columns)))
    order = _agreement_of_workers(result.workers) if sort == "worst" else None
    print_head(
        "Each worker against the others",
        result.workers,
        by=order,
        how="" if order is None else "with the lowest agreement",
    )


def _agreement_of_workers(workers: "Table") -> "FloatArray":
    """Return the first figure of each worker, by which the table is sorted; infinity if it is not known."""
    import numpy as np
    import pyarrow as pa

    column = next(name for name in workers.column_names if pa.types.is_floating(workers.arrow.schema.field(name).type))
    numbers = np.array(workers.arrow.column(column).to_numpy(), dtype=float)
    return np.where(np.isnan(numbers), np.inf, numbers)
