"""`quorate diagnose`: problems of the answers, and what the answers do not determine."""

import typer

from quorate.cli.command import ADVANCED, INPUT, option
from quorate.cli.options import (
    AnswersCommand,
    CovariateColumns,
    Duration,
    Gold,
    Json,
    KnownWorkers,
    Pair,
    Quiet,
    Show,
    System,
    Verbose,
    open_sample,
)


class DiagnoseCommand(AnswersCommand):
    """The command whose help lists the options that most people need."""

    rare_options = AnswersCommand.rare_options | {"duration", "system", "known_workers", "quiet"}


def diagnose(
    ctx: typer.Context,
    *,
    time: str | None = option(
        "--time COLUMN",
        INPUT,
        "The column with the time of each answer: finds workers who got better, worse or faster.",
    ),
    duration: Duration = None,
    covariate: CovariateColumns = None,
    system: System = None,
    pair: Pair = None,
    gold: Gold = None,
    known_workers: KnownWorkers = None,
    delta: float = option(
        "--delta X",
        ADVANCED,
        "With --verbose: the probability that one of the printed bounds does not hold.",
        default=0.05,
    ),
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
    from quorate.io.extra_columns import answer_times
    from quorate.notes import shell_command, typed_source

    with open_sample(ctx) as reading:
        with showing_progress():
            times = None if time is None else answer_times(reading, time)
            known = known_workers_table(known_workers, reading)
            diagnosis = diagnose(
                reading,
                gold=gold,
                times=times,
                durations=duration,
                covariates=covariate or [],
                systems=system,
                pairs=pair,
                skills=known,
                show=show,
                delta=delta,
            )
        if json:
            print_json({**diagnosis.to_dict(), **reading.sample_fields()})
            return
        if not quiet or diagnosis.findings:
            print_lines(diagnosis.lines(verbose=verbose))
        if not quiet and not verbose:
            print_lines([f"Details: {shell_command('diagnose', typed_source.get(), '--verbose')}"])
        if verbose:
            print_table("Components", diagnosis.columns(), diagnosis.rows())
