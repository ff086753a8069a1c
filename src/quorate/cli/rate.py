"""`quorate rate`: one score per task with an interval from numeric ratings, and bias, scale and noise of each rater."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from quorate.cli.command import FILES_AND_DATABASES, INPUT, METHOD, OUTPUT, Command, option
from quorate.cli.options import (
    ExcelSafe,
    Json,
    Level,
    OutputFormat,
    PlainColumns,
    Quiet,
    declare_engine_options,
    declare_reading_options,
    doctor_typed,
    find_in_engine,
    library_options,
    one_source,
    reading_for,
)

if TYPE_CHECKING:
    from quorate.arrays import Table
    from quorate.backends.source import EngineSource
    from quorate.io.options import ReadOptions
    from quorate.io.scores import Scores

NOT_FOR_SCORES = ("label", "classes", "multi", "map", "merge_spellings", "judges")


def _declare_score_options(
    worker: str = option(
        "--worker COLUMN",
        INPUT,
        "The column that identifies the rater. Found automatically if its name is common. Write none if no "
        "column names the rater.",
        default="worker",
        show_default=False,
    ),
    score: str | None = option(
        "--score, --label COLUMN", INPUT, "The column that holds the score. Found automatically if its name is common."
    ),
    on_conflict: str = option(
        "--on-conflict HOW",
        INPUT,
        "What to do if a rater gave one task two different scores: error, mean, first, last or drop.",
        default="error",
    ),
) -> None:
    """Declare the options of reading scores; see `quorate.read_scores`."""


class RateCommand(Command):
    """The command with the options of reading scores, and those of engines."""

    shared = (declare_reading_options, _declare_score_options, declare_engine_options)
    left_out = frozenset(NOT_FOR_SCORES)
    rare_options = frozenset({"question", "group", "fold"})


@contextmanager
def open_scores(ctx: typer.Context) -> "Iterator[Scores | EngineSource]":
    """Read the scores of a command; the connection to their engine is closed at the end of the block."""
    from quorate.backends.source import EngineSource

    parameters = {**ctx.params, **ctx.obj, "file": one_source(ctx.obj["file"])}
    with reading_for(str(ctx.info_name), parameters["file"], doctor=doctor_typed(ctx)):
        scores = _read(parameters)
    try:
        yield scores
    finally:
        if isinstance(scores, EngineSource):
            scores.engine.close()


def _read(parameters: Mapping[str, Any]) -> "Scores | EngineSource":
    """Return the scores, or the engine's table if an engine reads them."""
    from quorate.backends.source import EngineReading, EngineSource
    from quorate.cli.terminal import showing_progress
    from quorate.io.scores import read_score_source, score_options

    score_parameters = {**library_options(parameters), "score": parameters.get("score")}
    options = score_options({name: value for name, value in score_parameters.items() if value is not None})
    from_engine = find_in_engine(parameters, options, command="rate", sample=False)
    if isinstance(from_engine, EngineReading):
        assert from_engine.engine_source is not None
        return from_engine.engine_source
    if isinstance(from_engine, EngineSource):
        return from_engine
    with showing_progress():
        return read_score_source(parameters["file"], options)


def rate(
    ctx: typer.Context,
    *,
    gold: list[str] | None = option(
        "--gold FILE",
        METHOD,
        "Known scores of some tasks, in the same columns. The results are on the scale of the known scores. "
        "Repeatable.",
    ),
    bounds: str | None = option(
        "--bounds LOW,HIGH",
        METHOD,
        "The lowest and the highest possible score, e.g. 1,5. All results lie between them.",
    ),
    cut: float | None = option(
        "--cut X", METHOD, 'Add a column "above" with the probability that the score is greater than X.'
    ),
    same_scale: bool = option(
        "--same-scale",
        METHOD,
        "Assume that all raters use the scale in the same way and differ only in bias and noise.",
        default=False,
    ),
    output: str | None = option(
        "-o, --output FILE",
        OUTPUT,
        "Write one row per task to this file (.csv, .parquet, .jsonl, .xlsx). Without it: a table, or CSV in a pipe.",
    ),
    workers_out: str | None = option(
        "--workers-out FILE", OUTPUT, "Write one row per rater to this file: bias, scale and noise."
    ),
    report_out: str | None = option("--report-out FILE", OUTPUT, "Write an HTML page with charts to this file."),
    output_table: str | None = option(
        "--output-table NAME",
        FILES_AND_DATABASES,
        "Write the scores to a new table of the database that has the answers.",
    ),
    replace: bool = option(
        "--replace",
        FILES_AND_DATABASES,
        "Replace the table of --output-table if it exists, in one step.",
        default=False,
    ),
    level: Level = 0.95,
    output_format: OutputFormat = None,
    plain_columns: PlainColumns = False,
    excel_safe: ExcelSafe = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Combine numeric ratings into one score per task, with an interval, and rate every rater.

    For classes use `quorate aggregate`. Without -o, a terminal gets tables and a summary; a pipe gets the scores, and
    the summary goes to standard error.

    Examples:
      quorate rate scores.csv -o scores_per_task.csv --workers-out raters.csv
      quorate rate judges.csv --task item --worker judge --score points --bounds 1,5
    """
    from quorate.cli.database_tables import writing_tables
    from quorate.cli.outputs import in_user_columns, rounded
    from quorate.cli.terminal import print_head, print_json, print_lines, showing_progress, written_line
    from quorate.io.atomic import atomic_batch
    from quorate.io.scores import Scores
    from quorate.io.write_table import write_table, write_tables
    from quorate.rating.rate import rate

    scores = ctx.with_resource(open_scores(ctx))
    ends = None if bounds is None else parse_bounds(bounds)
    options: dict[str, Any] = {"gold": gold, "bounds": ends, "cut": cut, "level": level, "same_scale": same_scale}
    with showing_progress():
        if isinstance(scores, Scores):
            rating = rate(scores, **options)
            reading: ReadOptions = scores.options
        else:
            from quorate.rating.from_engine import rate_engine_source

            rating = rate_engine_source(scores, **options)
            reading = scores.reading
    is_written = output is not None or output_table is not None

    def written(table: "Table") -> "Table":
        return rounded(table) if plain_columns else in_user_columns(table, reading)

    with writing_tables(getattr(scores, "engine", None), ctx.params) as put, atomic_batch():
        write_tables(
            [(lambda: written(rating.scores), output), (lambda: written(rating.workers), workers_out)],
            output_format,
            excel_safe=excel_safe,
        )
        if report_out is not None:
            from quorate.reporting.rating_page import write_rating_report

            write_rating_report(rating, report_out)
        put("output_table", lambda: rating.scores)
    lines = [] if quiet else [*rating.summary().splitlines(), *written_line([output, workers_out, report_out])]
    if json:
        print_json(rating.to_dict(scores=not is_written, workers=workers_out is None))
    elif is_written:
        print_lines(lines, error=output == "-")
    elif sys.stdout.isatty():
        print_head("Scores", rating.scores, by=-rating.tasks.se, how="least precise")
        if rating.has_workers:
            print_head("Raters", rating.workers, by=rating.raters.weight, how="of least weight")
        print_lines(["", *lines])
    else:
        write_table(written(rating.scores), "-", output_format, excel_safe=excel_safe)
        print_lines(lines, error=True)


def parse_bounds(text: str) -> tuple[float, float]:
    """Return the two ends of a scale from a text such as 1,5."""
    from quorate.errors import OptionError

    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"--bounds takes the two ends of the scale, for example 1,5; got {text!r}") from None
    return low, high
