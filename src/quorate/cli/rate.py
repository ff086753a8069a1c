"""`quorate rate`: numeric scores -> one score per task with an interval, and the line of each rater."""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.options import (
    ENGINE,
    FLAGS,
    ExcelSafe,
    Json,
    _listed,
    find_in_engine,
    offering,
    one_source,
    reading_for,
)

if TYPE_CHECKING:
    from quorate.backends.source import EngineSource
    from quorate.io.scores import ScoreOptions, Scores
    from quorate.rating.rating import Rating

NOT_FOR_SCORES = ("label", "classes", "multi", "map", "merge_spellings", "judges", "worker", "on_conflict")


def _score_options(
    worker: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of rater ids; none if nothing says who gave a score.")
    ] = "worker",
    score: Annotated[
        str | None,
        typer.Option("--score", "--label", metavar="COLUMN", help="Column of scores.", show_default="score"),
    ] = None,
    on_conflict: Annotated[
        str,
        typer.Option(
            help="When a rater gave a task two scores: error; mean (repeats of one rater); keep the first or the last; "
            "or drop them."
        ),
    ] = "error",
) -> None:
    """How scores are read; see `quorate.read_scores`."""


SCORE_FLAGS = {
    **{name: flag for name, flag in FLAGS.items() if name not in NOT_FOR_SCORES},
    **inspect.signature(_score_options).parameters,
}


def score_options_of(given: Mapping[str, Any]) -> "ScoreOptions":
    """Make the library's options of those that a command was given."""
    from quorate.io.scores import score_options

    apart = ("file", "input_format", "columns")
    chosen = {name: given[name] for name in SCORE_FLAGS if name in given and name not in apart}
    for name in ("task", "worker"):
        if chosen.get(name) == SCORE_FLAGS[name].default:
            chosen[name] = None
    if chosen.get("abstain") is not None:
        chosen["abstain"] = _listed(chosen["abstain"])
    chosen = {name: value for name, value in chosen.items() if value is not None}
    return score_options({**chosen, "format": given.get("input_format"), "column_names": given.get("columns")})


def reads_scores(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading scores and of engines, and hand it the scores as its first argument."""
    own = list(inspect.signature(command).parameters.values())[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        from quorate.backends.source import EngineSource

        given = {**given, "file": one_source(given["file"])}
        with reading_for(command.__name__, given["file"]):
            source = _read(given)
        try:
            command(source, **{parameter.name: given[parameter.name] for parameter in own})
        finally:
            if isinstance(source, EngineSource):
                source.engine.close()

    return offering((*SCORE_FLAGS.values(), *own, *ENGINE.values()), run)


def _read(given: Mapping[str, Any]) -> "Scores | EngineSource":
    """Read the scores, or find that an engine holds them."""
    from quorate.backends.source import EngineReading, EngineSource
    from quorate.cli.terminal import showing_progress
    from quorate.io.scores import read_score_source

    options = score_options_of(given)
    there = find_in_engine(given, options, sample=False)
    if isinstance(there, EngineReading):
        assert there.held is not None
        return there.held
    if isinstance(there, EngineSource):
        return there
    with showing_progress():
        return read_score_source(given["file"], options)


@reads_scores
def rate(
    scores: "Scores | EngineSource",
    *,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", writable=True, help="Where the scores go.")
    ] = None,
    output_table: Annotated[
        str | None, typer.Option(metavar="NAME", help="In an engine: make a table of the scores there.")
    ] = None,
    workers_out: Annotated[
        str | None,
        typer.Option(metavar="FILE", writable=True, help="Where bias, scale and noise of each rater go."),
    ] = None,
    report_out: Annotated[
        str | None, typer.Option(metavar="FILE", writable=True, help="Where a page with charts goes (HTML).")
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Known scores of some tasks, in the same columns; on any scale."),
    ] = None,
    bounds: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="The ends of the scale, as 1,5; scores are cut there.")
    ] = None,
    cut: Annotated[
        float | None, typer.Option(help="Add the column above: the probability that the score is greater.")
    ] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    same_scale: Annotated[
        bool, typer.Option("--same-scale", help="Hold all scales at 1: raters differ in bias and noise only.")
    ] = False,
    format: Annotated[str | None, typer.Option(help="Of what is written: csv, parquet or jsonl.")] = None,
    excel_safe: ExcelSafe = False,
    json: Json = False,
) -> None:
    """Turn numeric scores into one score per task with an interval, and the bias, scale and noise of each rater.

    For classes use `quorate aggregate`. Without -o, a terminal gets tables and a summary; a pipe gets the scores, and
    the summary goes to standard error.
    """
    from quorate.cli.terminal import print_data, print_lines, showing_progress
    from quorate.io.atomic import together
    from quorate.io.write_table import to_json, write_table, write_tables

    ends = None if bounds is None else parse_bounds(bounds)
    options: dict[str, Any] = {"gold": gold, "bounds": ends, "cut": cut, "level": level, "same_scale": same_scale}
    with showing_progress():
        rating = _rate(scores, options)
    is_written = output is not None or output_table is not None
    with together():
        write_tables(
            [(lambda: rating.scores, output), (lambda: rating.workers, workers_out)], format, excel_safe=excel_safe
        )
        if report_out is not None:
            from quorate.reporting.rating_page import write_rating_report

            write_rating_report(rating, report_out)
        _make_table(scores, rating, output_table)
    lines = rating.summary().splitlines()
    if json:
        print_data(to_json(rating.to_dict(scores=not is_written, workers=workers_out is None)))
    elif is_written:
        print_lines(lines, error=output == "-")
    elif sys.stdout.isatty():
        _print_tables(rating)
        print_lines(["", *lines])
    else:
        write_table(rating.scores, "-", format, excel_safe=excel_safe)
        print_lines(lines, error=True)


def _rate(scores: "Scores | EngineSource", options: dict[str, Any]) -> "Rating":
    from quorate.io.scores import Scores
    from quorate.rating.rate import rate

    if isinstance(scores, Scores):
        return rate(scores, **options)
    from quorate.rating.from_engine import rate_engine_source

    return rate_engine_source(scores, **options)


def _make_table(scores: "Scores | EngineSource", rating: "Rating", name: str | None) -> None:
    if name is None:
        return
    from quorate.backends.output import check_table, put_table
    from quorate.backends.source import EngineSource

    assert isinstance(scores, EngineSource)  # `find_in_engine` refuses the option where there is no engine
    check_table(scores.engine, name)
    put_table(scores.engine, rating.scores.arrow, name)


def _print_tables(rating: "Rating") -> None:
    from quorate.cli.terminal import print_head

    print_head("Scores", rating.scores, by=-rating.tasks.se, how="least precise")
    if rating.has_workers:
        print_head("Raters", rating.workers, by=rating.raters.weight, how="of least weight")


def parse_bounds(text: str) -> tuple[float, float]:
    """Read the two ends of a scale."""
    from quorate.errors import OptionError

    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"--bounds takes the two ends of the scale, as 1,5, got {text!r}") from None
    return low, high
