"""`quorate simulate` and `quorate demo`: crowds with known truth."""

import shlex

from quorate.cli.command import ADVANCED, MAIN, option
from quorate.cli.options import OutputFormat, Seed


def simulate(
    output: str = option(
        "-o, --output FILE", MAIN, "Write the answers to this file; - for standard output.", default=...
    ),
    truth_out: str | None = option("--truth-out FILE", MAIN, "Write the true labels to this file."),
    skills_out: str | None = option("--skills-out FILE", MAIN, "Write the true skills to this file."),
    tasks: int = option("--tasks N", MAIN, "Number of tasks.", default=1000, min=1),
    workers: int = option("--workers N", MAIN, "Number of workers.", default=50, min=1),
    per_task: int = option("--per-task N", MAIN, "Answers per task.", default=3, min=1),
    classes: int = option("--classes N", MAIN, "Number of classes.", default=2, min=2),
    skills: str = option(
        "--skills LAW",
        ADVANCED,
        "Distribution of skills: uniform:LOW:HIGH, grid:LOW:HIGH or beta:ALPHA:BETA (of accuracy).",
        default="uniform:0:1",
    ),
    activity: str = option(
        "--activity LAW",
        ADVANCED,
        "How the answers are distributed over workers: even, or zipf:EXPONENT.",
        default="even",
    ),
    scores: bool = option("--scores", MAIN, "Make numeric scores instead of classes, for quorate rate.", default=False),
    bounds: str | None = option("--bounds LOW,HIGH", ADVANCED, "With --scores: integers from LOW to HIGH, e.g. 1,5."),
    spammers: float = option(
        "--spammers X", ADVANCED, "With --scores: the share of raters who score at random.", default=0.0, min=0, max=1
    ),
    seed: Seed = 0,
    output_format: OutputFormat = None,
) -> None:
    """Create a test dataset whose true labels are known.

    Examples:
      quorate simulate -o answers.csv --truth-out truth.csv --tasks 500 --workers 20
    """
    from quorate.io.write_table import write_tables
    from quorate.simulate import crowd, parse_activity, parse_skills

    paths = (output, truth_out, skills_out)
    if scores:
        from quorate.cli.rate import parse_bounds
        from quorate.rating.simulate import score_crowd

        ends = None if bounds is None else parse_bounds(bounds)
        shares = parse_activity(activity, workers)
        rated = score_crowd(tasks, workers, per_task, spammers=spammers, bounds=ends, activity=shares, seed=seed)
        tables = (rated.answer_table, rated.truth_table, rated.rater_table)
        write_tables(zip(tables, paths, strict=True), output_format)
        _print_written(paths, "rate", "")
        return
    if bounds is not None or spammers:
        from quorate.errors import OptionError

        raise OptionError("--bounds and --spammers need --scores")
    simulated = crowd(
        tasks,
        workers,
        per_task,
        n_classes=classes,
        skills=parse_skills(skills, workers, n_classes=classes, seed=seed),
        activity=parse_activity(activity, workers),
        seed=seed,
    )
    simulated_tables = (simulated.answer_table, simulated.truth_table, simulated.skill_table)
    write_tables(zip(simulated_tables, paths, strict=True), output_format)
    if truth_out in (None, "-"):
        _print_written(paths, "report", "")
    else:
        _print_written(paths, "compare", f"--truth {shlex.quote(truth_out)}")


def _print_written(paths: tuple[str | None, ...], command: str, options: str) -> None:
    """Print one line with the files and the next command; on standard error if a table goes to standard output."""
    from quorate.cli.terminal import print_lines, written_line
    from quorate.notes import shell_command

    answers = str(paths[0])
    lines = written_line(paths)
    if lines and answers != "-":
        lines = [f"{lines[0]} Next: {shell_command(command, shlex.quote(answers), options)}"]
    print_lines(lines, error="-" in paths)


def demo(seed: Seed = 1) -> None:
    """See Quorate at work on a simulated crowd (takes a few seconds).

    Examples:
      quorate demo
    """
    from quorate.cli.demo import run

    run(seed)
