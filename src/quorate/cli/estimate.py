"""`quorate estimate`: rates, class shares and a model's accuracy, with intervals."""

from typing import Any

import typer

from quorate.cli.command import ADVANCED, METHOD, OUTPUT, option
from quorate.cli.exit_codes import UNDECIDED
from quorate.cli.options import Gold, Json, Level, OutputFormat, Quiet, Seed, open_sample


def estimate(
    ctx: typer.Context,
    *,
    gold: Gold = None,
    sampled: str | None = option(
        "--sampled HOW",
        METHOD,
        "How the known labels were chosen: random, advised (by quorate advise --expert) or unknown.",
    ),
    predictions: list[str] | None = option(
        "--predictions FILE",
        METHOD,
        "A model's labels, or a column of probabilities per class. Give two files to compare two models.",
    ),
    value: str | None = option(
        "--value VALUES",
        METHOD,
        "Turn labels into numbers, e.g. pass=1,fail=0. Write --value classes if the labels are numbers.",
    ),
    tasks: str | None = option("--tasks FILE", METHOD, "A table with one row per task that has the column of --by."),
    by: str | None = option(
        "--by COLUMN", METHOD, "Give the results for each value of this column, and their differences."
    ),
    pair_by: str | None = option(
        "--pair-by COLUMN", METHOD, "The column with the item that all values of --by answered, e.g. the question."
    ),
    plan: float | None = option(
        "--plan X", METHOD, "Compute how many tasks to label for intervals of ± X, and choose these tasks."
    ),
    output: str | None = option(
        "-o, --output FILE", OUTPUT, "Write the estimates to this file; with --plan, the tasks to label."
    ),
    method: str = option(
        "--method NAME", ADVANCED, "The method whose probabilities are used (list: quorate methods).", default="quorate"
    ),
    level: Level = 0.95,
    seed: Seed = 0,
    output_format: OutputFormat = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Estimate a pass rate, win rate, class shares or a model's accuracy, with confidence intervals.

    With known labels of randomly chosen tasks the intervals are valid however wrong the workers are. Exit code 3 if
    the answers support no estimate at all.

    Examples:
      quorate estimate verdicts.jsonl --gold checked.csv
      quorate estimate verdicts.csv --gold checked.csv --value pass=1,fail=0 --tasks systems.csv --by system
    """
    from quorate.cli.outputs import for_files, rounded
    from quorate.cli.terminal import print_head, print_json, print_lines, showing_progress, written_line
    from quorate.errors import for_shell
    from quorate.estimation.estimate import UNDECIDED as NOTHING_STATED
    from quorate.estimation.estimate import estimate
    from quorate.io.write_table import write_table

    with open_sample(ctx) as reading:
        with showing_progress():
            estimates = estimate(
                reading,
                gold=gold,
                sampled=sampled,  # type: ignore[arg-type]
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
            plan_tasks = None if estimates.plan is None else estimates.plan.tasks
            table = rounded(estimates.table) if plan_tasks is None else for_files(plan_tasks, reading)
            write_table(table, output, output_format)
    if json:
        print_json({**estimates.to_dict(), **reading.sample_fields()})
    else:
        print_lines(list(estimates.warnings), error=True)
        if output != "-":
            print_head("Estimates", estimates.for_terminal(), most=40)
        lines = [] if quiet else [for_shell(line) for line in estimates.lines()[len(estimates.warnings) :]]
        files = [] if quiet else written_line([output])
        print_lines([*lines, *files], error=output == "-")
    if estimates.method == NOTHING_STATED and estimates.plan is None:
        raise typer.Exit(UNDECIDED)


def _values(text: str) -> Any:
    """Return the numbers by class of a text such as good=1,bad=0; the name of a class may have an equals sign.

    Raises:
        OptionError: a class has no number.
    """
    from quorate.errors import OptionError

    if "=" not in text:
        return text
    numbers = {}
    for part in text.split(","):
        name, equals, number = part.strip().rpartition("=")
        try:
            numbers[name] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise OptionError(f"--value takes a number per class, for example good=1,bad=0; got {part.strip()!r}")
    return numbers
