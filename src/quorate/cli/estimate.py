"""`quorate estimate`: what share, how good, with error bars."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.exit_codes import UNDECIDED
from quorate.cli.options import Gold, Json, Seed, reads_answers

if TYPE_CHECKING:
    from quorate.io.read import Reading


@reads_answers
def estimate(
    reading: "Reading",
    *,
    gold: Gold = None,
    sampled: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="How the known labels were chosen: random; advised, by `quorate advise --expert`; unknown.",
        ),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="A model's labels, or a column of probabilities for each class. Twice: compare."
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            metavar="VALUES", help="The number of each class, as good=1,bad=0; or classes, if they are numbers."
        ),
    ] = None,
    tasks: Annotated[str | None, typer.Option(metavar="FILE", help="A table of the tasks, for --by.")] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Give the results for each value of this column, and their differences."),
    ] = None,
    pair_by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The item that the values of --by share, e.g. the question asked."),
    ] = None,
    plan: Annotated[
        float | None, typer.Option(metavar="X", help="Say how many known labels make every share ± X, and which.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE", writable=True, help="Where the figures go; with --plan, the tasks."
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="Whose posterior is used; see `quorate methods`.")] = "quorate",
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    seed: Seed = 0,
    format: Annotated[str | None, typer.Option(help="Of what is written: csv, parquet or jsonl.")] = None,
    json: Json = False,
) -> None:
    """Estimate shares of classes, a model's accuracy, mean scores, with intervals.

    With known labels of a random part of the tasks the intervals hold whatever the workers do. Exit code 3 if the
    answers support no figure at all.
    """
    from quorate.cli.terminal import print_data, print_head, print_lines, showing_progress
    from quorate.estimation.estimate import UNDECIDED as NOTHING_STATED
    from quorate.estimation.estimate import estimate
    from quorate.io.write_table import to_json, write_table

    with showing_progress():
        found = estimate(
            reading,
            gold=gold,
            sampled=sampled,
            predictions=predictions or None,
            value=None if value is None else _values(value),
            tasks=tasks,
            by=by,
            pair_by=pair_by,
            plan=plan,
            method=method,
            level=level,
            seed=seed,
        )
    if output is not None:
        write_table(found.table if found.plan is None else found.plan.tasks, output, format)
    if json:
        print_data(to_json({**found.to_dict(), **reading.sample_fields()}))
    else:
        if output != "-":
            print_head("Estimates", found.table, most=40)
        print_lines(found.lines(), error=output == "-")
    if found.method == NOTHING_STATED and found.plan is None:
        raise typer.Exit(UNDECIDED)


def _values(text: str) -> Any:
    """Read good=1,bad=0; a class may have an equals sign in its name.

    Raises:
        OptionError: it is none of that kind.
    """
    from quorate.errors import OptionError

    if "=" not in text:
        return text
    found = {}
    for part in text.split(","):
        name, equals, number = part.strip().rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise OptionError(f"--value takes a number for each class, as good=1,bad=0; {part.strip()!r} is none")
    return found
