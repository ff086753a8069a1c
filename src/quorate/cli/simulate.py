"""`quorate simulate` and `quorate demo`: crowds with known truth."""

from typing import Annotated

import typer

from quorate.cli.options import Seed


def simulate(
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", writable=True, help="Where the answers go; - for standard output."
        ),
    ],
    truth_out: Annotated[
        str | None, typer.Option(metavar="FILE", writable=True, help="Where the true labels go.")
    ] = None,
    skills_out: Annotated[
        str | None, typer.Option(metavar="FILE", writable=True, help="Where the true skills go.")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="How many tasks.")] = 1000,
    workers: Annotated[int, typer.Option(min=1, help="How many workers.")] = 50,
    per_task: Annotated[int, typer.Option(min=1, help="Answers a task.")] = 3,
    classes: Annotated[int, typer.Option(min=2, help="How many classes.")] = 2,
    skills: Annotated[
        str, typer.Option(help="uniform:LOW:HIGH, grid:LOW:HIGH or beta:ALPHA:BETA (of accuracy).")
    ] = "uniform:0:1",
    scores: Annotated[
        bool, typer.Option("--scores", help="Numeric scores instead of classes, for `quorate rate`.")
    ] = False,
    bounds: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Of scores: whole numbers from LOW to HIGH, as 1,5.")
    ] = None,
    spammers: Annotated[
        float, typer.Option(help="Of scores: proportion of raters who score at random.", min=0, max=1)
    ] = 0.0,
    activity: Annotated[str, typer.Option(help="How work is spread over workers: even, or zipf:EXPONENT.")] = "even",
    seed: Seed = 0,
    format: Annotated[str | None, typer.Option(help="Of what is written: csv, parquet or jsonl.")] = None,
) -> None:
    """Simulate a one-coin crowd with known truth, or numeric scores with --scores."""
    from quorate.io.write_table import write_tables
    from quorate.simulate import crowd, parse_activity, parse_skills

    places = (output, truth_out, skills_out)
    if scores:
        from quorate.cli.rate import parse_bounds
        from quorate.rating.simulate import score_crowd

        ends = None if bounds is None else parse_bounds(bounds)
        shares = parse_activity(activity, workers)
        rated = score_crowd(tasks, workers, per_task, spammers=spammers, bounds=ends, activity=shares, seed=seed)
        tables = (rated.answer_table, rated.truth_table, rated.rater_table)
        write_tables(zip(tables, places, strict=True), format)
        return
    if bounds is not None or spammers:
        from quorate.errors import OptionError

        raise OptionError("--bounds and --spammers are about scores; say --scores too")
    simulated = crowd(
        tasks,
        workers,
        per_task,
        n_classes=classes,
        skills=parse_skills(skills, workers, n_classes=classes, seed=seed),
        activity=parse_activity(activity, workers),
        seed=seed,
    )
    made = (simulated.answer_table, simulated.truth_table, simulated.skill_table)
    write_tables(zip(made, places, strict=True), format)


def demo(seed: Seed = 1) -> None:
    """Simulate a sparse crowd with known truth, aggregate it, and compare with the truth and with majority vote."""
    from quorate.cli.demo import run

    run(seed)
